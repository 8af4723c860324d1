// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The figures of a report as plain values: `profkit::summary` and its parts.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "impl/analyze/device_summary.hpp"
#include "impl/analyze/step_kind_summary.hpp"
#include "impl/profile/library_abi.hpp"
#include "impl/profile/own_memory.hpp"
#include "profile.hpp"
#include "time.hpp"

namespace PROFKIT_NAMESPACE {

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
  std::optional<double> share_of_process{};                ///< processor time of all samples, of that of the process, in the whole session
  std::optional<double> kernel_share{};                    ///< processor time in the kernel, of that of the process
  detail::own_vector<sampled_scope_summary> scopes;        ///< by `self`, or without it by `sampled`, longest first
  detail::own_vector<sampled_function_summary> functions;  ///< functions of all scopes, by time, longest first; at most 32
};

/// @brief A window of neighbouring measured steps.
struct trend_window_summary {
  std::uint64_t first_step = 0;      ///< `step_record::index` of the first step
  std::chrono::nanoseconds begin{};  ///< beginning of the first step, since the beginning of the session
  std::uint64_t steps = 0;           ///< number of measured steps
  milliseconds mean{};               ///< mean host time of a step
  milliseconds p95{};                ///< p95 of the host time, with a relative error of at most 1 %
  std::optional<double>
      gpu_busy_share;  ///< share of the host time with a running operation, in steps with kernels collected; n/a without such steps
  std::optional<double> joules_per_step;  ///< mean energy by the first meter; n/a if the energy of no step became known in the window
  detail::own_vector<std::optional<std::uint64_t>> memory_bytes;  ///< maximum reading of each quantity in `run_trend_summary::memory`
};

/// @brief A level change: the step from which on step times differ permanently. Method: docs/statistics.md.
struct level_change_summary {
  std::uint64_t step = 0;            ///< `step_record::index` of the first different step
  std::chrono::nanoseconds time{};   ///< its beginning, since 1970-01-01 00:00 UTC
  std::chrono::nanoseconds begin{};  ///< its beginning, since the beginning of the session
  milliseconds before{};             ///< mean step time before, from the previous change if there is one
  milliseconds after{};              ///< mean step time from this step on
  double p_value = 1.0;              ///< probability of a change this large at this step by chance
  bool is_of_gpu = false;            ///< the times are GPU periods instead of host times
};

/// @brief The history of a run.
struct run_trend_summary {
  detail::own_vector<std::string> memory;            ///< quantities of `trend_window_summary::memory_bytes`, such as "host resident"
  detail::own_vector<trend_window_summary> windows;  ///< at most 512, in time order; equal numbers of steps except for the last
  std::optional<level_change_summary> change;        ///< the last level change; n/a if there is none or too few steps
};

/// @brief Memory of one allocator in the scopes of one row. Definitions: docs/memory.md.
///
/// A block belongs to the scope that was innermost on the allocating thread, and to all scopes around it, until it is released on any
/// thread. For a polled allocator, a change of its usage belongs to the innermost scope before the reading.
struct scope_memory_summary {
  std::string source;                                ///< name of the allocator
  bool is_polled = false;                            ///< changes between two readings are unknown
  std::uint64_t peak_bytes = 0;                      ///< maximum that one scope held at any moment, of memory allocated in it or inside it
  std::uint64_t own_peak_bytes = 0;                  ///< the same for memory allocated in the scope itself
  std::int64_t retained_bytes = 0;                   ///< the part still live at the ends of the scopes, as a sum; negative only if polled
  std::int64_t own_retained_bytes = 0;               ///< the same for memory allocated in the scopes themselves
  std::optional<std::uint64_t> allocated_bytes;      ///< sum of all allocations; n/a, like the next two, if polled
  std::optional<std::uint64_t> own_allocated_bytes;  ///< the same for the scopes themselves
  std::optional<std::uint64_t> allocations;          ///< number of allocations
  std::uint64_t wide_peak_bytes = 0;                 ///< maximum usage of the allocator, by all threads, during one of the scopes
  /// @brief Allocated by the scopes themselves in the measured steps, minus releases of that memory in the measured steps. Releases of
  /// memory from other steps are part of `allocator_summary::outside_change_bytes`.
  std::int64_t own_change_bytes = 0;
};

