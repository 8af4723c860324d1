// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string>

#include "../../../time.hpp"
#include "../../profile/own_containers.hpp"

namespace profkit::detail {

/// Identifies a kind of step in all windows and sessions: a hash of the names of its parts.
using kind_key = std::uint64_t;

inline constexpr kind_key no_kind = 0;                                         ///< steps that are not measured
inline constexpr kind_key other_kinds = std::numeric_limits<kind_key>::max();  ///< all kinds beyond the bound of `kind_table`

/// FNV-1a. Source: G. Fowler, L. C. Noll, K.-P. Vo, D. Eastlake, "The FNV Non-Cryptographic Hash Algorithm", IETF draft.
inline kind_key key_of(std::set<std::string> const& parts) {
  constexpr std::uint64_t prime = 0x100000001b3U;
  kind_key result = 0xcbf29ce484222325U;
  for (std::string const& part : parts) {
    for (char const each : part) result = (result ^ static_cast<unsigned char>(each)) * prime;
    result = (result ^ 0xffU) * prime;  // separates the names; 0xff does not occur in UTF-8
  }
  return result == no_kind || result == other_kinds ? 1 : result;
}

/// A kind of step that occurs in some stretch of time.
struct occurring_kind {
  kind_key key = no_kind;
  std::set<std::string> parts{};       ///< empty if only the key is known
  timestamp first = timestamp::max();  ///< the beginning of its first step
};

/// The kinds of the steps of a measured time, as positions in a list.
struct kind_positions {
  /// All steps have the same kind.
  kind_positions() = default;

  /// @param of_steps the kinds of the steps, in time order.
  explicit kind_positions(own_vector<kind_key> const& of_steps) {
    own_hash_map<kind_key, std::uint32_t> position_of;
    for (kind_key const kind : of_steps) {
      auto const [known, is_new] = position_of.try_emplace(kind, static_cast<std::uint32_t>(keys.size()));
      of_step.push_back(known->second);
      if (is_new) keys.push_back(kind);
    }
    if (keys.empty()) keys.push_back(other_kinds);  // for figures that belong to no step
    count = keys.size();
  }

  /// @return the position of the kind of a step.
  [[nodiscard]] std::uint32_t operator()(std::size_t step) const { return of_step.empty() ? 0 : of_step[step]; }

  own_vector<kind_key> keys{};
  own_vector<std::uint32_t> of_step{};
  std::size_t count = 1;  ///< number of kinds, at least 1
};

}  // namespace profkit::detail
