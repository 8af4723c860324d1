// SPDX-License-Identifier: Apache-2.0
//
// Host samples do not disturb a program, with rings of perf_event_open and with timers and signals.
#include <profkit/impl/collect/built_in_collectors.hpp>

#include <dlfcn.h>
#include <link.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <profkit/impl/collect/code_modules.hpp>
#include <profkit/impl/record/recorder.hpp>
#include <profkit/scope.hpp>
#include <string>
#include <thread>
#include <vector>

#include "../support/sampled_program.hpp"
#include "../support/sanitizers.hpp"

#ifdef RUNS_IN_EMULATOR
#define TIMERS_TOO false
#else
#define TIMERS_TOO true
#endif

/// Runs the rest of a test with both sources of samples.
#define WITH_EACH_SOURCE(program)                                          \
  bool const uses_perf_events = TIMERS_TOO ? GENERATE(true, false) : true; \
  INFO((uses_perf_events ? "perf_event_open" : "timers"));                 \
  sampled::program program{uses_perf_events};                              \
  SKIP_IF_REFUSED(program)

static std::atomic<void (*)()> after_listing{nullptr};  ///< called once, after the next listing of modules

// Sanitizers have a function of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
extern "C" __attribute__((visibility("default"))) int dl_iterate_phdr(int (*call)(dl_phdr_info*, std::size_t, void*), void* data) {
  static auto* const system = reinterpret_cast<decltype(&dl_iterate_phdr)>(::dlsym(RTLD_NEXT, "dl_iterate_phdr"));
  int const result = system(call, data);
  if (auto* const function = after_listing.exchange(nullptr)) function();
  return result;
}
#endif

