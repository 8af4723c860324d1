// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "time.hpp"

namespace profkit {

/// @brief A function found by host samples. Entries of a profile differ in name, module or caller.
struct function_record {
  std::string name;        ///< qualified, without parameters, such as "layer::exp_loop"; empty if unknown
  std::string module;      ///< file name of the program or library, such as "libc.so.6"; empty if no module contains the address
  std::string caller;      ///< name of the nearest known caller; empty if `name` is known, or if no caller is known
  std::string file{};      ///< source file in which the function begins, as it was passed to the compiler; empty if unknown
  std::uint32_t line = 0;  ///< line in `file`, from 1; 0 if unknown
};

/// @brief One host sample: a thread executed user code of a function.
struct sample_record {
  timestamp time;              ///< when the sample was taken
  std::uint32_t path = 0;      ///< position in `profile::paths` of the innermost open scope; `path_record::no_parent` if none was open
  std::uint32_t function = 0;  ///< position in `profile::functions`
  std::uint32_t thread = 0;    ///< position in `profile::threads`
  std::uint32_t weight = 0;    ///< processor time that the sample represents, in nanoseconds
};

/// @brief How host samples were taken.
struct sampling_record {
  std::string mechanism;                ///< such as "perf_event_open, task clock"
  std::chrono::nanoseconds interval{};  ///< requested mean processor time between two samples of a thread
  std::uint64_t lost = 0;               ///< number of samples that did not fit into the ring of their thread
  std::uint64_t threads = 0;            ///< number of threads that were sampled
  std::uint64_t threads_without = 0;    ///< number of threads that could not be sampled
  std::string why_without;              ///< why these threads could not be sampled; empty if there are none
  std::string why_no_lines{};           ///< why functions have no source lines; empty if they can have
};

}  // namespace profkit
