// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <set>
#include <string>

#include "../../profile/time.hpp"

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

}  // namespace profkit::detail
