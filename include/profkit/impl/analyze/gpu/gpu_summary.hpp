// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "../../../kernel_class.hpp"
#include "../../../profile.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/own_containers.hpp"
#include "../../profile/own_memory.hpp"
#include "../time/measured_time.hpp"
#include "../time/path_tree.hpp"
#include "../time/quantiles.hpp"
#include "../time/time_per_step.hpp"
#include "../window.hpp"
#include "../windows/state.hpp"
#include "attribution.hpp"
#include "counted_operations.hpp"
#include "gpu_sums.hpp"
#include "launch_shapes.hpp"

namespace PROFKIT_NAMESPACE::detail {

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
  launch_groups launches;         ///< of the kernels

  auto members() { return listed(kernels, transfers, bytes, launches); }
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
    gpu_operation_record const& record = profile.gpu_operations[each.record];
    if (is_kernel) {
      row.launches.add(record, each.time.duration());
    } else {
      row.bytes += record.bytes;
    }
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
/// @param shapes shapes of launches.
/// @param steps null: omit times per step.
/// @return positions in `gpu_summary::kernels`, by name; 0 for names without kernels.
inline own_vector<std::size_t> summarize_names(gpu_summary& result, own_vector<gpu_name_record> const& names,
                                               own_vector<named_operations> const& operations, kernel_class_rules const& classes,
                                               own_vector<launch_shape_record> const& shapes = {}, time_per_step const* steps = nullptr) {
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
    operations[name].launches.summarize(shapes, row);
    if (steps != nullptr) row.per_step = steps->of_kernel(name);
    if (all_kernels.count() > 0.0) row.share = row.time.total / all_kernels;
  }
  result.classes = summarize_classes(result.kernels);
  sort_by_total(result.copies, [](copy_summary const& row) { return row.time.total; });
  return row_of;
}

/// By `page_event_kind`. Migrations have the names of Nsight Systems.
inline constexpr char const* page_event_names[] = {"[CUDA memcpy Unified Host-to-Device]", "[CUDA memcpy Unified Device-to-Host]",
                                                   "[CUDA memcpy Unified Device-to-Device]", "[CUDA unified memory, faults of a device]"};

/// Migrations and faults of unified memory. Those of a device belong to the kernel that runs on it meanwhile; all others to the innermost
/// scope of the step thread, because CUPTI does not say which thread faults.
class page_sums {
 public:
  /// Adds the next window.
  /// @param when the measured time of the window.
  /// @param counts whether an operation was launched in a measured step of any window.
  template <class Counts>
  void add(profile const& profile, interval const& own, attribution const& launched, counted_operations const& operations,
           measured_time const& when, Counts const& counts) {
    own_vector<page_event_record> events;
    for (page_event_record const& each : profile.page_events) {
      if (own.begin <= each.time.begin && each.time.begin < own.end) events.push_back(each);
    }
    if (events.empty()) return;
    auto const begins_before = [](page_event_record const& a, page_event_record const& b) { return a.time.begin < b.time.begin; };
    own_stable_sort(events.begin(), events.end(), begins_before);
    std::map<std::int32_t, kernel_list> kernels;
    for (timed_operation const& each : operations.all()) {
      if (each.kind == gpu_operation_kind::kernel) kernels[profile.gpu_operations[each.record].device].push_back(&each);
    }
    std::uint32_t thread = 0;
    for (scope_record const& each : profile.scopes) {
      if (profile.paths[each.path].is_step) thread = each.thread;
    }
    own_vector<host_event> outside;
    for (page_event_record const& event : events) {
      timed_operation const* const kernel = event.kind == page_event_kind::cpu_fault ? nullptr : kernel_at(kernels, event);
      if (kernel == nullptr) {
        if (when.contains(event.time.begin)) outside.push_back({thread, event});
      } else if (counts(*kernel)) {
        timestamp& covered = covered_[event.device];
        interval const shown{(std::max)((std::max)(event.time.begin, covered), kernel->time.begin),
                             (std::min)(event.time.end, kernel->time.end)};
        covered = (std::max)(covered, event.time.end);
        count(event, kernel->name, kernel->path, shown.begin < shown.end ? shown.duration() : std::chrono::nanoseconds{});
      }
    }
    bool const has_thread = thread < profile.threads.size();
    own_vector<std::uint32_t> parents;
    own_vector<std::uint32_t> const scopes = innermost_scopes(
        profile, launched.lanes, outside, [&](std::uint32_t) { return has_thread; },
        [&](std::uint32_t i) { return outside[i].event.time.begin; }, parents);
    for (std::size_t i = 0; i < outside.size(); ++i)
      count(outside[i].event, none, scopes[i] == no_scope ? none : profile.scopes[scopes[i]].path, {});
  }

  [[nodiscard]] unified_memory_summary summarize(profile const& tables) const {
    unified_memory_summary result;
    for (auto const& [kind, each] : kinds_) {
      if (kind < std::size(page_event_names)) result.operations.push_back({page_event_names[kind], each.transfers.summarize(), each.bytes});
    }
    for (auto const& [where, each] : places_) {
      auto const [kernel, path, function] = where;
      unified_memory_place& row = result.places.emplace_back();
      row.migrations = each.migrations;
      row.bytes_to_device = each.bytes_to_device;
      row.bytes_to_host = each.bytes_to_host;
      row.device_faults = each.device_faults;
      row.host_faults = each.host_faults;
      row.waiting = to_ms(each.waiting);
      if (kernel != none) row.kernel = tables.gpu_names[kernel].name;
      if (path != none) row.path = path_text(tables.paths, path);
      if (function == none) continue;
      row.function = tables.functions[function].name;
      row.file = tables.functions[function].file;
      row.line = tables.functions[function].line;
    }
    own_stable_sort(result.places.begin(), result.places.end(), [](unified_memory_place const& a, unified_memory_place const& b) {
      auto const key = [](unified_memory_place const& each) {
        return std::tuple{each.waiting.count(), each.bytes_to_device + each.bytes_to_host, each.host_faults};
      };
      return key(a) > key(b);
    });
    return result;
  }

