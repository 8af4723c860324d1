// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../../profile/time.hpp"

namespace profkit {

/// @brief A share of a time as host samples estimate it, with its 95 % interval (Wilson's score interval for binomial counts).
struct sampled_share {
  double share = 0.0;      ///< estimated fraction, 0 to 1
  double ci95_low = 0.0;   ///< lower end of the interval
  double ci95_high = 0.0;  ///< upper end of the interval
};

/// @brief The samples of one function, in one scope or in all.
struct sampled_function_summary {
  std::string name;           ///< as `function_record::name`
  std::string module;         ///< file name of the program or library; empty if unknown
  std::string caller;         ///< nearest known caller, for a function without a name
  std::string file{};         ///< source file in which it begins, as the compiler was given it; empty if unknown
  std::uint32_t line = 0;     ///< line there, from 1; 0 if unknown
  std::uint64_t samples = 0;  ///< number of samples
  milliseconds time{};        ///< processor time that they stand for
  sampled_share of{};         ///< share of the time of the scope; of all sampled time in `host_samples_summary::functions`
};

/// @brief Calls in which a scope waited for a device. The clock measures them, so there is no interval.
struct sampled_wait_summary {
  std::string name;         ///< such as "cudaStreamSynchronize"
  std::uint64_t calls = 0;  ///< number of calls
  milliseconds time{};      ///< time in them, also that in which they poll the device
  double share = 0.0;       ///< of the self time of the scope
};

/// @brief The samples of one scope, without those of scopes inside it.
struct sampled_scope_summary {
  std::string path;                                 ///< such as "step/forward"; empty for code outside any scope
  std::optional<std::size_t> scope{};               ///< position in `summary::scopes`; n/a outside any scope, or without a row there
  std::uint64_t samples = 0;                        ///< number of samples
  milliseconds sampled{};                           ///< processor time outside the kernel that they stand for
  std::optional<milliseconds> self{};               ///< self time of the scope; n/a without a row in `summary::scopes`
  std::optional<sampled_share> waiting{};           ///< share of `self` that was not sampled: waiting, or in the kernel
  std::vector<sampled_wait_summary> waits{};        ///< parts of `waiting` with a name, longest first; none without API calls
  std::vector<sampled_function_summary> functions;  ///< by time, longest first; at most 32
  std::uint64_t other_functions = 0;                ///< number of further functions
  milliseconds other_time{};                        ///< processor time of the samples of those
};

/// @brief Host samples in the measured steps, or in the whole session if there was no step.
struct host_samples_summary {
  std::string mechanism;                            ///< such as "perf_event_open, task clock"
  std::chrono::nanoseconds interval{};              ///< requested mean processor time between two samples of a thread
  std::uint64_t samples = 0;                        ///< number of samples
  milliseconds sampled{};                           ///< processor time outside the kernel that they stand for
  std::uint64_t lost = 0;                           ///< samples that were lost, in the whole session
  std::uint64_t threads = 0;                        ///< number of sampled threads, in the whole session
  std::uint64_t threads_without = 0;                ///< number of threads that could not be sampled
  std::string why_without;                          ///< why not; empty if all could
  std::string why_no_lines{};                       ///< why functions have no source lines; empty if they can have
  std::vector<sampled_scope_summary> scopes;        ///< by `self`, or without it by `sampled`, longest first
  std::vector<sampled_function_summary> functions;  ///< of all scopes, by time, longest first; at most 32
};

}  // namespace profkit
