// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "recorder.hpp"
#include "scope.hpp"
#include "scope_node.hpp"
#include "slow_path.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief Identifies the scope that requested some work, so that the work can be linked to it on any thread and at any later time.
///
/// Take a token with `current`, pass it along with the work, and open an `adopting_scope` with it. A token is a pointer: cheap to copy, and
/// valid until the process ends, also after the scope has ended.
class scope_token {
 public:
  /// @brief An empty token.
  constexpr scope_token() noexcept = default;

  /// @brief The token of the innermost scope that is open on this thread.
  ///
  /// Empty if no scope is open, no session records, or the tree of scopes of the process has more than about 16,000 places. Does not lock,
  /// allocate or throw. Takes a few nanoseconds per open scope.
  [[nodiscard]] static scope_token current() noexcept {
    std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_RELAXED);
    detail::thread_log const* const log = detail::this_thread_scopes();
    if ((flags & detail::recording) == 0 || log == nullptr) return {};
    return scope_token{detail::current_node(*log)};
  }

  /// @brief The scope to which launches of this thread are charged now: like `current`, but outside any scope it is the default scope of
  /// this thread (`set_default_scope`).
  [[nodiscard]] static scope_token of_launches() noexcept {
    scope_token const open = current();
    detail::thread_log const* const log = detail::this_thread_scopes();
    std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_RELAXED);
    if (open || log == nullptr || (flags & detail::recording) == 0) return open;
    return scope_token{log->default_scope};
  }

  /// @brief Whether the token identifies a scope.
  explicit operator bool() const noexcept { return node_ != nullptr; }

  /// @brief The node in the tree of scopes; for internal use.
  [[nodiscard]] detail::scope_node const* node() const noexcept { return node_; }

 private:
  explicit constexpr scope_token(detail::scope_node const* node) noexcept : node_{node} {}

  detail::scope_node const* node_ = nullptr;
};

namespace detail {

/// Charges GPU operations that this thread launches outside any scope to a place in the tree of scopes. @param name any site.
inline void charge_launches_to(scope_node const* node, site& name) noexcept {
  std::uint32_t const flags = __atomic_load_n(&recorder.flags, __ATOMIC_RELAXED);
  thread_log* const log = (flags & recording) != 0 && node != nullptr ? log_of_this_thread() : nullptr;
  auto const claimed = log != nullptr ? log->claim(3) : 0;
  if (claimed == 0) return;
  log->default_scope = node;
  log->put(claimed, tagged(name, event_kind::default_scope), ticks(flags), reinterpret_cast<std::uint64_t>(node));
}

}  // namespace detail

/// @brief Sets the default scope of this thread. From now on, it is charged with GPU operations that the thread launches outside any scope.
///
/// For threads of a library that runs work of the program, such as an autograd engine. Does nothing without a session. Does not lock,
/// allocate or throw.
/// @param name the name of the default scope.
/// @param under its parent; an empty token for a root.
inline void set_default_scope(site& name, scope_token under) noexcept {
  if ((__atomic_load_n(&detail::recorder.flags, __ATOMIC_RELAXED) & detail::recording) == 0) return;
  detail::charge_launches_to(detail::scope_nodes.find(under.node(), detail::tagged(name, detail::event_kind::enter), 0), name);
}

/// @brief A scope that links work, usually on another thread, to the scope that requested it. Use it through `PROF_ADOPT_SCOPE`.
///
/// If the site is named `backward` and the token belongs to `forward/layer_3/attention`, the scope is shown as `forward/layer_3/attention
/// (backward)`, in reports and as NVTX range. In the tree of scopes it is a child of the scope that is open on its own thread. Reports show
/// the time of the work beside the linked scope.
///
/// If the table of scope nodes is full (see `scope_token::current`), or the path would exceed `max_path_length`, it is a plain scope named
/// after the role. Threads, errors and cost: see `scope`.
class adopting_scope : protected scope {
 public:
  /// @brief Maximum number of names in a path, including those of adopted scopes. It bounds the paths of tasks that pass tokens on forever.
  static constexpr std::uint32_t max_path_length = 256;

