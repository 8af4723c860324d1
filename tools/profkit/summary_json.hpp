// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/error.hpp>
#include <profkit/impl/analyze/summary_fields.hpp>
#include <profkit/impl/profile/flat_records.hpp>
#include <profkit/impl/profile/path_table.hpp>
#include <profkit/impl/report/headline.hpp>
#include <profkit/impl/report/json_text.hpp>
#include <profkit/impl/report/report_view.hpp>
#include <profkit/summary.hpp>
#include <profkit/time.hpp>
#include <profkit/work.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace profkit_program::detail {

/// A value of a document, with its place for error messages.
struct json_place {
  nlohmann::json const* value;
  std::string where;

  /// The value of a key, if it exists and is not null.
  [[nodiscard]] std::optional<json_place> find(std::string const& key) const {
    if (!value->is_object()) fail("is not an object");
    auto const found = value->find(key);
    if (found == value->end() || found->is_null()) return std::nullopt;
    return json_place{&*found, (where.back() == ' ' ? where : where + '.') + key};  // "FILE: " is the whole document
  }

  [[noreturn]] void fail(std::string const& what) const { throw profkit::error{where + (where.back() == ' ' ? "" : " ") + what}; }
};

/// Fills a summary from report.json by the description of a summary (`summary_fields.hpp`). Members that are null, missing, or only in the
/// document as words (reasons of clocks, reasons of verdicts) stay n/a or 0.
class summary_json_reader {
 public:
  explicit summary_json_reader(json_place document) : document_{std::move(document)} {}

  /// @throws profkit::error that names the place of an invalid value.
  [[nodiscard]] profkit::summary read() const {
    profkit::summary result;
    read_members(result, document_, {});
    for (profkit::scope_summary const& row : result.scopes) {
      if (row.depth >= profkit::detail::path_table::max_depth_in_files) {
        document_.fail("scopes are nested more than " + std::to_string(profkit::detail::path_table::max_depth_in_files) +
                       " levels deep, which is the limit");
      }
    }
    find_parents(result.scopes);
    return result;
  }

 private:
  using naming = profkit::detail::json_naming;

  /// @return whether any of the members exists.
  template <class T>
  bool read_members(T& into, json_place const& object, naming const& names) const {
    bool is_any = false;
    auto const read_one = [&](auto const& each) { is_any |= read_member(into.*each.member, each.name, each.shown, object, names); };
    profkit::detail::described_fields<T>.for_each(read_one);
    return is_any;
  }

  /// @param described the name in `summary_fields.hpp`.
  template <class Member>
  bool read_member(Member& into, std::string_view described, char const* shown, json_place const& object, naming const& names) const {
    profkit::detail::json_name const name{described};
    if (name.is_hidden) return false;
    std::optional<json_place> place = name.is_absolute ? document_ : object;
    for (std::string_view rest = name.object; place && !rest.empty();) {
      place = place->find(std::string{profkit::detail::next_part(rest, '/')});
    }
    naming const here = name.is_absolute ? naming{} : names;
    if (place && name.is_flat) return read_flat(into, *place, {here.prefix + std::string{name.key}, shown});
    std::optional<std::string> const key = here.key_of(name.key);
    if (place && key) place = place->find(*key);
    if (!place || !key) return false;
    read_value(into, *place, *key);
    return !place->value->is_array() || !place->value->empty();  // lists exist even if nothing was measured
  }

