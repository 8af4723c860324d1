// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/impl/report/picture_section.hpp>

#include "../support/profile_with_samples.hpp"
#include "../support/testing.hpp"

namespace {

profkit::sampled_function_summary function(std::string const& name, std::string const& module, std::string const& file = {}) {
  profkit::sampled_function_summary result;
  result.name = name;
  result.module = module;
  result.file = file;
  result.line = 40;
  return result;
}

std::string note_of(profkit::host_samples_summary const& samples) {
  profkit::summary all;
  all.host_samples = samples;
  std::string result;
  auto const section = profkit::detail::samples_section(profkit::detail::report_view{all});
  REQUIRE(section);
  for (profkit::detail::block const& each : section->blocks) {
    if (auto const* const found = std::get_if<profkit::detail::note>(&each)) result += found->text;
  }
  return result;
}

}  // namespace

TEST_CASE("a function is shown with its library, and with its source line if known", "[samples_section]") {
  using profkit::detail::function_place_words;
  CHECK(function_place_words(function("exp_loop", "program", "/src/layer.cpp")) == "exp_loop (layer.cpp:40)");
  CHECK(function_place_words(function("exp_loop", "libmodel.so", "layer.cpp")) == "exp_loop (libmodel.so, layer.cpp:40)");
  CHECK(function_place_words(function("operator()", "program", "a/b.cpp")) == "operator() (b.cpp:40)");
  CHECK(function_place_words(function("exp_loop", "program")) == "exp_loop");
  CHECK(function_place_words(function("memmove", "libc.so.6")) == "memmove (libc.so.6)");
  CHECK(profkit::detail::function_words(function("exp_loop", "program", "layer.cpp")) == "exp_loop");
}

TEST_CASE("the answer of the section names the functions of the longest scope with their lines", "[samples_section]") {
  profkit::host_samples_summary const samples = *profkit::analyze(profile_with_samples()).host_samples;
  std::string const answer = profkit::detail::samples_answer(samples);
  CHECK_THAT(answer, ContainsSubstring("softmax: 50"));
  CHECK_THAT(answer, ContainsSubstring("exp_loop (layer.cpp:40), 30"));
  CHECK_THAT(answer, ContainsSubstring("libc.so.6, called by load."));
}

TEST_CASE("named and unnamed waiting are separate in the answer and in the table", "[samples_section]") {
  profkit::host_samples_summary samples = *profkit::analyze(profile_with_samples()).host_samples;
  profkit::sampled_scope_summary& softmax = samples.scopes.front();
  softmax.waits = {{"cudaStreamSynchronize", 3, profkit::milliseconds{10.0}, 0.25}};
  CHECK_THAT(profkit::detail::samples_answer(samples), ContainsSubstring(" waiting in cudaStreamSynchronize, 20"));
  profkit::sampled_share const rest = *profkit::detail::unnamed_waiting(softmax);
  CHECK(std::abs(rest.share - (softmax.waiting->share - 0.25)) < 1e-12);
  CHECK(rest.ci95_low == 0.0);
  CHECK(rest.ci95_high < softmax.waiting->ci95_high);
  profkit::detail::data_table const table = profkit::detail::samples_table(samples);
  double ms = 0.0;
  for (std::size_t i = 1; i < table.rows.size() && table.rows[i].depth == 1; ++i) ms += std::get<double>(table.rows[i].cells[1].value);
  CHECK(std::abs(ms - softmax.self->count()) < 1e-9);
}

TEST_CASE("the section says how much of the processor time samples saw, and the answer what threads without scopes used",
          "[samples_section]") {
  profkit::host_samples_summary samples = *profkit::analyze(profile_with_samples()).host_samples;
  CHECK_THAT(note_of(samples), !ContainsSubstring("saw"));
  samples.share_of_process = 0.5;
  samples.kernel_share = 0.03;
  std::string const of_threads = " Threads without scopes are not sampled: ";
  CHECK_THAT(profkit::detail::samples_answer(samples), ContainsSubstring(of_threads + profkit::detail::share_words(0.47)));
  CHECK_THAT(note_of(samples),
             ContainsSubstring("They saw " + profkit::detail::share_words(0.5) + " of the processor time of the process; " +
                               profkit::detail::share_words(0.03) + " was in the kernel."));
  samples.share_of_process = 0.9;
  CHECK_THAT(profkit::detail::samples_answer(samples), !ContainsSubstring(of_threads));
}

TEST_CASE("the section says why there are no source lines", "[samples_section]") {
  profkit::host_samples_summary samples = *profkit::analyze(profile_with_samples()).host_samples;
  CHECK(note_of(samples).find("source lines") == std::string::npos);
  samples.why_no_lines = "libdw.so.1 (elfutils) cannot be opened";
  CHECK_THAT(note_of(samples), ContainsSubstring("No source lines: libdw.so.1 (elfutils) cannot be opened."));
}