/// @brief The usage of an allocator over the measured steps. `last_bytes` - `first_bytes` is the sum of `own_change_bytes` over the rows,
/// `outside_change_bytes` and `between_steps_change_bytes`.
struct allocator_summary {
  std::string source;                     ///< name of the allocator
  bool is_polled = false;                 ///< changes between two readings are unknown
  std::int64_t first_bytes = 0;           ///< at the beginning of the first measured step; negative if releases exceed known allocations
  std::int64_t last_bytes = 0;            ///< at the end of the last measured step
  std::uint64_t max_bytes = 0;            ///< maximum during the measured steps
  std::int64_t outside_change_bytes = 0;  ///< allocated outside the scopes of the rows, minus releases of that and of earlier memory
  std::int64_t between_steps_change_bytes = 0;  ///< allocated minus released between the measured steps
  std::uint64_t unknown_releases = 0;           ///< whole session: releases without a known allocation
  std::uint64_t reused_addresses = 0;           ///< whole session: allocations at an address that was still live
};

/// @brief The GPU work of a set of scopes: the operations (kernels, copies, memsets) launched in them or in scopes inside. Operations of a
/// CUDA graph belong to the scopes in which their nodes were captured, if known.
struct gpu_work_summary {
  std::uint64_t operations = 0;              ///< number of operations
  std::uint64_t kernels = 0;                 ///< number of kernels among them
  milliseconds kernel_time{};                ///< sum of the durations of the operations
  milliseconds kernel_self{};                ///< the part launched in the scopes themselves
  milliseconds busy{};                       ///< length of the union of the operations' intervals
  duration_summary span;                     ///< per scope with operations: first start to last end ("projected" in Nsight Systems)
  std::optional<milliseconds> latency_mean;  ///< from the start of the launching call to the start of the operation; without graphs
  std::optional<milliseconds> latency_p95;   ///< 95 % quantile of the same latency
};

/// @brief GPU idle time: wall time of the measured steps without any operation on any device. It is charged to the scope that was innermost
/// on the step thread at that time. If a scope on another thread adopted a scope of the step thread (`adopting_scope`), it can be charged
/// to that scope.
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
  std::string path;                   ///< such as "step/forward/layer_3/attention"
  std::string name;                   ///< such as "layer_3"
  std::optional<std::int64_t> index;  ///< 3 for "layer_3" from `PROF_SCOPE_INDEXED`; n/a for other scopes, whatever their names
  std::uint32_t depth = 0;            ///< 0 for a root
  std::optional<std::size_t> parent;  ///< position in `summary::scopes`
  std::string source;                 ///< "file:line" of the first site that opened it
  duration_summary host;              ///< host time
  /// @brief The part of `host.total` outside the scopes directly inside these scopes, whether those count or not; never negative.
  milliseconds host_self{};
  std::optional<duration_summary> gpu_events;  ///< between CUDA events (`PROF_GPU_SCOPE`); n/a if none was timed
  std::optional<gpu_work_summary> gpu;         ///< n/a if kernels were not collected
  std::optional<gpu_idle_summary> gpu_idle;    ///< n/a if kernels were not collected, without steps, and for scopes of other threads
  std::optional<double> share_of_parent;       ///< share of the host total of the parent; n/a if parents began in steps that do not count
  std::optional<double> share_of_steps;        ///< share of the host total of the measured steps
  detail::own_vector<scope_memory_summary> memory;  ///< by allocator; empty without allocators or without scopes in the measured steps
  std::optional<work_summary> work{};               ///< n/a if neither the scopes nor scopes inside declared work
  std::optional<scope_per_step> per_step{};         ///< n/a without steps
};

/// @brief All scopes with one name, anywhere in the tree. A scope inside another scope of its name does not count twice.
struct scope_name_summary {
  std::string name;                          ///< such as "softmax" or "layer_3"
  duration_summary host;                     ///< host times of the outermost scopes of this name; `host.count` counts all scopes
  std::optional<gpu_work_summary> gpu;       ///< n/a if kernels were not collected
  std::optional<gpu_idle_summary> gpu_idle;  ///< as in `scope_summary`
  std::optional<work_summary> work{};        ///< as in `scope_summary`
};

