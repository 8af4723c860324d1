// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../summary.hpp"
#include "../../time.hpp"
#include "../../version.hpp"
#include "../../work.hpp"
#include "../analyze/readings.hpp"
#include "../analyze/summary_fields.hpp"
#include "../profile/flat_records.hpp"
#include "../profile/own_memory.hpp"
#include "headline.hpp"
#include "json_text.hpp"
#include "report_view.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Grows when a field of `report.json` changes its meaning or is removed.
inline constexpr std::uint32_t report_json_schema = 1;
/// Grows when fields are added.
inline constexpr std::uint32_t report_json_schema_minor = 4;

/// Adds the first members of `report.json`: its schema, the library that wrote it, and what `read_report_head` reads.
/// @param process_id of the process that was measured; 0: several processes, or unknown.
/// @param files the files of the folder that belong to the report.
inline void add_json_schema(json_object& document, std::uint64_t process_id = 0, std::vector<std::string> const& files = {}) {
  document.add("schema", json_value(report_json_schema));
  document.add("schema_minor", json_value(report_json_schema_minor));
  json_object& own = document.object("profkit");
  own.add("version", json_value(version));
  own.add("process_id", process_id == 0 ? json_value(std::nullopt) : json_value(process_id));
  json_list names{own.depth() + 1};
  for (std::string const& name : files) names.add(json_string(name));
  own.add("files", std::move(names).take());
}

// A description of all types of a summary as tables, so that functions without template parameters can write them.

struct json_type;

struct json_member {
  char const* name;  ///< as in `field`
  char const* shown;
  json_type const* type;
  void const* (*in)(void const* object) = nullptr;  ///< its place in an object
};

/// Values of one type, one after the other.
struct json_values {
  void const* first = nullptr;
  std::size_t count = 0;
};

/// How values of a type are in the document.
struct json_type {
  enum class form : std::uint8_t { nothing, value, object, optional, list, idle_times, rates, memory } is = form::nothing;
  own_string (*text)(void const* value, std::string_view key) = nullptr;  ///< of a value
  bool (*is_empty)(void const* value) = nullptr;                          ///< null: never
  json_values (*values)(void const* value) = nullptr;                     ///< in an optional value or a list
  json_type const* element = nullptr;                                     ///< the type of these
  std::size_t element_bytes = 0;
  json_member const* members = nullptr;  ///< of an object
  std::size_t member_count = 0;
};

template <class T>
constexpr json_type json_type_for(described_type<T>);

template <class T>
inline constexpr json_type json_type_of = json_type_for(described_type<T>{});

template <class T, std::size_t Position>
void const* json_member_in(void const* object) {
  constexpr auto member = field_at<Position>(described_fields<T>).member;
  return &(static_cast<T const*>(object)->*member);
}

template <class Struct, class Member>
constexpr json_member json_member_of(field<Struct, Member> const& described, void const* (*in)(void const*)) {
  return {described.name, described.shown, &json_type_of<Member>, in};
}

template <class T, std::size_t... Positions>
constexpr std::array<json_member, sizeof...(Positions)> json_members_of(std::index_sequence<Positions...>) {
  return {json_member_of(field_at<Positions>(described_fields<T>), &json_member_in<T, Positions>)...};
}

template <class T>
inline constexpr auto json_members = json_members_of<T>(std::make_index_sequence<decltype(described_fields<T>)::size>{});

template <class T>
own_string json_text(T const& value, std::string_view key) {
  if constexpr (std::is_floating_point_v<T>) {
    return json_value(number_unit(key).written(value));
  } else if constexpr (std::is_enum_v<T>) {
    return json_value(std::nullopt);  // not in the document
  } else {
    return json_value(value);
  }
}
inline own_string json_text(milliseconds value, std::string_view key) { return json_value(milliseconds_unit(key).written(value.count())); }
inline own_string json_text(std::chrono::nanoseconds value, std::string_view key) {
  return json_value(nanoseconds_unit(key).written(static_cast<double>(value.count())));
}
inline own_string json_text(bool value, std::string_view key) {
  json_words const* const words = words_of(key);
  return words == nullptr ? json_value(value) : json_value(value ? words->if_true : words->if_false);
}
inline own_string json_text(step_verdict value, std::string_view) { return json_value(verdict_name(value)); }
inline own_string json_text(series_shape value, std::string_view) { return json_value(shape_name(value)); }
inline own_string json_text(precision value, std::string_view) { return json_value(name_of(value)); }
inline own_string json_text(work_bound value, std::string_view) { return json_value(value == work_bound::memory ? "memory" : "compute"); }

