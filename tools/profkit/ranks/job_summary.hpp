// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/time.hpp>
#include <string>

namespace PROFKIT_NAMESPACE {

/// @brief One rank of a job. Times are means per step over the measured steps that all ranks have in common.
struct job_rank_summary {
  std::uint32_t rank = 0;            ///< rank number in the job, from 0
  std::string name;                  ///< "rank 3 (node17)"
  std::string host;                  ///< host name of its machine
  std::string gpu;                   ///< `environment_record::gpu`
  std::uint64_t measured_steps = 0;  ///< number of measured steps of the whole run
  milliseconds step{};           ///< from the first GPU operation of a step to the first one of the next step; without GPU work: host time
  milliseconds compute{};        ///< length of the union of the GPU operations that are not collectives
  milliseconds communication{};  ///< length of the union of the collectives
  milliseconds exposed_transfer{};              ///< communication without other GPU work, after the last rank arrived
  std::optional<milliseconds> exposed_waiting;  ///< the same before the last rank arrived; n/a like `waiting`
  milliseconds idle{};                          ///< the rest of `step`
  /// @brief Sum over the collectives: latest start of all ranks minus its own start. Waits below the clocks' bound count as transfer; n/a
  /// if all are.
  std::optional<milliseconds> waiting;
  milliseconds transfer{};  ///< sum over the collectives: their time minus the waiting
  /// @brief Mean waiting of the other ranks in collectives that its own work caused: it came last, or a rank that had waited for it. Waits
  /// of a rank at the same time count once.
  milliseconds imposed{};
  milliseconds imposed_exposed{};    ///< part of `imposed` in which the waiting GPUs had no other work
  std::optional<double> last_share;  ///< share of the collectives where it started last by more than the clocks' bound
  milliseconds host_step{};          ///< mean host time of its steps
  milliseconds host_pace{};          ///< lower quartile of its host steps
  /// @brief Mean time per step in which the step thread was runnable but not running; n/a without scheduler statistics.
  std::optional<milliseconds> processor_wait;
  milliseconds clock_offset{};  ///< subtracted from its times, in the middle of the run
  double clock_drift = 0.0;     ///< clock drift subtracted from its times: seconds per second
};

/// @brief All collectives with one scope, function, kind and size.
struct job_collective_summary {
  std::string path;                     ///< such as "step/backward"
  std::string function;                 ///< such as "AllReduce"
  std::string datatype;                 ///< such as "f32"; empty if unknown
  std::string algorithm;                ///< such as "RING"; empty if unknown
  std::string protocol;                 ///< such as "LL"; empty if unknown
  std::uint64_t bytes = 0;              ///< 0: unknown
  std::uint64_t ranks = 0;              ///< number of ranks of its communicator
  double per_step = 0.0;                ///< number of collectives in one step of a rank
  milliseconds transfer{};              ///< mean over the collectives
  std::optional<milliseconds> waiting;  ///< mean over the collectives; n/a below the clocks' bound
  milliseconds exposed{};               ///< mean per step and rank, without other GPU work
  /// @brief Bytes per second; n/a if the size, the factor of the function or the time of transfer is unknown.
  std::optional<double> bus_bandwidth;
  /// @brief `bus_bandwidth` divided by the bandwidth of the link between the GPUs of a host. n/a if the GPUs differ, if their link is
  /// unknown, and on several hosts. Also n/a for NVLS, where the switch reduces the data and less data crosses the links.
  std::optional<double> link_share;
  std::optional<std::uint32_t> last;  ///< the rank that started last most often; n/a if the clocks are not accurate enough
};

/// @brief The waits of one rank for messages of another one, in one scope.
struct job_message_summary {
  std::string path;             ///< the scope of the wait, such as "step/halo/MPI_Waitall"
  std::size_t rank = 0;         ///< the rank that waits: position in `job_summary::ranks`
  std::size_t partner = 0;      ///< the late rank: position in `job_summary::ranks`
  bool is_late_sender = false;  ///< the partner sends; false: it receives
  double per_step = 0.0;        ///< number of messages with a wait
  milliseconds waiting{};       ///< per step; simultaneous waits count once
};

/// @brief The rank, or the ranks, for which the others wait, and the reason.
struct straggler_summary {
  std::size_t rank = 0;                  ///< position in `job_summary::ranks`; the rank that imposes the longest waits
  detail::own_vector<std::size_t> also;  ///< positions of the other ranks with at least half of its excess in that scope
  bool is_whole_host = false;            ///< all these ranks, and no others, are on one of several hosts
  std::string path;                      ///< the scope with the largest excess; "": code outside any scope
  bool is_gpu_time = false;              ///< the excess is GPU time; false: its GPU waited for the host in this scope
  bool is_host_only = false;             ///< collectives on the host: the excess is host time
  milliseconds delay{};                  ///< per step: `excess`, but at most `imposed`, or on the host the excess in all scopes
  milliseconds delay_low{};              ///< 95 % interval of `delay`
  milliseconds delay_high{};             ///< 95 % interval of `delay`
  milliseconds excess{};                 ///< per step, above the median of the other ranks
  milliseconds excess_low{};             ///< 95 % interval of `excess`
  milliseconds excess_high{};            ///< 95 % interval of `excess`
  std::uint64_t steps = 0;               ///< number of compared steps with the delay; 0: it is in all steps
  milliseconds own{};                    ///< time in the scope per step on this rank
  milliseconds others{};                 ///< the same, median of the other ranks
  milliseconds imposed{};                ///< per step: mean waiting of the other ranks that the work of these ranks caused
  milliseconds imposed_exposed{};        ///< part of `imposed` in which the waiting GPUs had no other work
  std::optional<double> last_share;      ///< share of their collectives that one of these ranks started last
};

/// @brief A rank whose host takes longer than the others in each step, but not by more than hosts differ between runs of a program.
struct unproven_host_summary {
  std::size_t rank = 0;   ///< position in `job_summary::ranks`
  milliseconds excess{};  ///< per step, above the median of the other ranks
};

/// @brief A rank whose host is slow, whether or not the others wait for it.
struct slow_host_summary {
  std::size_t rank = 0;         ///< position in `job_summary::ranks`
  milliseconds pace{};          ///< lower quartile of its host steps
  milliseconds others{};        ///< the same, median of the other ranks
  std::string stage;            ///< child of the step with the largest excess
  milliseconds stage_time{};    ///< host time of `stage` per step on this rank
  milliseconds stage_others{};  ///< the same, median of the other ranks
};

/// @brief A rank for which the others waited long during warm-up.
struct startup_wait_summary {
  std::size_t rank = 0;    ///< position in `job_summary::ranks`
  std::uint64_t step = 0;  ///< `step_record::index` of the warm-up step
  milliseconds waiting{};  ///< mean waiting of the other ranks in that step
};

/// @brief A scope whose time on one rank differs from the other ranks.
struct scope_difference_summary {
  std::string path;          ///< such as "step/forward"
  std::size_t rank = 0;      ///< position in `job_summary::ranks`
  bool is_gpu_time = false;  ///< mean GPU time of its operations; false: lower quartile of its host time
  milliseconds own{};        ///< per step; 0: the rank has no such scope
  milliseconds others{};     ///< per step, median of all ranks; 0: they have no such scope
};

/// @brief A function in the self time of a scope, from the host samples of all sampled ranks.
struct job_function_summary {
  std::string path;           ///< path of the scope; empty: outside any scope
  std::string name;           ///< as `sampled_function_summary::name`
  std::string module;         ///< as `sampled_function_summary::module`
  std::string caller;         ///< as `sampled_function_summary::caller`
  std::string file{};         ///< as `sampled_function_summary::file`, on the first rank that knows it
  std::uint32_t line = 0;     ///< as `sampled_function_summary::line`
  std::uint64_t samples = 0;  ///< number of samples on all ranks
  milliseconds time{};        ///< processor time per step, mean over the sampled ranks
  std::size_t rank = 0;       ///< the rank with the longest time: position in `job_summary::ranks`
  milliseconds own{};         ///< per step on that rank
  milliseconds others{};      ///< per step, median of the other sampled ranks
  bool is_different = false;  ///< `own` exceeds `others` by over 25 % and 1 % of the step, and by more than sampling noise
};

/// @brief A stretch of a step.
struct job_span {
  milliseconds begin{};  ///< since the beginning of the step on the first rank
  milliseconds end{};    ///< since the beginning of the step on the first rank
};

/// @brief A collective of one rank in a step.
struct job_span_of_collective {
  std::string function;    ///< such as "AllReduce"
  job_span time;           ///< on the common clock of all ranks
  milliseconds waiting{};  ///< until the last rank started
};

/// @brief The activity of one rank in a step.
struct job_step_rank {
  std::size_t rank = 0;                                    ///< position in `job_summary::ranks`
  detail::own_vector<job_span> computing;                  ///< neighbours are joined if there are many
  detail::own_vector<job_span_of_collective> collectives;  ///< in order of time
};

/// @brief The step nearest to the median, on at most eight ranks.
struct job_step_summary {
  std::uint64_t step = 0;                   ///< `step_record::index`
  detail::own_vector<job_step_rank> ranks;  ///< by rank number
};

/// @brief How well the clocks of the ranks agree.
struct job_clock_summary {
  bool has_many_hosts = false;     ///< clock drift was estimated and removed too
  bool is_one_clock = false;       ///< all times are from the clock of one machine, so no correction was made
  bool is_by_machine = false;      ///< one correction for all ranks of a machine, because collectives were matched by their order
  std::uint64_t collectives = 0;   ///< number of collectives whose ends were compared; 0: the clocks are not corrected
  milliseconds residual_median{};  ///< median distance of a rank's end of a collective from the mean of all ranks
  milliseconds residual_p95{};     ///< 95 % quantile of the same distance
  milliseconds bound{};            ///< waits below this are n/a
};

/// @brief The name of the time of the host outside collectives and messages, in jobs without GPU work. It includes waits that are not
/// declared.
inline constexpr char const* outside_communication = "outside communication";

/// @brief A part of a whole.
struct job_part {
  std::string name;     ///< such as "compute", or the path of a stage
  milliseconds time{};  ///< per step
};

/// @brief A part of the critical path: see `detail::critical_path`. Without it, a step can be at most `time` shorter.
struct job_path_part {
  std::string kind;                    ///< "GPU", "host", "transfer", "not recorded", or "rest" for all smaller parts
  std::optional<std::size_t> rank;     ///< position in `job_summary::ranks`; n/a for transfers and the rest
  std::string path;                    ///< the scope, "" for code outside any scope; the function of a transfer
  milliseconds time{};                 ///< per step, mean of the compared steps
  std::optional<milliseconds> median;  ///< per step, median of the compared steps; n/a for the rest
};

/// @brief A value of each rank in each step.
struct job_map {
  detail::own_vector<std::uint64_t> steps;                               ///< `step_record::index`
  detail::own_vector<bool> is_measured;                                  ///< by step
  detail::own_vector<detail::own_vector<std::optional<double>>> values;  ///< by rank and step, in ms
};

/// @brief Minimum number of compared steps for naming a rank for which the others wait.
inline constexpr std::uint64_t min_steps_for_straggler = 5;

/// @brief A wait for a rank costs the others something if it is at least this many times as long as the clocks' bound.
inline constexpr double min_clock_bounds = 3.0;

/// @brief And at least this many times as long as the waits for other ranks.
inline constexpr double min_other_waits = 2.0;

/// @brief Less waiting, as a share of the mean step, is not shown.
inline constexpr double min_shown_waiting = 0.025;

/// @brief The figures of a job of many ranks.
struct job_summary {
  std::string program;                         ///< first word of its command line
  std::uint64_t ranks_expected = 0;            ///< the largest size of the job that a rank recorded; at least the highest rank plus 1
  detail::own_vector<job_rank_summary> ranks;  ///< by rank number
  std::uint64_t steps = 0;           ///< number of compared measured steps; a step ends where the next one begins, so it needs a next step
  std::uint64_t measured_steps = 0;  ///< number of measured steps that all ranks have
  std::uint64_t warmup_steps = 0;    ///< number of compared warm-up steps
  milliseconds step{};               ///< mean over the ranks
  detail::own_vector<job_part> budget;                            ///< parts of `step`: compute, exposed transfer, exposed waiting, idle
  detail::own_vector<job_part> frontier;                          ///< parts of the longest host step: see `frontier_of`
  detail::own_vector<job_path_part> critical_path;                ///< by time, longest first; they add up to the step of the job
  detail::own_vector<job_collective_summary> collectives;         ///< by exposed time, longest first
  detail::own_vector<job_message_summary> messages;               ///< by waiting, longest first, at most 200
  std::optional<straggler_summary> straggler;                     ///< n/a: the ranks do not wait for particular ranks
  std::optional<unproven_host_summary> unproven_host;             ///< n/a: there is a straggler, or no host takes longer
  std::optional<slow_host_summary> slow_host;                     ///< n/a: no host is slower than the others
  std::optional<startup_wait_summary> startup;                    ///< n/a: no long wait in the warm-up
  detail::own_vector<scope_difference_summary> differing_scopes;  ///< by difference, largest first
  detail::own_vector<job_function_summary> functions;             ///< by time, longest first, at most 64; empty without host samples
  std::uint64_t sampled_ranks = 0;                                ///< number of ranks with host samples
  std::optional<job_step_summary> one_step;                       ///< n/a without a step that all ranks kept
  job_clock_summary clocks;                                       ///< how the clocks of the ranks were aligned
  job_map held;                                                   ///< waits that each rank imposed on the others
  job_map host_steps;                                             ///< host time of the steps
  std::uint64_t matched = 0;                                      ///< number of collectives that all ranks of their communicator recorded
  std::uint64_t matched_messages = 0;                             ///< number of messages that both ranks recorded
  std::uint64_t unmatched_messages = 0;                           ///< number of messages that one rank recorded
  std::uint64_t incomplete = 0;                                   ///< number of collectives that a rank lacks
  std::uint64_t of_missing_ranks = 0;                             ///< part of `incomplete`: ranks of the communicator have no usable file
  std::uint64_t missing_members = 0;                              ///< maximum number of ranks without a usable file in one communicator
  std::uint64_t ambiguous = 0;                                    ///< part of `incomplete`: several communicators have one name and number
  std::uint64_t by_order = 0;                   ///< number of collectives without a number, which are matched by their order in a step
  std::uint64_t contradictory = 0;              ///< number of collectives whose size or type differs between ranks
  std::uint64_t unknown = 0;                    ///< number of NCCL kernels without a collective; they are not compared
  std::uint64_t unknown_in_graphs = 0;          ///< the part of `unknown` in CUDA graphs
  detail::own_vector<std::string> problems;     ///< ranks that are missing, damaged or different
  detail::own_vector<std::string> differences;  ///< differences between ranks: machines, versions, clocks, power, temperature
};

}  // namespace PROFKIT_NAMESPACE
