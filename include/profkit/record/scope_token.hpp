// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scope_node.hpp"

namespace profkit {

/// Says in which scope some work was called for, so that whoever does it, on whatever thread and however much later, can be charged to that
/// scope: take one with `current`, hand it over with the work, and open an `adopting_scope` there. A copy of a pointer, valid for as long
/// as the process runs, also when the scope has ended.
class scope_token {
 public:
  /// Of no scope.
  constexpr scope_token() noexcept = default;

  /// Of the innermost scope that is open on this thread. Of none if none is, if no session records, or if the process has had more than
  /// about 16,000 different places in its tree of scopes. Neither locks, allocates nor throws; takes a few nanoseconds for each scope
  /// that is open on the thread.
  [[nodiscard]] static scope_token current() noexcept {
    std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_RELAXED);
    detail::thread_log const* const log = detail::this_thread_log();
    if ((flags & detail::recording) == 0 || log == nullptr) return {};
    return scope_token{detail::current_node(*log)};
  }

  /// The same, or where this thread belongs while it is outside any scope (`charge_thread_to`): what it launches is charged to that.
  [[nodiscard]] static scope_token of_launches() noexcept {
    scope_token const open = current();
    detail::thread_log const* const log = detail::this_thread_log();
    std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_RELAXED);
    if (open || log == nullptr || (flags & detail::recording) == 0) return open;
    return scope_token{log->rest};
  }

  /// Whether it is of a scope.
  explicit operator bool() const noexcept { return node_ != nullptr; }

  /// The node, for code of profkit.
  [[nodiscard]] detail::scope_node const* node() const noexcept { return node_; }

 private:
  explicit constexpr scope_token(detail::scope_node const* node) noexcept : node_{node} {}

  detail::scope_node const* node_ = nullptr;
};

}  // namespace profkit
