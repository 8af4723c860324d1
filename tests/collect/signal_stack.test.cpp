// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/collect/cpu_timer_ring.hpp>

#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <thread>

#include "../support/sanitizers.hpp"

namespace {

using profkit::detail::signal_stack;

std::uint64_t this_thread_id() { return static_cast<std::uint64_t>(::syscall(SYS_gettid)); }

}  // namespace

TEST_CASE("checking for an existing signal stack makes no system call", "[signal_stack]") {
  if (under_thread_sanitizer || under_address_sanitizer) SKIP("sanitizers make system calls of their own");
  signal_stack::prepare();
  ::pid_t const child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    signal_stack::use();
    if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) ::_exit(77);
    for (int i = 0; i < 100; ++i) signal_stack::use();
    ::syscall(SYS_exit, 0);  // strict mode kills a process at any other call than read, write and sigreturn
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) SKIP("no seccomp");
  CHECK(status == 0);
}

TEST_CASE("the signal stack of an ended thread does not count for a later thread with the same number", "[signal_stack]") {
  if (under_thread_sanitizer || under_address_sanitizer) SKIP("sanitizers set signal stacks themselves");
  signal_stack::prepare();
  struct sigaction wanted {};
  struct sigaction before {};
  wanted.sa_handler = [](int) { ::pthread_exit(nullptr); };
  wanted.sa_flags = SA_ONSTACK;
  REQUIRE(::sigaction(SIGUSR2, &wanted, &before) == 0);
  std::uint64_t id = 0;
  ::pthread_t thread{};
  auto const body = [](void* to) -> void* {
    *static_cast<std::uint64_t*>(to) = this_thread_id();
    signal_stack::use();
    ::raise(SIGUSR2);
    return nullptr;
  };
  REQUIRE(::pthread_create(&thread, nullptr, body, &id) == 0);
  ::pthread_join(thread, nullptr);
  ::sigaction(SIGUSR2, &before, nullptr);
  REQUIRE(id != 0);
  CHECK_FALSE(signal_stack::has(id));
}