/// @brief Launches of a kernel that ask the same of the device. Grids whose numbers of blocks lie in the same quarter of a power of two
/// count as one; the figures are those of the smallest. Definitions: docs/kernels.md.
struct launch_summary {
  std::uint64_t launches = 0;                   ///< number of launches
  milliseconds total{};                         ///< sum of their durations
  std::int32_t device = 0;                      ///< CUDA device number
  std::uint64_t blocks = 0;                     ///< blocks of the grid
  std::uint32_t threads = 0;                    ///< threads per block
  std::uint32_t registers = 0;                  ///< registers per thread
  std::uint64_t shared_bytes = 0;               ///< shared memory per block, static and dynamic
  std::uint32_t local_bytes = 0;                ///< local memory per thread
  std::uint32_t cluster_blocks = 1;             ///< blocks per thread block cluster; 1 without clusters
  std::uint32_t multiprocessors = 0;            ///< SMs of the device
  std::uint32_t blocks_per_multiprocessor = 0;  ///< maximum number of resident blocks of an SM
  double occupancy = 0.0;                       ///< theoretical occupancy: resident warps of an SM, as a share of its maximum
  std::string limited_by{};                     ///< what limits the occupancy, such as "registers"; empty if nothing does
  double waves = 0.0;                           ///< blocks divided by those that fit into the device at the same time
  double last_wave = 0.0;                       ///< share of the device's room that the blocks of the last wave take, from 0 to 1
};

/// @brief All executions of one kernel.
struct kernel_summary {
  std::string name;                               ///< demangled
  std::string mangled;                            ///< empty if equal to `name`
  std::string kernel_class;                       ///< such as "matmul"; see `kernel_class_of`
  duration_summary time;                          ///< durations of single executions
  std::optional<double> share;                    ///< share of the time of all kernels, without copies and memsets
  std::optional<kernel_per_step> per_step{};      ///< n/a without steps
  std::optional<launch_summary> median_launch{};  ///< the launch of medium use of the device; n/a if shapes of launches are unknown
  std::optional<launch_summary> worst_launch{};   ///< the launch that can use the smallest share of the device
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
  duration_summary time;    ///< durations of single copies or memsets
  std::uint64_t bytes = 0;  ///< sum of the copied or set bytes
};

/// @brief Unified memory in the launches of one kernel from one scope; outside kernels, in one scope and one function that faults.
struct unified_memory_place {
  std::string kernel{};               ///< name of the kernel; empty outside kernels
  std::string path{};                 ///< path of the scope, such as "step/forward"; empty outside any scope
  std::string function{};             ///< function of the host that faults; empty for devices, and if unknown
  std::string file{};                 ///< source file of the instruction that faults; empty if unknown
  std::uint32_t line = 0;             ///< its line; 0 if unknown
  std::uint64_t migrations = 0;       ///< number of migrations
  std::uint64_t bytes_to_device = 0;  ///< migrated to a device; a lower bound, like the next one
  std::uint64_t bytes_to_host = 0;    ///< migrated to the host
  std::uint64_t device_faults = 0;    ///< groups of page faults of a device
  std::uint64_t host_faults = 0;      ///< page faults of the host
  milliseconds waiting{};             ///< time of the kernel in which pages migrated or faults were handled
};

/// @brief Migrations and page faults of unified memory. The counters make kernels and a host that fault about twice as slow.
struct unified_memory_summary {
  detail::own_vector<copy_summary> operations;      ///< by kind of event, such as "[CUDA memcpy Unified Host-to-Device]"
  detail::own_vector<unified_memory_place> places;  ///< by `waiting`, longest first
};

/// @brief All calls of one function of the CUDA runtime or driver.
struct api_summary {
  std::string name;       ///< such as "cudaLaunchKernel"
  duration_summary time;  ///< durations of single calls
};

