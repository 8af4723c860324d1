// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The recorded data as plain values: `profkit::profile` and its records.

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "impl/profile/library_abi.hpp"
#include "impl/profile/own_memory.hpp"
#include "impl/profile/record_types.hpp"
#include "time.hpp"
#include "work.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief A function found by host samples. Entries of a profile differ in name, module or caller.
struct function_record {
  std::string name;        ///< qualified, without parameters, such as "layer::exp_loop"; empty if unknown
  std::string module;      ///< file name of the program or library, such as "libc.so.6"; empty if no module contains the address
  std::string caller;      ///< name of the nearest known caller; empty if `name` is known, or if no caller is known
  std::string file{};      ///< source file in which the function begins, as it was passed to the compiler; empty if unknown
  std::uint32_t line = 0;  ///< line in `file`, from 1; 0 if unknown; for page faults both are those of the instruction
};

/// @brief One host sample: a thread executed user code of a function.
struct sample_record {
  timestamp time;              ///< when the sample was taken
  std::uint32_t path = 0;      ///< position in `profile::paths` of the innermost open scope; `path_record::no_parent` if none was open
  std::uint32_t function = 0;  ///< position in `profile::functions`
  std::uint32_t thread = 0;    ///< position in `profile::threads`
  std::uint32_t weight = 0;    ///< processor time that the sample represents, in nanoseconds
};

/// @brief Processor time while host samples were taken.
struct sampled_time_record {
  std::chrono::nanoseconds samples{};  ///< that all samples represent
  std::chrono::nanoseconds user{};     ///< of the process, with profkit's threads, outside the kernel
  std::chrono::nanoseconds system{};   ///< of the process, with profkit's threads, in the kernel
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
  sampled_time_record time{};           ///< 0 in profiles of formats before 15
};

/// @brief A source location whose scopes ended wrongly.
struct wrong_end_record {
  std::string what;         ///< such as "load (a.cpp:40) ended on another thread, inside step (b.cpp:9)"
  std::uint64_t count = 0;  ///< number of scopes
};

/// @brief The data that a snapshot of a running session lacks. `quality_record::open_scopes` counts open scopes.
struct snapshot_record {
  bool is_step_open = false;             ///< a step was open; `profile::steps` does not contain it
  bool is_behind = false;                ///< the logs were not drained in time: the last second or more may be missing
  std::uint64_t missing_operations = 0;  ///< launching calls whose operations have not arrived
  std::uint64_t untimed_steps = 0;       ///< steps whose time between CUDA events has not arrived
};

/// @brief Lost data, and the overhead of profkit.
struct quality_record {
  std::uint64_t dropped_events =
      0;  ///< scopes and counters not recorded: full log, or a cause counted in `events_...` or `interrupting_events`
  std::uint64_t discarded_records = 0;   ///< records beyond the record budget that no figure includes
  std::uint64_t collapsed_scopes = 0;    ///< scopes beyond the limits of paths, in the path without an index or inside a merged path
  std::uint64_t open_scopes = 0;         ///< scopes open at the end of the session; not in `scopes`
  std::uint64_t abandoned_steps = 0;     ///< steps exited by an exception; not in `steps`
  std::uint64_t unread_gpu_times = 0;    ///< GPU scopes that were incomplete at the end, and steps that could not be timed
  std::uint64_t untimed_gpu_scopes = 0;  ///< GPU scopes that could not be timed, such as under stream capture
  std::uint64_t dropped_operations = 0;  ///< records that CUPTI dropped because it had no buffer
  std::uint64_t invalid_operations = 0;  ///< GPU operations without a valid time; not in the profile
  std::uint64_t clock_changes = 0;       ///< number of times that the system clock was set during the session; timestamps are not affected
  std::chrono::nanoseconds cost_of_1000_scopes{};  ///< cost of 1000 scopes, measured at the start of the session
  std::chrono::nanoseconds bookkeeping{};          ///< time of collectors and draining between steps
  std::string clock;                               ///< the clock of host times
  std::chrono::nanoseconds clock_change{};         ///< total change of the system clock
  std::uint64_t uncertain_operations = 0;          ///< GPU operations that may have run before or after the system clock was set back
  std::uint64_t events_without_memory = 0;         ///< events dropped because the system provided no memory for a log
  std::uint64_t events_without_log = 0;            ///< events dropped because of too many logs, or an ending thread
  std::uint64_t interrupting_events = 0;           ///< events dropped because a signal handler interrupted the recorder
  std::uint64_t misnested_scopes = 0;              ///< scopes left without their destructors; they end at the previous known event
  std::uint64_t unmatched_ends = 0;  ///< scopes ended on another thread or after the end of an outer scope; the ends are not recorded
  detail::own_vector<wrong_end_record> wrong_ends;  ///< the first 16 source locations that caused `misnested_scopes` or `unmatched_ends`
  std::uint64_t untraced_records = 0;               ///< records beyond the record budget that figures include but the profile does not
  std::string not_recorded;                         ///< why nothing was recorded, such as "profkit is off"; otherwise empty
  std::optional<snapshot_record> snapshot;          ///< n/a for a session that has ended
};

