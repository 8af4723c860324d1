// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>

#include "../../../profile.hpp"
#include "../../../time.hpp"
#include "state.hpp"

namespace profkit::detail {

/// The figures of scopes that span several windows, until all of these windows are added.
/// @tparam Figures default-constructed: no figures.
template <class Figures>
class crossing_scopes {
 public:
  /// @param group a number that keeps figures of one scope apart, such as the position of an allocator.
  /// @return the figures of a scope so far.
  Figures& of(profile const& profile, scope_record const& scope, std::uint32_t group = 0) {
    entry& result = scopes_[{group, scope.path, profile.threads[scope.thread].system_id, scope.time.begin}];
    result.end = std::min(result.end, scope.time.end);
    return result.figures;
  }

  /// Removes the scopes that lie completely in a stretch of time.
  /// @param take called with group, path and figures of each.
  template <class Take>
  void settle(interval const& stretch, Take const& take) {
    for (auto each = scopes_.begin(); each != scopes_.end();) {
      auto const& [group, path, thread, begin] = each->first;
      if (stretch.begin > begin || each->second.end >= stretch.end) {
        ++each;
        continue;
      }
      take(group, path, each->second.figures);
      each = scopes_.erase(each);
    }
  }

  /// Removes all scopes.
  template <class Take>
  void complete(Take const& take) {
    for (auto const& [scope, each] : scopes_) take(std::get<0>(scope), std::get<1>(scope), each.figures);
    scopes_.clear();
  }

  /// Whether all positions are below these numbers.
  [[nodiscard]] bool is_in(std::size_t groups, std::size_t paths) const {
    return std::all_of(scopes_.begin(), scopes_.end(),
                       [&](auto const& each) { return std::get<0>(each.first) < groups && std::get<1>(each.first) < paths; });
  }

  auto members() { return listed(scopes_); }

 private:
  struct entry {
    Figures figures;
    timestamp end = timestamp::max();  ///< the end of the scope; `timestamp::max()` while it is unknown

    auto members() { return listed(figures, end); }
  };

  /// By group, path, system thread number and beginning.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, timestamp>, entry> scopes_;
};

}  // namespace profkit::detail
