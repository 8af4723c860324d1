// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "../../profile/own_memory.hpp"
#include "../../profile/profile.hpp"
#include "../../profile/time.hpp"
#include "../merge/add_rows.hpp"
#include "durations.hpp"
#include "measured_time.hpp"

namespace profkit::detail {

/// Host times and times between CUDA events of the scopes in the measured time, by path.
class scope_times {
 public:
  /// @param path_of maps paths of the profile to paths of this object.
  void add(profile const& profile, measured_time const& when, own_vector<std::uint32_t> const& path_of) {
    make_rows(host_, path_of);
    make_rows(gpu_events_, path_of);
    make_rows(first_, path_of);
    measured_time_cursor in{when};
    for (scope_record const& scope : profile.scopes) {
      if (!in.contains(when.moment_of(scope))) continue;
      host_[path_of[scope.path]].add(scope.time.duration());
      first_[path_of[scope.path]].add({scope.time.begin});
    }
    for (gpu_scope_record const& scope : profile.gpu_scopes) {
      if (in.contains(scope.begin)) gpu_events_[path_of[scope.path]].add(scope.duration);
    }
  }

  /// Merges another object: the result is as if its scopes had been added here.
  /// @param path_of maps paths of `other` to paths of this object.
  void add(scope_times const& other, own_vector<std::uint32_t> const& path_of) {
    add_rows(host_, other.host_, path_of);
    add_rows(gpu_events_, other.gpu_events_, path_of);
    add_rows(first_, other.first_, path_of);
  }

  /// Whether there is one entry per path.
  [[nodiscard]] bool has_paths(std::size_t count) const noexcept {
    return host_.size() == count && gpu_events_.size() == count && first_.size() == count;
  }

  [[nodiscard]] duration_statistics const& host(std::size_t path) const { return host_[path]; }
  [[nodiscard]] duration_statistics const& gpu_events(std::size_t path) const { return gpu_events_[path]; }

  /// @return the beginning of the first scope; `timestamp::max()` if there is none.
  [[nodiscard]] timestamp first(std::size_t path) const { return first_[path].begin; }

 private:
  template <class Archive>
  friend void fields(Archive& archive, scope_times& value) {
    archive(value.host_), archive(value.gpu_events_), archive(value.first_);
  }

  struct first_begin {
    timestamp begin = timestamp::max();

    template <class Archive>
    friend void fields(Archive& archive, first_begin& value) {
      archive(value.begin);
    }

    void add(first_begin const& other) { begin = std::min(begin, other.begin); }
  };

  own_vector<duration_statistics> host_;  ///< by path
  own_vector<duration_statistics> gpu_events_;
  own_vector<first_begin> first_;
};

}  // namespace profkit::detail
