// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recorder.hpp"

// For shared libraries only: an executable is never unloaded.
#if defined(__PIC__) && !defined(__PIE__) && !defined(PROFKIT_DISABLE)

#include <dlfcn.h>

namespace profkit::detail {

__attribute__((visibility("hidden"))) inline other_recorder recorder_of_this_library{};

/// Registers the library with the recorder of the process if the library has its own recorder, so that the report names it. A version
/// script with `local: *` can cause this, for example.
__attribute__((visibility("hidden"))) inline void announce_own_recorder(char const* library) noexcept {
  void* const found = ::dlsym(RTLD_DEFAULT, recorder_symbol);
  if (found == nullptr) static_cast<void>(::dlerror());  // the program must not see profkit's error
  auto* const shared = static_cast<recorder_state*>(found);
  if (shared == nullptr || shared == &recorder || recorder_of_this_library.library != nullptr) return;
  recorder_of_this_library.library = library;
  other_recorder*& next = recorder_of_this_library.next;
  next = __atomic_load_n(&shared->others, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&shared->others, &next, &recorder_of_this_library, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
  }
}

/// Keeps this shared library loaded after `dlclose`, because logs contain addresses of its sites, ending threads may call its functions,
/// and tools may use its strings. Most libraries built by g++ stay loaded anyway, because inline variables get unique symbols. This
/// function covers the other cases: clang++, `-fno-gnu-unique`, symbols hidden by the linker.
///
/// Runs once per translation unit. A variable of the library would avoid that, but would take twice as much space in each object file.
__attribute__((constructor, visibility("hidden"))) inline void pin_this_library() noexcept {
  ::Dl_info self{};
  bool const is_found = ::dladdr(reinterpret_cast<void*>(&pin_this_library), &self) != 0;
  // For a name without a slash, `dlopen` would search folders.
  if (is_found && __builtin_strchr(self.dli_fname, '/') != nullptr) {
    static_cast<void>(::dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE));
  }
  announce_own_recorder(self.dli_fname);
}

}  // namespace profkit::detail

#endif
