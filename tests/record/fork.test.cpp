// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/collect/built_in_collectors.hpp>
#include <profkit/impl/record/process_identity.hpp>
#include <profkit/scope.hpp>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "../support/profile_of.hpp"
#include "../support/sanitizers.hpp"

namespace {

/// The result of the child: 0 on success.
int in_child(profkit::session& of_parent) {
  PROF_SCOPE("in the child, without a session");
  { profkit::step const step{of_parent}; }
  profkit::session session{plain_options()};
  { PROF_SCOPE("own session"); }
  std::thread{[] { PROF_SCOPE("own thread"); }}.join();
  profkit::profile const profile = session.report().profile();
  if (count_scopes(profile, "own session") != 1) return 1;
  if (count_scopes(profile, "own thread") != 1) return 2;
  if (profile.scopes.size() != 2) return 3;
  if (profile.threads.size() != 2 || profile.threads[0].system_id != static_cast<std::uint64_t>(::getpid())) return 4;
  if (profile.threads[0].name.empty() || profile.threads[1].name.empty()) return 5;
  return 0;
}

/// A child in which no fork handler has run.
::pid_t fork_unannounced() { return static_cast<::pid_t>(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr)); }

/// @return the exit code of a child; -1 if it ended by a signal.
int exit_code_of(::pid_t child) {
  int status = -1;
  REQUIRE(child > 0);
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Resident bytes of this process, as `host_memory` polls them.
std::uint64_t polled_bytes() { return profkit::host_memory{}.at_scopes().usage(); }

/// Touches memory and returns how much more `polled_bytes` reports.
std::int64_t growth_by(std::size_t bytes) {
  auto const before = static_cast<std::int64_t>(polled_bytes());
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memset(memory, 1, bytes);
  std::int64_t const growth = static_cast<std::int64_t>(polled_bytes()) - before;
  ::munmap(memory, bytes);
  return growth;
}

constexpr std::size_t large = std::size_t{64} << 20U;
bool is_about_large(std::int64_t growth) { return growth > std::int64_t{large} * 9 / 10 && growth < std::int64_t{large} * 11 / 10; }

/// More scopes than fit into a chunk, on this thread.
void fill_chunks() {
  for (int i = 0; i < 20'000; ++i) PROF_SCOPE("in the child");
}

bool is_recording() { return (__atomic_load_n(&profkit::detail::recorder.flags, __ATOMIC_ACQUIRE) & profkit::detail::recording) != 0; }

}  // namespace

TEST_CASE("a child that no fork handler knows stops recording when its thread would take more memory", "[fork]") {
  profkit::session session{plain_options(0, 2)};
  { PROF_SCOPE("before"); }
  ::pid_t const child = fork_unannounced();
  if (child == 0) {
    if (profkit::detail::is_recording_process()) ::_exit(1);
    fill_chunks();
    if (is_recording()) ::_exit(2);
    std::uint64_t const mapped = profkit::detail::this_thread_log()->mapped_slots;
    fill_chunks();
    ::_exit(profkit::detail::this_thread_log()->mapped_slots == mapped ? 0 : 3);
  }
  CHECK(exit_code_of(child) == 0);
  CHECK(profkit::detail::is_recording_process());
  { PROF_SCOPE("after"); }
  CHECK(scope_names(session.report().profile()) == std::vector<std::string>{"before", "after"});
}

TEST_CASE("a child that no fork handler knows can have its own session, with its own records only", "[fork]") {
  if (under_thread_sanitizer) SKIP("ThreadSanitizer ends a child that starts a thread");
  profkit::session session{plain_options(0, 2)};
  { PROF_SCOPE("before"); }
  ::pid_t const child = fork_unannounced();
  if (child == 0) {
    { PROF_SCOPE("in no session"); }
    static_cast<void>(profkit::detail::identify_process());  // a session does this first
    profkit::session own{plain_options()};
    { PROF_SCOPE("own session"); }
    profkit::profile const profile = own.report().profile();
    if (scope_names(profile) != std::vector<std::string>{"own session"}) ::_exit(1);
    ::_exit(profile.threads.at(0).system_id == static_cast<std::uint64_t>(::getpid()) ? 0 : 2);
  }
  CHECK(exit_code_of(child) == 0);
}

TEST_CASE("the number of a process holds where a parent and its child are both process 1 of their PID namespaces", "[fork]") {
  // Process 1 of one namespace, and its child, which is process 1 of another one.
  ::pid_t const child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) ::_exit(77);
    ::pid_t const first = ::fork();
    if (first != 0) {
      int status = 0;
      ::waitpid(first, &status, 0);
      ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 9);
    }
    if (::getpid() != 1) ::_exit(1);
    std::uint64_t const number = profkit::detail::identify_process();
    if (!profkit::detail::is_process(number)) ::_exit(2);
    if (::unshare(CLONE_NEWPID) != 0) ::_exit(77);
    ::pid_t const second = fork_unannounced();
    if (second == 0) ::_exit(::getpid() != 1 ? 3 : profkit::detail::is_process(number) ? 4 : 0);
    int status = 0;
    ::waitpid(second, &status, 0);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 9);
  }
  int const code = exit_code_of(child);
  if (code == 77) SKIP("the system permits no namespaces");
  CHECK(code == 0);
}

