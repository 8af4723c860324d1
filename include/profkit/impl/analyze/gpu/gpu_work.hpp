// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "../../../profile.hpp"
#include "../../../summary.hpp"
#include "../../profile/own_memory.hpp"
#include "../time/durations.hpp"
#include "../time/path_tree.hpp"
#include "gpu_sums.hpp"

namespace profkit::detail {

/// GPU work by path and by name of the launching scopes.
class gpu_work {
 public:
  gpu_work(gpu_sums const& sums, path_tree const& tree, own_vector<path_record> const& paths)
      : sums_{sums}, tree_{tree}, inclusive_{sums.rows()}, all_{sums.root()} {
    inclusive_.resize(paths.size());
    for (std::size_t path = paths.size(); path-- > 0;) {
      (tree.has_parent(path) ? inclusive_[paths[path].parent] : all_).add_inside(inclusive_[path]);
    }
  }

  [[nodiscard]] bool has_operations(std::size_t path) const { return inclusive_[path].operations > 0; }

  [[nodiscard]] gpu_work_summary of_path(std::size_t path) const { return summarize(inclusive_[path], self_of(path)); }

  [[nodiscard]] gpu_work_summary of_name(std::size_t name) const {
    path_tree::name_group const& group = tree_.names()[name];
    gpu_sums::row inclusive;
    for (std::uint32_t const path : group.outermost) inclusive.add(inclusive_[path]);
    inclusive.busy = sums_.busy_of_name(group.name);
    std::chrono::nanoseconds self{};
    for (std::uint32_t const path : group.paths) self += self_of(path);
    return summarize(inclusive, self);
  }

  [[nodiscard]] gpu_work_summary of_all() const { return summarize(all_, sums_.root().time); }

  [[nodiscard]] std::uint64_t unattributed_kernels() const { return sums_.root().kernels; }
  [[nodiscard]] std::uint64_t unattributed_operations() const { return sums_.root().operations; }

 private:
  [[nodiscard]] std::chrono::nanoseconds self_of(std::size_t path) const {
    return path < sums_.rows().size() ? sums_.rows()[path].time : std::chrono::nanoseconds{};
  }

  static gpu_work_summary summarize(gpu_sums::row const& row, std::chrono::nanoseconds self) {
    gpu_work_summary result;
    result.operations = row.operations;
    result.kernels = row.kernels;
    result.kernel_time = to_ms(row.time);
    result.kernel_self = to_ms(self);
    result.busy = to_ms(row.busy);
    result.span = row.spans.summarize();
    if (row.launches > 0) result.latency_mean = to_ms(row.latency) / static_cast<double>(row.launches);
    result.latency_p95 = quantile_of(row.latencies, 0.95);
    return result;
  }

  gpu_sums const& sums_;
  path_tree const& tree_;
  own_vector<gpu_sums::row> inclusive_;
  gpu_sums::row all_;
};

}  // namespace profkit::detail
