// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Features that need CUPTI: the kernels that the devices ran. Link `profkit::cupti`. libcupti is opened at run time, so the program
/// also starts on a machine without it.
///
///     session.collect(profkit::cupti_kernels());

#include <memory>

#include "impl/collect/built_in_collectors.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief Options of `cupti_kernels`.
struct kernel_options {
  /// @brief Records every call of the CUDA runtime and driver, instead of only launching and waiting calls: needed for `cuda_api_sum.csv`
  /// of `profkit report --nsys`. A training step makes about 12 calls per kernel, so this takes much more time and memory.
  bool all_api_calls = false;
};

namespace detail {

std::unique_ptr<collector> collect_kernels(kernel_options const& wanted);
std::unique_ptr<collector> collect_unified_memory();

}  // namespace detail

/// @brief Collects the kernels, copies and memsets of all devices of the process with NVIDIA's CUPTI, and attributes them to scopes.
///
/// It also collects the driver calls that launch operations or wait for a device, the scopes in which nodes of CUDA graphs were captured,
/// and driver memory.
///
/// * libcupti is opened when the session takes the collector. The first of these is used: the copy that the process has loaded, the
///   system's copy, the file named by `PROFKIT_CUPTI_PATH`.
/// * CUPTI supports one tool at a time. Under Nsight Systems or while the PyTorch profiler runs, the collector reports that in its
///   status. It initialises CUDA before CUPTI, so the other tool's result stays complete.
/// * Cost: about 1 us per launch on the launching thread; with `kernels=every:N` only in one step of N.
/// * Synchronisation: none while the session records. At the end of the session it synchronises the devices. With `kernels=every:N` it
///   synchronises them before and after each collected step, outside the steps.
/// * Consecutive sessions may each collect.
///
/// Source of times: CUPTI activity records (nanoseconds of CLOCK_REALTIME), converted to the clock of the session.
class cupti_kernels final : public detail::made_collector {
 public:
  /// @brief Creates a collector; `start` opens CUPTI.
  /// @param options what to record.
  explicit cupti_kernels(kernel_options const& options = {}) : made_collector{detail::collect_kernels(options)} {}
};

/// @brief Collects migrations and page faults of unified (managed) memory, and charges them to the kernels that run meanwhile, or to the
/// innermost scope of the step thread.
///
///     session.collect(profkit::cupti_kernels());
///     session.collect(profkit::unified_memory());
///
/// Add it after `cupti_kernels`, whose buffers it uses. `PROFKIT=unified_memory` adds it to each `cupti_kernels`. Off by default: the
/// counters make a kernel that faults, and a host that faults, about twice as slow. Does not synchronise the device. Bytes are a lower
/// bound. Source: CUPTI, `CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER`. Method: docs/memory.md.
class unified_memory final : public detail::made_collector {
 public:
  /// @brief Creates a collector; `start` enables the counters.
  unified_memory() : made_collector{detail::collect_unified_memory()} {}
};

}  // namespace PROFKIT_NAMESPACE
