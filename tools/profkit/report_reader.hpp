// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/analyze/time/step_series.hpp>
#include <profkit/profile/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "run_figures.hpp"

namespace profkit_program {

namespace detail {

/// A member of a report, with where it stands, so that an error can say so.
class report_node {
 public:
  report_node(nlohmann::json const& value, std::string where) : value_{value}, where_{std::move(where)} {}

  /// @throws profkit::error where there is none.
  [[nodiscard]] report_node operator[](std::string const& name) const {
    std::string const where = where_ + (where_.back() == ' ' ? "" : ".") + name;  // "FILE: " is the whole document
    if (!value_.is_object() || !value_.contains(name)) throw profkit::error{where + " is missing"};
    return {value_[name], where};
  }

  [[nodiscard]] bool has(std::string const& name) const { return value_.is_object() && value_.contains(name) && !value_[name].is_null(); }
  [[nodiscard]] bool is_null() const { return value_.is_null(); }

  [[nodiscard]] double number() const {
    if (!value_.is_number()) fail(" is not a number");
    return value_.get<double>();
  }

  [[nodiscard]] std::uint64_t count() const {
    if (!value_.is_number_unsigned()) fail(" is not a count");
    return value_.get<std::uint64_t>();
  }

  [[nodiscard]] std::string text() const {
    if (!value_.is_string()) fail(" is not a text");
    return value_.get<std::string>();
  }

  [[nodiscard]] std::vector<report_node> list() const {
    if (!value_.is_array()) fail(" is not a list");
    std::vector<report_node> result;
    for (std::size_t i = 0; i < value_.size(); ++i) result.emplace_back(value_[i], where_ + "[" + std::to_string(i) + "]");
    return result;
  }

  [[noreturn]] void fail(std::string const& what) const { throw profkit::error{where_ + what}; }

