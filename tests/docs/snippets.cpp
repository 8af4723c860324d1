// SPDX-License-Identifier: Apache-2.0
//
// Compiled, not run: what the pages of the documentation show beside the quick start. tests/docs/check_snippets.py compares.
#include <profkit/cuda.hpp>
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
