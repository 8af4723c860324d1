// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>

#include "../record/scope_work.hpp"

namespace PROFKIT_NAMESPACE::detail {

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
  int peer;
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
static_assert(offsetof(nccl_p2p_event, peer) == 32, "NCCL's layout");
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

/// Strings of NCCL that describe a collective. They are string literals of its library.
struct nccl_words {
  char const* function;
  char const* datatype;
  char const* algorithm;
  char const* protocol;
};

/// A communicator of NCCL. Never destroyed: logs point to it.
class nccl_communicator {
 public:
  nccl_communicator(char const* name, std::uint64_t id, int ranks, int rank) noexcept
      : group_{copy_of(name), id, static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(ranks), 0} {}

  /// The kind of collective with these words. Thread-safe. Allocates for the first collective of a kind.
  /// @return null without memory.
  [[nodiscard]] reported_collective const* kind_of(nccl_words const& words, bool is_captured, message_side side) noexcept {
    kind* first = __atomic_load_n(&kinds_, __ATOMIC_ACQUIRE);
    for (kind* each = first; each != nullptr; each = each->next) {
      reported_collective const& what = each->what;
      // Equal words of one library have equal addresses.
      if (what.function == words.function && what.datatype == words.datatype && what.algorithm == words.algorithm &&
          what.protocol == words.protocol && what.is_captured == is_captured && what.side == side) {
        return &what;
      }
    }
    auto* const added =
        new (std::nothrow) kind{{&group_, words.function, words.datatype, words.algorithm, words.protocol, is_captured, side}, first};
    if (added == nullptr) return nullptr;
    keep_library_of(words.function);
    // A thread may add the same kind twice, which changes nothing.
    while (!__atomic_compare_exchange_n(&kinds_, &added->next, added, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
    return &added->what;
  }

  /// Counts a message. NCCL keeps the order of the messages between two ranks. Thread-safe.
  /// @return its number.
  [[nodiscard]] std::uint64_t next_message(message_side side, std::uint32_t partner) noexcept {
    return (side == message_side::send ? group_.sent : group_.received).next(partner, 0);
  }

  [[nodiscard]] communicator const& group() const noexcept { return group_; }
  /// The next element in the list of all communicators, or null.
  [[nodiscard]] nccl_communicator const* next() const noexcept { return next_; }
  [[nodiscard]] bool is_in_use() const noexcept { return !__atomic_load_n(&is_destroyed_, __ATOMIC_RELAXED); }
  void set_destroyed() noexcept { __atomic_store_n(&is_destroyed_, true, __ATOMIC_RELAXED); }

  /// Adds the communicator to a list, at its head. Thread-safe.
  void put_into(nccl_communicator*& list) noexcept {
    next_ = __atomic_load_n(&list, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&list, &next_, this, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
  }

 private:
  struct kind {
    reported_collective what;
    kind* next;
  };

  static char const* copy_of(char const* name) noexcept {
    char const* const copy = name == nullptr ? nullptr : ::strdup(name);
    return copy == nullptr ? "" : copy;
  }

  /// Keeps the library of a string literal loaded after `dlclose`, because logs point to the literal.
  static void keep_library_of(char const* literal) noexcept {
    ::Dl_info found{};
    bool const is_found = ::dladdr(literal, &found) != 0;
    // For a name without a slash, `dlopen` would search folders.
    if (is_found && __builtin_strchr(found.dli_fname, '/') != nullptr) {
      static_cast<void>(::dlopen(found.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE));
    }
  }

  communicator group_;
  kind* kinds_ = nullptr;              ///< list; new elements are added at its head
  nccl_communicator* next_ = nullptr;  ///< next element in the list of all communicators
  bool is_destroyed_ = false;          ///< NCCL uses it no more
};

/// The state that the plugin and the collector share.
struct nccl_plugin_state {
  std::uint32_t is_wanted = 0;          ///< a collector is running
  std::uint64_t communicators = 0;      ///< number of communicators that NCCL created with the plugin
  nccl_communicator* latest = nullptr;  ///< head of the list of all communicators, so that leak checkers find them
};

/// A plugin of NCCL with its state. NCCL knows only the first part.
template <class Init, class Event>
struct nccl_plugin {
  nccl_profiler<Init, Event> profiler;
  void const* recorder;  ///< its address also says which layout `state` has
  nccl_plugin_state* state;
};

inline nccl_plugin_state nccl_state{};

/// The functions of the plugin. NCCL calls them on the threads that call NCCL, and on threads of CUDA. They do not synchronise the device,
/// lock only while they count a message, and allocate only for a new communicator, a new partner, and the first collective of a kind.
class nccl_callbacks {
 public:
  static int init_v4(void** context, int* mask, char const* name, std::uint64_t id, int, int ranks, int rank, void*) {
    return begin(context, new (std::nothrow) nccl_communicator{name, id, ranks, rank}, mask, nccl_coll | nccl_p2p);
  }

  static int init_v5(void** context, std::uint64_t id, int* mask, char const* name, int, int ranks, int rank, void*) {
    return begin(context, new (std::nothrow) nccl_communicator{name, id, ranks, rank}, mask,
                 nccl_coll | nccl_p2p | nccl_coll_api | nccl_p2p_api);
  }

  static int start_v4(void* context, void** handle, nccl_event_v4* event) {
    *handle = nullptr;  // nothing to stop
    take_task(context, *event);
    return 0;
  }

  /// A call during the capture of a graph gets a handle, which NCCL passes on to its collectives. NCCL enqueues these in each replay, on a
  /// thread of CUDA, and only if the graph needs the host for a network. So the call is recorded instead.
  static int start_v5(void* context, void** handle, nccl_event_v5* event) {
    *handle = nullptr;
    if (event->type == nccl_coll_api && event->coll_api.is_captured) {
      *handle = &captured_call;
      add(context, words_of(event->coll_api), 0, event->coll_api.count, true, message_side::none);
    } else if (event->type == nccl_p2p_api && event->p2p_api.is_captured) {
      *handle = &captured_call;
      add(context, words_of(event->p2p_api), 0, event->p2p_api.count, true, message_side::none);
    } else if (event->parent != &captured_call) {
      take_task(context, *event);
    }
    return 0;
  }

  static int stop(void*) { return 0; }
  static int record_state(void*, int, void*) { return 0; }
  static int finalize(void* context) {  // logs point to the communicator
    if (context != nullptr) static_cast<nccl_communicator*>(context)->set_destroyed();
    return 0;
  }

 private:
  static inline char captured_call = 0;  ///< only its address is used, as the handle

  static int begin(void** context, nccl_communicator* created, int* mask, std::uint64_t wanted) noexcept {
    *context = created;
    if (created != nullptr) created->put_into(nccl_state.latest);
    *mask = created == nullptr ? 0 : static_cast<int>(wanted);
    __atomic_fetch_add(&nccl_state.communicators, std::uint64_t{1}, __ATOMIC_RELAXED);
    return 0;
  }

  /// Records an operation that was enqueued.
  template <class Event>
  static void take_task(void* context, Event const& event) noexcept {
    if (event.type == nccl_coll) {
      nccl_words words = words_of(event.coll);
      words.algorithm = word_of(event.coll.algorithm);
      words.protocol = word_of(event.coll.protocol);
      add(context, words, event.coll.sequence, event.coll.count, false, message_side::none);
    } else if (event.type == nccl_p2p && context != nullptr) {
      nccl_words const words = words_of(event.p2p);
      message_side const side = words.function == std::string_view{"Send"} ? message_side::send : message_side::receive;
      auto const partner = static_cast<std::uint32_t>(event.p2p.peer);
      if (partner == static_cast<nccl_communicator*>(context)->group().rank) return;
      // Also counted without a session, because sessions of other ranks may have begun earlier.
      std::uint64_t const number = static_cast<nccl_communicator*>(context)->next_message(side, partner);
      add(context, words, packed_message(number, partner), event.p2p.count, false, side);
    }
  }

  static void add(void* context, nccl_words const& words, std::uint64_t sequence, std::uint64_t count, bool is_captured,
                  message_side side) noexcept {
    if (context == nullptr || __atomic_load_n(&nccl_state.is_wanted, __ATOMIC_RELAXED) == 0) return;
    if ((__atomic_load_n(&recorder.flags, __ATOMIC_RELAXED) & recording) == 0) return;
    reported_collective const* const what = static_cast<nccl_communicator*>(context)->kind_of(words, is_captured, side);
    if (what != nullptr) put_reported_collective(*what, sequence, count * nccl_bytes_of(words.datatype));
  }

  template <class Operation>
  static nccl_words words_of(Operation const& operation) noexcept {
    return {word_of(operation.function), word_of(operation.datatype), no_word, no_word};
  }

  static constexpr char const* no_word = "";
  static char const* word_of(char const* text) noexcept { return text == nullptr ? no_word : text; }
};

// NCCL looks these symbols up in the executable (NCCL_PROFILER_PLUGIN=STATIC_PLUGIN), which exports them (cmake/profkit.symbols).
extern "C" {
__attribute__((used, visibility("default"))) inline nccl_plugin<nccl_init_v4, nccl_event_v4> ncclProfiler_v4{
    {"profkit", nccl_callbacks::init_v4, nccl_callbacks::start_v4, nccl_callbacks::stop, nccl_callbacks::record_state,
     nccl_callbacks::finalize},
    &recorder,
    &nccl_state};
__attribute__((used, visibility("default"))) inline nccl_plugin<nccl_init_v5, nccl_event_v5> ncclProfiler_v5{
    {"profkit", nccl_callbacks::init_v5, nccl_callbacks::start_v5, nccl_callbacks::stop, nccl_callbacks::record_state,
     nccl_callbacks::finalize},
    &recorder,
    &nccl_state};
__attribute__((used, visibility("default"))) inline nccl_plugin<nccl_init_v5, nccl_event_v5> ncclProfiler_v6{
    {"profkit", nccl_callbacks::init_v5, nccl_callbacks::start_v5, nccl_callbacks::stop, nccl_callbacks::record_state,
     nccl_callbacks::finalize},
    &recorder,
    &nccl_state};
}

}  // namespace PROFKIT_NAMESPACE::detail