/// @brief GPU work in the measured steps with kernels collected: in all of them, or in some with `kernels=every:N`. An operation counts in
/// the step in which it was launched; without a recorded launch, in the step in which it started.
struct gpu_summary {
  gpu_work_summary all;                            ///< all operations; self: outside any scope; span: per measured step
  std::optional<gpu_idle_summary> idle;            ///< self: outside any scope of the step thread; n/a without steps
  std::uint64_t unattributed_operations = 0;       ///< launched outside any scope, or without a recorded launch
  std::uint64_t unattributed_kernels = 0;          ///< kernels among them
  milliseconds unattributed_time{};                ///< sum of their durations
  std::uint64_t unknown_launches = 0;              ///< unattributed operations without a recorded launch
  std::uint64_t operations_of_graphs = 0;          ///< number of operations of CUDA graphs
  std::uint64_t operations_of_unknown_graphs = 0;  ///< those whose capture was not recorded; charged to the scopes that launched the graphs
  detail::own_vector<kernel_summary> kernels;      ///< by total time, longest first
  detail::own_vector<kernel_class_summary> classes;    ///< by total time, longest first
  detail::own_vector<copy_summary> copies;             ///< copies and memsets, by total time, longest first
  std::optional<detail::own_vector<api_summary>> api;  ///< n/a unless all API calls were collected; by total time, longest first
  std::uint64_t steps = 0;                             ///< number of measured steps with kernels collected
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
  std::optional<double> kernel_ratio;           ///< `kernel_time` / `own_kernel_time`; n/a if `own_kernel_time` is 0
  std::optional<work_summary> work{};           ///< for the role "backward": declared work of the adopted scopes times `work::backward`
};

/// @brief One quantity of one memory source over the measured steps.
struct memory_summary {
  std::string source;                             ///< such as "host"
  std::string quantity;                           ///< such as "resident"
  std::uint64_t samples = 0;                      ///< number of readings
  std::uint64_t first_bytes = 0;                  ///< at the end of the first measured step
  std::uint64_t last_bytes = 0;                   ///< at the end of the last measured step
  std::uint64_t max_sample_bytes = 0;             ///< maximum of the readings
  std::optional<std::uint64_t> peak_bytes;        ///< peak that the source reports; n/a if it reports none
  std::string peak_note;                          ///< the period of the peak
  std::optional<std::uint64_t> capacity_bytes{};  ///< total capacity, such as the memory of the device; n/a if unknown
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

/// @brief A duration charged to a path.
struct path_time {
  std::uint32_t path = 0;           ///< position in `rank_timeline::paths`
  std::chrono::nanoseconds time{};  ///< the duration
};

/// @brief The common properties of collectives of one communicator. Unknown texts are empty.
struct collective_kind {
  std::uint64_t communicator = 0;  ///< id, equal on all its ranks; 0: unknown
  std::string group;               ///< name of the communicator; may be empty
  std::string function;            ///< such as "AllReduce"; "message"
  std::string datatype;            ///< such as "f32"
  std::string algorithm;           ///< such as "RING"
  std::string protocol;            ///< such as "LL"
  bool is_host = false;            ///< timed on the host, not on a GPU
  std::uint32_t size = 0;          ///< number of ranks of the communicator; 0: unknown
  std::uint32_t rank = 0;          ///< rank of this process in the communicator
};

/// @brief One collective, or one message, as one rank saw it.
struct timeline_collective {
  std::uint64_t step = 0;                  ///< `step_record::index`
  std::uint64_t sequence = 0;              ///< number within communicator and function, the same on all ranks
  std::uint64_t bytes = 0;                 ///< 0: unknown
  std::uint32_t kind = 0;                  ///< position in `rank_timeline::kinds`
  std::uint32_t path = 0;                  ///< the scope that issued it: position in `rank_timeline::paths`
  interval time;                           ///< on the GPU; on the host if `collective_kind::is_host`: while this rank waits for it
  timestamp posted{};                      ///< when this rank started it; earlier than `time` if it is non-blocking
  message_side side = message_side::none;  ///< of a message
  std::uint32_t partner = 0;               ///< the other rank of a message, by its number in the communicator
  std::int32_t tag = 0;                    ///< of a message
  detail::own_vector<interval> exposed;    ///< the parts of `time` during which no other work of its step ran on the GPU; in time order

