// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recorder.hpp"
#include "slow_path.hpp"

namespace profkit {

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

}  // namespace profkit