  template <class T>
  bool read_flat(T& into, json_place const& object, naming const& names) const {
    if constexpr (profkit::detail::is_described<T>) return read_members(into, object, names);
    return false;  // names of such members never end with a star
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
      into = truth(from, key);
    } else if constexpr (std::is_floating_point_v<T>) {
      into = profkit::detail::number_unit(key).read(number(from));
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
  static void read_value(profkit::rank_timeline&, json_place const&, std::string const&) {}  // is hidden
  void read_value(profkit::milliseconds& into, json_place const& from, std::string const& key) const {
    into = profkit::milliseconds{profkit::detail::milliseconds_unit(key).read(number(from))};
  }
  void read_value(std::chrono::nanoseconds& into, json_place const& from, std::string const& key) const {
    double const ns = profkit::detail::nanoseconds_unit(key).read(number(from));
    if (!(ns > -9e18 && ns < 9e18)) from.fail("is not a duration");
    into = std::chrono::nanoseconds{std::llround(ns)};
  }
  void read_value(profkit::budget_summary& into, json_place const& from, std::string const&) const {
    if (!from.value->is_object()) from.fail("is not an object");
    read_members(into, from, {});
    auto const idle = from.find("gpu_idle");
    into.has_launches = !idle || idle->find(profkit::detail::idle_cause_keys[0]).has_value();
  }
  template <class T>
  void read_value(std::optional<T>& into, json_place const& from, std::string const& key) const {
    if (from.value->is_null()) return;  // an element of a list
    read_value(into.emplace(), from, key);
  }
  template <class T>
  void read_value(profkit::detail::own_vector<T>& into, json_place const& from, std::string const& key) const {
    if (!from.value->is_array()) from.fail("is not a list");
    for (std::size_t i = 0; i < from.value->size(); ++i) {
      read_value(into.emplace_back(), {&(*from.value)[i], from.where + "[" + std::to_string(i) + "]"}, key);
    }
  }
  /// Memory by source and quantity.
  void read_value(profkit::detail::own_vector<profkit::memory_summary>& into, json_place const& from, std::string const& key) const {
    if (!from.value->is_object()) from.fail("is not an object");
    for (auto const& [source, quantities] : from.value->items()) {
      json_place const place{&quantities, from.where + '.' + source};
      if (!quantities.is_object()) place.fail("is not an object");
      for (auto const& [quantity, figures] : quantities.items()) {
        read_value(into.emplace_back(), {&figures, place.where + '.' + quantity}, key);
        into.back().source = source;
        into.back().quantity = quantity;
      }
    }
  }
  void read_value(std::array<profkit::milliseconds, profkit::idle_causes>& into, json_place const& from, std::string const&) const {
    read_flat(into, from, {});
  }
  /// Rates by precision.
  void read_value(std::array<std::optional<double>, profkit::precision_count>& into, json_place const& from, std::string const& key) const {
    for (std::size_t i = 1; i < into.size(); ++i) {
      if (auto const place = from.find(profkit::precision_names[i])) read_value(into[i], *place, key);
    }
  }

  /// The rows are depth first.
  static void find_parents(profkit::detail::own_vector<profkit::scope_summary>& rows) {
    profkit::detail::own_vector<std::size_t> around;  // the last row of each depth
    for (std::size_t i = 0; i < rows.size(); ++i) {
      around.resize(std::min<std::size_t>(around.size(), rows[i].depth));
      if (!around.empty()) rows[i].parent = around.back();
      around.push_back(i);
    }
  }

  static bool truth(json_place const& from, std::string_view key) {
    profkit::detail::json_words const* const words = profkit::detail::words_of(key);
    if (words != nullptr) return text(from) != words->if_false;
    if (!from.value->is_boolean()) from.fail("is not true or false");
    return from.value->get<bool>();
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
    for (int i = 0; i <= static_cast<int>(profkit::step_verdict::uneven); ++i) {
      if (name == profkit::verdict_name(static_cast<profkit::step_verdict>(i))) verdict = static_cast<profkit::step_verdict>(i);
    }
    return verdict;
  }
  static profkit::series_shape named(std::string const& name, profkit::series_shape) {
    auto shape = profkit::series_shape::too_short;
    for (int i = 0; i <= static_cast<int>(profkit::series_shape::tailed); ++i) {
      if (name == profkit::shape_name(static_cast<profkit::series_shape>(i))) shape = static_cast<profkit::series_shape>(i);
    }
    return shape;
  }
  static profkit::precision named(std::string const& name, profkit::precision) { return profkit::precision_named(name); }
  static profkit::work_bound named(std::string const& name, profkit::work_bound) {
    return name == "memory" ? profkit::work_bound::memory : profkit::work_bound::compute;
  }
  /// Members that have no names in report.json.
  template <class Enum>
  static Enum named(std::string const&, Enum is) {
    return is;
  }

  json_place document_;
};

}  // namespace profkit_program::detail
