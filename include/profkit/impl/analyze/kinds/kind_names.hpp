// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "../../profile/own_containers.hpp"
#include "../step_kind_summary.hpp"

namespace profkit::detail {

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
