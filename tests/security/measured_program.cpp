// SPDX-License-Identifier: Apache-2.0
//
// A program with a session and every collector, for security_test.py. Prints whether it has more rights than its user, and the status of
// each collector.
//   --locked   a system call that would write to the file system, run a program or use a network kills it
//   --write    it writes outputs, like a program that was asked to
#include <profkit/cuda.hpp>
#include <profkit/cupti.hpp>
#include <profkit/profkit.hpp>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr int skipped = 4;

constexpr std::initializer_list<int> forbidden_calls = {
    SYS_execve, SYS_execveat,  SYS_socket,   SYS_connect, SYS_mkdirat, SYS_renameat,  SYS_renameat2,    SYS_unlinkat,
    SYS_linkat, SYS_symlinkat, SYS_truncate, SYS_mknodat, SYS_fchmod,  SYS_ftruncate, SYS_memfd_create,
#ifdef __x86_64__  // other architectures have only the calls with the suffix "at"
    SYS_open,   SYS_creat,     SYS_mkdir,    SYS_rename,  SYS_unlink,  SYS_rmdir,     SYS_link,         SYS_symlink,
    SYS_mknod,  SYS_vfork,
#endif
};

/// @return false if this is not possible.
bool lock_in() {
  constexpr unsigned writing = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND;
  std::vector<sock_filter> program = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (int const call : forbidden_calls) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  }
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3));
  program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])));  // the lower half: little endian
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, writing, 0, 1));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  sock_fprog const filter{static_cast<unsigned short>(program.size()), program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

void print_status(profkit::collector const& collector) {
  profkit::collector_status const status = collector.status();
  std::printf("%s: %s\n", std::string{collector.name()}.c_str(), status.works ? "works" : status.reason.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  bool is_writing = false;
  for (int i = 1; i < argc; ++i) {
    if (argv[i] == std::string_view{"--locked"} && !lock_in()) return skipped;
    is_writing = is_writing || argv[i] == std::string_view{"--write"};
  }
  std::printf("more rights than its user: %lu\n", ::getauxval(AT_SECURE));
  profkit::session session{profkit::options::from_env()};
  print_status(session.collect(profkit::host_memory()));
  print_status(session.collect(profkit::cuda_memory()));
  print_status(session.collect(profkit::cuda_step_timer(nullptr)));
  print_status(session.collect(profkit::gpu_clocks()));
  print_status(session.collect(profkit::gpu_utilization()));
  print_status(session.collect(profkit::cupti_kernels()));
  for ([[maybe_unused]] profkit::step const step : session) {
    PROF_SCOPE("work");
    PROF_GPU_SCOPE("gpu work", nullptr);
  }
  profkit::report const report = session.report();
  std::printf("%zu characters of report\n", report.full_text().size());
  if (is_writing) report.write("report");
}
