// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <profkit/document.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/impl/report/first_screen.hpp>
#include <profkit/impl/report/text_width.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "rank_figures.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Prints the document of a job of many ranks: at most 60 lines of at most 120 columns. If the space is not sufficient, rows of tables are
/// left out first, then stages and maps. Findings, and rows of up to 8 ranks, are never left out.
class ranks_screen {
 public:
  ranks_screen(document what, text_style const& style) : document_{std::move(what)}, style_{style} {}

  /// @param files the last line; may be empty.
  [[nodiscard]] own_string text(std::string_view files) const {
    own_vector<std::string> lines;
    constexpr std::array<std::size_t, 6> most{{17, 13, 9, 7, 5, 3}};
    for (std::size_t const rows : most) {
      lines = lines_within(rows, files);
      if (lines.size() <= style_.max_lines) break;
    }
    if (lines.size() > style_.max_lines) lines.resize(style_.max_lines);
    own_string result;
    for (std::string const& line : lines) result += line + "\n";
    return result;
  }

 private:
  using line_list = own_vector<std::string>;

  [[nodiscard]] std::string shown(std::string_view text) const { return printable(text, style_); }

  static void append(line_list& to, line_list added) {
    for (std::string& each : added) to.push_back(std::move(each));
  }

  [[nodiscard]] line_list lines_within(std::size_t max_rows, std::string_view files) const {
    line_list result = head();
    for (section const& each : document_.sections) {
      constexpr std::size_t min_for_stages = 7;
      if (each.id == "quality" || each.id == "budget" || each.id == "step") continue;
      if (each.id == "stages" && max_rows < min_for_stages) continue;
      line_list lines;
      std::string title{each.title};
      std::transform(title.begin(), title.end(), title.begin(),
                     [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
      for (block const& one : each.blocks) {
        if (auto const* const table = std::get_if<data_table>(&one)) append(lines, rows_of(*table, title, max_rows));
        if (auto const* const picture = std::get_if<figure>(&one)) append(lines, map_of(*picture, max_rows));
      }
      if (!lines.empty()) result.emplace_back();
      append(result, std::move(lines));
    }
    result.emplace_back();
    for (section const& each : document_.sections) {
      if (each.id == "budget") append(result, wrapped(shown(each.answer), "BUDGET   ", "         ", style_.width, 2));
      if (each.id != "quality") continue;
      append(result, wrapped(shown(each.answer), "DATA     ", "         ", style_.width, 2));
      std::size_t notes = 0;
      constexpr std::size_t max_notes = 8;
      for (block const& one : each.blocks) {
        auto const* const text = std::get_if<note>(&one);
        if (text == nullptr) continue;
        if (++notes > max_notes) continue;
        append(result, wrapped(shown(text->text), "         ", "           ", style_.width, 2));
      }
      if (notes > max_notes) result.push_back(fmt::format("         and {} more notes on the HTML page", notes - max_notes));
    }
    if (!files.empty()) append(result, wrapped(shown(files), "FILES    ", "         ", style_.width, 2));
    return result;
  }

  [[nodiscard]] line_list head() const {
    std::string about = document_.version + "   " + document_.title + " " + document_.subtitle;
    replace_all(about, " \xc2\xb7 ", "   ");
    line_list result{cut_at_the_end(without_no_break(shown(about)), style_.width), ""};
    for (std::string const& line : wrapped(shown(document_.headline) + ".", "", "", style_.width, 3))
      result.push_back(coloured(line, "\x1b[1m", style_));
    std::size_t number = 0;
    for (finding const& each : document_.findings) {
      append(result, wrapped(shown(each.headline + " " + each.text), fmt::format(" {} ", ++number), "   ", style_.width, 3));
      for (std::string const& line : wrapped(shown(each.action), "   > ", "     ", style_.width, 2))
        result.push_back(coloured(line, "\x1b[36m", style_));
    }
    return result;
  }

  /// The first rows of a table, and its totals.
  [[nodiscard]] line_list rows_of(data_table const& table, std::string const& title, std::size_t max_rows) const {
    own_vector<row> rows;
    std::size_t const count = std::min(table.rows.size(), table.shown_rows);
    std::size_t left_out = table.rows.size() - count;
    std::size_t const most = table.name == "ranks" ? std::max(max_rows, min_ranks) : std::min<std::size_t>(max_rows, 7);
    for (std::size_t i = 0; i < count; ++i) {
      if (rows.size() < most || table.rows[i].is_total) {
        rows.push_back(table.rows[i]);
      } else {
        ++left_out;
      }
    }
    line_list result = text_table{table, shown(title), style_}.lines(rows);
    if (left_out > 0) result.push_back(fmt::format("and {} more on the HTML page", left_out));
    return result;
  }

  /// A map with one character for each cell.
  [[nodiscard]] line_list map_of(figure const& picture, std::size_t max_rows) const {
    auto const* const map = picture.other<heat_figure>();
    if (map == nullptr || (map->rows.size() <= min_ranks && map->rows.size() > max_rows)) return {};
    constexpr std::size_t max_name = 24;
    std::size_t width = 0;
    for (std::string const& each : map->rows) width = std::max(width, std::min(max_name, width_of(each)));
    std::string head = std::string(width + 2, ' ');
    for (std::size_t i = 0; i < map->columns.size(); ++i) head += i % 5 == 0 ? padded(map->columns[i].substr(0, 5), 5) : std::string{};
    std::size_t const columns = map->columns.size();
    line_list result{cut_at_the_end(padded(head, width + 2 + columns) + "  " + shown(map->title), style_.width)};
    std::size_t shown_rows = 0;
    for (std::size_t i = 0; i < map->rows.size() && shown_rows < max_rows; ++i, ++shown_rows) {
      std::string line = padded(cut_in_the_middle(shown(map->rows[i]), width), width + 2);
      for (std::size_t k = 0; k < columns; ++k) line += level(*map, i, k);
      result.push_back(std::move(line));
    }
    std::string warmup(width + 2, ' ');
    for (std::size_t i = 0; i < columns; ++i) warmup += map->is_dashed[i] ? 'w' : ' ';
    bool const has_warmup = warmup.find('w') != std::string::npos;
    warmup.erase(warmup.find_last_not_of(' ') + 1);
    if (has_warmup) result.push_back(warmup + "  w: warm-up");
    return result;
  }

  [[nodiscard]] std::string level(heat_figure const& map, std::size_t row, std::size_t column) const {
    if (column >= map.values[row].size() || !map.values[row][column]) return "?";
    double const share = map.high > 0.0 ? *map.values[row][column] / map.high : 0.0;
    static constexpr std::array<char const*, 5> blocks{"\xc2\xb7", "\xe2\x96\x91", "\xe2\x96\x92", "\xe2\x96\x93", "\xe2\x96\x88"};
    static constexpr std::array<char const*, 5> plain{".", "-", "+", "*", "#"};
    std::size_t const at = share < 0.1 ? 0 : share < 0.25 ? 1 : share < 0.5 ? 2 : share < 1.0 ? 3 : 4;
    return style_.is_utf8 ? blocks[at] : plain[at];
  }

  static constexpr std::size_t min_ranks = 8;  ///< so many ranks have all their rows

  document document_;
  text_style style_;
};

}  // namespace PROFKIT_NAMESPACE::detail
