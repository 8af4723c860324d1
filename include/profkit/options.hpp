// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The options of a session, and the environment variable `PROFKIT`.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "error.hpp"
#include "impl/profile/record_types.hpp"
#include "work.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief The options of a session. The environment variable `PROFKIT`, a comma-separated list of the keys below, sets them through
/// `from_env`.
///
/// A plain value: set the members before you create the session; later changes have no effect. Relative paths refer to the directory in
/// which the session is created.
struct options {
  bool enabled = true;        ///< `off`: records nothing; steps still run
  bool print_report = false;  ///< `report`: print the first screen of the report when the session ends
  bool full_report = false;   ///< `report=full`: print all tables of the report when the session ends
  /// @brief `report=every:60s`: period of snapshots while the session runs. A snapshot replaces the files in `output_directory`; without a
  /// directory it prints one line on stderr. 0: no snapshots.
  std::chrono::milliseconds report_every{0};
  /// @brief `report=every:1000`: the same after every 1000th step, including warm-up. 0: no snapshots by steps.
  std::uint64_t report_every_steps = 0;

  std::uint64_t warmup_steps = 5;  ///< `warmup=N`: steps that are recorded but excluded from statistics
  /// @brief `steps=N`: number of measured steps in `for (profkit::step step : session)`. `steps=forever`: only `break`, an exception or the
  /// end of the program ends the loop.
  std::uint64_t measured_steps = 30;
  /// @brief `steps=auto`, `steps=auto:0.5%`: measures until the half-width of the 95 % interval of the mean step time is at most this share
  /// of the mean (0.005 for 0.5 %). Replaces `measured_steps`.
  std::optional<double> wanted_interval;
  std::uint64_t max_steps = 1000;     ///< maximum number of measured steps with `steps=auto`
  std::uint64_t items_per_step = 0;   ///< tokens, images, ... in a step; 0: not counted
  std::string item_name = "items";    ///< plural name of the items in reports
  double model_flops_per_step = 0.0;  ///< floating-point operations of the model per step; 0: the sum of declared work (`profkit::work`)
  profkit::precision precision = profkit::precision::unknown;  ///< `precision=NAME`: default for `work` without a precision
  /// @brief `samples=1000Hz`: host samples per second of processor time of each thread with scopes, from 1 to 10,000 (`host_samples`). 0:
  /// no samples.
  double samples_per_second = 0.0;
  bool memory_at_scopes = false;  ///< `memory=scopes`: polls the memory sources at both ends of every scope
  bool trace = false;             ///< `trace`: writes `trace.json` at the end, to `output_directory` or `trace_file`
  std::uint64_t trace_steps = 3;  ///< `trace=N`: the trace contains the last N measured steps
  /// @brief File of the trace without `output_directory`; empty: `trace.json`. Placeholders as in `out=DIR`. In a run of several ranks the
  /// file is `trace.rankN.json`, unless its name contains "%p" or "%r". Only a trace that profkit wrote is replaced.
  std::string trace_file;
  /// @brief `out=DIR`: directory of the reports, which are written at the end. Placeholders: "%p" is the process id, "%r" the rank, "%h"
  /// the host name. In a run of several ranks the reports are in `DIR/rankN`, unless DIR contains "%p" or "%r".
  std::string output_directory;
  /// @brief `journal=FILE`: file to which records are written while the session runs, so that a kill loses at most the last 100 ms.
  /// Placeholders as in `out=DIR`. In a run of several ranks the file is `FILE.rankN`, unless FILE contains "%p" or "%r".
  std::string journal;
  /// @brief `journal_size=1GiB`: maximum size of the journal, at least 1 MiB. When FILE reaches half of it, FILE is renamed to FILE.1,
  /// which replaces an older FILE.1. The journal continues in a new FILE that begins with the figures of all earlier records.
  std::uint64_t journal_bytes = std::uint64_t{1} << 30U;
  /// @brief `signals=report`: on SIGINT and SIGTERM, the session ends and reports, as with `exit`, before the signal ends the program. No
  /// effect if the program handles or ignores the signal.
  bool report_on_signals = false;
  /// @brief `metrics=FILE`: file with the figures in Prometheus' text format, replaced every `metrics_every` and at the end. Placeholders
  /// as in `out=DIR`. In a run of several ranks `train.prom` is `train.rankN.prom`, unless FILE contains "%p" or "%r".
  std::string metrics;
  std::chrono::milliseconds metrics_every{15'000};  ///< period of the metrics, at least 1 ms
  bool control = false;  ///< `control`: the session's thread listens on a Unix socket of the user (`docs/production.md`)
  bool use_rank = true;  ///< `rank=off`: ignores the variables of launchers (`process_rank`), so that each process is its own run
  bool nvtx = true;      ///< `nvtx=off`: read before `main`, so only the environment variable has an effect
  bool kernels = true;   ///< `kernels=off`: ignores kernel collectors (`collector::kind`)
  /// @brief `kernels=every:N`: collects kernels only in the N-th, 2N-th, ... measured step.
  std::uint64_t kernels_every = 1;
  /// @brief `kernels=capture`: starts kernel collectors only for `profkit capture --kernels`, and stops them afterwards. Needs `control`.
  bool kernels_on_capture = false;
  bool gpu_utilization = false;  ///< `utilization=on`: adds the collector `profkit::gpu_utilization`
  bool energy = false;           ///< `energy`: adds the collector `profkit::energy`
  bool unified_memory = false;   ///< `unified_memory`: adds the collector `profkit::unified_memory` to `cupti_kernels`
  /// @brief `records=N`: record budget of the profile: scopes, GPU operations, API calls and others, of 24 to 120 bytes each. At most
  /// 65,536 steps are kept. Further records count in the figures, but the profile and traces do not contain them.
  std::uint64_t max_records = 1'000'000;
  /// @brief `keep=all`, `keep=last:N`, `keep=slowest:K`: the steps whose records are kept. Records from before the first step are always
  /// kept.
  kept_steps keep{};
  /// @brief `log=64MiB`: maximum size of a thread's log between two drains, in slots of 8 bytes. A scope takes 3 slots, a launch 4. Memory
  /// is mapped as needed.
  std::uint64_t log_slots_per_thread = std::uint64_t{1} << 24U;

  /// @brief `drain=25%`: maximum share of one core that the session's thread uses to drain the logs; above 0, at most 1. If logs fill up,
  /// it uses more, so that nothing is dropped.
  double drain_share = 0.25;

  /// @brief Maximum number of measured steps: `measured_steps`, or with `steps=auto` `max_steps`.
  [[nodiscard]] std::uint64_t max_measured_steps() const noexcept { return enabled && wanted_interval ? max_steps : measured_steps; }

  /// @brief Whether a kernel collector, if there is one, collects in a step.
  ///
  /// With `kernels_every` the last warm-up step is collected too, because the first collection has one-time costs. If fewer steps are
  /// measured than `kernels_every`, the last measured step is collected.
  /// @param step index from 0, including warm-up.
  [[nodiscard]] bool collects_kernels_in(std::uint64_t step) const noexcept {
    if (kernels_on_capture) return false;
    if (kernels_every <= 1) return true;
    if (step < warmup_steps) return step + 1 == warmup_steps;
    std::uint64_t const limit = max_measured_steps();
    std::uint64_t const every = limit > 0 && limit < kernels_every ? limit : kernels_every;
    return (step - warmup_steps + 1) % every == 0;
  }

  /// @brief Maximum number of steps, including warm-up.
  [[nodiscard]] std::uint64_t max_wanted_steps() const noexcept {
    std::uint64_t const sum = warmup_steps + max_measured_steps();
    return sum < warmup_steps ? ~std::uint64_t{0} : sum;
  }

  /// @brief Reads the environment variable `PROFKIT` with `secure_getenv`. Does not throw: for an unknown key or a bad value it prints one
  /// message on stderr and returns the options of `PROFKIT=off`. Thread-safe, unless another thread changes the environment.
  [[nodiscard]] static options from_env();

  /// @brief Parses the value of `PROFKIT`.
  /// @param text such as "off" or "report,warmup=3,steps=10,out=profile".
  /// @throws profkit::error that names the unknown key or bad value and lists the valid keys.
  [[nodiscard]] static options parse(std::string_view text);
};

/// @brief The rank of this process, from the environment variables of torchrun, Open MPI, MPICH, Intel MPI or Slurm.
///
/// Reads the environment at each call. Thread-safe, unless another thread changes the environment. Does not communicate.
/// @return n/a if no launcher set its variables, or if their values are not a rank and a number of ranks.
[[nodiscard]] std::optional<rank_record> process_rank();

}  // namespace PROFKIT_NAMESPACE
