// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scope_node.hpp"

namespace profkit {

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

}  // namespace profkit
