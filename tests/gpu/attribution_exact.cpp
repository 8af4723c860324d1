// SPDX-License-Identifier: Apache-2.0
//
// Launches kernels, copies and memsets from several threads on several streams. Each operation encodes its scope: kernels in their grid
// size, copies and memsets in their size. Checks that every operation is charged to that scope, and prints their number.
//
// usage: profkit_gpu_programs attribution_exact [KERNELS [all]]     1,000,000 by default; all: with all API calls collected
#include <profkit/analyze.hpp>
#include <profkit/cupti.hpp>
#include <profkit/impl/analyze/gpu/attribution.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "../support/summary_bytes.hpp"
#include "gpu_programs.hpp"
#include "kernels.hpp"

namespace attribution_exact {

namespace {

constexpr std::uint32_t outer_scopes = 31;
constexpr std::uint32_t inner_scopes = 32;
constexpr std::uint32_t threads = 4;
constexpr std::uint32_t streams_per_thread = 2;
constexpr std::uint32_t outside = 500;  ///< launched in the outer scope itself instead of an inner scope
constexpr std::size_t bytes_unit = 16;

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
  std::exit(2);
}

/// The identity of a scope: its number, its parent's number, and the thread's number.
struct identity {
  std::uint32_t thread;
  std::uint32_t outer;
  std::uint32_t inner;

  [[nodiscard]] std::size_t bytes() const { return bytes_unit * (1 + inner + 1000 * (outer + 100 * thread)); }
  static identity of_bytes(std::uint64_t bytes) {
    auto const number = static_cast<std::uint32_t>(bytes / bytes_unit - 1);
    return {number / 100'000, number / 1000 % 100, number % 1000};
  }
  bool operator==(identity const& other) const { return thread == other.thread && outer == other.outer && inner == other.inner; }
};

void launch(identity const& in, cudaStream_t stream, char* memory, std::uint32_t number) {
  start_nothing(dim3{in.outer + 1, in.inner + 1, in.thread + 1}, 1, stream);
  if (number % 16 == 3) check(cudaMemsetAsync(memory, 0, in.bytes(), stream));
  if (number % 16 == 7) check(cudaMemcpyAsync(memory, memory + 8'000'000, in.bytes(), cudaMemcpyDeviceToDevice, stream));
}

void work(std::uint32_t thread, std::uint64_t kernels) {
  PROF_SCOPE_INDEXED("thread", thread);
  cudaStream_t streams[streams_per_thread] = {};
  for (cudaStream_t& each : streams) check(cudaStreamCreateWithFlags(&each, cudaStreamNonBlocking));
  char* memory = nullptr;
  check(cudaMalloc(&memory, 16'000'000));
  std::uint64_t launched = 0;
  for (std::uint32_t i = 0; launched < kernels; ++i) {
    std::uint32_t const outer = i % outer_scopes;
    PROF_SCOPE_INDEXED("outer", outer);
    for (std::uint32_t inner = 0; inner < inner_scopes; ++inner) {
      {
        PROF_SCOPE_INDEXED("inner", inner);
        launch({thread, outer, inner}, streams[inner % streams_per_thread], memory, i + inner);
        ++launched;
      }
      if (inner % 8 == 0) {
        launch({thread, outer, outside}, streams[inner / 8 % streams_per_thread], memory, i + inner);
        ++launched;
      }
    }
  }
  for (cudaStream_t const each : streams) {
    check(cudaStreamSynchronize(each));
    check(cudaStreamDestroy(each));
  }
  check(cudaFree(memory));
}

/// Reads a scope's identity from its path: thread_1/outer_5/inner_7.
identity identity_of(profkit::profile const& profile, std::uint32_t path) {
  identity result{1000, 1000, outside};
  for (; path != profkit::path_record::no_parent; path = profile.paths[path].parent) {
    profkit::path_record const& record = profile.paths[path];
    auto const index = static_cast<std::uint32_t>(record.index.value_or(1000));
    if (record.name == "thread") result.thread = index;
    if (record.name == "outer") result.outer = index;
    if (record.name == "inner") result.inner = index;
  }
  return result;
}

}  // namespace

int run(int argc, char** argv) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("skipped: no CUDA device");
    return 4;
  }
  std::uint64_t const kernels = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  profkit::options options;
  options.warmup_steps = 0;
  options.max_records = 10 * kernels;
  profkit::session session{options};
  session.collect(profkit::cupti_kernels({argc > 2 && std::string{argv[2]} == "all"}));
  std::vector<std::thread> running;
  for (std::uint32_t thread = 0; thread < threads; ++thread) running.emplace_back(work, thread, (kernels + threads - 1) / threads);
  for (std::thread& each : running) each.join();
  profkit::report const report = session.report();
  profkit::profile const& profile = report.profile();

  for (auto const& each : profile.collectors) std::printf("%s: %s %s\n", each.name.c_str(), each.status.c_str(), each.reason.c_str());
  auto const begin = std::chrono::steady_clock::now();
  profkit::attribution const charged = profkit::attribute(profile);
  std::chrono::duration<double> const taken = std::chrono::steady_clock::now() - begin;
  char const* const names[] = {"kernels", "copies", "memsets"};
  std::uint64_t seen[3] = {};
  std::uint64_t matched[3] = {};
  for (std::size_t i = 0; i < profile.gpu_operations.size(); ++i) {
    profkit::gpu_operation_record const& operation = profile.gpu_operations[i];
    auto const kind = static_cast<std::size_t>(operation.kind);
    identity const meant =
        kind == 0 ? identity{operation.grid[2] - 1, operation.grid[0] - 1, operation.grid[1] - 1} : identity::of_bytes(operation.bytes);
    ++seen[kind];
    std::uint32_t const scope = charged.scope_of[i];
    if (scope != profkit::attribution::none && identity_of(profile, profile.scopes[scope].path) == meant) ++matched[kind];
  }
  bool is_right = seen[0] >= kernels && seen[1] > 0 && seen[2] > 0;
  for (std::size_t kind = 0; kind < 3; ++kind) {
    std::printf("%s: matched %llu of %llu\n", names[kind], static_cast<unsigned long long>(matched[kind]),
                static_cast<unsigned long long>(seen[kind]));
    is_right = is_right && matched[kind] == seen[kind];
  }
  std::printf("threads %u, streams %u, scopes %zu; dropped operations %llu, invalid %llu, dropped scopes %llu; attributed in %.3f s\n",
              threads, threads * streams_per_thread, profile.scopes.size(),
              static_cast<unsigned long long>(profile.quality.dropped_operations),
              static_cast<unsigned long long>(profile.quality.invalid_operations),
              static_cast<unsigned long long>(profile.quality.dropped_events), taken.count());
  is_right = is_right && profile.quality.dropped_operations == 0 && profile.quality.dropped_events == 0;
  bool const is_same = bytes_of(report.summary()) == bytes_of(profkit::analyze(profile));
  std::printf("the figures computed while it ran %s those of the whole profile\n", is_same ? "are" : "differ from");
  is_right = is_right && is_same;
  std::puts(is_right ? "PASS" : "FAIL");
  return is_right ? 0 : 1;
}

}  // namespace attribution_exact
