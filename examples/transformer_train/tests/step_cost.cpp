// SPDX-License-Identifier: Apache-2.0
//
// The cost of profkit for a training step on a GPU (small, context 128). Measures once per line on stdin, so that programs with different
// options can alternate without restarting. Prints a JSON object with ms per step: of the measured loop, between CUDA events independent of
// profkit, and of each measured step on the host, from its beginning to the next one.
//
// usage: step_cost PROFKIT        as in the environment variable, such as "kernels=every:10" or "off"
//        step_cost cupti          CUPTI's kernel records alone instead of profkit
//        step_cost cupti_off      the same, switched off again before the measured steps
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <optional>
#include <profkit/profkit.hpp>
#include <string>
#include <vector>

#include "config.hpp"
#include "device.hpp"
#include "measure/loop_timer.hpp"
#include "training/training.hpp"

#if TRAINER_WITH_CUDA
#include <profkit/cuda.hpp>
#include <profkit/cupti.hpp>

#include "bare_cupti.hpp"
#endif

namespace {

using time_source = std::chrono::steady_clock;

struct turn {
  double loop_ms;
  std::vector<double> steps_ms;
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
  std::vector<time_source::time_point> beginnings;
  beginnings.reserve(options.measured_steps + 1);
  for (profkit::step const step : session) {
    if (step.index() == options.warmup_steps) timer.begin();
    if (step.index() >= options.warmup_steps) beginnings.push_back(time_source::now());
    trained.step();
    // Synchronise in the last warm-up step, so that the measured ones begin with an idle device.
    if (step.index() + 1 == options.warmup_steps) device.synchronize();
  }
  beginnings.push_back(time_source::now());
  timer.end();
  device.synchronize();
  std::vector<double> steps_ms;
  for (std::size_t i = 1; i < beginnings.size(); ++i)
    steps_ms.push_back(std::chrono::duration<double, std::milli>{beginnings[i] - beginnings[i - 1]}.count());
  profkit::report const report = session.report();
  std::optional<profkit::gpu_summary> const& gpu = report.summary().gpu;
  double const loop = timer.elapsed().value().count();
  return {loop / static_cast<double>(options.measured_steps), steps_ms, gpu ? gpu->steps : 0, gpu ? gpu->all.operations : 0};
}

turn measure_bare_cupti(trainer::training& trained, trainer::compute_device const& device, profkit::options const& off,
                        bool is_switched_off) {
#if TRAINER_WITH_CUDA
  std::uint64_t const before = bench::bare_cupti::records();
  std::vector<CUpti_ActivityKind> const kinds{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};
  turn result;
  {
    bench::bare_cupti cupti{kinds};
    if (is_switched_off) {
      trained.step();
      device.synchronize();
      cupti.switch_off();
    }
    result = measure(trained, device, off);
  }
  result.operations = bench::bare_cupti::records() - before;
  return result;
#else
  static_cast<void>(is_switched_off);
  return measure(trained, device, off);
#endif
}

int run(std::string const& profkit) {
  bool const is_bare = profkit == "cupti" || profkit == "cupti_off";
  profkit::options const options = profkit::options::parse("warmup=5,steps=60," + (is_bare ? "off" : profkit));
  trainer::run_config config;
  config.ctx = 128;
  config.bridge = options.enabled;  // the bridge needs recorded scopes
  trainer::compute_device const device{trainer::device_kind::automatic};
  if (!device.is_cuda()) {
    fmt::print("skipped: there is no GPU\n");
    return 77;
  }
  trainer::training trained{config, device, std::nullopt, 0};
  for (std::string line; std::getline(std::cin, line);) {
    turn const now = is_bare ? measure_bare_cupti(trained, device, options, profkit == "cupti_off") : measure(trained, device, options);
    fmt::print("{{\"loop_ms\": {:.5f}, \"steps_ms\": [{:.4f}], \"collected_steps\": {}, \"operations\": {}}}\n", now.loop_ms,
               fmt::join(now.steps_ms, ", "), now.collected_steps, now.operations);
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
