// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "../profile/finite.hpp"
#include "shown_text.hpp"

namespace profkit::detail {

/// Quoted and escaped as RFC 8259 asks; bytes that are not UTF-8 become U+FFFD.
inline std::string json_string(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    std::size_t const length = utf8_sequence(text);
    char const c = text.front();
    if (length == 0) {
      result += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20U) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result + "\"";
}

/// Writes a JSON document from front to back. The caller keeps `begin` and `end` in pairs and gives keys inside objects.
class json_writer {
 public:
  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }

  void key(std::string_view name) {
    separate();
    text_ += json_string(name) + ": ";
    is_after_key_ = true;
  }

  void value(std::string_view text) { put(json_string(text)); }
  void value(char const* text) { put(json_string(text)); }
  void value(bool truth) { put(truth ? "true" : "false"); }
  void value(std::nullopt_t) { put("null"); }
  /// What is not a number becomes null: JSON has no infinity.
  void value(double number) { put(is_finite(number) ? fmt::format("{}", number) : "null"); }
  template <class Integer, std::enable_if_t<std::is_integral_v<Integer> && !std::is_same_v<Integer, bool>, int> = 0>
  void value(Integer number) {
    put(fmt::format("{}", number));
  }
  template <class T>
  void value(std::optional<T> const& number) {
    if (number) {
      value(*number);
    } else {
      value(std::nullopt);
    }
  }

  template <class T>
  void member(std::string_view name, T const& content) {
    key(name);
    value(content);
  }

  [[nodiscard]] std::string take() && { return std::move(text_) + "\n"; }

 private:
  void open(char bracket) {
    separate();
    text_ += bracket;
    ++depth_;
    is_first_ = true;
    is_after_key_ = false;
  }

  void close(char bracket) {
    --depth_;
    if (!is_first_) new_line();
    text_ += bracket;
    is_first_ = false;
  }

  void put(std::string const& literal) {
    separate();
    text_ += literal;
    is_after_key_ = false;
  }

  void separate() {
    if (is_after_key_) return;
    if (!is_first_) text_ += ',';
    if (depth_ > 0) new_line();
    is_first_ = false;
  }

  void new_line() { text_ += "\n" + std::string(2 * depth_, ' '); }

  std::string text_;
  std::size_t depth_ = 0;
  bool is_first_ = true;
  bool is_after_key_ = false;
};

/// An array of objects, or null.
template <class List, class Write>
void write_list(json_writer& json, char const* name, List const* list, Write&& write) {
  json.key(name);
  if (list == nullptr) {
    json.value(std::nullopt);
    return;
  }
  json.begin_array();
  for (auto const& each : *list) {
    json.begin_object();
    write(each);
    json.end_object();
  }
  json.end_array();
}

}  // namespace profkit::detail
