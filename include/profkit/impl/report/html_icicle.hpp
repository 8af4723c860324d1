// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "../../document.hpp"
#include "../../summary.hpp"
#include "../analyze/samples/sample_rows.hpp"
#include "../profile/own_containers.hpp"
#include "../profile/own_memory.hpp"
#include "../profile/own_sort.hpp"
#include "html_cells.hpp"
#include "html_lines.hpp"
#include "html_page.hpp"
#include "number_format.hpp"
#include "numbers.hpp"
#include "samples_section.hpp"
#include "shown_text.hpp"

namespace profkit::detail {

/// The boxes of functions in the self time of scopes, from host samples. The samples are from the measured steps of all kinds.
class sampled_boxes {
 public:
  static constexpr double min_share = 0.0025;  ///< minimum share of the figure; narrower boxes are left out

  /// @param samples must outlive this.
  explicit sampled_boxes(host_samples_summary const& samples) {
    for (sampled_scope_summary const& each : samples.scopes) {
      if (each.scope) of_scope_.emplace(*each.scope, &each);
    }
  }

  /// Divides the self time of scopes among their functions, longest first, and waiting.
  /// @param scopes positions in `summary::scopes`.
  /// @param begin, self beginning and length of the self time, in milliseconds; nothing is added if it is too narrow.
  void add(icicle_figure& figure, own_vector<std::size_t> const& scopes, double begin, double self, std::uint32_t depth) const {
    if (self < min_share * figure.total) return;
    sums const totals = sums_of(scopes);
    if (!(totals.whole > 0.0)) return;
    own_vector<std::pair<std::string, double>> functions{totals.functions.begin(), totals.functions.end()};
    own_stable_sort(functions.begin(), functions.end(), [](auto const& a, auto const& b) { return a.second > b.second; });
    double rest = totals.other_time;
    std::uint64_t others = totals.others;
    auto const add_box = [&](std::string name, double time, icicle_figure::box_kind kind) {
      double const width = self * time / totals.whole;
      if (width < min_share * figure.total) return;
      sampled_share const share = share_of_samples(std::min(time / totals.whole, 1.0), totals.trials);
      figure.boxes.push_back({std::move(name), depth, begin, width, 0.0, kind, sampled_words(share) + " of the scope's own time"});
      begin += width;
    };
    for (auto& [name, time] : functions) {
      if (self * time / totals.whole < min_share * figure.total) {
        rest += time;
        ++others;
      } else {
        add_box(std::move(name), time, icicle_figure::box_kind::function);
      }
    }
    if (others > 0) add_box(counted(others, "more function", "more functions"), rest, icicle_figure::box_kind::function);
    double waiting = totals.whole - totals.sampled;
    for (auto const& [name, time] : totals.waits) {
      if (self * time / totals.whole < min_share * figure.total) continue;  // the last box contains its time
      add_box(name, time, icicle_figure::box_kind::waiting);
      waiting -= time;
    }
    add_box(waiting_words, std::max(waiting, 0.0), icicle_figure::box_kind::waiting);
  }

 private:
  /// Sums over scopes, in milliseconds of all measured steps.
  struct sums {
    double whole = 0.0;    ///< self time
    double sampled = 0.0;  ///< processor time of all functions
    double trials = 0.0;   ///< estimated number of samples in the self time
    std::map<std::string, double> functions;
    std::map<std::string, double> waits;  ///< by API call
    std::uint64_t others = 0;
    double other_time = 0.0;
  };

  [[nodiscard]] sums sums_of(own_vector<std::size_t> const& scopes) const {
    sums result;
    std::uint64_t samples = 0;
    for (std::size_t const scope : scopes) {
      auto const at = of_scope_.find(scope);
      if (at == of_scope_.end()) continue;
      sampled_scope_summary const& each = *at->second;
      result.whole += std::max(each.self.value_or(each.sampled), each.sampled).count();
      result.sampled += each.sampled.count();
      samples += each.samples;
      for (sampled_function_summary const& function : each.functions) result.functions[function_words(function)] += function.time.count();
      for (sampled_wait_summary const& wait : each.waits) result.waits["waiting in " + wait.name] += wait.time.count();
      result.others += each.other_functions;
      result.other_time += each.other_time.count();
    }
    if (result.sampled > 0.0) result.trials = static_cast<double>(samples) * (result.whole / result.sampled);
    return result;
  }

  own_hash_map<std::size_t, sampled_scope_summary const*> of_scope_;
};

/// Prints the activity of several ranks at the same time, as boxes with widths in percent.
class html_lanes {
 public:
  html_lanes(lanes_figure const& figure, html_limits const& limits) : figure_{figure}, limits_{limits} {}

