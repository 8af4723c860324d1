// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compared_rows.hpp"
#include "comparison.hpp"
#include "comparison_words.hpp"

namespace profkit_program::detail {

/// The rows of a comparison as a tree: which scope is inside which.
class comparison_tree {
 public:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  /// @param result must outlive this.
  explicit comparison_tree(comparison const& result) : result_{result} {
    find_parents();
    find_odd_members();
  }

  /// The row of the scope around a row; `none` for rows outside.
  [[nodiscard]] std::size_t parent(std::size_t position) const { return parents_[position]; }

  /// The row of the step; null if the step was not compared.
  [[nodiscard]] comparison_row const* step() const {
    return !result_.rows.empty() && result_.rows.front().kind == row_kind::step ? &result_.rows.front() : nullptr;
  }

  /// The name of a row without the path of its parent.
  [[nodiscard]] std::string name_of_row(std::size_t position) const {
    comparison_row const& each = result_.rows[position];
    std::string name = parents_[position] == none ? each.name : each.name.substr(result_.rows[parents_[position]].name.size() + 1);
    return each.figure.empty() ? name + siblings_text(each) : name + " (" + each.figure + ")";
  }

  /// The members of a row that changed otherwise than the row did, by size.
  [[nodiscard]] std::vector<comparison_row const*> const& odd_members(std::size_t position) const { return odd_members_[position]; }

  [[nodiscard]] std::size_t count_odd_members() const {
    std::size_t count = 0;
    for (auto const& each : odd_members_) count += each.size();
    return count;
  }

  /// "layer_7/attention": the path of a member from where it differs from that of its row.
  [[nodiscard]] std::string name_of_member(comparison_row const& member, std::size_t row) const {
    std::string const& path = result_.rows[row].name;
    auto const differs = std::mismatch(member.name.begin(), member.name.end(), path.begin(), path.end()).first;
    std::size_t const slash = member.name.rfind('/', static_cast<std::size_t>(differs - member.name.begin()));
    return slash == std::string::npos ? member.name : member.name.substr(slash + 1);
  }

  /// "layer_7", or "layer_7, head_2": the names of a member that its row does not have.
  [[nodiscard]] std::string numbers_of_member(comparison_row const& member, std::size_t row) const {
    std::string const& path = result_.rows[row].name;
    std::string names;
    std::size_t at = 0;
    std::size_t at_row = 0;
    while (at < member.name.size() && at_row < path.size()) {
      std::size_t const end = std::min(member.name.find('/', at), member.name.size());
      std::size_t const end_row = std::min(path.find('/', at_row), path.size());
      if (member.name.compare(at, end - at, path, at_row, end_row - at_row) != 0)
        names += (names.empty() ? "" : ", ") + member.name.substr(at, end - at);
      at = end + 1;
      at_row = end_row + 1;
    }
    return names.empty() ? name_of_member(member, row) : names;
  }

  /// A member and its row.
  struct odd_member {
    comparison_row const* scope = nullptr;  ///< null: none
    std::size_t row = 0;
  };

  /// The odd member that changed most in one direction.
  [[nodiscard]] odd_member largest_member(verdict says) const {
    odd_member found;
    for (std::size_t row = 0; row < odd_members_.size(); ++row) {
      for (comparison_row const* const each : odd_members_[row]) {
        bool const is_larger = found.scope == nullptr || std::abs(difference_of(*each)) > std::abs(difference_of(*found.scope));
        if (each->says == says && is_larger) found = {each, row};
      }
    }
    return found;
  }

  /// The innermost odd member inside a member, or itself, that has at least 80 % of its difference.
  [[nodiscard]] odd_member cause_of(odd_member const& member) const {
    odd_member cause = member;
    for (std::size_t row = member.row + 1; row < odd_members_.size(); ++row) {
      for (comparison_row const* const each : odd_members_[row]) {
        if (is_inside(each->name, cause.scope->name) && difference_of(*each) / difference_of(*member.scope) >= 0.8) cause = {each, row};
      }
    }
    return cause;
  }

  /// The scope that changed most in one direction. Scopes inside another one that did are its details.
  [[nodiscard]] std::size_t largest(verdict says) const {
    std::size_t found = none;
    for (std::size_t i = 0; i < result_.rows.size(); ++i) {
      comparison_row const& each = result_.rows[i];
      if (each.kind != row_kind::scope || each.says != says || !each.figure.empty() || is_step_scope(i) || is_inside_of(says, i)) continue;
      if (found == none || std::abs(difference_of(each)) > std::abs(difference_of(result_.rows[found]))) found = i;
    }
    return found;
  }

  /// Whether a scope around this one, other than that of the step, has the verdict.
  [[nodiscard]] bool is_inside_of(verdict says, std::size_t position) const {
    for (std::size_t at = parents_[position]; at != none; at = parents_[at]) {
      if (result_.rows[at].says == says && !is_step_scope(at)) return true;
    }
    return false;
  }

