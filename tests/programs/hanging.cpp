// SPDX-License-Identifier: Apache-2.0
//
// A program for stuck.py, which writes the journal of PROFKIT: 20 steps of about 10 ms, then a step that does not end.
//
// usage: profkit_hanging threads           hangs in nested scopes of two threads
//        profkit_hanging healthy           does not hang
//        profkit_hanging first             hangs in its first step
//        profkit_hanging job FILE          one rank of a job (RANK, WORLD_SIZE); the last rank does not arrive at the 21st all_reduce
#include <profkit/profkit.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

constexpr std::uint64_t usual_steps = 20;

void pause_for(std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }

[[noreturn]] void hang() {
  while (true) pause_for(std::chrono::seconds{1});
}

void hang_on_two_threads() {
  std::thread other{[] {
    PROF_SCOPE("loader");
    PROF_SCOPE("decode");
    hang();
  }};
  PROF_SCOPE("data");
  PROF_SCOPE_INDEXED("shard", 7);
  hang();
}

/// Counts arrivals of all processes of a job in a shared file.
class shared_barrier {
 public:
  explicit shared_barrier(char const* file) {
    int const opened = ::open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (opened < 0 || ::ftruncate(opened, 4096) != 0) std::exit(3);
    void* const mapped = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
    if (mapped == MAP_FAILED) std::exit(3);
    arrived_ = static_cast<std::uint64_t*>(mapped);
  }
  void wait(std::uint64_t round, std::uint64_t size) {
    __atomic_fetch_add(arrived_, std::uint64_t{1}, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(arrived_, __ATOMIC_ACQUIRE) < (round + 1) * size) pause_for(std::chrono::milliseconds{1});
  }

 private:
  std::uint64_t* arrived_;
};

int number_in(char const* variable) {
  char const* const text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

void run_rank(profkit::session& session, char const* file) {
  int const rank = number_in("RANK");
  int const size = number_in("WORLD_SIZE");
  static profkit::communicator world{"world", 7, rank, size};
  shared_barrier barrier{file};
  for (std::uint64_t i = 0;; ++i) {
    profkit::step const step{session};
    {
      PROF_SCOPE("data");
      if (i == usual_steps && rank == size - 1) hang();
      pause_for(std::chrono::milliseconds{5});
    }
    PROF_SCOPE("backward");
    PROF_SCOPE("sum gradients", profkit::collective{"all_reduce", world, 64});
    barrier.wait(i, static_cast<std::uint64_t>(size));
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string const what = argc > 1 ? argv[1] : "";
  profkit::options options = profkit::options::from_env();
  options.warmup_steps = 2;
  profkit::session session{options};
  if (what == "job" && argc > 2) run_rank(session, argv[2]);
  for (std::uint64_t i = 0;; ++i) {
    profkit::step const step{session};
    bool const hangs = what == "first" || (what == "threads" && i == usual_steps);
    if (hangs) hang_on_two_threads();
    PROF_SCOPE("work");
    pause_for(std::chrono::milliseconds{10});
  }
}
