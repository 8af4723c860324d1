// SPDX-License-Identifier: Apache-2.0
//
// The time of a scope on this machine, compared with the minimum. One iteration is `batch` scopes; the counter `ns` is processor time per
// scope. scripts/bench.sh runs it many times, each run a round of all variants, and compares within rounds.
#include <benchmark/benchmark.h>
#include <sys/mman.h>
#include <profkit/profkit.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <profkit/scope.hpp>
#include <thread>

#include "bench_session.hpp"
#include "bench_support.hpp"

#if __has_include(<nvtx3/nvtx3.hpp>)
#include <nvtx3/nvtx3.hpp>
#endif

namespace {

using bench::touch_memory;

constexpr int batch = 16384;
constexpr int batches = 12;

std::optional<bench::undrained> session;
std::optional<bench::recording> drained_session;

void begin_session(benchmark::State const&) { session.emplace(); }

void begin_drained_session(benchmark::State const&) { drained_session.emplace(); }

/// Differs from the size of existing logs, so that a thread gets a new one.
void begin_session_with_new_logs(benchmark::State const&) { session.emplace(std::uint64_t{1} << 26U); }

void end_session(benchmark::State const&) {
  session.reset();
  drained_session.reset();
}

__attribute__((noinline)) void empty() {
  for (int i = 0; i < batch; ++i) touch_memory();
}

__attribute__((noinline)) void two_readings() {
  for (int i = 0; i < batch; ++i) {
    std::uint64_t begin = profkit::detail::counter_ticks();
    touch_memory();
    std::uint64_t end = profkit::detail::counter_ticks();
    asm volatile("" : "+r"(begin), "+r"(end));
  }
}

__attribute__((noinline)) void floor_records() {
  static thread_local bench::floor_recorder recorder;
  for (int i = 0; i < batch; ++i) recorder.record(static_cast<std::uint64_t>(i), touch_memory);
}

__attribute__((noinline)) void scopes() {
  for (int i = 0; i < batch; ++i) {
    PROF_SCOPE("scope");
    touch_memory();
  }
}

__attribute__((noinline)) void indexed_scopes() {
  for (int i = 0; i < batch; ++i) {
    PROF_SCOPE_INDEXED("scope", i & 7);
    touch_memory();
  }
}

/// Four nested scopes.
__attribute__((noinline)) void nested_scopes() {
  for (int i = 0; i < batch / 4; ++i) {
    PROF_SCOPE("a");
    touch_memory();
    PROF_SCOPE("b");
    touch_memory();
    PROF_SCOPE("c");
    touch_memory();
    PROF_SCOPE("d");
    touch_memory();
  }
}

/// Names that are known at run time.
__attribute__((noinline)) void named_scopes() {
  static char const* const names[] = {"load batch",     "attention",  "feed forward", "layer norm",
                                      "optimizer step", "all-reduce", "loss",         "checkpoint"};
  for (int i = 0; i < batch; ++i) {
    profkit::named_scope const scope{names[i & 7]};
    touch_memory();
  }
}

#if __has_include(<nvtx3/nvtx3.hpp>)
struct bench_domain {
  static constexpr char const* name = "bench";
};

__attribute__((noinline)) void nvtx_ranges() {
  for (int i = 0; i < batch; ++i) {
    NVTX3_FUNC_RANGE_IN(bench_domain);
    touch_memory();
  }
}
#endif

void set_ns(benchmark::State& state, double taken) {
  state.counters["ns"] = benchmark::Counter(taken / (static_cast<double>(state.iterations()) * batch), benchmark::Counter::kAvgThreads);
}

template <void (*Run)()>
void measure(benchmark::State& state) {
  Run();
  double const begin = bench::now_ns(CLOCK_THREAD_CPUTIME_ID);
  for (auto _ : state) Run();
  set_ns(state, bench::now_ns(CLOCK_THREAD_CPUTIME_ID) - begin);
}

/// Many batches without a pause, while the session's thread drains.
template <void (*Run)()>
void measure_beside(benchmark::State& state) {
  constexpr int many = 20;
  Run();
  double const begin = bench::now_ns(CLOCK_THREAD_CPUTIME_ID);
  for (auto _ : state) {
    for (int i = 0; i < many; ++i) Run();
  }
  set_ns(state, (bench::now_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / many);
}

/// Records are drained after each batch, as in a program whose session drains its logs in time; only the batches are timed.
template <void (*Run)()>
void measure_drained(benchmark::State& state) {
  Run();  // the thread's first scope, and the first access to its memory
  bench::forget_recorded();
  double taken = 0.0;
  for (auto _ : state) {
    double const begin = bench::now_ns(CLOCK_THREAD_CPUTIME_ID);
    Run();
    taken += bench::now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
    bench::forget_recorded();
  }
  set_ns(state, taken);
}

/// Runs in a new thread, so that its memory pages are new. @return processor time of `run` for each of the iterations.
template <class Run>
double in_new_thread(benchmark::State& state, Run const& run) {
  double ns = 0.0;
  std::thread{[&] {
    run();
    double const begin = bench::now_ns(CLOCK_THREAD_CPUTIME_ID);
    for (auto _ : state) run();
    ns = bench::now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
  }}.join();
  return ns / static_cast<double>(state.iterations());
}

/// 24 bytes to untouched memory.
void floor_first_written(benchmark::State& state) {
  constexpr std::size_t count = std::size_t{batch} * (batches + 1);
  void* const memory = ::mmap(nullptr, count * sizeof(bench::floor_record), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  auto* const records = static_cast<bench::floor_record*>(memory);
  std::size_t written = 0;
  double const ns = in_new_thread(state, [&] {
    for (std::size_t i = 0; i < batch; ++i) {
      std::uint64_t const begin = profkit::detail::counter_ticks();
      touch_memory();
      records[written++ % count] = {begin, profkit::detail::counter_ticks(), i};
    }
  });
  state.counters["ns"] = ns / batch;
  ::munmap(memory, count * sizeof(bench::floor_record));
}

/// In a new log that is not drained.
void scopes_first_written(benchmark::State& state) { state.counters["ns"] = in_new_thread(state, scopes) / batch; }

void add(char const* name, benchmark::internal::Function* run, int threads = 1, void (*set_up)(benchmark::State const&) = nullptr) {
  benchmark::internal::Benchmark* const added = benchmark::RegisterBenchmark(name, run)->Iterations(batches)->Threads(threads);
  if (set_up != nullptr) added->Setup(set_up)->Teardown(end_session);
}

}  // namespace

int main(int argc, char** argv) {
  add("empty", measure<empty>);
  add("off", measure<scopes>);
  add("off_indexed", measure<indexed_scopes>);
#if __has_include(<nvtx3/nvtx3.hpp>)
  add("nvtx_no_tool", measure<nvtx_ranges>);
#endif
  add("two_readings", measure_drained<two_readings>);
  // Compared variants are adjacent.
  add("floor", measure_drained<floor_records>);
  add("on", measure_drained<scopes>, 1, begin_session);
  add("on_nested", measure_drained<nested_scopes>, 1, begin_session);
  add("on_indexed", measure_drained<indexed_scopes>, 1, begin_session);
  add("on_named", measure_drained<named_scopes>, 1, begin_session);
  add("floor_beside", measure_beside<floor_records>);
  add("on_beside", measure_beside<scopes>, 1, begin_drained_session);
  add("floor_two_threads", measure_drained<floor_records>, 2);
  add("on_two_threads", measure_drained<scopes>, 2, begin_session);
  add("floor_first_written", floor_first_written);
  add("on_first_written", scopes_first_written, 1, begin_session_with_new_logs);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
