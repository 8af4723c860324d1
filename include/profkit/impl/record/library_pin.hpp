// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recorder.hpp"

#if !defined(PROFKIT_DISABLE) && !defined(__CUDACC__)

// Names the recorder of this module to a session in another module, also if no symbol of this one is visible: an ELF note with the distance
// to a pointer, which is usually one to the recorder that all modules of the process share. On x86 it is the one in the global offset
// table. The note is not in a group, because `--gc-sections` keeps only such notes.
#ifdef __x86_64__
asm(R"(
.pushsection .note.profkit, "a", %note
.balign 4
.long 8
.long 4
.long 1
.asciz "profkit"
.long _ZN7profkit9layout_138recorderE@GOTPCREL
.popsection
)");
#else
asm(R"(
.pushsection .data.rel.ro.profkit, "aw", %progbits
.balign 8
7:
.quad _ZN7profkit9layout_138recorderE
.popsection
.pushsection .note.profkit, "a", %note
.balign 4
.long 8
.long 4
.long 1
.asciz "profkit"
.long 7b - .
.popsection
)");
#endif

#endif

// For shared libraries only: an executable is never unloaded.
#if defined(__PIC__) && !defined(__PIE__) && !defined(PROFKIT_DISABLE)

#include <dlfcn.h>

namespace PROFKIT_NAMESPACE::detail {

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
}

}  // namespace PROFKIT_NAMESPACE::detail

#endif