  // The activity of the rank since its previous collective, also in earlier steps and between steps.
  detail::own_vector<path_time> busy;  ///< GPU time by the scope that launched the operation; on the host: empty
  detail::own_vector<path_time> idle;  ///< GPU idle time by the scope open on the step thread; on the host: the time of the step thread
};

/// @brief One step as one rank saw it.
struct timeline_step {
  std::uint64_t index = 0;                   ///< `step_record::index`
  bool is_measured = true;                   ///< neither warm-up nor excluded
  interval host;                             ///< on the step thread
  timestamp begin{};                         ///< start of its first operation on the GPU; without one, its beginning on the host
  std::optional<timestamp> next_begin;       ///< `begin` of the next step; n/a for the last one
  timestamp end{};                           ///< end of its last operation on the GPU; without one, its end on the host
  std::chrono::nanoseconds compute{};        ///< length of the union of its operations that are not collectives
  std::chrono::nanoseconds communication{};  ///< length of the union of its collectives
  std::chrono::nanoseconds exposed{};        ///< the part of `communication` during which nothing else ran on the GPU
  detail::own_vector<path_time> stages;      ///< host time of each direct child of the step, by beginning
  detail::own_vector<path_time> gpu;         ///< GPU time by the scope that launched the operation; without collectives
  detail::own_vector<interval> computing;    ///< when operations other than collectives ran; neighbours are joined if there are many
};

/// @brief The data of one rank for the report of many ranks: steps and collectives with their times, bounded in size.
///
/// Beyond the bound, it keeps a sample of the steps. The sample depends on the indices of the steps, so all ranks keep the same steps.
struct rank_timeline {
  std::uint64_t stride = 1;                   ///< 1: all steps are kept; otherwise about 65,536 of so many: see `detail::last_stride_of`
  detail::own_vector<std::string> paths;      ///< such as "step/forward"; "" for code outside any scope
  detail::own_vector<collective_kind> kinds;  ///< table: kinds of collectives
  detail::own_vector<timeline_step> steps;    ///< in order of their indices
  detail::own_vector<timeline_collective> collectives;  ///< in order of their beginnings within a step
  std::uint64_t all_steps = 0;                          ///< number of steps, kept or not
  std::uint64_t all_collectives = 0;                    ///< number of collectives, kept or not
  std::uint64_t unknown_collectives = 0;                ///< number of NCCL kernels whose collective was not collected
  std::uint64_t graph_collectives = 0;                  ///< the part of `unknown_collectives` in CUDA graphs
  bool has_numbers = true;  ///< false: collectives are numbered by their order on the GPU, because NCCL's numbers were not collected
};

/// @brief All figures of a profile. They cover the measured steps, or the whole session if there was no step.
///
/// A plain value; `analyze` computes it, `save_summary` and `load_summary` store it.
struct PROFKIT_TAGGED_TYPE summary {
  environment_record environment;               ///< the machine and the program
  bool covers_steps = true;                     ///< false: the session had no step, so all figures cover the whole session
  milliseconds elapsed{};                       ///< from the beginning of the session to its end
  std::uint64_t threads = 0;                    ///< number of threads with scopes or launches
  step_summary steps;                           ///< step times, verdicts, throughput
  detail::own_vector<step_kind_summary> kinds;  ///< kinds of the measured steps: the usual one first, then by number of steps; "other" last
  detail::own_vector<listed_step> listed_steps;          ///< all steps in order, or a sample of them: see `listed_step`
  detail::own_vector<scope_summary> scopes;              ///< depth first, the step first; children in the order of first appearance
  detail::own_vector<scope_name_summary> names;          ///< in the order of their first rows in `scopes`
  std::optional<gpu_summary> gpu;                        ///< n/a if kernels were not collected
  std::optional<budget_summary> budget;                  ///< n/a if kernels were not collected, and without steps
  detail::own_vector<adopted_summary> adopted;           ///< in tree order; empty if no scope adopted another
  limits_summary limits;                                 ///< device peaks
  std::optional<model_summary> model;                    ///< n/a without steps, and without declared work of a step
  detail::own_vector<utilization_summary> utilization;   ///< by device; empty if utilization was not measured
  std::optional<unified_memory_summary> unified_memory;  ///< n/a if unified memory was not recorded
  detail::own_vector<energy_summary> energy;             ///< by meter; empty if energy was not measured
  detail::own_vector<memory_summary> memory;             ///< readings of the memory sources
  detail::own_vector<allocator_summary> allocators;      ///< in the order of `profile::allocators`; empty without allocators
  detail::own_vector<counter_summary> counters;          ///< in the order of `profile::counter_names`
  std::optional<host_samples_summary> host_samples;      ///< n/a without host samples
  std::optional<rank_timeline> timeline;                 ///< for the report of many ranks; n/a without collectives
  run_trend_summary trend;                               ///< history of the measured steps; empty without steps
  detail::own_vector<collector_record> collectors;       ///< outcomes of the collectors
  quality_record quality;                                ///< dropped and lost data
  std::uint64_t scopes_recorded = 0;                     ///< number of scopes in the measured steps, on all threads
};

}  // namespace PROFKIT_NAMESPACE
