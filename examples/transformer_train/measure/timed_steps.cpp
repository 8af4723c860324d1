// SPDX-License-Identifier: Apache-2.0
#include "measure/timed_steps.hpp"

#include <cstdlib>
#include <profkit/profkit.hpp>
#include <string>

#include "measure/torch_memory.hpp"

#if TRAINER_WITH_CUDA
#include <profkit/cupti.hpp>
#endif

namespace trainer {

profkit::options timed_steps_options() {
  char const* const environment = ::secure_getenv("PROFKIT");
  profkit::options options = profkit::options::parse(std::string{"warmup=10,steps=100,"} + (environment == nullptr ? "" : environment));
  options.wanted_interval.reset();  // each cell has the same number of steps
  return options;
}

profkit::report time_steps(compute_device const& device, profkit::options options, bool with_kernels,
                           std::function<void()> const& one_step) {
  options.output_directory.clear();
  options.print_report = false;
  options.full_report = false;
  options.trace = false;
  profkit::session session{options};
#if TRAINER_WITH_CUDA
  if (device.is_cuda()) session.collect(torch_memory());
  if (device.is_cuda() && with_kernels) session.collect(profkit::cupti_kernels());
#else
  static_cast<void>(with_kernels);
#endif
  device.synchronize();
  for (profkit::step step : session) {
    one_step();
    // Synchronise in the last warm-up step, so that the measured steps begin with an idle device.
    if (step.index() + 1 == options.warmup_steps) device.synchronize();
  }
  device.synchronize();
  return session.report();
}

}  // namespace trainer