  /// The scope of the step itself, which the row of the step tells better.
  [[nodiscard]] bool is_step_scope(std::size_t position) const {
    return step() != nullptr && parents_[position] == none && result_.rows[position].name == "step";
  }

  /// The row to whose times those of the parts of the step add up. @pre the step is compared.
  [[nodiscard]] comparison_row const* whole_of_parts() const {
    if (!result_.is_usual_step) return step();
    for (std::size_t i = 0; i < result_.rows.size(); ++i) {
      if (is_step_scope(i) && !result_.rows[i].is_gpu) return &result_.rows[i];
    }
    return step();
  }

  /// The host time of the step's scope says the same as the row of the step.
  [[nodiscard]] bool is_row_of_step(std::size_t position) const {
    return is_step_scope(position) && !result_.rows[position].is_gpu && !result_.rows.front().is_gpu && !result_.is_usual_step;
  }

  [[nodiscard]] std::uint32_t depth_in_table(std::size_t position) const {
    std::size_t root = position;
    while (parents_[root] != none) root = parents_[root];
    std::uint32_t const depth = depth_of(position);
    return depth > 0 && is_row_of_step(root) ? depth - 1 : depth;
  }

  /// The innermost scope inside that has at least 80 % of the difference.
  [[nodiscard]] std::size_t cause_of(std::size_t position) const {
    std::size_t cause = position;
    for (std::size_t i = position + 1; i < result_.rows.size(); ++i) {
      comparison_row const& each = result_.rows[i];
      if (each.kind != row_kind::scope || !each.figure.empty() || parents_[i] != cause) continue;
      if (difference_of(each) / difference_of(result_.rows[position]) >= 0.8) cause = i;
    }
    return cause;
  }

  /// The function in the own time of a scope that changed most in one direction; null if none did.
  [[nodiscard]] comparison_row const* function_in(std::string const& path, verdict says) const {
    comparison_row const* found = nullptr;
    for (comparison_row const& each : result_.rows) {
      bool const is_in = each.kind == row_kind::function && each.says == says && each.name.rfind(path + ": ", 0) == 0;
      if (is_in && (found == nullptr || std::abs(difference_of(each)) > std::abs(difference_of(*found)))) found = &each;
    }
    return found;
  }

 private:
  [[nodiscard]] std::uint32_t depth_of(std::size_t position) const {
    std::uint32_t depth = 0;
    for (std::size_t at = parents_[position]; at != none; at = parents_[at]) ++depth;
    return depth;
  }

  /// Rows of scopes are in the order of the tree. The parent of a row is the row with the longest path around it.
  void find_parents() {
    std::unordered_map<std::string, std::size_t> scopes;
    parents_.assign(result_.rows.size(), none);
    for (std::size_t i = 0; i < result_.rows.size(); ++i) {
      comparison_row const& each = result_.rows[i];
      if (each.kind != row_kind::scope) continue;
      scopes.try_emplace(each.name, i);
      for (std::size_t slash = each.name.rfind('/'); slash != std::string::npos && slash > 0; slash = each.name.rfind('/', slash - 1)) {
        auto const around = scopes.find(each.name.substr(0, slash));
        if (around == scopes.end()) continue;
        parents_[i] = around->second;
        break;
      }
    }
  }

  /// Members change where their row does. One is worth a line if its range excludes the change of the row, or if only one side has it.
  void find_odd_members() {
    odd_members_.assign(result_.rows.size(), {});
    std::unordered_set<std::string> of_one_side;
    for (comparison_member const& each : result_.members) {
      if (each.scope.says == verdict::added || each.scope.says == verdict::gone) of_one_side.insert(each.scope.name);
    }
    for (comparison_member const& each : result_.members) {
      comparison_row const& scope = each.scope;
      comparison_row const& row = result_.rows[each.row];
      if (!has_changed(scope)) continue;
      bool const is_as_row =
          scope.range && row.change ? scope.range->first <= *row.change && *row.change <= scope.range->second : scope.says == row.says;
      if (is_as_row || (of_one_side.count(scope.name) > 0 && is_inside_any(scope.name, of_one_side))) continue;
      odd_members_[each.row].push_back(&scope);
    }
    for (auto& each : odd_members_) {
      std::stable_sort(each.begin(), each.end(), [](comparison_row const* a, comparison_row const* b) {
        return std::abs(difference_of(*a)) > std::abs(difference_of(*b));
      });
    }
  }

  [[nodiscard]] static bool is_inside_any(std::string const& path, std::unordered_set<std::string> const& scopes) {
    for (std::size_t slash = path.rfind('/'); slash != std::string::npos && slash > 0; slash = path.rfind('/', slash - 1)) {
      if (scopes.count(path.substr(0, slash)) > 0) return true;
    }
    return false;
  }

  comparison const& result_;
  std::vector<std::size_t> parents_;                             ///< by row: the row of the scope around it
  std::vector<std::vector<comparison_row const*>> odd_members_;  ///< by row
};

}  // namespace profkit_program::detail