TEST_CASE("a process keeps its number, and its descendants have others", "[fork]") {
  std::uint64_t const number = profkit::detail::identify_process();
  CHECK(profkit::detail::identify_process() == number);
  CHECK(profkit::detail::is_process(number));
  CHECK_FALSE(profkit::detail::is_process(number + 1));
  for (bool const is_announced : {true, false}) {
    ::pid_t const child = is_announced ? ::fork() : fork_unannounced();
    if (child == 0) {
      if (profkit::detail::is_process(number)) ::_exit(1);
      std::uint64_t const own = profkit::detail::identify_process();
      if (own == number || !profkit::detail::is_process(own) || profkit::detail::is_process(number)) ::_exit(2);
      ::pid_t const grandchild = fork_unannounced();
      if (grandchild == 0) ::_exit(profkit::detail::is_process(own) || profkit::detail::is_process(number) ? 3 : 0);
      int status = 0;
      ::waitpid(grandchild, &status, 0);
      ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 9);
    }
    CHECK(exit_code_of(child) == 0);
  }
  CHECK(profkit::detail::is_process(number));
}

TEST_CASE("without a page that a child finds cleared, getpid distinguishes the child", "[fork]") {
  ::pid_t const child = ::fork();  // the mark of a process is never replaced, so this is tried in a child
  if (child == 0) {
    profkit::detail::recorder.mark = nullptr;
    static_cast<void>(profkit::detail::find_process_mark([]() noexcept -> profkit::detail::process_mark* { return nullptr; }));
    std::uint64_t const number = profkit::detail::identify_process();
    if (profkit::detail::recorder.mark != &profkit::detail::recorder.unwiped_mark || !profkit::detail::is_process(number)) ::_exit(1);
    ::pid_t const grandchild = fork_unannounced();
    if (grandchild == 0) {
      if (profkit::detail::is_process(number)) ::_exit(2);
      std::uint64_t const own = profkit::detail::identify_process();
      ::_exit(own != number && profkit::detail::is_process(own) ? 0 : 3);
    }
    int status = 0;
    ::waitpid(grandchild, &status, 0);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 9);
  }
  CHECK(exit_code_of(child) == 0);
}

TEST_CASE("a child polls its own memory, and the parent still its own", "[fork]") {
  if (under_address_sanitizer || under_thread_sanitizer) SKIP("sanitizers have memory of their own");
  REQUIRE(polled_bytes() > 0);
  for (bool const is_announced : {true, false}) {
    ::pid_t const child = is_announced ? ::fork() : fork_unannounced();
    if (child == 0) ::_exit(is_about_large(growth_by(large)) ? 0 : 1);
    CHECK(exit_code_of(child) == 0);
    CHECK(is_about_large(growth_by(large)));
  }
}

