// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>

#include "../../document.hpp"
#include "../profile/own_memory.hpp"
#include "html_cells.hpp"
#include "html_page.hpp"
#include "numbers.hpp"
#include "shown_text.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Prints a table with its bars and ranges. Without scripts, trees are open and all rows are visible; the script of the page folds and
/// sorts. It reads the depth of a row from `--d` and the role of a row from its class.
class html_table {
 public:
  html_table(data_table const& table, html_anchors const& anchors, html_limits const& limits)
      : table_{table}, anchors_{anchors}, limits_{limits} {
    for (std::size_t i = 0; i < table.columns.size(); ++i) cells_.emplace_back(table, i);
    for (std::size_t i = 0; i + 1 < table.rows.size(); ++i) {
      is_tree_ = is_tree_ || (!table.rows[i].is_heading && table.rows[i + 1].depth > table.rows[i].depth);
    }
    if (!table.columns.empty() && table.columns.front().kind == column_kind::code) shorten_codes();
  }

  /// Whether the table has few and narrow columns, so that it may stand beside another one.
  [[nodiscard]] bool is_narrow() const { return table_.columns.size() <= 4 && !is_tree_ && table_.rows.size() <= 30; }

  [[nodiscard]] own_string print() const {
    if (table_.columns.empty()) return {};
    bool const is_folded = table_.shown_rows == 0 && !table_.rows.empty();
    own_string page;
    if (is_folded) page += "<details><summary>" + html_text(label_of_folded(), 400) + "</summary>\n";
    if (is_tree_) page += "<div class=\"tools\"></div>\n";
    page += own_format("<div class=\"scroll\"><table class=\"{}{}{}\">\n", is_tree_ ? "tree" : "flat",
                       table_.columns.size() > 6 ? " wide" : "", has_headings() ? " grouped" : "");
    // A table with several groups has a heading for each group instead.
    if (!table_.caption.empty() && !has_headings()) page += "<caption>" + html_text(table_.caption, 400) + "</caption>\n";
    page += head() + body(is_folded) + "</table></div>\n";
    if (table_.rows.size() > rows_here()) {
      page += own_format("<p class=\"note\">{} more rows are not on this page, to keep it small. All rows: <code>report.json</code>.</p>\n",
                         with_thousands(std::to_string(table_.rows.size() - rows_here())));
    }
    return page + (is_folded ? "</details>\n" : "");
  }

 private:
  static constexpr std::size_t max_name = 56;
  static constexpr std::size_t max_name_in_tree = 50;
  static constexpr std::size_t max_code = 46;
  static constexpr std::size_t max_uncut = 24;  ///< longer texts may be cut by the width of their column

  void shorten_codes() {
    for (row const& each : table_.rows) {
      std::string const* const name = each.cells.empty() ? nullptr : std::get_if<std::string>(&each.cells.front().value);
      codes_.push_back(name == nullptr ? std::string{} : *name);
    }
    codes_ = distinct_names(codes_, max_code);
  }

  /// Maximum number of rows.
  [[nodiscard]] std::size_t rows_here() const { return table_.shown_rows == 0 ? limits_.folded_rows : limits_.rows; }

  [[nodiscard]] bool has_headings() const {
    return std::any_of(table_.rows.begin(), table_.rows.end(), [](row const& each) { return each.is_heading; });
  }

  [[nodiscard]] own_string label_of_folded() const {
    if (!table_.folded_label.empty()) return table_.folded_label;
    return with_thousands(std::to_string(table_.rows.size() - std::min(table_.shown_rows, table_.rows.size()))) + " more rows";
  }

  static bool is_number(column_kind kind) {
    return kind == column_kind::count || kind == column_kind::milliseconds || kind == column_kind::duration || kind == column_kind::share ||
           kind == column_kind::bytes || kind == column_kind::real;
  }

  /// The CSS classes of the cells of a column: they mark what the script sorts and what narrow pages hide.
  [[nodiscard]] static own_string css_class(column const& column) {
    own_string result = is_number(column.kind)             ? "n"
                        : column.kind == column_kind::code ? "c"
                        : column.kind == column_kind::text ? "t"
                        : column.kind == column_kind::bar  ? "b"
                                                           : "r";
    return column.use == column_use::always && column.kind != column_kind::range ? result : result + " w";
  }

  static own_string swatch(bar_part const& part) { return "<i class=\"sw " + html_colour(part) + "\"></i>"; }

  /// Whether the heading of a column of bars names their colours. Tables with a column for each cause do not need it.
  [[nodiscard]] bool has_legend(std::size_t i) const {
    std::size_t const colours = cells_[i].colours().size();
    return table_.columns[i].kind == column_kind::bar && !table_.columns[i].heading.empty() && colours > 0 && colours <= 2;
  }

