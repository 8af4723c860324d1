// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "../../../profile.hpp"
#include "../../profile/own_memory.hpp"
#include "../gpu/innermost_scopes.hpp"
#include "../merge/add_rows.hpp"
#include "../time/measured_time.hpp"
#include "device_waits.hpp"

namespace profkit::detail {

/// Host samples in the measured time, by path and function, and the calls that wait for a device, by path and name. All sums are integers.
class sample_sums {
 public:
  struct sum {
    std::uint64_t samples = 0;
    std::uint64_t ns = 0;

    void add(sum const& other) {
      samples += other.samples;
      ns += other.ns;
    }

    template <class Archive>
    friend void fields(Archive& archive, sum& state) {
      archive.amount(state.samples), archive.amount(state.ns);
    }
  };

  /// Name, module and caller.
  using function_key = std::tuple<std::string, std::string, std::string>;
  using functions = std::map<function_key, sum>;
  /// Source file and line.
  using place = std::pair<std::string, std::uint32_t>;

  sample_sums() = default;

  /// @param lanes null: do not look for calls that wait for a device.
  sample_sums(profile const& profile, measured_time const& when, thread_lanes const* lanes) {
    own_vector<bool> has_waited(profile.samples.size());
    if (profile.sampling && lanes != nullptr && !profile.api_calls.empty()) waits_ = find_device_waits(profile, *lanes, when, has_waited);
    if (profile.samples.empty()) return;
    own_vector<std::map<std::uint32_t, sum>> by_position(profile.paths.size() + 1);
    measured_time_cursor in{when};
    for (std::size_t i = 0; i < profile.samples.size(); ++i) {
      sample_record const& each = profile.samples[i];
      if (!in.contains(each.time) || has_waited[i]) continue;
      by_position[each.path == path_record::no_parent ? profile.paths.size() : each.path][each.function].add({1, each.weight});
    }
    rows_.resize(profile.paths.size());
    for (std::size_t path = 0; path <= profile.paths.size(); ++path) {
      functions& to = path == profile.paths.size() ? outside_ : rows_[path];
      for (auto const& [position, each] : by_position[path]) {
        function_record const& function = profile.functions[position];
        function_key const key{function.name, function.module, function.caller};
        to[key].add(each);
        if (!function.file.empty()) keep(key, {function.file, function.line});
      }
    }
  }

  void add(sample_sums const& other) {
    grow_rows(rows_, other.rows_.size());
    for (std::size_t path = 0; path < other.rows_.size(); ++path) add(other.rows_[path], rows_[path]);
    grow_rows(waits_, other.waits_.size());
    for (std::size_t path = 0; path < other.waits_.size(); ++path) {
      for (auto const& [name, each] : other.waits_[path]) waits_[path][name].add(each);
    }
    add(other.outside_, outside_);
    for (auto const& [function, where] : other.places_) keep(function, where);
  }

  /// The source position of a function; without a file if it is unknown.
  [[nodiscard]] place place_of(function_key const& function) const {
    auto const found = places_.find(function);
    return found == places_.end() ? place{} : found->second;
  }

  /// Whether all positions of paths are below a number.
  [[nodiscard]] bool is_in(std::size_t paths) const noexcept { return rows_.size() <= paths && waits_.size() <= paths; }

  /// The number of rows for paths; later paths have no samples.
  [[nodiscard]] std::size_t paths() const noexcept { return rows_.size(); }
  [[nodiscard]] functions const& of_path(std::size_t path) const { return rows_[path]; }
  /// The calls of a path that wait for a device.
  [[nodiscard]] device_waits const& waits_of(std::size_t path) const {
    static device_waits const none;
    return path < waits_.size() ? waits_[path] : none;
  }
  /// The samples outside any scope.
  [[nodiscard]] functions const& outside() const noexcept { return outside_; }

  static void add(functions const& from, functions& to) {
    for (auto const& [function, each] : from) to[function].add(each);
  }

 private:
  template <class Archive>
  friend void fields(Archive& archive, sample_sums& state) {
    archive(state.rows_), archive(state.outside_), archive(state.places_), archive(state.waits_);
  }

  /// Functions can share a key, for example overloads. Keeps the smallest place.
  void keep(function_key const& function, place const& where) {
    auto const [known, is_new] = places_.emplace(function, where);
    if (!is_new) known->second = std::min(known->second, where);
  }

  own_vector<functions> rows_;  ///< by path
  functions outside_;
  std::map<function_key, place> places_;
  own_vector<device_waits> waits_;  ///< by path
};

}  // namespace profkit::detail
