// SPDX-License-Identifier: Apache-2.0
//
// The functions whose instructions callgrind counts (bench/bench_instructions.py). Each runs 1000 rounds, then 3000; the difference
// excludes everything outside the rounds. Each count is a named dump.
#include <cstdio>
#include <initializer_list>
#include <profkit/scope.hpp>
#include <thread>

#include "bench_session.hpp"
#include "bench_support.hpp"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#define BENCH_HAS_CALLGRIND 1
#else
#define CALLGRIND_DUMP_STATS_AT(name) static_cast<void>(name)
#define BENCH_HAS_CALLGRIND 0
#endif

// The check must fail if a scope becomes more expensive, so one program is built with a few additional instructions.
#ifdef BENCH_DEARER_SCOPE
#define BENCH_SCOPE(...)   \
  PROF_SCOPE(__VA_ARGS__); \
  asm volatile("nop\n\tnop\n\tnop\n\tnop" ::: "memory")
#else
#define BENCH_SCOPE(...) PROF_SCOPE(__VA_ARGS__)
#endif

namespace {

__attribute__((noinline)) void empty(int rounds) {
  for (int i = 0; i < rounds; ++i) bench::touch_memory();
}

__attribute__((noinline)) void off(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    BENCH_SCOPE("scope");
    bench::touch_memory();
  }
}

__attribute__((noinline)) void off_indexed(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    PROF_SCOPE_INDEXED("scope", i);
    bench::touch_memory();
  }
}

__attribute__((noinline)) void floor_records(int rounds) {
  static thread_local bench::floor_recorder recorder;
  for (int i = 0; i < rounds; ++i) recorder.record(static_cast<std::uint64_t>(i), bench::touch_memory);
}

__attribute__((noinline)) void on(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    BENCH_SCOPE("scope");
    bench::touch_memory();
  }
}

__attribute__((noinline)) void on_indexed(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    PROF_SCOPE_INDEXED("scope", i);
    bench::touch_memory();
  }
}

/// Four scopes per round.
__attribute__((noinline)) void on_nested(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    BENCH_SCOPE("a");
    bench::touch_memory();
    BENCH_SCOPE("b");
    bench::touch_memory();
    BENCH_SCOPE("c");
    bench::touch_memory();
    BENCH_SCOPE("d");
    bench::touch_memory();
  }
}

/// Four new sites.
__attribute__((noinline)) void new_sites() {
  BENCH_SCOPE("new a");
  PROF_SCOPE("new b");
  PROF_SCOPE("new c");
  PROF_SCOPE("new d");
  bench::touch_memory();
}

__attribute__((noinline)) void first_scope() {
  BENCH_SCOPE("first");
  bench::touch_memory();
}

void count(char const* name, void (*function)(int)) {
  for (int const rounds : {1000, 3000}) {
    CALLGRIND_DUMP_STATS_AT("between");  // a dump resets the counts of all threads
    function(rounds);
    CALLGRIND_DUMP_STATS_AT(name);
  }
}

void count_once(char const* name, void (*function)()) {
  CALLGRIND_DUMP_STATS_AT("between");
  function();
  CALLGRIND_DUMP_STATS_AT(name);
}

}  // namespace

/// @return 4 without callgrind.
int main() {
  if (BENCH_HAS_CALLGRIND == 0) {
    std::puts("skipped: built without valgrind/callgrind.h");
    return 4;
  }
  count("empty", empty);
  count("off", off);
  count("off_indexed", off_indexed);
  count("floor", floor_records);
  bench::undrained const recorder;
  { PROF_SCOPE("first of this thread"); }
  count("on", on);
  count("on_indexed", on_indexed);
  count("on_nested", on_nested);
  count_once("four_new_sites", new_sites);
  std::thread{[] {}}.join();  // warms up thread creation; joined, because callgrind counts all threads
  std::thread{[] { count_once("new_thread", first_scope); }}.join();
  return 0;
}
