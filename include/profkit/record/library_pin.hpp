// SPDX-License-Identifier: Apache-2.0
#pragma once

// In code for shared libraries alone: what an executable is made of is never unloaded.
#if defined(__PIC__) && !defined(__PIE__) && !defined(PROFKIT_DISABLE)

#include <dlfcn.h>

namespace profkit::detail {

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
}

}  // namespace profkit::detail

#endif