/// @brief A group of ranks that communicate.
struct communicator_record {
  std::uint64_t id = 0;    ///< equal on all its ranks
  std::string name{};      ///< name given by the program; empty if there is none
  std::uint32_t rank = 0;  ///< rank of this process in the group
  std::uint32_t size = 0;  ///< number of its ranks; 0: unknown
};

/// @brief One operation of a communicator on this rank. On all ranks, the same communicator id, function and sequence number identify it.
///
/// On the device, the time of a collective of NCCL is the time of the kernels with its correlation number. Several collectives may share a
/// kernel. A message is counted by communicator, sender, receiver and tag.
struct collective_record {
  interval time;                   ///< on the host: the time of its scope; for NCCL, both ends are the moment before the kernel's launch
  std::uint64_t sequence = 0;      ///< from 0, counted by communicator and function
  std::uint64_t bytes = 0;         ///< size of the rank's data; 0: unknown
  std::uint64_t correlation = 0;   ///< correlation of the `api_call_record` that launched its kernel; 0: none, or unknown
  std::uint32_t communicator = 0;  ///< position in `profile::communicators`
  std::uint32_t function = 0;      ///< position in `profile::collective_words`: such as "AllReduce"
  std::uint32_t datatype = 0;      ///< position in `profile::collective_words`; an empty word is n/a, here and below
  std::uint32_t algorithm = 0;     ///< position in `profile::collective_words`: such as "RING"
  std::uint32_t protocol = 0;      ///< position in `profile::collective_words`: such as "LL128"
  std::uint32_t path = 0;          ///< position in `profile::paths` of the innermost scope; `path_record::no_parent` if none
  std::uint32_t thread = 0;        ///< position in `profile::threads`
  bool is_captured = false;        ///< issued during the capture of a CUDA graph: it runs in each replay
  message_side side = message_side::none;  ///< the side of this rank in a message; `time` is that of the scope that completed it
  std::uint32_t partner = 0;               ///< the other rank of a message, by its number in the communicator
  std::int32_t tag = 0;                    ///< tag of a message
  timestamp posted{};                      ///< when this rank started it; earlier than `time` if non-blocking. The epoch: at `time.begin`
};

/// @brief The speed of the host during a session. Source: `detail::host_probe`.
struct host_speed_record {
  std::chrono::nanoseconds before{};  ///< duration of the probe before the first measured step
  std::chrono::nanoseconds after{};   ///< duration of the probe after the last measured step; 0: not measured
  std::optional<double> waiting{};    ///< share of the time between the probes in which the step thread was runnable but not running
};

/// @brief What the process used between two moments, with all its threads and profkit's own. Source: `getrusage` (`RUSAGE_SELF`).
struct host_use_record {
  std::chrono::nanoseconds elapsed{};      ///< time between the two moments
  std::chrono::nanoseconds user{};         ///< processor time in the program
  std::chrono::nanoseconds system{};       ///< processor time in the kernel
  std::uint64_t minor_faults = 0;          ///< page faults without reading from a disk
  std::uint64_t major_faults = 0;          ///< page faults that read from a disk
  std::uint64_t voluntary_switches = 0;    ///< a thread gave its processor up, because it waited
  std::uint64_t involuntary_switches = 0;  ///< a thread lost its processor to another one
  std::uint32_t processors = 0;            ///< that the process may use; 0: unknown
};

