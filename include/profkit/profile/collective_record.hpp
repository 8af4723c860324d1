// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "time.hpp"

namespace profkit {

/// @brief A group of ranks that communicate.
struct communicator_record {
  std::uint64_t id = 0;    ///< equal on all its ranks
  std::string name{};      ///< name given by the program; empty if there is none
  std::uint32_t rank = 0;  ///< rank of this process in the group
  std::uint32_t size = 0;  ///< number of its ranks; 0: unknown
};

/// @brief One operation of a communicator on this rank. On all ranks, the same communicator id, function and sequence number identify it.
///
/// On the device, the time of a collective of NCCL is the time of the kernels with its correlation number. Several collectives may share a
/// kernel. Sends and receives have no sequence number.
struct collective_record {
  interval time;                   ///< on the host: the time of its scope; for NCCL, both ends are the moment before the kernel's launch
  std::uint64_t sequence = 0;      ///< from 0, counted by communicator and function
  std::uint64_t bytes = 0;         ///< size of the rank's data; 0: unknown
  std::uint64_t correlation = 0;   ///< correlation of the `api_call_record` that launched its kernel; 0: none, or unknown
  std::uint32_t communicator = 0;  ///< position in `profile::communicators`
  std::uint32_t function = 0;      ///< position in `profile::collective_words`: such as "AllReduce"
  std::uint32_t datatype = 0;      ///< position in `profile::collective_words`; an empty word is n/a, here and below
  std::uint32_t algorithm = 0;     ///< position in `profile::collective_words`: such as "RING"
  std::uint32_t protocol = 0;      ///< position in `profile::collective_words`: such as "LL128"
  std::uint32_t path = 0;          ///< position in `profile::paths` of the innermost scope; `path_record::no_parent` if none
  std::uint32_t thread = 0;        ///< position in `profile::threads`
  bool is_captured = false;        ///< issued during the capture of a CUDA graph: it runs in each replay
};

}  // namespace profkit
