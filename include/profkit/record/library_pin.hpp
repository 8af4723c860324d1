// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recorder.hpp"

// In code for shared libraries alone: what an executable is made of is never unloaded.
#if defined(__PIC__) && !defined(__PIE__) && !defined(PROFKIT_DISABLE)

#include <dlfcn.h>

namespace profkit::detail {

__attribute__((visibility("hidden"))) inline other_recorder recorder_of_this_library{};

/// If the process has a recorder that this library does not share, it says so there, for the report. A version script with `local: *` does
/// that, for example.
__attribute__((visibility("hidden"))) inline void announce_own_recorder(char const* library) noexcept {
  void* const found = ::dlsym(RTLD_DEFAULT, recorder_symbol);
  if (found == nullptr) static_cast<void>(::dlerror());  // the program must not find our error
  auto* const shared = static_cast<recorder_state*>(found);
  if (shared == nullptr || shared == &recorder || recorder_of_this_library.library != nullptr) return;
  recorder_of_this_library.library = library;
  other_recorder*& next = recorder_of_this_library.next;
  next = __atomic_load_n(&shared->others, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&shared->others, &next, &recorder_of_this_library, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
  }
}

/// Keeps the shared library that it is part of in the process when `dlclose` has given it back: the logs hold addresses of its sites, a
/// thread may have its functions to call, a tool its strings. Most libraries stay in any case, for g++ gives inline variables unique
/// symbols; this is for the others (clang++, `-fno-gnu-unique`, symbols that the linker hides).
///
/// Once for each unit that has it: as a variable of the library it would take twice as much of an object.
__attribute__((constructor, visibility("hidden"))) inline void pin_this_library() noexcept {
  ::Dl_info self{};
  bool const is_found = ::dladdr(reinterpret_cast<void*>(&pin_this_library), &self) != 0;
  // A name without a slash would be looked for in folders.
  if (is_found && __builtin_strchr(self.dli_fname, '/') != nullptr) {
    static_cast<void>(::dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE));
  }
  announce_own_recorder(self.dli_fname);
}

}  // namespace profkit::detail

#endif
