// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../profile/profile.hpp"
#include "../profile/time.hpp"
#include "memory/scope_memory_summary.hpp"
#include "verdict/run_trend_summary.hpp"
#include "verdict/verdict_summary.hpp"
#include "work/work_summary.hpp"

namespace profkit {

/// @brief Statistics of durations. Figures without enough samples are n/a.
///
/// Quantiles interpolate linearly between neighbouring samples (definition 7 of Hyndman and Fan). Quantiles of steps are exact up to 65,536
/// steps; all others have a relative error of at most 1 % (`quantile_sketch`).
struct duration_summary {
  std::uint64_t count = 0;                         ///< number of samples
  milliseconds total{};                            ///< sum of the samples
  std::optional<milliseconds> mean;                ///< `total` / `count`
  std::optional<milliseconds> standard_deviation;  ///< sample standard deviation (n - 1)
  std::optional<milliseconds> min;
  std::optional<milliseconds> median;
  std::optional<milliseconds> p95;
  std::optional<milliseconds> p99;
  std::optional<milliseconds> max;
};

/// @brief The GPU period of the measured steps, from the operations launched in them.
///
/// The period of a step begins when the step has begun and all earlier work is complete, and ends when its own work is complete.
/// Definition: docs/step_budget.md.
struct gpu_period_summary {
  duration_summary time;              ///< over the measured steps with kernels collected, up to the last one that launched an operation
  std::vector<milliseconds> samples;  ///< like `step_summary::host_samples`
  verdict_summary verdict;            ///< the verdict on the periods
  milliseconds host_mean{};           ///< mean host time of the same steps
  /// The period is longer than the host time by more than noise: the host runs ahead of the devices, and the period is the step time.
  bool is_longer = false;
  /// Number of later steps that had begun on the host when the work of a step completed; n/a if no step launched an operation.
  std::optional<double> median_steps_ahead;
  std::optional<double> max_steps_ahead;
};

/// @brief The step time: the longest of its mean times.
struct step_time_summary {
  milliseconds mean{};                           ///< mean step time
  std::string basis;                             ///< "host step time", "GPU step time" (between CUDA events) or "GPU step time (kernels)"
  step_verdict verdict = step_verdict::too_few;  ///< the verdict on this time
};

/// @brief The measured steps. Warm-up steps and excluded steps (`step::exclude`) are counted and take part in no other figure.
struct step_summary {
  std::uint64_t warmup = 0;             ///< number of warm-up steps
  std::uint64_t excluded = 0;           ///< number of excluded steps
  duration_summary host;                ///< `host.count` is the number of measured steps
  std::optional<duration_summary> gpu;  ///< between CUDA events; n/a without a step timer
  /// Step times in order: one per step, or with more than 65,536 steps the means of groups of 2, 4, 8, ... neighbouring steps.
  std::vector<milliseconds> host_samples;
  std::vector<milliseconds> gpu_samples;         ///< the same between CUDA events
  std::uint64_t items = 0;                       ///< sum over the measured steps
  std::string item_name;                         ///< `options::item_name`
  std::optional<double> items_per_second;        ///< items per step divided by `step_time`
  std::string items_per_second_basis;            ///< the basis of `step_time`
  verdict_summary host_verdict;                  ///< the verdict on host times
  std::optional<verdict_summary> gpu_verdict;    ///< n/a without a step timer
  std::vector<clock_summary> clocks;             ///< one per device; empty if clocks were not read
  std::optional<stop_record> stop;               ///< n/a for a fixed number of steps
  std::optional<gpu_period_summary> gpu_period;  ///< n/a if kernels were not collected, or no step launched an operation
  std::optional<step_time_summary> step_time;    ///< n/a without measured steps
};

/// @brief The GPU work of some scopes: the operations (kernels, copies, memsets) launched in them or in scopes inside. Operations of a CUDA
/// graph belong to the scopes in which their nodes were captured, if known.
struct gpu_work_summary {
  std::uint64_t operations = 0;              ///< number of operations
  std::uint64_t kernels = 0;                 ///< number of kernels among them
  milliseconds kernel_time{};                ///< sum of the durations of the operations
  milliseconds kernel_self{};                ///< the part launched in the scopes themselves
  milliseconds busy{};                       ///< length of the union of the operations' intervals
  duration_summary span;                     ///< per scope with operations: first start to last end ("projected" in Nsight Systems)
  std::optional<milliseconds> latency_mean;  ///< from the start of the launching call to the start of the operation; without graphs
  std::optional<milliseconds> latency_p95;
};

/// @brief Causes of GPU idle time: the activity of the thread that launched the next operation. Definition: docs/step_budget.md.
enum class idle_cause : std::uint8_t {
  launching = 0,        ///< in a launching call, or between two close launching calls: launch-bound
  host = 1,             ///< in none of these calls: host-bound
  synchronisation = 2,  ///< in a call that waits for the device
  copy = 3,             ///< in a call that copies or sets memory
  queued = 4,           ///< the operation was launched, but the device had not started it
};
inline constexpr std::size_t idle_causes = 5;  ///< number of values of `idle_cause`

/// @brief GPU idle time: wall time of the measured steps without any operation on any device. Charged to the scope that was innermost on
/// the step thread at that time, or to a scope on another thread that adopted a scope of the step thread (`adopting_scope`).
struct gpu_idle_summary {
  milliseconds inclusive{};  ///< charged to the scopes or to any scope inside
  milliseconds self{};       ///< charged to the scopes themselves
};

/// @brief Statistics of a sum per measured step. A step without the item counts as 0.
struct per_step_figures {
  milliseconds mean{};                             ///< mean per step
  std::optional<milliseconds> standard_deviation;  ///< sample standard deviation (n - 1); n/a with fewer than two steps
  std::optional<double> autocorrelation;           ///< lag 1, without bias correction; n/a if the steps do not vary
};

/// @brief Times of the scopes of one row per measured step.
struct scope_per_step {
  std::uint64_t steps = 0;  ///< number of measured steps
  per_step_figures host;    ///< host time
  std::optional<per_step_figures>
      gpu;  ///< duration of the operations launched in the scopes or inside them; n/a if kernels were not collected
  std::optional<milliseconds> host_copies;  ///< part of the mean of `gpu`: copies from and to the host, whose times vary most between runs
  std::uint64_t gpu_steps = 0;              ///< number of steps with kernels collected
};

/// @brief Time of one kernel per measured step.
struct kernel_per_step {
  std::uint64_t steps = 0;  ///< number of steps with kernels collected
  per_step_figures gpu;     ///< duration of the kernel
};

/// @brief One row of the tree of scopes: all scopes with the same path, on any thread.
struct scope_summary {
  std::string path;                            ///< such as "step/forward/layer_3/attention"
  std::string name;                            ///< such as "layer_3"
  std::uint32_t depth = 0;                     ///< 0 for a root
  std::optional<std::size_t> parent;           ///< position in `summary::scopes`
  std::string source;                          ///< "file:line" of the first site that opened it
  duration_summary host;                       ///< host time
  milliseconds host_self{};                    ///< `host.total` minus that of the children
  std::optional<duration_summary> gpu_events;  ///< between CUDA events (`PROF_GPU_SCOPE`); n/a if none was timed
  std::optional<gpu_work_summary> gpu;         ///< n/a if kernels were not collected
  std::optional<gpu_idle_summary> gpu_idle;    ///< n/a if kernels were not collected, without steps, and for scopes of other threads
  std::optional<double> share_of_parent;       ///< share of the host total of the parent
  std::optional<double> share_of_steps;        ///< share of the host total of the measured steps
  std::vector<scope_memory_summary> memory;    ///< by allocator; empty without allocators or without scopes in the measured steps
  std::optional<work_summary> work{};          ///< n/a if neither the scopes nor scopes inside declared work
  std::optional<scope_per_step> per_step{};    ///< n/a without steps
};

/// @brief All scopes with one name, anywhere in the tree. A scope inside another scope of its name does not count twice.
struct scope_name_summary {
  std::string name;                          ///< such as "softmax" or "layer_3"
  duration_summary host;                     ///< of the outermost scopes of this name; `host.count` counts all
  std::optional<gpu_work_summary> gpu;       ///< n/a if kernels were not collected
  std::optional<gpu_idle_summary> gpu_idle;  ///< as in `scope_summary`
  std::optional<work_summary> work{};        ///< as in `scope_summary`
};

/// @brief All executions of one kernel.
struct kernel_summary {
  std::string name;                           ///< demangled
  std::string mangled;                        ///< empty if equal to `name`
  std::string kernel_class;                   ///< such as "matmul"; see `kernel_class_of`
  duration_summary time;                      ///< of one execution
  std::optional<double> share;                ///< share of the time of all kernels, without copies and memsets
  std::optional<kernel_per_step> per_step{};  ///< n/a without steps
};

/// @brief All kernels of one class.
struct kernel_class_summary {
  std::string name;             ///< such as "matmul"
  std::uint64_t count = 0;      ///< number of executions
  milliseconds total{};         ///< sum of their durations
  std::optional<double> share;  ///< share of the time of all kernels, without copies and memsets
};

/// @brief All copies of one direction, or all memsets.
struct copy_summary {
  std::string name;         ///< such as "[CUDA memcpy Host-to-Device]"
  duration_summary time;    ///< of one copy or memset
  std::uint64_t bytes = 0;  ///< sum
};

/// @brief All calls of one function of the CUDA runtime or driver.
struct api_summary {
  std::string name;       ///< such as "cudaLaunchKernel"
  duration_summary time;  ///< of one call
};

/// @brief GPU work in the measured steps with kernels collected: all, or with `kernels=every:N` some. An operation counts in the step in
/// which it was launched; without a recorded launch, in the step in which it started.
struct gpu_summary {
  gpu_work_summary all;                            ///< all operations; self: outside any scope; span: per measured step
  std::optional<gpu_idle_summary> idle;            ///< self: outside any scope of the step thread; n/a without steps
  std::uint64_t unattributed_operations = 0;       ///< launched outside any scope, or without a recorded launch
  std::uint64_t unattributed_kernels = 0;          ///< kernels among them
  milliseconds unattributed_time{};                ///< sum of their durations
  std::uint64_t unknown_launches = 0;              ///< unattributed operations without a recorded launch
  std::uint64_t operations_of_graphs = 0;          ///< operations of CUDA graphs
  std::uint64_t operations_of_unknown_graphs = 0;  ///< those whose capture was not seen; charged to the scopes that launched the graphs
  std::vector<kernel_summary> kernels;             ///< by total time, longest first
  std::vector<kernel_class_summary> classes;       ///< by total time, longest first
  std::vector<copy_summary> copies;                ///< copies and memsets, by total time, longest first
  std::optional<std::vector<api_summary>> api;     ///< n/a unless all API calls were collected; by total time, longest first
  std::uint64_t steps = 0;                         ///< number of measured steps with kernels collected
};

/// @brief One row of the step budget: a scope directly inside the step, the step itself, or work outside any scope.
struct budget_row {
  std::string part;     ///< such as "forward"
  milliseconds busy{};  ///< an operation of the part ran; if several run, the moment counts for the one that began first
  std::array<milliseconds, idle_causes> idle{};  ///< by `idle_cause`: no operation ran on any device, and the host was in this part
  milliseconds total{};                          ///< busy and idle time
};

/// @brief Work that overlap with other work can hide.
struct hidden_work {
  milliseconds busy{};     ///< length of the union of its intervals
  milliseconds exposed{};  ///< the part without any other operation
};

/// @brief The scopes with one name, without the index, for which the devices waited.
struct starving_scope {
  std::string name;                                  ///< such as "layer" for `layer_3`
  milliseconds total{};                              ///< idle time charged to the scopes themselves
  std::array<milliseconds, idle_causes> by_cause{};  ///< the same by `idle_cause`
};

/// @brief The step budget: the wall time of the measured steps with kernels collected, without the time between steps. Wall time is host
/// step time, or the GPU period if that is longer (`gpu_period_summary::is_longer`).
struct budget_summary {
  bool is_of_gpu = false;                ///< wall time is the GPU period
  milliseconds wall{};                   ///< sum of the step times; the totals of the rows add up to it
  milliseconds busy{};                   ///< time with at least one running operation
  std::vector<budget_row> rows;          ///< in the order of first appearance; work outside any scope comes last
  milliseconds overlap{};                ///< sum of the durations of the operations minus `busy`
  hidden_work copies;                    ///< copies and memsets
  hidden_work communication;             ///< kernels of the class `communication`
  std::vector<starving_scope> starving;  ///< longest first
  std::uint64_t steps = 0;               ///< number of steps
  bool has_launches = true;              ///< false: no launching call was recorded, so launch-bound time is n/a and counts as host-bound
};

/// @brief The work of adopting scopes (`adopting_scope`) in one role for the scopes with one path or a path inside it. It excludes time in
/// other adopting scopes inside them, so that no work counts twice.
struct adopted_summary {
  std::string path;           ///< path of the adopted scopes, such as "step/forward/layer_3"
  std::string name;           ///< such as "layer_3"
  std::uint32_t depth = 0;    ///< 0 for a root
  std::string role;           ///< such as "backward", or "backward of work in backward" if the adopted scope was itself adopting
  std::uint64_t count = 0;    ///< number of adopting scopes
  milliseconds host_total{};  ///< their host time
  std::optional<milliseconds> own_host_total;  ///< host time of the adopted scopes; n/a if none is in the measured steps
  std::optional<std::uint64_t> operations;  ///< launched in the adopting scopes; n/a, like the next members, if kernels were not collected
  std::optional<milliseconds> kernel_time;  ///< sum of their durations
  std::optional<milliseconds> busy;         ///< length of the union of their intervals
  std::optional<milliseconds> own_kernel_time;  ///< launched in the adopted scopes or inside them, except in adopting scopes there
  std::optional<double> kernel_ratio;           ///< `kernel_time` / `own_kernel_time`; n/a if that is 0
  std::optional<work_summary> work{};           ///< for the role "backward": declared work of the adopted scopes times `work::backward`
};

/// @brief One quantity of one memory source over the measured steps.
struct memory_summary {
  std::string source;                       ///< such as "host"
  std::string quantity;                     ///< such as "resident"
  std::uint64_t samples = 0;                ///< number of readings
  std::uint64_t first_bytes = 0;            ///< at the end of the first measured step
  std::uint64_t last_bytes = 0;             ///< at the end of the last measured step
  std::uint64_t max_sample_bytes = 0;       ///< maximum of the readings
  std::optional<std::uint64_t> peak_bytes;  ///< as kept by the source; n/a if it keeps none
  std::string peak_note;                    ///< the period of the peak
};

/// @brief The samples of one counter (`PROF_COUNTER`).
struct counter_summary {
  std::string name;              ///< as written in the program
  std::uint64_t count = 0;       ///< number of samples
  double last = 0.0;             ///< the last sample in time
  double mean = 0.0;             ///< mean of the finite samples; NaN if there is none
  double min = 0.0;              ///< minimum of the finite samples; NaN if there is none
  double max = 0.0;              ///< maximum of the finite samples; NaN if there is none
  std::uint64_t not_finite = 0;  ///< number of samples that are NaN or infinite
};

/// @brief All figures of a profile. They cover the measured steps, or the whole session if there was no step.
///
/// A plain value; `analyze` computes it, `save_summary` and `load_summary` store it.
struct summary {
  environment_record environment;             ///< the machine and the program
  bool covers_steps = true;                   ///< false: no step was made, so all figures cover the whole session
  step_summary steps;                         ///< step times, verdicts, throughput
  std::vector<scope_summary> scopes;          ///< depth first, the step first; children in the order of first appearance
  std::vector<scope_name_summary> names;      ///< in the order of their first rows in `scopes`
  std::optional<gpu_summary> gpu;             ///< n/a if kernels were not collected
  std::optional<budget_summary> budget;       ///< n/a if kernels were not collected, and without steps
  std::vector<adopted_summary> adopted;       ///< in tree order; empty if no scope adopted another
  limits_summary limits;                      ///< device peaks
  std::optional<model_summary> model;         ///< n/a without steps, and without declared work of a step
  std::vector<memory_summary> memory;         ///< memory sources
  std::vector<allocator_summary> allocators;  ///< in the order of `profile::allocators`; empty without allocators
  std::vector<counter_summary> counters;      ///< in the order of `profile::counter_names`
  run_trend_summary trend;                    ///< history of the measured steps; empty without steps
  std::vector<collector_record> collectors;   ///< outcomes of the collectors
  quality_record quality;                     ///< losses of data
  std::uint64_t scopes_recorded = 0;          ///< number of scopes in the measured steps, on all threads
};

}  // namespace profkit
