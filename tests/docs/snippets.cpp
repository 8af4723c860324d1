// SPDX-License-Identifier: Apache-2.0
//
// The code blocks of the documentation, except for the quick start. Compiled but not run; tests/docs/check_snippets.py compares them.
#include <profkit/analyze.hpp>
#include <profkit/cuda.hpp>
#include <profkit/cupti.hpp>
#include <profkit/kernel_class.hpp>
#include <profkit/load_report.hpp>
#include <profkit/nccl.hpp>
#include <profkit/profkit.hpp>
#include <profkit/save_load.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

void launch_kernels(cudaStream_t);

void steps_on_a_gpu(cudaStream_t stream) {
  profkit::session session;
  session.collect(profkit::cuda_step_timer(stream));  // GPU time of each step
  session.collect(profkit::cupti_kernels());          // kernels, copies and memsets by scope
  session.collect(profkit::cuda_memory());
  session.collect(profkit::gpu_clocks());
  for (profkit::step step : session) {
    PROF_GPU_SCOPE("forward", stream);  // host time, and GPU time between two CUDA events
    launch_kernels(stream);
  }
  profkit::report report = session.report();  // waits until the GPU has done its work
  fmt::print("{}\n", report);
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

void collect_of_rank(profkit::session& session) {
  session.collect(profkit::nccl_collectives());  // <profkit/nccl.hpp>
  session.collect(profkit::cupti_kernels());     // <profkit/cupti.hpp>: the kernels
}

std::uint32_t rank();
std::uint32_t ranks();
void all_reduce(float const* values, float* sums, std::size_t count);

void sum_of_ranks(float const* values, float* sums, std::size_t count) {
  static profkit::communicator group{"data parallel", 1, rank(), ranks(), 0};  // name and number are the same on all ranks
  PROF_SCOPE("sum", profkit::collective{"all_reduce", group, count * sizeof(float)});
  all_reduce(values, sums, count);
}

void start_exchange(float* from, float* to);
void finish_exchange();

void exchange_halo(float* from, float* to, std::uint64_t bytes) {
  static profkit::communicator group{"halo", 2, rank(), ranks(), 0};
  auto const received = profkit::collective::receive(group, (rank() + ranks() - 1) % ranks(), 0, bytes);  // partner, tag, bytes
  auto const sent = profkit::collective::send(group, (rank() + 1) % ranks(), 0, bytes);
  start_exchange(from, to);
  PROF_SCOPE("wait for halo", received);
  profkit::add_collective(sent);
  finish_exchange();
}

void attention_scores(cudaStream_t stream, double heads, double tokens, double size) {
  double const flops = 2.0 * heads * tokens * tokens * size;                          // of a product; a multiply-add is two
  double const bytes = 2.0 * heads * (2.0 * tokens * size + tokens * tokens);         // in bf16: two operands and the result
  PROF_SCOPE("scores", profkit::work{flops, bytes, profkit::precision::bf16, 2.0F});  // backward has two such products
  launch_kernels(stream);
}

void train_step();

void train(profkit::options options, double parameters, double layers, double width, double tokens, double context) {
  options.precision = profkit::precision::bf16;
  options.model_flops_per_step = tokens * (6.0 * parameters + 12.0 * layers * width * context);  // PaLM, appendix B
  profkit::session session{options};
  session.collect(profkit::measured_roof{{{profkit::precision::bf16, 7.1e14, 4.2e12, "matrix product 8192 x 8192 x 8192"}}});
  for (profkit::step step : session) train_step();
}

void* take(std::size_t bytes);
void give_back(void* memory);
std::uint64_t bytes_in_arena() noexcept;

profkit::site arena_source{"arena", __FILE__, __LINE__};

void* allocate_from_arena(std::size_t bytes) {
  void* const memory = take(bytes);
  profkit::record_allocation(arena_source, memory, bytes);  // when the piece is there
  return memory;
}

void release_to_arena(void* memory) {
  profkit::record_release(arena_source, memory);  // before its address can be given again
  give_back(memory);
}

class recorded_arena : public profkit::collector {
 public:
  std::string_view name() const noexcept override { return "arena"; }
  void start(profkit::profile_builder& into) override { into.position_of(profkit::allocator_record{"arena", bytes_in_arena(), false}); }
};

class polled_arena : public profkit::memory_source {
 public:
  std::string_view name() const noexcept override { return "arena"; }
  std::vector<profkit::memory_reading> read() override { return {{"used", bytes_in_arena(), std::nullopt, {}}}; }
  profkit::polled_allocator at_scopes() const noexcept override {
    static profkit::site source{"arena", __FILE__, __LINE__};
    return {&source, []() noexcept { return bytes_in_arena(); }};
  }
};

void read_clocks(profkit::session& session, cudaStream_t stream) {
  session.collect(profkit::cuda_step_timer(stream));
  session.collect(profkit::gpu_clocks());
}

void measure_utilization(profkit::session& session) { session.collect(profkit::gpu_utilization()); }

void collect_migrations(profkit::session& session) {
  session.collect(profkit::cupti_kernels());
  session.collect(profkit::unified_memory());  // after cupti_kernels, whose buffers it uses
}

void measure_energy(profkit::session& session) { session.collect(profkit::energy()); }

void sampled(profkit::session& session) {
  session.collect(profkit::host_samples{{1000.0}});  // samples per second of processor time, of each thread
  for (profkit::step step : session) train_step();
}

void what_was_killed() {
  profkit::report const found = profkit::load_report("run.journal");
  fmt::print("{}\n", found);
}

void until_known(profkit::options options) {
  options.wanted_interval = 0.005;  // half of the 95 % interval, over the mean; steps=auto takes 0.01
  options.max_steps = 500;          // in any case
  profkit::session session{options};
  while (session.wants_step()) {  // or the range-for, which asks the same
    profkit::step step{session};
    train_step();
  }
}
