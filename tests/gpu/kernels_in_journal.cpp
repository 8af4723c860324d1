// SPDX-License-Identifier: Apache-2.0
//
// Kills programs that keep a GPU busy, and measures the data loss of their journals: the time from the end of the newest recorded kernel to
// the kill. Uses a loop of short kernels and one of long ones, each with a full queue and with occasional waits.
//
// usage: profkit_gpu_programs kernels_in_journal [KILLS [FILE]]     per kind, 5 by default. Exits with 4 without a GPU.
#include <profkit/cupti.hpp>
#include <profkit/save_load.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <thread>

#include "gpu_programs.hpp"
#include "kernels.hpp"

namespace kernels_in_journal {

namespace {

constexpr double max_ms = 100.0;
constexpr int no_gpu = 4;

struct load {
  char const* name;
  std::uint64_t kernel_ns;
  int kernels_between_waits;  ///< 0: never waits for the device; launches then wait for room in the queue
};

constexpr load loads[] = {
    {"5 us kernels, queue full", 5'000, 0},
    {"5 us kernels, a wait every 1000", 5'000, 1000},
    {"500 us kernels, queue full", 500'000, 0},
    {"500 us kernels, a wait every 10", 500'000, 10},
};

/// Never returns. @param ready is written to when kernels run.
[[noreturn]] void run(load const& what, std::string const& journal, int ready) {
  profkit::options options;
  options.warmup_steps = 0;
  options.journal = journal;
  profkit::session session{options};
  session.collect(profkit::cupti_kernels());
  cudaStream_t stream = nullptr;
  if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) std::_Exit(no_gpu);
  profkit::step const endless{session};
  for (std::uint64_t number = 1;; ++number) {
    PROF_SCOPE("launch");
    start_busy(1, 1, stream, what.kernel_ns);
    if (what.kernels_between_waits > 0 && number % static_cast<std::uint64_t>(what.kernels_between_waits) == 0)
      cudaStreamSynchronize(stream);
    if (number == 20 && ::write(ready, "", 1) != 1) std::_Exit(1);
  }
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

struct lost {
  double kernels_ms = 0.0;  ///< from the end of the newest kernel to the kill
  double scopes_ms = 0.0;   ///< the same of scopes
  std::size_t kernels = 0;
};

lost kill_once(load const& what, std::string const& journal, std::chrono::milliseconds after) {
  std::filesystem::remove(journal);
  int ready[2] = {};
  if (::pipe(ready) != 0) std::exit(1);
  pid_t const child = ::fork();
  if (child == 0) run(what, journal, ready[1]);
  ::close(ready[1]);
  char byte = 0;
  bool const has_started = ::read(ready[0], &byte, 1) == 1;
  ::close(ready[0]);
  std::this_thread::sleep_for(after);
  std::int64_t const killed = now_ns();
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!has_started) {
    std::printf("no GPU\n");
    std::exit(no_gpu);
  }
  profkit::profile const found = profkit::load_journal(journal).content;
  lost result;
  result.kernels = found.gpu_operations.size();
  std::int64_t newest_kernel = 0;
  std::int64_t newest_scope = 0;
  for (auto const& each : found.gpu_operations)
    newest_kernel = std::max<std::int64_t>(newest_kernel, each.time.end.time_since_epoch().count());
  for (auto const& each : found.scopes) newest_scope = std::max<std::int64_t>(newest_scope, each.time.end.time_since_epoch().count());
  result.kernels_ms = static_cast<double>(killed - newest_kernel) / 1e6;
  result.scopes_ms = static_cast<double>(killed - newest_scope) / 1e6;
  return result;
}

}  // namespace

int run(int argc, char** argv) {
  int const kills = argc > 1 ? std::atoi(argv[1]) : 5;
  std::string const journal = argc > 2 ? argv[2] : (std::filesystem::temp_directory_path() / "kernels_in.journal").string();
  std::mt19937 random{1};
  std::uniform_int_distribution<int> after{500, 1500};
  bool is_kept = true;
  for (load const& what : loads) {
    lost worst;
    std::size_t kernels = 0;
    for (int i = 0; i < kills; ++i) {
      lost const now = kill_once(what, journal, std::chrono::milliseconds{after(random)});
      worst.kernels_ms = std::max(worst.kernels_ms, now.kernels_ms);
      worst.scopes_ms = std::max(worst.scopes_ms, now.scopes_ms);
      kernels += now.kernels;
    }
    is_kept = is_kept && worst.kernels_ms <= max_ms && worst.scopes_ms <= max_ms;
    std::printf("%-32s %d kills, %8zu kernels kept; lost at most %8.1f ms of kernels, %6.1f ms of scopes\n", what.name, kills, kernels,
                worst.kernels_ms, worst.scopes_ms);
    std::fflush(stdout);
  }
  std::filesystem::remove(journal);
  return is_kept ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace kernels_in_journal