TEST_CASE("memory is polled after the program has closed all descriptors and has opened files of its own", "[fork]") {
  if (under_address_sanitizer || under_thread_sanitizer) SKIP("sanitizers have memory of their own");
  REQUIRE(polled_bytes() > 0);
  ::pid_t const child = ::fork();
  if (child == 0) {
    static_cast<void>(polled_bytes());
    for (int descriptor = 3; descriptor < 1000; ++descriptor) ::close(descriptor);
    // Files with the content of a statm of 1,000,000 pages take the numbers.
    std::vector<int> files;
    for (int i = 0; i < 50; ++i) {
      files.push_back(::memfd_create("own", 0));
      if (::write(files.back(), "9 1000000 9 9 9 9 9\n", 20) != 20) ::_exit(1);
    }
    std::uint64_t const bytes = polled_bytes();
    if (bytes == 0 || bytes > std::uint64_t{1000000} * 4096 / 2) ::_exit(2);
    if (!is_about_large(growth_by(large))) ::_exit(3);
    for (int const file : files) {
      if (::fcntl(file, F_GETFD) < 0) ::_exit(4);  // none of them was closed
    }
    // No descriptor is free: the reading is not known, and later ones are.
    struct ::rlimit before {};
    ::getrlimit(RLIMIT_NOFILE, &before);
    for (int descriptor = 3; descriptor < 1000; ++descriptor) ::close(descriptor);
    struct ::rlimit const none{3, before.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
    if (polled_bytes() != profkit::polled_allocator::unknown) ::_exit(5);
    ::setrlimit(RLIMIT_NOFILE, &before);
    ::_exit(polled_bytes() != profkit::polled_allocator::unknown ? 0 : 6);
  }
  CHECK(exit_code_of(child) == 0);
}

TEST_CASE("threads that poll memory while the program closes the descriptor get the memory of this process or nothing", "[fork]") {
  if (under_address_sanitizer || under_thread_sanitizer) SKIP("sanitizers have memory of their own");
  ::pid_t const child = ::fork();
  if (child == 0) {
    std::atomic<bool> is_over{false};
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        while (!is_over) {
          std::uint64_t const bytes = polled_bytes();
          if (bytes != profkit::polled_allocator::unknown && (bytes == 0 || bytes > std::uint64_t{1} << 40U)) ++wrong;
        }
      });
    }
    for (int i = 0; i < 200; ++i) {
      for (int descriptor = 3; descriptor < 20; ++descriptor) ::close(descriptor);
      std::this_thread::sleep_for(std::chrono::microseconds{100});
    }
    is_over = true;
    for (std::thread& each : threads) each.join();
    ::_exit(wrong == 0 ? 0 : 1);
  }
  CHECK(exit_code_of(child) == 0);
}

TEST_CASE("after fork the child has no session, can create one, and does not affect the parent's", "[fork]") {
  if (under_thread_sanitizer) SKIP("ThreadSanitizer ends a child that starts a thread");
  profkit::session session{plain_options(0, 2)};
  { PROF_SCOPE("before"); }
  std::thread{[] { PROF_SCOPE("thread of the parent"); }}.join();
  ::pid_t const child = ::fork();
  if (child == 0) ::_exit(in_child(session));
  REQUIRE(child > 0);
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  { PROF_SCOPE("after"); }
  profkit::profile const profile = session.report().profile();
  CHECK(count_scopes(profile, "before") == 1);
  CHECK(count_scopes(profile, "after") == 1);
  CHECK(count_scopes(profile, "thread of the parent") == 1);
  CHECK(profile.scopes.size() == 3);
}
