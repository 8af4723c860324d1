// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recorder.hpp"
#include "unusual_scope.hpp"

namespace profkit {

/// Calls a function on whatever thread, before one of its scopes or steps begins and before one ends: what happened on the thread since the
/// call before happened in the scope that is open now (`scope_token::current`). With it a library that numbers what it makes can tell
/// where, without looking at each thing. There is one at a time in a process. Costs a scope two calls, and nothing where there is none.
class scope_listener {
 public:
  /// @param before_change neither throws nor opens scopes. It may be called for a moment longer than the listener lives.
  explicit scope_listener(void (*before_change)() noexcept) noexcept {
    void (*none)() noexcept = nullptr;
    is_attached_ =
        __atomic_compare_exchange_n(&detail::recorder.before_change, &none, before_change, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    if (!is_attached_) return;
    detail::install_unusual_scopes();
    __atomic_fetch_or(&detail::recorder.flags, detail::has_listener, __ATOMIC_RELEASE);
  }

  ~scope_listener() {
    if (!is_attached_) return;
    __atomic_fetch_and(&detail::recorder.flags, ~detail::has_listener, __ATOMIC_RELEASE);
    __atomic_store_n(&detail::recorder.before_change, static_cast<void (*)() noexcept>(nullptr), __ATOMIC_RELEASE);
  }

  scope_listener(scope_listener const&) = delete;
  scope_listener& operator=(scope_listener const&) = delete;

  /// False if another one listens.
  [[nodiscard]] bool is_attached() const noexcept { return is_attached_; }

 private:
  bool is_attached_ = false;
};

}  // namespace profkit
