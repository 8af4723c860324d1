// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "../../../kernel_class.hpp"
#include "../../../profile.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/own_memory.hpp"
#include "../merge/add_rows.hpp"
#include "../time/durations.hpp"
#include "../time/measured_time.hpp"
#include "../time/time_per_step.hpp"
#include "attribution.hpp"
#include "counted_operations.hpp"

namespace profkit::detail {

/// Sorts by total, longest first, then by name, so that the result does not depend on the order of the records.
template <class Row, class TotalOf>
void sort_by_total(own_vector<Row>& rows, TotalOf total_of) {
  std::sort(rows.begin(), rows.end(), [&](Row const& a, Row const& b) {
    return std::forward_as_tuple(-total_of(a).count(), a.name) < std::forward_as_tuple(-total_of(b).count(), b.name);
  });
}

/// Durations of operations by name, separately for kernels and transfers (copies and memsets). Mergeable across windows.
class operations_by_name {
 public:
  operations_by_name() = default;

  /// @param operations the operations; adds those that count.
  operations_by_name(profile const& profile, own_vector<timed_operation> const& operations) { add(profile, operations); }

  /// @param operations the operations; adds those that count.
  void add(profile const& profile, own_vector<timed_operation> const& operations) {
    grow_rows(rows_, profile.gpu_names.size());
    for (timed_operation const& each : operations) {
      if (!each.is_counted()) continue;
      row& to = rows_[each.name];
      bool const is_kernel = each.kind == gpu_operation_kind::kernel;
      (is_kernel ? to.kernels : to.transfers).add(each.time.duration());
      if (!is_kernel) to.bytes += profile.gpu_operations[each.record].bytes;
    }
  }

  /// @return the number of rows, at most the number of names.
  [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }

  /// Whether there are kernels with a name.
  [[nodiscard]] bool has_kernel(std::size_t name) const { return name < rows_.size() && rows_[name].kernels.count() > 0; }

  [[nodiscard]] duration_summary kernels(std::size_t name) const { return rows_[name].kernels.summarize(); }
  [[nodiscard]] duration_summary transfers(std::size_t name) const { return rows_[name].transfers.summarize(); }
  [[nodiscard]] std::uint64_t bytes(std::size_t name) const { return rows_[name].bytes; }

 private:
  struct row {
    duration_statistics kernels;
    duration_statistics transfers;
    std::uint64_t bytes = 0;  ///< sum over the transfers

    template <class Archive>
    friend void fields(Archive& archive, row& value) {
      archive(value.kernels), archive(value.transfers), archive(value.bytes);
    }
  };

  template <class Archive>
  friend void fields(Archive& archive, operations_by_name& value) {
    archive(value.rows_);
  }

  own_vector<row> rows_;
};

/// Counts operations with data-quality problems. Mergeable across windows.
struct operation_counts {
  std::uint64_t unknown_launches = 0;
  std::uint64_t of_graphs = 0;
  std::uint64_t of_unknown_graphs = 0;

  template <class Archive>
  friend void fields(Archive& archive, operation_counts& value) {
    archive(value.unknown_launches), archive(value.of_graphs), archive(value.of_unknown_graphs);
  }

  operation_counts() = default;

  operation_counts(profile const& profile, attribution const& launched, counted_operations const& counted) {
    graph_node_index const captured{profile};
    counted.for_each([&](timed_operation const& each) {
      if (each.latency != timed_operation::no_latency) return;
      if (launched.launch_of[each.record] == attribution::none) ++unknown_launches;
      std::uint64_t const node = profile.gpu_operations[each.record].graph_node;
      if (node == 0) return;
      ++of_graphs;
      if (!captured.find(node)) ++of_unknown_graphs;
    });
  }

