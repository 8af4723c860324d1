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
#include <utility>

#include "../../../profile.hpp"
#include "../../../statistics.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/numbers.hpp"
#include "../../profile/own_memory.hpp"
#include "../time/measured_time.hpp"
#include "state.hpp"

namespace profkit::detail {

/// The samples of counters in the measured time, by position in `profile::counter_names`.
class counter_sums {
 public:
  /// Adds the next window.
  void add(profile const& profile, measured_time const& when) {
    grow_rows(counters_, profile.counter_names.size());
    for (counter_record const& sample : profile.counters) {
      if (when.contains(sample.time)) counters_[sample.counter].add(sample);
    }
  }

  /// Whether all positions of counters are below a number.
  [[nodiscard]] bool is_in(std::size_t counters) const noexcept { return counters_.size() <= counters; }

  /// @return the rows in the order of the first appearance of the counters.
  /// @param names the names of all counters.
  [[nodiscard]] own_vector<counter_summary> summarize(own_vector<std::string> const& names) const {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    own_vector<counter_summary> rows;
    for (std::size_t i = 0; i < counters_.size(); ++i) {
      counter const& each = counters_[i];
      if (each.count == 0) continue;
      running_statistics const& finite = each.finite;
      rows.push_back({names[i], each.count, each.last, finite.mean().value_or(none), finite.min().value_or(none),
                      finite.max().value_or(none), each.not_finite});
    }
    return rows;
  }

  auto members() { return listed(counters_); }

 private:
  struct counter {
    std::uint64_t count = 0;
    std::uint64_t not_finite = 0;
    timestamp last_time = timestamp::min();
    double last = 0.0;
    running_statistics finite;

    auto members() { return listed(count, not_finite, last_time, last, finite); }

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
  };

  own_vector<counter> counters_;
};

/// Readings of memory sources at the ends of measured steps, by source and quantity.
class reading_sums {
 public:
  /// Adds the readings of the next window.
  /// @param measured the indices of its measured steps.
  /// @param has_steps false: all readings count.
  void add(profile const& profile, std::set<std::uint64_t> const& measured, bool has_steps) {
    for (memory_record const& each : profile.memory) {
      if (has_steps && measured.count(each.step) == 0) continue;
      row& to = rows_.try_emplace({each.source, each.quantity}, row{rows_.size()}).first->second;
      to.add(each);
    }
  }

  /// @return the rows in the order of the first readings.
  [[nodiscard]] own_vector<memory_summary> summarize() const {
    own_vector<std::pair<std::string, std::string>> order;
    for (auto const& each : rows_) order.push_back(each.first);
    auto const place = [this](auto const& what) { return std::make_pair(rows_.at(what).first_step, rows_.at(what).position); };
    std::sort(order.begin(), order.end(), [&](auto const& a, auto const& b) { return place(a) < place(b); });
    own_vector<memory_summary> result;
    for (auto const& what : order) {
      row const& each = rows_.at(what);
      result.push_back({what.first, what.second, each.samples, each.first_bytes, each.last_bytes, each.max_bytes, each.peak, each.peak_note,
                        each.capacity});
    }
    return result;
  }

  auto members() { return listed(rows_); }

 private:
  struct row {
    std::uint64_t position = 0;  ///< in the order of first appearance
    std::uint64_t first_step = 0;
    std::uint64_t last_step = 0;
    std::uint64_t samples = 0;
    std::uint64_t first_bytes = 0;
    std::uint64_t last_bytes = 0;
    std::uint64_t max_bytes = 0;
    std::optional<std::uint64_t> peak{};
    std::string peak_note{};  ///< note of the first reading
    std::optional<std::uint64_t> capacity{};

    auto members() {
      return listed(position, first_step, last_step, samples, first_bytes, last_bytes, max_bytes, peak, peak_note, capacity);
    }

    void add(memory_record const& reading) {
      if (samples == 0 || reading.step < first_step) {
        first_step = reading.step;
        first_bytes = reading.current_bytes;
        peak_note = reading.peak_note;
      }
      if (reading.step >= last_step) {
        last_step = reading.step;
        last_bytes = reading.current_bytes;
      }
      ++samples;
      max_bytes = std::max(max_bytes, reading.current_bytes);
      capacity = std::max(capacity, reading.capacity_bytes);
      peak = std::max(peak, reading.peak_bytes);
    }
  };

  std::map<std::pair<std::string, std::string>, row> rows_;
};

}  // namespace profkit::detail