/// @brief The machine and the program. Unknown texts are empty.
struct environment_record {
  std::string host;                               ///< host name
  std::string gpu;                                ///< name of the device of the first CUDA collector
  std::string driver;                             ///< highest CUDA version that the driver supports, such as "13.0"
  std::string cuda;                               ///< version of the CUDA runtime, such as "13.0"
  detail::own_vector<std::string> command;        ///< program and arguments
  std::uint64_t process_id = 0;                   ///< `getpid`
  std::optional<host_speed_record> host_speed{};  ///< n/a without measured steps
  std::optional<rank_record> rank{};              ///< n/a without a launcher, see `process_rank`

  /// @brief Random number of the boot of the machine. Processes with the same number share CLOCK_MONOTONIC, even in different containers.
  std::string boot_id{};
  /// @brief Nanoseconds by which times of this profile exceed CLOCK_MONOTONIC. Times of the profile are based on CLOCK_REALTIME at the
  /// beginning of the session. This offset makes processes of one machine comparable, even if CLOCK_REALTIME was set between them.
  std::optional<std::int64_t> clock_offset_ns{};
  std::optional<host_use_record> host_use{};  ///< since the first measured step; without steps, since the beginning of the session
};

/// @brief One node of the tree of scopes. Scopes with the same names from the root share a node.
struct path_record {
  static constexpr std::uint32_t no_parent = 0xffffffffU;  ///< marks roots and missing paths

  std::uint32_t parent = no_parent;   ///< position in `profile::paths`, smaller than the node's own
  std::string name;                   ///< name given by the program
  std::optional<std::int64_t> index;  ///< index of `PROF_SCOPE_INDEXED`; shown as `name_index`
  std::string file;                   ///< file of the first site that opened it
  std::uint32_t line = 0;             ///< line of that site

  /// @brief For adopting scopes: position of the adopted path, smaller than the node's own. `name` then combines the adopted path and the
  /// role, such as "forward/layer_3/attention (backward)".
  std::uint32_t adopted_from = no_parent;
  std::string role{};  ///< for adopting scopes: the role of the work, such as "backward"

  bool is_step = false;  ///< path of the session's steps, not of a scope that the program named `step`; at most one path
};

/// @brief A thread with scopes or launches.
struct thread_record {
  std::uint64_t system_id = 0;  ///< `gettid`
  std::string name;             ///< name in the kernel, read shortly after the thread's first scope

  /// @brief Path of the default scope (`set_default_scope`), to which launches outside any scope are charged; `no_parent` if none. A thread
  /// whose default scope changed has several entries.
  std::uint32_t default_path = path_record::no_parent;
};

/// @brief One scope.
struct scope_record {
  interval time;             ///< from the beginning to the end of the scope, host clock
  std::uint32_t path = 0;    ///< position in `profile::paths`
  std::uint32_t thread = 0;  ///< position in `profile::threads`
};

/// @brief One iteration of the measured loop.
struct step_record {
  interval time;             ///< from the beginning to the end of the step, host clock
  std::uint64_t index = 0;   ///< from 0, warm-up included
  bool warmup = false;       ///< excluded from all figures
  std::uint64_t items = 0;   ///< tokens, images, ...
  double model_flops = 0.0;  ///< floating-point operations of the model, declared by the program; 0: unknown
  bool has_kernels = true;   ///< kernels were collected in this step, if a kernel collector was used (`kernels=every:N`)
  bool is_excluded = false;  ///< excluded by the program (`step::exclude`); never a warm-up step

  /// @brief Whether the step counts in the figures.
  [[nodiscard]] bool is_measured() const noexcept { return !warmup && !is_excluded; }
};

/// @brief Declared work of a scope.
struct work_record {
  timestamp begin;         ///< beginning of the scope
  std::uint32_t path = 0;  ///< position in `profile::paths`
  profkit::work work;      ///< floating-point operations and bytes
};

