// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "nvidia_demangler.hpp"

namespace PROFKIT_NAMESPACE::detail {

// NOLINTBEGIN(misc-no-recursion): limited by `nesting` to `max_depth` levels
/// Source: Itanium C++ ABI, 5.1.5.2.
inline constexpr std::array<std::pair<std::string_view, std::string_view>, 33> builtin_types{{
    {"v", "void"},
    {"b", "bool"},
    {"c", "char"},
    {"a", "signed char"},
    {"h", "unsigned char"},
    {"s", "short"},
    {"t", "unsigned short"},
    {"i", "int"},
    {"j", "unsigned int"},
    {"l", "long"},
    {"m", "unsigned long"},
    {"x", "long long"},
    {"y", "unsigned long long"},
    {"n", "__int128"},
    {"o", "unsigned __int128"},
    {"f", "float"},
    {"d", "double"},
    {"e", "long double"},
    {"g", "__float128"},
    {"w", "wchar_t"},
    {"z", "..."},
    {"Dn", "std::nullptr_t"},
    {"Da", "auto"},
    {"Dc", "decltype(auto)"},
    {"Di", "char32_t"},
    {"Ds", "char16_t"},
    {"Du", "char8_t"},
    {"Dh", "__fp16"},
    {"DF16b", "std::bfloat16_t"},
    {"DF16_", "_Float16"},
    {"DF32_", "_Float32"},
    {"DF64_", "_Float64"},
    {"DF128_", "_Float128"},
}};

/// Source: Itanium C++ ABI, 5.1.10.
struct standard_name {
  char code;
  std::string_view text;
  std::string_view base;
};
inline constexpr std::array<standard_name, 6> standard_names{{
    {'a', "std::allocator", "allocator"},
    {'b', "std::basic_string", "basic_string"},
    {'s', "std::basic_string<char, std::char_traits<char>, std::allocator<char>>", "basic_string"},
    {'i', "std::basic_istream<char, std::char_traits<char>>", "basic_istream"},
    {'o', "std::basic_ostream<char, std::char_traits<char>>", "basic_ostream"},
    {'d', "std::basic_iostream<char, std::char_traits<char>>", "basic_iostream"},
}};

inline void nvidia_demangler::count_copy(demangled_type const& type) {
  copied_bytes_ += type.left.size() + type.args.size() + type.right.size() + type.base.size();
  if (copied_bytes_ > max_copied_bytes) fail();
}

inline void nvidia_demangler::remember(demangled_type const& substitutable) {
  count_copy(substitutable);
  if (!failed_) substitutions_.push_back(substitutable);
}

inline nvidia_demangler::cv_qualifiers nvidia_demangler::qualifiers() {
  cv_qualifiers result;
  while (peek() == 'r' || peek() == 'V' || peek() == 'K') {
    (peek() == 'r' ? result.is_restrict : peek() == 'V' ? result.is_volatile : result.is_const) = true;
    skip(1);
  }
  return result;
}

/// Such as " const volatile", after the parameters of a function.
inline std::string nvidia_demangler::text_of(cv_qualifiers const& qualifiers) {
  std::string result = qualifiers.is_const ? " const" : "";
  if (qualifiers.is_volatile) result += " volatile";
  if (qualifiers.is_restrict) result += " restrict";
  return result;
}

inline demangled_type nvidia_demangler::type() {
  nesting const level{*this};
  switch (peek()) {
    case 'r':
    case 'V':
    case 'K':
      return qualified_type();
    case 'P':
    case 'R':
    case 'O': {
      std::string_view const declarator = peek() == 'P' ? "*" : peek() == 'R' ? "&" : "&&";
      skip(1);
      demangled_type result = pointer_to(type(), declarator);
      remember(result);
      return result;
    }
    case 'F':
      return function_type({});
    case 'A':
      return array_type();
    case 'M':
      return member_pointer();
    case 'T':
      return template_param_type();
    case 'S':
      return substituted_type();
    case 'N':
    case 'Z':
      return named_type();
    case 'u': {
      skip(1);
      demangled_type result{source_name()};
      remember(result);
      return result;
    }
    case 'D':
      if (peek(1) == 't' || peek(1) == 'T') return decltype_type();
      if (peek(1) == 'o' || peek(1) == 'O') return function_type({});
      if (accept("Dp")) {
        demangled_type result = type();
        if (result.kind == demangled_type::form::function || result.kind == demangled_type::form::array)
          result.left = result.before_declarator();
        result.left += "...";
        result.kind = demangled_type::form::plain;
        result.is_tight = false;
        remember(result);
        return result;
      }
      break;
    default:
      if (is_digit_next()) return named_type();
  }
  for (auto const& [code, text] : builtin_types) {
    if (accept(code)) return demangled_type{std::string{text}};
  }
  fail();
  return {};
}

inline demangled_type nvidia_demangler::qualified_type() {
  cv_qualifiers const cv = qualifiers();
  if (peek() == 'F' || (peek() == 'D' && (peek(1) == 'o' || peek(1) == 'O'))) return function_type(cv);
  demangled_type result = type();
  if (result.kind == demangled_type::form::pointer) {
    if (cv.is_const) result.left += "const ";
    if (cv.is_volatile) result.left += "volatile ";
    if (cv.is_restrict) result.left += "restrict ";
  } else if (result.kind == demangled_type::form::function) {
    result.right += text_of(cv);
  } else if (result.kind == demangled_type::form::plain) {
    if (cv.is_restrict) result.left.insert(0, "restrict ");
    if (cv.is_volatile) result.left.insert(0, "volatile ");
    if (cv.is_const) result.left.insert(0, "const ");
  }
  remember(result);
  return result;
}

/// @param qualifiers of a member function.
inline demangled_type nvidia_demangler::function_type(cv_qualifiers const& qualifiers) {
  std::string exception;
  if (accept("Do")) {
    exception = " noexcept";
  } else if (accept("DO")) {
    exception = " noexcept(" + expression() + ')';
    expect("E");
  }
  expect("F");
  accept("Y");  // extern "C"
  demangled_type result = type();
  std::string right = '(' + parameters() + ')';
  std::string const reference = accept("R") ? " &" : accept("O") ? " &&" : "";
  expect("E");
  result.kind = demangled_type::form::function;
  result.base.clear();
  demangled_type unqualified = result;
  unqualified.right = right + reference + result.right + exception;
  remember(unqualified);
  right += text_of(qualifiers);
  result.right = right + reference + result.right + exception;
  return result;
}

inline demangled_type nvidia_demangler::array_type() {
  skip(1);
  std::string extent;
  if (is_digit_next()) {
    extent = std::to_string(number());
  } else if (peek() != '_') {
    extent = expression();
  }
  expect("_");
  demangled_type result = type();
  result.kind = demangled_type::form::array;
  result.base.clear();
  result.right.insert(0, '[' + extent + ']');
  remember(result);
  return result;
}

inline demangled_type nvidia_demangler::pointer_to(demangled_type target, std::string_view declarator) {
  bool const is_inside = target.kind == demangled_type::form::function || target.kind == demangled_type::form::array;
  target.left = target.before_declarator();
  target.args.clear();
  if (is_inside) {
    target.left += '(';
    target.right.insert(0, 1, ')');
  }
  target.left += declarator;
  target.kind = demangled_type::form::pointer;
  target.is_tight = true;
  target.base.clear();
  return target;
}

inline demangled_type nvidia_demangler::member_pointer() {
  skip(1);
  std::string const owner = type().text();
  demangled_type result = pointer_to(type(), " :: " + owner + "::*");
  remember(result);
  return result;
}

inline demangled_type nvidia_demangler::decltype_type() {
  bool const is_expression = peek(1) == 'T';
  skip(2);
  std::string const operand = expression();
  expect("E");
  demangled_type result{is_expression ? "decltype((" + operand + "))" : "decltype(" + operand + ')'};
  remember(result);
  return result;
}

inline demangled_type nvidia_demangler::named_type() {
  demangled_name entity = name();
  demangled_type result{std::move(entity.text), std::move(entity.base)};
  remember(result);
  return result;
}

inline demangled_type nvidia_demangler::template_param_type() {
  demangled_type result;
  result.left = template_param();
  remember(result);
  if (is_in_conversion_ || !accept("I")) return result;
  result.left += template_args();
  remember(result);
  return result;
}

inline demangled_type nvidia_demangler::substituted_type() {
  if (peek(1) == 't') return named_type();
  demangled_type result = substitution();
  if (!accept("I")) return result;
  (result.is_tight ? result.left : result.args) += template_args();
  remember(result);
  return result;
}

inline std::string nvidia_demangler::template_param() {
  expect("T");
  if (peek() != '_' && !is_digit_next()) fail();
  return 'T' + std::to_string(sequence_number(10) + 1);
}

/// Reads a reference to an earlier part; the part can be longer than the reference.
inline demangled_type nvidia_demangler::substitution() {
  expect("S");
  for (standard_name const& each : standard_names) {
    if (peek() != each.code) continue;
    skip(1);
    return demangled_type{std::string{each.text}, std::string{each.base}, true};
  }
  std::size_t const position = sequence_number(36);
  if (failed_ || position >= substitutions_.size()) {
    fail();
    return {};
  }
  count_copy(substitutions_[position]);
  return substitutions_[position];
}
// NOLINTEND(misc-no-recursion)

}  // namespace PROFKIT_NAMESPACE::detail
