// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "../../profile/check_read.hpp"
#include "../../profile/profile.hpp"
#include "../time/measured_time.hpp"

namespace profkit::detail {

/// Host samples in the measured time, by path and function. All sums are integers, so the order of windows does not matter.
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

  sample_sums() = default;

  sample_sums(profile const& profile, measured_time const& when) {
    if (profile.samples.empty()) return;
    std::vector<std::map<std::uint32_t, sum>> by_position(profile.paths.size() + 1);
    measured_time_cursor in{when};
    for (sample_record const& each : profile.samples) {
      if (!in.contains(each.time)) continue;
      by_position[each.path == path_record::no_parent ? profile.paths.size() : each.path][each.function].add({1, each.weight});
    }
    rows_.resize(profile.paths.size());
    for (std::size_t path = 0; path <= profile.paths.size(); ++path) {
      functions& to = path == profile.paths.size() ? outside_ : rows_[path];
      for (auto const& [position, each] : by_position[path]) {
        function_record const& function = profile.functions[position];
        to[{function.name, function.module, function.caller}].add(each);
      }
    }
  }

  /// @param path_of maps paths of `other` to paths of this object.
  void add(sample_sums const& other, std::vector<std::uint32_t> const& path_of) {
    check_read(other.rows_.size() <= path_of.size(), "samples without a path");
    for (std::size_t path = 0; path < other.rows_.size(); ++path) {
      if (other.rows_[path].empty()) continue;
      if (path_of[path] >= rows_.size()) rows_.resize(path_of[path] + std::size_t{1});
      add(other.rows_[path], rows_[path_of[path]]);
    }
    add(other.outside_, outside_);
  }

  /// The number of rows for paths; later paths have no samples.
  [[nodiscard]] std::size_t paths() const noexcept { return rows_.size(); }
  [[nodiscard]] functions const& of_path(std::size_t path) const { return rows_[path]; }
  /// The samples outside any scope.
  [[nodiscard]] functions const& outside() const noexcept { return outside_; }

  static void add(functions const& from, functions& to) {
    for (auto const& [function, each] : from) to[function].add(each);
  }

 private:
  template <class Archive>
  friend void fields(Archive& archive, sample_sums& state) {
    archive(state.rows_), archive(state.outside_);
  }

  std::vector<functions> rows_;  ///< by path
  functions outside_;
};

}  // namespace profkit::detail