/// @brief Time between the two CUDA events of a GPU scope. Source: `cudaEventElapsedTime`, resolution about 0.5 us.
struct gpu_scope_record {
  std::uint32_t path = 0;               ///< position in `profile::paths`
  timestamp begin;                      ///< beginning of the scope on the host
  std::int32_t device = 0;              ///< CUDA device number
  std::chrono::nanoseconds duration{};  ///< time between the two events
};

/// @brief Time between the CUDA events at both ends of a step. Source: `cudaEventElapsedTime`, resolution about 0.5 us.
struct gpu_step_record {
  std::uint64_t step = 0;               ///< `step_record::index`
  std::int32_t device = 0;              ///< CUDA device number
  std::chrono::nanoseconds duration{};  ///< time between the two events
};

/// @brief Kinds of GPU operations.
enum class gpu_operation_kind : std::uint8_t {
  kernel = 0,  ///< a kernel
  copy = 1,    ///< a copy, see `gpu_name_record::direction`
  set = 2,     ///< a memset
};

/// @brief The name of a kind of GPU operation, such as one kernel.
struct gpu_name_record {
  std::string name;     ///< demangled; for copies and memsets as in Nsight Systems, such as "[CUDA memcpy Host-to-Device]"
  std::string mangled;  ///< mangled name; empty if equal to `name`
  copy_direction direction = copy_direction::unknown;  ///< direction of copies; `unknown` for other operations
};

/// @brief What bounds the number of blocks of a kernel that run on a multiprocessor at the same time: bits of
/// `launch_shape_record::limits`.
namespace launch_limit {
inline constexpr std::uint8_t warps = 1;          ///< warps per multiprocessor
inline constexpr std::uint8_t registers = 2;      ///< registers per multiprocessor
inline constexpr std::uint8_t shared_memory = 4;  ///< shared memory per multiprocessor
inline constexpr std::uint8_t blocks = 8;         ///< blocks per multiprocessor
inline constexpr std::uint8_t barriers = 16;      ///< barriers per multiprocessor
}  // namespace launch_limit

/// @brief What a launch of a kernel needs on a multiprocessor (SM), and how many of its blocks fit into one. Sources: CUPTI activity
/// records, attributes of the CUDA driver, and NVIDIA's occupancy calculator (`cuda_occupancy.h`).
struct launch_shape_record {
  std::int32_t device = 0;                      ///< CUDA device number
  std::uint32_t multiprocessors = 0;            ///< number of SMs of the device; 0: unknown
  std::uint32_t max_warps = 0;                  ///< maximum number of resident warps of an SM; 0: unknown
  std::uint32_t threads = 0;                    ///< threads per block
  std::uint32_t registers = 0;                  ///< registers per thread
  std::uint32_t static_shared_bytes = 0;        ///< shared memory per block, fixed when the kernel was compiled
  std::uint32_t dynamic_shared_bytes = 0;       ///< shared memory per block, chosen at the launch
  std::uint32_t local_bytes = 0;                ///< local memory per thread
  std::uint32_t cluster_blocks = 1;             ///< blocks per thread block cluster; 1 without clusters
  std::uint32_t blocks_per_multiprocessor = 0;  ///< maximum number of resident blocks of an SM, whatever the cluster; 0: unknown
  std::uint8_t limits = 0;                      ///< what bounds this number: bits of `launch_limit`
};

/// @brief One kernel, copy or memset. Source: CUPTI activity records.
struct gpu_operation_record {
  interval time;                  ///< execution on the device, converted to the host clock
  std::uint64_t correlation = 0;  ///< equal to the correlation of the launching `api_call_record`; operations of one graph launch share it
  std::uint64_t bytes = 0;        ///< size of copies and memsets
  std::uint32_t name = 0;         ///< position in `profile::gpu_names`
  std::int32_t device = 0;        ///< CUDA device number
  std::uint32_t stream = 0;       ///< CUPTI's number of the stream
  std::array<std::uint32_t, 3> grid{};                   ///< blocks of a kernel
  std::array<std::uint32_t, 3> block{};                  ///< threads per block of a kernel
  gpu_operation_kind kind = gpu_operation_kind::kernel;  ///< kernel, copy or memset
  std::uint16_t shape = 0;                               ///< for kernels: 1 + position in `profile::launch_shapes`; 0: unknown
  std::uint64_t graph_node = 0;                          ///< `graph_node_record::node` for operations of CUDA graphs; 0 otherwise
};

