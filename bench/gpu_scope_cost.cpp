// SPDX-License-Identifier: Apache-2.0
//
// The host time of a PROF_GPU_SCOPE, compared with the two CUDA events that it needs. The variants alternate in one process. Prints a JSON
// object per round with the nanoseconds of each variant, and first the time of the first GPU scope of the process.
//
// usage: gpu_scope_cost [ROUNDS]
#include <profkit/cuda.hpp>
#include <profkit/report.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <cuda_runtime_api.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

using time_source = std::chrono::steady_clock;
using nanoseconds = std::chrono::duration<double, std::nano>;

constexpr std::size_t scopes_a_round = 400;
constexpr int discarded_rounds = 5;  // these rounds create the events that later rounds reuse

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
  std::exit(2);
}

struct bench {
  bench() {
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (auto& of_variant : events) {
      for (cudaEvent_t& each : of_variant) check(cudaEventCreate(&each));
    }
  }

  cudaStream_t stream = nullptr;
  /// By variant: with the same ones, all but the first would find them in a cache, where those of scopes are not.
  std::array<std::array<cudaEvent_t, 2 * scopes_a_round>, 3> events{};
};

/// Runs in a separate step with an idle device, long enough after the previous one that its logs are drained.
template <class Body>
double ns_each(profkit::session& session, bench const& with, Body&& body) {
  check(cudaStreamSynchronize(with.stream));
  std::this_thread::sleep_for(std::chrono::milliseconds{11});
  profkit::step const step{session};
  auto const begin = time_source::now();
  for (std::size_t i = 0; i < scopes_a_round; ++i) body(i);
  return nanoseconds{time_source::now() - begin}.count() / static_cast<double>(scopes_a_round);
}

double ns_of_first_scope(bench const& with) {
  auto const begin = time_source::now();
  { PROF_GPU_SCOPE("first", with.stream); }
  return nanoseconds{time_source::now() - begin}.count();
}

}  // namespace

int main(int argc, char** argv) {
  int const rounds = argc > 1 ? std::atoi(argv[1]) : 30;
  bench const with;
  profkit::detail::find_stream_calls();
  profkit::options options;
  options.enabled = false;
  profkit::session off{options};
  options = {};
  options.warmup_steps = 0;
  options.measured_steps = 1'000'000;

  auto const two_events = [&](std::size_t i) {
    static_cast<void>(cudaEventRecord(with.events[0][2 * i], with.stream));
    static_cast<void>(cudaEventRecord(with.events[0][2 * i + 1], with.stream));
  };
  auto const two_events_of_driver = [&](std::size_t i) {
    static_cast<void>(profkit::detail::cuda.event_record(with.events[1][2 * i], with.stream));
    static_cast<void>(profkit::detail::cuda.event_record(with.events[1][2 * i + 1], with.stream));
  };
  // What a GPU scope must also ask, so that it does not put its events into a graph of the program, and takes those of the context.
  auto const two_events_with_queries = [&](std::size_t i) {
    static_cast<void>(profkit::detail::current_cuda_context());
    for (std::size_t at = 2 * i; at < 2 * i + 2; ++at) {
      if (profkit::detail::is_capturing(with.stream)) return;
      static_cast<void>(profkit::detail::cuda.event_record(with.events[2][at], with.stream));
    }
  };
  auto const gpu_scope = [&](std::size_t) { PROF_GPU_SCOPE("scope", with.stream); };
  auto const host_scope = [](std::size_t) { PROF_SCOPE("scope"); };

  std::vector<double> without_session;
  for (int round = 0; round < rounds; ++round) without_session.push_back(ns_each(off, with, gpu_scope));
  profkit::session session{options};
  std::printf("{\"first_gpu_scope_ns\": %.1f}\n", ns_of_first_scope(with));
  for (int round = -discarded_rounds; round < rounds; ++round) {
    std::array<double, 5> ns{};
    for (std::size_t turn = 0; turn < ns.size(); ++turn) {
      std::size_t const which = (turn + static_cast<std::size_t>(round + discarded_rounds)) % ns.size();
      switch (which) {
        case 0:
          ns[which] = ns_each(session, with, two_events);
          break;
        case 1:
          ns[which] = ns_each(session, with, two_events_of_driver);
          break;
        case 2:
          ns[which] = ns_each(session, with, two_events_with_queries);
          break;
        case 3:
          ns[which] = ns_each(session, with, gpu_scope);
          break;
        default:
          ns[which] = ns_each(session, with, host_scope);
      }
    }
    if (round < 0) continue;
    std::printf(
        "{\"two event records\": %.2f, \"two event records of the driver\": %.2f, \"two event records with queries\": %.2f, "
        "\"PROF_GPU_SCOPE\": %.2f, \"PROF_SCOPE\": %.2f, \"PROF_GPU_SCOPE, no session\": %.3f}\n",
        ns[0], ns[1], ns[2], ns[3], ns[4], without_session[static_cast<std::size_t>(round)]);
    std::fflush(stdout);
  }
  profkit::quality_record const quality = session.report().profile().quality;
  if (quality.untimed_gpu_scopes == 0 && quality.dropped_events == 0) return 0;
  std::fprintf(stderr, "%llu GPU scopes were not timed, %llu events dropped\n", static_cast<unsigned long long>(quality.untimed_gpu_scopes),
               static_cast<unsigned long long>(quality.dropped_events));
  return 1;
}
