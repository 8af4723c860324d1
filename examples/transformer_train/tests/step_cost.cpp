// SPDX-License-Identifier: Apache-2.0
//
// The cost of profkit, CUPTI alone and Kineto for a training step on a GPU (small, context 128). Measures once per line on stdin, so that
// programs with different options can alternate without restarting. Prints a JSON object with the number of recorded operations and ms per
// step: of the measured loop, between CUDA events independent of profkit, and of each measured step on the host, from its beginning to the
// next one.
//
// usage: step_cost PROFKIT [no_bridge]
//                                 PROFKIT as in the environment variable, such as "kernels=every:10" or "off"; "no_bridge" turns off
//                                 the bridge, which charges autograd's work to the scopes of the forward pass
//        step_cost cupti          CUPTI's kernel records alone instead of profkit
//        step_cost cupti_off      the same, switched off again before the measured steps
//        step_cost kineto         LibTorch's Kineto, as torch.profiler uses it with ProfilerActivity.CUDA alone
//        step_cost kineto_cpu     the same with its default activities, CPU and CUDA
//        step_cost launch none    the launches of launch_cost in a process with LibTorch, in ns
//        step_cost launch kineto  the same, recorded by Kineto (CUDA activities)
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <profkit/cuda.hpp>
#include <profkit/cupti.hpp>
#include <profkit/profkit.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "bare_cupti.hpp"
#include "config.hpp"
#include "device.hpp"
#include "launch_loop.hpp"
#include "measure/loop_timer.hpp"
#include "training/training.hpp"

namespace {

using bench::time_source;

struct turn {
  double loop_ms;
  std::vector<double> steps_ms;
  std::uint64_t operations;
};

turn measure(trainer::training& trained, trainer::compute_device const& device, profkit::options const& options) {
  profkit::session session{options};
  session.collect(profkit::cuda_step_timer{*device.stream()});
  session.collect(profkit::cupti_kernels());
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
  return {loop / static_cast<double>(options.measured_steps), steps_ms, gpu ? gpu->all.operations : 0};
}

turn measure_bare_cupti(trainer::training& trained, trainer::compute_device const& device, profkit::options const& off,
                        bool is_switched_off) {
  std::uint64_t const before = bench::bare_cupti::records();
  turn result;
  {
    bench::bare_cupti cupti{{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL}};
    if (is_switched_off) {
      trained.step();
      device.synchronize();
      cupti.switch_off();
    }
    result = measure(trained, device, off);
  }
  result.operations = bench::bare_cupti::records() - before;
  return result;
}

void begin_kineto(bool has_cpu) {
  using namespace torch::profiler::impl;
  ProfilerConfig const config{ProfilerState::KINETO};
  std::set<ActivityType> activities{ActivityType::CUDA};
  if (has_cpu) activities.insert(ActivityType::CPU);
  torch::autograd::profiler::prepareProfiler(config, activities);
  torch::autograd::profiler::enableProfiler(config, activities);
}

/// Call it with an idle device.
/// @return the number of kernels, copies and memsets in the trace.
/// @throws std::runtime_error if there is none, because another program uses CUPTI or Kineto does not support the GPU.
std::uint64_t end_kineto() {
  auto const trace = torch::autograd::profiler::disableProfiler();
  auto const is_on_gpu = [](auto const& event) { return event.deviceType() == c10::DeviceType::CUDA; };
  auto const operations = std::count_if(trace->events().begin(), trace->events().end(), is_on_gpu);
  if (operations == 0) throw std::runtime_error{"Kineto recorded no operation of the GPU"};
  return static_cast<std::uint64_t>(operations);
}

turn measure_kineto(trainer::training& trained, trainer::compute_device const& device, profkit::options const& off, bool has_cpu) {
  begin_kineto(has_cpu);
  turn result = measure(trained, device, off);
  result.operations = end_kineto();
  return result;
}

void measure_steps(std::string const& what, bool has_bridge, trainer::compute_device const& device) {
  bool const is_cupti = what == "cupti" || what == "cupti_off";
  bool const is_kineto = what == "kineto" || what == "kineto_cpu";
  profkit::options const options = profkit::options::parse("warmup=5,steps=30," + (is_cupti || is_kineto ? "off" : what));
  trainer::run_config config;
  config.ctx = 128;
  config.bridge = options.enabled && has_bridge;  // the bridge needs recorded scopes
  trainer::training trained{config, device, std::nullopt, 0};
  bench::take_turns([&] {
    turn const now = is_cupti    ? measure_bare_cupti(trained, device, options, what == "cupti_off")
                     : is_kineto ? measure_kineto(trained, device, options, what == "kineto_cpu")
                                 : measure(trained, device, options);
    return fmt::format("{{\"loop_ms\": {:.5f}, \"steps_ms\": [{:.4f}], \"operations\": {}}}", now.loop_ms, fmt::join(now.steps_ms, ", "),
                       now.operations);
  });
}

void measure_launches(bool has_kineto) {
  bench::warm_up();
  bench::take_turns([has_kineto] {
    if (!has_kineto) return fmt::format("{{\"ns\": {:.2f}}}", bench::ns_per_launch(bench::plain));
    begin_kineto(false);
    double const ns = bench::ns_per_launch(bench::plain);
    bench::check(cudaDeviceSynchronize());
    return fmt::format("{{\"ns\": {:.2f}, \"operations\": {}}}", ns, end_kineto());
  });
}

int run(std::string const& what, std::string const& second) {
  trainer::compute_device const device{trainer::device_kind::automatic};
  if (!device.is_cuda()) {
    fmt::print("skipped: there is no GPU\n");
    return 77;
  }
  if (what != "launch") {
    if (!second.empty() && second != "no_bridge")
      throw std::runtime_error{fmt::format("unknown option \"{}\" of steps. Valid: no_bridge", second)};
    measure_steps(what, second.empty(), device);
  } else if (second == "none" || second == "kineto") {
    measure_launches(second == "kineto");
  } else {
    throw std::runtime_error{fmt::format("unknown recorder \"{}\" of launches. Valid: none, kineto", second)};
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "");
  } catch (std::exception const& error) {
    fmt::print(stderr, "step_cost: {}\n", error.what());
    return 1;
  }
}