/// @brief A node of a CUDA graph captured while kernels were collected, or of an executable graph created from it.
struct graph_node_record {
  std::uint64_t node = 0;                       ///< CUPTI's number of the node
  std::uint32_t path = path_record::no_parent;  ///< innermost open scope at its capture; `no_parent` if none
};

/// @brief A scope of a capture inside the scope that replays the graph: see `docs/cuda_graphs.md`. Of captures outside steps only.
struct replayed_scope_record {
  std::uint32_t launched_in = 0;  ///< position in `profile::paths`: the innermost scope open at the launch of a graph
  std::uint32_t captured_in = 0;  ///< the same at the capture of some of its nodes
  std::uint32_t path = 0;         ///< what their operations are charged to
};

/// @brief One call of the CUDA runtime or driver; usually only calls that launch operations or wait for a device. Sources: CUPTI callbacks,
/// timed by profkit, or with `kernel_options::all_api_calls` CUPTI activity records.
struct api_call_record {
  interval time;                  ///< from the beginning to the end of the call, host clock
  std::uint64_t correlation = 0;  ///< CUPTI's number of the call; the operations that it launched have the same number
  std::uint32_t name = 0;         ///< position in `profile::api_names`
  std::uint32_t thread = 0;       ///< position in `profile::threads`, where a system thread may have several entries
};

/// @brief One sample of `PROF_COUNTER`.
struct counter_record {
  timestamp time;             ///< when the sample was recorded
  double value = 0.0;         ///< value passed to `PROF_COUNTER`, in its unit
  std::uint32_t counter = 0;  ///< position in `profile::counter_names`
  std::uint32_t thread = 0;   ///< position in `profile::threads`
};

/// @brief One reading of a memory source at the end of a step.
struct memory_record {
  std::string source;                             ///< such as "host", "cuda", "libtorch"
  std::string quantity;                           ///< such as "resident", "used", "allocated"
  std::uint64_t step = 0;                         ///< `step_record::index`
  std::uint64_t current_bytes = 0;                ///< bytes in use at the end of the step
  std::optional<std::uint64_t> peak_bytes;        ///< peak that the source reports; n/a if it reports none
  std::string peak_note;                          ///< the period of the peak, such as "measured steps"
  std::optional<std::uint64_t> capacity_bytes{};  ///< total capacity, such as the memory of the device; n/a if unknown
};

/// @brief An allocator that reports its allocations (`record_allocation`) or is polled at scopes (`memory_source::at_scopes`).
struct allocator_record {
  std::string name;                  ///< name of the memory source, such as "libtorch"
  std::uint64_t bytes_at_start = 0;  ///< bytes in use when recording began
  bool is_polled = false;            ///< polled at the ends of scopes, so changes in between are unknown
};

/// @brief Kinds of `allocation_record`.
enum class allocation_kind : std::uint8_t {
  allocated = 0,  ///< the allocator handed out a block
  released = 1,   ///< the allocator took a block back
  usage = 2,      ///< the bytes in use, read where a scope is about to begin or to end
};

/// @brief An allocation, a release or a reading of usage. Its time differs from the beginnings and ends of all scopes of its thread.
struct allocation_record {
  timestamp time;                                     ///< when the block was allocated or released, or the usage was read
  std::uint64_t address = 0;                          ///< address of the block; unused for readings
  std::uint64_t bytes = 0;                            ///< size; for a release 0 if unknown; for a reading the bytes in use
  std::uint32_t thread = 0;                           ///< position in `profile::threads` of the calling thread
  std::uint16_t allocator = 0;                        ///< position in `profile::allocators`
  allocation_kind kind = allocation_kind::allocated;  ///< allocation, release or reading
};

