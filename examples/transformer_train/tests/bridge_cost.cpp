// SPDX-License-Identifier: Apache-2.0
//
// The cost of the bridge for a training step on a GPU (small, context 128, with recorded scopes) in one process. Blocks of steps with and
// without the bridge alternate, so that other load on the machine affects both. Prints medians, and the median over pairs of adjacent
// blocks.

#include <ATen/record_function.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <profkit/profkit.hpp>
#include <vector>

#include "config.hpp"
#include "device.hpp"
#include "libtorch_bridge.hpp"
#include "training/training.hpp"

namespace {

constexpr int rounds = 120;
constexpr int steps_of_a_block = 6;

enum class observer { none, empty_callback, bridge };

std::unique_ptr<at::ObserverContext> do_nothing(at::RecordFunction const& /*node*/) { return nullptr; }

double median(std::vector<double> values) {
  auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

int run() {
  trainer::run_config config;
  config.ctx = 128;
  config.bridge = false;
  trainer::compute_device const device{trainer::device_kind::automatic};
  if (!device.is_cuda()) {
    fmt::print("skipped: there is no GPU\n");
    return 77;
  }
  profkit::options options;
  options.warmup_steps = 0;
  options.kernels = false;
  profkit::session session{options};
  trainer::training trained{config, device, std::nullopt, 0};
  auto const ms_a_step = [&](observer with) {
    std::optional<profkit_torch::libtorch_bridge> bridge;
    std::optional<at::CallbackHandle> callback;
    if (with == observer::bridge) bridge.emplace();
    if (with == observer::empty_callback) {
      callback = at::addGlobalCallback(at::RecordFunctionCallback{do_nothing}.scopes({at::RecordScope::BACKWARD_FUNCTION}));
    }
    std::chrono::duration<double, std::milli> time{};
    for (int i = 0; i <= steps_of_a_block; ++i) {
      if (i == 1) {  // the first one registers the callbacks
        device.synchronize();
        time -= std::chrono::steady_clock::now().time_since_epoch();
      }
      profkit::step const step{session};
      trained.step();
    }
    device.synchronize();
    time += std::chrono::steady_clock::now().time_since_epoch();
    if (callback) at::removeCallback(*callback);
    return time.count() / steps_of_a_block;
  };
  std::array<std::vector<double>, 3> times;
  std::array<std::vector<double>, 3> ratios;
  for (int round = -3; round < rounds; ++round) {
    std::array<double, 3> now{};
    for (std::size_t turn = 0; turn < now.size(); ++turn) {
      std::size_t const which = (turn + static_cast<std::size_t>(round + 3)) % now.size();
      now[which] = ms_a_step(static_cast<observer>(which));
    }
    if (round < 0) continue;
    for (std::size_t which = 0; which < now.size(); ++which) {
      times[which].push_back(now[which]);
      ratios[which].push_back(now[which] / now[0]);
    }
  }
  fmt::print(
      "the bridge adds {:.2f} %, an empty LibTorch callback {:.2f} %: medians of {} rounds of blocks of {} steps; ms a "
      "step, "
      "medians: {:.3f} with nothing, {:.3f} with the callback, {:.3f} with the bridge\n",
      100.0 * (median(ratios[2]) - 1.0), 100.0 * (median(ratios[1]) - 1.0), rounds, steps_of_a_block, median(times[0]), median(times[1]),
      median(times[2]));
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (std::exception const& error) {
    fmt::print(stderr, "bridge_cost: {}\n", error.what());
    return 1;
  }
}
