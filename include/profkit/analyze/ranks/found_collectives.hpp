// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "../../profile/profile.hpp"
#include "../../profile/time.hpp"
#include "../gpu/attribution.hpp"
#include "../gpu/counted_operations.hpp"
#include "collective_name.hpp"
#include "rank_timeline.hpp"
#include "timeline_fields.hpp"

namespace profkit::detail {

/// A collective of a window.
struct found_collective {
  interval time;
  timestamp issued{};  ///< when it was issued on the host
  std::uint64_t sequence = 0;
  std::uint64_t bytes = 0;
  std::uint32_t kind = 0;                  ///< position in `found_collectives::kinds`
  std::uint32_t path = attribution::none;  ///< the scope that issued it
};

/// The collectives of a window, in the order of their beginnings. Without the collector of NCCL's collectives, they are NCCL's kernels.
struct found_collectives {
  std::vector<found_collective> all;
  std::vector<collective_kind> kinds;
  bool has_numbers = true;

  found_collectives(profile const& records, attribution const& launched, counted_operations const* operations)
      : is_kernel_(records.gpu_names.size()) {
    if (operations != nullptr) add_kernels(records, launched, *operations);
  }

  /// @param operation position in `profile::gpu_operations`.
  [[nodiscard]] bool is_collective(std::uint32_t operation) const { return operation < is_collective_.size() && is_collective_[operation]; }

 private:
  void add_kernels(profile const& records, attribution const& launched, counted_operations const& operations) {
    std::vector<std::uint32_t> kind_of(records.gpu_names.size());
    bool has_any = false;
    for (std::size_t i = 0; i < records.gpu_names.size(); ++i) {
      is_kernel_[i] = is_collective_kernel(records.gpu_names[i].name);
      if (!is_kernel_[i]) continue;
      has_any = true;
      kind_of[i] = find_or_add(kind_of_kernel(records.gpu_names[i].name));
    }
    if (!has_any) return;
    is_collective_.resize(records.gpu_operations.size());
    for (timed_operation const& each : operations.all()) {
      if (!is_kernel_[each.name]) continue;
      is_collective_[each.record] = true;
      has_numbers = false;
      all.push_back({each.time, launch_moment(records, launched, each.record), 0, 0, kind_of[each.name], each.path});
    }
  }

  std::uint32_t find_or_add(collective_kind const& wanted) {
    auto at = std::find_if(kinds.begin(), kinds.end(), [&](collective_kind const& each) { return is_same(each, wanted); });
    if (at == kinds.end()) at = kinds.insert(at, wanted);
    return static_cast<std::uint32_t>(at - kinds.begin());
  }

  std::vector<bool> is_kernel_;      ///< by name of GPU operations
  std::vector<bool> is_collective_;  ///< by GPU operation
};

}  // namespace profkit::detail
