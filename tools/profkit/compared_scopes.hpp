// SPDX-License-Identifier: Apache-2.0
#pragma once

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
    add(roots, nullptr);
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

  /// Adds the rows of siblings, or of the children of all scopes of a row.
  /// @param merged path of the row of several scopes around them; null if the row around them is one scope.
  void add(std::vector<std::size_t> const& siblings, std::string const* merged) {
    std::map<std::string, std::set<std::int64_t>> indices;
    for (std::size_t const each : siblings) {
      key const name = key_of(*scopes_[each], merged != nullptr);
      if (name.second) indices[name.first].insert(*name.second);
    }
    constexpr std::size_t min_folded = 3;
    std::vector<compared_scopes> rows;
    std::map<key, std::size_t> known;
    for (std::size_t const each : siblings) {
      key name = key_of(*scopes_[each], merged != nullptr);
      bool const is_folded = name.second && indices[name.first].size() >= min_folded;
      if (is_folded) name.second = any_index;
      auto const [at, is_new] = known.try_emplace(name, rows.size());
      if (is_new) rows.push_back({path_of(*scopes_[each], is_folded, merged), is_folded ? indices[name.first].size() : 1, {}});
      rows[at->second].scopes.push_back(each);
    }
    for (compared_scopes& row : rows) {
      std::vector<std::size_t> inside;
      for (std::size_t const each : row.scopes) inside.insert(inside.end(), children_[each].begin(), children_[each].end());
      row.path = unique(row.path);
      std::string const path = row.path;
      bool const is_merged = merged != nullptr || row.scopes.size() > 1;
      rows_.push_back(std::move(row));
      add(inside, is_merged ? &path : nullptr);
    }
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
