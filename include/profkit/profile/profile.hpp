// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "copy_direction.hpp"
#include "time.hpp"
#include "work.hpp"

namespace profkit {

/// How fast the host was while a session measured. See `host_probe`.
struct host_speed_record {
  std::chrono::nanoseconds before{};  ///< duration of the probe before the first measured step
  std::chrono::nanoseconds after{};   ///< after the last one; 0: not measured
  std::optional<double> waiting{};  ///< share of the time between the probes in which the step thread was ready to run and had no processor
};

/// Where a program ran. A text that is not known is empty.
struct environment_record {
  std::string host;
  std::string gpu;     ///< name of the device that the first CUDA collector saw
  std::string driver;  ///< highest CUDA version that the driver supports, such as "13.0"
  std::string cuda;    ///< version of the CUDA runtime, such as "13.0"
  std::vector<std::string> command;
  std::uint64_t process_id = 0;                   ///< `getpid`
  std::optional<host_speed_record> host_speed{};  ///< n/a without measured steps
};

/// One node of the tree of scopes. Scopes with the same names from the root down share a node.
struct path_record {
  static constexpr std::uint32_t no_parent = 0xffffffffU;

  std::uint32_t parent = no_parent;   ///< position in `profile::paths`, smaller than the node's own
  std::string name;                   ///< as written in the program
  std::optional<std::int64_t> index;  ///< of `PROF_SCOPE_INDEXED`; shown as `name_index`
  std::string file;                   ///< the first place in the source that opened it
  std::uint32_t line = 0;

  /// Of a scope that did work for another: the position of that one's path, smaller than the node's own, and what the work was to it,
  /// such as "backward". `name` is both, such as "forward/layer_3/attention (backward)".
  std::uint32_t adopted_from = no_parent;
  std::string role{};

  bool is_step = false;  ///< of the session's steps (`profkit::step`), not of a scope that the program named `step`; one path at most
};

/// A thread that had scopes or launched something.
struct thread_record {
  std::uint64_t system_id = 0;  ///< `gettid`
  std::string name;             ///< as the kernel knew it at the thread's first scope

  /// What is charged for GPU operations that the thread launched outside any scope (`set_default_scope`); `no_parent`: nothing is. A thread
  /// for which it changed has several entries.
  std::uint32_t rest_path = path_record::no_parent;
};

/// One scope, opened and closed on one thread.
struct scope_record {
  interval time;
  std::uint32_t path = 0;    ///< position in `profile::paths`
  std::uint32_t thread = 0;  ///< position in `profile::threads`
};

/// One iteration of the measured loop.
struct step_record {
  interval time;
  std::uint64_t index = 0;  ///< from 0, warm-up included
  bool warmup = false;
  std::uint64_t items = 0;   ///< tokens, images, ...
  double model_flops = 0.0;  ///< that the step's model needs, counted by the program; 0: not counted
  bool has_kernels = true;   ///< kernels were collected in it, as far as they were at all (`PROFKIT=kernels=every:N`)
  bool is_excluded = false;  ///< the program left it out of the figures (`step::exclude`); never a warm-up step

