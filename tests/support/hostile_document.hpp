// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/document.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>

#include "made_document.hpp"

/// Names that try to escape from their place in a page.
class hostile_texts {
 public:
  explicit hostile_texts(std::uint32_t seed) : state_{seed} {}

  std::string next() {
    static std::array<std::string, 31> const pieces{"<script>hit()</script>",
                                                    "</style>",
                                                    "</script>",
                                                    "</title>",
                                                    "\"onload=hit() x=\"",
                                                    "'onclick=hit()'",
                                                    "<img src=x onerror=hit()>",
                                                    "-->",
                                                    "<!--",
                                                    "]]>",
                                                    "<![CDATA[",
                                                    "&lt;b&gt;",
                                                    "&#60;",
                                                    "&quot;",
                                                    "javascript:hit()",
                                                    "\xe2\x80\xae"
                                                    "drow",
                                                    "\xe2\x81\xa6",
                                                    "\xe2\x80\x8b",
                                                    "\xd8\x9c",
                                                    "\xff\xfe",
                                                    "\xc3\x28",
                                                    "\xed\xa0\x80",
                                                    std::string(1, '\0'),
                                                    "\r\n",
                                                    "\x1b[31m",
                                                    "\xc2\x9b",
                                                    "url(//x)",
                                                    "}*{",
                                                    "`${hit()}`",
                                                    "\xef\xbb\xbf",
                                                    "plain"};
    std::string result;
    std::uint32_t const count = 1 + random() % 4;
    for (std::uint32_t i = 0; i < count; ++i) result += pieces[random() % pieces.size()];
    if (random() % 16 == 0) result.append(3000, '<');
    return result;
  }

 private:
  std::uint32_t random() {
    state_ = state_ * 1664525U + 1013904223U;
    return state_ >> 8U;
  }

  std::uint32_t state_;
};

/// Replaces every text of a document by `next()`.
template <class Next>
void replace_texts(profkit::detail::document& document, Next&& next) {
  using namespace profkit::detail;
  auto const set = [&](auto&... texts) { ((texts = next()), ...); };
  set(document.title, document.subtitle, document.headline, document.version);
  for (finding& each : document.findings) set(each.headline, each.text, each.action, each.scope);
  for (key_figure& each : document.key_figures) set(each.name, each.value, each.note);
  auto const in_table = [&](data_table& table) {
    set(table.name, table.caption, table.folded_label);
    for (column& each : table.columns) set(each.heading);
    for (row& each : table.rows) {
      for (cell& content : each.cells) {
        set(content.detail);
        if (auto* const text = std::get_if<std::string>(&content.value)) set(*text);
        if (auto* const range = std::get_if<range_cell>(&content.value)) set(range->remark);
      }
    }
  };
  auto const in_figure = [&](figure& figure) {
    set(figure.finding);
    std::visit(
        [&](auto& picture) {
          using type = std::decay_t<decltype(picture)>;
          if constexpr (std::is_same_v<type, steps_figure>) {
            set(picture.quantity);
            for (plotted_step& each : picture.steps) set(each.label);
          } else if constexpr (std::is_same_v<type, bars_figure>) {
            for (stacked_bar& bar : picture.bars) {
              set(bar.title, bar.unit);
              for (stacked_bar::part& each : bar.parts) set(each.name);
            }
            for (auto& each : picture.legend) set(each.second);
          } else if constexpr (std::is_same_v<type, icicle_figure>) {
            set(picture.title);
            for (icicle_figure::box& each : picture.boxes) {
              set(each.name);
              set(each.more);
            }
          } else if constexpr (std::is_same_v<type, lines_figure>) {
            set(picture.x_title, picture.y_title);
            for (lines_figure::line& each : picture.lines) set(each.name);
          } else if constexpr (std::is_same_v<type, other_figure>) {
            if (auto* const falls = picture.template get<waterfall_figure>()) {
              for (waterfall_figure::part& each : falls->parts) set(each.name, each.label);
            }
            if (auto* const pairs = picture.template get<pairs_figure>()) set(pairs->title);
            if (auto* const heat = picture.template get<heat_figure>()) {
              set(heat->title);
              for (std::string& each : heat->rows) set(each);
              for (std::string& each : heat->columns) set(each);
            }
            if (auto* const lanes = picture.template get<lanes_figure>()) {
              for (lanes_figure::row& each : lanes->rows) {
                set(each.name);
                for (auto* const lane : {&each.upper, &each.lower}) {
                  for (lanes_figure::stretch& one : *lane) set(one.name);
                }
              }
              for (auto& each : lanes->legend) set(each.second);
            }
          } else {
            for (roofline_figure::roof& each : picture.roofs) set(each.name);
            for (roofline_figure::point& each : picture.points) set(each.name);
          }
        },
        figure.content);
  };
  for (section& part : document.sections) {
    set(part.title, part.answer, part.how_to_read);
    for (block& each : part.blocks) {
      if (auto* const table = std::get_if<data_table>(&each)) in_table(*table);
      if (auto* const picture = std::get_if<figure>(&each)) in_figure(*picture);
      if (auto* const text = std::get_if<note>(&each)) set(text->text);
    }
  }
}

/// A document whose texts are all hostile; some thousand of them.
inline profkit::detail::document hostile_document(std::uint32_t seed) {
  profkit::detail::document made = made_document();
  hostile_texts names{seed};
  replace_texts(made, [&] { return names.next(); });
  return made;
}
