// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <profkit/error.hpp>
#include <profkit/impl/profile/atomic_file.hpp>
#include <profkit/impl/report/html_page.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "compare.hpp"
#include "comparison.hpp"
#include "comparison_document.hpp"
#include "comparison_words.hpp"
#include "decision.hpp"
#include "report_reader.hpp"
#include "run_figures.hpp"

namespace profkit_program {

namespace {

// 2 is for bad arguments or input: main.cpp
constexpr int exit_success = 0;
constexpr int exit_slower = 1;
constexpr int exit_undecided = 3;

enum class text_format { text, json, markdown };

struct compare_arguments {
  std::string a;
  std::string b;
  compare_options options;
  std::optional<double> limit;
  text_format format = text_format::text;
  std::string html;  ///< file of the page; empty: none
  bool all = false;
};

/// "3%", "3 %" and "3" are 0.03.
double share_of(std::string const& option, std::string const& text) {
  std::string_view number = text;
  if (!number.empty() && number.back() == '%') number.remove_suffix(1);
  double value = 0.0;
  if (!CLI::detail::lexical_cast(CLI::detail::trim_copy(std::string{number}), value) || !std::isfinite(value) || value < 0.0 ||
      value > 1000.0) {
    throw CLI::ValidationError{option + ": \"" + text + "\" is not a percentage from 0 to 1000, such as 3%"};
  }
  return value / 100.0;
}

CLI::Option* add_percent(CLI::App& app, std::string const& name, std::function<void(double)> const& take, std::string const& what) {
  return app
      .add_option_function<std::string>(
          name, [take, name](std::string const& text) { take(share_of(name, text)); }, what)
      ->type_name("PERCENT");
}

void add_percent(CLI::App& app, std::string const& name, double& to, std::string const& what) {
  add_percent(
      app, name, [&to](double share) { to = share; }, what)
      ->default_str(fmt::format("{:.4g}%", 100.0 * to));
}

void check_gpu_times(std::vector<run_figures> const& runs) {
  for (run_figures const& run : runs) {
    if (!run.kernels) throw profkit::error{run.file + ": has no GPU times for --metric gpu, kernels is null: they were not collected"};
  }
}

/// Per step or per scope: one comparison is of runs of one kind.
void check_steps(std::vector<run_figures> const& a, std::vector<run_figures> const& b) {
  for (auto const* const side : {&a, &b}) {
    for (run_figures const& run : *side) {
      if (run.has_steps != a.front().has_steps) {
        throw profkit::error{run.file + (run.has_steps ? ": has steps, unlike " : ": has no steps, unlike ") + a.front().file};
      }
    }
  }
}

int run_compare(compare_arguments const& given) {
  std::vector<run_figures> const a = read_side(given.a, given.options.statistic);
  std::vector<run_figures> const b = read_side(given.b, given.options.statistic);
  for (auto const* const side : {&a, &b}) {
    for (run_figures const& run : *side) check_outputs({run.file}, {given.html});
  }
  check_steps(a, b);
  if (given.options.time == time_kind::gpu) {
    check_gpu_times(a);
    check_gpu_times(b);
  }
  comparison const result = compare(a, b, given.options);
  if (result.rows.empty()) {
    throw profkit::error{given.options.scope.empty() ? given.a + " and " + given.b + ": nothing to compare"
                                                     : "--scope " + given.options.scope + ": no such scope with times of this kind in " +
                                                           given.a + " or " + given.b};
  }
  std::optional<decision> const decided = given.limit ? std::optional{decide(result, given.options.scope, *given.limit)} : std::nullopt;
  compared_sides const sides{given.a, given.b, a, b};
  profkit::detail::document const made = make_comparison_document(result, sides, given.options, given.all, decided ? &*decided : nullptr);
  if (!given.html.empty()) profkit::detail::write_file(given.html, profkit::detail::html_page(made));
  if (given.format == text_format::json) {
    fmt::print("{}", comparison_json(result, sides, given.options, decided ? &*decided : nullptr));
  } else {
    fmt::print("{}", comparison_text(made, given.format == text_format::markdown));
  }
  if (!decided) return exit_success;
  fmt::print(stderr, "{}", decision_text(*decided, result.is_noise_measured));
  switch (decided->says()) {
    case decision::outcome::fails:
      return exit_slower;
    case decision::outcome::undecided:
      return exit_undecided;
    case decision::outcome::passes:
      break;
  }
  return exit_success;
}

}  // namespace

void add_compare_command(CLI::App& app, command& chosen) {
  CLI::App& compare =
      *app.add_subcommand("compare", "Says what became faster or slower from A to B, per step or per scope, with how sure that is");
  auto const given = std::make_shared<compare_arguments>();
  compare
      .add_option("A", given->a,
                  "Before: a report.json or summary.profkit, a folder that holds one, or a folder of such folders, one for each run")
      ->required()
      ->type_name("PATH");
  compare.add_option("B", given->b, "After: the same")->required()->type_name("PATH");
  add_percent(
      compare, "--fail-if-slower", [given](double share) { given->limit = share; },
      "Exit code 1 if the step, a scope or a kernel is surely slower by that much, 3 if the runs cannot decide it");
  std::map<std::string, time_kind> const times = {{"auto", time_kind::automatic}, {"gpu", time_kind::gpu}, {"host", time_kind::host}};
  compare.add_option("--metric", given->options.time, "Of scopes: GPU time where both have it, else host time; or only one of them")
      ->transform(CLI::CheckedTransformer{times})
      ->type_name("")
      ->option_text("auto|gpu|host [auto]");
  std::map<std::string, run_statistic> const statistics = {
      {"mean", run_statistic::mean}, {"median", run_statistic::median}, {"minimum", run_statistic::minimum}};
  compare.add_option("--statistic", given->options.statistic, "Of the steps of a run, and of the calls of a scope or kernel")
      ->transform(CLI::CheckedTransformer{statistics})
      ->type_name("")
      ->option_text("mean|median|minimum [mean]");
  compare.add_option("--scope", given->options.scope, "Only the scope with this path, and those inside it")->type_name("PATH");
  std::map<std::string, text_format> const formats = {
      {"text", text_format::text}, {"json", text_format::json}, {"markdown", text_format::markdown}};
  compare.add_option("--format", given->format, "What to print; json has all rows")
      ->transform(CLI::CheckedTransformer{formats})
      ->type_name("")
      ->option_text("text|json|markdown [text]");
  compare.add_option("--html", given->html, "Also write the comparison as one HTML file, with pictures")->type_name("FILE");
  compare.add_flag("--all", given->all, "Also print what is SAME or UNSURE");
  add_percent(compare, "--gpu-noise", given->options.gpu_noise, "By how much GPU times differ from run to run (standard deviation)");
  add_percent(
      compare, "--host-noise",
      [given](double share) {
        given->options.host_noise = share;
        given->options.is_host_noise_known = true;
      },
      "By how much host times do, beyond what the probe says")
      ->default_str("10%, and 30% without a probe");
  add_percent(compare, "--margin", given->options.margin, "A change of less does not matter");
  add_percent(compare, "--floor", given->options.floor, "Nor does one of less than this share of the step");
  compare.footer(
      "Exit codes:\n"
      "  0  compared; with --fail-if-slower: nothing that counts is slower by that much, with 95 % confidence\n"
      "  1  --fail-if-slower: the step, a scope or a kernel is slower by that much, with 95 % confidence\n"
      "  2  bad arguments or input\n"
      "  3  --fail-if-slower: these runs cannot decide it; stderr says about how many runs a side would\n"
      "Noise is assumed where there is one run a side, and counts for less with each further run. Use three or more.");
  compare.callback([given, &chosen] { chosen = [given] { return run_compare(*given); }; });
}

}  // namespace profkit_program
