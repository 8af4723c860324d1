// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace profkit::detail {

/// The functions of libdw (elfutils) that profkit needs to read DWARF debug information. Opened at run time, so that programs do not depend
/// on it. Declared here, because its headers are seldom installed. Source: `elfutils/libdw.h`, whose symbols are versioned and stay
/// compatible.
class dwarf_library {
 public:
  using dwarf = void;  ///< Dwarf
  using line = void;   ///< Dwarf_Line
  using lines = void;  ///< Dwarf_Lines
  /// Dwarf_Die
  struct die {
    void* address;
    void* unit;
    void* abbreviation;
    long padding;
  };

  // The functions, named as in libdw.h without `dwarf_`.
  dwarf* (*begin)(int file, int command) = nullptr;
  int (*end)(dwarf*) = nullptr;
  int (*nextcu)(dwarf*, std::uint64_t offset, std::uint64_t* next, std::size_t* header_bytes, std::uint64_t* abbreviations,
                std::uint8_t* address_bytes, std::uint8_t* offset_bytes) = nullptr;
  die* (*offdie)(dwarf*, std::uint64_t offset, die*) = nullptr;
  std::ptrdiff_t (*ranges)(die*, std::ptrdiff_t offset, std::uint64_t* base, std::uint64_t* begin, std::uint64_t* end) = nullptr;
  int (*getsrclines)(die* unit, lines**, std::size_t* count) = nullptr;
  line* (*onesrcline)(lines*, std::size_t) = nullptr;
  int (*lineaddr)(line*, std::uint64_t* address) = nullptr;
  int (*lineendsequence)(line*, bool*) = nullptr;
  int (*lineno)(line*, int* number) = nullptr;
  char const* (*linesrc)(line*, std::uint64_t* modified, std::uint64_t* bytes) = nullptr;

  /// @param library the result of `dlopen`; never closed.
  explicit dwarf_library(void* library = ::dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (library == nullptr) {
      why_not_ = "libdw.so.1 (elfutils) cannot be opened";
      return;
    }
    auto const load = [&](char const* function, auto*& into) {
      into = reinterpret_cast<std::remove_reference_t<decltype(into)>>(::dlsym(library, function));
      if (into == nullptr) why_not_ = std::string{"libdw.so.1 has no "} + function;
    };
    load("dwarf_begin", begin);
    load("dwarf_end", end);
    load("dwarf_nextcu", nextcu);
    load("dwarf_offdie", offdie);
    load("dwarf_ranges", ranges);
    load("dwarf_getsrclines", getsrclines);
    load("dwarf_onesrcline", onesrcline);
    load("dwarf_lineaddr", lineaddr);
    load("dwarf_lineendsequence", lineendsequence);
    load("dwarf_lineno", lineno);
    load("dwarf_linesrc", linesrc);
  }

  /// Why the library cannot be used; empty if it can.
  [[nodiscard]] std::string const& why_not() const noexcept { return why_not_; }

 private:
  std::string why_not_;
};

}  // namespace profkit::detail
