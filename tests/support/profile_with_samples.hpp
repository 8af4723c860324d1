// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/profile.hpp>

#include <chrono>
#include <cstdint>

#include "made_path.hpp"

inline profkit::timestamp moment_at(std::int64_t ms) {
  return profkit::timestamp{std::chrono::seconds{1'790'000'000} + std::chrono::milliseconds{ms}};
}

/// A warm-up step and a measured one of 100 ms; in the second, "softmax" has 60 ms and inside it "inner" 20 ms, and "wait" has 20 ms.
inline profkit::profile profile_with_samples() {
  profkit::profile result;
  result.time = {moment_at(0), moment_at(200)};
  result.threads = {{1, "main"}};
  std::uint32_t const step = made_path(result, profkit::path_record::no_parent, "step");
  result.paths[step].is_step = true;
  std::uint32_t const softmax = made_path(result, step, "softmax");
  std::uint32_t const inner = made_path(result, softmax, "inner");
  std::uint32_t const wait = made_path(result, step, "wait");
  result.steps = {{{moment_at(0), moment_at(100)}, 0, true, 0}, {{moment_at(100), moment_at(200)}, 1, false, 0}};
  result.scopes = {{{moment_at(0), moment_at(100)}, step, 0},
                   {{moment_at(120), moment_at(140)}, inner, 0},
                   {{moment_at(110), moment_at(170)}, softmax, 0},
                   {{moment_at(175), moment_at(195)}, wait, 0},
                   {{moment_at(100), moment_at(200)}, step, 0}};
  result.functions = {{"exp_loop", "program", "", "src/layer.cpp", 40}, {"", "libc.so.6", "load"}, {"exp_loop", "program", "unused"}};
  result.sampling = profkit::sampling_record{"made", std::chrono::milliseconds{1}, 5, 1, 0, ""};
  auto const sample = [&](std::int64_t ms, std::uint32_t path, std::uint32_t function) {
    result.samples.push_back({moment_at(ms), path, function, 0, 1'000'000});
  };
  sample(50, softmax, 0);  // in warm-up
  for (std::int64_t ms = 140; ms < 160; ++ms) sample(ms, softmax, 0);
  for (std::int64_t ms = 160; ms < 168; ++ms) sample(ms, softmax, 1);
  for (std::int64_t ms = 120; ms < 140; ++ms) sample(ms, inner, 0);
  sample(199, profkit::path_record::no_parent, 1);
  return result;
}
