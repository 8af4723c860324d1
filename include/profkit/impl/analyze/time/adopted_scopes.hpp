// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "../../../profile.hpp"
#include "../../../summary.hpp"
#include "../../profile/own_containers.hpp"
#include "../../profile/own_memory.hpp"
#include "../gpu/attribution.hpp"
#include "../gpu/counted_operations.hpp"
#include "../gpu/gpu_sums.hpp"
#include "../windows/state.hpp"
#include "measured_time.hpp"
#include "path_tree.hpp"
#include "quantiles.hpp"

namespace PROFKIT_NAMESPACE::detail {

[[nodiscard]] inline bool has_adopted(own_vector<path_record> const& paths) {
  return std::any_of(paths.begin(), paths.end(), [](path_record const& path) { return path.adopted_from != path_record::no_parent; });
}

/// Finds the scopes for which adopting scopes work, and the roles. Depends on the paths only.
///
/// Work belongs only to the innermost adopting scope around it. It counts for the adopted scope and for all scopes around that scope. If
/// the adopted scope is an adopting scope itself, or lies in one, the work counts for the original scope but in its own row: "backward of
/// work in backward" can be a second derivative, or the derivative of a recomputation.
class adoption_rows {
 public:
  static constexpr std::uint32_t none = path_record::no_parent;
  static constexpr std::size_t no_row = static_cast<std::size_t>(-1);

  /// The work for one path in one role.
  struct row {
    std::uint32_t path;
    std::size_t role;
    std::size_t above;  ///< the row of the path's parent in the same role
  };

  explicit adoption_rows(own_vector<path_record>&&) = delete;  // borrowed, so no converted temporary
  explicit adoption_rows(own_vector<path_record> const& paths) : row_of(paths.size(), no_row), paths_{paths} { find_origins(); }

  [[nodiscard]] bool adopts(std::size_t path) const { return paths_[path].adopted_from != none; }

  own_vector<std::uint32_t> around;  ///< by path: the innermost adopting path around it, possibly itself; `none` if there is none
  own_vector<std::size_t> row_of;    ///< by adopting path
  own_vector<row> rows;              ///< rows of parents precede those of their children
  own_vector<std::string> roles;     ///< in the order of their first appearance

 private:
  /// Finds for each path the adopting path around it, and for each adopting path its row. A path follows all paths that it refers to.
  void find_origins() {
    own_vector<std::uint32_t> first(paths_.size(), none);  // by adopting path: the path from which its chain of adoptions starts
    around.assign(paths_.size(), none);
    for (std::uint32_t path = 0; path < paths_.size(); ++path) {
      path_record const& record = paths_[path];
      if (!adopts(path)) {
        if (record.parent != none) around[path] = around[record.parent];
        continue;
      }
      around[path] = path;
      std::uint32_t const within = around[record.adopted_from];
      first[path] = within == none ? path : first[within];
      path_record const& origin = paths_[first[path]];
      row_of[path] = row_for(origin.adopted_from, role_named(within == none ? record.role : record.role + " of work in " + origin.role));
    }
  }

  std::size_t role_named(std::string const& name) {
    auto const [known, is_new] = role_at_.try_emplace(name, roles.size());
    if (is_new) roles.push_back(name);
    return known->second;
  }

  /// Finds or creates the row of a path, after the rows of all paths around it.
  std::size_t row_for(std::uint32_t path, std::size_t role) {
    own_vector<std::uint32_t> missing;  // innermost first
    std::size_t above = no_row;
    for (; path != none; path = paths_[path].parent) {
      auto const known = row_at_.find({path, role});
      if (known != row_at_.end()) {
        above = known->second;
        break;
      }
      missing.push_back(path);
    }
    for (auto each = missing.rbegin(); each != missing.rend(); ++each) {
      rows.push_back({*each, role, above});
      above = row_at_[{*each, role}] = rows.size() - 1;
    }
    return above;
  }

