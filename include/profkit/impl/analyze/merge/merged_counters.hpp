// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "../../../profile.hpp"
#include "../../../statistics.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/numbers.hpp"
#include "../../profile/own_memory.hpp"
#include "../../profile/own_sort.hpp"
#include "../time/measured_time.hpp"

namespace profkit::detail {

/// The samples of counters in the measured time, by name.
class merged_counters {
 public:
  merged_counters() = default;

  merged_counters(profile const& profile, measured_time const& when) {
    own_vector<counter> by_position(profile.counter_names.size());
    for (counter_record const& sample : profile.counters) {
      if (when.contains(sample.time)) by_position[sample.counter].add(sample);
    }
    for (std::size_t i = 0; i < by_position.size(); ++i) {
      by_position[i].position = i;
      if (by_position[i].count > 0) counters_[profile.counter_names[i]].add(by_position[i]);
    }
  }

  /// Merges another object: the result is as if its samples had been added here.
  void add(merged_counters const& other) {
    for (auto const& [name, each] : other.counters_) counters_[name].add(each);
  }

  /// @return the rows in the order of the first appearance of the counters.
  [[nodiscard]] own_vector<counter_summary> summarize() const {
    own_vector<std::pair<std::size_t, counter_summary>> rows;
    for (auto const& [name, each] : counters_) {
      constexpr double none = std::numeric_limits<double>::quiet_NaN();
      rows.push_back({each.position,
                      {name, each.count, each.last, each.finite.mean().value_or(none), each.finite.min().value_or(none),
                       each.finite.max().value_or(none), each.not_finite}});
    }
    own_stable_sort(rows.begin(), rows.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
    own_vector<counter_summary> result;
    result.reserve(rows.size());
    for (auto& [position, row] : rows) result.push_back(std::move(row));
    return result;
  }

 private:
  struct counter {
    std::size_t position = std::numeric_limits<std::size_t>::max();  ///< the smallest in `profile::counter_names`
    std::uint64_t count = 0;
    std::uint64_t not_finite = 0;
    timestamp last_time = timestamp::min();
    double last = 0.0;
    running_statistics finite;

    template <class Archive>
    friend void fields(Archive& archive, counter& state) {
      archive(state.position), archive(state.count), archive(state.not_finite), archive(state.last_time), archive(state.last),
          archive(state.finite);
    }

    void add(counter_record const& sample) {
      if (sample.time >= last_time) {  // samples of different threads are not in time order
        last_time = sample.time;
        last = sample.value;
      }
      ++count;
      if (is_finite(sample.value)) {
        finite.add(sample.value);
      } else {
        ++not_finite;
      }
    }

    void add(counter const& other) {
      position = std::min(position, other.position);
      count += other.count;
      not_finite += other.not_finite;
      if (other.last_time >= last_time) {
        last_time = other.last_time;
        last = other.last;
      }
      finite.add(other.finite);
    }
  };

  template <class Archive>
  friend void fields(Archive& archive, merged_counters& state) {
    archive(state.counters_);
  }

  std::map<std::string, counter> counters_;
};

}  // namespace profkit::detail
