// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>
#include <link.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "recorder.hpp"

// Finds modules of this process whose scopes go to another recorder, so that the report names them. A recorder is shared by its symbol, and
// a symbol can be hidden or bound in many ways: a version script, --exclude-libs, -Bsymbolic, RTLD_DEEPBIND, dlmopen, an executable that
// exports nothing, another version of the library. So modules are found by a note (`library_pin.hpp`) and not by symbols.

namespace PROFKIT_NAMESPACE::detail {

/// Calls a function with each note of profkit in a module, and its value.
template <class Found>
void read_profkit_notes(std::uintptr_t base, ElfW(Phdr) const* headers, std::size_t count, Found&& found) {
  for (std::size_t i = 0; i < count; ++i) {
    if (headers[i].p_type != PT_NOTE) continue;
    std::size_t const padding = headers[i].p_align == 8 ? 7 : 3;
    auto const padded = [&](std::size_t bytes) { return (bytes + padding) & ~padding; };
    auto const* at = reinterpret_cast<unsigned char const*>(base + headers[i].p_vaddr);
    std::size_t left = headers[i].p_memsz;
    while (left >= sizeof(ElfW(Nhdr))) {
      ElfW(Nhdr) note{};
      std::memcpy(&note, at, sizeof note);
      std::size_t const bytes = sizeof note + padded(note.n_namesz) + padded(note.n_descsz);
      if (bytes > left) break;
      unsigned char const* const value = at + sizeof note + padded(note.n_namesz);
      if (note.n_namesz == sizeof "profkit" && std::memcmp(at + sizeof note, "profkit", 8) == 0) found(note, value);
      at += bytes;
      left -= bytes;
    }
  }
}

/// Calls a function with the recorder of each note of a module.
template <class Found>
void read_recorder_notes(std::uintptr_t base, ElfW(Phdr) const* headers, std::size_t count, Found&& found) {
  read_profkit_notes(base, headers, count, [&](ElfW(Nhdr) const& note, unsigned char const* value) {
    std::int32_t distance = 0;
    if (note.n_type != 1 || note.n_descsz != sizeof distance) return;
    std::memcpy(&distance, value, sizeof distance);
    found(*reinterpret_cast<void const* const*>(value + distance));
  });
}

/// Whether a module contains the code of sessions: see `make_session.hpp`.
[[nodiscard]] inline bool has_session_note(std::uintptr_t base, ElfW(Phdr) const* headers, std::size_t count) noexcept {
  bool result = false;
  read_profkit_notes(base, headers, count, [&](ElfW(Nhdr) const& note, unsigned char const*) { result = result || note.n_type == 2; });
  return result;
}

/// Defined in the library of `profkit run` alone. It has a recorder on purpose, is itself the tool that listens to NVTX, and gets the
/// scopes of other recorders as NVTX ranges.
__attribute__((weak, visibility("hidden"))) extern bool const is_library_of_run;

[[nodiscard]] inline bool is_in_library_of_run() noexcept { return &is_library_of_run != nullptr; }

/// Adds a module to `recorder_state::others`, once.
inline void add_other_recorder(char const* path, void const* its_recorder) noexcept {
  for (other_recorder* each = __atomic_load_n(&recorder.others, __ATOMIC_ACQUIRE); each != nullptr; each = each->next) {
    if (each->recorder == its_recorder && std::strcmp(each->path, path) == 0) return;
  }
  std::size_t const length = std::strlen(path);
  void* const memory = std::malloc(sizeof(other_recorder) + length);  // never freed
  if (memory == nullptr) return;
  auto* const added = new (memory) other_recorder;
  added->recorder = its_recorder;
  std::memcpy(added->path, path, length + 1);
  added->next = __atomic_load_n(&recorder.others, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&recorder.others, &added->next, added, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
  }
}

/// Looks at one module. @return false if another thread has not finished loading it.
inline bool look_at_module(char const* path, std::uintptr_t base, ElfW(Phdr) const* headers, std::size_t count) noexcept {
  if (is_in_library_of_run() || std::strstr(path, "/libprofkit_run.so") != nullptr) return true;
  std::uintptr_t end = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (headers[i].p_type == PT_LOAD && headers[i].p_vaddr + headers[i].p_memsz > end) end = headers[i].p_vaddr + headers[i].p_memsz;
  }
  bool is_loaded = true;
  read_recorder_notes(base, headers, count, [&](void const* its_recorder) {
    bool const has_no_address_yet = base != 0 && reinterpret_cast<std::uintptr_t>(its_recorder) < end;
    if (its_recorder == &recorder) return;
    has_no_address_yet ? void(is_loaded = false) : add_other_recorder(path, its_recorder);
  });
  return is_loaded;
}

