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
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/own_memory.hpp"
#include "../../profile/own_sort.hpp"
#include "../time/measured_time.hpp"

namespace profkit::detail {

/// Readings of memory sources at the ends of measured steps, by source and quantity.
class merged_readings {
 public:
  merged_readings() = default;

  /// Adds the readings of the measured steps that begin in `own`; without steps, all readings.
  merged_readings(profile const& profile, interval const& own, bool has_steps) {
    std::set<std::uint64_t> const measured = measured_steps_in(profile, own);
    for (std::size_t i = 0; i < profile.memory.size(); ++i) {
      memory_record const& each = profile.memory[i];
      if (has_steps && measured.count(each.step) == 0) continue;
      auto& row = rows_[{each.source, each.quantity}];
      moment const at{each.step, i};
      row.add(
          {1, at, at, each.current_bytes, each.current_bytes, each.current_bytes, each.peak_bytes, each.peak_note, each.capacity_bytes});
    }
  }

  /// Merges another object: the result is as if its readings had been added here.
  void add(merged_readings const& other) {
    for (auto const& [what, each] : other.rows_) rows_[what].add(each);
  }

  /// @return the rows in the order of the first readings.
  [[nodiscard]] own_vector<memory_summary> summarize() const {
    own_vector<std::pair<moment, memory_summary>> rows;
    for (auto const& [what, each] : rows_) {
      rows.push_back({each.first,
                      {what.first, what.second, each.samples, each.first_bytes, each.last_bytes, each.highest, each.peak, each.peak_note,
                       each.capacity}});
    }
    own_stable_sort(rows.begin(), rows.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
    own_vector<memory_summary> result;
    result.reserve(rows.size());
    for (auto& [first, row] : rows) result.push_back(std::move(row));
    return result;
  }

 private:
  using moment = std::pair<std::uint64_t, std::size_t>;  ///< the step, and the position among the readings of a window

  struct quantity {
    std::uint64_t samples = 0;
    moment first{};
    moment last{};
    std::uint64_t first_bytes = 0;
    std::uint64_t last_bytes = 0;
    std::uint64_t highest = 0;
    std::optional<std::uint64_t> peak{};
    std::string peak_note{};  ///< note of the first reading
    std::optional<std::uint64_t> capacity{};

    template <class Archive>
    friend void fields(Archive& archive, quantity& state) {
      archive(state.samples), archive(state.first), archive(state.last), archive(state.first_bytes), archive(state.last_bytes),
          archive(state.highest);
      archive(state.peak), archive(state.peak_note), archive(state.capacity);
    }

    void add(quantity const& other) {
      if (samples == 0) {
        *this = other;
        return;
      }
      samples += other.samples;
      if (other.first < first) {
        first = other.first;
        first_bytes = other.first_bytes;
        peak_note = other.peak_note;
      }
      if (last < other.last) {
        last = other.last;
        last_bytes = other.last_bytes;
      }
      highest = std::max(highest, other.highest);
      if (other.capacity) capacity = std::max(capacity.value_or(0), *other.capacity);
      if (other.peak) peak = std::max(peak.value_or(0), *other.peak);
    }
  };

  template <class Archive>
  friend void fields(Archive& archive, merged_readings& state) {
    archive(state.rows_);
  }

  std::map<std::pair<std::string, std::string>, quantity> rows_;
};

}  // namespace profkit::detail
