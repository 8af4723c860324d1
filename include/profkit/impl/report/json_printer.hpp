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
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "../../document.hpp"
#include "../../summary.hpp"
#include "../../time.hpp"
#include "../../version.hpp"
#include "../../work.hpp"
#include "../analyze/gpu/device_readings.hpp"
#include "../analyze/summary_fields.hpp"
#include "../profile/flat_records.hpp"
#include "../profile/own_memory.hpp"
#include "headline.hpp"
#include "json_text.hpp"
#include "report_view.hpp"

namespace profkit::detail {

/// Grows when a field of `report.json` changes its meaning or is removed.
inline constexpr std::uint32_t report_json_schema = 1;
/// Grows when fields are added.
inline constexpr std::uint32_t report_json_schema_minor = 3;

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

/// Writes a summary by its description (`summary_fields.hpp`), plus values that are derived from members.
class summary_json_writer {
 public:
  /// @param files the files of the folder that belong to the report.
  explicit summary_json_writer(summary const& what, std::vector<std::string> const& files = {}) : what_{what} {
    add_json_schema(document_, what.environment.process_id, files);
  }

  [[nodiscard]] own_string write() && {
    add_members(document_, {}, &what_);
    keep_places();
    for (char const* const key : {"ranks", "straggler", "collectives"}) document_.add(key, json_value(std::nullopt));  // of many ranks
    own_string text = document_.text();
    text += '\n';
    return text;
  }

 private:
  /// @param from null: its members are n/a.
  template <class T>
  void add_members(json_object& to, json_naming const& names, T const* from) {
    auto const add = [&](auto const& each) {
      add_member(to, names, each.name, each.shown, from != nullptr && is_known(*from, each.name) ? &(from->*each.member) : nullptr);
      add_words(to, names.prefix, each.name, from);
    };
    std::string_view rest = names.shown;
    do {
      std::string_view key = next_part(rest, ',');
      std::string_view const name = next_part(key, '=');
      for_each_element(describe(described_type<T>{}), [&](auto const& each) {
        if (name.empty() || name == each.name) add(each);
      });
    } while (!rest.empty());
  }

  /// @param value null: n/a.
  template <class Member>
  void add_member(json_object& to, json_naming const& names, std::string_view described, std::string_view shown, Member const* value) {
    json_name const name{described};
    if (name.is_hidden) return;
    json_object& object = name.is_absolute ? object_at(name.object, value != nullptr) : to;
    json_naming const here = name.is_absolute ? json_naming{} : names;
    if (name.is_flat) return add_flat(object, {here.prefix + std::string{name.key}, shown}, value);
    std::string const key = here.key_of(name.key).value_or("");
    if (name.is_left_out_if_empty && (value == nullptr || is_empty(*value))) return;
    bool const is_absent = value == nullptr || (name.is_null_if_empty && is_empty(*value));
    if (!is_absent) return add_value(object, key, *value);
    // Without samples, an empty list.
    object.add(key, std::is_same_v<Member, own_vector<milliseconds>> ? "[]" : json_value(std::nullopt));
  }

  json_object& object_at(std::string_view place, bool is_known) {
    json_object* object = &document_;
    while (!place.empty()) object = &object->object(next_part(place, '/'), is_known);
    return *object;
  }

  template <class T>
  void add_flat(json_object& to, json_naming const& names, T const* from) {
    if constexpr (is_described<T>) add_members(to, names, from);  // a name that ends with a star belongs to a described member
  }
  template <class T>
  void add_flat(json_object& to, json_naming const& names, std::optional<T> const* from) {
    add_flat(to, names, from != nullptr && *from ? &**from : nullptr);
  }
  void add_flat(json_object& to, json_naming const&, std::array<milliseconds, idle_causes> const* from) {
    for (std::size_t cause = 0; cause < idle_causes; ++cause) {
      bool const is_measured = from != nullptr && budget_ != nullptr && detail::is_known(*budget_, cause);
      to.add(idle_cause_keys[cause], is_measured ? json_value((*from)[cause].count()) : json_value(std::nullopt));
    }
  }

