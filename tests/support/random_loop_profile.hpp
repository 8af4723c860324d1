// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/profile.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>

#include "made_path.hpp"
#include "random_samples.hpp"

namespace made {

/// Steps of two kinds whose host runs ahead of the devices by any number of steps, waits for them, or is the limit.
class random_loop {
 public:
  explicit random_loop(std::uint64_t seed) : random_{seed} {
    made_.item_name = "tokens";
    made_.paths = {::step_path(), {0, "work", {}, "train.cpp", 2}, {0, "evaluate", {}, "train.cpp", 3}};
    made_.threads = {{100, "train"}, {101, "other"}};
    made_.gpu_names = {{"gemm", {}}, {"ncclKernel", {}}, {"[CUDA memcpy Host-to-Device]", {}, profkit::copy_direction::host_to_device}};
    made_.api_names = {"cuLaunchKernel", "cuMemcpyHtoDAsync_v2"};
    made_.launch_shapes = made_shapes();
    made_.collectors = {{"kernels", "collected", {}, profkit::collector_kind::kernels}};
    max_operation_ = 1 + up_to(300);
    streams_ = 1 + up_to(3);
    is_waiting_ = one_in(3);
    std::uint64_t const steps = up_to(24);
    std::uint64_t const warmup = up_to(4);
    std::uint64_t const every = one_in(4) ? 2 + up_to(3) : 1;
    profkit::timestamp const begin = now_;
    for (std::uint64_t i = 0; i < steps; ++i) {
      if (one_in(4)) launches(up_to(3), now_ + nanoseconds{1 + up_to(40)});  // between steps
      make_step(i, i < warmup, i % every == every - 1);
    }
    made_.time = {begin, now_};
    if (one_in(4)) {  // the program was killed, or records were dropped
      std::size_t const kept = up_to(made_.gpu_operations.size());
      if (one_in(2)) std::shuffle(made_.gpu_operations.begin(), made_.gpu_operations.end(), random_);
      made_.gpu_operations.resize(kept);
    }
    if (one_in(4)) {
      for (profkit::step_record const& step : made_.steps) made_.gpu_steps.push_back({step.index, 0, nanoseconds{up_to(3000)}});
    }
    if (one_in(4)) {
      for (profkit::step_record const& step : made_.steps) use_devices(step);
    }
  }

  [[nodiscard]] profkit::profile made() && { return std::move(made_); }

 private:
  using nanoseconds = std::chrono::nanoseconds;

  std::uint64_t up_to(std::uint64_t most) { return random_() % (most + 1); }
  bool one_in(std::uint64_t number) { return random_() % number == 0; }

  void make_step(std::uint64_t index, bool is_warmup, bool has_kernels) {
    profkit::timestamp const begin = now_;
    std::size_t const before = made_.gpu_operations.size();
    profkit::timestamp const end = now_ + nanoseconds{1 + up_to(400)};
    launches(up_to(6), end);
    now_ = std::max(end, now_ + nanoseconds{1});
    if (is_waiting_) {
      for (profkit::timestamp const each : free_from_) now_ = std::max(now_, each + nanoseconds{1});
    }
    if (!has_kernels) made_.gpu_operations.resize(before);
    made_.scopes.push_back({{begin, now_}, one_in(6) ? 2U : 1U, 0});
    made_.scopes.push_back({{begin, now_}, 0, 0});
    if (!one_in(12)) {  // otherwise it was abandoned
      made_.steps.push_back({{begin, now_}, index, is_warmup, up_to(9), 0.0, has_kernels, !is_warmup && one_in(8)});
    }
    if (one_in(2)) now_ += nanoseconds{up_to(60)};
  }

  /// Windows that end when a step begins, and are longer than it.
  void use_devices(profkit::step_record const& step) {
    for (std::int32_t device = 0; device < 2; ++device) {
      if (one_in(3)) continue;
      profkit::device_utilization_record window{
          {step.time.begin - nanoseconds{1'000'000'000 + up_to(999'999'999)}, step.time.begin}, step.index, device, {}};
      for (auto& value : window.values) {
        if (!one_in(5)) value = static_cast<std::uint32_t>(up_to(100'000));
      }
      made_.device_utilization.push_back(window);
    }
    made_.energy_meters = {{"GPU 0", 0}, {"package-0", -1}};
    made_.energy.push_back({step.time.end, step.time.duration(), step.index, 1 + step.index % 2, step.items, 1000 + 7 * step.index,
                            nanoseconds{5}, static_cast<std::uint32_t>(step.index % 2)});
    made_.energy.push_back({step.time.end, step.time.duration(), step.index, 0, 0, 3 + step.index, nanoseconds{5}, 0,
                            static_cast<std::uint32_t>(step.index % made_.paths.size())});
  }

  /// A random time between two times.
  void launches(std::uint64_t count, profkit::timestamp until) {
    for (; count > 0 && now_ + nanoseconds{4} < until; --count) {
      now_ += nanoseconds{1 + up_to(static_cast<std::uint64_t>((until - now_).count()) / 2)};
      made_.api_calls.push_back({{now_, now_ + nanoseconds{2}}, made_.api_calls.size() + 1, 0, one_in(5) ? 1U : 0U});
      profkit::timestamp& free_from = free_from_[up_to(streams_ - 1)];
      profkit::gpu_operation_record operation;
      // The clock of a device may be slightly behind that of the host.
      operation.time.begin = std::max(free_from, now_ + nanoseconds{up_to(20)} - nanoseconds{3});
      operation.time.end = operation.time.begin + nanoseconds{up_to(one_in(15) ? 6 * max_operation_ : max_operation_)};
      free_from = operation.time.end + nanoseconds{up_to(5)};
      operation.correlation = one_in(20) ? 0 : made_.api_calls.back().correlation;  // 0: the launch was not recorded
      operation.name = static_cast<std::uint32_t>(up_to(2));
      operation.kind = operation.name == 2 ? profkit::gpu_operation_kind::copy : profkit::gpu_operation_kind::kernel;
      operation.device = static_cast<std::int32_t>(up_to(1));
      give_shape(operation);
      made_.gpu_operations.push_back(operation);
      now_ += nanoseconds{3};
    }
  }

  std::mt19937_64 random_;
  profkit::timestamp now_{std::chrono::seconds{1'790'000'000}};
  std::array<profkit::timestamp, 4> free_from_{};
  std::uint64_t max_operation_ = 0;
  std::uint64_t streams_ = 1;
  bool is_waiting_ = false;
  profkit::profile made_;
};

}  // namespace made

/// @param seed equal seeds create equal profiles.
inline profkit::profile make_random_loop_profile(std::uint64_t seed) { return with_random_samples(made::random_loop{seed}.made(), seed); }
