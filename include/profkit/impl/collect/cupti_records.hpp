// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>
#if __has_include(<cuda_occupancy.h>)  // it comes with the headers of the CUDA runtime
#include <cuda_occupancy.h>
#endif

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "../../profile.hpp"
#include "../../time.hpp"
#include "../profile/own_containers.hpp"
#include "../profile/own_memory.hpp"
#include "cuda_driver.hpp"
#include "cupti_library.hpp"
#include "function_names.hpp"

namespace PROFKIT_NAMESPACE::detail {

struct cupti_buffer {
  std::uint8_t* bytes = nullptr;
  std::size_t used_bytes = 0;
};

/// The pool of buffers. A buffer is free, in use by CUPTI, or full. CUPTI requests buffers on launching threads and returns them on any
/// thread. There is one pool per process. It is never destroyed, because CUPTI may return buffers while the process exits.
class cupti_buffers {
 public:
  /// CUPTI's manual recommends 1 to 10 MB. While a thread waits to launch, only full buffers arrive: one of 1 MiB holds 25 ms of short
  /// kernels.
  static constexpr std::size_t buffer_bytes = std::size_t{1} << 20U;

  static cupti_buffers& instance() {
    static cupti_buffers* const buffers = new cupti_buffers;
    return *buffers;
  }

  /// A zeroed buffer. Null without memory: CUPTI then drops and counts records.
  std::uint8_t* take_free() noexcept {
    {
      std::lock_guard<std::mutex> const lock{mutex_};
      if (!free_.empty()) {
        std::uint8_t* const bytes = free_.back();
        free_.pop_back();
        return bytes;
      }
    }
    return make();
  }

  void put_full(cupti_buffer full) noexcept {
    {
      std::lock_guard<std::mutex> const lock{mutex_};
      full_.push_back(full);
    }
    changed_.notify_all();
  }

  /// Waits for a full buffer. Calls a function, which must not throw, after each `request_flush`.
  /// @return nothing after `close`, when all full buffers were taken.
  template <class Flush>
  std::optional<cupti_buffer> take_full(Flush const& flush) {
    std::unique_lock<std::mutex> lock{mutex_};
    for (;;) {
      changed_.wait(lock, [this] { return !full_.empty() || wants_flush_ || is_closed_; });
      if (!full_.empty()) break;
      if (is_closed_) return std::nullopt;
      wants_flush_ = false;
      ++in_hand_;  // `wait_until_read` also waits for the buffers of this call
      lock.unlock();
      flush();
      lock.lock();
      --in_hand_;
      changed_.notify_all();
    }
    cupti_buffer const first = full_.front();
    full_.erase(full_.begin());
    ++in_hand_;
    return first;
  }

  void request_flush() {
    {
      std::lock_guard<std::mutex> const lock{mutex_};
      wants_flush_ = true;
    }
    changed_.notify_all();
  }

  /// Returns a buffer of `take_full` to the pool.
  void put_read(cupti_buffer read) {
    std::memset(read.bytes, 0, read.used_bytes);
    {
      std::lock_guard<std::mutex> const lock{mutex_};
      free_.push_back(read.bytes);
      --in_hand_;
    }
    changed_.notify_all();
  }

  /// Allocates buffers until `count` are free, and touches their memory. So launching threads do not cause page faults.
  void keep_free(std::size_t count) {
    std::unique_lock<std::mutex> lock{mutex_};
    while (free_.size() < count) {
      lock.unlock();
      std::uint8_t* const bytes = make();
      if (bytes == nullptr) return;
      lock.lock();
      free_.push_back(bytes);
    }
  }

  /// Waits until all full buffers have been read.
  void wait_until_read() {
    std::unique_lock<std::mutex> lock{mutex_};
    changed_.wait(lock, [this] { return full_.empty() && in_hand_ == 0; });
  }

  void open() { set_closed(false); }
  void close() { set_closed(true); }

 private:
  /// Also reserves space in both lists, so that moving a buffer between them cannot fail.
  std::uint8_t* make() noexcept {
    void* bytes = nullptr;
    try {
      bytes = map_block(buffer_bytes);
      std::memset(bytes, 0, buffer_bytes);  // touches its pages
      std::lock_guard<std::mutex> const lock{mutex_};
      free_.reserve(made_ + 1);
      full_.reserve(made_ + 1);
      ++made_;
    } catch (...) {
      if (bytes != nullptr) unmap_block(bytes, buffer_bytes);
      return nullptr;
    }
    return static_cast<std::uint8_t*>(bytes);
  }

