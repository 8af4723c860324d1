// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <signal.h>

#include <memory>
#include <thread>
#include <utility>

namespace profkit::detail {

/// Starts a thread of the library's own, which gets none of the program's signals. To be joined; in the child of a `fork` there is no such
/// thread, and what stands for it must be released.
/// @param name as debuggers show it, at most 15 characters.
/// @throws std::system_error
template <class Function>
[[nodiscard]] std::unique_ptr<std::thread> start_own_thread(char const* name, Function&& function) {
  sigset_t all{};
  sigset_t before{};
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::unique_ptr<std::thread> result;
  try {
    result = std::make_unique<std::thread>([name, body = std::forward<Function>(function)] {
      ::pthread_setname_np(::pthread_self(), name);
      body();
    });
  } catch (...) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return result;
}

}  // namespace profkit::detail
