// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "nvidia_demangler.hpp"
#include "nvidia_demangler_names.hpp"

namespace PROFKIT_NAMESPACE::detail {

// NOLINTBEGIN(misc-no-recursion): limited by `nesting` to `max_depth` levels
/// Prints no parentheses for operator precedence, like NVIDIA's demangler.
inline std::string nvidia_demangler::expression() {
  nesting const level{*this};
  switch (peek()) {
    case 'L':
      return literal();
    case 'T':
      return template_param();
    case 'f':
      return function_param();
    default:
      return is_digit_next() ? unresolved_name() : operator_expression();
  }
}

inline std::string nvidia_demangler::operator_expression() {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> of_type_or_expression{
      {{"st", "sizeof("}, {"sz", "sizeof("}, {"at", "alignof("}, {"az", "alignof("}, {"nx", "noexcept("}, {"sZ", "sizeof...("}}};
  for (auto const& [code, text] : of_type_or_expression) {
    if (!accept(code)) continue;
    bool const is_of_type = code[1] == 't';
    return std::string{text} + (is_of_type ? type().text() : expression()) + ')';
  }
  if (accept("cl")) return call_expression();
  if (accept("cv")) return cast_expression();
  if (peek() == 's' && peek(1) == 'r') return scope_expression();
  if (accept("gs")) return "::" + expression();
  if (accept("on")) return unresolved_name();
  if (accept("sp")) return expression() + "...";
  if (accept("tl")) {
    std::string const name = type().text();
    return name + '{' + expressions_to_end() + '}';
  }
  if (accept("il")) return '{' + expressions_to_end() + '}';
  if (accept("qu")) {
    std::string const condition = expression();
    std::string const then = expression();
    return condition + '?' + then + ':' + expression();
  }
  if (accept("ix")) {
    std::string const array = expression();
    return array + '[' + expression() + ']';
  }
  if (peek() == 'd' && peek(1) == 't') return member_expression(".");
  if (peek() == 'p' && peek(1) == 't') return member_expression("->");
  if (accept("pp_")) return "++" + expression();
  if (accept("mm_")) return "--" + expression();
  if (accept("pp")) return expression() + "++";
  if (accept("mm")) return expression() + "--";
  operator_spelling const* const found = find_operator(rest_.substr(0, 2));
  if (found == nullptr || found->operands == 0) {
    fail();
    return {};
  }
  skip(2);
  if (found->operands == 1) return std::string{found->text} + expression();
  std::string const left = expression();
  return left + std::string{found->text} + expression();
}

inline std::string nvidia_demangler::member_expression(std::string_view access) {
  skip(2);
  std::string const object = expression();
  return '(' + object + std::string{access} + unresolved_name() + ')';
}

inline std::string nvidia_demangler::call_expression() {
  std::string const function = expression();
  return function + '(' + expressions_to_end() + ')';
}

inline std::string nvidia_demangler::cast_expression() {
  std::string const to = type().text();
  if (accept("_")) return to + '(' + expressions_to_end() + ')';
  return '(' + to + ')' + expression();
}

/// A name in a scope that depends on a template parameter: `srT_4size`, `srN1aIT_E1bE4size`, `sr3std1aIT_EE4size`.
inline std::string nvidia_demangler::scope_expression() {
  expect("sr");
  std::string result;
  if (is_digit_next()) {
    while (!failed_ && !accept("E")) {
      if (!result.empty()) result += "::";
      result += source_name();
      if (accept("I")) result += template_args();
    }
  } else {
    result = type().text();
  }
  return result + "::" + unresolved_name();
}

inline std::string nvidia_demangler::unresolved_name() {
  demangled_name name;
  accept("on");
  std::string result = is_digit_next() ? source_name() : operator_name(name);
  if (accept("I")) result += template_args();
  return result;
}

inline std::string nvidia_demangler::function_param() {
  std::string suffix;
  if (accept("fL")) {
    std::size_t const level = number() + 1;
    suffix = "[up " + std::to_string(level) + (level == 1 ? " level]" : " levels]");
    expect("p");
  } else {
    expect("fp");
  }
  cv_qualifiers const cv = qualifiers();
  std::string result = cv.is_const ? "const " : "";
  if (cv.is_volatile) result += "volatile ";
  if (cv.is_restrict) result += "restrict ";
  return result + "param#" + std::to_string(sequence_number(10) + 1) + suffix;
}

/// A value with its type, a function or an object.
inline std::string nvidia_demangler::literal() {
  expect("L");
  std::string result;
  if (accept("_Z")) {
    result = encoding(true);
  } else if (accept("DnE")) {
    return "nullptr";
  } else {
    bool const has_fraction = peek() == 'f' || peek() == 'd' || peek() == 'e' || peek() == 'g';
    result = '(' + type().text() + ')';
    if (accept("n")) result += '-';
    if (has_fraction || !is_digit_next()) fail();
    for (; is_digit_next(); skip(1)) result += peek();
  }
  expect("E");
  return result;
}

inline std::string nvidia_demangler::expressions_to_end() {
  std::string result;
  for (bool is_first = true; !failed_ && !accept("E"); is_first = false) {
    if (!is_first) result += ", ";
    result += expression();
    if (rest_.empty()) fail();
  }
  return result;
}
// NOLINTEND(misc-no-recursion)

}  // namespace PROFKIT_NAMESPACE::detail