/// @brief A reading of the clocks, power and temperature of a device. Source: NVML.
struct device_clock_record {
  timestamp time;                          ///< when the values were read
  std::uint64_t step = 0;                  ///< `step_record::index` of the step that ran, or that had ended at most 50 ms before
  std::int32_t device = 0;                 ///< CUDA device number
  std::uint32_t sm_mhz = 0;                ///< SM clock in MHz
  std::uint32_t max_sm_mhz = 0;            ///< maximum SM clock of the device
  std::uint64_t reasons = 0;               ///< reasons why the clock is not higher: bits of NVML's `nvmlClocksEventReason`
  std::optional<std::uint32_t> milliwatt;  ///< power draw in mW; n/a if the device does not report it
  std::optional<std::uint32_t> celsius;    ///< temperature in degrees Celsius; n/a if the device does not report it
};

/// @brief Kinds of events of unified (managed) memory.
enum class page_event_kind : std::uint8_t {
  to_device = 0,   ///< pages migrate to a device
  to_host = 1,     ///< pages migrate to the host
  between = 2,     ///< pages migrate between two devices
  gpu_faults = 3,  ///< the driver handles faults of a device
  cpu_fault = 4,   ///< a fault of a thread of the host
};

/// @brief An event of unified memory. Source: CUPTI, `CUpti_ActivityUnifiedMemoryCounter`.
struct page_event_record {
  interval time;             ///< execution, converted to the host clock; of a fault of the host both ends are its beginning
  std::uint64_t amount = 0;  ///< bytes of a migration, a lower bound; number of groups of faults; 1 for a fault of the host
  std::uint32_t function = path_record::no_parent;    ///< function and line that fault on the host: position in `profile::functions`
  std::int32_t device = 0;                            ///< CUDA device number; -1 for the host
  page_event_kind kind = page_event_kind::to_device;  ///< what happened
};

/// @brief A counter of energy. Sources: NVML (`nvmlDeviceGetTotalEnergyConsumption`), and RAPL of Linux (powercap).
struct energy_meter_record {
  std::string name;          ///< such as "GPU 0", "package-0", "dram of package-0"
  std::int32_t device = -1;  ///< CUDA device number; -1 for the host
};

/// @brief The energy of some measured steps, by one meter. Without the time between the steps. With a path: of the device during one scope.
struct energy_record {
  timestamp time;                               ///< when the energy was known
  std::chrono::nanoseconds duration{};          ///< sum of the durations of the steps
  std::uint64_t step = 0;                       ///< `step_record::index` of the last of the steps
  std::uint64_t steps = 0;                      ///< number of steps; 1 only if the step is long enough for a figure of its own
  std::uint64_t items = 0;                      ///< sum of `step_record::items`
  std::uint64_t microjoules = 0;                ///< energy, in uJ
  std::chrono::nanoseconds resolution{};        ///< mean time between two changes of the counter so far
  std::uint32_t meter = 0;                      ///< position in `profile::energy_meters`
  std::uint32_t path = path_record::no_parent;  ///< path of the scope, which belongs to `step`; `steps` and `items` are then 0
};

/// @brief Rates that the program measured on a device.
struct measured_roof_record {
  profkit::precision precision = profkit::precision::unknown;  ///< precision of `flops_per_second`
  double flops_per_second = 0.0;                               ///< 0: not measured
  double bytes_per_second = 0.0;                               ///< read and written; 0: not measured
  std::string how;                                             ///< how it was measured, such as "matrix product 8192 x 8192 x 8192"
};

/// @brief Kinds of collectors that sessions and reports treat specially, independent of their names.
enum class collector_kind : std::uint8_t {
  other = 0,            ///< no special treatment, such as a collector of the program
  kernels = 1,          ///< GPU operations and their launches
  gpu_clocks = 2,       ///< `profile::device_clocks`
  journal = 3,          ///< the session's journal
  gpu_utilization = 4,  ///< `profile::device_utilization`
  energy = 5,           ///< `profile::energy`
  unified_memory = 6,   ///< `profile::page_events`
};

/// @brief The outcome of a collector.
struct collector_record {
  std::string name;                             ///< name of the collector, such as "kernels"
  std::string status;                           ///< "collected" or "not collected"; for the journal "written", "not written" or "recovered"
  std::string reason;                           ///< why nothing was collected; empty if collected
  collector_kind kind = collector_kind::other;  ///< how sessions and reports treat the collector
};