  void set_closed(bool is_closed) {
    {
      std::lock_guard<std::mutex> const lock{mutex_};
      is_closed_ = is_closed;
    }
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  own_vector<std::uint8_t*> free_;
  own_vector<cupti_buffer> full_;  ///< oldest first
  std::size_t in_hand_ = 0;        ///< number of buffers taken by the reader, and 1 while it flushes
  std::size_t made_ = 0;
  bool wants_flush_ = false;
  bool is_closed_ = false;
};

/// `_Z3fooi` -> "foo(int)"; other names are returned unchanged.
inline std::string demangle(char const* mangled) { return demangled_by_runtime(mangled).value_or(mangled); }

/// The content of some buffers. `name` of a record is a number of `cupti_record_reader`, not a position in the profile. Correlations have
/// 32 bits.
struct cupti_batch {
  own_vector<gpu_name_record> new_gpu_names;  ///< in the order of their numbers
  own_vector<std::string> new_api_names;
  own_vector<launch_shape_record> new_shapes;   ///< in the order of their numbers, from 1
  own_vector<gpu_operation_record> operations;  ///< times are from CLOCK_REALTIME, here and in `calls`
  own_vector<api_call_record> calls;            ///< `thread` is the system thread number
  own_vector<page_event_record> page_events;    ///< times are from CLOCK_REALTIME
  own_vector<std::uint64_t> program_counters;   ///< by page event: the instruction that faults on the host; otherwise 0
  std::uint64_t invalid = 0;                    ///< number of records without valid times

  /// Clears all members. Keeps the memory for the records of some buffers, because page faults would cost more than reading the records.
  void clear() {
    auto const clear_list = [](auto& list) {
      constexpr std::size_t max_kept_bytes = std::size_t{8} << 20U;
      if (list.capacity() * sizeof list[0] > max_kept_bytes) {
        list = std::decay_t<decltype(list)>();
      } else {
        list.clear();
      }
    };
    new_gpu_names.clear();
    new_api_names.clear();
    new_shapes.clear();
    clear_list(operations);
    clear_list(calls);
    clear_list(page_events);
    clear_list(program_counters);
    invalid = 0;
  }
};

/// Numbers the shapes of launches, and computes how many blocks of each fit into a multiprocessor. Source of the computation:
/// `cuda_occupancy.h` of the CUDA toolkit, with the default division of shared memory and L1 cache. Not thread-safe.
class launch_shape_table {
 public:
  explicit launch_shape_table(cuda_driver const& driver) : driver_{driver} {}

  /// @param kernel the number of its name.
  /// @return the number of the shape, from 1; 0 if the table is full.
  std::uint16_t number_of(CUpti_ActivityKernel8 const& launch, std::uint32_t kernel, own_vector<launch_shape_record>& new_shapes) {
    shape_key const key{
        static_cast<std::uint32_t>(launch.deviceId),
        static_cast<std::uint32_t>(launch.blockX) * static_cast<std::uint32_t>(launch.blockY) * static_cast<std::uint32_t>(launch.blockZ),
        launch.registersPerThread,
        static_cast<std::uint32_t>(launch.staticSharedMemory),
        static_cast<std::uint32_t>(launch.dynamicSharedMemory),
        launch.localMemoryPerThread,
        (std::max)(1U, launch.clusterX * launch.clusterY * launch.clusterZ)};
    if (recent_.size() <= kernel) recent_.resize(kernel + std::size_t{1});
    recent_shape& recent = recent_[kernel];
    if (recent.number != 0 && recent.key == key) return recent.number;
    auto const known = numbers_.find(key);
    if (known == numbers_.end() && numbers_.size() >= max_shapes) return 0;
    recent = {key, known != numbers_.end() ? known->second : static_cast<std::uint16_t>(numbers_.size() + 1)};
    if (known == numbers_.end()) {
      numbers_.emplace(key, recent.number);
      new_shapes.push_back(shape_of(key));
    }
    return recent.number;
  }

 private:
  static constexpr std::size_t max_shapes = 4096;

  /// Device, threads, registers, static and dynamic shared bytes, local bytes, blocks of a cluster.
  using shape_key = std::array<std::uint32_t, 7>;

  struct recent_shape {
    shape_key key{};
    std::uint16_t number = 0;
  };

