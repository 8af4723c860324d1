// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace profkit::detail {

// The parts of NCCL's profiler interface that profkit uses. Layouts as in `src/include/plugin/profiler/profiler_v4.h`, `profiler_v5.h` and
// `profiler_v6.h` of NCCL (commits 276b2fe, 0e3a403 and 07cbae8). NCCL 2.27 uses version 4, and NCCL 2.28 version 5. Later versions use
// version 6 if a plugin has no newer one. In these versions the members below have the same positions, but `type` has 8 bits in version 4
// and 64 bits later.

/// Bits of the event mask, which are also the types of events.
enum nccl_event_type : std::uint64_t {
  nccl_coll = 1U << 1U,      ///< a collective was enqueued
  nccl_p2p = 1U << 2U,       ///< a send or receive was enqueued
  nccl_coll_api = 1U << 9U,  ///< `ncclAllReduce`, ... was called; since version 5, like the next one
  nccl_p2p_api = 1U << 10U,  ///< `ncclSend` or `ncclRecv` was called
};

/// Member `coll` of an event.
struct nccl_coll_event {
  std::uint64_t sequence;
  char const* function;
  void const* send_buffer;
  void* receive_buffer;
  std::size_t count;
  int root;
  char const* datatype;
  std::uint8_t channels;
  std::uint8_t warps;
  char const* algorithm;
  char const* protocol;
};

/// Member `p2p` of an event.
struct nccl_p2p_event {
  char const* function;
  void* buffer;
  char const* datatype;
  std::size_t count;
};

/// Member `collApi` of an event.
struct nccl_coll_api_event {
  char const* function;
  std::size_t count;
  char const* datatype;
  int root;
  void* stream;
  bool is_captured;
};

/// Member `p2pApi` of an event.
struct nccl_p2p_api_event {
  char const* function;
  std::size_t count;
  char const* datatype;
  void* stream;
  bool is_captured;
};

/// `ncclProfilerEventDescr_v*_t`
template <class Type>
struct nccl_event {
  Type type;
  void* parent;  ///< since version 5 the handle of the API call of a collective, send or receive
  int rank;
  union {
    nccl_coll_event coll;
    nccl_p2p_event p2p;
    nccl_coll_api_event coll_api;
    nccl_p2p_api_event p2p_api;
  };
};

using nccl_event_v4 = nccl_event<std::uint8_t>;
using nccl_event_v5 = nccl_event<std::uint64_t>;  ///< version 6 has the same layout
static_assert(offsetof(nccl_event_v4, coll) == 24 && offsetof(nccl_event_v5, coll) == 24, "NCCL's layout");
static_assert(offsetof(nccl_coll_event, datatype) == 48 && offsetof(nccl_coll_event, algorithm) == 64, "NCCL's layout");
static_assert(offsetof(nccl_coll_api_event, is_captured) == 40 && offsetof(nccl_p2p_api_event, is_captured) == 32, "NCCL's layout");

/// `ncclProfiler_v*_t`. `Init` is the type of its first function.
template <class Init, class Event>
struct nccl_profiler {
  char const* name;
  Init* init;
  int (*start_event)(void* context, void** handle, Event* event);
  int (*stop_event)(void* handle);
  int (*record_event_state)(void* handle, int state, void* arguments);
  int (*finalize)(void* context);
};

using nccl_init_v4 = int(void** context, int* mask, char const* name, std::uint64_t id, int nodes, int ranks, int rank, void* log);
using nccl_init_v5 = int(void** context, std::uint64_t id, int* mask, char const* name, int nodes, int ranks, int rank, void* log);

/// The size of an element. Source: `ncclTypeSize` of NCCL. @return 0 if the type is unknown.
[[nodiscard]] inline std::uint64_t nccl_bytes_of(std::string_view datatype) noexcept {
  if (datatype == "ncclInt8" || datatype == "ncclUint8" || datatype == "ncclFloat8e4m3" || datatype == "ncclFloat8e5m2") return 1;
  if (datatype == "ncclFloat16" || datatype == "ncclBfloat16") return 2;
  if (datatype == "ncclInt32" || datatype == "ncclUint32" || datatype == "ncclFloat32") return 4;
  if (datatype == "ncclInt64" || datatype == "ncclUint64" || datatype == "ncclFloat64") return 8;
  return 0;
}

}  // namespace profkit::detail
