// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "../../document.hpp"
#include "../profile/numbers.hpp"
#include "../profile/own_memory.hpp"
#include "numbers.hpp"
#include "shown_text.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The name of a scope in the first cell of its row, without the number of scopes: "Layer_* × 12" -> "Layer_*".
inline std::string_view name_in_cell(std::string_view text) {
  for (std::string_view const end : {" \xc3\x97 ", " \xc3\x97", " ("}) {
    std::size_t const at = text.find(end);
    if (at != std::string_view::npos && at > 0) text = text.substr(0, at);
  }
  return text;
}

/// Finds the rows to which the findings of a document refer, so that findings can link to them.
class html_anchors {
 public:
  explicit html_anchors(document const& document) {
    for (finding const& each : document.findings) {
      if (each.scope.empty() || find(each.scope)) continue;
      if (std::optional<place> const found = row_of(document, each.scope)) places_.emplace_back(each.scope, *found);
    }
  }

  /// "row-3" for a row to which a finding refers.
  [[nodiscard]] std::string id_of(data_table const& table, std::size_t row) const {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (places_[i].second.table == &table && places_[i].second.row == row) return fmt::format("row-{}", i);
    }
    return {};
  }

  /// The link to the row of a scope; empty if no table has such a row.
  [[nodiscard]] std::string link_to(std::string const& scope) const {
    std::optional<std::size_t> const found = find(scope);
    return found ? fmt::format("#row-{}", *found) : "";
  }

 private:
  struct place {
    data_table const* table = nullptr;
    std::size_t row = 0;
  };

  [[nodiscard]] std::optional<std::size_t> find(std::string const& scope) const {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (places_[i].first == scope) return i;
    }
    return std::nullopt;
  }

  static std::string_view after_first(std::string_view path) {
    std::size_t const slash = path.find('/');
    return slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
  }

  /// Whether a path belongs to the row of a scope. The root of a table ("usual step") is named differently from the step, or is missing.
  static bool is_path_of(std::string_view path, std::string_view scope) {
    std::string_view const inside = after_first(path);
    return path == scope || (!inside.empty() && (inside == scope || inside == after_first(scope)));
  }

  /// Finds the row of a scope: the deepest one, because tables without a tree have rows of parts of the step.
  static std::optional<place> row_of(document const& document, std::string const& scope) {
    std::optional<place> best;
    std::uint32_t depth = 0;
    for (section const& section : document.sections) {
      for (block const& part : section.blocks) {
        data_table const* const table = std::get_if<data_table>(&part);
        if (table == nullptr || table->use == block_use::text) continue;
        own_vector<std::size_t> above;  // lengths of the paths of the ancestors
        std::string path;
        for (std::size_t i = 0; i < table->rows.size(); ++i) {
          row const& each = table->rows[i];
          std::string const* const name = each.cells.empty() ? nullptr : std::get_if<std::string>(&each.cells.front().value);
          if (name == nullptr) continue;
          while (above.size() > each.depth) {
            path.resize(above.back());
            above.pop_back();
          }
          above.push_back(path.size());
          path += (path.empty() ? "" : "/") + std::string{name_in_cell(*name)};
          if (!is_path_of(path, scope) || (best && each.depth <= depth)) continue;
          best = place{table, i};
          depth = each.depth;
        }
      }
    }
    return best;
  }

  own_vector<std::pair<std::string, place>> places_;
};

/// The maximum amounts of content on a page. `html_printer` halves the limits until the page is small enough.
struct html_limits {
  std::size_t rows = 1000;        ///< rows of a table
  std::size_t boxes = 1200;       ///< boxes of an icicle
  std::size_t points = 500;       ///< points of a line, and steps in the figure of steps; further steps are drawn as ranges
  std::size_t folded_rows = 400;  ///< rows of a completely folded table
  std::size_t figures = 100;      ///< blocks of a section

  /// The smallest limits, where halving stops.
  [[nodiscard]] bool are_smallest() const noexcept { return rows <= 15; }

  [[nodiscard]] html_limits halved() const noexcept { return {rows / 2, boxes / 2, points / 2 + 1, folded_rows / 2, figures / 2 + 1}; }
};

