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
#include "../profile/own_memory.hpp"

namespace profkit::detail {

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

}  // namespace profkit::detail