  [[nodiscard]] own_string print(std::string const& finding) const {
    double const total = amount_or_zero(figure_.total);
    if (!(total > 0.0)) return {};
    own_string page =
        own_format("<div class=\"lanes{}\" role=\"img\" aria-label=\"{}\">\n", figure_.has_thin_lower ? " thin" : "", html_text(finding));
    std::size_t shown = 0;
    for (lanes_figure::row const& each : figure_.rows) {
      if (shown++ == limits_.boxes) break;
      page += "<span>" + html_text(each.name, 48) + "</span><div>" + boxes(each.upper, "", total) + boxes(each.lower, " low", total) +
              "</div>\n";
    }
    page += "<span></span><div class=\"ticks\">";
    html_axis const axis{0.0, total, 8};
    for (double const tick : axis.ticks()) {
      constexpr double last = 0.97;  // a label further right would extend beyond the page
      if (axis.share(tick) > last) break;
      page += own_format("<small style=\"left:{}\">{}{}</small>", html_percent(axis.share(tick)), axis.label(tick),
                         tick == 0.0 ? "&nbsp;ms" : "");
    }
    return page + "</div>\n</div>\n" + html_legend(figure_.legend, limits_);
  }

 private:
  [[nodiscard]] own_string boxes(own_vector<lanes_figure::stretch> const& list, char const* lane, double total) const {
    own_string page;
    std::size_t shown = 0;
    for (lanes_figure::stretch const& each : list) {
      if (shown++ == limits_.boxes) break;
      double const begin = std::clamp(amount_or_zero(each.begin), 0.0, total);
      double const end = std::clamp(amount_or_zero(each.end), begin, total);
      page += own_format("<i class=\"{}{}\" style=\"left:{};width:{}\" title=\"{}: {} to {}&nbsp;ms\"></i>", html_colour({each.meaning}),
                         lane, html_percent(begin / total), html_percent((end - begin) / total), html_text(each.name, 80),
                         html_amount(begin), html_amount(end));
    }
    return page;
  }

  lanes_figure const& figure_;
  html_limits const& limits_;
};

/// Prints a tree of boxes whose width is their time, with idle time hatched at the right. A click on a box enlarges it (by the script of
/// the page). Positions are percentages of the width of the page.
class html_icicle {
 public:
  html_icicle(icicle_figure const& figure, html_limits const& limits) : figure_{figure}, limits_{limits} {}

  [[nodiscard]] own_string print(std::string const& finding) const {
    if (!(amount_or_zero(figure_.total) > 0.0)) return {};
    own_string boxes;
    std::uint32_t deepest = 0;
    std::size_t shown = 0;
    std::size_t left_out = 0;
    for (icicle_figure::box const& each : figure_.boxes) {
      double const share = amount_or_zero(each.time) / figure_.total;
      if (share < min_shown || each.depth >= max_depth) continue;
      if (shown == limits_.boxes) {
        ++left_out;
        continue;
      }
      ++shown;
      deepest = std::max(deepest, each.depth);
      boxes += box(each, share);
    }
    own_string page;
    if (!figure_.title.empty()) page += "<h3>" + html_text(figure_.title) + "</h3>\n";
    page += own_format("<div class=\"icicle{}\" role=\"img\" aria-label=\"{}\" style=\"height:{}px\">\n{}</div>\n",
                       figure_.is_host ? " hosts" : "", html_text(figure_.title.empty() ? finding : figure_.title + ": " + finding),
                       (deepest + 1) * row_height, boxes);
    if (left_out > 0) page += own_format("<p class=\"note\">{} more boxes are not drawn.</p>\n", left_out);
    return page;
  }

 private:
  [[nodiscard]] static char const* class_of(icicle_figure::box_kind kind) {
    switch (kind) {
      case icicle_figure::box_kind::scope:
        return "";
      case icicle_figure::box_kind::function:
        return " class=\"f\"";
      case icicle_figure::box_kind::waiting:
        return " class=\"w\"";
    }
    return "";
  }

  static constexpr double min_shown = 0.0025;
  static constexpr double min_named = 0.032;
  static constexpr double min_timed = 0.09;
  static constexpr std::uint32_t max_depth = 32;
  static constexpr std::uint32_t row_height = 22;

  [[nodiscard]] own_string box(icicle_figure::box const& what, double share) const {
    double const idle = std::min(amount_or_zero(what.idle) / what.time, 1.0);
    std::string const name = html_text(what.name, 80);
    own_string page = own_format("<div{} style=\"left:{};width:{};top:{}px\" title=\"{}: {} ms, {:.1f}&nbsp;%", class_of(what.kind),
                                 html_percent(what.begin / figure_.total), html_percent(share), what.depth * row_height, name,
                                 html_amount(what.time), 100.0 * share);
    if (idle > 0.0) page += own_format(", idle {} ms", html_amount(what.idle));
    if (!what.more.empty()) page += ", " + html_text(what.more, 160);
    page += "\">";
    if (idle >= 0.005) page += own_format("<i style=\"width:{}\"></i>", html_percent(idle));
    constexpr double letters = 150.0;  // number of characters that fit the width of the page
    bool const fits = static_cast<double>(what.name.size()) <= share * letters;
    if (share >= min_named)
      page += "<span>" + (fits ? name : html_text(last_component(what.name), 80)) +
              (share >= min_timed ? " <s>" + html_amount(what.time) + "</s>" : "") + "</span>";
    return page + "</div>\n";
  }

  icicle_figure const& figure_;
  html_limits limits_;
};

}  // namespace profkit::detail
