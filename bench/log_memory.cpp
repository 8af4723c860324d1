// SPDX-License-Identifier: Apache-2.0
//
// Memory of a recorded scope, the scopes kept and dropped while a thread's log is drained, and peak memory with millions of scopes on one
// thread outside steps. Prints a line of JSON. Exits with 1 if a scope is neither in the profile nor counted.
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <profkit/scope.hpp>
#include <thread>

#include "bench_session.hpp"
#include "bench_support.hpp"

namespace {

constexpr std::uint64_t kept_scopes = 200'000;
constexpr std::uint64_t drained_scopes = 4'000'000;
constexpr std::uint64_t burst = 10'000;
constexpr std::uint64_t many_scopes = 8'000'000;
constexpr std::uint64_t max_records = 1'000'000;

/// Resident memory of this process.
double resident_bytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0.0;
  unsigned long size = 0;
  unsigned long resident = 0;
  bool const was_read = std::fscanf(file, "%lu %lu", &size, &resident) == 2;
  std::fclose(file);
  return was_read ? static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) : 0.0;
}

__attribute__((noinline)) void scopes(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    PROF_SCOPE("scope");
    bench::touch_memory();
  }
}

__attribute__((noinline)) void indexed_scopes(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    PROF_SCOPE_INDEXED("scope", i & 7U);
    bench::touch_memory();
  }
}

struct whole_run {
  double peak_bytes;      ///< of this process
  std::uint64_t dropped;  ///< as profkit counts them
  bool is_complete;       ///< each scope is in the profile or counted
};

/// For a thread that opens scopes as fast as possible. Must be measured first, because the peak is that of the whole process.
whole_run of_many_scopes() {
  bench::recording session{0, max_records};
  std::thread{[] { scopes(many_scopes); }}.join();
  bench::recording::result const found = session.end();
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return {1024.0 * static_cast<double>(usage.ru_maxrss), found.dropped, found.scopes + found.discarded + found.dropped == many_scopes};
}

struct memory {
  double log_bytes;       ///< of each scope, in the log
  double indexed_bytes;   ///< the same of an indexed one
  double resident_bytes;  ///< growth of the process per scope
};

/// For scopes that are not drained.
memory of_kept_scopes() {
  bench::undrained const recorder;
  memory result{};
  std::thread{[&result] {
    scopes(1);
    std::uint64_t const begin = bench::log_position();
    double const resident = resident_bytes();
    scopes(kept_scopes);
    result.resident_bytes = (resident_bytes() - resident) / kept_scopes;
    std::uint64_t const end = bench::log_position();
    indexed_scopes(1000);
    result.log_bytes = static_cast<double>(end - begin) / kept_scopes;
    result.indexed_bytes = static_cast<double>(bench::log_position() - end) / 1000;
  }}.join();
  return result;
}

struct drained {
  std::uint64_t scopes;   ///< in the profile
  std::uint64_t dropped;  ///< as profkit counts them
  double writer_ns;       ///< processor time of the writing thread for each scope
  double reader_ns;       ///< of the session's thread, for each scope in the profile
  double scopes_per_s;    ///< that the writer wrote
};

/// For a thread that opens scopes, with a pause after each `burst`, while the session drains its log.
drained of_drained_scopes(std::chrono::microseconds pause) {
  bench::recording session;
  double const process_begin = bench::now_ns(CLOCK_PROCESS_CPUTIME_ID);
  double all_ns = 0.0;  // of the writer
  drained result{};
  std::thread writer{[&] {
    double const start = bench::now_ns(CLOCK_MONOTONIC);
    double ns = 0.0;
    for (std::uint64_t written = 0; written < drained_scopes; written += burst) {
      double const begin = bench::now_ns(CLOCK_THREAD_CPUTIME_ID);
      scopes(burst);
      ns += bench::now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
      if (pause.count() != 0) std::this_thread::sleep_for(pause);
    }
    result.writer_ns = ns / drained_scopes;
    result.scopes_per_s = 1e9 * drained_scopes / (bench::now_ns(CLOCK_MONOTONIC) - start);
    all_ns = bench::now_ns(CLOCK_THREAD_CPUTIME_ID);
  }};
  writer.join();
  std::this_thread::sleep_for(std::chrono::milliseconds{100});  // drains the rest
  double const reader_ns = bench::now_ns(CLOCK_PROCESS_CPUTIME_ID) - process_begin - all_ns;
  bench::recording::result const found = session.end();
  result.scopes = found.scopes;
  result.dropped = found.dropped;
  result.reader_ns = reader_ns / static_cast<double>(found.scopes == 0 ? 1 : found.scopes);
  return result;
}

void print(char const* name, drained const& drained) {
  std::printf(
      ", \"%s\": {\"opened\": %llu, \"in_profile\": %llu, \"dropped\": %llu, \"writer_ns\": %.2f, \"reader_ns\": %.2f, \"scopes_per_s\": "
      "%.0f}",
      name, static_cast<unsigned long long>(drained_scopes), static_cast<unsigned long long>(drained.scopes),
      static_cast<unsigned long long>(drained.dropped), drained.writer_ns, drained.reader_ns, drained.scopes_per_s);
}

}  // namespace

int main() {
  whole_run const many = of_many_scopes();
  memory const kept = of_kept_scopes();
  drained const busy = of_drained_scopes(std::chrono::milliseconds{5});
  drained const without_end = of_drained_scopes({});
  std::printf("{\"log_bytes\": %.2f, \"indexed_log_bytes\": %.2f, \"resident_bytes\": %.2f", kept.log_bytes, kept.indexed_bytes,
              kept.resident_bytes);
  std::printf(", \"many_scopes\": {\"opened\": %llu, \"max_records\": %llu, \"peak_bytes\": %.0f, \"dropped\": %llu}",
              static_cast<unsigned long long>(many_scopes), static_cast<unsigned long long>(max_records), many.peak_bytes,
              static_cast<unsigned long long>(many.dropped));
  print("with_pauses", busy);
  print("without_pause", without_end);
  std::puts("}");
  bool const all_known =
      many.is_complete && busy.scopes + busy.dropped == drained_scopes && without_end.scopes + without_end.dropped == drained_scopes;
  return all_known ? 0 : 1;
}
