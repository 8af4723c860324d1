// SPDX-License-Identifier: Apache-2.0
//
// A program for control.py: steps of about 5 ms until stdin ends.
//
// usage: profkit_controlled [hang | fork | exec | closed | many | rank | full]
//   hang   step 5 waits for the end of stdin
//   fork   before step 5 a child process begins, which ends with stdin
//   exec   before step 5 the process becomes /bin/cat
//   closed before step 5 it closes all descriptors but the standard streams, and listens on own.N with their numbers
//   many   1,000 scopes in each step
//   rank   steps of about 10 ms with six scopes, a counter, seven items, and a block of 64 KiB that lives until the next step, beside one
//          of 1 MiB; the number of steps that have ended is in the file STEPS.PID
//   full   the session begins when no file can be opened
#include <profkit/profkit.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

bool has_input_ended(int milliseconds) {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  char byte = 0;
  return ::poll(&input, 1, milliseconds) > 0 && ::read(STDIN_FILENO, &byte, 1) <= 0;
}

void wait_for_end_of_input() {
  while (!has_input_ended(1000)) continue;
}

void work(std::chrono::microseconds time) {
  PROF_FUNCTION();
  auto const end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) continue;
}

/// Steps with known contents, until stdin ends. The number of steps that have ended is in a file, as 8 bytes.
void run_rank(profkit::session& session) {
  int const file = ::open(("STEPS." + std::to_string(::getpid())).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) std::exit(3);
  static profkit::site arena{"arena", __FILE__, __LINE__};
  static char blocks[3];
  profkit::record_allocation(arena, &blocks[2], std::uint64_t{1} << 20U);
  for (std::uint64_t i = 0; !has_input_ended(0);) {
    {
      profkit::step step{session};
      step.set_items(7);
      PROF_SCOPE("outer");
      work(std::chrono::microseconds{300});
      for (int layer = 0; layer < 3; ++layer) PROF_SCOPE_INDEXED("layer", layer);
      PROF_COUNTER("loss", 0.5 * static_cast<double>(i));
      profkit::record_allocation(arena, &blocks[i % 2], std::uint64_t{1} << 16U);
      if (i > 0) profkit::record_release(arena, &blocks[(i + 1) % 2]);  // of the step before
      PROF_SCOPE("wait");
      ::usleep(9000);
    }
    ++i;
    if (::pwrite(file, &i, sizeof i, 0) != sizeof i) std::exit(3);
  }
}

/// As programs do that become daemons. Its own sockets get the numbers of what it has closed.
void replace_descriptors() {
  for (int each = STDERR_FILENO + 1; each < 1024; ++each) ::close(each);
  for (int each = 0; each < 16; ++each) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::snprintf(address.sun_path, sizeof address.sun_path, "own.%d", each);
    int const made = ::socket(AF_UNIX, SOCK_STREAM, 0);
    if (::bind(made, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || ::listen(made, 4) != 0) std::exit(3);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string const way = argc > 1 ? argv[1] : "";
  profkit::options options = profkit::options::from_env();
  options.warmup_steps = 2;
  while (way == "full" && ::dup(STDIN_FILENO) >= 0) continue;
  profkit::session session{options};
  if (way == "rank") {
    session.collect(profkit::host_memory());
    run_rank(session);
  }
  for (std::uint64_t i = 0; way != "rank" && (i < 5 || !has_input_ended(0)); ++i) {
    if (i == 5 && way == "fork" && ::fork() == 0) {
      wait_for_end_of_input();
      return 0;
    }
    if (i == 5 && way == "closed") replace_descriptors();
    if (i == 5 && way == "exec") ::execl("/bin/cat", "cat", nullptr);
    profkit::step const step{session};
    PROF_SCOPE("outer");
    work(std::chrono::milliseconds{3});
    for (int scope = 0; scope < 1000 && way == "many"; ++scope) PROF_SCOPE("inner");
    if (i == 5 && way == "hang") {
      PROF_SCOPE("stuck");
      wait_for_end_of_input();
      break;
    }
    ::usleep(2000);
  }
  std::printf("done\n");
  return 0;
}