  template <class T>
  void add_value(json_object& to, std::string const& key, T const& value) {
    if constexpr (is_described<T>) {
      add_members(to.object(key), {}, &value);
    } else {
      to.add(key, text(value, key, to.depth() + 1));
    }
  }
  template <class T>
  void add_value(json_object& to, std::string const& key, std::optional<T> const& value) {
    if (value) return add_value(to, key, *value);
    to.add(key, json_value(std::nullopt));
  }
  /// The timeline is not in the document.
  static void add_value(json_object&, std::string const&, rank_timeline const&) {}
  void add_value(json_object& to, std::string const& key, std::array<milliseconds, idle_causes> const& value) {
    add_flat(to.object(key), {}, &value);
  }
  /// Memory by source and quantity.
  void add_value(json_object& to, std::string const& key, own_vector<memory_summary> const& value) {
    std::map<std::string, own_vector<memory_summary const*>> by_source;
    for (memory_summary const& each : value) by_source[each.source].push_back(&each);
    json_object& sources = to.object(key);
    for (auto const& [source, quantities] : by_source) {
      for (memory_summary const* const each : quantities) add_members(sources.object(source).object(each->quantity), {}, each);
    }
  }
  /// Rates by precision.
  void add_value(json_object& to, std::string const& key, std::array<std::optional<double>, precision_count> const& value) {
    for (std::size_t i = 1; i < precision_count; ++i) to.object(key).add(precision_names[i], text(value[i], key, 0));
  }

  template <class T>
  own_string text(T const& value, std::string_view key, std::size_t depth) {
    if constexpr (is_described<T>) {
      json_object object{depth};
      add_members(object, {}, &value);
      return object.text();
    } else if constexpr (std::is_floating_point_v<T>) {
      return json_value(number_unit(key).written(value));
    } else if constexpr (std::is_enum_v<T>) {
      return json_value(std::nullopt);  // not in the document
    } else {
      return json_value(value);
    }
  }
  template <class T>
  own_string text(std::optional<T> const& value, std::string_view key, std::size_t depth) {
    return value ? text(*value, key, depth) : json_value(std::nullopt);
  }
  template <class T>
  own_string text(own_vector<T> const& values, std::string_view key, std::size_t depth) {
    json_list list{depth};
    for (T const& each : values) list.add(text(each, key, depth + 1));
    return std::move(list).take();
  }
  static own_string text(milliseconds value, std::string_view key, std::size_t) {
    return json_value(milliseconds_unit(key).written(value.count()));
  }
  static own_string text(std::chrono::nanoseconds value, std::string_view key, std::size_t) {
    return json_value(nanoseconds_unit(key).written(static_cast<double>(value.count())));
  }
  static own_string text(bool value, std::string_view key, std::size_t) {
    json_words const* const words = words_of(key);
    return words == nullptr ? json_value(value) : json_value(value ? words->if_true : words->if_false);
  }
  static own_string text(step_verdict value, std::string_view, std::size_t) { return json_value(verdict_name(value)); }
  static own_string text(series_shape value, std::string_view, std::size_t) { return json_value(shape_name(value)); }
  static own_string text(precision value, std::string_view, std::size_t) { return json_value(name_of(value)); }
  static own_string text(work_bound value, std::string_view, std::size_t) {
    return json_value(value == work_bound::memory ? "memory" : "compute");
  }

  template <class T>
  static bool is_empty(T const& value) {
    if constexpr (std::is_arithmetic_v<T>) return value <= T{};
    return false;
  }
  static bool is_empty(std::string const& value) { return value.empty(); }
  static bool is_empty(std::chrono::nanoseconds value) { return value.count() <= 0; }
  static bool is_empty(precision value) { return value == precision::unknown; }
  template <class T>
  static bool is_empty(own_vector<T> const& value) {
    return value.empty();
  }