/// The colours of light pages. Text has a contrast of at least 4.5 : 1.
inline constexpr char const* html_light =
    "--bg:#fff;--fg:#1a1d21;--soft:#59626c;--grid:#eceff2;--line:#e4e7eb;--rule:#cfd4da;--link:#0f5f9e;--shade:#edf0f3;--mark:#fff6d6;"
    "--busy:#3477af;--on:#fff;--launch:#e8702a;--launch2:#fbd9c2;--hostb:#c43c3c;--hostb2:#f3c6c6;--sync:#a0448a;--sync2:#ecc8e3;"
    "--copies:#d1b13f;--copies2:#f5e8bb;--queued:#a9b0b8;--host:#8a939d;--transfer:#1a7f5a;--transfer2:#bfe0d3;--neutral:#9aa3ad;"
    "--box:#b4d0e7;--idle:#f7cdb0;--idle2:#fbe3d2;--hostbox:#d3d8de;--onbox:#404850;--odd:#b8480f;--band:#d3e2f0;"
    "--k0:#1f9e89;--k1:#8f8f2b;--k2:#5f7fd0;--k3:#9a5b2c;--k4:#3d3a9c;--k5:#cc5a6e;--k6:#a04a8a;--k7:#5b8f9b;--k8:#7d2450;--k9:#d1b13f;"
    "--k10:#1a7f5a;--k11:#a9b0b8;";

/// The colours of dark pages.
inline constexpr char const* html_dark =
    "--bg:#15181c;--fg:#e6e9ec;--soft:#a2abb5;--grid:#23282e;--line:#262c32;--rule:#3c444d;--link:#74b5ef;--shade:#1f242a;--mark:#3a3416;"
    "--busy:#4a92d0;--on:#0b1016;--launch:#ee7d3b;--launch2:#7c3d18;--hostb:#e06666;--hostb2:#7a2e2e;--sync:#c777b4;--sync2:#65305a;"
    "--copies:#d9bb52;--copies2:#6d5c20;--queued:#8b939c;--host:#78818b;--transfer:#3aa57d;--transfer2:#1d5743;--neutral:#7d8690;"
    "--box:#28537b;--idle:#7a4526;--idle2:#52301d;--hostbox:#454d56;--onbox:#ccd4dc;--odd:#f39a63;--band:#22394f;"
    "--k0:#2bb39d;--k1:#a9a93c;--k2:#7d9bea;--k3:#c07a45;--k4:#7c79e0;--k5:#de7486;--k6:#c468ad;--k7:#76aab6;--k8:#b8457f;--k9:#d9bb52;"
    "--k10:#3aa57d;--k11:#8b939c;";

