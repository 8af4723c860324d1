// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "../../../profile.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/own_containers.hpp"
#include "../../profile/own_memory.hpp"
#include "../time/quantiles.hpp"
#include "../windows/state.hpp"

// What launches of kernels ask of a device. Definitions: CUDA C++ Programming Guide, "Hardware multithreading"; Nsight Compute,
// "Theoretical Occupancy" and "Waves Per SM".

namespace PROFKIT_NAMESPACE::detail {

/// The number of blocks of a grid.
[[nodiscard]] inline std::uint64_t blocks_of(gpu_operation_record const& kernel) noexcept {
  return std::uint64_t{kernel.grid[0]} * kernel.grid[1] * kernel.grid[2];
}

/// @return what limits the occupancy: "registers", "registers, shared memory"; empty if nothing does.
[[nodiscard]] inline std::string limits_text(std::uint8_t limits) {
  static constexpr std::pair<std::uint8_t, char const*> names[] = {{launch_limit::registers, "registers"},
                                                                   {launch_limit::shared_memory, "shared memory"},
                                                                   {launch_limit::blocks, "blocks"},
                                                                   {launch_limit::barriers, "barriers"}};
  std::string result;
  for (auto const& [bit, name] : names) {
    if ((limits & bit) != 0) result.append(result.empty() ? "" : ", ").append(name);
  }
  return result.empty() && (limits & launch_limit::warps) != 0 ? "block size" : result;
}

/// The figures of a launch. @param shape must have its limits.
[[nodiscard]] inline launch_summary summarize_launch(launch_shape_record const& shape, std::uint64_t blocks) {
  constexpr std::uint32_t warp = 32;  // of all devices so far. Source: CUDA C++ Programming Guide, "Compute capabilities"
  launch_summary result;
  result.device = shape.device;
  result.blocks = blocks;
  result.threads = shape.threads;
  result.registers = shape.registers;
  result.shared_bytes = std::uint64_t{shape.static_shared_bytes} + shape.dynamic_shared_bytes;
  result.local_bytes = shape.local_bytes;
  result.cluster_blocks = shape.cluster_blocks;
  result.multiprocessors = shape.multiprocessors;
  result.blocks_per_multiprocessor = shape.blocks_per_multiprocessor;
  double const warps = shape.blocks_per_multiprocessor * std::ceil(static_cast<double>(shape.threads) / warp);
  result.occupancy = (std::min)(1.0, warps / shape.max_warps);
  if (result.occupancy < 1.0) result.limited_by = limits_text(shape.limits);
  result.waves = static_cast<double>(blocks) / (static_cast<double>(shape.multiprocessors) * shape.blocks_per_multiprocessor);
  result.last_wave = result.waves - ((std::max)(1.0, std::ceil(result.waves)) - 1.0);
  return result;
}

/// The share of a device's warps that a launch can have at the same time.
[[nodiscard]] inline double used_share(launch_summary const& launch) noexcept { return launch.occupancy * (std::min)(1.0, launch.waves); }

/// The launches of one kernel, by shape and size of the grid. Bounded: a grid counts by the quarter of a power of two.
class launch_groups {
 public:
  void add(gpu_operation_record const& kernel, std::chrono::nanoseconds duration) {
    if (kernel.shape == 0) return;
    std::uint64_t const blocks = blocks_of(kernel);
    group& to = groups_[{kernel.shape, size_class(blocks)}];
    if (to.launches == 0 || blocks < to.min_blocks) to.min_blocks = blocks;
    ++to.launches;
    to.total += duration;
  }

  /// Whether all numbers of shapes lie in a table of this size.
  [[nodiscard]] bool is_in(std::size_t shapes) const {
    return std::all_of(groups_.begin(), groups_.end(),
                       [&](auto const& each) { return each.first.first != 0 && each.first.first <= shapes && each.second.launches > 0; });
  }

  /// Fills the launches of a row.
  void summarize(own_vector<launch_shape_record> const& shapes, kernel_summary& row) const {
    own_vector<launch_summary> all;
    std::uint64_t launches = 0;
    for (auto const& [key, each] : groups_) {
      launch_shape_record const& shape = shapes[key.first - std::size_t{1}];
      if (shape.blocks_per_multiprocessor == 0 || shape.multiprocessors == 0 || shape.max_warps == 0) continue;
      launch_summary& launch = all.emplace_back(summarize_launch(shape, each.min_blocks));
      launch.launches = each.launches;
      launch.total = to_ms(each.total);
      launches += each.launches;
    }
    if (all.empty()) return;
    own_stable_sort(all.begin(), all.end(), [](launch_summary const& a, launch_summary const& b) {
      return std::tuple{used_share(a), a.blocks} < std::tuple{used_share(b), b.blocks};
    });
    row.worst_launch = all.front();
    std::uint64_t passed = 0;
    for (launch_summary const& each : all) {
      passed += each.launches;
      if (2 * passed < launches) continue;
      row.median_launch = each;
      return;
    }
  }

  auto members() { return listed(groups_); }

 private:
  struct group {
    std::uint64_t launches = 0;
    std::uint64_t min_blocks = 0;
    std::chrono::nanoseconds total{};

    auto members() { return listed(summed(launches), min_blocks, summed(total)); }
  };

  static std::uint16_t size_class(std::uint64_t blocks) noexcept {
    if (blocks == 0) return 0;
    auto const power = static_cast<unsigned>(63 - __builtin_clzll(blocks));
    std::uint64_t const quarter = (power >= 2 ? blocks >> (power - 2) : blocks << (2 - power)) & 3U;
    return static_cast<std::uint16_t>(std::uint64_t{4} * power + quarter + 1);
  }

  std::map<std::pair<std::uint16_t, std::uint16_t>, group> groups_;  ///< by `gpu_operation_record::shape` and size class
};

}  // namespace PROFKIT_NAMESPACE::detail
