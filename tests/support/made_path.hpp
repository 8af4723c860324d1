// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/profile.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

/// The path of the session's steps.
inline profkit::path_record step_path() {
  profkit::path_record result;
  result.name = "step";
  result.file = "step.hpp";
  result.line = 1;
  result.is_step = true;
  return result;
}

/// Finds or adds a path in a made profile; the root `step` is the path of the session's steps.
inline std::uint32_t made_path(profkit::profile& into, std::uint32_t parent, std::string const& name) {
  auto& paths = into.paths;
  auto const found = std::find_if(paths.begin(), paths.end(), [&](auto const& each) { return each.parent == parent && each.name == name; });
  auto const position = static_cast<std::uint32_t>(found - paths.begin());
  if (found == paths.end()) {
    paths.push_back({parent, name, {}, "made.cpp", 1});
    paths.back().is_step = parent == profkit::path_record::no_parent && name == "step";
  }
  return position;
}