template <class T>
bool is_empty_value(T const& value) {
  if constexpr (std::is_arithmetic_v<T>) return value <= T{};
  return false;
}
inline bool is_empty_value(std::string const& value) { return value.empty(); }
inline bool is_empty_value(std::chrono::nanoseconds value) { return value.count() <= 0; }
inline bool is_empty_value(precision value) { return value == precision::unknown; }

template <class T>
constexpr json_type json_type_for(described_type<T>) {
  json_type result;
  if constexpr (is_described<T>) {
    result.is = json_type::form::object;
    result.members = json_members<T>.data();
    result.member_count = json_members<T>.size();
  } else {
    result.is = json_type::form::value;
    result.text = [](void const* value, std::string_view key) { return json_text(*static_cast<T const*>(value), key); };
    result.is_empty = [](void const* value) { return is_empty_value(*static_cast<T const*>(value)); };
  }
  return result;
}
template <class T>
constexpr json_type json_type_for(described_type<std::optional<T>>) {
  json_type result;
  result.is = json_type::form::optional;
  result.element = &json_type_of<T>;
  result.values = [](void const* value) {
    auto const& optional = *static_cast<std::optional<T> const*>(value);
    return optional ? json_values{&*optional, 1} : json_values{};
  };
  return result;
}
template <class T>
constexpr json_type json_type_for(described_type<own_vector<T>>) {
  json_type result;
  result.is = std::is_same_v<T, memory_summary> ? json_type::form::memory : json_type::form::list;
  result.element = &json_type_of<T>;
  result.element_bytes = sizeof(T);
  result.values = [](void const* value) {
    auto const& list = *static_cast<own_vector<T> const*>(value);
    return json_values{list.data(), list.size()};
  };
  result.is_empty = [](void const* value) { return static_cast<own_vector<T> const*>(value)->empty(); };
  return result;
}
constexpr json_type json_type_for(described_type<std::array<milliseconds, idle_causes>>) { return {json_type::form::idle_times}; }
constexpr json_type json_type_for(described_type<std::array<std::optional<double>, precision_count>>) { return {json_type::form::rates}; }
/// The timeline is not in the document.
constexpr json_type json_type_for(described_type<rank_timeline>) { return {}; }

/// Writes a summary by its description (`summary_fields.hpp`), plus values that are derived from members.
class summary_json_writer {
 public:
  /// @param files the files of the folder that belong to the report.
  explicit summary_json_writer(summary const& what, std::vector<std::string> const& files = {}) : what_{what} {
    add_json_schema(document_, what.environment.process_id, files);
  }

  [[nodiscard]] own_string write() && {
    add_members(document_, {}, json_type_of<summary>, &what_);
    keep_places();
    for (char const* const key : {"ranks", "straggler", "collectives"}) document_.add(key, json_value(std::nullopt));  // of many ranks
    own_string text = document_.text();
    text += '\n';
    return text;
  }

 private:
  using form = json_type::form;
  using idle_times = std::array<milliseconds, idle_causes>;

  // NOLINTBEGIN(misc-no-recursion): objects are nested as the members of a summary are, a few levels
  /// @param from an object of the type; null: its members are n/a.
  void add_members(json_object& to, json_naming const& names, json_type const& type, void const* from) {
    std::string_view rest = names.shown;
    do {
      std::string_view key = next_part(rest, ',');
      std::string_view const name = next_part(key, '=');
      for (json_member const* each = type.members; each != type.members + type.member_count; ++each) {
        if (!name.empty() && name != each->name) continue;
        add_member(to, names, *each, from != nullptr && is_known(type, from, each->name) ? each->in(from) : nullptr);
        add_words(to, names.prefix, type, each->name, from);
      }
    } while (!rest.empty());
  }