  [[nodiscard]] bool is_named_above_bar(colour meaning) const {
    for (std::size_t i = 0; i < table_.columns.size(); ++i) {
      own_vector<bar_part> const& colours = cells_[i].colours();
      bool const has = std::any_of(colours.begin(), colours.end(), [&](bar_part const& each) { return each.meaning == meaning; });
      if (has && has_legend(i)) return true;
    }
    return false;
  }

  /// The words of the heading, each beside its colour.
  [[nodiscard]] own_string bar_heading(std::size_t i) const {
    own_string page;
    own_string rest = table_.columns[i].heading;
    for (bar_part const& part : cells_[i].colours()) {
      std::size_t const comma = rest.find(", ");
      if (!page.empty()) page += ' ';
      page += swatch(part) + "<span>" + html_text(rest.substr(0, comma), max_shown_text) + "</span>";
      if (comma == std::string::npos) break;
      rest.erase(0, comma + 2);
    }
    return page;
  }

  [[nodiscard]] own_string head() const {
    own_string page = "<thead><tr>";
    for (std::size_t i = 0; i < table_.columns.size(); ++i) {
      column const& each = table_.columns[i];
      page += own_format("<th scope=\"col\" class=\"{}\"", css_class(each));
      if (table_.sorted_by && *table_.sorted_by == i)
        page += is_number(each.kind) ? " aria-sort=\"descending\"" : " aria-sort=\"ascending\"";
      if (!each.explanation.empty()) page += " title=\"" + html_text(each.explanation) + "\"";
      page += ">";
      if (each.legend && !is_named_above_bar(*each.legend)) page += swatch({*each.legend, 0, 0.0});
      page += has_legend(i) ? bar_heading(i)
                            : own_string{"<span>"} + html_text(heading_text(each, cells_[i].numbers()), max_shown_text) + "</span>";
      if (each.kind == column_kind::logarithmic_range) page += cells_[i].axis();
      if (each.kind == column_kind::change) page += cells_[i].change_axis();
      page += "</th>";
    }
    return page + "</tr></thead>\n";
  }

  [[nodiscard]] own_string body(bool is_folded) const {
    std::size_t const count = std::min(table_.rows.size(), rows_here());
    std::size_t const shown = is_folded ? count : std::min(count, table_.shown_rows);
    own_string page = "<tbody>\n";
    for (std::size_t i = 0; i < shown; ++i) page += print(i);
    page += "</tbody>\n";
    if (shown == count) return page;
    page += own_format("<tbody class=\"more\">\n<tr class=\"label\"><th scope=\"rowgroup\" colspan=\"{}\">{}</th></tr>\n",
                       table_.columns.size(), html_text(label_of_folded(), 400));
    for (std::size_t i = shown; i < count; ++i) page += print(i);
    return page + "</tbody>\n";
  }

  [[nodiscard]] bool has_children(std::size_t i) const {
    return i + 1 < table_.rows.size() && table_.rows[i + 1].depth > table_.rows[i].depth;
  }

  [[nodiscard]] static bool is_blank(cell const& cell) {
    std::string const* const text = std::get_if<std::string>(&cell.value);
    return std::holds_alternative<std::monostate>(cell.value) || (text != nullptr && text->empty());
  }

  [[nodiscard]] own_string print(std::size_t i) const {
    row const& what = table_.rows[i];
    own_string css = what.is_heading ? "head" : what.is_total ? "total" : what.is_quiet ? "quiet" : "";
    if (is_tree_ && has_children(i) && !what.is_open) css += css.empty() ? "shut" : " shut";
    own_string page = "<tr";
    if (!css.empty()) page += " class=\"" + css + "\"";
    std::string const id = anchors_.id_of(table_, i);
    if (!id.empty()) page += " id=\"" + id + "\"";
    page += ">";
    bool const spans = what.is_heading && what.cells.size() > 1 && std::all_of(what.cells.begin() + 1, what.cells.end(), is_blank);
    for (std::size_t k = 0; k < table_.columns.size(); ++k) {
      static cell const missing{};
      cell const& each = k < what.cells.size() ? what.cells[k] : missing;
      page += k == 0 ? first(i, each, spans) : other(k, what, each);
      if (spans) break;
    }
    return page + "</tr>\n";
  }

  /// The colour of the first bar of a row, to print before the name of a kernel.
  static own_string swatch_of(row const& what) {
    for (cell const& each : what.cells) {
      bar_cell const* const bar = std::get_if<bar_cell>(&each.value);
      if (bar != nullptr && !bar->parts.empty()) return swatch(bar->parts.front());
    }
    return {};
  }

