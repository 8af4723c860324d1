// SPDX-License-Identifier: Apache-2.0
//
// Replaces CUPTI, libcupti.so.13, in tests that need no GPU: passes records of operations that the test "launches", in buffers, with
// callbacks around each call. FAKE_CUPTI="cuptiActivityEnable=35" makes a function fail, see wanted_status.hpp; "version=18" sets the
// version.
#include "fake_libcupti.hpp"

#include <cupti.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "wanted_status.hpp"

extern "C" fake_cupti_controls fake_cupti;

namespace {

constexpr CUpti_CallbackId launch = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;
constexpr CUpti_CallbackId copying = CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync;
constexpr CUpti_CallbackId setting = CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async;
constexpr CUpti_CallbackId replaying = CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch;
constexpr CUpti_CallbackId waiting = CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize;

struct buffer {
  std::uint8_t* bytes = nullptr;
  std::size_t size = 0;
  std::size_t used = 0;
};

struct fake_state {
  std::mutex mutex;
  std::atomic<CUpti_CallbackFunc> callback{nullptr};  ///< a session may subscribe while other threads launch
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  std::set<std::uint32_t> kinds;
  std::set<CUpti_CallbackId> calls;
  std::set<CUpti_CallbackId> resources;
  std::uint64_t nodes = 0;
  buffer current;
};

fake_state& state() {
  static fake_state* const all = new fake_state;
  return *all;
}

std::uint64_t now() {
  return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds{1});
}

CUptiResult status_of(std::string const& function) { return static_cast<CUptiResult>(wanted_status("FAKE_CUPTI", function)); }

void give_back() {
  buffer const full = std::exchange(state().current, buffer{});
  if (full.bytes != nullptr) state().complete(nullptr, 0, full.bytes, full.size, full.used);
}

template <class Record>
void put(std::uint32_t kind, Record record) {
  static_assert(sizeof record % 8 == 0);
  if (state().kinds.count(kind) == 0) return;
  if (state().current.used + sizeof record > state().current.size) give_back();
  if (state().current.bytes == nullptr) {
    std::size_t max_records = 0;
    ++fake_cupti.buffers_requested;
    state().request(&state().current.bytes, &state().current.size, &max_records);
    if (state().current.bytes == nullptr) {
      ++fake_cupti.records_to_drop;
      return;
    }
  }
  record.kind = static_cast<CUpti_ActivityKind>(kind);
  std::memcpy(state().current.bytes + state().current.used, &record, sizeof record);
  state().current.used += sizeof record;
}

/// The call ends now.
void put_call(std::uint32_t kind, CUpti_CallbackId id, std::uint32_t correlation, std::uint64_t start) {
  CUpti_ActivityAPI record{};
  record.cbid = id;
  record.start = start;
  record.end = now();
  record.threadId = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  record.correlationId = correlation;
  put(kind, record);
}

/// A driver call: callbacks, and between them an action that receives the correlation.
template <class Function>
void called(CUpti_CallbackId id, CUpti_CallbackId of_runtime, Function&& function, void const* parameters = nullptr,
            CUresult result = CUDA_SUCCESS) {
  std::lock_guard<std::mutex> const lock{state().mutex};
  std::uint64_t data = 0;
  CUpti_CallbackData at{};
  at.correlationId = fake_cupti.next_correlation++;
  at.correlationData = &data;
  at.functionParams = parameters;
  bool const is_watched = state().callback != nullptr && state().calls.count(id) != 0;
  if (is_watched) fake_cupti.callbacks += 2;
  std::uint64_t const start = now();
  at.callbackSite = CUPTI_API_ENTER;
  if (is_watched) state().callback.load()(nullptr, CUPTI_CB_DOMAIN_DRIVER_API, id, &at);
  function(at.correlationId);
  put_call(CUPTI_ACTIVITY_KIND_RUNTIME, of_runtime, at.correlationId, start);
  at.callbackSite = CUPTI_API_EXIT;
  at.functionReturnValue = &result;
  if (is_watched) state().callback.load()(nullptr, CUPTI_CB_DOMAIN_DRIVER_API, id, &at);
}

