// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../../profile/profile.hpp"
#include "../../profile/time.hpp"
#include "../gpu/attribution.hpp"
#include "../gpu/counted_operations.hpp"
#include "../gpu/gpu_work.hpp"
#include "../summary.hpp"
#include "durations.hpp"
#include "measured_time.hpp"
#include "path_tree.hpp"

namespace profkit::detail {

/// What adopting scopes did for each scope, beside what was done in the scope itself.
///
/// Work belongs to the innermost adopting scope around it, and to no other. It counts for the adopted scope and for all scopes around that
/// one. If the adopted scope is, or lies in, an adopting scope itself, the work counts for what that one works for in the end, but in a row
/// of its own: "backward of work in backward", say, which may be the second derivative, or the first of what the backward pass recomputed.
class adopted_scopes {
 public:
  /// @param counted null where kernels were not collected.
  adopted_scopes(profile const& of, measured_time const& when, path_tree const& tree, attribution const& launched,
                 counted_operations const* counted)
      : of_{of}, tree_{tree}, own_(of.paths.size()), work_(of.paths.size()), row_of_(of.paths.size(), no_row) {
    find_origins();
    add_scopes(when, launched);
    if (counted != nullptr) add_operations(*counted);
    fold();
    has_kernels_ = counted != nullptr;
  }