  [[nodiscard]] own_string first(std::size_t i, cell const& cell, bool spans) const {
    row const& what = table_.rows[i];
    column const& column = table_.columns.front();
    own_string page = own_format("<th scope=\"row\" class=\"{}\"", css_class(column));
    if (spans) page += own_format(" colspan=\"{}\"", table_.columns.size());
    if (is_tree_ && what.depth > 0) page += own_format(" style=\"--d:{}\"", what.depth);
    if (column.kind == column_kind::code && !what.is_quiet)
      return page + tooltip(cell, max_code) + ">" + swatch_of(what) + "<code>" + html_text(codes_[i]) + "</code></th>";
    std::size_t const width = spans ? max_shown_text : is_tree_ ? max_name_in_tree : max_name;
    page += tooltip(cell, width) + ">";
    std::string const* const text = std::get_if<std::string>(&cell.value);
    if (text == nullptr) return page + content(0, cell) + "</th>";
    // The text after the name, such as "x 12", is grey.
    std::string const shown = shortened_path(*text, width);
    std::size_t const name = what.is_quiet ? shown.size() : name_in_cell(shown).size();
    page += "<span>" + html_text(shown.substr(0, name)) + "</span>";
    if (name < shown.size()) page += "<s>" + html_text(shown.substr(name)) + "</s>";
    return page + "</th>";
  }

  [[nodiscard]] own_string other(std::size_t k, row const& what, cell const& each) const {
    column const& column = table_.columns[k];
    own_string css = css_class(column);
    double const* const number = std::get_if<double>(&each.value);
    bool const is_missing =
        std::holds_alternative<std::monostate>(each.value) && (is_number(column.kind) || column.kind == column_kind::text);
    if (is_missing || (number != nullptr && !is_finite(*number))) css += " na";
    if (number != nullptr && (*number == 0.0 || cells_[k].numbers().text(*number).find('<') != std::string::npos)) css += " z";
    own_string page = own_format("<td class=\"{}\"", css);
    if (column.kind == column_kind::logarithmic_range && std::holds_alternative<range_cell>(each.value)) {
      page += " style=\"--w:" + cells_[k].decade_width() + "\"";
    }
    bool const is_code = column.kind == column_kind::code;
    page += tooltip(each, is_code ? max_code : max_uncut) + ">";
    if (is_missing && !what.is_heading) return page + not_measured + "</td>";
    return page + (is_code ? "<code>" + content(k, each) + "</code>" : content(k, each)) + "</td>";
  }

  /// The complete text of a shortened cell, or the reason of an n/a cell.
  static own_string tooltip(cell const& cell, std::size_t width) {
    std::string const* const text = std::get_if<std::string>(&cell.value);
    if (!cell.detail.empty()) return " title=\"" + html_text(cell.detail, 400) + "\"";
    return text != nullptr && text->size() > width ? " title=\"" + html_text(*text, 400) + "\"" : "";
  }

  /// Fixed units have no separators of thousands, because files have them too.
  [[nodiscard]] std::string amount(std::size_t k, double number) const {
    std::string text = cells_[k].numbers().text(number);
    bool const is_plain = table_.has_fixed_units && table_.columns[k].kind != column_kind::real;
    return is_plain ? with_thousands(std::move(text)) : text;
  }

  [[nodiscard]] own_string content(std::size_t k, cell const& cell) const {
    if (std::string const* const text = std::get_if<std::string>(&cell.value)) {
      bool const is_code = table_.columns[k].kind == column_kind::code;
      return html_text(is_code ? shortened(*text, max_code) : *text, is_code ? max_shown_text : 400);
    }
    if (double const* const number = std::get_if<double>(&cell.value)) {
      return (table_.columns[k].is_difference && *number > 0.0 ? "+" : "") + html_text(amount(k, *number));
    }
    if (bar_cell const* const bar = std::get_if<bar_cell>(&cell.value)) return cells_[k].print(*bar);
    if (range_cell const* const range = std::get_if<range_cell>(&cell.value)) return cells_[k].print(*range);
    if (change_cell const* const change = std::get_if<change_cell>(&cell.value)) return cells_[k].print(*change);
    return is_number(table_.columns[k].kind) ? not_measured : "";
  }

  data_table const& table_;
  html_anchors const& anchors_;
  html_limits limits_;
  own_vector<html_cells> cells_;
  own_vector<std::string> codes_;  ///< shortened names of a first column of code
  bool is_tree_ = false;
};

}  // namespace PROFKIT_NAMESPACE::detail
