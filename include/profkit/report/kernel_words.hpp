// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sentence_numbers.hpp"

namespace profkit::detail {

/// Position of the opening parenthesis or angle bracket that matches the closing one at `close`; npos if there is none.
inline std::size_t opening_of(std::string_view name, std::size_t close, char open_character, char close_character) {
  std::size_t depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    if (name[i] == close_character) ++depth;
    if (name[i] == open_character && --depth == 0) return i;
  }
  return std::string_view::npos;
}

/// Removes namespaces. The libraries of kernels write them in lower case: "at::native::FillFunctor" -> "FillFunctor".
inline void remove_namespaces(std::string& name) {
  auto const is_part = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  for (std::size_t at = name.find("::"); at != std::string::npos; at = name.find("::", at)) {
    std::size_t begin = at;
    while (begin > 0 && is_part(name[begin - 1])) --begin;
    bool const is_whole = begin == 0 || std::string_view{" <,(:&*"}.find(name[begin - 1]) != std::string_view::npos;
    if (begin == at || !is_whole) {
      at += 2;
      continue;
    }
    name.erase(begin, at + 2 - begin);
    at = begin;
  }
}

/// The name of a kernel without return type, namespaces and arguments. Long template arguments are cut at the end.
inline std::string short_kernel_name(std::string name) {
  for (std::string_view const unnamed : {std::string_view{"(anonymous namespace)::"}, std::string_view{"<unnamed>::"}}) {
    for (std::size_t at = name.find(unnamed); at != std::string::npos; at = name.find(unnamed)) name.erase(at, unnamed.size());
  }
  constexpr std::string_view no_result = "void ";
  if (name.compare(0, no_result.size(), no_result) == 0) name.erase(0, no_result.size());
  if (!name.empty() && name.back() == ')') {
    std::size_t const open = opening_of(name, name.size() - 1, '(', ')');
    if (open != std::string::npos && open > 0) name.erase(open);
  }
  remove_namespaces(name);
  constexpr std::size_t max_arguments = 32;
  if (!name.empty() && name.back() == '>') {
    std::size_t const open = opening_of(name, name.size() - 1, '<', '>');
    if (open != std::string::npos && open > 0 && name.size() - open > max_arguments)
      name = as_utf8(name.substr(0, open + max_arguments)) + "\xe2\x80\xa6>";
  }
  return name;
}

/// "12", or "0.50" if a step has fewer than one on average.
inline std::string mean_count_words(double per_step) {
  bool const is_whole = per_step - static_cast<double>(static_cast<std::uint64_t>(per_step)) < 0.001;
  return is_whole ? count_words(static_cast<std::uint64_t>(per_step)) : significant(per_step);
}

/// "12 launches", "1 launch", "0.50 launches".
inline std::string launches_words(double per_step) {
  std::string const number = mean_count_words(per_step);
  return number + (number == "1" ? " launch" : " launches");
}

/// "12 times", "once".
inline std::string times_words(double per_step) {
  std::string const number = mean_count_words(per_step);
  return number == "1" ? "once" : number + " times";
}

/// The shade of a kernel class: its position in the fixed order of `colour::kernel_class`.
inline std::uint8_t shade_of_class(std::string_view kernel_class) {
  constexpr std::array<std::string_view, 11> classes{"communication", "optimizer",       "attention", "convolution", "matmul",   "softmax",
                                                     "norm",          "embedding/index", "copy/cast", "elementwise", "reduction"};
  return static_cast<std::uint8_t>(std::find(classes.begin(), classes.end(), kernel_class) - classes.begin());
}

}  // namespace profkit::detail
