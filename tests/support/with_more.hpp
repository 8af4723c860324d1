// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/profile.hpp>
#include <profkit/time.hpp>

#include <chrono>
#include <cstdint>
#include <random>

/// A random profile with all API calls, work of some scopes (whole numbers), adopted paths, and readings of usage at the ends of steps.
inline profkit::profile with_more(profkit::profile profile, std::mt19937_64& random) {
  profile.has_all_api_calls = true;
  for (std::uint16_t allocator = 0; allocator < profile.allocators.size(); ++allocator) {
    if (!profile.allocators[allocator].is_polled) continue;
    for (profkit::step_record const& each : profile.steps) {
      if (random() % 2 != 0) continue;
      profkit::timestamp const time = each.time.end + std::chrono::nanoseconds{1 + random() % 17};
      profile.allocations.push_back({time, 0, random() % 1000, 0, allocator, profkit::allocation_kind::usage});
    }
  }
  for (profkit::scope_record const& each : profile.scopes) {
    if (random() % 4 != 0) continue;
    profkit::work done;
    done.flops = static_cast<double>(random() % 1'000'000);
    done.bytes = static_cast<double>(random() % 1'000'000);
    if (random() % 3 != 0) done.backward = 2.0F;
    profile.work.push_back({each.time.begin, each.path, done});
  }
  // Some scopes adopt others.
  for (std::uint32_t path = 2; path < profile.paths.size(); ++path) {
    profkit::path_record& record = profile.paths[path];
    if (random() % 2 != 0 || record.is_step || record.adopted_from != profkit::path_record::no_parent) continue;
    record.adopted_from = static_cast<std::uint32_t>(random() % path);
    record.role = random() % 2 == 0 ? "backward" : "again";
  }
  return profile;
}
