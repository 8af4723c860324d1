// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "../../error.hpp"
#include "../record/own_thread.hpp"
#include "../record/process_identity.hpp"
#include "../record/quiet_thread.hpp"
#include "cuda_driver.hpp"
#include "cupti_launches.hpp"
#include "cupti_library.hpp"
#include "cupti_records.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Records all operations of all devices with CUPTI, from construction until `finish`. One per process at a time.
class cupti_tracing {
 public:
  /// Initialises CUDA, then CUPTI.
  /// @throws profkit::error that states the reason, such as the tool that uses CUPTI. CUPTI is then unchanged.
  explicit cupti_tracing(bool all_api_calls) : has_all_api_calls_{all_api_calls} {
    if (is_running().exchange(true)) throw error{"another collector of kernels runs in this process; there can be one at a time"};
    try {
      subscribe();
      enable();
      start_reader();
    } catch (...) {
      shut_down();
      is_running() = false;
      throw;
    }
  }

  ~cupti_tracing() {
    shut_down();
    is_running() = false;
  }

  cupti_tracing(cupti_tracing const&) = delete;
  cupti_tracing& operator=(cupti_tracing const&) = delete;

  /// The records read since the last call. @param into replaced; its memory is reused for the next records.
  void take(cupti_batch& into) {
    into.clear();
    std::lock_guard<std::mutex> const lock{mutex_};
    std::swap(batch_, into);
  }

  /// Starts or stops recording of operations and launches; to be called between steps. If the state changes, it synchronises the devices:
  /// so recorded operations were launched while recording, and a recorded step begins with idle devices. Graph captures and driver memory
  /// are always recorded.
  /// @throws profkit::error with the failed call.
  void record(bool wanted) {
    bool const switches_callbacks = !wanted && !has_all_api_calls_ && launches_.is_listening();
    if (wanted == is_recording_ && !switches_callbacks) return;
    std::lock_guard<std::mutex> const lock{switch_mutex_};
    if (wanted == is_recording_) {
      // A whole step without recording has passed, so no recorded launch is still running.
      launches_.listen(false, cupti_, subscriber_);
      return;
    }
    cupti_launches::record(false);
    driver_.synchronize_devices();
    if (wanted) {
      enable_kinds();
      if (!has_all_api_calls_) launches_.listen(true, cupti_, subscriber_);
      cupti_launches::record(true);
    } else {
      disable_kinds([this](CUptiResult status) { cupti_.check(status, "cuptiActivityDisable"); });
    }
  }

