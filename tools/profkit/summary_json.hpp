// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/analyze/summary.hpp>
#include <profkit/analyze/summary_fields.hpp>
#include <profkit/profile/described.hpp>
#include <profkit/profile/error.hpp>
#include <profkit/profile/time.hpp>
#include <profkit/profile/work.hpp>
#include <profkit/report/budget_table.hpp>
#include <profkit/report/verdict_text.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace profkit_program::detail {

/// A value of a document, with the place where it is, for errors.
struct json_place {
  nlohmann::json const* value;
  std::string where;

  /// The value of a key, if it is there and not null.
  [[nodiscard]] std::optional<json_place> find(std::string const& key) const {
    if (!value->is_object()) fail("is not an object");
    auto const found = value->find(key);
    if (found == value->end() || found->is_null()) return std::nullopt;
    return json_place{&*found, (where.back() == ' ' ? where : where + '.') + key};  // "FILE: " is the whole document
  }

  [[noreturn]] void fail(std::string const& what) const { throw profkit::error{where + (where.back() == ' ' ? "" : " ") + what}; }
};

/// Fills a summary from report.json by the description of a summary (`summary_fields.hpp`). What is null, or not there, stays n/a or 0. So
/// does what report.json has in other words: sources of memory, reasons of clocks, what a verdict rests on beside its numbers.
class summary_json_reader {
 public:
  explicit summary_json_reader(json_place document) : document_{std::move(document)} {}

  /// @throws profkit::error that names the place of a value which is not what it has to be.
  [[nodiscard]] profkit::summary read() const {
    profkit::summary result;
    read_members(result, document_, {});
    return result;
  }

 private:
  /// Where the members of a struct are: behind a prefix in an object, but for one with a name of its own.
  struct naming {
    std::string prefix{};
    std::string_view renamed{};  ///< as in `profkit::detail::field`

    [[nodiscard]] std::string key(std::string_view name) const {
      for (std::string_view rest = renamed; !rest.empty(); rest.remove_prefix(std::min(rest.find(',') + 1, rest.size()))) {
        std::string_view const one = rest.substr(0, rest.find(','));
        std::size_t const equals = one.find('=');
        if (one.substr(0, equals) == name) return std::string{one.substr(equals + 1)};
        if (one.size() == rest.size()) break;
      }
      return prefix + std::string{name};
    }
  };

  static bool ends_with(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
  }

  /// @return whether any of them is there.
  template <class T>
  bool read_members(T& into, json_place const& object, naming const& names) const {
    bool is_any = false;
    auto const read_one = [&](auto const& each) { is_any |= read_member(into.*each.member, each.name, each.renamed, object, names); };
    std::apply([&](auto const&... each) { (read_one(each), ...); }, describe(profkit::detail::described_type<T>{}));
    return is_any;
  }

  /// @param name as `summary_fields.hpp` has it.
  template <class Member>
  bool read_member(Member& into, std::string_view name, char const* renamed, json_place const& object, naming const& names) const {
    if (name.front() == '/') {
      std::size_t const last = name.rfind('/');
      std::optional<json_place> place = document_;
      for (std::size_t at = 1; place && at < last; at = name.find('/', at) + 1) {
        place = place->find(std::string{name.substr(at, name.find('/', at) - at)});
      }
      return place && read_member(into, name.substr(last + 1), renamed, *place, {});
    }
    if (name.back() == '*') return read_flat(into, object, {names.prefix + std::string{name.substr(0, name.size() - 1)}, renamed});
    std::string key = names.key(name);
    std::optional<json_place> place = object.find(key);
    if (!place && ends_with(key, "_ms")) place = object.find(key.replace(key.size() - 2, 2, "us"));
    if (!place) return false;
    read_value(into, *place, key);
    return !place->value->is_array() || !place->value->empty();  // lists are there where nothing was measured, too
  }

  template <class T>
  bool read_flat(T& into, json_place const& object, naming const& names) const {
    if constexpr (profkit::detail::is_described<T>) return read_members(into, object, names);
    return false;  // no name of such a member ends with a star
  }
  template <class T>
  bool read_flat(std::optional<T>& into, json_place const& object, naming const& names) const {
    T value{};
    if (!read_flat(value, object, names)) return false;
    into = std::move(value);
    return true;
  }
  bool read_flat(std::array<profkit::milliseconds, profkit::idle_causes>& into, json_place const& object, naming const&) const {
    bool is_any = false;
    for (std::size_t cause = 0; cause < into.size(); ++cause) {
      is_any |= read_member(into[cause], profkit::detail::idle_cause_keys[cause], "", object, {});
    }
    return is_any;
  }