/// @brief Why a session with `steps=auto` stopped.
struct stop_record {
  double wanted = 0.0;            ///< requested half-width of the 95 % interval, relative to the mean
  std::optional<double> reached;  ///< half-width at the last check; n/a without a check
  bool is_of_gpu = false;         ///< the decision is based on the GPU step time, because it was longer
  std::uint64_t max_steps = 0;    ///< maximum number of measured steps
};

/// @brief The recorded data as plain values. Collectors and sessions fill it, analyses and reports read it.
///
/// Save it with `save`, load it with `load`, analyse it with `analyze`. Positions in records refer to the tables of the same profile.
struct PROFKIT_TAGGED_TYPE profile {
  environment_record environment;                              ///< machine, process, versions and devices
  std::string item_name = "items";                             ///< name of the items that `step_record::items` counts, such as "tokens"
  interval time;                                               ///< from the beginning to the end of the session
  detail::own_vector<path_record> paths;                       ///< table: the tree of scopes
  detail::own_vector<thread_record> threads;                   ///< table: threads with scopes or launches
  detail::own_vector<scope_record> scopes;                     ///< scopes that have ended
  detail::own_vector<step_record> steps;                       ///< in order, warm-up and excluded steps included
  detail::own_vector<gpu_scope_record> gpu_scopes;             ///< times of `PROF_GPU_SCOPE`
  detail::own_vector<gpu_step_record> gpu_steps;               ///< times of `cuda_step_timer`
  detail::own_vector<gpu_name_record> gpu_names;               ///< table: names of GPU operations
  detail::own_vector<gpu_operation_record> gpu_operations;     ///< kernels, copies and memsets
  detail::own_vector<graph_node_record> graph_nodes;           ///< captured nodes of CUDA graphs; the last record of a node counts
  detail::own_vector<std::string> api_names;                   ///< such as "cudaLaunchKernel_v7000"
  detail::own_vector<api_call_record> api_calls;               ///< calls of the CUDA runtime or driver
  bool has_all_api_calls = false;                              ///< false: only calls that launch operations or wait for a device
  detail::own_vector<std::string> counter_names;               ///< table: names of `PROF_COUNTER`
  detail::own_vector<counter_record> counters;                 ///< samples of `PROF_COUNTER`
  detail::own_vector<memory_record> memory;                    ///< readings of memory sources at the ends of steps
  detail::own_vector<allocator_record> allocators;             ///< table: allocators with recorded or polled changes
  detail::own_vector<allocation_record> allocations;           ///< allocations, releases and readings
  detail::own_vector<work_record> work;                        ///< declared work of scopes
  detail::own_vector<communicator_record> communicators;       ///< table: communicators of collectives
  detail::own_vector<std::string> collective_words;            ///< names of functions, data types, algorithms and protocols
  detail::own_vector<collective_record> collectives;           ///< collectives of this rank
  detail::own_vector<function_record> functions;               ///< table: functions of host samples
  detail::own_vector<sample_record> samples;                   ///< host samples
  std::optional<sampling_record> sampling;                     ///< n/a without host samples
  profkit::precision precision = profkit::precision::unknown;  ///< default precision of `work` without a precision
  detail::own_vector<device_clock_record> device_clocks;       ///< readings of clocks, power and temperature
  detail::own_vector<device_utilization_record> device_utilization;  ///< windows of GPU utilization
  detail::own_vector<measured_roof_record> measured_roofs;           ///< rates that the program measured
  detail::own_vector<collector_record> collectors;                   ///< outcome of each collector
  quality_record quality;                                            ///< dropped and lost data, and the cost of recording
  std::optional<stop_record> stop;                                   ///< n/a for a fixed number of steps
  detail::own_vector<launch_shape_record> launch_shapes;             ///< table: shapes of launches; a session has at most 4,096
  detail::own_vector<energy_meter_record> energy_meters;             ///< table: counters of energy
  detail::own_vector<energy_record> energy;                          ///< energy of measured steps
  detail::own_vector<page_event_record> page_events;                 ///< migrations and faults of unified memory
  detail::own_vector<replayed_scope_record> replayed_scopes;         ///< table: captures outside steps, by scope of the replay
};

}  // namespace PROFKIT_NAMESPACE
