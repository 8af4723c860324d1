// SPDX-License-Identifier: Apache-2.0
//
// Compiled, not run: what the pages of the documentation show beside the quick start. tests/docs/check_snippets.py compares.
#include <profkit/cuda.hpp>
#include <profkit/cupti.hpp>
#include <profkit/profkit.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
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

void capture_and_replay(profkit::session& session, cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t runnable = nullptr;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  {
    PROF_SCOPE("forward");
    launch_kernels(stream);  // what it launches is charged to "forward", in every replay
  }
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&runnable, graph, 0);
  for (profkit::step step : session) {
    PROF_SCOPE("replay");
    cudaGraphLaunch(runnable, stream);
  }
  cudaGraphExecDestroy(runnable);
  cudaGraphDestroy(graph);
}

class thread_pool {
 public:
  void add(std::function<void()> run) {
    std::lock_guard const lock{mutex_};
    tasks_.push_back({std::move(run), profkit::scope_token::current()});  // the scope that asks for the work
    has_tasks_.notify_one();
  }

  void work() {
    for (;;) {
      task const next = wait_for_task();
      PROF_ADOPT_SCOPE("task", next.asked_in);  // shown as "forward/layer_3 (task)"
      next.run();
    }
  }

 private:
  struct task {
    std::function<void()> run;
    profkit::scope_token asked_in;
  };

  task wait_for_task() {
    std::unique_lock lock{mutex_};
    has_tasks_.wait(lock, [this] { return !tasks_.empty(); });
    task next = std::move(tasks_.front());
    tasks_.pop_front();
    return next;
  }

  std::mutex mutex_;
  std::condition_variable has_tasks_;
  std::deque<task> tasks_;
};

struct graph_node {
  profkit::scope_token made_in;
  void run() const;
};

void run_node(graph_node const& node, profkit::scope_token waiting) {
  static profkit::site backward{"backward", __FILE__, __LINE__};
  profkit::adopting_scope const scope{backward, node.made_in, waiting};
  node.run();
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
