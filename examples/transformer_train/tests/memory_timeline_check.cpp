// SPDX-License-Identifier: Apache-2.0
//
// Reads synthetic scopes and samples, one per line, and prints the memory timeline of the last step:
//   title TEXT | scope BEGIN END PATH | sample TIME ALLOCATED RESERVED | failure TIME BYTES      times in ns

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "memory/memory_timeline.hpp"
#include "named_check.hpp"

namespace memory_timeline_check {

namespace {

profkit::timestamp time_in(std::istream& line) {
  std::int64_t nanoseconds = 0;
  line >> nanoseconds;
  return profkit::timestamp{std::chrono::nanoseconds{nanoseconds}};
}

/// Adds the path and its ancestors if they are missing.
std::uint32_t path_in(profkit::profile& profile, std::string const& path) {
  std::uint32_t parent = profkit::path_record::no_parent;
  std::istringstream names{path};
  for (std::string name; std::getline(names, name, '/');) {
    std::size_t at = 0;
    while (at < profile.paths.size() && (profile.paths[at].parent != parent || profile.paths[at].name != name)) ++at;
    if (at == profile.paths.size()) {
      profkit::path_record added;
      added.parent = parent;
      added.name = name;
      added.is_step = parent == profkit::path_record::no_parent && name == "step";
      profile.paths.push_back(added);
    }
    parent = static_cast<std::uint32_t>(at);
  }
  return parent;
}

int run(int /*count*/, char** /*arguments*/) {
  profkit::profile profile;
  trainer::memory_history history;
  std::string title;
  for (std::string text; std::getline(std::cin, text);) {
    std::istringstream line{text};
    std::string kind;
    line >> kind >> std::ws;
    if (kind == "title") {
      std::getline(line, title);
    } else if (kind == "scope") {
      profkit::scope_record scope;
      scope.time.begin = time_in(line);
      scope.time.end = time_in(line);
      std::string path;
      std::getline(line >> std::ws, path);
      scope.path = path_in(profile, path);
      profile.scopes.push_back(scope);
    } else if (kind == "sample") {
      trainer::memory_sample sample;
      sample.time = time_in(line);
      line >> sample.allocated_bytes >> sample.reserved_bytes;
      history.samples.push_back(sample);
    } else if (kind == "failure") {
      trainer::failed_allocation failure;
      failure.time = time_in(line);
      line >> failure.bytes;
      history.failure = failure;
    } else {
      fmt::print(stderr, "what is this: {}\n", text);
      return 1;
    }
  }
  fmt::print("{}", trainer::to_svg(trainer::last_step_of(profile, history, title)));
  return 0;
}

checks::named_check const registered{"memory_timeline", run};

}  // namespace

}  // namespace memory_timeline_check
