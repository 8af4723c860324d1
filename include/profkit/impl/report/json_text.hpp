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

#include "../../time.hpp"
#include "../profile/numbers.hpp"
#include "../profile/own_containers.hpp"
#include "shown_text.hpp"

// The meaning of the names of `summary_fields.hpp` in `report.json`, for its writer and its reader.

namespace PROFKIT_NAMESPACE::detail {

/// The parsed name of a described member.
struct json_name {
  explicit constexpr json_name(std::string_view described) : key{described} {
    if (key.front() == '/') {
      std::size_t const last = key.rfind('/');
      object = key.substr(1, last == 0 ? 0 : last - 1);
      is_absolute = true;
      key.remove_prefix(last + 1);
    }
    is_hidden = key.front() == '-';
    is_flat = key.back() == '*';
    is_null_if_empty = key.back() == '?';
    is_left_out_if_empty = key.back() == '!';
    if (is_flat || is_null_if_empty || is_left_out_if_empty) key.remove_suffix(1);
  }

  std::string_view key;
  std::string_view object{};  ///< the objects from the top of the document, such as "quality/overhead"
  bool is_absolute = false;   ///< `object` is given
  bool is_hidden = false;     ///< the member is not in the document
  bool is_flat = false;       ///< its members are in this object, after `key`
  bool is_null_if_empty = false;
  bool is_left_out_if_empty = false;
};

/// Removes and returns the part of a list up to the separator.
inline std::string_view next_part(std::string_view& list, char separator) {
  std::string_view const part = list.substr(0, list.find(separator));
  list.remove_prefix(std::min(part.size() + 1, list.size()));
  return part;
}

/// Selects the members of a struct that are in an object, and their keys.
struct json_naming {
  std::string prefix{};
  std::string_view shown{};  ///< as in `field`

  /// @return nothing if the member is not in the object.
  [[nodiscard]] std::optional<std::string> key_of(std::string_view name) const {
    if (shown.empty()) return prefix + std::string{name};
    for (std::string_view rest = shown; !rest.empty();) {
      std::string_view key = next_part(rest, ',');
      if (next_part(key, '=') != name) continue;
      return key.empty() ? prefix + std::string{name} : std::string{key};
    }
    return std::nullopt;
  }
};

inline bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

/// The unit of a number: the document contains the number times `factor` divided by `divisor`.
struct json_unit {
  double factor = 1.0;
  double divisor = 1.0;

  [[nodiscard]] double written(double value) const { return value * factor / divisor; }
  [[nodiscard]] double read(double value) const { return value * divisor / factor; }
};

inline json_unit number_unit(std::string_view key) {
  if (ends_with(key, "_percent")) return {100.0, 1.0};
  if (key.find("tflops") != std::string_view::npos) return {1.0, 1e12};
  return {1.0, ends_with(key, "gb_per_s") ? 1e9 : 1.0};
}
inline json_unit milliseconds_unit(std::string_view key) { return {ends_with(key, "_us") ? 1e3 : 1.0, 1.0}; }
/// If the key ends in "_ns_per_scope", the member is the duration of 1000 scopes.
inline json_unit nanoseconds_unit(std::string_view key) {
  return {1.0, ends_with(key, "_us") || ends_with(key, "_ns_per_scope") ? 1e3 : 1e6};
}

/// A boolean that the document contains as words.
struct json_words {
  std::string_view key;
  std::string_view if_false;
  std::string_view if_true;
};
inline constexpr json_words truths_in_words[] = {{"covers", "session", "measured steps"},
                                                 {"by", "host step time", "GPU step time"},
                                                 {"wall_of", "host step time", "GPU step time (kernels)"}};

/// @return null if the key has true or false.
inline json_words const* words_of(std::string_view key) {
  for (json_words const& each : truths_in_words) {
    if (each.key == key) return &each;
  }
  return nullptr;
}

// JSON (RFC 8259) as text: values, objects and lists, indented by their depth in the document.

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
    auto from = find(key);
    auto const to = find(other);
    if (from == members_.end() || to == members_.end()) return;
    for (; from < to; ++from) std::iter_swap(from, from + 1);
    for (; from > to + 1; --from) std::iter_swap(from, from - 1);
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

}  // namespace PROFKIT_NAMESPACE::detail
