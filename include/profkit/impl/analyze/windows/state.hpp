// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "../../../profile.hpp"
#include "../../../time.hpp"
#include "../../profile/flat_records.hpp"
#include "../../profile/own_memory.hpp"

// The state of an analysis: figures that are written to a file, read and continued.
//
// A struct of figures lists its members once, in `members()`, for archives (`fields`) and for sums (`add_to`).

namespace PROFKIT_NAMESPACE::detail {

/// A member that is added to others later. An archive checks that sums of such members do not overflow.
template <class T>
struct summed_member {
  T& value;
};
template <class T>
[[nodiscard]] summed_member<T> summed(T& value) noexcept {
  return {value};
}

/// @param members the members of a struct, or `summed` of them.
template <class... Members>
[[nodiscard]] field_list<Members...> listed(Members&&... members) noexcept {
  return field_list<Members...>{members...};
}

template <class Archive, class T>
void fields(Archive& archive, summed_member<T> const& member) {
  archive.amount(member.value);
}

template <class Archive, class State>
auto fields(Archive& archive, State& state) -> decltype(state.members(), void()) {
  state.members().for_each(archive);
}

template <class State, class = void>
inline constexpr bool lists_members = false;
template <class State>
inline constexpr bool lists_members<State, std::void_t<decltype(std::declval<State&>().members())>> = true;

template <class State, class = void>
inline constexpr bool has_add = false;
template <class State>
inline constexpr bool has_add<State, std::void_t<decltype(std::declval<State&>().add(std::declval<State const&>()))>> = true;

/// Makes rows for all positions below a number.
template <class Row>
void grow_rows(own_vector<Row>& rows, std::size_t count) {
  if (rows.size() < count) rows.resize(count);
}

template <class State>
void add_to(State& to, State const& from);

/// Adds rows to those with the same positions.
template <class Row>
void add_to(own_vector<Row>& to, own_vector<Row> const& from) {
  grow_rows(to, from.size());
  for (std::size_t i = 0; i < from.size(); ++i) add_to(to[i], from[i]);
}
template <class T, std::size_t N>
void add_to(std::array<T, N>& to, std::array<T, N> const& from) {
  for (std::size_t i = 0; i < N; ++i) add_to(to[i], from[i]);
}
template <class T>
void add_to(std::optional<T>& to, std::optional<T> const& from) {
  if (!from) return;
  if (!to) to.emplace();
  add_to(*to, *from);
}
template <class Key, class T>
void add_to(std::map<Key, T>& to, std::map<Key, T> const& from) {
  for (auto const& [key, each] : from) add_to(to[key], each);
}
template <class T>
void add_to(summed_member<T> const& to, summed_member<T> const& from) {
  add_to(to.value, from.value);
}

template <class Members, std::size_t... Positions>
void add_members(Members const& to, Members const& from, std::index_sequence<Positions...>) {
  (add_to(field_at<Positions>(to), field_at<Positions>(from)), ...);
}

/// Adds figures of the same kind, member by member. Truth values are joined with "or".
/// @tparam State a number, a duration, a truth value, a class with `add(State const&)`, or a struct that lists its members.
template <class State>
void add_to(State& to, State const& from) {
  if constexpr (std::is_same_v<State, bool>) {
    to = to || from;
  } else if constexpr (has_add<State>) {
    to.add(from);
  } else if constexpr (lists_members<State>) {
    auto const into = to.members();
    add_members(into, const_cast<State&>(from).members(), std::make_index_sequence<decltype(to.members())::size>{});
  } else {
    to += from;
  }
}

/// The figures of scopes that span several windows, until all of these windows are added.
/// @tparam Figures default-constructed: no figures.
template <class Figures>
class crossing_scopes {
 public:
  /// @param group a number that keeps figures of one scope apart, such as the position of an allocator.
  /// @return the figures of a scope so far.
  Figures& of(profile const& profile, scope_record const& scope, std::uint32_t group = 0) {
    entry& result = scopes_[{group, scope.path, profile.threads[scope.thread].system_id, scope.time.begin}];
    result.end = std::min(result.end, scope.time.end);
    return result.figures;
  }

  /// Removes the scopes that lie completely in a stretch of time.
  /// @param take called with group, path and figures of each.
  template <class Take>
  void settle(interval const& stretch, Take const& take) {
    for (auto each = scopes_.begin(); each != scopes_.end();) {
      auto const& [group, path, thread, begin] = each->first;
      if (stretch.begin > begin || each->second.end >= stretch.end) {
        ++each;
        continue;
      }
      take(group, path, each->second.figures);
      each = scopes_.erase(each);
    }
  }

  /// Removes all scopes.
  template <class Take>
  void complete(Take const& take) {
    for (auto const& [scope, each] : scopes_) take(std::get<0>(scope), std::get<1>(scope), each.figures);
    scopes_.clear();
  }

  /// Whether all positions are below these numbers.
  [[nodiscard]] bool is_in(std::size_t groups, std::size_t paths) const {
    return std::all_of(scopes_.begin(), scopes_.end(),
                       [&](auto const& each) { return std::get<0>(each.first) < groups && std::get<1>(each.first) < paths; });
  }

  auto members() { return listed(scopes_); }

 private:
  struct entry {
    Figures figures;
    timestamp end = timestamp::max();  ///< the end of the scope; `timestamp::max()` while it is unknown

    auto members() { return listed(figures, end); }
  };

  /// By group, path, system thread number and beginning.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, timestamp>, entry> scopes_;
};

}  // namespace PROFKIT_NAMESPACE::detail
