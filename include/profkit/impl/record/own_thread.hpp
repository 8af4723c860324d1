// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <system_error>
#include <utility>

#include "../profile/numbers.hpp"
#include "quiet_thread.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// A thread of the library. It blocks all signals, has a small stack, and records nothing: see `quiet_thread`. Join it before destruction.
/// In the child of a `fork` the thread does not exist: release the object instead.
class own_thread {
 public:
  /// Starts the thread.
  /// @param name as debuggers show it, at most 15 characters.
  /// @param body runs on the thread; must not throw.
  /// @throws std::system_error if the system cannot create a thread.
  own_thread(char const* name, std::function<void()> body) {
    auto start = std::make_unique<start_values>(start_values{name, std::move(body)});
    sigset_t all{};
    sigset_t before{};
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    int const failure = create(start.get());
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (failure != 0) throw std::system_error{failure, std::generic_category(), "cannot start a thread"};
    static_cast<void>(start.release());  // the thread deletes it
  }

  own_thread(own_thread const&) = delete;
  own_thread& operator=(own_thread const&) = delete;

  /// Whether the threads of the program have ended, so that only threads of the library are left. The thread of `main` stays in the list of
  /// threads until the process ends. Makes one system call.
  [[nodiscard]] static bool are_others_gone() noexcept {
    struct ::stat tasks {};
    if (::stat("/proc/self/task", &tasks) != 0) return false;
    constexpr std::uint64_t links_of_folder = 2;
    if (tasks.st_nlink != links_of_folder + 1 + __atomic_load_n(&count(), __ATOMIC_RELAXED)) return false;
    char path[64];
    static_cast<void>(std::snprintf(path, sizeof path, "/proc/self/task/%d/stat", int{::getpid()}));
    int const file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    char text[256];
    ::ssize_t const length = ::read(file, text, sizeof text - 1);
    ::close(file);
    text[length > 0 ? length : 0] = '\0';
    char const* const name_end = std::strrchr(text, ')');  // the state follows the name
    return name_end != nullptr && name_end[1] == ' ' && name_end[2] == 'Z';
  }

  /// Waits until the thread has ended. Must not be called on the thread itself.
  void join() const noexcept { ::pthread_join(thread_, nullptr); }

 private:
  /// The number of threads of the library.
  static std::uint64_t& count() noexcept {
    static std::uint64_t value = 0;
    return value;
  }

  struct start_values {
    char const* name;
    std::function<void()> body;
  };

  /// Size of the address space of the stack. Collectors of the program and, after a signal, the report run on it.
  static constexpr std::size_t stack_bytes = std::size_t{1} << 20U;

  int create(start_values* start) noexcept {
    ::pthread_attr_t attributes{};
    if (::pthread_attr_init(&attributes) != 0) return ::pthread_create(&thread_, nullptr, run, start);
    ::pthread_attr_setstacksize(&attributes, stack_bytes);
    int failure = ::pthread_create(&thread_, &attributes, run, start);
    ::pthread_attr_destroy(&attributes);
    // The program's thread-local variables are on the stack too and may need more space.
    if (failure == EINVAL) failure = ::pthread_create(&thread_, nullptr, run, start);
    return failure;
  }

  static void* run(void* argument) {
    keep_this_thread_quiet();
    std::unique_ptr<start_values> const start{static_cast<start_values*>(argument)};
    usual_arithmetic const arithmetic;
    ::pthread_setname_np(::pthread_self(), start->name);
    __atomic_fetch_add(&count(), 1, __ATOMIC_RELAXED);
    start->body();
    __atomic_fetch_sub(&count(), 1, __ATOMIC_RELAXED);
    return nullptr;
  }

  ::pthread_t thread_{};
};

}  // namespace PROFKIT_NAMESPACE::detail