template <class Record>
void ran(std::uint32_t kind, Record record, std::uint32_t correlation, std::uint64_t start, std::uint64_t end) {
  std::uint64_t const zero = fake_cupti.takes_calendar_times ? 0 : now();
  record.start = start == 0 ? 0 : zero + start;
  record.end = end == 0 ? 0 : zero + end;
  record.correlationId = correlation;
  put(kind, record);
}

template <class Record>
void launched(CUpti_CallbackId id, std::uint32_t kind, Record record, std::uint64_t start, std::uint64_t end) {
  called(id, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
         [&](std::uint32_t correlation) { ran(kind, record, correlation, start, end); });
}

void kernel(char const* mangled, std::uint32_t grid, std::uint64_t start, std::uint64_t end) {
  CUpti_ActivityKernel10 record{};
  record.name = mangled;
  record.gridX = static_cast<std::int32_t>(grid);
  record.gridY = record.gridZ = record.blockY = record.blockZ = 1;
  record.blockX = static_cast<std::int32_t>(fake_cupti.shape.threads);
  record.registersPerThread = fake_cupti.shape.registers;
  record.staticSharedMemory = static_cast<std::int32_t>(fake_cupti.shape.static_shared_bytes);
  record.dynamicSharedMemory = static_cast<std::int32_t>(fake_cupti.shape.dynamic_shared_bytes);
  record.localMemoryPerThread = fake_cupti.shape.local_bytes;
  record.clusterX = fake_cupti.shape.cluster_blocks;
  record.clusterY = record.clusterZ = fake_cupti.shape.cluster_blocks == 0 ? 0 : 1;
  record.streamId = 7;
  launched(launch, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, record, start, end);
}
void copy(std::uint8_t kind, std::uint64_t bytes, std::uint64_t start, std::uint64_t end) {
  CUpti_ActivityMemcpy6 record{};
  record.copyKind = kind;
  record.bytes = bytes;
  launched(copying, CUPTI_ACTIVITY_KIND_MEMCPY, record, start, end);
}
void set(std::uint64_t bytes, std::uint64_t start, std::uint64_t end) {
  CUpti_ActivityMemset4 record{};
  record.bytes = bytes;
  launched(setting, CUPTI_ACTIVITY_KIND_MEMSET, record, start, end);
}
void call() {
  std::lock_guard<std::mutex> const lock{state().mutex};
  put_call(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020, fake_cupti.next_correlation++, now());
}

void wait() {
  called(waiting, CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020, [](std::uint32_t) {});
}

void allocate(std::uint64_t address, std::uint64_t bytes, bool fails) {
  CUdeviceptr pointer = 0;
  cuMemAlloc_v2_params const parameters{&pointer, bytes};
  called(
      CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020, [&](std::uint32_t) { pointer = address; },
      &parameters, fails ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS);
}
void allocate_managed(std::uint64_t address, std::uint64_t bytes) {
  CUdeviceptr pointer = 0;
  cuMemAllocManaged_params const parameters{&pointer, bytes, 1};
  called(
      CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged, CUPTI_RUNTIME_TRACE_CBID_cudaMallocManaged_v6000,
      [&](std::uint32_t) { pointer = address; }, &parameters);
}
void release(std::uint64_t address) {
  cuMemFree_v2_params const parameters{address};
  called(
      CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020, [](std::uint32_t) {}, &parameters);
}

/// profkit accesses graph nodes only through CUPTI.
CUgraphNode node_of(std::uint64_t number) { return reinterpret_cast<CUgraphNode>(number); }