/// All rules except colours.
inline constexpr char const* html_rules = R"css(
*{box-sizing:border-box}
html{background:var(--bg);color:var(--fg);font:14px/1.5 Inter,system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
font-variant-numeric:tabular-nums;-webkit-text-size-adjust:100%;print-color-adjust:exact;-webkit-print-color-adjust:exact}
body{max-width:1160px;margin:0 auto;padding:28px 28px 64px;overflow-wrap:break-word}
h1,h2,h3,p,ol,dl,dd,figure{margin:0;padding:0}
a{color:var(--link);text-underline-offset:2px}
:focus-visible{outline:2px solid var(--link);outline-offset:2px;border-radius:2px}
s{text-decoration:none;color:var(--soft)}
i{font-style:normal}
code{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.9em}
.about{color:var(--soft);font-size:13px}.about b{color:var(--fg)}
h1{font-size:27px;line-height:1.22;letter-spacing:-.012em;margin:8px 0 18px;max-width:30em;text-wrap:balance;font-weight:700}
.findings{list-style:none;counter-reset:f;max-width:960px}
.findings li{counter-increment:f;position:relative;padding-left:30px;margin-bottom:10px}
.findings li::before{content:counter(f);position:absolute;left:0;top:0;width:21px;height:21px;border:1px solid var(--soft);border-radius:50%;
color:var(--soft);font-size:12px;line-height:19px;text-align:center}
.findings p{color:var(--soft)}.findings p::before{content:"\2192\a0";color:var(--link);font-weight:700}
.keys{display:grid;grid-template-columns:repeat(auto-fit,minmax(144px,1fr));gap:0 12px;border:solid var(--rule);border-width:1px 0;margin:26px 0 16px;overflow:hidden}
.keys div{padding:9px 4px 10px 0;position:relative}.keys div::before{content:"";position:absolute;left:-13px;top:0;bottom:0;border-left:1px solid var(--line)}
.keys dt,.keys dd{font-size:12.5px;line-height:1.4;color:var(--soft)}
.keys dd.v{font-size:18.5px;font-weight:650;color:var(--fg);line-height:1.35}
.na,dd.v.na{color:var(--soft);font-style:italic}
nav{font-size:13px}nav a,.legend span{display:inline-block;max-width:100%;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;vertical-align:bottom}nav a{margin-right:14px;text-decoration:none}nav a:hover{text-decoration:underline}
section{border-top:1px solid var(--rule);margin-top:44px;padding-top:15px}
h2{font-size:18px;line-height:1.4}
.answer{margin-bottom:18px;max-width:960px;text-wrap:pretty}
h3,caption{font-size:13px;font-weight:650;text-align:left;margin:18px 0 4px}caption{margin:0;padding-bottom:4px}
figure{margin-bottom:18px}
.note,.how,.axis{color:var(--soft);font-size:12.5px;max-width:900px;margin-top:8px;text-wrap:pretty}
.how b{color:var(--fg)}.beside .how{margin-top:0}.beside h3{margin-top:0}
.legend{color:var(--soft);font-size:12.5px;margin-top:8px}.legend span{margin-right:16px}
.sw{display:inline-block;width:10px;height:10px;border-radius:1px;margin-right:5px;flex:none}
.busy{background:var(--busy)}.queued{background:var(--queued)}.host{background:var(--host)}.neutral{background:var(--neutral)}
.launch{background:repeating-linear-gradient(45deg,var(--launch) 0 3px,var(--launch2) 3px 4.4px)}
.hostb{background:repeating-linear-gradient(-45deg,var(--hostb) 0 3px,var(--hostb2) 3px 4.4px)}
.sync{background:repeating-linear-gradient(90deg,var(--sync) 0 2px,var(--sync2) 2px 3.4px)}
.copies{background:repeating-linear-gradient(0deg,var(--copies) 0 2.4px,var(--copies2) 2.4px 4px)}
.transfer{background:repeating-linear-gradient(45deg,var(--transfer) 0 5px,var(--transfer2) 5px 6px)}
.plot{display:grid;grid-template-columns:minmax(0,1fr) 196px;gap:18px;padding-left:52px;overflow-x:clip}
.plot.lines,.plot.roofline,.plot.alone{grid-template-columns:minmax(0,1fr);padding-right:16px}.plot.roofline{padding-left:64px}
.plot svg{display:block;width:100%;overflow:visible}.plot+.axis{padding-left:52px;margin-top:2px}.roofline+.axis{padding-left:64px}
svg text{font-size:12px;fill:var(--fg)}svg .soft,svg .tick{fill:var(--soft)}
.tick,svg .end{text-anchor:end}.tick.mid{text-anchor:middle}.tick.start{text-anchor:start}
svg .label{paint-order:stroke;stroke:var(--bg);stroke-width:3px;stroke-linejoin:round}
.grid{stroke:var(--grid)}.rule{stroke:var(--rule)}.shade{fill:var(--shade)}.band{fill:var(--band)}
.mean{stroke:var(--busy);stroke-width:1.5}.level{stroke:var(--fg);stroke-width:2}.trace{fill:none;stroke:var(--queued);vector-effect:non-scaling-stroke}
.whisker{stroke:var(--queued)}.bin{fill:var(--busy);opacity:.8}
svg .usual{fill:var(--busy);background:none}svg .odd{fill:var(--launch)}svg .warm{fill:var(--host)}svg .excl{fill:none;stroke:var(--host)}
circle.warm,circle.excl{fill:var(--bg);stroke:var(--soft);stroke-width:1.4}
.roof{stroke:var(--soft);stroke-width:1.5}.moved{stroke:var(--transfer);stroke-dasharray:5 4}.roofline circle{fill-opacity:.75}
.line{fill:none;stroke-width:1.8;vector-effect:non-scaling-stroke}.area{opacity:.18}
.line.l0{stroke:var(--busy)}.line.l1{stroke:var(--launch);stroke-dasharray:6 3}.line.l2{stroke:var(--transfer);stroke-dasharray:2 2}
.line.l3{stroke:var(--sync);stroke-dasharray:8 3 2 3}.line.l4{stroke:var(--copies);stroke-dasharray:12 4}.line.l5{stroke:var(--host)}
.area.l0{fill:var(--busy)}.area.l1{fill:var(--launch)}.area.l2{fill:var(--transfer)}.area.l3{fill:var(--sync)}.area.l4{fill:var(--copies)}.area.l5{fill:var(--host)}
.names{position:relative;height:19px;font-size:12.5px;line-height:19px}
.names span{position:absolute;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;padding-right:6px}.names b{font-weight:600}
.parts{display:flex;height:34px}.part{display:flex;height:100%;border-right:2px solid var(--bg)}.part:last-child{border:0}
.part i{container-type:inline-size;display:flex;align-items:center;height:100%;overflow:hidden;font-size:12.5px}.part b{font-weight:400;white-space:nowrap;padding:1px 7px;color:#14171b;overflow:hidden;text-overflow:ellipsis}
.part .busy b{color:var(--on)}.part .launch b{background:var(--launch)}.part .hostb b{background:var(--hostb);color:var(--on)}.part .sync b{background:var(--sync);color:var(--on)}
.part .copies b{background:var(--copies)}.part .transfer b{background:var(--transfer);color:var(--on)}
.heat{font-size:11.5px;border-spacing:1px;border-collapse:separate;width:100%;table-layout:fixed}.heat tr>:first-child{width:116px;overflow:hidden;text-overflow:ellipsis}.heat td{min-width:14px;height:22px;text-align:center;background:var(--shade);padding:0 1px}
.heat th{font-weight:400;color:var(--soft);padding:0 4px 0 0;white-space:nowrap}.heat .dashed{outline:1px dashed var(--rule);outline-offset:-1px}
.lanes{display:grid;grid-template-columns:116px 1fr;gap:7px 8px;align-items:center;font-size:11.5px}.lanes>span{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.lanes>div{position:relative;height:22px}.lanes i{position:absolute;top:0;height:11px;min-width:1px}.lanes .low{top:12px;height:9px}.lanes.thin .low{top:13px;height:4px}.lanes.thin>div:not(.ticks){height:18px}.lanes .ticks{height:15px}
.scale{display:flex;justify-content:space-between;color:var(--soft);font-size:11.5px;margin-top:1px}
.icicle{position:relative;overflow:hidden}.icicle div{position:absolute;height:20px;background:var(--box);overflow:hidden;border-right:1px solid var(--bg);
font-size:12px;line-height:20px;white-space:nowrap}.icicle.hosts div{background:var(--hostbox)}.icicle.hosts .f{background:var(--band)}.icicle.hosts .w{background:none}
.icicle i{position:absolute;right:0;top:0;height:100%;background:repeating-linear-gradient(45deg,var(--idle) 0 3px,var(--idle2) 3px 4.4px)}
.icicle span{position:relative;display:block;overflow:hidden;text-overflow:ellipsis;padding:0 4px}.icicle s{color:var(--onbox)}.js .icicle div{cursor:pointer}
.icicle .now{box-shadow:inset 0 0 0 2px var(--fg)}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:13px;line-height:1.4}
table.wide,table.tree{width:100%}.beside table{width:100%}
th,td{padding:3.4px 0 3.4px 16px;text-align:left;font-weight:400;white-space:nowrap;border-bottom:1px solid var(--line);vertical-align:middle}
th:first-child{padding-left:0}td.t{white-space:normal;min-width:6em}.wide td.t{max-width:15.5em;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.n{text-align:right}thead th{color:var(--soft);font-size:12px;font-weight:500;vertical-align:bottom;white-space:normal;border-color:var(--rule);line-height:1.3}
.z{color:var(--soft)}thead .b,thead .r,thead .c{white-space:nowrap}thead span+.sw{margin-left:8px}
.head th,.head td,.total th,.total td{font-weight:650}.head th s{font-weight:400}.head>*{padding-top:14px;border-color:var(--rule)}tbody:first-of-type>.head:first-child>*{padding-top:6px}
.total>*{border-color:var(--rule)}.quiet th{color:var(--soft)}
tr:target>*{background:var(--mark)}
.tree th,.tree td{padding-left:12px}.tree thead th:first-child{padding-left:0}.tree tbody th{padding-left:calc(14px + 15px*min(var(--d,0),16));position:relative}
.bar{display:flex;width:100px;height:11px}.bar i{height:100%;flex:none}.bar i:first-child{min-width:1px}
.r svg{vertical-align:-2px;overflow:visible}.r .odd{color:var(--odd)}.each{stroke:var(--host);fill:none}.each.odd{stroke:var(--launch)}
.reach{stroke:var(--queued);stroke-width:3.4;stroke-linecap:round}.at{stroke:var(--fg);stroke-width:2}
svg.log{background:repeating-linear-gradient(90deg,var(--line) 0 1px,transparent 1px var(--w))}
.decades{display:block;position:relative;width:100px;height:14px;font-weight:400}.decades small{position:absolute;transform:translateX(-50%);font-size:10.5px;white-space:nowrap}
.decades small:first-child{transform:none}.decades small:last-child{transform:translateX(-100%)}
.ticks{display:block;position:relative;height:15px;font-weight:400}.lanes .ticks{color:var(--soft)}.ticks small{position:absolute;transform:translateX(-50%);font-size:10.5px;white-space:nowrap}
.change path{fill:none;stroke-width:2.2}.better{fill:var(--busy);stroke:var(--busy)}.worse{fill:var(--launch);stroke:var(--launch)}
.change.open circle{fill:var(--bg)}.change .margin{fill:var(--shade);stroke:none}.open{fill:var(--queued);stroke:var(--soft)}.falls rect{stroke:none}
.falls{display:grid;grid-template-columns:minmax(90px,190px) minmax(0,1fr) minmax(0,180px);gap:0 16px;align-items:center;font-size:13px;max-width:960px}
.falls b,.falls>span{font-weight:400;min-width:0;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}.falls b{text-align:right}.falls .end{font-weight:650}.falls svg{display:block;width:100%;overflow:visible}
.falls .soft{color:var(--soft)}.point{fill:var(--fg)}
.more .label th{color:var(--soft);border:0;padding:8px 0}
.beside{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr);gap:8px 40px;margin-top:14px;align-items:start}
.block{margin-top:14px}.block:has(>.note)+.block:has(>.note),.block:has(>details)+.block:has(>details){margin-top:0}
summary,button{color:var(--link);cursor:pointer;font:inherit;background:none;border:0;padding:0;text-align:inherit;letter-spacing:inherit}
summary{padding:6px 0;font-size:13px}summary:hover,button:hover{text-decoration:underline}
.tools{font-size:13px;margin:2px 0 8px}.tools button{margin-right:14px}
th button{color:inherit;font-weight:inherit}.label button{color:var(--link)}
[aria-sort] button::after{content:"\a0\25be"}[aria-sort=ascending] button::after{content:"\a0\25b4"}
.tree tbody button::before,.label button::before{content:"\25be";display:inline-block;width:14px;margin-left:-14px;color:var(--soft);font-size:11px}
button[aria-expanded=false]::before{content:"\25b8"!important}.label button::before{margin-left:0}
.folded,.more.closed tr:not(.label){display:none}
#tip{position:fixed;z-index:9;max-width:420px;padding:4px 9px;border-radius:4px;background:var(--fg);color:var(--bg);font-size:12.5px;pointer-events:none;overflow-wrap:anywhere}
footer{border-top:1px solid var(--rule);margin-top:44px;padding-top:10px;color:var(--soft);font-size:12.5px}
@container(max-width:88px){.part b{display:none}}
@media(max-width:980px){.wide td.t{white-space:normal}.beside.figures{grid-template-columns:minmax(0,1fr)}.w{display:none}.plot{grid-template-columns:minmax(0,1fr) 150px}.bar{width:64px}th,td{padding-left:11px}
tbody th{max-width:255px;overflow:hidden;text-overflow:ellipsis}.tree tbody th{max-width:300px}.tree th,.tree td{padding-left:9px}
.heat th:not(:first-child){overflow:visible}}
@media(max-width:700px){body{padding:16px 14px 40px}.beside{grid-template-columns:minmax(0,1fr)}.plot{grid-template-columns:minmax(0,1fr)}.side{display:none!important}h1{font-size:22px}}
@media(prefers-reduced-motion:reduce){*{scroll-behavior:auto!important;transition:none!important;animation:none!important}}
@media print{body{padding:0;max-width:none}.tools,#tip,nav{display:none}.more tr,.more.closed tr:not(.label){display:table-row}thead{display:table-header-group}
tr,figure,.stack{break-inside:avoid}section{break-inside:auto}h2,.answer{break-after:avoid}.scroll{overflow:visible}
details::details-content{content-visibility:visible;block-size:auto}}
)css";

