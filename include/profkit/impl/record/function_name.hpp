// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "../../version.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// A name that is computed at compile time.
struct function_name {
  static constexpr std::size_t max_length = 127;

  char text[max_length + 1] = {};
  std::size_t length = 0;

  constexpr void add(char const* begin, char const* end) {
    while (begin != end && length < max_length) text[length++] = *begin++;
  }
  constexpr void add(char const* all) {
    while (*all != '\0' && length < max_length) text[length++] = *all++;
  }
};

constexpr bool begins_with(char const* text, char const* with) {
  while (*with != '\0' && *text == *with) {
    ++text;
    ++with;
  }
  return *with == '\0';
}

constexpr bool ends_with(char const* begin, char const* end, char const* with) {
  char const* last = with;
  while (*last != '\0') ++last;
  if (end - begin < last - with) return false;
  return begins_with(end - (last - with), with);
}

constexpr bool opens(char c) { return c == '(' || c == '<' || c == '{' || c == '['; }
constexpr bool closes(char c) { return c == ')' || c == '>' || c == '}' || c == ']'; }

/// The brackets that are open at a position. Inside other brackets, "<" and ">" are operators, as in "enable_if_t<(N > 2), int>".
struct open_brackets {
  int angles = 0;
  int others = 0;

  constexpr bool any() const { return angles != 0 || others != 0; }
  /// Passes a character; backwards, closing brackets open.
  constexpr void pass(char c, bool is_backwards = false) {
    if ((c == '<' || c == '>') && others != 0) return;
    if (is_backwards ? closes(c) : opens(c)) {
      ++(c == '<' || c == '>' ? angles : others);
    } else if (is_backwards ? opens(c) : closes(c)) {
      --(c == '<' || c == '>' ? angles : others);
    }
  }
};

/// @param text must begin with a bracket.
/// @return the position after the matching bracket.
constexpr char const* after_brackets(char const* text) {
  open_brackets open;
  for (; *text != '\0'; ++text) {
    open.pass(*text);
    if (!open.any()) return text + 1;
  }
  return text;
}

/// The beginning of the last part of a qualified name that ends at `end`: after the last "::" or space outside brackets.
constexpr char const* part_before(char const* text, char const* end) {
  open_brackets open;
  for (; end != text; --end) {
    char const c = end[-1];
    if (!open.any() && (opens(c) || c == ':' || c == ' ' || c == '*' || c == '&')) break;
    open.pass(c, true);
  }
  return end;
}

/// The position at which one of three texts begins a part of a qualified name; null if there is none.
/// @param is_function parameters must follow the text.
/// @param is_inside also inside brackets: the name of a function that returns a function pointer, as in "void (*engine::find())(int)".
constexpr char const* find_part(char const* text, char const* first, char const* second, char const* third, bool is_function,
                                bool is_inside = false) {
  char const* const texts[] = {first, second, third};
  open_brackets open;
  for (char const* at = text; *at != '\0'; ++at) {
    bool const is_begin = (is_inside || !open.any()) && (at == text || at[-1] == ' ' || at[-1] == ':' || at[-1] == '*' || at[-1] == '&');
    for (char const* const wanted : texts) {
      if (!is_begin || !begins_with(at, wanted)) continue;
      char const* behind = at;
      for (char const* each = wanted; *each != '\0'; ++each) ++behind;
      if (is_function && *behind == '<') behind = after_brackets(behind);
      if (!is_function || *behind == '(') return at;
    }
    open.pass(*at);
  }
  return nullptr;
}

/// The end of the name, before parameters and qualifiers: the end of "run" in "engine<int>::run() const".
constexpr char const* end_of_name(char const* text, char const* end) {
  char const* const qualifiers[] = {" &&", " &", " volatile", " const"};
  for (char const* qualifier : qualifiers) {
    if (ends_with(text, end, qualifier)) {
      while (*qualifier++ != '\0') --end;
    }
  }
  for (char const bracket : ")>") {
    if (bracket == '\0') break;
    if (end == text || end[-1] != bracket) continue;
    open_brackets open;
    do {
      open.pass(*--end, true);
    } while (open.any() && end != text);
  }
  return end;
}

/// The name that PROF_FUNCTION gives a scope, without template arguments, parameters and outer scopes: "run"; "engine::run" in a class or
/// namespace; "(anonymous)::run" in an unnamed namespace inside another; "engine::run lambda" in a lambda of that function.
/// @param pretty `__PRETTY_FUNCTION__` of g++ or clang++.
/// @param plain `__func__`
constexpr function_name short_function_name(char const* pretty, char const* plain) {
  function_name result;
  char const* begin = find_part(pretty, "<lambda", "(anonymous class)", "(lambda", false);
  bool const is_lambda = begin != nullptr && begins_with(plain, "operator()");
  char const* end = begin;
  if (is_lambda) {
    if (end - pretty >= 2 && end[-1] == ':') end -= 2;
    end = end_of_name(pretty, end);
    begin = part_before(pretty, end);
  } else {
    begin = find_part(pretty, plain, plain, plain, true);
    if (begin == nullptr) begin = find_part(pretty, plain, plain, plain, true, true);
    if (begin != nullptr) {
      end = begin;
      for (char const* each = plain; *each != '\0'; ++each) ++end;
    }
  }
  if (begin == nullptr) {  // an unknown spelling
    result.add(plain);
    return result;
  }
  if (begin - pretty >= 2 && begin[-1] == ':') {
    char const* const outer_end = begin - 2;
    char const* const outer = part_before(pretty, outer_end);
    char const* shown_end = outer;
    while (shown_end != outer_end && *shown_end != '<' && *shown_end != '(') ++shown_end;
    if (ends_with(pretty, outer_end, "::{anonymous}") || ends_with(pretty, outer_end, "::(anonymous namespace)")) {
      result.add("(anonymous)::");
    } else if (shown_end != outer && !opens(*outer)) {
      result.add(outer, shown_end);
      result.add("::");
    }
  }
  result.add(begin, end);
  if (is_lambda) result.add(result.length == 0 ? "lambda" : " lambda");
  return result;
}

}  // namespace PROFKIT_NAMESPACE::detail
