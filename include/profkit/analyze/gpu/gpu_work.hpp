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
      cover(path, each.time);
      spans.add(each);
    });
    spans.complete();
    inclusive_ = self_;
    for (std::size_t path = root_; path-- > 0;) inclusive_[busy_[path].above].add(inclusive_[path]);
    find_latencies(counted);
    group_spans(spans, counted.steps());
  }

  [[nodiscard]] bool has_operations(std::size_t path) const { return inclusive_[path].operations > 0; }

  [[nodiscard]] gpu_work_summary of_path(std::size_t path) {
    gpu_work_summary result = summarize_sums(inclusive_[path], self_[path], busy_[path].time);
    result.span = spans_.summarize(path);
    result.latency_p95 = latency_p95_[path];
    return result;
  }

  [[nodiscard]] gpu_work_summary of_name(std::size_t name) {
    path_tree::name_group const& group = tree_.names()[name];
    gpu_work_summary result = group.outermost.size() == 1 ? of_path(group.outermost.front()) : of_paths_beside(name);
    sums self;
    for (std::uint32_t const path : group.paths) self.add(self_[path]);
    result.kernel_self = self.time;
    return result;
  }

  [[nodiscard]] gpu_work_summary of_all() {
    gpu_work_summary result = summarize_sums(inclusive_[root_], self_[root_], busy_[root_].time);
    result.span = spans_.summarize(root_);
    result.latency_p95 = latency_p95_[root_];
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
    busy_of_name_.resize(no_name);
  }

  void cover(std::uint32_t path, interval const& time) {
    // What is covered here is covered in all that is around.
    for (; busy_[path].time.add(time) && path != root_; path = busy_[path].above) {
      if (busy_[path].shared_name < busy_of_name_.size()) busy_of_name_[busy_[path].shared_name].add(time);
    }
  }

  void find_latencies(counted_operations const& counted) {
    // Depth first, those of the root last: a path and all those inside it are one range.
    auto const group_of = [&](std::size_t path) { return path == root_ ? root_ : tree_.position_of(path); };
    std::vector<std::size_t> sizes(root_ + 1);
    for (std::size_t path = 0; path <= root_; ++path) sizes[group_of(path)] = self_[path].launches;
    grouped_durations latencies{sizes};
    counted.for_each([&](timed_operation const& each) {
      if (each.latency != timed_operation::no_latency) latencies.add(group_of(path_of(each)), each.latency);
    });
    auto const inside = [&](std::size_t path) { return latencies.groups(tree_.position_of(path), tree_.end_of(path)); };

    latency_p95_of_name_.resize(tree_.names().size());
    for (std::size_t name = 0; name < tree_.names().size(); ++name) {
      std::vector<std::uint32_t> const& outermost = tree_.names()[name].outermost;
      if (outermost.size() < 2) continue;
      std::vector<std::chrono::nanoseconds> copy;
      for (std::uint32_t const path : outermost) append(copy, inside(path));
      latency_p95_of_name_[name] = quantile_of({copy.begin(), copy.end()}, 0.95);
    }
    // A quantile mixes what is in its range, so those inside come first.
    latency_p95_.resize(root_ + 1);
    for (auto path = tree_.depth_first().rbegin(); path != tree_.depth_first().rend(); ++path) {
      latency_p95_[*path] = quantile_of(inside(*path), 0.95);
    }
    latency_p95_[root_] = quantile_of(latencies.groups(0, root_ + 1), 0.95);
  }

  void group_spans(operation_spans const& of_scopes, std::vector<operation_span> const& of_steps) {
    std::vector<std::size_t> sizes(root_ + 1);
    auto const for_each_span = [&](auto const& visit) {
      of_scopes.for_each(visit);
      for (operation_span const& step : of_steps) {
        if (!step.is_empty()) visit(root_, step);
      }
    };
    for_each_span([&](std::size_t path, operation_span const&) { ++sizes[path]; });
    spans_ = summed_durations{sizes};
    for_each_span([&](std::size_t path, operation_span const& span) { spans_.add(path, span.length()); });
  }

  [[nodiscard]] gpu_work_summary of_paths_beside(std::size_t name) {
    sums inclusive;
    std::vector<std::chrono::nanoseconds> spans;
    for (std::uint32_t const path : tree_.names()[name].outermost) {
      inclusive.add(inclusive_[path]);
      append(spans, spans_.durations().group(path));
    }
    gpu_work_summary result = summarize_sums(inclusive, {}, busy_of_name_[name]);
    result.span = summarize(grouped_durations::range{spans.begin(), spans.end()});
    result.latency_p95 = latency_p95_of_name_[name];
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

  static void append(std::vector<std::chrono::nanoseconds>& to, grouped_durations::range of) { to.insert(to.end(), of.first, of.last); }

  profile const& of_;
  path_tree const& tree_;
  std::uint32_t root_;
  std::vector<sums> self_;
  std::vector<sums> inclusive_;
  std::vector<busy_path> busy_;
  std::vector<union_length> busy_of_name_;  ///< of names with several outermost paths
  std::vector<std::optional<milliseconds>> latency_p95_;
  std::vector<std::optional<milliseconds>> latency_p95_of_name_;  ///< of names with several outermost paths
  summed_durations spans_;                                        ///< by path; of the root, those of the steps
};

}  // namespace profkit::detail
