// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "../profile/finite.hpp"
#include "../profile/own_containers.hpp"
#include "shown_text.hpp"

// JSON (RFC 8259) as text: values, objects and lists, indented by their depth in the document.

namespace profkit::detail {

/// Quotes and escapes a text. Bytes that are not UTF-8 become U+FFFD.
inline own_string json_string(std::string_view text) {
  auto const is_plain = [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; };
  own_string result = "\"";
  while (!text.empty()) {
    std::size_t length = static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_plain) - text.begin());
    char const c = text.front();
    if (length == 0) length = utf8_sequence(text);
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

inline own_string json_value(std::string_view text) { return json_string(text); }
inline own_string json_value(char const* text) { return json_string(text); }
inline own_string json_value(std::string const& text) { return json_string(text); }
inline own_string json_value(bool truth) { return truth ? "true" : "false"; }
inline own_string json_value(std::nullopt_t) { return "null"; }
/// NaN and infinity become null, because JSON has neither.
inline own_string json_value(double number) { return is_finite(number) ? fmt::format("{}", number) : "null"; }
template <class Integer, std::enable_if_t<std::is_integral_v<Integer> && !std::is_same_v<Integer, bool>, int> = 0>
own_string json_value(Integer number) {
  return fmt::format("{}", number);
}
template <class T>
own_string json_value(std::optional<T> const& value) {
  return value ? json_value(*value) : json_value(std::nullopt);
}

/// Adds an element on its own line to the text of an object or a list.
inline void add_json_line(own_string& text, std::size_t depth, std::string_view line) {
  if (text.back() != '{' && text.back() != '[') text += ',';
  text += '\n';
  text.append(2 * (depth + 1), ' ');
  text += line;
}

/// Ends the text of an object or a list.
inline void close_json(own_string& text, std::size_t depth, char bracket) {
  if (text.back() != '{' && text.back() != '[') {
    text += '\n';
    text.append(2 * depth, ' ');
  }
  text += bracket;
}

/// A list of values, or of objects one level deeper.
class json_list {
 public:
  explicit json_list(std::size_t depth) : depth_{depth} {}

  void add(std::string_view value) { add_json_line(text_, depth_, value); }

  [[nodiscard]] own_string take() && {
    close_json(text_, depth_, ']');
    return std::move(text_);
  }

 private:
  std::size_t depth_;
  own_string text_ = "[";
};

/// An object with its members in insertion order.
class json_object {
 public:
  /// @param depth 0 for the document.
  explicit json_object(std::size_t depth = 0) : depth_{depth} {}

  [[nodiscard]] std::size_t depth() const noexcept { return depth_; }

  /// @param value JSON; a list or an object must be one level deeper than this object.
  void add(std::string_view key, own_string value) { members_.push_back({std::string{key}, std::move(value), nullptr}); }

  /// The member object with this key; created if missing.
  /// @param is_known false: a new object stays null until a call with true.
  json_object& object(std::string_view key, bool is_known = true) {
    json_object*& found = objects_[std::string{key}];
    if (found == nullptr) {
      members_.push_back({std::string{key}, {}, std::make_unique<json_object>(depth_ + 1)});
      found = members_.back().object.get();
      found->is_null_ = true;
    }
    if (is_known) found->is_null_ = false;
    return *found;
  }

  /// Moves a member after another one.
  void move_behind(std::string_view key, std::string_view other) {
    auto const from = find(key);
    auto const to = find(other);
    if (from == members_.end() || to == members_.end()) return;
    if (from < to) {
      std::rotate(from, from + 1, to + 1);
    } else {
      std::rotate(to + 1, from, from + 1);
    }
  }

  [[nodiscard]] own_string text() const {
    own_string result;
    result.reserve(length());
    add_to(result);
    return result;
  }

 private:
  struct member {
    std::string key;
    own_string value;
    std::unique_ptr<json_object> object;  ///< the value, if it is an object
  };

  // NOLINTNEXTLINE(misc-no-recursion): objects are nested as the members of a summary are, a few levels
  void add_to(own_string& text) const {
    if (is_null_) {
      text += "null";
      return;
    }
    text += '{';
    for (member const& each : members_) {
      add_json_line(text, depth_, json_string(each.key));
      text += ": ";
      if (each.object == nullptr) {
        text += each.value;
      } else {
        each.object->add_to(text);
      }
    }
    close_json(text, depth_, '}');
  }

  /// Estimated length of the text, ignoring escaped characters in keys.
  // NOLINTNEXTLINE(misc-no-recursion): like `add_to`
  [[nodiscard]] std::size_t length() const {
    std::size_t result = 2 * depth_ + 4;
    for (member const& each : members_) {
      result += each.key.size() + each.value.size() + 2 * depth_ + 8 + (each.object == nullptr ? 0 : each.object->length());
    }
    return result;
  }

  own_vector<member>::iterator find(std::string_view key) {
    return std::find_if(members_.begin(), members_.end(), [&](member const& each) { return each.key == key; });
  }

  std::size_t depth_;
  bool is_null_ = false;
  own_vector<member> members_;
  own_hash_map<std::string, json_object*> objects_;  ///< the members that are objects, by key
};

}  // namespace profkit::detail
