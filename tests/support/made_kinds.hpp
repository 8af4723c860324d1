// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/profile.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "made_path.hpp"
#include "made_profile.hpp"

/// A part of a step: a scope that launches one kernel.
struct made_part {
  std::string name;
  double length = 1.0;                  ///< of the scope, in ms
  double busy = 0.5;                    ///< duration of the kernel, in ms
  std::optional<std::int64_t> index{};  ///< of an indexed scope
};

/// A loop of steps with any parts. Times are in ms from its beginning. Each kernel has the name of its part; it starts 0.02 ms after its
/// scope begins, or when the device has completed earlier kernels. Steps are 0.01 ms apart.
class made_kinds {
 public:
  made_kinds() {
    profile.paths = {step_path()};
    profile.threads = {{100, "train"}, {101, "loader"}};
    profile.api_names = {"cuLaunchKernel"};
    profile.collectors = {{"kernels", "collected", {}, profkit::collector_kind::kernels}};
  }

  made_kinds& step(std::vector<made_part> const& parts, bool is_warmup = false, bool is_excluded = false) {
    double const begin = now_;
    for (made_part const& each : parts) {
      scope(path_of(0, each.name, each.index), 0, now_, now_ + each.length);
      launch(name_of(each.name), now_ + 0.005, each.busy);
      now_ += each.length;
    }
    now_ += 0.01;
    scope(0, 0, begin, now_);
    profile.steps.push_back({{at_ms(begin), at_ms(now_)}, profile.steps.size(), is_warmup, 10, 0.0, true, is_excluded});
    now_ += 0.01;
    profile.time = {at_ms(0.0), at_ms(std::max(now_, free_from_))};
    return *this;
  }

  void scope(std::uint32_t path, std::uint32_t thread, double from, double to) {
    profile.scopes.push_back({{at_ms(from), at_ms(to)}, path, thread});
  }

  std::uint32_t path_of(std::uint32_t parent, std::string const& name, std::optional<std::int64_t> index = {}) {
    auto const is_same = [&](auto const& each) { return each.parent == parent && each.name == name && each.index == index; };
    auto const found = std::find_if(profile.paths.begin(), profile.paths.end(), is_same);
    auto const position = static_cast<std::uint32_t>(found - profile.paths.begin());
    if (found == profile.paths.end()) profile.paths.push_back({parent, name, index, "train.cpp", position});
    return position;
  }

  [[nodiscard]] double now() const { return now_; }

  profkit::profile profile;

 private:
  std::uint32_t name_of(std::string const& kernel) {
    auto const found =
        std::find_if(profile.gpu_names.begin(), profile.gpu_names.end(), [&](auto const& each) { return each.name == kernel; });
    auto const position = static_cast<std::uint32_t>(found - profile.gpu_names.begin());
    if (found == profile.gpu_names.end()) profile.gpu_names.push_back({kernel, {}});
    return position;
  }

  void launch(std::uint32_t name, double at, double length) {
    profile.api_calls.push_back({{at_ms(at), at_ms(at + 0.005)}, profile.api_calls.size() + 1, 0, 0});
    double const begin = std::max(free_from_, at + 0.015);
    free_from_ = begin + length;
    profkit::gpu_operation_record operation;
    operation.time = {at_ms(begin), at_ms(free_from_)};
    operation.correlation = profile.api_calls.size();
    operation.name = name;
    profile.gpu_operations.push_back(operation);
  }

  double now_ = 0.0;
  double free_from_ = 0.0;
};

/// 5 warm-up steps and 36 measured ones. Step 20 is a step with only validation and generation. It takes 150 ms, with the GPU idle for two
/// thirds. The others take 46 ms +- 0.01 ms, with the GPU idle for 3.26 %.
inline profkit::profile training_with_one_validation() {
  made_kinds made;
  for (int i = 0; i < 41; ++i) {
    if (i == 20) {
      made.step({{"validation", 100.0, 30.0}, {"generation", 49.99, 20.0}});
      continue;
    }
    double const noise = 0.01 * ((i * 7) % 5 - 2) / 2.0;
    made.step({{"forward", 15.0, 14.5}, {"backward", 25.0 + noise, 24.2 + noise}, {"optimizer", 5.99, 5.8}}, i < 5);
  }
  return std::move(made.profile);
}
