// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace profkit {

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

}  // namespace profkit
