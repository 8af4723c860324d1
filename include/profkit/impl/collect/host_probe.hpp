// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>

#include "../../profile.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The host name, the boot id, and the id and command line of this process (`/proc/self/cmdline`).
inline environment_record describe_host() {
  environment_record result;
  result.process_id = static_cast<std::uint64_t>(::getpid());
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) == 0) result.host = host;
  std::ifstream command{"/proc/self/cmdline", std::ios::binary};
  for (std::string argument; std::getline(command, argument, '\0');) result.command.push_back(argument);
  std::ifstream{"/proc/sys/kernel/random/boot_id"} >> result.boot_id;
  return result;
}

/// Computes in registers: four independent chains of floating-point instructions and six of integer instructions, nearly the full width of
/// a core. Written in assembly, so that programs built with `-O0` and `-O3` do the same work.
inline void compute_for_probe(std::uint64_t rounds) noexcept {
  double s = 1.0;
  double t = 1.5;
  double u = 1.25;
  double v = 1.75;
  double const factor = 0.999;
  double const term = 0.001;
  std::uint64_t a = 1;
  std::uint64_t b = 2;
  std::uint64_t c = 3;
  std::uint64_t d = 4;
#if defined(__x86_64__)
  asm volatile(
      "1:\n\t"
      "imul %[a], %[a]\n\t"
      "add $13, %[a]\n\t"
      "imul %[b], %[b]\n\t"
      "add $17, %[b]\n\t"
      "mulsd %[factor], %[s]\n\t"
      "addsd %[term], %[s]\n\t"
      "mulsd %[factor], %[t]\n\t"
      "addsd %[term], %[t]\n\t"
      "rol $7, %[c]\n\t"
      "xor %[a], %[c]\n\t"
      "rol $9, %[d]\n\t"
      "xor %[b], %[d]\n\t"
      "mulsd %[factor], %[u]\n\t"
      "addsd %[term], %[u]\n\t"
      "mulsd %[factor], %[v]\n\t"
      "addsd %[term], %[v]\n\t"
      "dec %[rounds]\n\t"
      "jnz 1b\n\t"
      : [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [d] "+r"(d), [s] "+x"(s), [t] "+x"(t), [u] "+x"(u), [v] "+x"(v), [rounds] "+r"(rounds)
      : [factor] "x"(factor), [term] "x"(term)
      : "cc");
#elif defined(__aarch64__)
  asm volatile(
      "1:\n\t"
      "madd %[a], %[a], %[a], %[c]\n\t"
      "madd %[b], %[b], %[b], %[d]\n\t"
      "fmul %d[s], %d[s], %d[factor]\n\t"
      "fadd %d[s], %d[s], %d[term]\n\t"
      "fmul %d[t], %d[t], %d[factor]\n\t"
      "fadd %d[t], %d[t], %d[term]\n\t"
      "ror %[c], %[c], #57\n\t"
      "eor %[c], %[c], %[a]\n\t"
      "ror %[d], %[d], #55\n\t"
      "eor %[d], %[d], %[b]\n\t"
      "fmul %d[u], %d[u], %d[factor]\n\t"
      "fadd %d[u], %d[u], %d[term]\n\t"
      "fmul %d[v], %d[v], %d[factor]\n\t"
      "fadd %d[v], %d[v], %d[term]\n\t"
      "subs %[rounds], %[rounds], #1\n\t"
      "b.ne 1b\n\t"
      : [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [d] "+r"(d), [s] "+w"(s), [t] "+w"(t), [u] "+w"(u), [v] "+w"(v), [rounds] "+r"(rounds)
      : [factor] "w"(factor), [term] "w"(term)
      : "cc");
#else
  static_cast<void>(rounds);
#endif
}

/// Reads one word of each cache line.
inline void read_for_probe(void const* at, std::uint64_t lines) noexcept {
  std::uint64_t sum = 0;
#if defined(__x86_64__)
  asm volatile("1:\n\tadd (%[at]), %[sum]\n\tadd $64, %[at]\n\tdec %[lines]\n\tjnz 1b\n\t"
               : [at] "+r"(at), [sum] "+r"(sum), [lines] "+r"(lines)
               :
               : "cc", "memory");
#elif defined(__aarch64__)
  std::uint64_t word = 0;
  asm volatile("1:\n\tldr %[word], [%[at]], #64\n\tadd %[sum], %[sum], %[word]\n\tsubs %[lines], %[lines], #1\n\tb.ne 1b\n\t"
               : [at] "+r"(at), [sum] "+r"(sum), [lines] "+r"(lines), [word] "=&r"(word)
               :
               : "cc", "memory");
#else
  static_cast<void>(at);
  static_cast<void>(lines);
#endif
}

/// The duration of a fixed computation on the current core: about three quarters computing in registers, one quarter reading 2.5 MiB, which
/// exceeds the private caches of a core. Takes 2 ms. Half of it is the allocation of memory, which the result excludes.
///
/// It is the median of 7 repetitions of 0.1 ms. So a rising clock rate of an idle core, or one or two interruptions, do not change it.
/// @return 0 without memory, or on processors other than x86-64 and aarch64.
inline std::chrono::nanoseconds probe_host_speed() noexcept {
#if defined(__x86_64__) || defined(__aarch64__)
  constexpr std::size_t line = 64;
  constexpr std::size_t lines = 40'960;
  constexpr std::uint64_t rounds = 50'000;
  // Without MAP_POPULATE all pages would map the zero page, which stays in the first-level cache.
  void* const memory = ::mmap(nullptr, lines * line, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) return {};
  std::array<std::chrono::nanoseconds, 7> taken{};
  for (std::chrono::nanoseconds& each : taken) {
    auto const begin = std::chrono::steady_clock::now();
    compute_for_probe(rounds);
    read_for_probe(memory, lines);
    each = std::chrono::steady_clock::now() - begin;
  }
  ::munmap(memory, lines * line);
  auto const middle = taken.begin() + taken.size() / 2;
  std::nth_element(taken.begin(), middle, taken.end());
  return std::max(*middle, std::chrono::nanoseconds{1});
#else
  return {};
#endif
}

/// How long a thread of this process was runnable but not running. Source: second number of `/proc/PID/task/TID/schedstat`
/// (Documentation/scheduler/sched-stats of Linux).
/// @return nothing if the kernel does not count it.
inline std::optional<std::chrono::nanoseconds> processor_wait_of(::pid_t thread) noexcept {
  char path[64];
  static_cast<void>(std::snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", int{thread}));
  int const file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  char text[128];
  ::ssize_t const length = ::read(file, text, sizeof text - 1);
  ::close(file);
  if (length <= 0) return std::nullopt;
  text[length] = '\0';
  unsigned long long ran = 0;
  unsigned long long waited = 0;
  // NOLINTNEXTLINE(cert-err34-c): the kernel writes these numbers, and they fit
  if (std::sscanf(text, "%llu %llu", &ran, &waited) != 2) return std::nullopt;
  if (ran == 0 && waited == 0) return std::nullopt;  // a kernel without scheduler statistics
  return std::chrono::nanoseconds{static_cast<std::int64_t>(waited)};
}

/// What this process used since it began. `elapsed` counts from an arbitrary moment.
inline host_use_record read_host_use() noexcept {
  host_use_record result;
  ::rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  auto const time_of = [](::timeval time) { return std::chrono::seconds{time.tv_sec} + std::chrono::microseconds{time.tv_usec}; };
  auto const count_of = [](long count) { return static_cast<std::uint64_t>(count); };
  result.elapsed = std::chrono::steady_clock::now().time_since_epoch();
  result.user = time_of(usage.ru_utime);
  result.system = time_of(usage.ru_stime);
  result.minor_faults = count_of(usage.ru_minflt);
  result.major_faults = count_of(usage.ru_majflt);
  result.voluntary_switches = count_of(usage.ru_nvcsw);
  result.involuntary_switches = count_of(usage.ru_nivcsw);
  ::cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0) result.processors = static_cast<std::uint32_t>(CPU_COUNT(&allowed));
  return result;
}

/// What the process used between two calls of `read_host_use`.
inline host_use_record use_between(host_use_record const& begin, host_use_record end) noexcept {
  end.elapsed -= begin.elapsed;
  end.user -= begin.user;
  end.system -= begin.system;
  end.minor_faults -= begin.minor_faults;
  end.major_faults -= begin.major_faults;
  end.voluntary_switches -= begin.voluntary_switches;
  end.involuntary_switches -= begin.involuntary_switches;
  return end;
}

/// What the step thread reads before the first measured step.
struct host_start {
  std::optional<host_speed_record> speed;  ///< n/a on an unknown processor
  host_use_record use;
};

/// Records the speed of the host during a session: a probe before the first measured step, a probe after the last one, and how long the
/// step thread waited for a processor in between.
class host_probe {
 public:
  /// To be called on the step thread before the first measured step begins. Later calls do nothing.
  /// @return whether this is the first call.
  bool begin(std::optional<host_speed_record>& to) noexcept {
    if (has_begun_) return false;
    has_begun_ = true;
    std::chrono::nanoseconds const before = probe_host_speed();
    if (before == std::chrono::nanoseconds{}) return true;
    to.emplace().before = before;
    thread_ = static_cast<::pid_t>(::syscall(SYS_gettid));
    waited_ = processor_wait_of(thread_);
    begin_ = std::chrono::steady_clock::now();
    return true;
  }

  /// To be called after the measured steps, on any thread. Does nothing without measured steps.
  void end(std::optional<host_speed_record>& to) noexcept {
    if (!to) return;
    auto const now = std::chrono::steady_clock::now();
    std::optional<std::chrono::nanoseconds> const waited =
        waited_ ? processor_wait_of(thread_) : std::nullopt;  // the thread may have ended
    if (waited && now > begin_) {
      double const share = static_cast<double>((*waited - *waited_).count()) / static_cast<double>((now - begin_).count());
      to->waiting = std::clamp(share, 0.0, 1.0);
    }
    to->after = probe_host_speed();
  }

 private:
  bool has_begun_ = false;
  ::pid_t thread_ = 0;
  std::optional<std::chrono::nanoseconds> waited_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace PROFKIT_NAMESPACE::detail
