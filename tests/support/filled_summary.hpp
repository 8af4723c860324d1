// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/impl/analyze/summary_fields.hpp>
#include <profkit/impl/profile/record_fields.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// Gives each number and text of a summary a unique value, and each list two elements.
class summary_filler {
 public:
  template <class T>
  void operator()(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = ++made_ % 2 == 0;
    } else if constexpr (std::is_arithmetic_v<T>) {
      value = static_cast<T>(++made_) + (std::is_floating_point_v<T> ? static_cast<T>(0.25) : T{});
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(file_enum_of(profkit::detail::described_type<T>{}).last);
    } else {
      using profkit::detail::fields;
      fields(*this, value);
    }
  }
  void operator()(std::string& text) { text = "text " + std::to_string(++made_); }
  void operator()(std::chrono::nanoseconds& value) { value = std::chrono::nanoseconds{++made_}; }
  void operator()(profkit::milliseconds& value) { value = profkit::milliseconds{static_cast<double>(++made_) + 0.5}; }
  void operator()(profkit::timestamp& value) { value = profkit::timestamp{std::chrono::nanoseconds{++made_}}; }
  template <class T>
  void operator()(std::optional<T>& value) {
    (*this)(value.emplace());
  }
  template <class T>
  void operator()(profkit::detail::own_vector<T>& values) {
    values.resize(2);
    for (T& each : values) (*this)(each);
  }
  template <class T, std::size_t Count>
  void operator()(std::array<T, Count>& values) {
    for (T& each : values) (*this)(each);
  }

 private:
  int made_ = 0;
};

/// A summary with a unique value for each member and valid positions.
inline profkit::summary filled_summary() {
  profkit::summary result;
  summary_filler fill;
  fill(result);
  for (std::size_t i = 0; i < result.scopes.size(); ++i) {
    result.scopes[i].depth = static_cast<std::uint32_t>(i);
    result.scopes[i].parent = i == 0 ? std::nullopt : std::optional{i - 1};
  }
  for (profkit::adopted_summary& each : result.adopted) each.depth = 1;
  result.budget->has_launches = true;  // otherwise a report has no launch-bound times
  auto const in_lists = [](profkit::detail::own_vector<profkit::path_time>& times) { times[0].path = 0, times[1].path = 1; };
  for (profkit::timeline_step& each : result.timeline->steps) in_lists(each.stages), in_lists(each.gpu);
  for (profkit::timeline_collective& each : result.timeline->collectives) {
    each.kind = each.path = 1;
    each.posted = each.time.begin - std::chrono::nanoseconds{7};
    each.exposed = {each.time, {each.time.end, each.time.end}};
    in_lists(each.busy), in_lists(each.idle);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    result.listed_steps[i].kind = i;
    result.host_samples->scopes[i].scope = 1 - i;
    for (profkit::step_kind_summary& kind : result.kinds) {
      kind.budget->has_launches = true;  // otherwise report.json has no launch-bound time
      kind.scopes[i].scope = 1 - i;
      kind.kernels[i].kernel = 1 - i;
      for (std::size_t k = 0; k < 2; ++k) kind.kernels[i].launched_in[k].scope = k;
    }
  }
  return result;
}

/// All values of a summary as texts, in order.
class summary_values {
 public:
  template <class T>
  void operator()(T& value) {
    if constexpr (std::is_floating_point_v<T>) {
      put(value == value ? std::to_string(value) : "not a number");
    } else if constexpr (std::is_arithmetic_v<T>) {
      put(std::to_string(value));
    } else if constexpr (std::is_enum_v<T>) {
      put(std::to_string(static_cast<int>(value)));
    } else {
      using profkit::detail::fields;
      fields(*this, value);
    }
  }
  void operator()(std::string& text) { put(text); }
  void operator()(std::chrono::nanoseconds& value) { put(std::to_string(value.count())); }
  void operator()(profkit::milliseconds& value) { put(std::to_string(value.count())); }
  void operator()(profkit::timestamp& value) { put(std::to_string(value.time_since_epoch().count())); }
  template <class T>
  void operator()(std::optional<T>& value) {
    put(value ? "a value" : "n/a");
    if (value) (*this)(*value);
  }
  template <class T>
  void operator()(profkit::detail::own_vector<T>& values) {
    put(std::to_string(values.size()) + " elements");
    for (T& each : values) (*this)(each);
  }
  template <class T, std::size_t Count>
  void operator()(std::array<T, Count>& values) {
    for (T& each : values) (*this)(each);
  }

  [[nodiscard]] std::vector<std::string> const& values() const { return values_; }

 private:
  void put(std::string text) { values_.push_back(std::move(text)); }

  std::vector<std::string> values_;
};

inline std::vector<std::string> values_of(profkit::summary what) {
  summary_values values;
  values(what);
  return values.values();
}
