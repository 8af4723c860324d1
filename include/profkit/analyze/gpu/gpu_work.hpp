// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "../../profile/profile.hpp"
#include "../../profile/time.hpp"
#include "../summary.hpp"
#include "../time/durations.hpp"
#include "../time/path_tree.hpp"
#include "attribution.hpp"
#include "counted_operations.hpp"
#include "operation_spans.hpp"

namespace profkit::detail {

/// Length of the union of intervals, which are added in the order in which they begin.
class union_length {
 public:
  /// Whether it grew.
  bool add(interval const& time) {
    if (time.end <= covered_until_) return false;
    length_ += time.end - std::max(time.begin, covered_until_);
    covered_until_ = time.end;
    return true;
  }

  [[nodiscard]] std::chrono::nanoseconds length() const noexcept { return length_; }

 private:
  timestamp covered_until_ = timestamp::min();
  std::chrono::nanoseconds length_{};
};

/// What the GPU did, by path and by name of the scopes that launched it. The paths have a root above them, at the position after the
/// last: what it launched itself was launched outside any scope.
class gpu_work {
 public:
  gpu_work(profile const& of, attribution const& launched, counted_operations const& counted, path_tree const& tree)
      : of_{of}, tree_{tree}, root_{static_cast<std::uint32_t>(of.paths.size())} {
    link_paths();
    operation_spans spans{of, launched};
    counted.for_each([&](timed_operation const& each) {
      std::uint32_t const path = path_of(each);
      self_[path].add(each);
      if (each.latency != timed_operation::no_latency) latencies_[path].add(each.latency);
      cover(path, each.time);
      spans.add(each);
    });
    spans.complete();
    inclusive_ = self_;
    for (std::size_t path = root_; path-- > 0;) {
      inclusive_[busy_[path].above].add(inclusive_[path]);
      latencies_[busy_[path].above].add(latencies_[path]);
    }
    group_spans(spans, counted.steps());
  }

  [[nodiscard]] bool has_operations(std::size_t path) const { return inclusive_[path].operations > 0; }

  [[nodiscard]] gpu_work_summary of_path(std::size_t path) const {
    gpu_work_summary result = summarize_sums(inclusive_[path], self_[path], busy_[path].time);
    result.span = spans_[path].summarize();
    result.latency_p95 = quantile_of(latencies_[path], 0.95);
    return result;
  }

  [[nodiscard]] gpu_work_summary of_name(std::size_t name) const {
    path_tree::name_group const& group = tree_.names()[name];
    gpu_work_summary result = group.outermost.size() == 1 ? of_path(group.outermost.front()) : of_paths_beside(name);
    sums self;
    for (std::uint32_t const path : group.paths) self.add(self_[path]);
    result.kernel_self = self.time;
    return result;
  }

  [[nodiscard]] gpu_work_summary of_all() const {
    gpu_work_summary result = summarize_sums(inclusive_[root_], self_[root_], busy_[root_].time);
    result.span = spans_[root_].summarize();
    result.latency_p95 = quantile_of(latencies_[root_], 0.95);
    return result;
  }

  [[nodiscard]] std::uint64_t unattributed_kernels() const { return self_[root_].kernels; }
  [[nodiscard]] std::uint64_t unattributed_operations() const { return self_[root_].operations; }

 private:
  struct sums {
    std::uint64_t operations = 0;
    std::uint64_t kernels = 0;
    std::uint64_t launches = 0;  ///< of the operations: those that have a latency
    milliseconds time{};
    milliseconds latency{};

    void add(timed_operation const& operation) {
      ++operations;
      if (operation.kind == gpu_operation_kind::kernel) ++kernels;
      time += operation.time.duration();
      if (operation.latency == timed_operation::no_latency) return;
      ++launches;
      latency += operation.latency;
    }

    void add(sums const& other) {
      operations += other.operations;
      kernels += other.kernels;
      launches += other.launches;
      time += other.time;
      latency += other.latency;
    }
  };

  struct busy_path {
    union_length time;
    std::uint32_t above;        ///< its parent, or the root
    std::uint32_t shared_name;  ///< its name, if other paths beside it have the same
  };

  [[nodiscard]] std::uint32_t path_of(timed_operation const& operation) const {
    return operation.path == attribution::none ? root_ : operation.path;
  }

  void link_paths() {
    auto const no_name = static_cast<std::uint32_t>(tree_.names().size());
    busy_.assign(root_ + 1, {{}, root_, no_name});
    for (std::size_t path = 0; path < root_; ++path) {
      if (tree_.has_parent(path)) busy_[path].above = of_.paths[path].parent;
    }
    for (std::uint32_t name = 0; name < no_name; ++name) {
      std::vector<std::uint32_t> const& outermost = tree_.names()[name].outermost;
      if (outermost.size() < 2) continue;
      for (std::uint32_t const path : outermost) busy_[path].shared_name = name;
    }
    self_.resize(root_ + 1);
    latencies_.resize(root_ + 1);
    busy_of_name_.resize(no_name);
  }

  void cover(std::uint32_t path, interval const& time) {
    // What is covered here is covered in all that is around.
    for (; busy_[path].time.add(time) && path != root_; path = busy_[path].above) {
      if (busy_[path].shared_name < busy_of_name_.size()) busy_of_name_[busy_[path].shared_name].add(time);
    }
  }

  void group_spans(operation_spans const& of_scopes, std::vector<operation_span> const& of_steps) {
    spans_.resize(root_ + 1);
    of_scopes.for_each([&](std::size_t path, operation_span const& span) { spans_[path].add(span.length()); });
    for (operation_span const& step : of_steps) {
      if (!step.is_empty()) spans_[root_].add(step.length());
    }
  }

  [[nodiscard]] gpu_work_summary of_paths_beside(std::size_t name) const {
    sums inclusive;
    quantile_sketch latencies;
    duration_statistics spans;
    for (std::uint32_t const path : tree_.names()[name].outermost) {
      inclusive.add(inclusive_[path]);
      latencies.add(latencies_[path]);
      spans.add(spans_[path]);
    }
    gpu_work_summary result = summarize_sums(inclusive, {}, busy_of_name_[name]);
    result.span = spans.summarize();
    result.latency_p95 = quantile_of(latencies, 0.95);
    return result;
  }

  static gpu_work_summary summarize_sums(sums const& inclusive, sums const& self, union_length const& busy) {
    gpu_work_summary result;
    result.operations = inclusive.operations;
    result.kernels = inclusive.kernels;
    result.kernel_time = inclusive.time;
    result.kernel_self = self.time;
    result.busy = to_ms(busy.length());
    if (inclusive.launches > 0) result.latency_mean = inclusive.latency / static_cast<double>(inclusive.launches);
    return result;
  }

  profile const& of_;
  path_tree const& tree_;
  std::uint32_t root_;
  std::vector<sums> self_;
  std::vector<sums> inclusive_;
  std::vector<busy_path> busy_;
  std::vector<union_length> busy_of_name_;  ///< of names with several outermost paths
  std::vector<quantile_sketch> latencies_;  ///< by path, with those inside
  std::vector<duration_statistics> spans_;  ///< by path; of the root, those of the steps
};

}  // namespace profkit::detail
