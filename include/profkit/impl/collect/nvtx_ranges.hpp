// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/auxv.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "../record/other_modules.hpp"
#include "../record/recorder.hpp"
#include "../record/scope_node.hpp"
#include "../record/slow_path.hpp"
#include "nvtx.hpp"

// Without a CUDA toolkit there are no NVTX headers, and no tool can receive ranges.
#if __has_include(<nvtx3/nvToolsExt.h>)
// NVTX defines all its functions in each translation unit. Optimising them takes g++ a second, although they only call the tool.
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__) && defined(__OPTIMIZE__)
#pragma GCC push_options
#pragma GCC optimize("Og")
#include <nvtx3/nvToolsExt.h>
#pragma GCC pop_options
#else
#include <nvtx3/nvToolsExt.h>
#endif
/// @brief 1 if the NVTX headers were found, so that scopes are also NVTX ranges; otherwise 0.
#define PROFKIT_HAS_NVTX 1
#else
#define PROFKIT_HAS_NVTX 0
#endif

namespace PROFKIT_NAMESPACE::detail {

/// Returns false if the environment variable contains `nvtx=off`, such as `PROFKIT=...,nvtx=off,...`. It is read here, because scopes may
/// open before a session reads the options. Also returns false in a program with more privileges than its user, because NVTX opens the
/// library in NVTX_INJECTION64_PATH.
inline bool nvtx_is_wanted() noexcept {
  if (::getauxval(AT_SECURE) != 0 || is_in_library_of_run()) return false;
  char const* const text = ::secure_getenv("PROFKIT");
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    std::size_t const comma = rest.find(',');
    std::string_view const item = rest.substr(0, comma);
    if (item == "nvtx=off" || item == "off") return false;
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  return true;
}

#if PROFKIT_HAS_NVTX

/// Registered strings of indexed scopes (`layer_3`), by site and index. Entries are never removed. A lock-free table with open addressing:
/// the thread that sets `where` first owns the entry and publishes `name` after registration.
struct nvtx_indexed_name {
  site const* where;
  std::int64_t index;
  nvtxStringHandle_t name;
};

struct nvtx_state {
  static constexpr std::uint64_t table_size = 1U << 14U;
  nvtxDomainHandle_t domain = nullptr;
  nvtx_indexed_name table[table_size] = {};
};

inline nvtx_state nvtx{};

inline nvtxEventAttributes_t nvtx_attributes(nvtxStringHandle_t registered, char const* text) noexcept {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  if (registered != nullptr) {
    attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attributes.message.registered = registered;
  } else {
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = text;
  }
  return attributes;
}

inline void push_nvtx(nvtxStringHandle_t registered, char const* text) noexcept {
  nvtxEventAttributes_t attributes = nvtx_attributes(registered, text);
  attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  attributes.payload.ullValue = __atomic_load_n(&recorder.step, __ATOMIC_RELAXED);
  nvtxDomainRangePushEx(nvtx.domain, &attributes);
}

/// Two threads may register the same name at the same time; a tool returns the same string for both.
inline nvtxStringHandle_t registered_name(site& where) noexcept {
  void* known = __atomic_load_n(&where.nvtx_name, __ATOMIC_ACQUIRE);
  if (known == nullptr) {
    known = nvtxDomainRegisterStringA(nvtx.domain, where.name);
    __atomic_store_n(&where.nvtx_name, known, __ATOMIC_RELEASE);
  }
  return static_cast<nvtxStringHandle_t>(known);
}

/// Returns null if another thread is registering the same name, or if the table is full. The caller then passes the text.
inline nvtxStringHandle_t registered_name(site const& where, std::int64_t index, char const* text) noexcept {
  std::uint64_t hash = reinterpret_cast<std::uint64_t>(&where) * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(index);
  hash = (hash ^ (hash >> 29U)) * 0xbf58476d1ce4e5b9U;
  for (std::uint64_t probe = 0; probe < 64; ++probe) {
    nvtx_indexed_name& entry = nvtx.table[(hash + probe) % nvtx_state::table_size];
    site const* owner = __atomic_load_n(&entry.where, __ATOMIC_ACQUIRE);
    if (owner == nullptr && __atomic_compare_exchange_n(&entry.where, &owner, &where, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      entry.index = index;
      nvtxStringHandle_t const name = nvtxDomainRegisterStringA(nvtx.domain, text);
      __atomic_store_n(&entry.name, name, __ATOMIC_RELEASE);
      return name;
    }
    if (owner != &where) continue;
    nvtxStringHandle_t const name = __atomic_load_n(&entry.name, __ATOMIC_ACQUIRE);
    if (name == nullptr) return nullptr;
    if (entry.index == index) return name;
  }
  return nullptr;
}

inline void push_nvtx_range(site& where, std::int64_t const* index) noexcept {
  if (is_quiet()) return;
  foreign_call const call;
  if (index == nullptr) {
    push_nvtx(registered_name(where), where.name);
    return;
  }
  char text[256];
  static_cast<void>(std::snprintf(text, sizeof text, "%s_%lld", where.name, static_cast<long long>(*index)));
  push_nvtx(registered_name(where, *index, text), text);
}

/// Builds the text "forward/layer_3/attention (backward)", truncated to the buffer.
class nvtx_node_name {
 public:
  explicit nvtx_node_name(scope_node const& node) noexcept {
    push({&node, part::name});
    while (count_ > 0) {
      part const next = parts_[--count_];
      if (next.kind == part::role) {
        append(" (");
        append(next.node->where().name);
        append(")");
        continue;
      }
      if (next.kind == part::name_behind_slash) append("/");
      if (next.node->kind() == event_kind::enter_adopted) {
        push({next.node, part::role});
        push_path(next.node->adopted_from());
      } else {
        append_name(*next.node);
      }
    }
  }

  [[nodiscard]] char const* text() const noexcept { return text_; }

 private:
  void append(char const* text) noexcept {
    while (*text != '\0' && length_ + 1 < sizeof text_) text_[length_++] = *text++;
  }

  /// The name of a node that adopts no other.
  void append_name(scope_node const& node) noexcept {
    append(node.where().name);
    if (node.kind() != event_kind::enter_indexed) return;
    char digits[24];
    static_cast<void>(std::snprintf(digits, sizeof digits, "_%lld", static_cast<long long>(node.index())));
    append(digits);
  }

  /// Parts of the name that are not in the text yet, the last one first.
  struct part {
    scope_node const* node;
    enum : std::uint8_t { name, name_behind_slash, role } kind;
  };

  void push(part next) noexcept {
    if (count_ < max_parts) parts_[count_++] = next;
  }

  void push_path(scope_node const& node) noexcept {
    for (scope_node const* at = &node; at != nullptr; at = at->parent) {
      bool const is_outermost = at->parent == nullptr || at->parent->kind() == event_kind::enter_step;
      push({at, is_outermost ? part::name : part::name_behind_slash});
      if (is_outermost) return;
    }
  }

  /// Each waiting part is one of the names of the node.
  static constexpr std::size_t max_parts = 256;  // `adopting_scope::max_path_length`

  char text_[512] = {};
  std::size_t length_ = 0;
  part parts_[max_parts];
  std::size_t count_ = 0;
};

inline void push_nvtx_node(scope_node& where) noexcept {
  if (is_quiet()) return;
  foreign_call const call;
  void* known = __atomic_load_n(&where.nvtx_name, __ATOMIC_ACQUIRE);
  if (known == nullptr) {
    known = nvtxDomainRegisterStringA(nvtx.domain, nvtx_node_name{where}.text());
    __atomic_store_n(&where.nvtx_name, known, __ATOMIC_RELEASE);
  }
  push_nvtx(static_cast<nvtxStringHandle_t>(known), where.where().name);
}

/// `recorder_state::enter` if a tool listens.
inline open_scope_word enter_nvtx(std::uint32_t flags, site& where, event_kind kind, std::uint64_t payload) noexcept {
  if (is_quiet()) return 0;
  tell_listeners(flags, 0);
  auto const index = static_cast<std::int64_t>(payload);
  push_nvtx_range(where, kind == event_kind::enter_indexed ? &index : nullptr);
  return record_enter(flags, tagged(where, kind), payload) | (flags & flags_for_end);
}

/// `recorder_state::leave` if a tool listens. Scopes that began before the tool attached have no range. Leaving a scope that is not open on
/// this thread ends no range. The range of a scope left without its destructor ends with the next outer one.
inline void leave_nvtx(open_scope_word open, std::uint64_t now) noexcept {
  std::uint64_t ended = 1;
  if (open != nvtx_attached || __atomic_load_n(&recorder.flags, __ATOMIC_RELAXED) != nvtx_attached) ended = leave_with_listeners(open, now);
  if ((open & nvtx_attached) == 0 || is_quiet()) return;
  foreign_call const call;
  for (; ended > 0; --ended) nvtxDomainRangePop(nvtx.domain);
}

inline std::uint64_t start_nvtx_range(site& where) noexcept {
  foreign_call const call;
  nvtxEventAttributes_t const attributes = nvtx_attributes(registered_name(where), where.name);
  return nvtxDomainRangeStartEx(nvtx.domain, &attributes);
}

inline void end_nvtx_range(std::uint64_t number) noexcept {
  foreign_call const call;
  nvtxDomainRangeEnd(nvtx.domain, number);
}

#endif

[[gnu::used]] inline bool install_nvtx() noexcept {
#if PROFKIT_HAS_NVTX
  bool const is_there = (__atomic_load_n(&recorder.flags, __ATOMIC_ACQUIRE) & nvtx_attached) != 0;
  if (is_there || !nvtx_is_wanted()) return false;
  place_thread_states();
  foreign_call const call;
  nvtx.domain = nvtxDomainCreateA("profkit");
  if (nvtx.domain == nullptr) return false;  // no tool
  recorder.nvtx_push = push_nvtx_range;
  recorder.nvtx_push_node = push_nvtx_node;
  recorder.nvtx_start = start_nvtx_range;
  recorder.nvtx_end = end_nvtx_range;
  __atomic_store_n(&recorder.leave, &leave_nvtx, __ATOMIC_RELEASE);
  __atomic_store_n(&recorder.enter, &enter_nvtx, __ATOMIC_RELEASE);
  __atomic_fetch_or(&recorder.flags, nvtx_attached, __ATOMIC_RELEASE);
  return true;
#else
  return false;
#endif
}

}  // namespace PROFKIT_NAMESPACE::detail
