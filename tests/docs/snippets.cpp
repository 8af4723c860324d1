// SPDX-License-Identifier: Apache-2.0
//
// Compiled, not run: what the pages of the documentation show beside the quick start. tests/docs/check_snippets.py compares.
#include <profkit/cuda.hpp>
#include <profkit/cupti.hpp>
#include <profkit/profkit.hpp>

#include <optional>
#include <vector>

void launch_kernels(cudaStream_t);

void gpu_times(cudaStream_t stream) {
  profkit::session session;
  session.collect(profkit::cuda_step_timer(stream));  // GPU time of each step
  session.collect(profkit::cuda_memory());
  for (profkit::step step : session) {
    PROF_GPU_SCOPE("forward", stream);  // host time, and GPU time between two CUDA events
    launch_kernels(stream);
  }
}

void kernels(cudaStream_t stream) {
  profkit::session session;
  session.collect(profkit::cupti_kernels());
  for (profkit::step step : session) {
    PROF_SCOPE("forward");
    launch_kernels(stream);
  }
  profkit::report report = session.report();  // waits until the GPU has done its work
  fmt::print("{}\n", report);
}

void all_api_calls(profkit::session& session) {
  session.collect(profkit::cupti_kernels(profkit::kernel_options{true}));  // all API calls
}

void own_kernel_classes(profkit::profile const& profile) {
  profkit::analyze_options options;
  options.kernel_classes.insert(options.kernel_classes.begin(), profkit::kernel_class_rule{"attention", {"paged_kv"}});
  profkit::summary summary = profkit::analyze(profile, options);
  fmt::print("{} kernels\n", summary.gpu->kernels.size());
}

void own_loop(std::vector<int> const& batches) {
  profkit::session session;
  for (int const batch : batches) {
    profkit::step step{session};
    step.set_items(static_cast<std::uint64_t>(batch));
    PROF_COUNTER("batch", batch);
  }
}

struct my_pool {
  std::uint64_t used, peak;
} pool;

class pool_memory : public profkit::memory_source {
 public:
  std::string_view name() const noexcept override { return "pool"; }
  std::vector<profkit::memory_reading> read() override { return {{"used", pool.used, pool.peak, "measured steps"}}; }
  void reset_peak() override { pool.peak = pool.used; }
};

void save_and_load(profkit::report const& report) {
  profkit::save(report.profile(), "run.profkit");
  profkit::summary summary = profkit::analyze(profkit::load("run.profkit"));
  fmt::print("{} steps\n", summary.steps.host.count);
}
