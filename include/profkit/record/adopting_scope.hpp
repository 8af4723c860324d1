// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scope.hpp"
#include "scope_node.hpp"
#include "scope_token.hpp"
#include "unusual_scope.hpp"

namespace profkit {

/// A scope that does work for another one, which a token names: shown as `forward/layer_3/attention (backward)` if `backward` is the name
/// of the site and the token is of `forward/layer_3/attention`, in the report as in NVTX. Use it through `PROF_ADOPT_SCOPE`.
/// In the tree it lies inside what is open on its own thread, as any scope does; the report puts the time of the two side by side.
/// Where there is no room for the place (see `scope_token::current`), or its path would be longer than `longest_path`, it is a plain scope
/// that has the name of the role. Same rules as `scope`.
class adopting_scope : private scope {
 public:
  /// In names, with those of adopted scopes. A task that hands a token on to the next forever would make paths without end.
  static constexpr std::uint32_t longest_path = 256;

  /// @param role what the work is to the adopted scope, such as "backward".
  /// @param of the scope that the work is done for. Of none: this is a scope that has the name of the role.
  /// @param under in what to lie if nothing is open on this thread: usually where another thread waits for the work.
  [[nodiscard]] adopting_scope(site& role, scope_token of, scope_token under = {}) noexcept {
    std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_ACQUIRE);
    if (__builtin_expect(flags != 0, 0)) begin_adopting(flags, role, of, under);
  }

 private:
  static std::uint32_t names_of(scope_token place) noexcept { return place ? place.node()->names : 0; }

  void begin_adopting(std::uint32_t flags, site& role, scope_token of, scope_token under) noexcept {
    scope_token around = scope_token::current();
    detail::thread_log const* const here = detail::this_thread_log();
    bool const is_lost = !around && (flags & detail::recording) != 0 && here != nullptr && detail::is_inside_scope(*here);
    if (!around) around = under;
    using detail::event_kind;
    std::uint64_t const adopted = detail::tagged(role, event_kind::enter_adopted);
    detail::scope_node* node = nullptr;
    if (!is_lost && names_of(around) + names_of(of) < longest_path) {
      node = of ? detail::scope_nodes.find(around.node(), adopted, reinterpret_cast<std::uint64_t>(of.node()))
                : detail::scope_nodes.find(around.node(), detail::tagged(role, event_kind::enter), 0);
    }
    if (node == nullptr) {  // no room for it
      begin(flags, role);
      return;
    }
    detail::tell_listeners(flags, 0);
    if ((flags & detail::nvtx_attached) != 0) detail::recorder.nvtx_push_node(*node);
    begun(detail::record_enter(flags, adopted, reinterpret_cast<std::uint64_t>(node)) | (flags & detail::flags_for_end));
  }
};

}  // namespace profkit
