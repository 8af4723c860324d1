// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cxxabi.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "../record/function_name.hpp"

namespace profkit::detail {

/// The C++ name of a symbol, by the C++ runtime: "foo(int)" for `_Z3fooi`; nothing if the symbol is not a mangled name.
///
/// Demangling is recursive, and names can come from any library. So names longer than `max_length` are not demangled. (libstdc++ itself
/// refuses names of more than 1,024 characters; other runtimes have no limit.)
inline std::optional<std::string> demangled_by_runtime(char const* mangled) {
  constexpr std::size_t max_length = 2048;
  if (std::strlen(mangled) > max_length) return std::nullopt;
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> const text{abi::__cxa_demangle(mangled, nullptr, nullptr, &status), std::free};
  if (status != 0 || text == nullptr) return std::nullopt;
  return text.get();
}

/// The qualified name of a function without result, parameters and template arguments: "layer::exp_loop" for "_ZN5layer8exp_loopEPfi".
/// Overloads and instances of a template have the same label.
/// @param mangled the name of its symbol; names of other languages are returned unchanged.
inline std::string function_label(std::string const& mangled) {
  std::optional<std::string> const demangled = demangled_by_runtime(mangled.c_str());
  if (!demangled) {
    std::size_t const suffix = mangled.find('.', 1);  // suffix of a part that the compiler split off, such as ".cold" or ".part.0"
    return suffix == std::string::npos ? mangled : mangled.substr(0, suffix);
  }
  std::string text = *demangled;
  std::size_t const clone = text.find(" [clone ");
  if (clone != std::string::npos) text.resize(clone);
  if (text.find("operator") != std::string::npos) return text;
  char const* const all = text.c_str();
  char const* const end = end_of_name(all, all + text.size());
  char const* begin = end;
  int depth = 0;
  for (; begin != all && !(depth == 0 && begin[-1] == ' '); --begin) depth += closes(begin[-1]) ? 1 : opens(begin[-1]) ? -1 : 0;
  return begin == end ? text : std::string(begin, end);
}

}  // namespace profkit::detail
