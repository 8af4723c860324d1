// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/profile.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>

/// Shapes of launches, the second of an unknown device.
inline profkit::detail::own_vector<profkit::launch_shape_record> made_shapes() {
  return {{0, 132, 64, 256, 32, 0, 0, 0, 1, 8, profkit::launch_limit::warps},
          {1, 0, 0, 256, 32, 0, 0, 0, 1, 0, 0},
          {0, 132, 64, 128, 255, 0, 0, 0, 1, 2, profkit::launch_limit::registers}};
}

/// Gives a kernel one of `made_shapes`, or none, and a grid, from its time.
inline void give_shape(profkit::gpu_operation_record& to) {
  if (to.kind != profkit::gpu_operation_kind::kernel) return;
  auto const number = static_cast<std::uint64_t>(to.time.begin.time_since_epoch().count());
  to.shape = static_cast<std::uint16_t>(number % 4);
  to.grid = {static_cast<std::uint32_t>(number % 401), 1 + static_cast<std::uint32_t>(number % 3), 1};
}

/// Adds host samples at random times of the session, in and between the steps, with and without a scope.
/// @param seed equal seeds add equal samples.
inline profkit::profile with_random_samples(profkit::profile to, std::uint64_t seed) {
  std::minstd_rand random{static_cast<std::uint32_t>(seed) + 1U};
  to.functions = {{"exp_loop", "program", ""}, {"", "libc.so.6", "load_batch"}, {"exp_loop", "libplugin.so", ""}, {"", "", ""}};
  if (seed % 3 == 0) to.functions[2].file = "plugin.cpp", to.functions[2].line = 7;
  to.sampling = profkit::sampling_record{"random", std::chrono::nanoseconds{7}, 2, 3, 1, "a reason"};
  profkit::interval span{profkit::timestamp::max(), profkit::timestamp::min()};
  for (profkit::scope_record const& each : to.scopes) {
    span = {std::min(span.begin, each.time.begin), std::max(span.end, each.time.end)};
  }
  if (span.begin >= span.end) return to;
  for (int i = 0; i < 100; ++i) {
    profkit::sample_record each;
    each.time = span.begin + std::chrono::nanoseconds{random() % static_cast<std::uint64_t>(span.duration().count())};
    auto const path = static_cast<std::uint32_t>(random() % (to.paths.size() + 1));
    each.path = path == to.paths.size() ? profkit::path_record::no_parent : path;
    each.function = static_cast<std::uint32_t>(random() % to.functions.size());
    each.thread = static_cast<std::uint32_t>(random() % to.threads.size());
    each.weight = static_cast<std::uint32_t>(random() % 100);
    to.samples.push_back(each);
  }
  return to;
}
