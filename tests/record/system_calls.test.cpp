// SPDX-License-Identifier: Apache-2.0
//
// After the first scope of a thread, scopes, tokens, counters, work and allocations make no system call while its log has memory: in the
// child, seccomp kills the process at any call except exit. (A log without memory requests twice as much from the system.)
#include <profkit/impl/record/memory_poll.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>

#include "../support/sanitizers.hpp"

namespace {

constexpr int skipped = 4;

constexpr bool is_sanitized = under_address_sanitizer || under_thread_sanitizer;  // sanitizers make system calls themselves

void some_scopes() {
  static profkit::site pool{"pool", __FILE__, __LINE__};
  for (int i = 0; i < 3000; ++i) {  // about 800 KiB; a session maps 1 MiB at its beginning
    PROF_SCOPE("scope");
    PROF_SCOPE_INDEXED("indexed", i);
    PROF_COUNTER("counter", i);
    PROF_SCOPE("work", profkit::work{1.0, 2.0});
    profkit::record_allocation(pool, &pool, 8);
    profkit::record_release(pool, &pool);
    PROF_ADOPT_SCOPE("adopting", profkit::scope_token::current());
  }
}

/// From here on, any system call except exit ends the process. (The strict mode of seccomp would also forbid reading the time-stamp
/// counter.)
bool lock_in() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  sock_fprog const filter{4, program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/// @return the status of a child that installs the filter, does `work` and exits with 0; `skipped` if it cannot install the filter.
template <class Work>
int in_locked_child(Work&& work) {
  ::pid_t const child = ::fork();
  if (child == 0) {
    profkit::session session{profkit::options{}};
    { PROF_SCOPE("first"); }
    if (!lock_in()) ::_exit(skipped);
    work();
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

}  // namespace

int main() {
  int const forbidden = in_locked_child([] { ::getppid(); });
  if (is_sanitized || (WIFEXITED(forbidden) && WEXITSTATUS(forbidden) == skipped)) {
    std::puts("skipped: seccomp is not available");
    return skipped;
  }
  if (!WIFSIGNALED(forbidden)) {
    std::puts("a system call did not kill the child: this test proves nothing");
    return 1;
  }
  int const scopes = in_locked_child(some_scopes);
  if (WIFEXITED(scopes) && WEXITSTATUS(scopes) == 0) return 0;
  std::puts("a scope made a system call");
  return 1;
}
