// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "../../../profile.hpp"
#include "../../profile/own_memory.hpp"
#include "../gpu/added_union.hpp"
#include "../gpu/attribution.hpp"
#include "../gpu/counted_operations.hpp"
#include "../merge/add_rows.hpp"
#include "adoption_rows.hpp"
#include "measured_time.hpp"

namespace profkit::detail {

/// Sums over scopes and adopting scopes, by path. Sums of windows add up.
class adopted_sums {
 public:
  struct sums {
    std::uint64_t count = 0;  ///< number of scopes
    std::uint64_t operations = 0;
    std::chrono::nanoseconds host{};
    std::chrono::nanoseconds kernels{};

    template <class Archive>
    friend void fields(Archive& archive, sums& state) {
      archive(state.count), archive(state.operations), archive.amount(state.host), archive.amount(state.kernels);
    }

    void add(sums const& other) {
      count += other.count;
      operations += other.operations;
      host += other.host;
      kernels += other.kernels;
    }
  };

  adopted_sums() = default;

  /// @param counted null if kernels were not collected. Only the window's own operations count.
  /// @param earlier the measured time of earlier windows.
  adopted_sums(profile const& profile, measured_time const& when, attribution const& launched, counted_operations const* counted,
               measured_time const& earlier)
      : own_(profile.paths.size()), work_(profile.paths.size()) {
    adoption_rows const rows{profile.paths};
    add_scopes(profile, when, launched, rows);
    if (counted != nullptr) add_operations(profile, launched, *counted, earlier, rows);
  }

  void add(adopted_sums const& other) {
    add_rows(own_, other.own_);
    add_rows(work_, other.work_);
    for (auto const& [row, busy] : other.busy_) busy_[row] += busy;
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

 private:
  template <class Archive>
  friend void fields(Archive& archive, adopted_sums& state) {
    archive(state.own_), archive(state.work_), archive.amount(state.busy_);
  }

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
    own_vector<added_union> busy(rows.rows().size());
    bool const has_earlier = !earlier.is_empty();
    for (timed_operation const& each : counted.all()) {
      if (each.path == attribution::none) continue;
      bool const is_own = each.is_counted();
      std::uint32_t const adopting = rows.around(each.path);
      if (is_own) {
        sums& to = adopting == adoption_rows::none ? own_[each.path] : work_[adopting];
        ++to.operations;
        to.kernels += each.time.duration();
      } else if (!has_earlier || !earlier.contains(launch_moment(profile, launched, each.record))) {
        continue;
      }
      if (adopting == adoption_rows::none) continue;
      for (std::size_t row = rows.row_of(adopting); row != adoption_rows::no_row; row = rows.rows()[row].above) {
        // Time covered here is covered in all outer rows too.
        if (!busy[row].add(each.time, !is_own) && is_own) break;
      }
    }
    for (std::size_t row = 0; row < busy.size(); ++row) {
      if (busy[row].length().count() > 0) busy_[{rows.rows()[row].path, rows.roles()[rows.rows()[row].role]}] = busy[row].length();
    }
  }

  own_vector<sums> own_;                                                            ///< by path
  own_vector<sums> work_;                                                           ///< by adopting path
  std::map<std::pair<std::uint32_t, std::string>, std::chrono::nanoseconds> busy_;  ///< by path and role
};

}  // namespace profkit::detail
