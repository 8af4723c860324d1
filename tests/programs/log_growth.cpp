// SPDX-License-Identifier: Apache-2.0
//
// The address space of thread logs, and the behaviour when none is left.
#include <profkit/report.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "../support/child_processes.hpp"

namespace {

profkit::options plain_options() {
  profkit::options result;
  result.warmup_steps = 0;
  result.measured_steps = 1;
  result.max_records = 100'000'000;
  return result;
}

/// Memory of this process in bytes.
std::uint64_t memory(int field) {
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  unsigned long values[2] = {};
  require(file != nullptr && std::fscanf(file, "%lu %lu", &values[0], &values[1]) == 2, "no /proc/self/statm");
  std::fclose(file);
  return values[field] * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void limit_address_space(std::uint64_t bytes) {
  rlimit const limit{bytes, RLIM_INFINITY};
  require(::setrlimit(RLIMIT_AS, &limit) == 0, "cannot limit the address space");
}

/// Threads that exist at the same time, each with this many scopes. Their stacks are small.
void record_on_threads(std::size_t threads, std::uint64_t scopes) {
  std::atomic<std::size_t> recorded{0};
  struct work {
    std::atomic<std::size_t>& recorded;
    std::size_t threads;
    std::uint64_t scopes;
  } shared{recorded, threads, scopes};
  pthread_attr_t attributes{};
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, 1U << 18U);
  std::vector<pthread_t> living(threads);
  for (pthread_t& each : living) {
    int const failure = ::pthread_create(
        &each, &attributes,
        [](void* argument) -> void* {
          auto& to_do = *static_cast<work*>(argument);
          for (std::uint64_t i = 0; i < to_do.scopes; ++i) PROF_SCOPE("work");
          for (++to_do.recorded; to_do.recorded < to_do.threads;) std::this_thread::yield();
          return nullptr;
        },
        &shared);
    require(failure == 0, "no thread");
  }
  for (pthread_t const each : living) ::pthread_join(each, nullptr);
}

void limited() {
  limit_address_space(600'000 * std::uint64_t{1024});
  constexpr std::size_t threads = 80;
  constexpr std::uint64_t scopes = 20'000;
  profkit::session session{plain_options()};
  record_on_threads(threads, scopes);
  profkit::profile const& profile = session.report().profile();
  require(profile.scopes.size() == threads * scopes, std::to_string(profile.scopes.size()) + " scopes");
  require(profile.quality.dropped_events == 0, std::to_string(profile.quality.dropped_events) + " events were dropped");
}

int locked() {
  if (::mlockall(MCL_FUTURE) != 0) {
    std::puts("skipped: no right to lock memory");
    return 4;
  }
  std::uint64_t const before = memory(1);
  profkit::session session{plain_options()};
  constexpr std::size_t threads = 8;
  record_on_threads(threads, 1000);
  std::uint64_t const taken = memory(1) - before;
  std::printf("%llu KiB\n", static_cast<unsigned long long>(taken >> 10U));
  // For 8 threads: stacks of 256 KiB, glibc's arenas, 13 logs, and the memory of the session itself.
  require(taken < (std::uint64_t{64} << 20U), std::to_string(taken) + " bytes became resident");
  require(session.report().profile().quality.dropped_events == 0, "events were dropped");
  return 0;
}

void refused() {
  profkit::session session{plain_options()};
  constexpr std::uint64_t scopes = 500'000;  // 12 MB, of which the first MiB is mapped
  rlimit const no_limit{RLIM_INFINITY, RLIM_INFINITY};
  int error = 0;
  limit_address_space(memory(0) + (std::uint64_t{1} << 20U));
  errno = 42;
  for (std::uint64_t i = 0; i < scopes; ++i) PROF_SCOPE("work");
  error = errno;
  ::setrlimit(RLIMIT_AS, &no_limit);
  { PROF_SCOPE("after"); }
  profkit::profile const& profile = session.report().profile();
  std::uint64_t const dropped = profile.quality.dropped_events;
  require(error == 42, "errno is " + std::to_string(error));
  require(profile.scopes.size() + dropped == scopes + 1, "scopes are neither recorded nor dropped");
  require(profile.scopes.size() > 50'000, "only " + std::to_string(profile.scopes.size()) + " were recorded");
  require(dropped > 0, "there was memory enough: this proves nothing");
  require(profile.quality.events_without_memory == dropped, "the reason is not the memory");
  std::string const text = session.report().full_text();
  require(text.find("the system gave no memory for a thread's log") != std::string::npos, text);
  require(text.find("a thread's log was full") == std::string::npos, text);
}

void bounded() {
  profkit::options options = profkit::options::parse("warmup=0,steps=1,log=256KiB");
  require(options.log_slots_per_thread == 32768, "log=256KiB are not 32768 slots");
  constexpr std::uint64_t scopes = 50'000;
  // The session's thread may read the log meanwhile, which makes room.
  std::uint64_t least = scopes;
  for (int attempt = 0; attempt < 10 && least * 24 > 256 * 1024; ++attempt) {
    profkit::session session{options};
    std::thread{[] {
      for (std::uint64_t i = 0; i < scopes; ++i) PROF_SCOPE("work");
    }}.join();
    profkit::profile const& profile = session.report().profile();
    require(profile.scopes.size() + profile.quality.dropped_events == scopes, "scopes are neither recorded nor dropped");
    require(profile.quality.events_without_memory == 0, "the reason is the memory");
    least = std::min<std::uint64_t>(least, profile.scopes.size());
  }
  require(least * 24 <= 256 * 1024 && least * 24 > 190 * 1024, std::to_string(least) + " scopes were recorded");
}

}  // namespace

int main(int count, char** arguments) {
  std::string_view const test = count == 2 ? arguments[1] : "";
  if (test == "limited") return limited(), 0;
  if (test == "locked") return locked();
  if (test == "refused") return refused(), 0;
  if (test == "bounded") return bounded(), 0;
  std::fputs("usage: log_growth limited|locked|refused|bounded\n", stderr);
  return 2;
}
