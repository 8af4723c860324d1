// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../../profile.hpp"
#include "../../time.hpp"
#include "../profile/own_memory.hpp"
#include "../record/log_event.hpp"

namespace profkit::detail {

/// Kinds of scopes.
enum class scope_kind : std::uint8_t {
  collapsed,  ///< without its own path; not in the profile
  ordinary,
  step
};

/// A scope or an API call that has begun.
struct open_range {
  timestamp begin;
  site const* call = nullptr;     ///< null for a scope
  std::uint32_t path = 0;         ///< path of the scope, or of the innermost scope around the call
  std::uint32_t correlation = 0;  ///< correlation of a call
  scope_kind kind = scope_kind::ordinary;

  /// Whether the scope has its own path. If not, `path` is the path of the parent.
  [[nodiscard]] bool has_path() const noexcept { return kind != scope_kind::collapsed; }
};

/// The open scopes and calls of a thread, outermost first.
///
/// Does not use `std::vector::push_back`, which builds an element elsewhere and copies it with wider loads. These loads wait for the narrow
/// stores (store forwarding fails), which took a quarter of the draining time.
class open_ranges {
 public:
  [[nodiscard]] bool empty() const noexcept { return depth_ == 0; }

  /// The number of open scopes and calls.
  [[nodiscard]] std::size_t depth() const noexcept { return depth_; }

  /// The innermost scope or call.
  [[nodiscard]] open_range const& back() const noexcept { return ranges_[depth_ - 1]; }

  /// The path of the innermost scope; `path_record::no_parent` if none is open.
  [[nodiscard]] std::uint32_t path() const noexcept { return empty() ? path_record::no_parent : back().path; }

  /// The next range needs no memory.
  void make_room() {
    if (__builtin_expect(depth_ == ranges_.size(), 0)) grow();
  }

  void push_scope(timestamp begin, std::uint32_t path, scope_kind kind = scope_kind::ordinary) {
    open_range& next = push();
    next.begin = begin;
    next.call = nullptr;
    next.path = path;
    next.kind = kind;
  }

  void push_call(timestamp begin, site const& call, std::uint32_t correlation) {
    std::uint32_t const around = path();
    open_range& next = push();
    next.begin = begin;
    next.call = &call;
    next.path = around;
    next.correlation = correlation;
  }

  void pop() noexcept { --depth_; }

  /// The number of open scopes.
  [[nodiscard]] std::uint64_t scopes() const noexcept {
    std::uint64_t result = 0;
    for (std::size_t i = 0; i < depth_; ++i) result += ranges_[i].call == nullptr ? 1U : 0U;
    return result;
  }

  /// Calls a function for each scope and call, innermost first.
  template <class Visit>
  void for_each(Visit const& visit) const {
    for (std::size_t i = depth_; i-- > 0;) visit(ranges_[i]);
  }

  /// The innermost scope; there must be one.
  [[nodiscard]] open_range const& innermost_scope() const noexcept {
    std::size_t i = depth_ - 1;
    while (ranges_[i].call != nullptr) --i;
    return ranges_[i];
  }

 private:
  open_range& push() {
    make_room();
    return ranges_[depth_++];
  }

  __attribute__((noinline)) void grow() { ranges_.resize(2 * ranges_.size() + 8); }

  own_vector<open_range> ranges_;  ///< entries beyond `depth_` are reused
  std::size_t depth_ = 0;
};

}  // namespace profkit::detail
