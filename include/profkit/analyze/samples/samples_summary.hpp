// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "../../profile/own_memory.hpp"
#include "../../profile/time.hpp"

namespace profkit {

/// @brief A share of a time, estimated from host samples, with its 95 % interval (Wilson's score interval for binomial counts).
struct sampled_share {
  double share = 0.0;      ///< estimated fraction, 0 to 1
  double ci95_low = 0.0;   ///< lower end of the interval
  double ci95_high = 0.0;  ///< upper end of the interval
};

/// @brief The samples of one function, in one scope or in all.
struct sampled_function_summary {
  std::string name;                ///< as `function_record::name`
  std::string module;              ///< file name of the program or library; empty if unknown
  std::string caller;              ///< nearest known caller, for a function without a name
  std::string file{};              ///< source file in which it begins, as it was passed to the compiler; empty if unknown
  std::uint32_t line = 0;          ///< line in `file`, from 1; 0 if unknown
  std::uint64_t samples = 0;       ///< number of samples
  milliseconds time{};             ///< processor time that the samples represent
  sampled_share share_of_scope{};  ///< share of the time of the scope; of all sampled time in `host_samples_summary::functions`
};

/// @brief Calls in which a scope waited for a device. Their time is measured, not sampled, so it has no interval.
struct sampled_wait_summary {
  std::string name;         ///< such as "cuStreamSynchronize"
  std::uint64_t calls = 0;  ///< number of calls
  milliseconds time{};      ///< sum of their durations, including the time in which they poll the device
  double share = 0.0;       ///< share of the self time of the scope
};

/// @brief The samples of one scope, without the samples of scopes inside it.
struct sampled_scope_summary {
  std::string path;                                        ///< such as "step/forward"; empty for code outside any scope
  std::optional<std::size_t> scope{};                      ///< position in `summary::scopes`; n/a outside any scope, or without a row there
  std::uint64_t samples = 0;                               ///< number of samples
  milliseconds sampled{};                                  ///< processor time outside the kernel that the samples represent
  std::optional<milliseconds> self{};                      ///< self time of the scope; n/a without a row in `summary::scopes`
  std::optional<sampled_share> waiting{};                  ///< share of `self` without samples: the thread waited, or was in the kernel
  detail::own_vector<sampled_wait_summary> waits{};        ///< known parts of `waiting`, longest first; empty without API calls
  detail::own_vector<sampled_function_summary> functions;  ///< by time, longest first; at most 32
  std::uint64_t other_functions = 0;                       ///< number of further functions
  milliseconds other_time{};                               ///< processor time in further functions
};

/// @brief Host samples in the measured steps, or in the whole session if there was no step.
struct host_samples_summary {
  std::string mechanism;                                   ///< such as "perf_event_open, task clock"
  std::chrono::nanoseconds interval{};                     ///< requested mean processor time between two samples of a thread
  std::uint64_t samples = 0;                               ///< number of samples
  milliseconds sampled{};                                  ///< processor time outside the kernel that the samples represent
  std::uint64_t lost = 0;                                  ///< number of lost samples, in the whole session
  std::uint64_t threads = 0;                               ///< number of sampled threads, in the whole session
  std::uint64_t threads_without = 0;                       ///< number of threads that could not be sampled
  std::string why_without;                                 ///< why these threads could not be sampled; empty if there are none
  std::string why_no_lines{};                              ///< why functions have no source lines; empty if they can have
  detail::own_vector<sampled_scope_summary> scopes;        ///< by `self`, or without it by `sampled`, longest first
  detail::own_vector<sampled_function_summary> functions;  ///< functions of all scopes, by time, longest first; at most 32
};

}  // namespace profkit
