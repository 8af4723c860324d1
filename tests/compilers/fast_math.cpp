// SPDX-License-Identifier: Apache-2.0
//
// NaN and infinities with -ffast-math, under which the compiler assumes that they do not exist. A unit of program.cpp.
#include <profkit/profkit.hpp>

#include <unistd.h>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <profkit/impl/report/trace_json.hpp>
#include <profkit/report.hpp>
#include <profkit/save_load.hpp>
#include <string>

namespace {

int failures = 0;

void require(bool truth, char const* what, std::string const& text) {
  if (truth) return;
  ++failures;
  std::fprintf(stderr, "not so: %s\n%s\n", what, text.c_str());
}

double number_of(std::uint64_t bits) {
  double result = 0.0;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

bool contains(std::string const& text, char const* part) { return text.find(part) != std::string::npos; }

}  // namespace

int count_failures_of_fast_math();

int count_failures_of_fast_math() {
  constexpr std::uint64_t nan_bits = std::uint64_t{0x7ff8} << 48U;
  constexpr std::uint64_t two_bits = std::uint64_t{0x4000} << 48U;
  double const infinity = number_of(std::uint64_t{0x7ff} << 52U);
  double const nan = number_of(nan_bits);
  double const minus_nan = number_of(std::uint64_t{0xfff8} << 48U);
  profkit::options options;
  options.warmup_steps = 0;
  options.measured_steps = 3;
  options.model_flops_per_step = nan;
  profkit::session session{options};
  for (profkit::step step : session) {
    if (step.index() == 1) step.set_model_flops(infinity);
    PROF_SCOPE("work", profkit::work{nan, infinity});
    PROF_COUNTER("none", minus_nan);
    PROF_COUNTER("much", infinity);
    PROF_COUNTER("little", number_of(std::uint64_t{0xfff} << 52U));
    PROF_COUNTER("some", number_of(step.index() == 1 ? nan_bits : two_bits));  // by its bits: the compiler may assume no NaN
  }
  profkit::report const report = session.report();
  std::string const text = report.full_text();
  require(contains(text, "none           3   nan   nan  nan  nan           3"), "a counter that is no number is nan", text);
  require(contains(text, "much           3   inf   nan"), "an infinite counter is inf", text);
  require(contains(text, "little         3  -inf   nan"), "an infinite counter has a sign", text);
  require(contains(text, "some           3     2     2    2    2           1"), "its figures are of the others", text);
  std::string const json = profkit::report_json(report.summary());
  require(!contains(json, "nan") && !contains(json, "inf,") && !contains(json, "inf\n"), "JSON has neither nan nor inf", json);
  require(contains(json, "\"last\": null"), "what is not finite is null in JSON", json);
  std::string const trace = profkit::trace_json(report.profile());
  require(!contains(trace, "nan") && !contains(trace, ":inf"), "neither has the trace", trace);
  std::filesystem::path const file = std::filesystem::temp_directory_path() / ("profkit-fast-math-" + std::to_string(::getpid()));
  profkit::save(report.profile(), file);
  require(profkit::load(file).counters.size() == 12, "what is saved can be loaded", "");
  std::filesystem::remove(file);
  return failures;
}