  [[nodiscard]] launch_shape_record shape_of(shape_key const& key) {
    launch_shape_record shape{static_cast<std::int32_t>(key[0]), 0, 0, key[1], key[2], key[3], key[4], key[5], key[6], 0, 0};
#ifdef __cuda_occupancy_h__
    cudaOccDeviceProp const& device = properties_of(shape.device);
    shape.multiprocessors = static_cast<std::uint32_t>(device.numSms);
    if (device.warpSize > 0) shape.max_warps = static_cast<std::uint32_t>(device.maxThreadsPerMultiprocessor / device.warpSize);
    cudaOccFuncAttributes function;
    function.maxThreadsPerBlock = INT_MAX;
    function.numRegs = static_cast<int>(shape.registers);
    function.sharedSizeBytes = shape.static_shared_bytes;
    function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    function.maxDynamicSharedSizeBytes = shape.dynamic_shared_bytes;
    function.numBlockBarriers = 1;
    cudaOccDeviceState const state;
    cudaOccResult result{};
    int const threads = static_cast<int>(shape.threads);
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state, threads, shape.dynamic_shared_bytes) !=
        CUDA_OCC_SUCCESS)
      return shape;
    static_assert(launch_limit::warps == OCC_LIMIT_WARPS && launch_limit::registers == OCC_LIMIT_REGISTERS &&
                  launch_limit::shared_memory == OCC_LIMIT_SHARED_MEMORY && launch_limit::blocks == OCC_LIMIT_BLOCKS &&
                  launch_limit::barriers == OCC_LIMIT_BARRIERS);
    shape.blocks_per_multiprocessor = static_cast<std::uint32_t>((std::max)(0, result.activeBlocksPerMultiprocessor));
    shape.limits = static_cast<std::uint8_t>(result.limitingFactors & 0x1fU);
#endif
    return shape;
  }

#ifdef __cuda_occupancy_h__
  cudaOccDeviceProp const& properties_of(std::int32_t device) {
    auto const [known, is_new] = properties_.try_emplace(device);
    cudaOccDeviceProp& result = known->second;
    if (!is_new) return result;
    auto const number = [&](CUdevice_attribute which) { return driver_.attribute(device, which); };
    auto const size = [&](CUdevice_attribute which) { return static_cast<std::size_t>((std::max)(0, number(which))); };
    result.computeMajor = number(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    result.computeMinor = number(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    result.maxThreadsPerBlock = number(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    result.maxThreadsPerMultiprocessor = number(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    result.regsPerBlock = number(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
    result.regsPerMultiprocessor = number(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
    result.warpSize = number(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    result.sharedMemPerBlock = size(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    result.sharedMemPerMultiprocessor = size(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    result.numSms = number(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    result.sharedMemPerBlockOptin = size(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    result.reservedSharedMemPerBlock = size(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
    return result;
  }

  std::map<std::int32_t, cudaOccDeviceProp> properties_;
#endif
  cuda_driver const& driver_;
  std::map<shape_key, std::uint16_t> numbers_;
  own_vector<recent_shape> recent_;  ///< by the number of the kernel's name
};

/// Converts CUPTI activity records to profkit records. Not thread-safe.
class cupti_record_reader {
 public:
  cupti_record_reader(cupti_library const& cupti, cuda_driver const& driver) : cupti_{cupti}, shapes_{driver} {}

  /// @return false if the buffer could not be read to its end.
  bool read(std::uint8_t* bytes, std::size_t used_bytes, cupti_batch& into) {
    CUpti_Activity* record = nullptr;
    CUptiResult status = CUPTI_SUCCESS;
    while ((status = cupti_.get_next_record(bytes, used_bytes, &record)) == CUPTI_SUCCESS) read(*record, into);
    return status == CUPTI_ERROR_MAX_LIMIT_REACHED || status == CUPTI_ERROR_INVALID_KIND;  // the end of the buffer, or unwritten memory
  }

 private:
  // The oldest layout of each record that contains the graph node, of kernels the clusters (CUDA 11.8); newer layouts only append.
  void read(CUpti_Activity const& record, cupti_batch& into) {
    switch (record.kind) {
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
        auto const& kernel = reinterpret_cast<CUpti_ActivityKernel8 const&>(record);
        gpu_operation_record operation;
        if (!has_time(kernel, operation, into)) return;
        operation.name = number_of_kernel(kernel.name, into);
        operation.grid = {static_cast<std::uint32_t>(kernel.gridX), static_cast<std::uint32_t>(kernel.gridY),
                          static_cast<std::uint32_t>(kernel.gridZ)};
        operation.block = {static_cast<std::uint32_t>(kernel.blockX), static_cast<std::uint32_t>(kernel.blockY),
                           static_cast<std::uint32_t>(kernel.blockZ)};
        operation.shape = shapes_.number_of(kernel, operation.name, into.new_shapes);
        into.operations.push_back(operation);
        return;
      }
      case CUPTI_ACTIVITY_KIND_MEMCPY: {
        auto const& copy = reinterpret_cast<CUpti_ActivityMemcpy3 const&>(record);
        add_copy(copy, into);
        return;
      }
      case CUPTI_ACTIVITY_KIND_MEMCPY2: {
        auto const& copy = reinterpret_cast<CUpti_ActivityMemcpyPtoP2 const&>(record);
        add_copy(copy, into);
        return;
      }
      case CUPTI_ACTIVITY_KIND_MEMSET: {
        auto const& set = reinterpret_cast<CUpti_ActivityMemset2 const&>(record);
        gpu_operation_record operation;
        if (!has_time(set, operation, into)) return;
        operation.kind = gpu_operation_kind::set;
        operation.bytes = set.bytes;
        operation.name = number_of(
            "[CUDA memset]",
            [](char const* name) {
              return gpu_name_record{name, {}};
            },
            into);
        into.operations.push_back(operation);
        return;
      }
      case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
        return add_page_event(reinterpret_cast<CUpti_ActivityUnifiedMemoryCounter2 const&>(record), into);
      case CUPTI_ACTIVITY_KIND_RUNTIME:
        return add_call(record, CUPTI_CB_DOMAIN_RUNTIME_API, into);
      case CUPTI_ACTIVITY_KIND_DRIVER:
        return add_call(record, CUPTI_CB_DOMAIN_DRIVER_API, into);
      default:
        return;
    }
  }

  static timestamp time_of(std::uint64_t ns) { return timestamp{std::chrono::nanoseconds{static_cast<std::int64_t>(ns)}}; }

  template <class Record>
  static bool has_time(Record const& record, cupti_batch& into) {
    // Within 146 years after 1970, so that differences do not overflow. `cupti_placement` knows which of these times are possible. An
    // operation may end before it begins if CLOCK_REALTIME is set back.
    constexpr std::uint64_t latest = std::uint64_t{1} << 62U;
    bool const has_time = record.start != 0 && record.end != 0 && record.start < latest && record.end < latest;
    if (!has_time) ++into.invalid;
    return has_time;
  }

  template <class Record>
  bool has_time(Record const& record, gpu_operation_record& operation, cupti_batch& into) {
    if (!has_time(record, into)) return false;
    operation.time = {time_of(record.start), time_of(record.end)};
    operation.correlation = record.correlationId;
    operation.graph_node = record.graphNodeId;
    operation.device = static_cast<std::int32_t>(record.deviceId);
    operation.stream = record.streamId;
    return true;
  }

  template <class Record>
  void add_copy(Record const& copy, cupti_batch& into) {
    gpu_operation_record operation;
    if (!has_time(copy, operation, into)) return;
    operation.kind = gpu_operation_kind::copy;
    operation.bytes = copy.bytes;
    operation.name = number_of_copy(direction_of(copy.copyKind), into);
    into.operations.push_back(operation);
  }

  void add_page_event(CUpti_ActivityUnifiedMemoryCounter2 record, cupti_batch& into) {
    page_event_record event;
    std::uint64_t program_counter = 0;
    std::uint32_t device = record.srcId;
    event.amount = record.value;
    switch (record.counterKind) {
      case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD:
        device = record.dstId;
        break;
      case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH:
        event.kind = page_event_kind::to_host;
        break;
      case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD:
        event.kind = page_event_kind::between;
        device = record.dstId;
        break;
      case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT:
        event.kind = page_event_kind::gpu_faults;
        break;
      case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT:
        event.kind = page_event_kind::cpu_fault;
        device = CUPTI_UNIFIED_MEMORY_CPU_DEVICE_ID;
        program_counter = record.value;
        event.amount = 1;
        record.end = record.start;
        break;
      default:
        return;
    }
    if (!has_time(record, into)) return;
    event.time = {time_of(record.start), time_of(record.end)};
    event.device = static_cast<std::int32_t>(device);
    into.page_events.push_back(event);
    into.program_counters.push_back(program_counter);
  }

  void add_call(CUpti_Activity const& record, CUpti_CallbackDomain domain, cupti_batch& into) {
    auto const& call = reinterpret_cast<CUpti_ActivityAPI const&>(record);
    if (!has_time(call, into)) return;
    into.calls.push_back(
        {{time_of(call.start), time_of(call.end)}, call.correlationId, number_of_call(domain, call.cbid, into), call.threadId});
  }

  /// The number of a text. Tries the entry with the same address first and compares the text, because CUPTI may free a text together with
  /// its module.
  /// @param describe creates the entry of a new text.
  template <class Describe>
  std::uint32_t number_of(char const* text, Describe&& describe, cupti_batch& into) {
    std::uint32_t& recent = recent_[(reinterpret_cast<std::uintptr_t>(text) * std::uint64_t{0x9e3779b97f4a7c15}) >> (64U - recent_bits)];
    if (recent < texts_.size() && std::strcmp(texts_[recent]->c_str(), text) == 0) return recent;
    auto const [known, is_new] = numbers_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
    if (is_new) {
      texts_.push_back(&known->first);
      into.new_gpu_names.push_back(describe(text));
    }
    return recent = known->second;
  }

  std::uint32_t number_of_kernel(char const* mangled, cupti_batch& into) {
    auto const describe = [](char const* text) {
      std::string name = demangle(text);
      std::string const kept = name == text ? "" : text;
      return gpu_name_record{std::move(name), kept};
    };
    return number_of(mangled == nullptr ? "unknown kernel" : mangled, describe, into);
  }

  static copy_direction direction_of(std::uint8_t kind) {
    return kind < copy_directions ? static_cast<copy_direction>(kind) : copy_direction::unknown;
  }

  std::uint32_t number_of_copy(copy_direction direction, cupti_batch& into) {
    auto const describe = [direction](char const* name) { return gpu_name_record{name, {}, direction}; };
    return number_of(copy_names[static_cast<std::size_t>(direction)], describe, into);
  }

  std::uint32_t number_of_call(CUpti_CallbackDomain domain, CUpti_CallbackId id, cupti_batch& into) {
    std::uint64_t const key = (static_cast<std::uint64_t>(domain) << 32U) | id;
    auto const [known, is_new] = calls_.try_emplace(key, static_cast<std::uint32_t>(calls_.size()));
    if (is_new) {
      char const* name = nullptr;
      bool const has_name = cupti_.get_callback_name(domain, id, &name) == CUPTI_SUCCESS && name != nullptr;
      into.new_api_names.push_back(has_name ? name : "API call " + std::to_string(id));
    }
    return known->second;
  }

  static_assert(static_cast<int>(copy_direction::host_to_device) == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD &&
                static_cast<int>(copy_direction::device_to_host) == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH &&
                static_cast<int>(copy_direction::host_to_array) == CUPTI_ACTIVITY_MEMCPY_KIND_HTOA &&
                static_cast<int>(copy_direction::array_to_host) == CUPTI_ACTIVITY_MEMCPY_KIND_ATOH &&
                static_cast<int>(copy_direction::array_to_array) == CUPTI_ACTIVITY_MEMCPY_KIND_ATOA &&
                static_cast<int>(copy_direction::array_to_device) == CUPTI_ACTIVITY_MEMCPY_KIND_ATOD &&
                static_cast<int>(copy_direction::device_to_array) == CUPTI_ACTIVITY_MEMCPY_KIND_DTOA &&
                static_cast<int>(copy_direction::device_to_device) == CUPTI_ACTIVITY_MEMCPY_KIND_DTOD &&
                static_cast<int>(copy_direction::host_to_host) == CUPTI_ACTIVITY_MEMCPY_KIND_HTOH &&
                static_cast<int>(copy_direction::peer_to_peer) == CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
  static constexpr unsigned recent_bits = 10;

  cupti_library const& cupti_;
  launch_shape_table shapes_;
  own_hash_map<std::string, std::uint32_t> numbers_;          ///< by text: mangled names of kernels, names of copies and memsets
  own_vector<std::string const*> texts_;                      ///< keys of `numbers_`, by number
  std::uint32_t recent_[std::size_t{1} << recent_bits] = {};  ///< by address of the text
  own_hash_map<std::uint64_t, std::uint32_t> calls_;
};

}  // namespace PROFKIT_NAMESPACE::detail