/// Looks at the modules that `dlmopen` has loaded into namespaces of their own, with glibc 2.35. To be called under the lock of the loader.
/// @param debug what the loader tells debuggers, from the dynamic section of the executable.
inline bool look_at_namespaces(::r_debug const* debug) noexcept {
  struct with_next {
    ::r_debug first;
    with_next const* next;
  };
  bool are_loaded = true;
  if (debug == nullptr || debug->r_version < 2) return true;
  for (auto const* each = reinterpret_cast<with_next const*>(debug)->next; each != nullptr; each = each->next) {
    for (::link_map const* module = each->first.r_map; module != nullptr; module = module->l_next) {
      auto const* const file = reinterpret_cast<ElfW(Ehdr) const*>(module->l_addr);  // shared libraries begin at address 0
      if (file == nullptr || std::memcmp(file->e_ident, ELFMAG, SELFMAG) != 0) continue;
      auto const* const headers = reinterpret_cast<ElfW(Phdr) const*>(module->l_addr + file->e_phoff);
      are_loaded = look_at_module(module->l_name, module->l_addr, headers, file->e_phnum) && are_loaded;
    }
  }
  return are_loaded;
}

/// Adds the modules that have another recorder to `recorder_state::others`. If no module was loaded since the last call, it does nothing.
inline void find_other_recorders() noexcept {
  static unsigned long long modules_seen = 0;  ///< number of modules that were loaded before the last call
  struct state {
    unsigned long long loaded = 0;
    bool are_complete = true;
    bool is_first = true;
  } now;
  auto const look = [](::dl_phdr_info* module, std::size_t, void* into) {
    auto& to = *static_cast<state*>(into);
    to.loaded = module->dlpi_adds;
    if (to.loaded == __atomic_load_n(&modules_seen, __ATOMIC_RELAXED)) return 1;
    bool const is_loaded = look_at_module(*module->dlpi_name == '\0' ? "the executable" : module->dlpi_name, module->dlpi_addr,
                                          module->dlpi_phdr, module->dlpi_phnum);
    to.are_complete = to.are_complete && is_loaded;
    for (int i = 0; to.is_first && i < module->dlpi_phnum; ++i) {
      if (module->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
      for (auto const* entry = reinterpret_cast<ElfW(Dyn) const*>(module->dlpi_addr + module->dlpi_phdr[i].p_vaddr);
           entry->d_tag != DT_NULL; ++entry) {
        if (entry->d_tag != DT_DEBUG) continue;
        to.are_complete = look_at_namespaces(reinterpret_cast<::r_debug const*>(entry->d_un.d_ptr)) && to.are_complete;
      }
    }
    to.is_first = false;
    return 0;
  };
  ::dl_iterate_phdr(look, &now);
  if (now.are_complete) __atomic_store_n(&modules_seen, now.loaded, __ATOMIC_RELAXED);
}

/// Whether a shared library that begins at an address has scopes.
[[nodiscard]] inline bool is_library_with_scopes(std::uintptr_t begin) noexcept {
  struct wanted {
    std::uintptr_t begin;
    bool has_scopes = false;
  } library{begin};
  auto const look = [](::dl_phdr_info* module, std::size_t, void* into) {
    auto& to = *static_cast<wanted*>(into);
    if (module->dlpi_addr != to.begin) return 0;
    read_recorder_notes(module->dlpi_addr, module->dlpi_phdr, module->dlpi_phnum, [&](void const*) { to.has_scopes = true; });
    return 1;
  };
  ::dl_iterate_phdr(look, &library);
  return library.has_scopes;
}

/// Calls a function with the path of each library with scopes whose file was replaced after the library was loaded. `dlopen` of the path
/// returns the loaded library, with its old code. A filter of system calls may end a program that opens a file, so with one it looks at
/// nothing.
template <class Found>
void find_replaced_libraries(Found&& found) {
  std::FILE* const maps = ::prctl(PR_GET_SECCOMP) > 0 ? nullptr : std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return;
  char line[4096 + 128];  // a path and what precedes it
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    char* const path = std::strchr(line, '/');
    char* const mark = path == nullptr ? nullptr : std::strstr(path, " (deleted)\n");
    char* end = nullptr;
    std::uintptr_t const begin = std::strtoull(line, &end, 16);
    if (mark == nullptr || std::strstr(end, " 00000000 ") == nullptr || !is_library_with_scopes(begin)) continue;
    *mark = '\0';
    if (::access(path, F_OK) == 0) found(static_cast<char const*>(path));
  }
  static_cast<void>(std::fclose(maps));
}

}  // namespace PROFKIT_NAMESPACE::detail
