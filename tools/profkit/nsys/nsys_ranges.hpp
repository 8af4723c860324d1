// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <profkit/impl/analyze/gpu/attribution.hpp>
#include <profkit/impl/analyze/gpu/counted_operations.hpp>
#include <profkit/impl/analyze/time/measured_time.hpp>
#include <profkit/impl/analyze/time/path_tree.hpp>
#include <profkit/impl/profile/own_containers.hpp>
#include <profkit/profile.hpp>
#include <profkit/time.hpp>
#include <string>
#include <tuple>
#include <utility>

#include "nsys_statistics.hpp"
#include "nvidia_demangler.hpp"
#include "nvidia_demangler_expressions.hpp"
#include "nvidia_demangler_names.hpp"
#include "nvidia_demangler_types.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief The kernel name exactly as Nsight Systems prints it. Names that NVIDIA's demangler cannot read stay mangled.
/// @param name a kernel; for copies and memsets the profile already has the name.
/// @return the name.
[[nodiscard]] inline std::string nsys_kernel_name(gpu_name_record const& name) {
  std::string const& mangled = name.mangled.empty() ? name.name : name.mangled;  // equal if the C++ runtime could not demangle it
  return detail::nvidia_demangler{mangled}().value_or(mangled);
}

/// @brief All ranges of one name with operations. The projection of a range is the interval from their first start to their last end.
struct nsys_projection_row {
  std::string range;             ///< name of the range, such as "profkit:forward"
  nsys_statistics projected;     ///< nanoseconds; `count` is the number of ranges
  std::int64_t range_time = 0;   ///< nanoseconds on the host
  std::uint64_t operations = 0;  ///< operations of one graph launch count once
  std::uint64_t levels = 0;      ///< sum over the ranges of the number of ranges around each
  std::uint64_t children = 0;    ///< ranges directly inside in which operations were launched
};

/// @brief All executions of one kernel launched by one thread in ranges of one name.
struct nsys_range_kernel_row {
  std::optional<std::string> range;     ///< none: launched outside any range
  std::optional<std::uint64_t> thread;  ///< system thread number; none: the launch was not recorded
  std::string kernel;                   ///< as Nsight Systems prints it
  std::uint64_t ranges = 0;             ///< number of ranges of the name that launched the kernel
  std::uint64_t kernels = 0;            ///< number of executions
  nsys_statistics time;                 ///< nanoseconds; a kernel in two nested ranges of the name counts twice
};

namespace detail {

/// The range name of a scope in Nsight Systems, which identifies ranges by name only: steps and scopes named `step` are one.
inline std::string nsys_range_name(path_record const& path) {
  return "profkit:" + (path.index ? path.name + "_" + std::to_string(*path.index) : path.name);
}

/// Nesting of scopes in time on one system thread. Unlike in the tree of scopes, a step is inside the scopes open around the loop.
struct scope_nesting {
  detail::own_vector<std::uint32_t> around;  ///< by scope: the innermost one that contains it, or `attribution::none`
  detail::own_vector<std::uint32_t> order;   ///< all scopes, each after the one around it

  explicit scope_nesting(profile const& profile) : around(profile.scopes.size(), attribution::none) {
    detail::own_hash_map<std::uint64_t, detail::own_vector<std::uint32_t>> lanes;
    for (std::size_t i = 0; i < profile.scopes.size(); ++i) {
      lanes[profile.threads[profile.scopes[i].thread].system_id].push_back(static_cast<std::uint32_t>(i));
    }
    order.reserve(profile.scopes.size());
    auto const ends_before = [&](std::uint32_t a, std::uint32_t b) { return profile.scopes[a].time.end < profile.scopes[b].time.end; };
    detail::own_vector<std::uint32_t> open;
    for (auto& entry : lanes) {
      detail::own_vector<std::uint32_t>& lane = entry.second;
      if (!std::is_sorted(lane.begin(), lane.end(), ends_before)) own_stable_sort(lane.begin(), lane.end(), ends_before);
      open.clear();
      for (auto scope = lane.rbegin(); scope != lane.rend(); ++scope) {
        while (!open.empty() && profile.scopes[open.back()].time.begin > profile.scopes[*scope].time.begin) open.pop_back();
        if (!open.empty()) around[*scope] = open.back();
        open.push_back(*scope);
        order.push_back(*scope);
      }
    }
  }
};

/// The common part of the summaries by range: the counted scopes and operations, and their nesting.
struct nsys_view {
  profile const& records;
  attribution const& launched;
  scope_nesting nesting;
  detail::own_vector<bool> scope_counts;
  detail::own_vector<bool> operation_counts;
  detail::own_vector<std::uint32_t> name_of_path;
  text_numbers range_names;

