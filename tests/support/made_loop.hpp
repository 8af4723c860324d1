// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/profile.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

#include "made_path.hpp"
#include "made_profile.hpp"

/// A loop on one thread whose steps launch kernels on streams that run them in order. Times are in ms from its beginning.
class made_loop {
 public:
  static constexpr std::uint32_t step_path = 0;
  static constexpr std::uint32_t work_path = 1;

  made_loop() {
    profile.environment.gpu = "NVIDIA H200";
    profile.item_name = "tokens";
    profile.paths = {::step_path(), {step_path, "work", {}, "train.cpp", 10}};
    profile.threads = {{100, "train"}};
    profile.gpu_names = {{"gemm", {}}};
    profile.api_names = {"cuLaunchKernel"};
    profile.collectors = {{"kernels", "collected", {}, profkit::collector_kind::kernels}};
    profile.quality.clock = "time-stamp counter";
  }

  /// A kernel that is launched at `at` and starts when the stream is free, at least 0.01 ms later.
  /// @return its end.
  double launch(double at, double length, std::uint32_t stream = 0, std::int32_t device = 0) {
    double& free_from = free_from_[stream];
    double const begin = std::max(free_from, at + 0.01);
    free_from = begin + length;
    profile.api_calls.push_back({{at_ms(at), at_ms(at + 0.005)}, ++correlation_, 0, 0});
    profkit::gpu_operation_record operation;
    operation.time = {at_ms(begin), at_ms(free_from)};
    operation.correlation = correlation_;
    operation.stream = stream;
    operation.device = device;
    profile.gpu_operations.push_back(operation);
    return free_from;
  }

  /// Each step contains the scope `work`.
  void step(double from, double to, bool is_warmup = false) {
    profile.scopes.push_back({{at_ms(from), at_ms(to)}, work_path, 0});
    profile.scopes.push_back({{at_ms(from), at_ms(to)}, step_path, 0});
    profile.steps.push_back({{at_ms(from), at_ms(to)}, profile.steps.size(), is_warmup, 4096});
    profile.time = {at_ms(0.0), at_ms(to)};
  }

  profkit::profile profile;

 private:
  double free_from_[4] = {};
  std::uint64_t correlation_ = 0;
};

/// 5 warm-up steps and 30 measured steps of 1.99 ms on the host, 0.01 ms apart, and 10 ms on the GPU: two kernels of 4.9 ms, each followed
/// by an idle time of 0.1 ms.
inline made_loop loop_that_runs_ahead() {
  made_loop made;
  for (int i = 0; i < 35; ++i) {
    double const begin = 2.0 * i;
    for (double const at : {begin + 0.1, begin + 1.0}) {
      made.launch(at, 4.9);
      made.launch(at + 0.1, 0.1);
      made.profile.gpu_operations.pop_back();  // the pause
    }
    made.step(begin, begin + 1.99, i < 5);
  }
  return made;
}

/// 12 measured steps of 10 ms on the host, which waits for 9 ms of work on the GPU.
inline made_loop loop_that_waits() {
  made_loop made;
  for (int i = 0; i < 12; ++i) {
    double const begin = 10.5 * i;
    double const done = made.launch(begin + 0.5, 9.0);
    made.step(begin, done + 0.49);
  }
  return made;
}