  /// In the order of the tree, the roles of a scope in the order of their first appearance. Only what did something in the measured time.
  /// @param paths takes those of the rows; may be null.
  [[nodiscard]] std::vector<adopted_summary> rows(std::vector<std::uint32_t>* paths = nullptr) const {
    std::vector<std::size_t> order;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (rows_[row].did.count > 0 || rows_[row].did.operations > 0) order.push_back(row);
    }
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::make_pair(tree_.position_of(rows_[a].path), rows_[a].role) <
             std::make_pair(tree_.position_of(rows_[b].path), rows_[b].role);
    });
    std::vector<adopted_summary> result;
    for (std::size_t const row : order) {
      result.push_back(summary_of(rows_[row]));
      if (paths != nullptr) paths->push_back(rows_[row].path);
    }
    return result;
  }

 private:
  static constexpr std::uint32_t none = path_record::no_parent;
  static constexpr std::size_t no_row = static_cast<std::size_t>(-1);

  struct sums {
    std::uint64_t count = 0;  ///< of scopes
    std::uint64_t operations = 0;
    std::chrono::nanoseconds host{};
    std::chrono::nanoseconds kernels{};

    void add(sums const& other) {
      count += other.count;
      operations += other.operations;
      host += other.host;
      kernels += other.kernels;
    }
  };

  /// What was done for one path, in one role.
  struct role_row {
    std::uint32_t path;
    std::size_t role;
    std::size_t above;  ///< the same role of the path's parent
    sums did{};
    union_length busy{};
  };

  [[nodiscard]] bool adopts(std::size_t path) const { return of_.paths[path].adopted_from != none; }

  /// Finds for each path the adopting path around it, and for each adopting path its row. A path comes after all that it refers to.
  void find_origins() {
    std::vector<std::uint32_t> first(of_.paths.size(), none);  // of adopting paths: the one whose work led to theirs, or itself
    around_.assign(of_.paths.size(), none);
    for (std::uint32_t path = 0; path < of_.paths.size(); ++path) {
      path_record const& record = of_.paths[path];
      if (!adopts(path)) {
        if (record.parent != none) around_[path] = around_[record.parent];
        continue;
      }
      around_[path] = path;
      std::uint32_t const within = around_[record.adopted_from];
      first[path] = within == none ? path : first[within];
      path_record const& origin = of_.paths[first[path]];
      row_of_[path] = row_for(origin.adopted_from, role_named(within == none ? record.role : record.role + " of work in " + origin.role));
    }
  }

  std::size_t role_named(std::string const& name) {
    auto const known = std::find(roles_.begin(), roles_.end(), name);
    auto const position = static_cast<std::size_t>(known - roles_.begin());
    if (known == roles_.end()) roles_.push_back(name);
    return position;
  }

  /// The row of a path, which comes after those of all paths around it.
  std::size_t row_for(std::uint32_t path, std::size_t role) {
    if (path == none) return no_row;
    auto const known = row_at_.find({path, role});
    if (known != row_at_.end()) return known->second;
    std::size_t const above = row_for(of_.paths[path].parent, role);
    rows_.push_back({path, role, above});
    return row_at_[{path, role}] = rows_.size() - 1;
  }

  void add_scopes(measured_time const& when, attribution const& launched) {
    measured_time_cursor in{when};
    for (std::uint32_t i = 0; i < of_.scopes.size(); ++i) {
      scope_record const& scope = of_.scopes[i];
      if (!in.contains(scope.time.begin)) continue;
      sums& to = adopts(scope.path) ? work_[scope.path] : own_[scope.path];
      ++to.count;
      to.host += scope.time.duration();
      if (!adopts(scope.path)) continue;
      // What lies in another adopting scope on this thread is not that one's time.
      std::uint32_t outer = launched.parent_of[i];
      while (outer != attribution::none && !adopts(of_.scopes[outer].path)) outer = launched.parent_of[outer];
      if (outer != attribution::none) work_[of_.scopes[outer].path].host -= scope.time.duration();
    }
  }

  void add_operations(counted_operations const& counted) {
    counted.for_each([&](timed_operation const& each) {
      if (each.path == none) return;
      std::uint32_t const adopting = around_[each.path];
      sums& to = adopting == none ? own_[each.path] : work_[adopting];
      ++to.operations;
      to.kernels += each.time.duration();
      if (adopting == none) return;
      // What is covered here is covered in all that is around.
      for (std::size_t row = row_of_[adopting]; row != no_row && rows_[row].busy.add(each.time); row = rows_[row].above) {
      }
    });
  }

  void fold() {
    for (std::size_t path = of_.paths.size(); path-- > 0;) {
      if (adopts(path)) {
        rows_[row_of_[path]].did.add(work_[path]);
      } else if (tree_.has_parent(path)) {
        sums& parent = own_[of_.paths[path].parent];
        parent.operations += own_[path].operations;
        parent.kernels += own_[path].kernels;
      }
    }
    for (std::size_t i = rows_.size(); i-- > 0;) {
      if (rows_[i].above != no_row) rows_[rows_[i].above].did.add(rows_[i].did);
    }
  }

  [[nodiscard]] adopted_summary summary_of(role_row const& of) const {
    sums const& own = own_[of.path];
    adopted_summary result;
    result.name = shown_name(of_.paths[of.path]);
    result.path = result.name;
    for (std::uint32_t path = of_.paths[of.path].parent; path != none; path = of_.paths[path].parent) {
      result.path = shown_name(of_.paths[path]) + "/" + result.path;
      ++result.depth;
    }
    result.role = roles_[of.role];
    result.count = of.did.count;
    result.host_total = to_ms(of.did.host);
    if (own.count > 0) result.own_host_total = to_ms(own.host);
    if (!has_kernels_) return result;
    result.operations = of.did.operations;
    result.kernel_time = to_ms(of.did.kernels);
    result.busy = to_ms(of.busy.length());
    result.own_kernel_time = to_ms(own.kernels);
    if (own.kernels.count() > 0) result.kernel_ratio = *result.kernel_time / *result.own_kernel_time;
    return result;
  }

  profile const& of_;
  path_tree const& tree_;
  std::vector<std::uint32_t> around_;  ///< by path: itself or the innermost path around it that adopts another; `none`: there is none
  std::vector<sums> own_;              ///< by path: what was done in it outside of adopting scopes; operations and kernels inclusive
  std::vector<sums> work_;             ///< by adopting path: what was done in it outside of other adopting scopes
  std::vector<std::size_t> row_of_;    ///< by adopting path
  std::vector<std::string> roles_;
  std::vector<role_row> rows_;  ///< those of parents before those of their children
  std::map<std::pair<std::uint32_t, std::size_t>, std::size_t> row_at_;
  bool has_kernels_ = false;
};

/// @param launched null: it is made if need be.
/// @param counted null where kernels were not collected.
/// @param paths takes those of the rows; may be null.
inline std::vector<adopted_summary> summarize_adopted(profile const& of, measured_time const& when, path_tree const& tree,
                                                      attribution const* launched, counted_operations const* counted,
                                                      std::vector<std::uint32_t>* paths = nullptr) {
  auto const adopts = [](path_record const& path) { return path.adopted_from != path_record::no_parent; };
  if (std::none_of(of.paths.begin(), of.paths.end(), adopts)) return {};
  std::optional<attribution> made;
  if (launched == nullptr) launched = &made.emplace(attribute(of));
  return adopted_scopes{of, when, tree, *launched, counted}.rows(paths);
}

}  // namespace profkit::detail
