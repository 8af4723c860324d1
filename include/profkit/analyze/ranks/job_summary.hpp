// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../../profile/time.hpp"

namespace profkit {

/// @brief One rank of a job. Times are means per step over the measured steps that all ranks have in common.
struct job_rank_summary {
  std::uint32_t rank = 0;            ///< rank number in the job, from 0
  std::string name;                  ///< "rank 3 (node17)"
  std::string host;                  ///< host name of its machine
  std::string gpu;                   ///< `environment_record::gpu`
  std::uint64_t measured_steps = 0;  ///< of the whole run
  milliseconds step{};               ///< from the first GPU operation of a step to that of the next; without GPU work on the host
  milliseconds compute{};            ///< union of the GPU operations that are not collectives
  milliseconds communication{};      ///< union of the collectives
  milliseconds exposed_transfer{};   ///< communication with nothing beside it, after the last rank arrived
  std::optional<milliseconds> exposed_waiting;  ///< the same before the last rank arrived; n/a like `waiting`
  milliseconds idle{};                          ///< the rest of `step`
  /// Sum over the collectives: latest start of all ranks minus its own. Waits below the clocks' bound are left out; n/a if all are.
  std::optional<milliseconds> waiting;
  milliseconds transfer{};           ///< sum over the collectives: the rest of their time
  milliseconds imposed{};            ///< mean waiting of the other ranks where it started last
  milliseconds imposed_exposed{};    ///< the part of `imposed` with nothing beside it
  std::optional<double> last_share;  ///< share of the collectives where it started last by more than the clocks' bound
  milliseconds host_step{};          ///< mean
  milliseconds host_pace{};          ///< lower quartile of its host steps
  /// Mean time per step in which the step thread was runnable without a processor; n/a without scheduler statistics.
  std::optional<milliseconds> processor_wait;
  milliseconds clock_offset{};  ///< removed from its times in the middle of the run
  double clock_drift = 0.0;     ///< removed from its times: seconds per second
};

/// @brief All collectives with one scope, function, kind and size.
struct job_collective_summary {
  std::string path;                     ///< such as "step/backward"
  std::string function;                 ///< such as "AllReduce"
  std::string datatype;                 ///< such as "f32"; empty if unknown
  std::string algorithm;                ///< such as "RING"; empty if unknown
  std::string protocol;                 ///< such as "LL"; empty if unknown
  std::uint64_t bytes = 0;              ///< 0: unknown
  std::uint64_t ranks = 0;              ///< of its communicator
  double per_step = 0.0;                ///< number in one step of a rank
  milliseconds transfer{};              ///< mean of one
  std::optional<milliseconds> waiting;  ///< mean of one; n/a below the clocks' bound
  milliseconds exposed{};               ///< mean per step and rank
  /// @brief Bytes per second; n/a if the size, the factor of the function or the time of transfer is unknown.
  std::optional<double> bus_bandwidth;
  /// `bus_bandwidth` over that of the link between the GPUs of a host; n/a if the GPUs differ or their link is unknown, on several hosts,
  /// and for NVLS, where the switch adds up and less crosses the links.
  std::optional<double> link_share;
  std::optional<std::uint32_t> last;  ///< the rank that started last most often; n/a if the clocks cannot tell
};

/// @brief The rank that holds the others up, or several, and why.
struct straggler_summary {
  std::size_t rank = 0;           ///< position in `job_summary::ranks`; the one that does most
  std::vector<std::size_t> also;  ///< positions of the other ranks with at least half of its excess in that scope
  bool is_whole_host = false;     ///< these are all ranks of one of several hosts
  std::string path;               ///< the scope with the largest excess; "": code outside any scope
  bool is_gpu_time = false;       ///< the excess is GPU time; false: its GPU waited for the host in this scope
  bool is_host_only = false;      ///< collectives on the host: the excess is host time
  milliseconds excess{};          ///< per step, above the median of the others
  milliseconds own{};             ///< per step
  milliseconds others{};          ///< median of the others
};

/// @brief A rank whose host is slow, whether that costs something or not.
struct slow_host_summary {
  std::size_t rank = 0;         ///< position in `job_summary::ranks`
  milliseconds pace{};          ///< lower quartile of its host steps
  milliseconds others{};        ///< median pace of the others
  std::string stage;            ///< child of the step with the largest excess
  milliseconds stage_time{};    ///< host time of `stage` per step on this rank
  milliseconds stage_others{};  ///< the same: median of the others
};

/// @brief A rank for which the others waited long in the warm-up.
struct startup_wait_summary {
  std::size_t rank = 0;    ///< position in `job_summary::ranks`
  std::uint64_t step = 0;  ///< `step_record::index` of the warm-up step
  milliseconds waiting{};  ///< mean waiting of the other ranks in that step
};

/// @brief A scope that takes another time on one rank.
struct scope_difference_summary {
  std::string path;          ///< such as "step/forward"
  std::size_t rank = 0;      ///< position in `job_summary::ranks`
  bool is_gpu_time = false;  ///< GPU time of its operations, mean; false: host time, lower quartile
  milliseconds own{};        ///< per step; 0: the rank has no such scope
  milliseconds others{};     ///< per step, median of all ranks; 0: they have no such scope
};

/// @brief A function in the own time of a scope, by the host samples of all ranks that have some.
struct job_function_summary {
  std::string path;           ///< of the scope; empty: outside any scope
  std::string name;           ///< as `sampled_function_summary::name`
  std::string module;         ///< as `sampled_function_summary::module`
  std::string caller;         ///< as `sampled_function_summary::caller`
  std::string file{};         ///< as `sampled_function_summary::file`, on the first rank that knows it
  std::uint32_t line = 0;     ///< as `sampled_function_summary::line`
  std::uint64_t samples = 0;  ///< of all ranks
  milliseconds time{};        ///< processor time per step, mean of the sampled ranks
  std::size_t rank = 0;       ///< where it takes longest: position in `job_summary::ranks`
  milliseconds own{};         ///< per step on that rank
  milliseconds others{};      ///< per step, median of the other sampled ranks
  bool is_different = false;  ///< `own` is over 25 % and 1 % of the step longer than `others`, and sampling does not explain that
};

/// @brief A stretch of a step, since its beginning on the first rank.
struct job_span {
  milliseconds begin{};  ///< since the beginning of the step on the first rank
  milliseconds end{};    ///< since the beginning of the step on the first rank
};

/// @brief A collective of one rank in a step.
struct job_span_of_collective {
  std::string function;    ///< such as "AllReduce"
  job_span time;           ///< on the clock that all ranks share
  milliseconds waiting{};  ///< until the last rank started
};

/// @brief What one rank did in a step.
struct job_step_rank {
  std::size_t rank = 0;                             ///< position in `job_summary::ranks`
  std::vector<job_span> computing;                  ///< neighbours are joined if there are many
  std::vector<job_span_of_collective> collectives;  ///< in order of time
};

/// @brief The step nearest to the median, on at most eight ranks.
struct job_step_summary {
  std::uint64_t step = 0;            ///< `step_record::index`
  std::vector<job_step_rank> ranks;  ///< in order
};

/// @brief How well the clocks of the ranks agree.
struct job_clock_summary {
  bool has_many_hosts = false;     ///< so drift was removed, too
  bool is_one_clock = false;       ///< all times are those of the clock of one machine, so nothing was removed
  std::uint64_t collectives = 0;   ///< whose ends were compared; 0: the clocks are used as they are
  milliseconds residual_median{};  ///< distance of a rank's end of a collective from the mean of all
  milliseconds residual_p95{};     ///< 95 % quantile of the same distance
  milliseconds bound{};            ///< smaller waits are n/a
};

/// @brief A part of a whole.
struct job_part {
  std::string name;     ///< such as "compute", or the path of a stage
  milliseconds time{};  ///< per step
};

/// @brief A value of each rank in each step.
struct job_map {
  std::vector<std::uint64_t> steps;                        ///< `step_record::index`
  std::vector<bool> is_measured;                           ///< by step
  std::vector<std::vector<std::optional<double>>> values;  ///< by rank and step, in ms
};

/// @brief The figures of a job of many ranks.
struct job_summary {
  std::string program;                              ///< first word of its command line
  std::uint64_t ranks_expected = 0;                 ///< the largest size of the job that a rank recorded; at least the highest rank plus 1
  std::vector<job_rank_summary> ranks;              ///< by rank number
  std::uint64_t steps = 0;                          ///< number of compared measured steps: those with a next step, which is their end
  std::uint64_t measured_steps = 0;                 ///< number of measured steps in common
  std::uint64_t warmup_steps = 0;                   ///< number of compared warm-up steps
  milliseconds step{};                              ///< mean over the ranks
  std::vector<job_part> budget;                     ///< parts of `step`: compute, exposed transfer, exposed waiting, idle
  std::vector<job_part> frontier;                   ///< parts of the longest host step: what each stage adds
  std::vector<job_collective_summary> collectives;  ///< by exposed time
  std::optional<straggler_summary> straggler;       ///< n/a: no rank holds the others up
  std::optional<slow_host_summary> slow_host;       ///< n/a: no host is slower than the others
  std::optional<startup_wait_summary> startup;      ///< n/a: no long wait in the warm-up
  std::vector<scope_difference_summary> differing_scopes;  ///< by difference
  std::vector<job_function_summary> functions;             ///< by time, at most 64; empty without host samples
  std::uint64_t sampled_ranks = 0;                         ///< number of ranks with host samples
  std::optional<job_step_summary> one_step;                ///< n/a without a step that all ranks kept
  job_clock_summary clocks;                                ///< how the clocks of the ranks were aligned
  job_map held;                                            ///< imposed waits
  job_map host_steps;                                      ///< host time of the steps
  std::uint64_t matched = 0;                               ///< collectives that all their ranks have
  std::uint64_t incomplete = 0;                            ///< collectives that a rank lacks
  std::uint64_t contradictory = 0;                         ///< collectives with other sizes or types on another rank
  std::uint64_t unknown = 0;                               ///< kernels of NCCL without a collective, which are not compared
  std::uint64_t unknown_in_graphs = 0;                     ///< the part of them that ran in CUDA graphs
  std::vector<std::string> problems;                       ///< ranks that are missing, damaged or different
  std::vector<std::string> differences;                    ///< of machines, versions, clocks, power, temperature
};

}  // namespace profkit