namespace {

double time_in(sampled::program const& program, std::string const& scope) {
  double result = 0.0;
  auto const times = program.times();
  auto const found = times.find(scope);
  if (found == times.end()) return 0.0;
  for (auto const& [function, ms] : found->second) result += ms;
  return result;
}

std::size_t open_files() {
  std::filesystem::directory_iterator const all{"/proc/self/fd"};
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::size_t mappings() {
  std::ifstream all{"/proc/self/maps"};
  std::size_t result = 0;
  for (std::string line; std::getline(all, line);) ++result;
  return result;
}

std::atomic<int> signals_of_program{0};
void count_signal(int) { signals_of_program.fetch_add(1); }

struct sigaction action_of(int signal) {
  struct sigaction result {};
  ::sigaction(signal, nullptr, &result);
  return result;
}

/// Handles a signal with `count_signal` until it is destroyed.
class own_handler {
 public:
  explicit own_handler(int signal) : signal_{signal} {
    struct sigaction wanted {};
    wanted.sa_handler = count_signal;
    wanted.sa_flags = SA_RESTART;
    ::sigaction(signal_, &wanted, &before_);
  }
  own_handler(own_handler const&) = delete;
  own_handler& operator=(own_handler const&) = delete;
  ~own_handler() { ::sigaction(signal_, &before_, nullptr); }

 private:
  int signal_;
  struct sigaction before_ {};
};

/// Waits that end by their timeout. Each returns whether it did.
class timed_waits {
 public:
  timed_waits() {
    ::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets_.data());
    timeval const timeout{0, ns / 1000};
    ::setsockopt(sockets_[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, sockets_[0], &wanted);
    ::sem_init(&semaphore_, 0, 0);
  }
  timed_waits(timed_waits const&) = delete;
  timed_waits& operator=(timed_waits const&) = delete;
  ~timed_waits() {
    for (int const each : {sockets_[0], sockets_[1], epoll_}) ::close(each);
    ::sem_destroy(&semaphore_);
  }

  static constexpr int kinds = 6;
  static constexpr long ns = 1'000'000;

  /// @return empty, or a description of the error.
  std::string wait(int kind) {
    auto const begin = std::chrono::steady_clock::now();
    errno = 0;
    std::string const wrong = call(kind);
    if (!wrong.empty()) return wrong + ", errno " + std::to_string(errno);
    return std::chrono::steady_clock::now() - begin < std::chrono::nanoseconds{ns} ? "early" : "";
  }

 private:
  std::string call(int kind) {
    timespec const timeout{0, ns};
    pollfd polled{sockets_[0], POLLIN, 0};
    epoll_event ready{};
    char byte = 0;
    switch (kind) {
      case 0:
        return ::nanosleep(&timeout, nullptr) == 0 ? "" : "nanosleep";
      case 1:
        return ::poll(&polled, 1, ns / 1'000'000) == 0 ? "" : "poll";
      case 2:
        return ::epoll_wait(epoll_, &ready, 1, ns / 1'000'000) == 0 ? "" : "epoll_wait";
      case 3:
        return ::pselect(0, nullptr, nullptr, nullptr, &timeout, nullptr) == 0 ? "" : "pselect";
      case 4:
        return ::recv(sockets_[0], &byte, 1, 0) == -1 && errno == EAGAIN ? "" : "recv";
      default:
        return sem_wait() ? "" : "sem_timedwait";
    }
  }

  bool sem_wait() {
    timespec until{};
    ::clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += ns;
    until.tv_sec += until.tv_nsec / 1'000'000'000;
    until.tv_nsec %= 1'000'000'000;
    return ::sem_timedwait(&semaphore_, &until) == -1 && errno == ETIMEDOUT;
  }

  std::array<int, 2> sockets_{};
  int epoll_ = ::epoll_create1(0);
  ::sem_t semaphore_{};
};

/// A coroutine with a stack of 4 KiB and a page without access below it. It uses 1 KiB of the stack while it computes.
class small_coroutine {
 public:
  small_coroutine() {
    memory_ = static_cast<char*>(::mmap(nullptr, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(memory_ + bytes, bytes, PROT_READ | PROT_WRITE);
    ::getcontext(&inside_);
    inside_.uc_stack.ss_sp = memory_ + bytes;
    inside_.uc_stack.ss_size = bytes;
    inside_.uc_link = &outside_;
    auto const self = reinterpret_cast<std::uintptr_t>(this);
    ::makecontext(&inside_, reinterpret_cast<void (*)()>(run), 2, static_cast<unsigned>(self >> 32U), static_cast<unsigned>(self));
  }
  small_coroutine(small_coroutine const&) = delete;
  small_coroutine& operator=(small_coroutine const&) = delete;
  ~small_coroutine() { ::munmap(memory_, 2 * bytes); }

  void resume() { ::swapcontext(&outside_, &inside_); }

 private:
  static constexpr std::size_t bytes = 4096;

  static void run(unsigned high, unsigned low) {
    auto& self = *reinterpret_cast<small_coroutine*>(std::uintptr_t{high} << 32U | low);
    for (;;) {
      compute();
      ::swapcontext(&self.inside_, &self.outside_);
    }
  }

  __attribute__((noinline)) static void compute() {
    PROF_SCOPE("coroutine");
    std::uint64_t volatile used[128] = {};
    for (std::uint64_t i = 0; i < 1'000'000; ++i) used[i % 128] = used[i % 128] * 3 + i;
  }

  char* memory_ = nullptr;
  ucontext_t outside_{};
  ucontext_t inside_{};
};

void run_coroutines(double ms) {
  PROF_SCOPE("outside");
  std::array<small_coroutine, 4> coroutines;
  for (double const until = sampled::cpu_ms() + ms; sampled::cpu_ms() < until;) {
    for (small_coroutine& each : coroutines) each.resume();
  }
}

}  // namespace

TEST_CASE("a program with its own profiler signal gets all its signals while it is sampled", "[host_samples]") {
  if (under_thread_sanitizer) SKIP("ThreadSanitizer delays signals");
  WITH_EACH_SOURCE(program);
  signals_of_program = 0;
  own_handler const profiler{SIGPROF};
  itimerval const interval{{0, 10'000}, {0, 10'000}};
  std::thread{[&] {
    PROF_SCOPE("profiled");
    program.wait_for_samples();
    ::setitimer(ITIMER_PROF, &interval, nullptr);
    sampled::busy_half(100.0);
    itimerval const none{};
    itimerval last{};
    ::setitimer(ITIMER_PROF, &none, &last);
    CHECK(last.it_interval.tv_usec == interval.it_interval.tv_usec);
  }}.join();
  CHECK(action_of(SIGPROF).sa_handler == count_signal);
  program.stop();
  CHECK(signals_of_program >= 5);  // of 10
  CHECK(signals_of_program <= 20);
  CHECK(time_in(program, "profiled") > 0.0);
}

TEST_CASE("timers use no signal that the program handles, and change their signal when the program starts to use it", "[host_samples]") {
  SKIP_IN_EMULATOR();
  std::map<int, own_handler> handled;
  for (int each = SIGRTMIN + 3; each <= SIGRTMAX; ++each) {
    if (action_of(each).sa_handler == SIG_DFL) handled.try_emplace(each, each);
  }
  signals_of_program = 0;
  sampled::program program{false};
  std::thread{[&] {
    PROF_SCOPE("before");
    program.wait_for_samples();
    sampled::busy_half(80.0);
  }}.join();
  CHECK(signals_of_program == 0);
  for (auto const& [signal, handler] : handled) CHECK(action_of(signal).sa_handler == count_signal);
  // Now the program uses that signal, and stops using another one.
  int used = 0;
  for (int each = SIGRTMIN; each <= SIGRTMAX; ++each) {
    if ((action_of(each).sa_flags & SA_SIGINFO) != 0) used = each;
  }
  REQUIRE(used != 0);
  own_handler const taken{used};
  program.wait_for_samples();
  signals_of_program = 0;
  std::thread{[&] {
    PROF_SCOPE("after");
    program.wait_for_samples();
    sampled::busy_half(80.0);
  }}.join();
  CHECK(signals_of_program == 0);
  CHECK(action_of(used).sa_handler == count_signal);
  program.stop();
  CHECK(time_in(program, "before") > 0.0);
  CHECK(time_in(program, "after") > 0.0);
}

TEST_CASE("a thread that blocks the signal of the timers is counted as not sampled", "[host_samples]") {
  SKIP_IN_EMULATOR();
  sampled::program program{false};
  std::thread{[&] {
    sigset_t all{};
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    PROF_SCOPE("blocked");
    program.wait_for_samples();
    sampled::busy_half(60.0);
  }}.join();
  std::thread{[&] {
    PROF_SCOPE("other");
    program.wait_for_samples();
    sampled::busy_half(80.0);
  }}.join();
  program.stop();
  CHECK(program.made().sampling->threads_without == 1);
  CHECK(program.made().sampling->why_without.find("blocks") != std::string::npos);
  CHECK(time_in(program, "blocked") == 0.0);
  CHECK(time_in(program, "other") > 0.0);
}

TEST_CASE("a thread that blocks the signal of the timers only at first is sampled later, and counts as sampled", "[host_samples]") {
  SKIP_IN_EMULATOR();
  if (under_thread_sanitizer) SKIP("ThreadSanitizer delays signals");
  sampled::program program{false};
  std::thread{[&] {
    sigset_t all{};
    sigset_t before{};
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    PROF_SCOPE("blocked");
    program.wait_for_samples();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    program.wait_for_rounds(17);
    PROF_SCOPE("unblocked");
    sampled::busy_half(80.0);
  }}.join();
  program.stop();
  CHECK(time_in(program, "unblocked") > 0.0);
  CHECK(program.made().sampling->threads_without == 0);
  CHECK(program.made().sampling->why_without.empty());
}

TEST_CASE("no wait with a timeout ends early while its thread is sampled", "[host_samples]") {
  WITH_EACH_SOURCE(program);
  timed_waits waits;
  std::map<std::string, int> wrong;
  std::thread{[&] {
    PROF_SCOPE("waits");
    program.wait_for_samples();
    for (int i = 0; i < 7 * timed_waits::kinds; ++i) {
      sampled::busy_fifth(1.0 + 0.1 * (i % 7));
      ++wrong[waits.wait(i % timed_waits::kinds)];
    }
  }}.join();
  program.stop();
  wrong.erase("");
  for (auto const& [what, times] : wrong) FAIL_CHECK(what << ", " << times << " times");
  CHECK(time_in(program, "waits") > 0.0);
}

TEST_CASE("code on coroutine stacks of 4 KiB is sampled", "[host_samples]") {
  if (under_address_sanitizer || under_thread_sanitizer) SKIP("sanitizers do not know these stacks");
  struct variant {
    bool uses_perf_events;
    bool has_old_log;
  };
  auto const [uses_perf_events, has_old_log] =
      TIMERS_TOO ? GENERATE(variant{true, false}, variant{false, false}, variant{false, true}) : variant{true, false};
  INFO((uses_perf_events ? "perf_event_open" : "timers"));
  INFO("the thread has its log " << (has_old_log ? "of an earlier session" : "since its first scope"));
  std::atomic<int> phase{0};
  std::thread thread;
  auto const body = [&, is_old = has_old_log] {
    if (is_old) PROF_SCOPE("earlier");
    phase = 1;
    while (phase != 2) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    run_coroutines(100.0);
  };
  {
    sampled::program earlier{true};
    thread = std::thread{body};
    while (phase != 1) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  sampled::program program{uses_perf_events};
  phase = 2;
  thread.join();
  program.stop();
  SKIP_IF_REFUSED(program);
  CHECK(time_in(program, "coroutine") > 0.0);
  CHECK(program.made().sampling->threads_without == 0);
}

TEST_CASE("functions of libraries that are loaded and unloaded have their own names or none", "[host_samples]") {
  if (under_thread_sanitizer) SKIP("ThreadSanitizer does not know the lock of the dynamic linker");
  WITH_EACH_SOURCE(program);
  using function = unsigned (*)(unsigned);
  // Few readings of the clock: see BUSY_FUNCTION.
  auto const run = [](char const* library, char const* name, double ms, unsigned calls) {
    void* const opened = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(opened != nullptr);
    auto const called = reinterpret_cast<function>(::dlsym(opened, name));
    REQUIRE(called != nullptr);
    for (double const until = sampled::cpu_ms() + ms; sampled::cpu_ms() < until;) {
      for (unsigned i = 0; i < calls; ++i) sampled::sink.fetch_add(called(i), std::memory_order_relaxed);
    }
    return opened;
  };
  std::thread{[&] {
    { PROF_SCOPE("first"); }
    program.wait_for_samples();
    for (int i = 0; i < 14; ++i) {
      {
        PROF_SCOPE("one");
        ::dlclose(run(SAMPLED_LIBRARY, "sampled_first", 3.0, 20'000));
      }
      PROF_SCOPE("other");
      ::dlclose(run(SAMPLED_OTHER_LIBRARY, "other_first", 3.0, 20'000));
    }
    PROF_SCOPE("last");
    void* const kept = run(SAMPLED_LIBRARY, "sampled_second", 300.0, 1'000'000);
    program.wait_for_samples();
    ::dlclose(kept);
  }}.join();
  program.stop();
  auto times = program.times();
  for (auto const& [name, ms] : times["one"]) CHECK(name.find("other_") == std::string::npos);
  for (auto const& [name, ms] : times["other"]) CHECK(name.find("sampled_") != 0);
  CHECK(times["last"]["sampled_second"] > 0.0);
  for (profkit::function_record const& each : program.made().functions) {
    if (each.name == "sampled_second") CHECK(each.module == std::filesystem::path{SAMPLED_LIBRARY}.filename());
  }
}

TEST_CASE("a library that is replaced while modules are listed does not name the code of the old one", "[host_samples]") {
  if (under_address_sanitizer || under_thread_sanitizer) SKIP("sanitizers have their own dl_iterate_phdr");
  profkit::detail::code_modules modules;
  modules.begin_round();
  static void* library = nullptr;
  library = ::dlopen(SAMPLED_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  auto const address = reinterpret_cast<std::uint64_t>(::dlsym(library, "sampled_first"));
  after_listing = [] {
    ::dlclose(library);
    library = ::dlopen(SAMPLED_OTHER_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  };
  modules.end_round();
  auto const begins = reinterpret_cast<std::uint64_t>(::dlsym(library, "other_first"));
  ::dlclose(library);
  CHECK(after_listing.load() == nullptr);
  if (begins != address) SKIP("the libraries have different addresses");
  profkit::detail::code_module const* const found = modules.find(address);
  CHECK((found == nullptr || found->name == std::filesystem::path{SAMPLED_LIBRARY}.filename().string()));
}

TEST_CASE("children of a sampled program run, execute programs and end without its samples", "[host_samples]") {
  if (under_thread_sanitizer) SKIP("ThreadSanitizer ends a child that starts a thread");
  WITH_EACH_SOURCE(program);
  std::thread{[&] {
    PROF_SCOPE("parent");
    program.wait_for_samples();
    sampled::busy_half(30.0);
    for (int i = 0; i < 2; ++i) {
      ::pid_t const child = ::fork();
      if (child == 0) {
        sampled::busy_third(25.0);
        if (i == 1) ::execl("/bin/sh", "sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; exit 7", nullptr);
        ::_exit(i);
      }
      sampled::busy_half(25.0);
      int status = -1;
      REQUIRE(::waitpid(child, &status, 0) == child);
      REQUIRE(WIFEXITED(status));
      CHECK(WEXITSTATUS(status) == (i == 1 ? 7 : 0));
    }
  }}.join();
  program.stop();
  auto times = program.times();
  CHECK(times["parent"]["sampled::busy_half"] > 0.0);
  CHECK(times["parent"]["sampled::busy_half"] < 95.0);
  CHECK(times["parent"].count("sampled::busy_third") == 0);
  CHECK(program.made().sampling->lost == 0);
  CHECK(program.made().sampling->threads_without == 0);
}

TEST_CASE("each thread is counted once, also if it takes the log of another thread while samples are read", "[host_samples]") {
  bool const uses_perf_events = TIMERS_TOO ? GENERATE(true, false) : true;
  INFO((uses_perf_events ? "perf_event_open" : "timers"));
  sampled::program program{uses_perf_events, std::chrono::milliseconds{0}};
  SKIP_IF_REFUSED(program);
  constexpr std::uint64_t count = 2000;
  for (std::uint64_t i = 0; i < count; ++i) std::thread{[] { PROF_SCOPE("very brief"); }}.join();
  program.stop();
  CHECK(program.made().sampling->threads + program.made().sampling->threads_without <= count);
}

TEST_CASE("hundreds of short-lived threads leave no file and no mapping behind", "[host_samples]") {
  WITH_EACH_SOURCE(program);
  auto const come_and_go = [] {
    for (int group = 0; group < 4; ++group) {
      std::vector<std::thread> threads;
      for (int i = 0; i < 30; ++i) {
        threads.emplace_back([i] {
          PROF_SCOPE("brief");
          sampled::busy_fifth(0.1);
          if (i % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds{25});
        });
      }
      for (std::thread& each : threads) each.join();
    }
  };
  std::this_thread::sleep_for(std::chrono::milliseconds{50});
  std::size_t const files = open_files();
  come_and_go();
  std::size_t const maps = mappings();
  come_and_go();
  constexpr std::size_t of_modules = 4;  // modules with debug information stay open
  for (int i = 0; i < 100 && open_files() > files + of_modules; ++i) std::this_thread::sleep_for(std::chrono::milliseconds{10});
  CHECK(open_files() <= files + of_modules);
  CHECK(mappings() <= maps + 40);  // a log that was not read in time is a mapping
  program.stop();
  CHECK(program.made().sampling->threads > 10);
}
