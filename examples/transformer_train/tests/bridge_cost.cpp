// SPDX-License-Identifier: Apache-2.0
//
// The cost of the bridge for a training step on a GPU (small, context 128, with recorded scopes) in one process. For comparison, also the
// cost of a LibTorch callback for each node, empty and with a scope. Blocks of steps of each kind alternate, so that other load on the
// machine affects all. Prints medians, and the medians of the ratios within a round.

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

enum class observer { none, empty_callback, scope_callback, bridge };

std::unique_ptr<at::ObserverContext> do_nothing(at::RecordFunction const& /*node*/) { return nullptr; }

/// The open scopes of the nodes that run on this thread.
struct open_nodes {
  std::array<std::optional<profkit::scope>, 64> scopes;
  std::size_t depth = 0;
};

open_nodes& nodes_of_thread() {
  static thread_local open_nodes nodes;
  return nodes;
}

std::unique_ptr<at::ObserverContext> begin_scope(at::RecordFunction const& /*node*/) {
  static profkit::site node_site{"node", __FILE__, __LINE__};
  open_nodes& open = nodes_of_thread();
  open.scopes.at(open.depth++).emplace(node_site);
  return nullptr;
}

void end_scope(at::RecordFunction const& /*node*/, at::ObserverContext* /*none*/) {
  open_nodes& open = nodes_of_thread();
  open.scopes.at(--open.depth).reset();
}

std::optional<at::RecordFunctionCallback> callback_of(observer with) {
  if (with == observer::empty_callback) return at::RecordFunctionCallback{do_nothing};
  if (with == observer::scope_callback) return at::RecordFunctionCallback{begin_scope, end_scope};
  return std::nullopt;
}

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
  std::uint64_t nodes = 0;
  auto const ms_a_step = [&](observer with) {
    std::optional<profkit_torch::libtorch_bridge> bridge;
    std::optional<at::CallbackHandle> callback;
    if (with == observer::bridge) bridge.emplace();
    if (auto wanted = callback_of(with)) callback = at::addGlobalCallback(wanted->scopes({at::RecordScope::BACKWARD_FUNCTION}));
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
    if (bridge) {
      auto const ran = bridge->counts();
      nodes = (ran.matched + ran.higher_order + ran.unknown) / (steps_of_a_block + 1);
    }
    return time.count() / steps_of_a_block;
  };
  constexpr std::array<char const*, 4> names{"nothing", "an empty callback", "a callback with a scope", "the bridge"};
  std::array<std::vector<double>, names.size()> times;
  std::array<std::vector<double>, names.size()> ratios;
  for (int round = -3; round < rounds; ++round) {
    std::array<double, names.size()> now{};
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
  fmt::print("medians of {} rounds of blocks of {} steps, {} nodes a step\n", rounds, steps_of_a_block, nodes);
  for (std::size_t which = 0; which < names.size(); ++which) {
    fmt::print("{}: {:.3f} ms a step, adds {:.2f} %\n", names[which], median(times[which]), 100.0 * (median(ratios[which]) - 1.0));
  }
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