  void add(operation_counts const& other) {
    unknown_launches += other.unknown_launches;
    of_graphs += other.of_graphs;
    of_unknown_graphs += other.of_unknown_graphs;
  }
};

inline own_vector<kernel_class_summary> summarize_classes(own_vector<kernel_summary> const& kernels) {
  std::map<std::string, kernel_class_summary> classes;
  for (kernel_summary const& kernel : kernels) {
    kernel_class_summary& row = classes[kernel.kernel_class];
    row.name = kernel.kernel_class;
    row.count += kernel.time.count;
    row.total += kernel.time.total;
    if (kernel.share) row.share = row.share.value_or(0.0) + *kernel.share;
  }
  own_vector<kernel_class_summary> result;
  result.reserve(classes.size());
  for (auto const& [name, row] : classes) result.push_back(row);
  sort_by_total(result, [](kernel_class_summary const& row) { return row.total; });
  return result;
}

/// Durations of API calls in the measured time, by name. Mergeable across windows.
class merged_api_calls {
 public:
  merged_api_calls() = default;

  merged_api_calls(profile const& profile, measured_time const& when) {
    measured_time_cursor in{when};
    own_vector<duration_statistics> durations(profile.api_names.size());
    for (api_call_record const& call : profile.api_calls) {
      if (in.contains(middle_of(call.time))) durations[call.name].add(call.time.duration());
    }
    for (std::size_t name = 0; name < durations.size(); ++name) {
      if (durations[name].count() > 0) calls_[profile.api_names[name]].add(durations[name]);
    }
  }

  /// Merges another object: the result is as if its calls had been added here.
  void add(merged_api_calls const& other) {
    for (auto const& [name, durations] : other.calls_) calls_[name].add(durations);
  }

  [[nodiscard]] own_vector<api_summary> summarize() const {
    own_vector<api_summary> result;
    for (auto const& [name, durations] : calls_) result.push_back({name, durations.summarize()});
    sort_by_total(result, [](api_summary const& row) { return row.time.total; });
    return result;
  }

 private:
  template <class Archive>
  friend void fields(Archive& archive, merged_api_calls& value) {
    archive(value.calls_);
  }

  std::map<std::string, duration_statistics> calls_;
};

/// Fills the rows of kernels, classes and copies.
/// @param names names of the operations.
/// @param steps null: omit times per step.
/// @return positions in `gpu_summary::kernels`, by name; 0 for names without kernels.
inline own_vector<std::size_t> summarize_names(gpu_summary& result, own_vector<gpu_name_record> const& names,
                                               operations_by_name const& operations, kernel_class_rules const& classes,
                                               time_per_step const* steps = nullptr) {
  kernel_classifier const class_of{classes};
  milliseconds all_kernels{};
  own_vector<std::pair<std::size_t, duration_summary>> kernels;  // name, times
  for (std::size_t name = 0; name < operations.size(); ++name) {
    duration_summary const times = operations.kernels(name);
    all_kernels += times.total;
    if (times.count > 0) kernels.emplace_back(name, times);
    duration_summary const transfers = operations.transfers(name);
    if (transfers.count > 0) result.copies.push_back({names[name].name, transfers, operations.bytes(name)});
  }
  std::sort(kernels.begin(), kernels.end(), [&](auto const& a, auto const& b) {
    auto const key = [&](auto const& each) {
      gpu_name_record const& name = names[each.first];
      return std::tuple<double, std::string const&, std::string const&>{-each.second.total.count(), name.name, name.mangled};
    };
    return key(a) < key(b);
  });
  own_vector<std::size_t> row_of(names.size());
  for (auto const& [name, times] : kernels) {
    gpu_name_record const& record = names[name];
    row_of[name] = result.kernels.size();
    kernel_summary& row = result.kernels.emplace_back(kernel_summary{record.name, record.mangled, class_of(record.name), times, {}});
    if (steps != nullptr) row.per_step = steps->of_kernel(name);
    if (all_kernels.count() > 0.0) row.share = row.time.total / all_kernels;
  }
  result.classes = summarize_classes(result.kernels);
  sort_by_total(result.copies, [](copy_summary const& row) { return row.time.total; });
  return row_of;
}

}  // namespace profkit::detail
