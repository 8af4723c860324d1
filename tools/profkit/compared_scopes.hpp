// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "run_figures.hpp"

namespace profkit_program::detail {

/// A row of scopes: one scope, or numbered siblings and what is inside them.
struct compared_scopes {
  std::string path;                 ///< "step/layer_*/attention"
  std::size_t siblings = 1;         ///< number of numbered siblings in this row
  std::vector<std::size_t> scopes;  ///< positions of the scopes; several: the row is their sum
};

/// Merges numbered siblings of both sides to rows: siblings that differ only in the recorder's index, three or more, and their children in
/// the same way. The rules are those of the report (`profkit::detail::folded_tree`).
class scope_folding {
 public:
  /// @param scopes all scopes of both sides, each once, in the order of the tree; paths are unique.
  explicit scope_folding(std::vector<scope_figures const*> const& scopes) : scopes_{scopes}, children_(scopes.size()) {
    std::unordered_map<std::string, std::size_t> positions;
    for (std::size_t i = 0; i < scopes.size(); ++i) positions.emplace(scopes[i]->path, i);
    std::vector<std::size_t> roots;
    for (std::size_t i = 0; i < scopes.size(); ++i) {
      auto const around = positions.find(scopes[i]->around);
      (around == positions.end() ? roots : children_[around->second]).push_back(i);
    }
    std::vector<waiting_row> waiting;  // the next one last
    add_siblings(waiting, roots, nullptr);
    while (!waiting.empty()) {
      waiting_row next = std::move(waiting.back());
      waiting.pop_back();
      std::vector<std::size_t> inside;
      for (std::size_t const each : next.row.scopes) inside.insert(inside.end(), children_[each].begin(), children_[each].end());
      next.row.path = unique(next.row.path);
      bool const is_merged = next.is_inside_merged || next.row.scopes.size() > 1;
      add_siblings(waiting, inside, is_merged ? &next.row.path : nullptr);
      rows_.push_back(std::move(next.row));
    }
  }

  /// The rows in the order of the tree.
  [[nodiscard]] std::vector<compared_scopes> take() && { return std::move(rows_); }

 private:
  /// The name of a scope, or the pattern and the index of a numbered one.
  using key = std::pair<std::string, std::optional<std::int64_t>>;
  static constexpr std::int64_t any_index = std::numeric_limits<std::int64_t>::min();

  /// @param is_merged whether the scope is inside a row of several scopes, so the path of that row replaces the path around the scope.
  [[nodiscard]] static key key_of(scope_figures const& scope, bool is_merged) {
    std::string const prefix = scope.around.empty() ? std::string{} : scope.around + "/";
    bool const has_prefix = scope.path.size() > prefix.size() && scope.path.compare(0, prefix.size(), prefix) == 0;
    if (scope.number) return {(is_merged || !has_prefix ? std::string{} : prefix) + scope.number->pattern, scope.number->index};
    return {is_merged && has_prefix ? scope.path.substr(prefix.size()) : scope.path, std::nullopt};
  }

  struct waiting_row {
    compared_scopes row;
    bool is_inside_merged;
  };

  /// Makes the rows of siblings, or of the children of all scopes of a row.
  /// @param merged path of the row of several scopes around them; null if the row around them is one scope.
  void add_siblings(std::vector<waiting_row>& waiting, std::vector<std::size_t> const& siblings, std::string const* merged) const {
    std::map<std::string, std::set<std::int64_t>> indices;
    for (std::size_t const each : siblings) {
      key const name = key_of(*scopes_[each], merged != nullptr);
      if (name.second) indices[name.first].insert(*name.second);
    }
    constexpr std::size_t min_folded = 3;
    std::size_t const first = waiting.size();
    std::map<key, std::size_t> known;
    for (std::size_t const each : siblings) {
      key name = key_of(*scopes_[each], merged != nullptr);
      bool const is_folded = name.second && indices[name.first].size() >= min_folded;
      if (is_folded) name.second = any_index;
      auto const [at, is_new] = known.try_emplace(name, waiting.size());
      if (is_new) {
        std::size_t const in_row = is_folded ? indices[name.first].size() : 1;
        waiting.push_back({{path_of(*scopes_[each], is_folded, merged), in_row, {}}, merged != nullptr});
      }
      waiting[at->second].row.scopes.push_back(each);
    }
    std::reverse(waiting.begin() + static_cast<std::ptrdiff_t>(first), waiting.end());
  }

  [[nodiscard]] static std::string path_of(scope_figures const& scope, bool is_folded, std::string const* merged) {
    if (is_folded) return (merged == nullptr ? std::string{} : *merged + "/") + key_of(scope, merged != nullptr).first;
    if (merged == nullptr) return scope.path;
    // A numbered scope without enough siblings keeps its index.
    std::size_t const prefix = scope.around.size() + 1;
    return *merged + "/" + (scope.path.size() > prefix ? scope.path.substr(prefix) : scope.path);
  }

  /// A scope can be called "layer_*".
  std::string unique(std::string const& path) {
    std::string result = path;
    for (int i = 2; !taken_.insert(result).second; ++i) result = path + " #" + std::to_string(i);
    return result;
  }

  std::vector<scope_figures const*> const& scopes_;
  std::vector<std::vector<std::size_t>> children_;
  std::vector<compared_scopes> rows_;
  std::set<std::string> taken_;
};

}  // namespace profkit_program::detail
