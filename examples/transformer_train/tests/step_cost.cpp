// SPDX-License-Identifier: Apache-2.0
//
// What profkit costs a training step on a GPU: small, context 128. Measures once for each line on stdin, so that programs which are given
// different options can take turns without starting again, and prints a JSON object with ms a step: of the measured loop between CUDA
// events that do not depend on profkit.
//
// usage: step_cost PROFKIT        as in the environment variable, such as "kernels=every:10" or "off"
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <optional>
#include <profkit/profkit.hpp>
#include <string>

#include "config.hpp"
#include "device.hpp"
#include "measure/loop_timer.hpp"
#include "training/training.hpp"

#if TRAINER_WITH_CUDA
#include <profkit/cuda.hpp>
#include <profkit/cupti.hpp>
#endif

namespace {

struct turn {
  double loop_ms;
  std::uint64_t collected_steps;
  std::uint64_t operations;
};

turn measure(trainer::training& trained, trainer::compute_device const& device, profkit::options const& options) {
  profkit::session session{options};
#if TRAINER_WITH_CUDA
  session.collect(profkit::cuda_step_timer{*device.stream()});
  session.collect(profkit::cupti_kernels());
#endif
  trainer::loop_timer timer{device};
  for (profkit::step const step : session) {
    if (step.index() == options.warmup_steps) timer.begin();
    trained.step();
    // In the last step of the warm-up, so that the measured ones begin with an idle device.
    if (step.index() + 1 == options.warmup_steps) device.synchronize();
  }
  timer.end();
  device.synchronize();
  profkit::report const report = session.report();
  std::optional<profkit::gpu_summary> const& gpu = report.summary().gpu;
  double const loop = timer.elapsed().value().count();
  return {loop / static_cast<double>(options.measured_steps), gpu ? gpu->steps : 0, gpu ? gpu->all.operations : 0};
}

int run(std::string const& profkit) {
  profkit::options const options = profkit::options::parse("warmup=5,steps=60," + profkit);
  trainer::run_config config;
  config.ctx = 128;
  config.bridge = options.enabled;  // without scopes it would only cost
  trainer::compute_device const device{trainer::device_kind::automatic};
  if (!device.is_cuda()) {
    fmt::print("skipped: there is no GPU\n");
    return 77;
  }
  trainer::training trained{config, device, std::nullopt, 0};
  for (std::string line; std::getline(std::cin, line);) {
    turn const now = measure(trained, device, options);
    fmt::print("{{\"loop_ms\": {:.5f}, \"collected_steps\": {}, \"operations\": {}}}\n", now.loop_ms, now.collected_steps, now.operations);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "");
  } catch (std::exception const& error) {
    fmt::print(stderr, "step_cost: {}\n", error.what());
    return 1;
  }
}