  own_vector<path_record> const& paths_;
  own_hash_map<std::string, std::size_t> role_at_;  ///< by role: its position in `roles`
  std::map<std::pair<std::uint32_t, std::size_t>, std::size_t> row_at_;
};

/// Sums over scopes and adopting scopes, by path.
class adopted_sums {
 public:
  struct sums {
    std::uint64_t count = 0;  ///< number of scopes
    std::uint64_t operations = 0;
    std::chrono::nanoseconds host{};
    std::chrono::nanoseconds kernels{};

    auto members() { return listed(count, operations, summed(host), summed(kernels)); }
  };

  /// Adds the next window.
  /// @param counted null if kernels were not collected. Only the window's own operations count.
  /// @param earlier the measured time of earlier windows.
  void add(profile const& profile, measured_time const& when, attribution const& launched, counted_operations const* counted,
           measured_time const& earlier) {
    grow_rows(own_, profile.paths.size());
    grow_rows(work_, profile.paths.size());
    adoption_rows const rows{profile.paths};
    add_scopes(profile, when, launched, rows);
    if (counted != nullptr) add_operations(profile, launched, *counted, earlier, rows);
  }

  /// Whether all positions of paths are below a number.
  [[nodiscard]] bool is_in(std::size_t paths) const {
    bool const has_paths = own_.size() <= paths && work_.size() <= paths;
    return has_paths && (busy_.empty() || busy_.rbegin()->first.first < paths);
  }

  /// @return the work in a path, outside adopting scopes.
  [[nodiscard]] sums own(std::size_t path) const { return path < own_.size() ? own_[path] : sums{}; }

  /// @return the work in an adopting path, outside other adopting scopes.
  [[nodiscard]] sums work(std::size_t path) const { return path < work_.size() ? work_[path] : sums{}; }

  /// @return the GPU busy time for a path in a role.
  [[nodiscard]] std::chrono::nanoseconds busy(std::uint32_t path, std::string const& role) const {
    auto const known = busy_.find({path, role});
    return known == busy_.end() ? std::chrono::nanoseconds{} : known->second;
  }

  auto members() { return listed(own_, work_, summed(busy_)); }

 private:
  void add_scopes(profile const& profile, measured_time const& when, attribution const& launched, adoption_rows const& rows) {
    measured_time_cursor in{when};
    for (std::uint32_t i = 0; i < profile.scopes.size(); ++i) {
      scope_record const& scope = profile.scopes[i];
      if (!in.contains(when.moment_of(scope))) continue;
      sums& to = rows.adopts(scope.path) ? work_[scope.path] : own_[scope.path];
      ++to.count;
      to.host += scope.time.duration();
      if (!rows.adopts(scope.path)) continue;
      // Time in another adopting scope on this thread does not count for the outer one.
      std::uint32_t outer = launched.parent_of[i];
      while (outer != attribution::none && !rows.adopts(profile.scopes[outer].path)) outer = launched.parent_of[outer];
      if (outer != attribution::none) work_[profile.scopes[outer].path].host -= scope.time.duration();
    }
  }

  void add_operations(profile const& profile, attribution const& launched, counted_operations const& counted, measured_time const& earlier,
                      adoption_rows const& rows) {
    own_vector<added_union> busy(rows.rows.size());
    counted.for_each_with(earlier, profile, launched, [&](timed_operation const& each) {
      if (each.path == attribution::none) return;
      bool const is_own = each.is_counted();
      std::uint32_t const adopting = rows.around[each.path];
      if (is_own) {
        sums& to = adopting == adoption_rows::none ? own_[each.path] : work_[adopting];
        ++to.operations;
        to.kernels += each.time.duration();
      }
      if (adopting == adoption_rows::none) return;
      for (std::size_t row = rows.row_of[adopting]; row != adoption_rows::no_row; row = rows.rows[row].above) {
        // Time covered here is covered in all outer rows too.
        if (!busy[row].add(each.time, !is_own) && is_own) break;
      }
    });
    for (std::size_t row = 0; row < busy.size(); ++row) {
      if (busy[row].length().count() > 0) busy_[{rows.rows[row].path, rows.roles[rows.rows[row].role]}] += busy[row].length();
    }
  }

