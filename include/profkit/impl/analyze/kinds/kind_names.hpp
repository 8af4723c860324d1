// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>

#include "../../../time.hpp"
#include "../../profile/own_containers.hpp"
#include "../step_kind_summary.hpp"

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

/// @return "a and b", or "a, b and 3 more".
inline std::string some_of(own_vector<std::string> const& names) {
  constexpr std::size_t max_names = 3;
  std::string result;
  std::size_t const shown = names.size() <= max_names ? names.size() : max_names - 1;
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) result += i + 1 == names.size() ? " and " : ", ";
    result += names[i];
  }
  if (shown < names.size()) result += " and " + std::to_string(names.size() - shown) + " more";
  return result;
}

/// @return the elements of `parts` that are not in `others`, in their order.
inline own_vector<std::string> parts_not_in(own_vector<std::string> const& parts, own_vector<std::string> const& others) {
  own_hash_set<std::string_view> const known{others.begin(), others.end()};
  own_vector<std::string> result;
  for (std::string const& each : parts) {
    if (known.count(each) == 0) result.push_back(each);
  }
  return result;
}

/// @return the parts that all kinds have.
inline own_vector<std::string> common_parts(own_vector<step_kind_summary> const& kinds) {
  own_vector<std::string> result = kinds.front().parts;
  for (step_kind_summary const& each : kinds) {
    own_vector<std::string> const missing = parts_not_in(result, each.parts);
    result = parts_not_in(result, missing);
  }
  return result;
}

/// Marks the usual kind, and names the kinds after the parts that distinguish them.
/// @param kinds the kinds, most steps first.
/// @param steps number of measured steps.
/// @param has_others the last element stands for all kinds beyond the bound.
inline void name_kinds(own_vector<step_kind_summary>& kinds, std::uint64_t steps, bool has_others) {
  std::size_t const named = kinds.size() - (has_others ? 1 : 0);
  if (has_others) kinds.back().name = "other";
  if (named == 0) return;
  kinds.front().is_usual = kinds.front().steps >= steps - kinds.front().steps;
  own_vector<step_kind_summary> const all{kinds.begin(), kinds.begin() + static_cast<std::ptrdiff_t>(named)};
  own_vector<std::string> const usual = kinds.front().is_usual ? kinds.front().parts : common_parts(all);
  for (std::size_t i = 0; i < named; ++i) {
    step_kind_summary& kind = kinds[i];
    std::string const count = std::to_string(kind.steps) + (kind.steps == 1 ? " step" : " steps");
    own_vector<std::string> const added = parts_not_in(kind.parts, usual);
    own_vector<std::string> const missing = parts_not_in(usual, kind.parts);
    if (kind.is_usual) {
      kind.name = "usual";
    } else if (!added.empty()) {
      kind.name = count + " with " + some_of(added);
    } else if (!missing.empty()) {
      kind.name = count + " without " + some_of(missing);
    } else {
      kind.name = count + (kind.parts.empty() ? " without scopes" : " with only " + some_of(kind.parts));
    }
  }
}

}  // namespace profkit::detail
