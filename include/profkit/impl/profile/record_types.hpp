// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "../../time.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief The direction of a copy. A CUDA array is device memory with a layout for textures. Values as in CUPTI's
/// `CUpti_ActivityMemcpyKind`.
enum class copy_direction : std::uint8_t {
  unknown = 0,           ///< also for operations that are not copies
  host_to_device = 1,    ///< from host memory to device memory
  device_to_host = 2,    ///< from device memory to host memory
  host_to_array = 3,     ///< from host memory to a CUDA array
  array_to_host = 4,     ///< from a CUDA array to host memory
  array_to_array = 5,    ///< between CUDA arrays
  array_to_device = 6,   ///< from a CUDA array to device memory
  device_to_array = 7,   ///< from device memory to a CUDA array
  device_to_device = 8,  ///< within the memory of one device
  host_to_host = 9,      ///< within host memory
  peer_to_peer = 10,     ///< between the memories of two devices
};
inline constexpr std::size_t copy_directions = 11;  ///< number of values of `copy_direction`

namespace detail {

/// The names that Nsight Systems gives to copies, by direction.
inline constexpr std::array<char const*, copy_directions> copy_names{
    "[CUDA memcpy Unknown]",          "[CUDA memcpy Host-to-Device]", "[CUDA memcpy Device-to-Host]",  "[CUDA memcpy Host-to-Array]",
    "[CUDA memcpy Array-to-Host]",    "[CUDA memcpy Array-to-Array]", "[CUDA memcpy Array-to-Device]", "[CUDA memcpy Device-to-Array]",
    "[CUDA memcpy Device-to-Device]", "[CUDA memcpy Host-to-Host]",   "[CUDA memcpy Peer-to-Peer]"};

/// Whether the source or the destination is in host memory.
inline bool is_host_copy(copy_direction direction) {
  switch (direction) {
    case copy_direction::host_to_device:
    case copy_direction::device_to_host:
    case copy_direction::host_to_array:
    case copy_direction::array_to_host:
    case copy_direction::host_to_host:
      return true;
    default:
      return false;
  }
}

}  // namespace detail

/// @brief Units of a device whose utilization is measured. Values are shares of time or of a maximum rate; the last four are rates.
enum class device_unit : std::uint8_t {
  busy = 0,             ///< share of the time in which a kernel ran
  sm_active = 1,        ///< share of the SMs that had work, averaged over the time
  sm_occupancy = 2,     ///< active warps, as a share of the maximum
  tensor = 3,           ///< share of the time in which the tensor pipes were active, averaged over the SMs, like the next values
  tensor_fp64 = 4,      ///< DFMA: fp64 on tensor pipes
  tensor_float = 5,     ///< HMMA: fp16, bf16, tf32 and fp8 on tensor pipes
  tensor_integer = 6,   ///< IMMA: integers on tensor pipes
  fp64 = 7,             ///< fp64 outside tensor pipes
  fp32 = 8,             ///< fp32 outside tensor pipes
  fp16 = 9,             ///< fp16 outside tensor pipes
  integer = 10,         ///< integers outside tensor pipes
  dram = 11,            ///< share of the maximum bandwidth of the device memory
  memory_active = 12,   ///< share of the time in which the device memory was read or written, at any rate
  nvlink_receive = 13,  ///< rate of bytes to the device, over all links
  nvlink_send = 14,     ///< the same from the device
  pcie_receive = 15,    ///< rate of bytes to the device
  pcie_send = 16,       ///< rate of bytes from the device
};

/// @brief Number of values of `device_unit`.
inline constexpr std::size_t device_units = 17;

/// @brief Whether the values of a unit are rates and not shares.
[[nodiscard]] constexpr bool is_rate(device_unit unit) noexcept { return unit >= device_unit::nvlink_receive; }

/// @brief The mean utilization of the units of a device over a stretch of time, a window. Source: NVML.
struct device_utilization_record {
  interval time;            ///< the window
  std::uint64_t step = 0;   ///< `step_record::index` of the step in which the window ended
  std::int32_t device = 0;  ///< number in the process
  /// @brief By `device_unit`: a share in units of 0.001 %, or a rate in KiB/s; n/a if the device does not report it.
  std::array<std::optional<std::uint32_t>, device_units> values{};
};

/// @brief The position of the process in a run of several processes, as its launcher set it: see `process_rank`.
struct rank_record {
  std::uint32_t rank = 0;                     ///< smaller than `size`
  std::uint32_t size = 1;                     ///< number of processes of the run
  std::optional<std::uint32_t> local_rank{};  ///< number of the process on its host; n/a if the launcher does not provide it
  std::uint32_t restart = 0;                  ///< how often the launcher has restarted the run
  std::string launcher{};                     ///< such as "torchrun", "Open MPI", "Slurm"
};

/// @brief The steps whose records a session keeps, for traces and for `report::profile()`. The figures always cover all steps.
struct kept_steps {
  /// @brief Ways to choose the kept steps.
  enum choice_of_steps : std::uint8_t {
    all = 0,      ///< `keep=all`: all steps within the record budget (`options::max_records`)
    last = 1,     ///< `keep=last:N`: the last `count` steps
    slowest = 2,  ///< `keep=slowest:K`: the `count` slowest measured steps
  };

  choice_of_steps choice = all;  ///< which steps
  std::uint64_t count = 0;       ///< number of steps; unused with `all`
};

namespace detail {

/// "rank 3 (node17)"; "rank 3" if the host is unknown.
[[nodiscard]] inline std::string rank_name(std::uint32_t rank, std::string const& host) {
  return "rank " + std::to_string(rank) + (host.empty() ? std::string{} : " (" + host + ")");
}

}  // namespace detail

}  // namespace PROFKIT_NAMESPACE