  /// Whether a member that always has a value was measured.
  template <class T>
  [[nodiscard]] static bool is_known(T const&, std::string_view) {
    return true;
  }
  [[nodiscard]] bool is_known(quality_record const&, std::string_view name) const {
    return what_.gpu || (name != "dropped_kernels" && name != "invalid_kernels");
  }
  [[nodiscard]] static bool is_known(scope_per_step const& scope, std::string_view name) { return scope.gpu || name != "gpu_steps"; }

  /// Adds derived values after the member with this name.
  template <class T>
  static void add_words(json_object&, std::string const&, std::string_view, T const*) {}
  void add_words(json_object& to, std::string const& prefix, std::string_view name, verdict_summary const* from) const {
    auto const add = [&](char const* key, auto&& words) {
      to.add(prefix + key, from != nullptr ? json_value(words()) : json_value(std::nullopt));
    };
    if (name == "verdict") add("verdict_reason", [&] { return verdict_reason(*from, what_.steps.clocks); });
    if (name == "steady_from") add("warmup_verdict", [&] { return warmup_words(*from); });
  }
  static void add_words(json_object& to, std::string const&, std::string_view name, clock_summary const* from) {
    if (name != "device_max_mhz") return;
    json_list reasons{to.depth() + 1};
    for (std::string const& reason : clock_reason_names(from->reasons)) reasons.add(json_value(reason));
    to.add("reasons", std::move(reasons).take());
  }
  /// The peak of the first allocator that is not polled, otherwise of the first one.
  static void add_words(json_object& to, std::string const&, std::string_view name, scope_summary const* from) {
    if (name != "work") return;
    auto const heard =
        std::find_if(from->memory.begin(), from->memory.end(), [](scope_memory_summary const& each) { return !each.is_polled; });
    auto const main = heard != from->memory.end() ? heard : from->memory.begin();
    to.add("peak_bytes", main != from->memory.end() ? json_value(main->peak_bytes) : json_value(std::nullopt));
  }
  void add_words(json_object& to, std::string const&, std::string_view name, budget_summary const* from) {
    if (name == "wall_ms") budget_ = from;
    if (name == "gpu_busy_ms") add_value(to, "gpu_idle", idle_of_all(*from));
  }
  void add_words(json_object& to, std::string const&, std::string_view name, budget_row const* from) const {
    if (name == "total_ms") add_share(to, from->total);
  }
  void add_words(json_object& to, std::string const&, std::string_view name, starving_scope const* from) const {
    if (name == "total_ms") add_share(to, from->total);
  }
  void add_share(json_object& to, milliseconds part) const {
    milliseconds const wall = budget_ != nullptr ? budget_->wall : milliseconds{};
    to.add("share", wall.count() > 0.0 ? json_value(part / wall) : json_value(std::nullopt));
  }
  /// Peak rates exclude sparsity.
  static void add_words(json_object& to, std::string const&, std::string_view name, limits_summary const*) {
    if (name == "device?") to.add("dense", json_value(true));
  }
  /// Adds the denominator of the utilisation.
  void add_words(json_object& to, std::string const&, std::string_view name, model_summary const*) {
    if (name == "peak_tflops") add_member(to, {}, "device?", {}, &what_.limits.device);
    if (name != "precision?") return;
    to.add("dense", json_value(true));
    add_member(to, {}, "source?", {}, &what_.limits.source);
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

/// Prints a document as JSON, for programs that display or store reports: the content of the text form, with unrounded numbers in tables.
/// Times are in ms, sizes in bytes, shares and changes as fractions; n/a is null. Figures and bars are omitted, because tables have their
/// numbers.
class json_printer {
 public:
  /// @param document must outlive this.
  explicit json_printer(document const& document) : document_{document} {}

  [[nodiscard]] own_string print() const {
    json_object result;
    result.add("schema", json_value(1));
    result.add("version", json_value(document_.version));
    result.add("title", json_value(document_.title));
    result.add("subtitle", json_value(document_.subtitle));
    result.add("headline", json_value(document_.headline));
    add_list(result, "findings", document_.findings, [](finding const& each, std::size_t depth) {
      json_object object{depth};
      object.add("headline", json_value(each.headline));
      object.add("text", json_value(each.text));
      object.add("action", json_value(each.action));
      object.add("scope", each.scope.empty() ? json_value(std::nullopt) : json_value(each.scope));
      return object.text();
    });
    add_list(result, "key_figures", document_.key_figures, [](key_figure const& each, std::size_t depth) {
      json_object object{depth};
      object.add("name", json_value(each.name));
      object.add("value", each.value.empty() ? json_value(std::nullopt) : json_value(each.value));
      object.add("note", json_value(each.note));
      return object.text();
    });
    add_list(result, "sections", document_.sections, [](section const& each, std::size_t depth) { return text(each, depth); });
    return result.text() + "\n";
  }

 private:
  template <class List, class Print>
  static void add_list(json_object& to, char const* key, List const& values, Print const& print) {
    json_list list{to.depth() + 1};
    for (auto const& each : values) list.add(print(each, to.depth() + 2));
    to.add(key, std::move(list).take());
  }

  static own_string text(section const& what, std::size_t depth) {
    json_object result{depth};
    result.add("id", json_value(what.id));
    result.add("title", json_value(what.title));
    result.add("answer", json_value(what.answer));
    own_vector<note const*> notes;
    own_vector<data_table const*> tables;
    for (block const& each : what.blocks) {
      if (auto const* const words = std::get_if<note>(&each)) notes.push_back(words);
      if (auto const* const table = std::get_if<data_table>(&each)) tables.push_back(table);
    }
    add_list(result, "notes", notes, [](note const* each, std::size_t) { return json_value(each->text); });
    add_list(result, "tables", tables, [](data_table const* each, std::size_t inner) { return text(*each, inner); });
    result.add("how_to_read", json_value(what.how_to_read));
    return result.text();
  }

  static own_string text(data_table const& what, std::size_t depth) {
    json_object result{depth};
    result.add("name", json_value(what.name));
    result.add("caption", json_value(what.caption));
    json_list columns{depth + 1};
    for (column const& each : what.columns) {
      if (each.kind == column_kind::bar) continue;
      json_object object{depth + 2};
      object.add("heading", json_value(each.heading));
      object.add("unit", json_value(unit_of(each.kind)));
      columns.add(object.text());
    }
    result.add("columns", std::move(columns).take());
    add_list(result, "rows", what.rows, [&](row const& each, std::size_t inner) { return text(what, each, inner); });
    return result.text();
  }

  static own_string text(data_table const& table, row const& what, std::size_t depth) {
    json_object result{depth};
    result.add("depth", json_value(what.depth));
    json_list cells{depth + 1};
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].kind != column_kind::bar)
        cells.add(i < what.cells.size() ? text(what.cells[i], depth + 2) : json_value(std::nullopt));
    }
    result.add("cells", std::move(cells).take());
    return result.text();
  }

