// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "nvidia_demangler.hpp"

namespace PROFKIT_NAMESPACE::detail {

// NOLINTBEGIN(misc-no-recursion): limited by `nesting` to `max_depth` levels
struct operator_spelling {
  std::string_view code;
  std::string_view text;
  int operands;  ///< number of operands in an expression; 0: another form
};

/// Source: Itanium C++ ABI, 5.1.3.
inline constexpr std::array<operator_spelling, 50> operator_spellings{{
    {"nw", "new ", 0}, {"na", "new[] ", 0}, {"dl", "delete ", 0}, {"da", "delete[] ", 0}, {"aw", "co_await", 0}, {"ps", "+", 1},
    {"ng", "-", 1},    {"ad", "&", 1},      {"de", "*", 1},       {"co", "~", 1},         {"pl", "+", 2},        {"mi", "-", 2},
    {"ml", "*", 2},    {"dv", "/", 2},      {"rm", "%", 2},       {"an", "&", 2},         {"or", "|", 2},        {"eo", "^", 2},
    {"aS", "=", 2},    {"pL", "+=", 2},     {"mI", "-=", 2},      {"mL", "*=", 2},        {"dV", "/=", 2},       {"rM", "%=", 2},
    {"aN", "&=", 2},   {"oR", "|=", 2},     {"eO", "^=", 2},      {"ls", "<<", 2},        {"rs", ">>", 2},       {"lS", "<<=", 2},
    {"rS", ">>=", 2},  {"eq", "==", 2},     {"ne", "!=", 2},      {"lt", "<", 2},         {"gt", ">", 2},        {"le", "<=", 2},
    {"ge", ">=", 2},   {"ss", "<=>", 2},    {"nt", "!", 1},       {"aa", "&&", 2},        {"oo", "||", 2},       {"pp", "++", 0},
    {"mm", "--", 0},   {"cm", ",", 2},      {"pm", "->*", 2},     {"pt", "->", 0},        {"cl", "()", 0},       {"ix", "[]", 0},
    {"qu", "?", 0},    {"ds", ".*", 2},
}};

inline operator_spelling const* find_operator(std::string_view code) {
  for (operator_spelling const& each : operator_spellings) {
    if (each.code == code) return &each;
  }
  return nullptr;
}

inline std::size_t nvidia_demangler::number() {
  std::size_t result = 0;
  if (!is_digit_next()) fail();
  while (is_digit_next()) {
    if (result > std::numeric_limits<std::size_t>::max() / 100) {
      fail();
      return 0;
    }
    result = result * 10 + static_cast<std::size_t>(peek() - '0');
    skip(1);
  }
  return result;
}

/// `_` is 0, `0_` is 1, ...; in the given base up to 36.
inline std::size_t nvidia_demangler::sequence_number(std::size_t base) {
  if (accept("_")) return 0;
  std::size_t result = 0;
  while (!accept("_")) {
    char const digit = peek();
    std::size_t value = base;
    if (digit >= '0' && digit <= '9') value = static_cast<std::size_t>(digit - '0');
    if (digit >= 'A' && digit <= 'Z') value = static_cast<std::size_t>(digit - 'A') + 10;
    if (value >= base || result > std::numeric_limits<std::uint32_t>::max()) {
      fail();
      return 0;
    }
    result = result * base + value;
    skip(1);
  }
  return result + 1;
}

/// The discriminator of entities with one name in a function: 0 for the first entity, which has none.
inline std::size_t nvidia_demangler::discriminator() {
  if (accept("__")) {
    std::size_t const result = number() + 1;
    expect("_");
    return result;
  }
  if (peek() != '_' || peek(1) < '0' || peek(1) > '9') return 0;
  std::size_t const result = static_cast<std::size_t>(peek(1) - '0') + 1;
  skip(2);
  return result;
}

/// Reads a function with its parameters, or the name of an object.
/// @param is_literal true: print only the name of a function, as in a template argument.
inline std::string nvidia_demangler::encoding(bool is_literal) {
  nesting const level{*this};
  demangled_name const entity = name();
  if (rest_.empty() || peek() == 'E') return entity.text + entity.suffix;
  std::string result;
  if (entity.has_template_args && !entity.is_structor && !entity.is_conversion) result = type().text() + ' ';
  std::string const taken = parameters();
  if (is_literal) return entity.text + entity.qualifiers + entity.suffix;
  return result + entity.text + '(' + taken + ')' + entity.qualifiers + entity.suffix;
}

/// Reads the parameters up to the end of the function type. An empty list is encoded as `void`.
inline std::string nvidia_demangler::parameters() {
  if (peek() == 'v' && (peek(1) == 'E' || peek(1) == '\0' || peek(1) == 'R' || peek(1) == 'O')) {
    skip(1);
    return {};
  }
  if (rest_.empty() || peek() == 'E') fail();
  std::string result;
  while (!rest_.empty() && peek() != 'E' && !((peek() == 'R' || peek() == 'O') && peek(1) == 'E')) {
    if (!result.empty()) result += ", ";
    result += type().text();
  }
  return result;
}

inline demangled_name nvidia_demangler::name() {
  nesting const level{*this};
  if (accept("N")) return nested_name();
  if (accept("Z")) return local_name();
  demangled_name result;
  if (peek() == 'S' && peek(1) != 't') {
    demangled_type known = substitution();
    result.text = known.text();
    result.base = std::move(known.base);
  } else {
    if (accept("St")) result.text = "std";
    add_component(result);
    if (peek() == 'I') remember(demangled_type{result.text, result.base, true});
  }
  if (accept("I")) {
    result.text += template_args();
    result.has_template_args = true;
  }
  return result;
}

/// Reads a nested name after its `N`.
inline demangled_name nvidia_demangler::nested_name() {
  demangled_name result;
  cv_qualifiers const cv = qualifiers();
  std::string_view const reference = accept("R") ? " &" : accept("O") ? " &&" : "";
  bool is_first = true;
  while (!failed_ && !accept("E")) {
    bool is_known = false;
    if (accept("I")) {
      if (is_first || result.has_template_args) fail();
      result.text += template_args();
      result.has_template_args = true;
    } else if (is_first && peek() == 'S' && peek(1) == 't') {
      skip(2);
      result.text = "std";
      is_known = true;
    } else if (is_first && (peek() == 'S' || peek() == 'T' || (peek() == 'D' && (peek(1) == 't' || peek(1) == 'T')))) {
      is_known = peek() == 'S';
      demangled_type prefix;
      if (peek() == 'D') {
        prefix = decltype_type();
      } else if (peek() == 'T') {
        prefix.left = template_param();
      } else {
        prefix = substitution();
      }
      result.text = prefix.text();
      result.base = std::move(prefix.base);
    } else {
      add_component(result);
    }
    is_first = false;
    // The caller remembers the complete name if it is a type; functions are not remembered.
    if (!is_known && peek() != 'E') remember(demangled_type{result.text, result.base, true});
    accept("M");  // an initialiser with a lambda
  }
  if (is_first) fail();
  result.qualifiers = text_of(cv);
  result.qualifiers += reference;
  return result;
}

/// Reads an entity declared in a function, after its `Z`.
inline demangled_name nvidia_demangler::local_name() {
  std::string outer = encoding(false);
  expect("E");
  demangled_name result;
  if (accept("s")) {
    result.text = "string";
  } else {
    if (accept("d")) outer += "::[default argument " + std::to_string(sequence_number(10) + 1) + " (from end)]";
    result = name();
  }
  std::size_t const earlier = discriminator();
  if (earlier > 0) result.text += " (instance " + std::to_string(earlier + 1) + ')';
  result.text = outer + "::" + result.text;
  return result;
}

/// Reads an unqualified name and appends it to the scope in `to`.
inline void nvidia_demangler::add_component(demangled_name& to) {
  to.has_template_args = to.is_conversion = to.is_structor = false;
  to.suffix.clear();
  std::string part;
  if (is_digit_next()) {
    part = source_name();
    to.base = part;
  } else if (accept("Ul")) {
    part = "[lambda(" + parameters() + ") (instance ";
    expect("E");
    part += std::to_string(sequence_number(10) + 1) + ")]";
    to.base = part;
  } else if (accept("Ut")) {
    part = "[unnamed type (instance " + std::to_string(sequence_number(10) + 1) + ")]";
    to.base = part;
  } else if (peek() == 'C' || peek() == 'D') {
    part = structor_name(to);
  } else {
    part = operator_name(to);
  }
  part += abi_tags();
  if (!to.text.empty() && !part.empty()) to.text += "::";
  to.text += part;
}

inline std::string nvidia_demangler::source_name() {
  std::size_t const length = number();
  if (length == 0 || length > rest_.size()) {
    fail();
    return {};
  }
  std::string_view const text = rest_.substr(0, length);
  skip(length);
  if (text.substr(0, 11) == "_GLOBAL__N_") return "<unnamed>";
  if (text.substr(0, 9) == "_INTERNAL") return {};  // nvcc's namespace of a translation unit
  return std::string{text};
}

inline std::string nvidia_demangler::operator_name(demangled_name& entity) {
  if (accept("cv")) {
    entity.is_conversion = true;
    bool const before = std::exchange(is_in_conversion_, true);
    std::string result = "operator " + type().text();
    is_in_conversion_ = before;
    return result;
  }
  if (accept("li")) return "operator \"\"" + source_name();
  operator_spelling const* const found = find_operator(rest_.substr(0, 2));
  if (found == nullptr) {
    fail();
    return {};
  }
  skip(2);
  return "operator " + std::string{found->text};
}

inline std::string nvidia_demangler::structor_name(demangled_name& entity) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kinds{
      {{"C1", ""}, {"C2", " [subobject]"}, {"C3", " [allocating]"}, {"D0", " [deleting]"}, {"D1", ""}, {"D2", " [subobject]"}}};
  for (auto const& [code, suffix] : kinds) {
    if (entity.base.empty() || !accept(code)) continue;
    entity.is_structor = true;
    entity.suffix = suffix;
    return (code[0] == 'D' ? "~" : "") + entity.base;
  }
  fail();
  return {};
}

inline std::string nvidia_demangler::abi_tags() {
  std::string result;
  while (accept("B")) result += (result.empty() ? "[abi:" : ",") + source_name();
  return result.empty() ? result : result + ']';
}

/// Reads template arguments after their `I` or `J`.
inline std::string nvidia_demangler::template_args() {
  bool const before = std::exchange(is_in_conversion_, false);
  std::string result = "<";
  for (bool is_first = true; !failed_ && !accept("E"); is_first = false) {
    if (!is_first) result += ", ";
    result += template_arg();
    if (rest_.empty()) fail();
  }
  is_in_conversion_ = before;
  return result + '>';
}

inline std::string nvidia_demangler::template_arg() {
  nesting const level{*this};
  if (accept("X")) {
    std::string result = expression();
    expect("E");
    return result;
  }
  if (peek() == 'L') return literal();
  if (!accept("J")) return type().text();
  std::string const pack = template_args();
  return pack.empty() ? pack : pack.substr(1, pack.size() - 2);
}
// NOLINTEND(misc-no-recursion)

}  // namespace PROFKIT_NAMESPACE::detail