  template <class T>
  void read_value(T& into, json_place const& from, std::string const& key) const {
    if constexpr (std::is_same_v<T, bool>) {
      if (!from.value->is_boolean()) from.fail("is not true or false");
      into = from.value->get<bool>();
    } else if constexpr (std::is_floating_point_v<T>) {
      into = number(from) * unit_of(key);
    } else if constexpr (std::is_unsigned_v<T>) {
      if (!from.value->is_number_unsigned()) from.fail("is not a count");
      into = from.value->get<T>();
    } else if constexpr (std::is_integral_v<T>) {
      if (!from.value->is_number_integer()) from.fail("is not a whole number");
      into = from.value->get<T>();
    } else if constexpr (std::is_enum_v<T>) {
      into = named(text(from), into);
    } else {
      if (!from.value->is_object()) from.fail("is not an object");
      read_members(into, from, {});
    }
  }
  void read_value(std::string& into, json_place const& from, std::string const&) const { into = text(from); }
  void read_value(profkit::milliseconds& into, json_place const& from, std::string const& key) const {
    into = profkit::milliseconds{number(from) / (ends_with(key, "_us") ? 1000.0 : 1.0)};
  }
  void read_value(std::chrono::nanoseconds& into, json_place const& from, std::string const& key) const {
    double const ns = number(from) * (ends_with(key, "_us") || ends_with(key, "_ns_per_scope") ? 1e3 : 1e6);  // the latter of 1000 scopes
    if (!(ns > -9e18 && ns < 9e18)) from.fail("is not a duration");
    into = std::chrono::nanoseconds{static_cast<std::int64_t>(ns)};
  }
  template <class T>
  void read_value(std::optional<T>& into, json_place const& from, std::string const& key) const {
    if (from.value->is_null()) return;  // an element of a list
    read_value(into.emplace(), from, key);
  }
  template <class T>
  void read_value(std::vector<T>& into, json_place const& from, std::string const& key) const {
    if (!from.value->is_array()) from.fail("is not a list");
    for (std::size_t i = 0; i < from.value->size(); ++i) {
      read_value(into.emplace_back(), {&(*from.value)[i], from.where + "[" + std::to_string(i) + "]"}, key);
    }
  }
  void read_value(std::array<profkit::milliseconds, profkit::idle_causes>& into, json_place const& from, std::string const&) const {
    read_flat(into, from, {});
  }
  /// Rates by the names of the precisions.
  void read_value(std::array<std::optional<double>, profkit::precision_count>& into, json_place const& from, std::string const& key) const {
    for (std::size_t i = 1; i < into.size(); ++i) {
      if (auto const place = from.find(profkit::precision_names[i])) read_value(into[i], *place, key);
    }
  }

  static double unit_of(std::string_view key) {
    if (ends_with(key, "_percent")) return 0.01;
    if (key.find("tflops") != std::string_view::npos) return 1e12;
    return key == "gb_per_s" ? 1e9 : 1.0;
  }
  static double number(json_place const& from) {
    if (!from.value->is_number()) from.fail("is not a number");
    return from.value->get<double>();
  }
  static std::string text(json_place const& from) {
    if (!from.value->is_string()) from.fail("is not a text");
    return from.value->get<std::string>();
  }

  static profkit::step_verdict named(std::string const& name, profkit::step_verdict) {
    auto verdict = profkit::step_verdict::too_few;
    for (int i = 0; i <= static_cast<int>(profkit::step_verdict::throttled); ++i) {
      if (name == profkit::verdict_name(static_cast<profkit::step_verdict>(i))) verdict = static_cast<profkit::step_verdict>(i);
    }
    return verdict;
  }
  static profkit::precision named(std::string const& name, profkit::precision) { return profkit::precision_named(name); }
  static profkit::work_bound named(std::string const& name, profkit::work_bound) {
    return name == "memory" ? profkit::work_bound::memory : profkit::work_bound::compute;
  }
  /// Of what report.json has no names for.
  template <class Enum>
  static Enum named(std::string const&, Enum is) {
    return is;
  }

  json_place document_;
};

}  // namespace profkit_program::detail
