// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "../../profile/profile.hpp"
#include "../../profile/time.hpp"
#include "../summary.hpp"
#include "../time/durations.hpp"
#include "../time/measured_time.hpp"
#include "../time/time_per_step.hpp"
#include "attribution.hpp"
#include "counted_operations.hpp"
#include "kernel_class.hpp"

namespace profkit::detail {

/// Longest total first; then by name, so that the order does not depend on that of the records.
template <class Row, class TotalOf>
void sort_by_total(std::vector<Row>& rows, TotalOf total_of) {
  std::sort(rows.begin(), rows.end(), [&](Row const& a, Row const& b) {
    return std::forward_as_tuple(-total_of(a).count(), a.name) < std::forward_as_tuple(-total_of(b).count(), b.name);
  });
}

/// Durations of the operations by name, kernels and transfers (copies and sets) each for themselves.
class operations_by_name {
 public:
  /// @param operations of which those that count are taken.
  operations_by_name(profile const& of, std::vector<timed_operation> const& operations)
      : kernels_(of.gpu_names.size()), transfers_(of.gpu_names.size()), bytes_(of.gpu_names.size()) {
    for (timed_operation const& each : operations) {
      if (!each.is_counted()) continue;
      bool const is_kernel = each.kind == gpu_operation_kind::kernel;
      (is_kernel ? kernels_ : transfers_)[each.name].add(each.time.duration());
      if (!is_kernel) bytes_[each.name] += of.gpu_operations[each.record].bytes;
    }
  }

  [[nodiscard]] duration_summary kernels(std::size_t name) const { return kernels_[name].summarize(); }
  [[nodiscard]] duration_summary transfers(std::size_t name) const { return transfers_[name].summarize(); }
  [[nodiscard]] std::uint64_t bytes(std::size_t name) const { return bytes_[name]; }

 private:
  std::vector<duration_statistics> kernels_;
  std::vector<duration_statistics> transfers_;
  std::vector<std::uint64_t> bytes_;  ///< of the transfers
};

inline std::vector<kernel_class_summary> summarize_classes(std::vector<kernel_summary> const& kernels) {
  std::map<std::string, kernel_class_summary> classes;
  for (kernel_summary const& kernel : kernels) {
    kernel_class_summary& row = classes[kernel.kernel_class];
    row.name = kernel.kernel_class;
    row.count += kernel.time.count;
    row.total += kernel.time.total;
    if (kernel.share) row.share = row.share.value_or(0.0) + *kernel.share;
  }
  std::vector<kernel_class_summary> result;
  result.reserve(classes.size());
  for (auto const& [name, row] : classes) result.push_back(row);
  sort_by_total(result, [](kernel_class_summary const& row) { return row.total; });
  return result;
}

inline std::vector<api_summary> summarize_api(profile const& of, measured_time const& when) {
  measured_time_cursor in{when};
  std::vector<duration_statistics> durations(of.api_names.size());
  for (api_call_record const& call : of.api_calls) {
    if (in.contains(middle_of(call.time))) durations[call.name].add(call.time.duration());
  }
  std::vector<api_summary> result;
  for (std::size_t name = 0; name < durations.size(); ++name) {
    if (durations[name].count() > 0) result.push_back({of.api_names[name], durations[name].summarize()});
  }
  sort_by_total(result, [](api_summary const& row) { return row.time.total; });
  return result;
}

/// The rows by name of some GPU operations.
/// @param counted operations; those of them that count are taken.
/// @param steps null: without what kernels took in each step.
inline void summarize_names(gpu_summary& result, profile const& of, std::vector<timed_operation> const& counted,
                            kernel_class_rules const& classes, time_per_step const* steps = nullptr) {
  kernel_classifier const class_of{classes};
  operations_by_name const operations{of, counted};
  milliseconds all_kernels{};
  for (std::size_t name = 0; name < of.gpu_names.size(); ++name) {
    gpu_name_record const& record = of.gpu_names[name];
    duration_summary const kernels = operations.kernels(name);
    all_kernels += kernels.total;
    if (kernels.count > 0) {
      result.kernels.push_back({record.name, record.mangled, class_of(record.name), kernels, std::nullopt});
      if (steps != nullptr) result.kernels.back().per_step = steps->of_kernel(name);
    }
    duration_summary const transfers = operations.transfers(name);
    if (transfers.count > 0) result.copies.push_back({record.name, transfers, operations.bytes(name)});
  }
  for (kernel_summary& row : result.kernels) {
    if (all_kernels.count() > 0.0) row.share = row.time.total / all_kernels;
  }
  result.classes = summarize_classes(result.kernels);
  auto const total_of = [](auto const& row) { return row.time.total; };
  sort_by_total(result.kernels, total_of);
  sort_by_total(result.copies, total_of);
}

}  // namespace profkit::detail
