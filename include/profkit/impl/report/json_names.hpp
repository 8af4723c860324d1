// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "../../time.hpp"

// The meaning of the names of `summary_fields.hpp` in `report.json`, for its writer and its reader.

namespace profkit::detail {

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

}  // namespace profkit::detail
