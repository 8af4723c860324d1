// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <profkit/summary.hpp>
#include <profkit/time.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace trainer {

using profkit::milliseconds;

struct kernel_total {
  std::string name;
  std::string kernel_class;
  std::uint64_t calls = 0;
  milliseconds time{};
};

/// Kernels of the measured steps by name, longest total first.
class kernel_set {
 public:
  kernel_set() = default;

  explicit kernel_set(std::vector<profkit::kernel_summary> const& kernels) { add(kernels); }

  void add(std::vector<profkit::kernel_summary> const& kernels) {
    for (profkit::kernel_summary const& each : kernels) add({each.name, each.kernel_class, each.time.count, each.time.total});
    sort();
  }

  void add(kernel_set const& other) {
    for (kernel_total const& each : other.rows_) add(each);
    sort();
  }

  [[nodiscard]] std::vector<kernel_total> const& rows() const { return rows_; }
  [[nodiscard]] milliseconds time() const { return time_; }

  [[nodiscard]] milliseconds time_of_class(std::string_view name) const {
    milliseconds result{};
    for (kernel_total const& row : rows_) {
      if (row.kernel_class == name) result += row.time;
    }
    return result;
  }

  [[nodiscard]] std::uint64_t calls_of(std::string_view name) const {
    auto const row = std::find_if(rows_.begin(), rows_.end(), [&](kernel_total const& each) { return each.name == name; });
    return row == rows_.end() ? 0 : row->calls;
  }

  /// Sorts by time, longest first.
  [[nodiscard]] std::vector<std::string> classes() const {
    std::vector<std::string> result;
    for (kernel_total const& row : rows_) {
      if (std::find(result.begin(), result.end(), row.kernel_class) == result.end()) result.push_back(row.kernel_class);
    }
    std::stable_sort(result.begin(), result.end(),
                     [&](std::string const& a, std::string const& b) { return time_of_class(a) > time_of_class(b); });
    return result;
  }

 private:
  void add(kernel_total const& kernel) {
    time_ += kernel.time;
    auto const row = std::find_if(rows_.begin(), rows_.end(), [&](kernel_total const& each) { return each.name == kernel.name; });
    if (row == rows_.end()) {
      rows_.push_back(kernel);
    } else {
      row->calls += kernel.calls;
      row->time += kernel.time;
    }
  }

  void sort() {
    std::stable_sort(rows_.begin(), rows_.end(), [](kernel_total const& a, kernel_total const& b) { return a.time > b.time; });
  }

  std::vector<kernel_total> rows_;
  milliseconds time_{};
};

}  // namespace trainer