/// The style sheet of a page.
inline own_string html_style() {
  own_string style = ":root{color-scheme:light;";
  style += html_light;
  style += "}\n@media screen and (prefers-color-scheme:dark){:root:not([data-theme=light]){color-scheme:dark;";
  style += html_dark;
  style += "}}\n@media screen{:root[data-theme=dark]{color-scheme:dark;";
  style += html_dark;
  style += "}}";
  for (int i = 0; i < 12; ++i) style += own_format(".k{0}{{background:var(--k{0})}}", i);
  return style + html_rules;
}

// Text, numbers and colours in HTML. Names come from the program, so all text passes `html_text`.

/// Escapes a text for the content of an element or a quoted attribute. Control characters become visible escapes as in C. So do characters
/// that reorder or hide their neighbours (bidirectional controls, zero-width characters).
/// @param width maximum length in bytes before escaping; longer texts are cut in the middle.
inline std::string html_text(std::string_view text, std::size_t width = max_shown_reason) {
  std::string const line = one_line(text, width);
  std::string result;
  for (std::size_t i = 0; i < line.size(); ++i) {
    auto const byte = [&](std::size_t at) { return at < line.size() ? static_cast<unsigned char>(line[at]) : 0U; };
    unsigned code = 0;
    std::size_t length = 1;
    if (byte(i) == 0xe2U && byte(i + 1) <= 0x81U) {
      code = 0x2000U + (byte(i + 1) - 0x80U) * 64U + (byte(i + 2) - 0x80U);
      length = 3;
    } else if (byte(i) == 0xd8U && byte(i + 1) == 0x9cU) {
      code = 0x61cU;
      length = 2;
    } else if (byte(i) == 0xefU && byte(i + 1) == 0xbbU && byte(i + 2) == 0xbfU) {
      code = 0xfeffU;
      length = 3;
    }
    bool const is_hidden = code == 0x61cU || code == 0xfeffU || (code >= 0x200bU && code <= 0x200fU) ||
                           (code >= 0x202aU && code <= 0x202eU) || (code >= 0x2060U && code <= 0x206fU);
    if (is_hidden) {
      result += fmt::format("\\u{:04x}", code);
      i += length - 1;
      continue;
    }
    static constexpr std::pair<char, char const*> escapes[] = {
        {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
    auto const* const escape =
        std::find_if(std::begin(escapes), std::end(escapes), [&](auto const& each) { return each.first == line[i]; });
    result += escape == std::end(escapes) ? std::string_view{&line[i], 1} : std::string_view{escape->second};
  }
  return result;
}

/// Converts a text to a part of an `id`: letters, digits and hyphens.
inline std::string html_id(std::string_view text) {
  std::string result;
  for (char const c : text.substr(0, 64)) {
    bool const is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    result += is_plain ? c : '-';
  }
  return result;
}

/// A number with at most `decimals` decimals and no trailing zeros, for coordinates.
inline std::string html_number(double value, int decimals = 2) {
  if (!is_finite(value)) return "0";
  std::string text = fmt::format("{:.{}f}", std::clamp(value, -1e6, 1e6), decimals);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text == "-0" ? "0" : text;
}

/// A share as a percentage of a width, between 0 and 100.
inline std::string html_percent(double share) { return html_number(is_finite(share) ? 100.0 * std::clamp(share, 0.0, 1.0) : 0.0) + "%"; }

/// The CSS class of a colour, and its meaning in words for labels inside bars; kernel classes have their own names.
struct html_colour_names {
  char const* css;
  char const* words;
};
inline html_colour_names const& names_of(colour meaning) {
  static constexpr html_colour_names names[] = {{"busy", "busy"},  // as in `colour`
                                                {"launch", "launch-bound"}, {"hostb", "host-bound"}, {"sync", "synchronisation"},
                                                {"copies", "copies"},       {"queued", "queued"},    {"host", "host"},
                                                {"transfer", "transfer"},   {"neutral", ""},         {"k", ""}};
  return names[static_cast<std::size_t>(meaning)];
}

/// The CSS class of a part of a bar.
inline std::string html_colour(bar_part const& part) {
  constexpr unsigned kernel_classes = 12;
  std::string result = names_of(part.meaning).css;
  return part.meaning == colour::kernel_class ? result + std::to_string(part.shade % kernel_classes) : result;
}

/// Maximum size of a page in bytes.
inline constexpr std::size_t max_html_bytes = 1'000'000;

/// The page of a document, of at most `max_html_bytes`.
own_string html_page(document const& document);

}  // namespace PROFKIT_NAMESPACE::detail
