// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scope.hpp"
#include "scope_node.hpp"
#include "scope_token.hpp"
#include "slow_path.hpp"

namespace profkit {

/// @brief A scope that links work, usually on another thread, to the scope that requested it. Use it through `PROF_ADOPT_SCOPE`.
///
/// If the site is named `backward` and the token belongs to `forward/layer_3/attention`, the scope is shown as `forward/layer_3/attention
/// (backward)`, in reports and as NVTX range. In the tree of scopes it is a child of the scope that is open on its own thread. Reports show
/// the time of the work beside the linked scope.
///
/// If the table of scope nodes is full (see `scope_token::current`), or the path would exceed `max_path_length`, it is a plain scope named
/// after the role. Threads, errors and cost: see `scope`.
class adopting_scope : private scope {
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

}  // namespace profkit