  nsys_view(profile const& whole, attribution const& found, measured_time const& when) : records{whole}, launched{found}, nesting{whole} {
    for (scope_record const& scope : records.scopes) scope_counts.push_back(when.contains(scope.time.begin));
    for (std::size_t i = 0; i < records.gpu_operations.size(); ++i)
      operation_counts.push_back(when.contains(launch_moment(records, launched, i)));
    for (path_record const& path : records.paths) name_of_path.push_back(range_names(nsys_range_name(path)));
  }

  [[nodiscard]] std::uint32_t name_of(std::uint32_t scope) const { return name_of_path[records.scopes[scope].path]; }
};

inline detail::own_vector<nsys_projection_row> nsys_projections(nsys_view const& view) {
  struct projection {
    timestamp first = timestamp::max();
    timestamp last = timestamp::min();
    std::uint32_t launches = 0;
    std::uint32_t children = 0;
    std::uint32_t level = 0;
  };
  detail::own_vector<projection> projections(view.records.scopes.size());
  detail::own_vector<bool> is_counted(view.records.api_calls.size());
  for (std::size_t i = 0; i < view.records.gpu_operations.size(); ++i) {
    if (!view.operation_counts[i] || view.launched.scope_of[i] == attribution::none) continue;
    projection& innermost = projections[view.launched.scope_of[i]];
    innermost.first = std::min(innermost.first, view.records.gpu_operations[i].time.begin);
    innermost.last = std::max(innermost.last, view.records.gpu_operations[i].time.end);
    if (!is_counted[view.launched.launch_of[i]]) ++innermost.launches;
    is_counted[view.launched.launch_of[i]] = true;
  }
  for (std::uint32_t const scope : view.nesting.order) {
    if (view.nesting.around[scope] != attribution::none) projections[scope].level = projections[view.nesting.around[scope]].level + 1;
  }
  for (auto scope = view.nesting.order.rbegin(); scope != view.nesting.order.rend(); ++scope) {
    projection const& inner = projections[*scope];
    if (inner.launches == 0 || view.nesting.around[*scope] == attribution::none) continue;
    projection& outer = projections[view.nesting.around[*scope]];
    outer.first = std::min(outer.first, inner.first);
    outer.last = std::max(outer.last, inner.last);
    outer.launches += inner.launches;
    ++outer.children;
  }

  detail::own_vector<nsys_projection_row> by_name(view.range_names.texts().size());
  detail::own_vector<detail::own_vector<std::int64_t>> samples(by_name.size());
  for (std::size_t scope = 0; scope < projections.size(); ++scope) {
    projection const& each = projections[scope];
    if (each.launches == 0 || !view.scope_counts[scope]) continue;
    std::uint32_t const name = view.name_of(static_cast<std::uint32_t>(scope));
    samples[name].push_back((each.last - each.first).count());
    by_name[name].range_time += view.records.scopes[scope].time.duration().count();
    by_name[name].operations += each.launches;
    by_name[name].levels += each.level;
    by_name[name].children += each.children;
  }
  detail::own_vector<nsys_projection_row> result;
  for (std::size_t name = 0; name < by_name.size(); ++name) {
    if (samples[name].empty()) continue;
    by_name[name].range = view.range_names.texts()[name];
    by_name[name].projected = nsys_statistics_of(samples[name]);
    result.push_back(std::move(by_name[name]));
  }
  std::sort(result.begin(), result.end(), [](nsys_projection_row const& a, nsys_projection_row const& b) {
    return a.projected.total != b.projected.total ? a.projected.total > b.projected.total : a.range < b.range;
  });
  return result;
}

/// Collects the kernels of each range name, thread and kernel name.
class range_kernel_groups {
 public:
  explicit range_kernel_groups(nsys_view const& view) : view_{view} {
    for (gpu_name_record const& each : view.records.gpu_names) kernel_of_.push_back(kernels_(nsys_kernel_name(each)));
    for (thread_record const& each : view.records.threads) {
      thread_of_.push_back(numbers_.try_emplace(each.system_id, numbers_.size()).first->second);
    }
  }