  /// From now on, also records migrations and faults of unified memory, until `finish`. CUDA is initialised, as CUPTI needs it.
  /// @throws profkit::error with the failed call.
  void record_unified_memory() {
    std::array<CUpti_ActivityUnifiedMemoryCounterConfig, page_counters.size()> wanted{};
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      wanted[i].scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES;
      wanted[i].kind = page_counters[i];
      wanted[i].enable = 1;
    }
    cupti_.check(cupti_.configure_unified_memory(wanted.data(), static_cast<std::uint32_t>(wanted.size())),
                 "cuptiActivityConfigureUnifiedMemoryCounter");
    cupti_.check(cupti_.enable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER), "cuptiActivityEnable");
    has_unified_memory_ = true;
  }

  /// Synchronises the devices, stops recording, and waits until all records have been read.
  void finish() {
    driver_.synchronize_devices();
    disable_kinds([](CUptiResult) {});
    if (has_unified_memory_.exchange(false)) static_cast<void>(cupti_.disable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER));
    cupti_.check(cupti_.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "cuptiActivityFlushAll");
    buffers_.wait_until_read();
    std::size_t dropped = 0;
    cupti_.check(cupti_.get_dropped_records(nullptr, 0, &dropped), "cuptiActivityGetNumDroppedRecords");
    dropped_ += dropped;
  }

  /// Requests the buffers whose records are all complete. Does not synchronise the devices, and does not wait: CUPTI does while a thread
  /// launches into a full queue, for example of a device that hangs. Must not be called while `finish` runs.
  /// @throws profkit::error with the failed call, if an earlier one failed.
  void flush() {
    cupti_.check(flush_status_.load(), "cuptiActivityFlushAll");
    buffers_.request_flush();
  }

  /// The graph nodes that were captured or copied since the last call.
  /// @param last whether to include the newest node, which may be about to become a copy.
  [[nodiscard]] own_vector<cupti_graph_nodes::captured_node> take_graph_nodes(bool last) { return graph_nodes_.take_changed(last); }

  /// Number of lost records; final after `finish`.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  static constexpr std::array kinds{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
                                    CUPTI_ACTIVITY_KIND_MEMSET};
  static constexpr std::array page_counters{
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT};
  static constexpr std::array api_kinds{CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER};

  /// Free buffers kept for launching threads, because each launching thread fills its own buffer.
  static constexpr std::size_t spare_buffers = 16;

  static std::atomic<bool>& is_running() {
    static std::atomic<bool> value{false};
    return value;
  }

  void subscribe() {
    CUptiResult status = CUPTI_SUCCESS;
    std::array<char, 64> other{};
#if CUPTI_API_VERSION >= 130000
    if (cupti_.subscribe_v2 != nullptr) {
      CUpti_SubscriberParams parameters{};
      parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
      parameters.subscriberName = "profkit";
      parameters.oldSubscriberName = other.data();
      parameters.oldSubscriberSize = other.size();
      status = cupti_.subscribe_v2(&subscriber_, on_callback, nullptr, &parameters);
    } else
#endif
    {
      status = cupti_.subscribe(&subscriber_, on_callback, nullptr);
    }
    is_subscribed_ = status == CUPTI_SUCCESS;
    if (status == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED || status == CUPTI_ERROR_DISABLED) {
      throw error{other_tool(other.data()) + " uses CUPTI, and CUPTI supports one tool at a time", static_cast<int>(status)};
    }
    cupti_.check(status, "cuptiSubscribe");
  }

  /// @param name as reported by CUPTI. It is empty or "CUPTI for <not provided>" if the tool gave no name.
  static std::string other_tool(std::string name) {
    if (::secure_getenv("NSYS_PROFILING_SESSION_ID") != nullptr) return "Nsight Systems";
    if (!name.empty() && name.find("<not provided>") == std::string::npos) return name;
    char const* const injected = ::secure_getenv("CUDA_INJECTION64_PATH");
    if (injected != nullptr) return std::string{"the tool "} + injected;
    return "another tool (such as the profiler of PyTorch, which keeps it once used)";
  }

  void enable() {
    cupti_.check(cupti_.set_thread_id_type(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM), "cuptiSetThreadIdType");
    std::uint8_t is_zeroed = 1;
    std::size_t size = sizeof is_zeroed;
    cupti_.check(cupti_.set_attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &is_zeroed), "cuptiActivitySetAttribute");
    buffers_.keep_free(spare_buffers);
    cupti_.check(cupti_.register_callbacks(request_buffer, complete_buffer), "cuptiActivityRegisterCallbacks");
    graph_nodes_.start(cupti_, subscriber_);
    cupti_allocations::enable(cupti_, subscriber_);
    enable_kinds();
    if (!has_all_api_calls_) launches_.enable(cupti_, subscriber_);
  }

  void enable_kinds() {
    is_recording_ = true;
    for (CUpti_ActivityKind const kind : kinds) cupti_.check(cupti_.enable(kind), "cuptiActivityEnable");
    if (!has_all_api_calls_) return;
    for (CUpti_ActivityKind const kind : api_kinds) cupti_.check(cupti_.enable(kind), "cuptiActivityEnable");
  }

  /// @param check called with the status of each call.
  template <class Check>
  void disable_kinds(Check&& check) {
    if (!std::exchange(is_recording_, false)) return;
    for (CUpti_ActivityKind const kind : kinds) check(cupti_.disable(kind));
    if (!has_all_api_calls_) return;
    for (CUpti_ActivityKind const kind : api_kinds) check(cupti_.disable(kind));
  }

  void start_reader() {
    buffers_.open();
    reader_thread_ = std::make_unique<own_thread>("profkit-cupti", [this] { read_buffers(); });
  }

  void read_buffers() {
    cupti_batch batch;
    while (auto const full = buffers_.take_full([this] { flush_now(); })) {
      try {
        batch.clear();
        if (!reader_.read(full->bytes, full->used_bytes, batch)) dropped_ += 1;  // at least one record
        add(batch);
      } catch (std::exception const&) {  // no memory: the number of records is unknown
        dropped_ += 1;
      }
      buffers_.put_read(*full);
      buffers_.keep_free(spare_buffers);
    }
  }

  /// Does nothing while `record` runs on another thread.
  void flush_now() noexcept {
    std::unique_lock<std::mutex> const lock{switch_mutex_, std::try_to_lock};
    if (lock.owns_lock()) flush_status_ = cupti_.flush_all(0);
  }

  void add(cupti_batch& batch) {
    auto const append = [](auto& to, auto& from) {
      to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    };
    std::lock_guard<std::mutex> const lock{mutex_};
    append(batch_.new_gpu_names, batch.new_gpu_names);
    append(batch_.new_api_names, batch.new_api_names);
    append(batch_.new_shapes, batch.new_shapes);
    append(batch_.operations, batch.operations);
    append(batch_.calls, batch.calls);
    append(batch_.page_events, batch.page_events);
    append(batch_.program_counters, batch.program_counters);
    batch_.invalid += batch.invalid;
  }

  void shut_down() noexcept {
    if (!is_process(process_)) {  // in the child of a fork, CUPTI and the thread belong to the parent
      static_cast<void>(reader_thread_.release());
      return;
    }
    if (std::exchange(is_subscribed_, false)) {
      disable_kinds([](CUptiResult) {});
      if (has_unified_memory_.exchange(false)) static_cast<void>(cupti_.disable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER));
      static_cast<void>(cupti_.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
      static_cast<void>(cupti_.unsubscribe(subscriber_));
    }
    if (reader_thread_ == nullptr) return;
    buffers_.close();
    reader_thread_->join();
    reader_thread_.reset();
  }

  static void CUPTIAPI on_callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, void const* data) {
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
      if (!cupti_launches::on_call(id, data)) cupti_allocations::on_call(id, data);
    } else if (domain == CUPTI_CB_DOMAIN_RESOURCE && !is_quiet()) {
      foreign_call const call;  // it allocates
      cupti_graph_nodes::instance().on_resource(id, data);
    }
  }

  static void CUPTIAPI request_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
    foreign_call const call;
    *buffer = cupti_buffers::instance().take_free();
    *size = *buffer == nullptr ? 0 : cupti_buffers::buffer_bytes;
    *max_records = 0;  // no limit
  }

  static void CUPTIAPI complete_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t used_bytes) {
    foreign_call const call;
    if (buffer != nullptr) cupti_buffers::instance().put_full({buffer, used_bytes});
  }

  bool const has_all_api_calls_;
  std::uint64_t const process_ = identify_process();
  cuda_driver driver_;
  cupti_library cupti_;
  cupti_buffers& buffers_ = cupti_buffers::instance();
  cupti_graph_nodes& graph_nodes_ = cupti_graph_nodes::instance();
  cupti_launches launches_;
  cupti_record_reader reader_{cupti_, driver_};
  std::unique_ptr<own_thread> reader_thread_;
  std::mutex switch_mutex_;  ///< `record` and `flush` exclude each other
  std::mutex mutex_;
  cupti_batch batch_;  ///< guarded by `mutex_`
  std::atomic<std::uint64_t> dropped_{0};
  CUpti_SubscriberHandle subscriber_ = nullptr;
  bool is_subscribed_ = false;
  bool is_recording_ = false;  ///< whether operations are recorded
  std::atomic<bool> has_unified_memory_{false};
  std::atomic<CUptiResult> flush_status_{CUPTI_SUCCESS};  ///< of the latest `flush_now`
};

}  // namespace PROFKIT_NAMESPACE::detail