  /// @brief Begins the scope.
  /// @param role how the work relates to the adopted scope, such as "backward".
  /// @param adopted the scope that requested the work. With an empty token this is a plain scope named after the role.
  /// @param under the parent if no scope is open on this thread: usually the scope in which another thread waits for the work.
  [[nodiscard]] adopting_scope(site& role, scope_token adopted, scope_token under = {}) noexcept {
    std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_ACQUIRE);
    if (__builtin_expect(flags != 0, 0)) begin_adopting(flags, role, adopted, under);
  }

 private:
  static std::uint32_t names_of(scope_token place) noexcept { return place ? place.node()->names : 0; }

  void begin_adopting(std::uint32_t flags, site& role, scope_token adopted, scope_token under) noexcept {
    if (detail::is_quiet()) return;
    scope_token around = scope_token::current();
    detail::thread_log const* const here = detail::this_thread_scopes();
    bool const is_lost = !around && (flags & detail::recording) != 0 && here != nullptr && detail::is_inside_scope(*here);
    if (!around) around = under;
    using detail::event_kind;
    std::uint64_t const what = detail::tagged(role, event_kind::enter_adopted);
    detail::scope_node* node = nullptr;
    if (!is_lost && names_of(around) + names_of(adopted) < max_path_length) {
      node = adopted ? detail::scope_nodes.find(around.node(), what, reinterpret_cast<std::uint64_t>(adopted.node()))
                     : detail::scope_nodes.find(around.node(), detail::tagged(role, event_kind::enter), 0);
    }
    if (node == nullptr) {  // the table is full, or the path too long
      begin(flags, role);
      return;
    }
    detail::tell_listeners(flags, 0);
    if ((flags & detail::nvtx_attached) != 0) detail::recorder.nvtx_push_node(*node);
    begun(detail::record_enter(flags, what, reinterpret_cast<std::uint64_t>(node)) | (flags & detail::flags_for_end));
  }
};

/// @brief Calls a function before a scope or step of any thread begins and before it ends.
///
/// Everything that happened on the thread since the previous call belongs to the scope that is open now (`scope_token::current`). So a
/// library that numbers its objects can assign ranges of numbers to scopes, without recording each object.
///
/// Only one listener can exist per process. While it exists, it adds two function calls to each scope; otherwise it costs nothing.
class scope_listener {
 public:
  /// @brief Starts listening, unless another listener exists: see `is_attached`.
  /// @param before_change called on the thread of the scope. Must not throw or open scopes. It may be called shortly after the destruction
  /// of the listener.
  explicit scope_listener(void (*before_change)() noexcept) noexcept {
    void (*none)() noexcept = nullptr;
    is_attached_ =
        __atomic_compare_exchange_n(&detail::recorder.before_change, &none, before_change, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    if (!is_attached_) return;
    detail::install_slow_path();
    __atomic_fetch_or(&detail::recorder.flags, detail::has_listener, __ATOMIC_RELEASE);
  }

  /// @brief Stops listening. Does not wait for a call that is running on another thread. Afterwards another listener can exist.
  ~scope_listener() {
    if (!is_attached_) return;
    __atomic_fetch_and(&detail::recorder.flags, ~detail::has_listener, __ATOMIC_RELEASE);
    __atomic_store_n(&detail::recorder.before_change, static_cast<void (*)() noexcept>(nullptr), __ATOMIC_RELEASE);
  }

  scope_listener(scope_listener const&) = delete;
  scope_listener& operator=(scope_listener const&) = delete;

  /// @brief False if another listener existed at construction.
  [[nodiscard]] bool is_attached() const noexcept { return is_attached_; }

 private:
  bool is_attached_ = false;
};

}  // namespace PROFKIT_NAMESPACE
