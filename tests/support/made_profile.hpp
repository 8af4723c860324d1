// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/profile.hpp>

#include <chrono>
#include <cstdint>

#include "made_path.hpp"

/// `ms` after a fixed moment in 2026.
inline profkit::timestamp at_ms(double ms) {
  return profkit::timestamp{std::chrono::nanoseconds{1'790'000'000'000'000'000 + static_cast<std::int64_t>(ms * 1e6)}};
}

inline std::chrono::nanoseconds ns_of_ms(double ms) { return std::chrono::nanoseconds{static_cast<std::int64_t>(ms * 1e6)}; }

/// A profile whose summary can be computed by hand. Three steps of 100, 10 and 20 ms begin at 0, 200 and 300 ms; the first is warm-up. Each
/// has `forward` (half of the step, with a GPU time of 1.5 times that) with `layer_0` and `layer_1` inside; and `load` on another thread,
/// for 3 ms. One `load` is between the steps.
inline profkit::profile made_profile() {
  profkit::profile result;
  result.environment = {"host", "NVIDIA H200", "13.0", "13.0", {"train", "--size", "tiny"}};
  result.item_name = "tokens";
  result.time = {at_ms(0), at_ms(400)};
  result.paths = {step_path(),
                  {0, "forward", {}, "train.cpp", 10},
                  {1, "layer", 0, "model.cpp", 20},
                  {1, "layer", 1, "model.cpp", 20},
                  {profkit::path_record::no_parent, "load", {}, "data.cpp", 30}};
  result.threads = {{100, "train"}, {101, "loader"}};
  result.counter_names = {"loss"};
  double const begins[] = {0.0, 200.0, 300.0};
  double const lengths[] = {100.0, 10.0, 20.0};
  for (std::uint64_t step = 0; step < 3; ++step) {
    double const begin = begins[step];
    double const length = lengths[step];
    auto const scope = [&](std::uint32_t path, std::uint32_t thread, double from, double to) {
      result.scopes.push_back({{at_ms(from), at_ms(to)}, path, thread});
    };
    scope(2, 0, begin + 0.1 * length, begin + 0.2 * length);
    scope(3, 0, begin + 0.2 * length, begin + 0.4 * length);
    scope(1, 0, begin + 0.1 * length, begin + 0.6 * length);
    scope(0, 0, begin, begin + length);
    scope(4, 1, begin + 1.0, begin + 4.0);
    result.gpu_scopes.push_back({1, at_ms(begin + 0.1 * length), 0, ns_of_ms(0.75 * length)});
    result.gpu_steps.push_back({step, 0, ns_of_ms(1.5 * length)});
    result.steps.push_back({{at_ms(begin), at_ms(begin + length)}, step, step == 0, 60});
    result.counters.push_back({at_ms(begin + 1.0), 9.0 - 2.0 * static_cast<double>(step), 0, 0});
    result.memory.push_back({"libtorch", "allocated", step, 1000 * (step + 1), 5000 * (step + 1), "measured steps"});
    result.memory.push_back({"cuda device", "used", step, 7000 - step, {}, {}, 8000});
  }
  result.scopes.push_back({{at_ms(250.0), at_ms(251.0)}, 4, 1});
  result.collectors = {{"cuda step timer", "collected", {}}, {"kernels", "not collected", "no libcupti", profkit::collector_kind::kernels}};
  result.quality.cost_of_1000_scopes = std::chrono::microseconds{25};
  result.quality.clock = "time-stamp counter";
  return result;
}