  /// @param value null: n/a.
  void add_member(json_object& to, json_naming const& names, json_member const& member, void const* value) {
    json_name const name{member.name};
    if (name.is_hidden) return;
    json_object& object = name.is_absolute ? object_at(name.object, value != nullptr) : to;
    json_naming const here = name.is_absolute ? json_naming{} : names;
    json_type const& type = *member.type;
    if (name.is_flat) return add_flat(object, {here.prefix + std::string{name.key}, member.shown}, type, value);
    std::string const key = here.key_of(name.key).value_or("");
    bool const is_empty = value == nullptr || (type.is_empty != nullptr && type.is_empty(value));
    if (name.is_left_out_if_empty && is_empty) return;
    if (value != nullptr && !(name.is_null_if_empty && is_empty)) return add_value(object, key, type, value);
    // Without samples, an empty list.
    object.add(key, &type == &json_type_of<own_vector<milliseconds>> ? "[]" : json_value(std::nullopt));
  }

  json_object& object_at(std::string_view place, bool is_known) {
    json_object* object = &document_;
    while (!place.empty()) object = &object->object(next_part(place, '/'), is_known);
    return *object;
  }

  /// Adds the members of a member to the same object.
  void add_flat(json_object& to, json_naming const& names, json_type const& type, void const* from) {
    if (type.is == form::optional) return add_flat(to, names, *type.element, from == nullptr ? nullptr : type.values(from).first);
    if (type.is == form::object) add_members(to, names, type, from);
    if (type.is == form::idle_times) add_idle_times(to, static_cast<idle_times const*>(from));
  }

  void add_idle_times(json_object& to, idle_times const* from) const {
    for (std::size_t cause = 0; cause < idle_causes; ++cause) {
      bool const is_measured = from != nullptr && budget_ != nullptr && detail::is_known(*budget_, cause);
      to.add(idle_cause_keys[cause], is_measured ? json_value((*from)[cause].count()) : json_value(std::nullopt));
    }
  }

  void add_value(json_object& to, std::string const& key, json_type const& type, void const* value) {
    switch (type.is) {
      case form::nothing:
        return;
      case form::object:
        return add_members(to.object(key), {}, type, value);
      case form::idle_times:
        return add_idle_times(to.object(key), static_cast<idle_times const*>(value));
      case form::rates:
        return add_rates(to.object(key), key, static_cast<std::optional<double> const*>(value));
      case form::memory:
        return add_memory(to.object(key), *static_cast<own_vector<memory_summary> const*>(value));
      case form::optional:
        if (void const* const inner = type.values(value).first) return add_value(to, key, *type.element, inner);
        break;
      case form::value:
      case form::list:
        break;
    }
    to.add(key, text(type, value, key, to.depth() + 1));
  }

  void add_rates(json_object& to, std::string_view key, std::optional<double> const* rates) {
    for (std::size_t i = 1; i < precision_count; ++i)
      to.add(precision_names[i], text(json_type_of<std::optional<double>>, rates + i, key, 0));
  }

  void add_memory(json_object& to, own_vector<memory_summary> const& value) {
    std::map<std::string, own_vector<memory_summary const*>> by_source;
    for (memory_summary const& each : value) by_source[each.source].push_back(&each);
    for (auto const& [source, quantities] : by_source) {
      for (memory_summary const* const each : quantities)
        add_members(to.object(source).object(each->quantity), {}, json_type_of<memory_summary>, each);
    }
  }

  own_string text(json_type const& type, void const* value, std::string_view key, std::size_t depth) {
    if (type.is == form::value) return type.text(value, key);
    if (type.is == form::object) {
      json_object object{depth};
      add_members(object, {}, type, value);
      return object.text();
    }
    json_values const values = type.values(value);
    if (type.is == form::optional) return values.count > 0 ? text(*type.element, values.first, key, depth) : json_value(std::nullopt);
    json_list list{depth};
    auto const* at = static_cast<char const*>(values.first);
    for (std::size_t i = 0; i < values.count; ++i, at += type.element_bytes) list.add(text(*type.element, at, key, depth + 1));
    return std::move(list).take();
  }

  /// Whether a member that always has a value was measured.
  [[nodiscard]] bool is_known(json_type const& type, void const* from, std::string_view name) const {
    if (&type == &json_type_of<quality_record>) return what_.gpu || (name != "dropped_kernels" && name != "invalid_kernels");
    if (&type == &json_type_of<scope_per_step>) return name != "gpu_steps" || static_cast<scope_per_step const*>(from)->gpu;
    return true;
  }