  /// Whether all positions lie in the tables.
  [[nodiscard]] bool is_in(profile const& tables) const {
    auto const in = [](std::uint32_t position, std::size_t size) { return position == none || position < size; };
    return std::all_of(places_.begin(), places_.end(), [&](auto const& each) {
      auto const [kernel, path, function] = each.first;
      return in(kernel, tables.gpu_names.size()) && in(path, tables.paths.size()) && in(function, tables.functions.size());
    });
  }

  auto members() { return listed(kinds_, places_, covered_); }

 private:
  static constexpr std::uint32_t none = path_record::no_parent;
  using kernel_list = own_vector<timed_operation const*>;  ///< in the order of their beginnings

  struct host_event {
    std::uint32_t thread;
    page_event_record event;
  };

  /// As in `unified_memory_place`.
  struct place {
    std::uint64_t migrations = 0;
    std::uint64_t bytes_to_device = 0;
    std::uint64_t bytes_to_host = 0;
    std::uint64_t device_faults = 0;
    std::uint64_t host_faults = 0;
    std::chrono::nanoseconds waiting{};

    auto members() { return listed(migrations, bytes_to_device, bytes_to_host, device_faults, host_faults, summed(waiting)); }
  };

  /// The kernel that runs at an event: on its device, or if CUPTI does not tell the device on another one. The latest if there are several.
  static timed_operation const* kernel_at(std::map<std::int32_t, kernel_list> const& kernels, page_event_record const& event) {
    timestamp const moment = middle_of(event.time);
    timed_operation const* result = nullptr;
    for (auto const& [device, list] : kernels) {
      constexpr std::ptrdiff_t max_tried = 64;  // kernels that run at the same time
      auto const is_later = [](timestamp at, timed_operation const* each) { return at < each->time.begin; };
      auto each = std::upper_bound(list.begin(), list.end(), moment, is_later);
      auto const first = each - (std::min)(max_tried, each - list.begin());
      while (each != first && moment > (*--each)->time.end) continue;
      if (each == list.end() || moment < (*each)->time.begin || moment > (*each)->time.end) continue;
      if (device == event.device) return *each;
      result = *each;
    }
    return result;
  }

  void count(page_event_record const& event, std::uint32_t kernel, std::uint32_t path, std::chrono::nanoseconds waiting) {
    place& to = places_[{kernel, path, event.function}];
    to.waiting += waiting;
    if (event.kind == page_event_kind::cpu_fault) {
      ++to.host_faults;
      return;
    }
    named_operations& kind = kinds_[static_cast<std::uint8_t>(event.kind)];
    kind.transfers.add(event.time.duration());
    if (event.kind == page_event_kind::gpu_faults) {
      to.device_faults += event.amount;
      return;
    }
    kind.bytes += event.amount;
    ++to.migrations;
    (event.kind == page_event_kind::to_host ? to.bytes_to_host : to.bytes_to_device) += event.amount;
  }

  std::map<std::uint8_t, named_operations> kinds_;                                   ///< by `page_event_kind`
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, place> places_;  ///< by kernel, path and function
  std::map<std::int32_t, timestamp> covered_;                                        ///< by device: until when events are counted
};

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
    pages_.add(records, frame.own, launched, counted, with_kernels, [&](timed_operation const& each) {
      return each.is_counted() || earlier.contains(launch_moment(records, launched, each.record));
    });
  }

  [[nodiscard]] page_sums const& pages() const noexcept { return pages_; }

  /// @param added the stretch of the added windows.
  void settle(interval const& added) { sums_.settle(added); }

  [[nodiscard]] bool has_kernels() const noexcept { return has_kernels_; }

  [[nodiscard]] bool has_kernel(std::uint32_t name) const { return name < by_name_.size() && by_name_[name].kernels.count() > 0; }

  /// Whether all positions lie in the tables.
  [[nodiscard]] bool is_in(profile const& tables) const noexcept {
    return sums_.paths() <= tables.paths.size() && by_name_.size() <= tables.gpu_names.size() &&
           api_calls_.size() <= tables.api_names.size() && pages_.is_in(tables) &&
           std::all_of(by_name_.begin(), by_name_.end(),
                       [&](named_operations const& each) { return each.launches.is_in(tables.launch_shapes.size()); });
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
    kernel_rows = summarize_names(result, tables.gpu_names, by_name_, classes, tables.launch_shapes, &per_step);
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
    return listed(has_kernels_, steps_, sums_, by_name_, unknown_launches_, of_graphs_, of_unknown_graphs_, has_all_api_calls_, api_calls_,
                  pages_);
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
  page_sums pages_;
  bool has_all_api_calls_ = false;
  own_vector<duration_statistics> api_calls_;  ///< durations in the measured time, by position in `profile::api_names`
};

}  // namespace PROFKIT_NAMESPACE::detail
