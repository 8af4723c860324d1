// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "../../../kernel_class.hpp"
#include "../../../profile.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/own_memory.hpp"
#include "../time/durations.hpp"
#include "../time/measured_time.hpp"
#include "../time/path_tree.hpp"
#include "../time/time_per_step.hpp"
#include "../window.hpp"
#include "../windows/state.hpp"
#include "attribution.hpp"
#include "counted_operations.hpp"
#include "gpu_sums.hpp"

namespace profkit::detail {

/// Sorts by total, longest first, then by name, so that the result does not depend on the order of the records.
template <class Row, class TotalOf>
void sort_by_total(own_vector<Row>& rows, TotalOf total_of) {
  std::sort(rows.begin(), rows.end(), [&](Row const& a, Row const& b) {
    return std::forward_as_tuple(-total_of(a).count(), a.name) < std::forward_as_tuple(-total_of(b).count(), b.name);
  });
}

/// The operations with one name.
struct named_operations {
  duration_statistics kernels;
  duration_statistics transfers;  ///< copies and memsets
  std::uint64_t bytes = 0;        ///< sum over the transfers

  auto members() { return listed(kernels, transfers, bytes); }
};

/// Adds the operations that count.
/// @param to the rows by position in `profile::gpu_names`.
inline void add_by_name(own_vector<named_operations>& to, profile const& profile, own_vector<timed_operation> const& operations) {
  grow_rows(to, profile.gpu_names.size());
  for (timed_operation const& each : operations) {
    if (!each.is_counted()) continue;
    named_operations& row = to[each.name];
    bool const is_kernel = each.kind == gpu_operation_kind::kernel;
    (is_kernel ? row.kernels : row.transfers).add(each.time.duration());
    if (!is_kernel) row.bytes += profile.gpu_operations[each.record].bytes;
  }
}

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

/// Fills the rows of kernels, classes and copies.
/// @param names names of the operations.
/// @param steps null: omit times per step.
/// @return positions in `gpu_summary::kernels`, by name; 0 for names without kernels.
inline own_vector<std::size_t> summarize_names(gpu_summary& result, own_vector<gpu_name_record> const& names,
                                               own_vector<named_operations> const& operations, kernel_class_rules const& classes,
                                               time_per_step const* steps = nullptr) {
  kernel_classifier const class_of{classes};
  milliseconds all_kernels{};
  own_vector<std::pair<std::size_t, duration_summary>> kernels;  // name, times
  for (std::size_t name = 0; name < operations.size(); ++name) {
    duration_summary const times = operations[name].kernels.summarize();
    all_kernels += times.total;
    if (times.count > 0) kernels.emplace_back(name, times);
    duration_summary const transfers = operations[name].transfers.summarize();
    if (transfers.count > 0) result.copies.push_back({names[name].name, transfers, operations[name].bytes});
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

/// The figures of GPU operations and API calls.
class gpu_figures {
 public:
  /// Adds the next window.
  /// @param with_kernels measured time of the window's own steps with kernels collected.
  /// @param earlier the same of earlier windows.
  void add(profile const& records, window_frame const& frame, attribution const& launched, counted_operations const& counted,
           measured_time const& with_kernels, measured_time const& earlier) {
    has_kernels_ = true;
    steps_ += with_kernels.steps().size();
    sums_.add(records, frame, launched, counted, earlier);
    add_by_name(by_name_, records, counted.all());
    count(records, launched, counted);
    if (records.has_all_api_calls) add_api_calls(records, with_kernels);
  }

  /// @param added the stretch of the added windows.
  void settle(interval const& added) { sums_.settle(added); }

  [[nodiscard]] bool has_kernels() const noexcept { return has_kernels_; }

  /// Whether there are kernels with a name.
  [[nodiscard]] bool has_kernel(std::uint32_t name) const { return name < by_name_.size() && by_name_[name].kernels.count() > 0; }

  /// Whether all positions lie in the tables.
  [[nodiscard]] bool is_in(profile const& tables) const noexcept {
    return sums_.paths() <= tables.paths.size() && by_name_.size() <= tables.gpu_names.size() &&
           api_calls_.size() <= tables.api_names.size();
  }

  /// @return the number of measured steps with kernels collected.
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

  /// Completes the sums by path. Nothing may be added afterwards.
  gpu_sums const& complete(path_tree const& tree) {
    sums_.complete(tree);
    return sums_;
  }

  /// Computes the summary, without idle time, from complete sums.
  /// @param kernel_rows receives the positions in `gpu_summary::kernels`, by name.
  /// @param tables the tables of the session.
  [[nodiscard]] gpu_summary summarize(profile const& tables, time_per_step const& per_step, kernel_class_rules const& classes,
                                      own_vector<std::size_t>& kernel_rows) const {
    gpu_summary result;
    result.all = sums_.of_all();
    result.unattributed_operations = sums_.outside().operations;
    result.unattributed_kernels = sums_.outside().kernels;
    result.unattributed_time = result.all.kernel_self;
    result.unknown_launches = unknown_launches_;
    result.operations_of_graphs = of_graphs_;
    result.operations_of_unknown_graphs = of_unknown_graphs_;
    kernel_rows = summarize_names(result, tables.gpu_names, by_name_, classes, &per_step);
    result.steps = steps_;
    if (!has_all_api_calls_) return result;
    result.api.emplace();
    for (std::size_t name = 0; name < api_calls_.size(); ++name) {
      if (api_calls_[name].count() > 0) result.api->push_back({tables.api_names[name], api_calls_[name].summarize()});
    }
    sort_by_total(*result.api, [](api_summary const& row) { return row.time.total; });
    return result;
  }

  auto members() {
    return listed(has_kernels_, steps_, sums_, by_name_, unknown_launches_, of_graphs_, of_unknown_graphs_, has_all_api_calls_, api_calls_);
  }

 private:
  void count(profile const& records, attribution const& launched, counted_operations const& counted) {
    auto const captured = captured_paths(records);
    counted.for_each([&](timed_operation const& each) {
      if (each.latency != timed_operation::no_latency) return;
      if (launched.launch_of[each.record] == attribution::none) ++unknown_launches_;
      std::uint64_t const node = records.gpu_operations[each.record].graph_node;
      if (node == 0) return;
      ++of_graphs_;
      if (captured.count(node) == 0) ++of_unknown_graphs_;
    });
  }

  void add_api_calls(profile const& records, measured_time const& when) {
    has_all_api_calls_ = true;
    grow_rows(api_calls_, records.api_names.size());
    measured_time_cursor in{when};
    for (api_call_record const& call : records.api_calls) {
      if (in.contains(middle_of(call.time))) api_calls_[call.name].add(call.time.duration());
    }
  }

  bool has_kernels_ = false;
  std::uint64_t steps_ = 0;
  gpu_sums sums_;
  own_vector<named_operations> by_name_;
  std::uint64_t unknown_launches_ = 0;
  std::uint64_t of_graphs_ = 0;
  std::uint64_t of_unknown_graphs_ = 0;
  bool has_all_api_calls_ = false;
  own_vector<duration_statistics> api_calls_;  ///< durations in the measured time, by position in `profile::api_names`
};

}  // namespace profkit::detail