void tell(CUpti_CallbackIdResource id, std::uint64_t node, std::uint64_t original) {
  if (state().callback == nullptr || state().resources.count(id) == 0) return;
  CUpti_GraphData graph{};
  graph.node = node_of(node);
  graph.originalNode = node_of(original);
  CUpti_ResourceData data{};
  data.resourceDescriptor = &graph;
  state().callback.load()(nullptr, CUPTI_CB_DOMAIN_RESOURCE, id, &data);
}
std::uint64_t capture(std::uint32_t graph) {
  std::lock_guard<std::mutex> const lock{state().mutex};
  std::uint64_t const number = (std::uint64_t{graph} << 32U) | ++state().nodes;  // like real numbers, with the number of the graph
  tell(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, number, 0);
  return number;
}
/// Like the real CUPTI, reports the creation of the copy first.
std::uint64_t clone(std::uint64_t original, std::uint32_t into_graph) {
  std::uint64_t const number = capture(into_graph);
  std::lock_guard<std::mutex> const lock{state().mutex};
  tell(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, number, original);
  return number;
}
void run(fake_graph_node const& node, std::uint32_t correlation, std::uint64_t start) {
  switch (node.what) {
    case fake_graph_node::kind::kernel: {
      CUpti_ActivityKernel10 record{};
      record.name = "_Z4nodev";
      record.graphNodeId = node.number;
      return ran(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, record, correlation, start, start + 10);
    }
    case fake_graph_node::kind::copy: {
      CUpti_ActivityMemcpy6 record{};
      record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
      record.graphNodeId = node.number;
      return ran(CUPTI_ACTIVITY_KIND_MEMCPY, record, correlation, start, start + 10);
    }
    case fake_graph_node::kind::peer_copy: {
      CUpti_ActivityMemcpyPtoP4 record{};
      record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
      record.graphNodeId = node.number;
      return ran(CUPTI_ACTIVITY_KIND_MEMCPY2, record, correlation, start, start + 10);
    }
    case fake_graph_node::kind::set: {
      CUpti_ActivityMemset4 record{};
      record.graphNodeId = node.number;
      return ran(CUPTI_ACTIVITY_KIND_MEMSET, record, correlation, start, start + 10);
    }
  }
}
void replay(fake_graph_node const* nodes, std::size_t count, std::uint64_t start) {
  called(replaying, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000, [&](std::uint32_t correlation) {
    for (std::size_t i = 0; i < count; ++i) run(nodes[i], correlation, start + 10 * i);
  });
}

void page_event(std::uint32_t kind, std::uint64_t value, std::uint64_t start, std::uint64_t end) {
  std::lock_guard<std::mutex> const lock{state().mutex};
  CUpti_ActivityUnifiedMemoryCounter3 record{};
  std::uint64_t const zero = fake_cupti.takes_calendar_times ? 0 : now();
  record.counterKind = static_cast<CUpti_ActivityUnifiedMemoryCounterKind>(kind);
  record.value = value;
  record.start = start == 0 ? 0 : zero + start;
  record.end = end == 0 ? 0 : zero + end;
  put(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, record);
}

CUptiResult subscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, char const* function) {
  if (CUptiResult const status = status_of(function); status != CUPTI_SUCCESS) return status;
  if (fake_cupti.is_subscribed) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  *subscriber = nullptr;
  state().callback = callback;
  fake_cupti.is_subscribed = true;
  return CUPTI_SUCCESS;
}

std::size_t size_of(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
      return sizeof(CUpti_ActivityUnifiedMemoryCounter3);
    default:
      return sizeof(CUpti_ActivityAPI);
  }
}

}  // namespace

