// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "time.hpp"

namespace profkit {

/// @brief A function that host samples found. Entries of a profile differ in at least one member.
struct function_record {
  std::string name;    ///< qualified, without parameters, such as "layer::exp_loop"; empty if unknown
  std::string module;  ///< file name of the program or library, such as "libc.so.6"; empty if no module contains the address
  std::string caller;  ///< name of the nearest known caller; empty if `name` is known, or if no caller is known
};

/// @brief One host sample: a thread executed user code of a function.
struct sample_record {
  timestamp time;
  std::uint32_t path = 0;      ///< position in `profile::paths` of the innermost open scope; `path_record::no_parent` if none was open
  std::uint32_t function = 0;  ///< position in `profile::functions`
  std::uint32_t thread = 0;    ///< position in `profile::threads`
  std::uint32_t weight = 0;    ///< processor time that it stands for, in nanoseconds
};

/// @brief How host samples were taken.
struct sampling_record {
  std::string mechanism;                ///< such as "perf_event_open, task clock"
  std::chrono::nanoseconds interval{};  ///< requested mean processor time between two samples of a thread
  std::uint64_t lost = 0;               ///< samples that did not fit into the ring of their thread
  std::uint64_t threads = 0;            ///< number of threads that were sampled
  std::uint64_t threads_without = 0;    ///< number of threads that could not be sampled
  std::string why_without;              ///< why not; empty if all could
};

}  // namespace profkit