  /// Adds derived values after the member with this name. @param from null: n/a.
  void add_words(json_object& to, std::string const& prefix, json_type const& type, std::string_view name, void const* from) {
    if (&type == &json_type_of<verdict_summary>) add_verdict_words(to, prefix, name, static_cast<verdict_summary const*>(from));
    if (from == nullptr) return;
    if (&type == &json_type_of<clock_summary> && name == "device_max_mhz") {
      json_list reasons{to.depth() + 1};
      for (std::string const& reason : clock_reason_names(static_cast<clock_summary const*>(from)->reasons))
        reasons.add(json_value(reason));
      to.add("reasons", std::move(reasons).take());
    }
    if (&type == &json_type_of<scope_summary> && name == "work") add_peak(to, static_cast<scope_summary const*>(from)->memory);
    if (&type == &json_type_of<budget_summary>) {
      auto const* const budget = static_cast<budget_summary const*>(from);
      if (name == "wall_ms") budget_ = budget;
      idle_times const idle = idle_of_all(*budget);
      if (name == "gpu_busy_ms") add_idle_times(to.object("gpu_idle"), &idle);
    }
    if (&type == &json_type_of<budget_row> && name == "total_ms") add_share(to, static_cast<budget_row const*>(from)->total);
    if (&type == &json_type_of<starving_scope> && name == "total_ms") add_share(to, static_cast<starving_scope const*>(from)->total);
    // Peak rates exclude sparsity.
    if (&type == &json_type_of<limits_summary> && name == "device?") to.add("dense", json_value(true));
    if (&type != &json_type_of<model_summary>) return;
    // The denominator of the utilisation.
    json_type const& words = json_type_of<std::string>;
    if (name == "peak_tflops") add_member(to, {}, {"device?", "", &words}, &what_.limits.device);
    if (name != "precision?") return;
    to.add("dense", json_value(true));
    add_member(to, {}, {"source?", "", &words}, &what_.limits.source);
  }
  // NOLINTEND(misc-no-recursion)

  void add_verdict_words(json_object& to, std::string const& prefix, std::string_view name, verdict_summary const* from) const {
    std::string words;
    if (name == "verdict") {
      if (from != nullptr) words = verdict_reason(*from, what_.steps.clocks);
    } else if (name == "steady_from") {
      if (from != nullptr) words = warmup_words(*from);
    } else {
      return;
    }
    to.add(prefix + (name == "verdict" ? "verdict_reason" : "warmup_verdict"),
           from != nullptr ? json_value(words) : json_value(std::nullopt));
  }

  /// Adds the peak of the first allocator that is not polled, otherwise of the first one.
  static void add_peak(json_object& to, own_vector<scope_memory_summary> const& memory) {
    auto const heard = std::find_if(memory.begin(), memory.end(), [](scope_memory_summary const& each) { return !each.is_polled; });
    auto const main = heard != memory.end() ? heard : memory.begin();
    to.add("peak_bytes", main != memory.end() ? json_value(main->peak_bytes) : json_value(std::nullopt));
  }

  void add_share(json_object& to, milliseconds part) const {
    milliseconds const wall = budget_ != nullptr ? budget_->wall : milliseconds{};
    to.add("share", wall.count() > 0.0 ? json_value(part / wall) : json_value(std::nullopt));
  }

  /// Restores the member order of schema 1, which differs from the description in some places, so that files remain identical.
  void keep_places() {
    document_.move_behind("quality", "trend");
    json_object& steps = document_.object("steps");
    steps.move_behind("excluded", "measured");
    steps.move_behind("gpu_period_samples_ms", "gpu_samples_ms");
    json_object& quality = document_.object("quality");
    for (char const* const key : {"unknown_graph_operations", "graph_operations", "unknown_launches", "unattributed_ms",
                                  "unattributed_operations", "unattributed_kernels"}) {
      quality.move_behind(key, "invalid_kernels");
    }
    quality.object("overhead").move_behind("between_steps_ms", "scopes");
  }

  summary const& what_;
  json_object document_;
  budget_summary const* budget_ = nullptr;  ///< the budget that is being written
};

}  // namespace PROFKIT_NAMESPACE::detail
