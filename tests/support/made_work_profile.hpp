// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/profile.hpp>

#include <cstdint>

#include "made_path.hpp"
#include "made_profile.hpp"

/// A profile whose scopes declare work. Three steps of 40 ms that begin at 0, 100 and 200 ms; the first is warm-up. In each, in ms from its
/// beginning, with the kernel of the scope and its declared work (T: 10^12, G: 10^9):
///
///     thread 0: step [0, 40]
///                 forward [0, 10]
///                   scores [1, 5]         kernel [1, 5]         bf16, 1.979 TFLOP and 1 GB; backward is 2 times that
///                   norm [6, 9]           kernel [6, 8]         fp32, 1 GFLOP and 2.4 GB; backward is 1.5 times that
///                   other [9.2, 9.8]      kernel [9, 10]        nothing
///                 backward [20, 30]
///     thread 1: scores (backward) [20, 28]        kernel [20, 28]
///               norm (backward) [28.5, 29.5]      kernel [28.5, 29.5]
///
/// In the warm-up step, scores declares ten times as much. The precision of the session is bf16, which applies to scores.
struct made_work_profile {
  enum path : std::uint32_t { step, forward, scores, norm, other, backward, scores_backward, norm_backward };

  profkit::profile profile;

  made_work_profile() {
    profile.environment = {"host", "NVIDIA H200", "13.0", "13.0", {"train"}};
    profile.precision = profkit::precision::bf16;
    profile.time = {at_ms(0), at_ms(300)};
    profile.threads = {{100, "main"}, {101, "engine"}};
    profile.gpu_names = {{"gemm", {}}};
    profile.api_names = {"cudaLaunchKernel_v7000"};
    profile.collectors = {{"kernels", "collected", {}, profkit::collector_kind::kernels}};
    profile.quality.clock = "time-stamp counter";
    profile.paths = {step_path(),
                     {step, "forward", {}, "made.cpp", 2},
                     {forward, "scores", {}, "made.cpp", 3},
                     {forward, "norm", {}, "made.cpp", 4},
                     {forward, "other", {}, "made.cpp", 5},
                     {step, "backward", {}, "made.cpp", 6},
                     {backward, "forward/scores (backward)", {}, "made.cpp", 7, scores, "backward"},
                     {backward, "forward/norm (backward)", {}, "made.cpp", 7, norm, "backward"}};
    for (std::uint64_t i = 0; i < 3; ++i) {
      begin_ = 100.0 * static_cast<double>(i);
      add(scores, 0, 1, 5, 1, 5);
      add(norm, 0, 6, 9, 6, 8);
      add(other, 0, 9.2, 9.8, 9, 10);
      add(forward, 0, 0, 10);
      add(backward, 0, 20, 30);
      add(step, 0, 0, 40);
      add(scores_backward, 1, 20, 28, 20, 28);
      add(norm_backward, 1, 28.5, 29.5, 28.5, 29.5);
      say(scores, 1, {(i == 0 ? 10.0 : 1.0) * 1.979e12, 1e9, profkit::precision::unknown, 2.0F});
      say(norm, 6, {1e9, 2.4e9, profkit::precision::fp32, 1.5F});
      profile.steps.push_back({{at_ms(begin_), at_ms(begin_ + 40)}, i, i == 0, 60});
    }
  }

  /// Adds work to the scope that began at `at`.
  void say(path where, double at, profkit::work const& what) { profile.work.push_back({at_ms(begin_ + at), where, what}); }

  /// Removes the data of the kernel collector.
  void forget_kernels() {
    profile.collectors.clear();
    profile.gpu_operations.clear();
    profile.api_calls.clear();
  }

 private:
  void add(path where, std::uint32_t thread, double from, double to) {
    profile.scopes.push_back({{at_ms(begin_ + from), at_ms(begin_ + to)}, where, thread});
  }
  void add(path where, std::uint32_t thread, double from, double to, double runs_from, double runs_to) {
    add(where, thread, from, to);
    profile.api_calls.push_back({{at_ms(begin_ + from + 0.1), at_ms(begin_ + from + 0.2)}, ++correlation_, 0, thread});
    profkit::gpu_operation_record& operation = profile.gpu_operations.emplace_back();
    operation.time = {at_ms(begin_ + runs_from), at_ms(begin_ + runs_to)};
    operation.correlation = correlation_;
  }

  double begin_ = 0.0;
  std::uint64_t correlation_ = 0;
};
