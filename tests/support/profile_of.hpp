// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/report.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Options that do not depend on the environment variables.
inline profkit::options plain_options(std::uint64_t warmup = 0, std::uint64_t measured = 1) {
  profkit::options result;
  result.warmup_steps = warmup;
  result.measured_steps = measured;
  return result;
}

/// "outer/inner_3" for a path of a profile.
inline std::string path_name(profkit::profile const& profile, std::uint32_t path) {
  profkit::path_record const& record = profile.paths.at(path);
  std::string name = record.name;
  if (record.index) name += "_" + std::to_string(*record.index);
  return record.parent == profkit::path_record::no_parent ? name : path_name(profile, record.parent) + "/" + name;
}

/// The paths of all scopes, in the order of their ends.
inline std::vector<std::string> scope_names(profkit::profile const& profile) {
  std::vector<std::string> result;
  for (profkit::scope_record const& scope : profile.scopes) result.push_back(path_name(profile, scope.path));
  return result;
}

inline std::size_t count_scopes(profkit::profile const& profile, std::string_view path) {
  std::vector<std::size_t> counts(profile.paths.size());
  for (profkit::scope_record const& scope : profile.scopes) ++counts.at(scope.path);
  std::size_t result = 0;
  for (std::uint32_t i = 0; i < profile.paths.size(); ++i) {
    if (path_name(profile, i) == path) result += counts[i];
  }
  return result;
}

inline profkit::scope_summary const* find_row(profkit::summary const& summary, std::string_view path) {
  auto const row = std::find_if(summary.scopes.begin(), summary.scopes.end(), [&](auto const& each) { return each.path == path; });
  return row == summary.scopes.end() ? nullptr : &*row;
}
