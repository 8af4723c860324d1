// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/document.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/impl/report/json_text.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace PROFKIT_NAMESPACE::detail {

/// Prints a document as JSON, for programs that display or store reports: the content of the text form, with unrounded numbers in tables.
/// Times are in ms, sizes in bytes, shares and changes as fractions; n/a is null. Figures and bars are omitted, because tables have their
/// numbers.
class json_printer {
 public:
  /// @param document must outlive this.
  explicit json_printer(document const& document) : document_{document} {}

  [[nodiscard]] own_string print() const {
    json_object result;
    result.add("schema", json_value(1));
    result.add("version", json_value(document_.version));
    result.add("title", json_value(document_.title));
    result.add("subtitle", json_value(document_.subtitle));
    result.add("headline", json_value(document_.headline));
    add_list(result, "findings", document_.findings, [](finding const& each, std::size_t depth) {
      json_object object{depth};
      object.add("headline", json_value(each.headline));
      object.add("text", json_value(each.text));
      object.add("action", json_value(each.action));
      object.add("scope", each.scope.empty() ? json_value(std::nullopt) : json_value(each.scope));
      return object.text();
    });
    add_list(result, "key_figures", document_.key_figures, [](key_figure const& each, std::size_t depth) {
      json_object object{depth};
      object.add("name", json_value(each.name));
      object.add("value", each.value.empty() ? json_value(std::nullopt) : json_value(each.value));
      object.add("note", json_value(each.note));
      return object.text();
    });
    add_list(result, "sections", document_.sections, [](section const& each, std::size_t depth) { return text(each, depth); });
    return result.text() + "\n";
  }

 private:
  template <class List, class Print>
  static void add_list(json_object& to, char const* key, List const& values, Print const& print) {
    json_list list{to.depth() + 1};
    for (auto const& each : values) list.add(print(each, to.depth() + 2));
    to.add(key, std::move(list).take());
  }

  static own_string text(section const& what, std::size_t depth) {
    json_object result{depth};
    result.add("id", json_value(what.id));
    result.add("title", json_value(what.title));
    result.add("answer", json_value(what.answer));
    own_vector<note const*> notes;
    own_vector<data_table const*> tables;
    for (block const& each : what.blocks) {
      if (auto const* const words = std::get_if<note>(&each)) notes.push_back(words);
      if (auto const* const table = std::get_if<data_table>(&each)) tables.push_back(table);
    }
    add_list(result, "notes", notes, [](note const* each, std::size_t) { return json_value(each->text); });
    add_list(result, "tables", tables, [](data_table const* each, std::size_t inner) { return text(*each, inner); });
    result.add("how_to_read", json_value(what.how_to_read));
    return result.text();
  }

  static own_string text(data_table const& what, std::size_t depth) {
    json_object result{depth};
    result.add("name", json_value(what.name));
    result.add("caption", json_value(what.caption));
    json_list columns{depth + 1};
    for (column const& each : what.columns) {
      if (each.kind == column_kind::bar) continue;
      json_object object{depth + 2};
      object.add("heading", json_value(each.heading));
      object.add("unit", json_value(unit_of(each.kind)));
      columns.add(object.text());
    }
    result.add("columns", std::move(columns).take());
    add_list(result, "rows", what.rows, [&](row const& each, std::size_t inner) { return text(what, each, inner); });
    return result.text();
  }

  static own_string text(data_table const& table, row const& what, std::size_t depth) {
    json_object result{depth};
    result.add("depth", json_value(what.depth));
    json_list cells{depth + 1};
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].kind != column_kind::bar)
        cells.add(i < what.cells.size() ? text(what.cells[i], depth + 2) : json_value(std::nullopt));
    }
    result.add("cells", std::move(cells).take());
    return result.text();
  }

  /// The complete text, which a cell with a shortened text has as its detail.
  static own_string text(cell const& what, std::size_t depth) {
    if (auto const* const words = std::get_if<std::string>(&what.value)) return json_value(what.detail.empty() ? *words : what.detail);
    if (auto const* const number = std::get_if<double>(&what.value)) return json_value(*number);
    json_object result{depth};
    if (auto const* const range = std::get_if<range_cell>(&what.value)) {
      result.add("low", json_value(range->low));
      result.add("mean", json_value(range->mean));
      result.add("high", json_value(range->high));
    } else if (auto const* const change = std::get_if<change_cell>(&what.value)) {
      result.add("low", json_value(change->low));
      result.add("change", json_value(change->change));
      result.add("high", json_value(change->high));
    } else {
      return json_value(std::nullopt);
    }
    return result.text();
  }

  /// The unit of the numbers as printed here.
  static char const* unit_of(column_kind kind) {
    switch (kind) {
      case column_kind::milliseconds:
      case column_kind::duration:
      case column_kind::range:
      case column_kind::logarithmic_range:
        return "ms";
      case column_kind::bytes:
        return "bytes";
      case column_kind::share:
      case column_kind::change:
        return "1";
      default:
        return "";
    }
  }

  document const& document_;
};

}  // namespace PROFKIT_NAMESPACE::detail