  /// @param operation a kernel that counts.
  void add(std::size_t operation) {
    std::uint32_t const launch = view_.launched.launch_of[operation];
    std::optional<std::uint32_t> thread;
    if (launch != attribution::none) thread = view_.records.api_calls[launch].thread;
    bool is_in_range = false;
    for (std::uint32_t scope = view_.launched.scope_of[operation]; scope != attribution::none; scope = view_.nesting.around[scope]) {
      if (!view_.scope_counts[scope]) continue;
      add(operation, thread, scope);
      is_in_range = true;
    }
    if (!is_in_range) add(operation, thread, attribution::none);
  }

  [[nodiscard]] detail::own_vector<nsys_range_kernel_row> rows() && {
    detail::own_vector<nsys_range_kernel_row> result;
    for (group& each : groups_) {
      std::sort(each.scopes.begin(), each.scopes.end());
      each.row.ranges = static_cast<std::uint64_t>(std::unique(each.scopes.begin(), each.scopes.end()) - each.scopes.begin());
      each.row.time = nsys_statistics_of(each.durations);
      result.push_back(std::move(each.row));
    }
    std::sort(result.begin(), result.end(), [](nsys_range_kernel_row const& a, nsys_range_kernel_row const& b) {
      return std::tie(a.range, a.thread, b.time.total, a.kernel) < std::tie(b.range, b.thread, a.time.total, b.kernel);
    });
    return result;
  }

 private:
  struct group {
    nsys_range_kernel_row row;
    detail::own_vector<std::uint32_t> scopes;
    detail::own_vector<std::int64_t> durations;
    std::size_t last_kernel = SIZE_MAX;
  };

  void add(std::size_t operation, std::optional<std::uint32_t> thread, std::uint32_t scope) {
    bool const is_in_range = scope != attribution::none;
    std::uint32_t const kernel = kernel_of_[view_.records.gpu_operations[operation].name];
    std::uint64_t key = is_in_range ? view_.name_of(scope) : view_.range_names.texts().size();
    key = key * (numbers_.size() + 1) + (thread ? thread_of_[*thread] : numbers_.size());
    key = key * kernels_.texts().size() + kernel;
    auto const [entry, is_new] = group_of_.try_emplace(key, groups_.size());
    if (is_new) {
      nsys_range_kernel_row& row = groups_.emplace_back().row;
      if (is_in_range) row.range = view_.range_names.texts()[view_.name_of(scope)];
      if (thread) row.thread = view_.records.threads[*thread].system_id;
      row.kernel = kernels_.texts()[kernel];
    }
    group& found = groups_[entry->second];
    found.durations.push_back(view_.records.gpu_operations[operation].time.duration().count());
    if (is_in_range && (found.scopes.empty() || found.scopes.back() != scope)) found.scopes.push_back(scope);
    if (found.last_kernel != operation) ++found.row.kernels;
    found.last_kernel = operation;
  }

  nsys_view const& view_;
  text_numbers kernels_;
  detail::own_vector<std::uint32_t> kernel_of_;                 ///< by `gpu_names`
  detail::own_hash_map<std::uint64_t, std::uint64_t> numbers_;  ///< number of each system thread
  detail::own_vector<std::uint64_t> thread_of_;                 ///< by `threads`
  detail::own_hash_map<std::uint64_t, std::size_t> group_of_;
  detail::own_vector<group> groups_;
};

inline detail::own_vector<nsys_range_kernel_row> nsys_range_kernels(nsys_view const& view) {
  range_kernel_groups groups{view};
  for (std::size_t i = 0; i < view.records.gpu_operations.size(); ++i) {
    if (view.operation_counts[i] && view.records.gpu_operations[i].kind == gpu_operation_kind::kernel) groups.add(i);
  }
  return std::move(groups).rows();
}

}  // namespace detail
}  // namespace PROFKIT_NAMESPACE