  own_vector<sums> own_;                                                            ///< by path
  own_vector<sums> work_;                                                           ///< by adopting path
  std::map<std::pair<std::uint32_t, std::string>, std::chrono::nanoseconds> busy_;  ///< by path and role
};

/// The work of adopting scopes for each scope, compared with the scope's own work.
class adopted_scopes {
 public:
  adopted_scopes(path_tree const& tree, adopted_sums const& done, bool has_kernels)
      : paths_{tree.paths()}, tree_{tree}, done_{done}, has_kernels_{has_kernels}, rows_{paths_}, did_(rows_.rows.size()) {
    for (std::size_t path = 0; path < paths_.size(); ++path) own_.push_back(done.own(path));
    fold();
  }

  /// @return the rows in tree order, without rows that have no work in the measured time. The roles of a scope are in the order of their
  /// first appearance.
  /// @param paths receives the paths of the rows.
  [[nodiscard]] own_vector<adopted_summary> rows(own_vector<std::uint32_t>& paths) const {
    auto const& rows = rows_.rows;
    own_vector<std::size_t> order;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (did_[row].count > 0 || did_[row].operations > 0) order.push_back(row);
    }
    own_vector<std::size_t> const place_of = places_of_roles();
    auto const place = [&](std::size_t row) { return std::make_pair(tree_.position_of(rows[row].path), place_of[rows[row].role]); };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
    own_vector<adopted_summary> result;
    for (std::size_t const row : order) {
      result.push_back(summary_of(row));
      paths.push_back(rows[row].path);
    }
    return result;
  }

 private:
  static constexpr std::uint32_t none = adoption_rows::none;

  /// @return by role: its place in the order of their first appearance.
  [[nodiscard]] own_vector<std::size_t> places_of_roles() const {
    own_vector<std::size_t> result(rows_.roles.size(), paths_.size());
    std::size_t found = 0;
    for (std::uint32_t const path : tree_.in_order()) {
      if (!rows_.adopts(path)) continue;
      std::size_t& place = result[rows_.rows[rows_.row_of[path]].role];
      if (place == paths_.size()) place = found++;
    }
    return result;
  }

  void fold() {
    for (std::size_t path = paths_.size(); path-- > 0;) {
      if (rows_.adopts(path)) {
        add_to(did_[rows_.row_of[path]], done_.work(path));
      } else if (tree_.has_parent(path)) {
        adopted_sums::sums& parent = own_[paths_[path].parent];
        parent.operations += own_[path].operations;
        parent.kernels += own_[path].kernels;
      }
    }
    for (std::size_t i = did_.size(); i-- > 0;) {
      std::size_t const above = rows_.rows[i].above;
      if (above != adoption_rows::no_row) add_to(did_[above], did_[i]);
    }
  }

  [[nodiscard]] adopted_summary summary_of(std::size_t row) const {
    adoption_rows::row const& entry = rows_.rows[row];
    adopted_sums::sums const& did = did_[row];
    adopted_sums::sums const& own = own_[entry.path];
    std::string const& role = rows_.roles[entry.role];
    adopted_summary result;
    result.name = shown_name(paths_[entry.path]);
    result.path = path_text(paths_, entry.path);
    for (std::uint32_t path = paths_[entry.path].parent; path != none; path = paths_[path].parent) ++result.depth;
    result.role = role;
    result.count = did.count;
    result.host_total = to_ms(did.host);
    if (own.count > 0) result.own_host_total = to_ms(own.host);
    if (!has_kernels_) return result;
    result.operations = did.operations;
    result.kernel_time = to_ms(did.kernels);
    result.busy = to_ms(done_.busy(entry.path, role));
    result.own_kernel_time = to_ms(own.kernels);
    if (own.kernels.count() > 0) result.kernel_ratio = *result.kernel_time / *result.own_kernel_time;
    return result;
  }

  own_vector<path_record> const& paths_;
  path_tree const& tree_;
  adopted_sums const& done_;
  bool has_kernels_;
  adoption_rows rows_;
  own_vector<adopted_sums::sums> did_;  ///< work by row
  own_vector<adopted_sums::sums> own_;  ///< work by path outside adopting scopes; operations and kernels include the scopes inside
};

}  // namespace PROFKIT_NAMESPACE::detail
