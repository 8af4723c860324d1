// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cxxabi.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>

#include "../record/function_name.hpp"

namespace profkit::detail {

/// The qualified name of a function without result, parameters and template arguments: "layer::exp_loop" for "_ZN5layer8exp_loopEPfi".
/// Overloads and instances of a template have the same label.
/// @param mangled the name of its symbol; names of other languages are returned unchanged.
inline std::string function_label(std::string const& mangled) {
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> const demangled{abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free};
  std::string text = status == 0 && demangled != nullptr ? demangled.get() : mangled;
  if (status != 0 || demangled == nullptr) {
    std::size_t const suffix = text.find('.', 1);  // suffix of a part that the compiler split off, such as ".cold" or ".part.0"
    return suffix == std::string::npos ? text : text.substr(0, suffix);
  }
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