  /// Whether it is in the figures.
  [[nodiscard]] bool is_measured() const noexcept { return !warmup && !is_excluded; }
};

/// Work that a scope said it does.
struct work_record {
  timestamp begin;         ///< of the scope
  std::uint32_t path = 0;  ///< position in `profile::paths`
  profkit::work work;
};

/// Time between the two CUDA events of a scope, on the stream that it was given. Source: `cudaEventElapsedTime`.
struct gpu_scope_record {
  std::uint32_t path = 0;
  timestamp begin;  ///< when the scope began, on the host
  std::int32_t device = 0;
  std::chrono::nanoseconds duration{};
};

/// Time between the CUDA events at the two ends of a step.
struct gpu_step_record {
  std::uint64_t step = 0;  ///< `step_record::index`
  std::int32_t device = 0;
  std::chrono::nanoseconds duration{};
};

/// What a device ran.
enum class gpu_operation_kind : std::uint8_t { kernel = 0, copy = 1, set = 2 };

/// What a GPU operation is called.
struct gpu_name_record {
  std::string name;     ///< demangled; of copies and sets as Nsight Systems has it, such as "[CUDA memcpy Host-to-Device]"
  std::string mangled;  ///< empty if it is `name` itself
  copy_direction direction = copy_direction::unknown;
};

/// One kernel, copy or memset as a device ran it. Source: CUPTI activity records.
struct gpu_operation_record {
  interval time;
  std::uint64_t correlation = 0;  ///< the same in the `api_call_record` that launched it; several operations of a graph launch share one
  std::uint64_t bytes = 0;        ///< of copies and sets
  std::uint32_t name = 0;         ///< position in `profile::gpu_names`
  std::int32_t device = 0;
  std::uint32_t stream = 0;
  std::array<std::uint32_t, 3> grid{};   ///< blocks, of kernels
  std::array<std::uint32_t, 3> block{};  ///< threads, of kernels
  gpu_operation_kind kind = gpu_operation_kind::kernel;
  std::uint64_t graph_node = 0;  ///< `graph_node_record::node` of what a CUDA graph ran; 0: no graph did
};

/// A node of a CUDA graph that was captured while kernels were collected, or of an executable graph made from one.
struct graph_node_record {
  std::uint64_t node = 0;                       ///< CUPTI's number for it
  std::uint32_t path = path_record::no_parent;  ///< the innermost scope open where it was captured; `no_parent`: none was
};

/// One call of the CUDA runtime or driver. Usually those only that launch operations or wait for a device. Source: CUPTI activity records.
struct api_call_record {
  interval time;
  std::uint64_t correlation = 0;
  std::uint32_t name = 0;    ///< position in `profile::api_names`
  std::uint32_t thread = 0;  ///< position in `profile::threads`; a system thread may have several entries there
};

/// One sample of `PROF_COUNTER`.
struct counter_record {
  timestamp time;
  double value = 0.0;
  std::uint32_t counter = 0;  ///< position in `profile::counter_names`
  std::uint32_t thread = 0;
};

/// One reading of one quantity of one memory source, at the end of a step.
struct memory_record {
  std::string source;    ///< such as "host", "cuda", "libtorch"
  std::string quantity;  ///< such as "resident", "used", "allocated"
  std::uint64_t step = 0;
  std::uint64_t current_bytes = 0;
  std::optional<std::uint64_t> peak_bytes;  ///< as the source itself keeps it, n/a where it keeps none
  std::string peak_note;                    ///< over what the source keeps its peak
};

/// Who gives memory to the program, and says so for each piece of it (`record_allocation`) or for each scope (`level_at_scopes`).
struct allocator_record {
  std::string name;                  ///< that of the memory source, such as "libtorch"
  std::uint64_t bytes_at_start = 0;  ///< given already when recording began
  bool is_polled = false;            ///< it was read at the ends of scopes: what came and went in between is not known
};

/// What an `allocation_record` says.
enum class allocation_kind : std::uint8_t {
  allocated = 0,
  released = 1,
  level = 2,  ///< all that the allocator has given, read where a scope is about to begin or to end
};

/// A piece of memory came or went. Within a thread these lie strictly between the beginnings and ends of scopes: no times are equal.
struct allocation_record {
  timestamp time;
  std::uint64_t address = 0;    ///< of the piece; not of a level
  std::uint64_t bytes = 0;      ///< of a release: 0 if the allocator does not say
  std::uint32_t thread = 0;     ///< position in `profile::threads`: who asked, or who read
  std::uint16_t allocator = 0;  ///< position in `profile::allocators`
  allocation_kind kind = allocation_kind::allocated;
};

/// What the clocks of a device ran at. Source: NVML.
struct device_clock_record {
  timestamp time;
  std::uint64_t step = 0;  ///< after which it was read; `step_record::index`
  std::int32_t device = 0;
  std::uint32_t sm_mhz = 0;
  std::uint32_t highest_sm_mhz = 0;  ///< that the device can run at
  std::uint64_t reasons = 0;         ///< for not running faster: NVML's `nvmlClocksEventReason` bits
  std::optional<std::uint32_t> milliwatt;
  std::optional<std::uint32_t> celsius;
};

/// What a device was seen to reach, by a program that tried.
struct measured_roof_record {
  profkit::precision precision = profkit::precision::unknown;  ///< of `flops_per_second`
  double flops_per_second = 0.0;                               ///< 0: not measured
  double bytes_per_second = 0.0;                               ///< read and written; 0: not measured
  std::string how;                                             ///< such as "matrix product 8192 x 8192 x 8192"
};

/// What a collector collects, as far as reports depend on it. Its name says nothing about that.
enum class collector_kind : std::uint8_t {
  other = 0,
  kernels = 1,     ///< what devices ran, and what launched it
  gpu_clocks = 2,  ///< `profile::device_clocks`
  journal = 3,     ///< the session's journal
};

/// The outcome of a collector.
struct collector_record {
  std::string name;
  std::string status;  ///< "collected" or "not collected"; of the journal "written", "not written" or "recovered"
  std::string reason;  ///< why not; empty when collected
  collector_kind kind = collector_kind::other;
};

/// A place in the source whose scopes did not end where they should.
struct wrong_end_record {
  std::string what;  ///< such as "load (a.cpp:40) ended on another thread, inside step (b.cpp:9)"
  std::uint64_t count = 0;
};

/// What a snapshot of a running session lacks. Open scopes are counted in `quality_record::open_scopes`.
struct snapshot_record {
  bool is_step_open = false;             ///< a step had begun, which is not in `profile::steps`
  bool is_behind = false;                ///< what was recorded in the last second or more may be missing: it was not drained in time
  std::uint64_t missing_operations = 0;  ///< launching calls without any GPU operation: none has arrived yet
  std::uint64_t untimed_steps = 0;       ///< whose time between CUDA events has not arrived yet
};

/// What was lost, and what measuring cost.
struct quality_record {
  std::uint64_t dropped_events = 0;      ///< scopes and counters that are not recorded: the log was full, or one of the next three
  std::uint64_t unkept_records = 0;      ///< scopes, GPU operations and others past the bound of the profile (`records=N`)
  std::uint64_t rowless_scopes = 0;      ///< scopes past the bound of paths: in the path without an index, or in that around them
  std::uint64_t open_scopes = 0;         ///< scopes still open when the session stopped; they are not in `scopes`
  std::uint64_t abandoned_steps = 0;     ///< steps that an exception left; they are not in `steps`
  std::uint64_t unread_gpu_times = 0;    ///< of scopes not complete when the session stopped, of steps that could not be timed
  std::uint64_t untimed_gpu_scopes = 0;  ///< GPU scopes that could not be timed, such as under stream capture
  std::uint64_t dropped_operations = 0;  ///< records of GPU operations and API calls that CUPTI had no buffer for
  std::uint64_t invalid_operations = 0;  ///< GPU operations without a time, or that end before they begin; they are not in the profile
  std::uint64_t clock_changes = 0;       ///< times that the system clock was set during the session; its times do not follow
  std::chrono::nanoseconds cost_of_1000_scopes{};  ///< measured on this machine when the session started
  std::chrono::nanoseconds bookkeeping{};          ///< between the steps: collectors, draining the logs
  std::string clock;                               ///< what host times were read from
  std::chrono::nanoseconds clock_change{};         ///< by how much the system clock was set, in all
  std::uint64_t uncertain_operations = 0;          ///< GPU operations that may have run before or after the system clock was set back
  std::uint64_t events_without_memory = 0;         ///< dropped: the system gave no memory for a thread's log
  std::uint64_t events_without_log = 0;            ///< dropped: too many threads had logs, or the thread was ending
  std::uint64_t interrupting_events = 0;           ///< dropped: a signal handler interrupted the recorder on its own thread
  std::uint64_t misnested_scopes = 0;              ///< left without their destructors; they end with the last event before that is known
  std::uint64_t unmatched_ends = 0;          ///< ends of scopes on another thread, or after the end of a scope around them; not recorded
  std::vector<wrong_end_record> wrong_ends;  ///< the first 16 places that led to the last two
  std::uint64_t untraced_records = 0;        ///< past the bound of the profile: in the session's figures, not in the profile
  std::string not_recorded;                  ///< why nothing was recorded at all, such as "profkit is off"; else empty
  std::optional<snapshot_record> snapshot;   ///< n/a where the session had ended
};

/// When a session whose number of steps was not fixed (`steps=auto`) stopped.
struct stop_record {
  double wanted = 0.0;            ///< half of the 95 % interval over the mean step time, at which enough was measured
  std::optional<double> reached;  ///< at the last look; n/a if there was none
  bool is_of_gpu = false;         ///< of the GPU step time, which was the longer one
  std::uint64_t most_steps = 0;   ///< measured ones, at which it would stop in any case
};

/// What was measured, as plain values. Everything that records fills it, everything that reports reads it.
struct profile {
  environment_record environment;
  std::string item_name = "items";
  interval time;  ///< of the session
  std::vector<path_record> paths;
  std::vector<thread_record> threads;
  std::vector<scope_record> scopes;
  std::vector<step_record> steps;
  std::vector<gpu_scope_record> gpu_scopes;
  std::vector<gpu_step_record> gpu_steps;
  std::vector<gpu_name_record> gpu_names;
  std::vector<gpu_operation_record> gpu_operations;
  std::vector<graph_node_record> graph_nodes;
  std::vector<std::string> api_names;  ///< such as "cudaLaunchKernel_v7000"
  std::vector<api_call_record> api_calls;
  bool has_all_api_calls = false;  ///< not only those that launch operations or wait
  std::vector<std::string> counter_names;
  std::vector<counter_record> counters;
  std::vector<memory_record> memory;
  std::vector<allocator_record> allocators;
  std::vector<allocation_record> allocations;
  std::vector<work_record> work;
  profkit::precision precision = profkit::precision::unknown;  ///< of the arithmetic where a `work` does not say
  std::vector<device_clock_record> device_clocks;
  std::vector<measured_roof_record> measured_roofs;
  std::vector<collector_record> collectors;
  quality_record quality;
  std::optional<stop_record> stop;  ///< none where the number of steps was fixed
};

}  // namespace profkit