  /// The complete text, which a cell with a shortened text has as its detail.
  static own_string text(cell const& what, std::size_t depth) {
    if (auto const* const words = std::get_if<std::string>(&what.value)) return json_value(what.detail.empty() ? *words : what.detail);
    if (auto const* const number = std::get_if<double>(&what.value)) return json_value(*number);
    json_object result{depth};
    if (auto const* const range = std::get_if<range_cell>(&what.value)) {
      result.add("low", json_value(range->low));
      result.add("mean", json_value(range->mean));
      result.add("high", json_value(range->high));
    } else if (auto const* const change = std::get_if<change_cell>(&what.value)) {
      result.add("low", json_value(change->low));
      result.add("change", json_value(change->change));
      result.add("high", json_value(change->high));
    } else {
      return json_value(std::nullopt);
    }
    return result.text();
  }

  /// The unit of the numbers as printed here.
  static char const* unit_of(column_kind kind) {
    switch (kind) {
      case column_kind::milliseconds:
      case column_kind::duration:
      case column_kind::range:
      case column_kind::logarithmic_range:
        return "ms";
      case column_kind::bytes:
        return "bytes";
      case column_kind::share:
      case column_kind::change:
        return "1";
      default:
        return "";
    }
  }

  document const& document_;
};

}  // namespace profkit::detail