extern "C" {

fake_cupti_controls fake_cupti{kernel,
                               copy,
                               set,
                               call,
                               wait,
                               allocate,
                               release,
                               capture,
                               clone,
                               replay,
                               1,
                               0,
                               0,
                               0,
                               false,
                               false,
                               {1, 0, 0, 0, 0, 0},
                               page_event,
                               0,
                               allocate_managed,
                               {false},
                               {0}};

CUptiResult cuptiGetVersion(std::uint32_t* version) {
  auto const wanted = static_cast<std::uint32_t>(status_of("version"));
  *version = wanted != 0 ? wanted : CUPTI_API_VERSION;
  return status_of("cuptiGetVersion");
}
CUptiResult cuptiGetResultString(CUptiResult status, char const** text) {
  *text = status == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "CUPTI_ERROR_UNKNOWN";
  return CUPTI_SUCCESS;
}
CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void*, CUpti_SubscriberParams* parameters) {
  CUptiResult const status = subscribe(subscriber, callback, "cuptiSubscribe");
  if (status == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) std::strcpy(parameters->oldSubscriberName, "CUPTI for something");
  return status;
}
CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void*) {
  return subscribe(subscriber, callback, "cuptiSubscribe");
}
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
  std::lock_guard<std::mutex> const lock{state().mutex};
  state().callback = nullptr;
  state().calls.clear();
  state().resources.clear();
  fake_cupti.is_subscribed = false;
  return status_of("cuptiUnsubscribe");
}
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, std::uint32_t call_id, char const** name) {
  *name = nullptr;
  if (CUptiResult const status = status_of("cuptiGetCallbackName"); status != CUPTI_SUCCESS) return status;
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
    if (call_id == launch) *name = "cuLaunchKernel";
    if (call_id == copying) *name = "cuMemcpyAsync";
    if (call_id == setting) *name = "cuMemsetD8Async";
    if (call_id == replaying) *name = "cuGraphLaunch";
    if (call_id == waiting) *name = "cuStreamSynchronize";
    if (call_id == CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2) *name = "cuMemAlloc_v2";
  } else {
    if (call_id == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000) *name = "cudaLaunchKernel_v7000";
    if (call_id == CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000) *name = "cudaGraphLaunch_v10000";
    if (call_id == CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020) *name = "cudaStreamSynchronize_v3020";
    if (call_id == CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020) *name = "cudaDeviceSynchronize_v3020";
  }
  return *name == nullptr ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
}
CUptiResult cuptiEnableCallback(std::uint32_t enable, CUpti_SubscriberHandle, CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  std::lock_guard<std::mutex> const lock{state().mutex};
  auto& enabled = domain == CUPTI_CB_DOMAIN_RESOURCE ? state().resources : state().calls;
  if (enable != 0) {
    enabled.insert(id);
  } else {
    enabled.erase(id);
  }
  return status_of("cuptiEnableCallback");
}
CUptiResult cuptiGetGraphNodeId(CUgraphNode node, std::uint64_t* number) {
  *number = reinterpret_cast<std::uint64_t>(node);
  return status_of("cuptiGetGraphNodeId");
}
CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType) { return status_of("cuptiSetThreadIdType"); }
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete) {
  state().request = request;
  state().complete = complete;
  return status_of("cuptiActivityRegisterCallbacks");
}
CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute, size_t*, void*) { return status_of("cuptiActivitySetAttribute"); }
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  CUptiResult const status = status_of("cuptiActivityEnable");
  std::lock_guard<std::mutex> const lock{state().mutex};
  if (status == CUPTI_SUCCESS) state().kinds.insert(kind);
  return status;
}
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  std::lock_guard<std::mutex> const lock{state().mutex};
  state().kinds.erase(kind);
  return status_of("cuptiActivityDisable");
}
CUptiResult cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig* wanted, std::uint32_t count) {
  fake_cupti.page_counters = 0;
  for (std::uint32_t i = 0; i < count; ++i) fake_cupti.page_counters += wanted[i].enable;
  return status_of("cuptiActivityConfigureUnifiedMemoryCounter");
}
CUptiResult cuptiActivityFlushAll(std::uint32_t) {
  if (fake_cupti.blocks_flushes) ++fake_cupti.blocked_flushes;
  while (fake_cupti.blocks_flushes) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  std::lock_guard<std::mutex> const lock{state().mutex};
  give_back();
  return status_of("cuptiActivityFlushAll");
}
CUptiResult cuptiActivityGetNextRecord(std::uint8_t* bytes, size_t valid_bytes, CUpti_Activity** record) {
  std::uint8_t* const next = *record == nullptr ? bytes : reinterpret_cast<std::uint8_t*>(*record) + size_of((*record)->kind);
  if (next >= bytes + valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return status_of("cuptiActivityGetNextRecord");
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, size_t* dropped) {
  *dropped = static_cast<std::size_t>(std::exchange(fake_cupti.records_to_drop, 0));
  return status_of("cuptiActivityGetNumDroppedRecords");
}

}  // extern "C"
