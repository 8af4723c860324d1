// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace trainer {

namespace detail {

inline void erase_each(std::string& text, std::string_view what) {
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at)) text.erase(at, what.size());
}

/// The end of the parameter list that begins at `at`, including its parenthesis.
inline std::size_t end_of_parameters(std::string_view name, std::size_t at) {
  int depth = 0;
  for (; at < name.size(); ++at) {
    if (name[at] == '(') ++depth;
    if (name[at] == ')' && --depth == 0) return at + 1;
  }
  return name.size();
}

}  // namespace detail

/// A demangled kernel name shortened for a table cell: function and template arguments, without parameters and without common parts of
/// PyTorch kernel names. Cut in the middle to `width`.
[[nodiscard]] inline std::string short_kernel_name(std::string name, std::size_t width = 100) {
  for (std::string_view const noise : {"void ", "(anonymous namespace)::", "at::native::", "binary_internal::"})
    detail::erase_each(name, noise);
  // PyTorch's dispatch by type wraps the computing lambda in others, such as "{lambda()#3}::operator()() const::".
  constexpr std::string_view dispatch_end = "}::operator()() const::";
  for (std::size_t at = name.find("{lambda()#"); at != name.npos; at = name.find("{lambda()#", at)) {
    std::size_t const end = name.find(dispatch_end, at);
    if (end == name.npos) break;
    name.erase(at, end + dispatch_end.size() - at);
  }
  constexpr std::string_view pointers = ", std::array<char*, ";
  for (std::size_t at = name.find(pointers); at != name.npos; at = name.find(pointers, at)) {
    std::size_t const end = name.find('>', at);
    name.erase(at, end == name.npos ? end : end + 1 - at);
  }
  constexpr std::string_view iterator_parameters = "(at::TensorIterator";
  for (std::size_t at = name.find(iterator_parameters); at != name.npos; at = name.find(iterator_parameters, at)) {
    name.erase(at, detail::end_of_parameters(name, at) - at);
  }
  // The lambda around the function of one element.
  for (std::string_view const noise : {"gpu_kernel_impl_nocast<", " >::{lambda(int)#1}", ">::{lambda(int)#1}"})
    detail::erase_each(name, noise);
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>') --depth;
    if (name[i] == '(' && depth == 0) name.resize(i);
  }
  if (name.size() <= width) return name;
  std::size_t const head = (width - 3) * 2 / 3;
  return name.substr(0, head) + "..." + name.substr(name.size() - (width - 3 - head));
}

}  // namespace trainer