 private:
  nlohmann::json const& value_;
  std::string where_;
};

/// Of null what is n/a: 0.
inline double number_or_0(report_node const& of) { return of.is_null() ? 0.0 : of.number(); }

/// Kernels need not have been collected in every step.
inline std::string steps_of(report_node const& per_step, std::string const& what) {
  return per_step.has(what + "_steps") ? what + "_steps" : "steps";
}

inline figures read_figures(report_node const& per_step, std::string const& what) {
  return {per_step[steps_of(per_step, what)].count(), per_step[what + "_mean_ms"].number(), number_or_0(per_step[what + "_std_ms"]),
          number_or_0(per_step[what + "_autocorrelation"])};
}

/// @param samples at least one.
inline figures figures_of(std::vector<report_node> const& samples) {
  profkit::detail::step_series series;
  for (std::size_t i = 0; i < samples.size(); ++i) series.add(i, profkit::milliseconds{samples[i].number()});
  profkit::per_step_figures const of = series.summarize(samples.size());
  return {samples.size(), of.mean.count(), of.standard_deviation.value_or(profkit::milliseconds{}).count(),
          of.autocorrelation.value_or(0.0)};
}

/// What `profkit compare` needs, written since there is such a program.
inline report_node per_step_of(report_node const& row) {
  if (!row.has("per_step")) row.fail(".per_step is missing: the report was written by an older profkit, or without steps");
  return row["per_step"];
}

/// Two rows of one name are told apart by their order.
inline std::string unique(std::set<std::string>& taken, std::string const& name) {
  std::string result = name;
  for (int i = 2; !taken.insert(result).second; ++i) result = name + " #" + std::to_string(i);
  return result;
}

inline std::vector<scope_figures> read_scopes(report_node const& report) {
  std::vector<scope_figures> result;
  std::set<std::string> taken;
  for (report_node const& row : report["scopes"].list()) {
    report_node const per_step = per_step_of(row);
    scope_figures scope;
    scope.path = unique(taken, row["path"].text());
    scope.host = read_figures(per_step, "host");
    if (!per_step["gpu_mean_ms"].is_null()) scope.gpu = read_figures(per_step, "gpu");
    scope.host_copies_ms = number_or_0(per_step["gpu_host_copies_mean_ms"]);
    result.push_back(std::move(scope));
  }
  return result;
}

inline std::optional<std::vector<kernel_figures>> read_kernels(report_node const& report) {
  report_node const kernels = report["kernels"];
  if (kernels.is_null()) return std::nullopt;
  std::vector<kernel_figures> result;
  std::set<std::string> taken;
  for (report_node const& row : kernels.list()) {
    std::string const name = row["name"].text();
    report_node const mangled = row["mangled"];
    result.push_back({name, unique(taken, mangled.is_null() ? name : mangled.text()), read_figures(per_step_of(row), "gpu")});
  }
  return result;
}

/// The geometric mean of both readings of the probe, or the first where the session did not end.
inline void read_host_speed(report_node const& speed, run_figures& into) {
  auto const duration = [&](char const* name) {
    double const value = speed[name].number();
    if (!(value > 0.0 && value < 1e12)) speed[name].fail(" is not a duration");
    return value;
  };
  double const before = duration("probe_before_us");
  into.probe_us = speed.has("probe_after_us") ? std::sqrt(before * duration("probe_after_us")) : before;
  if (!speed.has("waiting_share")) return;
  into.waiting = speed["waiting_share"].number();
  if (!(*into.waiting >= 0.0 && *into.waiting <= 1.0)) speed["waiting_share"].fail(" is not a share");
}

/// What was lost makes times too short.
inline std::vector<std::string> read_doubts(report_node const& report) {
  std::vector<std::string> result;
  report_node const quality = report["quality"];
  for (char const* const name : {"dropped_events", "dropped_kernels", "unkept_records"}) {
    if (quality.has(name) && quality[name].count() > 0) result.push_back(std::to_string(quality[name].count()) + " " + name);
  }
  report_node const steps = report["steps"];
  for (std::string const prefix : {"", "gpu_"}) {
    if (!steps.has(prefix + "verdict") || !steps.has(prefix + "verdict_reason")) continue;
    std::string const says = steps[prefix + "verdict"].text();
    if (says == "stable" || says == "noisy") continue;  // the ranges hold that
    result.push_back((prefix.empty() ? "step time " : "GPU step time ") + steps[prefix + "verdict_reason"].text());
  }
  return result;
}

}  // namespace detail

/// Reads one report.json.
/// @throws profkit::error that names the file, and what is wrong with which field.
[[nodiscard]] inline run_figures read_report(std::filesystem::path const& file) {
  std::ifstream stream{file, std::ios::binary};
  if (!stream) throw profkit::error{file.string() + ": cannot be opened"};
  std::string const content{std::istreambuf_iterator<char>{stream}, {}};
  nlohmann::json const json = nlohmann::json::parse(content, nullptr, false);
  if (json.is_discarded()) throw profkit::error{file.string() + ": is not JSON"};
  detail::report_node const report{json, file.string() + ": "};
  constexpr std::uint64_t known_schema = 1;
  std::uint64_t const schema = report["schema"].count();
  if (schema != known_schema)
    report["schema"].fail(" is " + std::to_string(schema) + ", this program reads " + std::to_string(known_schema));

  run_figures result;
  result.file = file.string();
  detail::report_node const environment = report["environment"];
  if (environment.has("host")) result.host = environment["host"].text();
  if (environment.has("gpu")) result.gpu = environment["gpu"].text();
  if (environment.has("host_speed")) detail::read_host_speed(environment["host_speed"], result);
  detail::report_node const steps = report["steps"];
  std::vector<detail::report_node> const samples = steps["samples_ms"].list();
  if (samples.size() < 2) {
    steps["samples_ms"].fail(" has " + std::to_string(samples.size()) + " measured steps, at least 2 are needed");
  }
  result.step = detail::figures_of(samples);
  std::vector<detail::report_node> const gpu_samples = steps["gpu_samples_ms"].list();
  if (gpu_samples.size() >= 2) result.gpu_step = detail::figures_of(gpu_samples);
  result.scopes = detail::read_scopes(report);
  result.kernels = detail::read_kernels(report);
  result.doubts = detail::read_doubts(report);
  return result;
}

/// The reports of one side: a report.json, a folder that holds one, or a folder of such folders.
/// @throws profkit::error that names what is wrong.
[[nodiscard]] inline std::vector<run_figures> read_side(std::filesystem::path const& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  constexpr char const* name = "report.json";
  if (!fs::exists(path, ignored)) throw profkit::error{path.string() + ": does not exist"};
  if (!fs::is_directory(path, ignored)) return {read_report(path)};
  if (fs::exists(path / name, ignored)) return {read_report(path / name)};
  std::vector<fs::path> files;
  for (fs::directory_entry const& each : fs::directory_iterator{path}) {
    if (fs::exists(each.path() / name, ignored)) files.push_back(each.path() / name);
  }
  if (files.empty()) throw profkit::error{path.string() + ": no " + name + " in it, nor in a folder in it"};
  std::sort(files.begin(), files.end());
  std::vector<run_figures> result;
  result.reserve(files.size());
  for (fs::path const& file : files) result.push_back(read_report(file));
  return result;
}

}  // namespace profkit_program
