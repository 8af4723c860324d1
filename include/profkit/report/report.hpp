// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "../analyze/analyze.hpp"
#include "../analyze/attribution.hpp"
#include "../analyze/nsys_summary.hpp"
#include "../analyze/summary.hpp"
#include "../profile/error.hpp"
#include "../profile/profile.hpp"
#include "adopted_table.hpp"
#include "budget_table.hpp"
#include "gpu_tables.hpp"
#include "memory_table.hpp"
#include "nsys_csv.hpp"
#include "quality_text.hpp"
#include "report_json.hpp"
#include "tables.hpp"
#include "trace_json.hpp"
#include "verdict_text.hpp"
#include "work_table.hpp"

namespace profkit {

class report;

namespace detail {

/// The code behind a report. A template whose members are defined outside of it, so that a program of many translation units can compile
/// it in one: the others define `PROFKIT_REPORT_ELSEWHERE`, that one says `template struct profkit::detail::report_code<void>;`.
template <class>
struct report_code {
  static std::shared_ptr<summary const> summarize(profile const& of);
  static std::string text(report const& of, bool as_markdown);
  static void write(report const& of, std::filesystem::path const& directory, std::uint64_t trace_steps);
  static void write_trace(profile const& of, std::filesystem::path const& path, std::uint64_t steps);
};

}  // namespace detail

/// A profile and what it comes to. Cheap to copy; prints with fmt: `fmt::print("{}\n", report)`.
class report {
 public:
  explicit report(std::shared_ptr<profkit::profile const> of)
      : profile_{std::move(of)}, summary_{detail::report_code<void>::summarize(*profile_)} {}

  [[nodiscard]] profkit::profile const& profile() const noexcept { return *profile_; }
  [[nodiscard]] profkit::summary const& summary() const noexcept { return *summary_; }

  /// Tables for a terminal.
  [[nodiscard]] std::string text() const { return detail::report_code<void>::text(*this, false); }

  /// The same tables in Markdown.
  [[nodiscard]] std::string markdown() const { return detail::report_code<void>::text(*this, true); }

  /// Writes `report.json`, `report.md`, `scopes.csv`, `steps.csv`, `trace.json` and `nvtx_pushpop_sum.csv`; where kernels were collected
  /// `kernels.csv` and the other summaries of Nsight Systems, too. Makes the directory if need be.
  /// @param trace_steps how many of the last measured steps are in `trace.json`.
  /// @throws profkit::error that names the file.
  void write(std::filesystem::path const& directory, std::uint64_t trace_steps = 3) const {
    detail::report_code<void>::write(*this, directory, trace_steps);
  }

  /// Writes what `trace_json` gives. Open it in https://ui.perfetto.dev.
  /// @throws profkit::error that names the file.
  void write_trace(std::filesystem::path const& path, std::uint64_t steps = 3) const {
    detail::report_code<void>::write_trace(*profile_, path, steps);
  }

 private:
  std::shared_ptr<profkit::profile const> profile_;
  std::shared_ptr<profkit::summary const> summary_;
};

namespace detail {

/// Tables one below the other, as text or as Markdown.
class report_sections {
 public:
  explicit report_sections(bool is_markdown) : is_markdown_{is_markdown} {}

  [[nodiscard]] std::string title(char const* name) const { return fmt::format("{}{}\n\n", is_markdown_ ? "## " : "", name); }

  [[nodiscard]] std::string operator()(char const* name, table const& content, char const* if_empty) const {
    std::string const body = is_markdown_ ? content.to_markdown() : content.to_text();
    return title(name) + (content.empty() ? std::string{if_empty} + "\n" : body) + "\n";
  }

  /// Lines as they are, in both.
  [[nodiscard]] std::string lines(std::string const& content) const {
    return is_markdown_ ? "```\n" + content + "```\n\n" : content + "\n";
  }

 private:
  bool is_markdown_;
};

inline std::string budget_text(summary const& of, report_sections const& section) {
  std::string text = section("Where the step went", budget_table(of), "") + budget_verdict(of) + "\n";
  if (!of.budget->starving.empty()) text += section("What the GPU waits for", starving_table(of), "");
  return text;
}

inline std::string gpu_text(summary const& of, report_sections const& section) {
  gpu_summary const& gpu = *of.gpu;
  std::string text = section("GPU work by scope", gpu_scope_table(of), "no scope was recorded") +
                     "kernel, busy and span: of the operations launched in the scopes or inside them; self: in the scopes themselves\n" +
                     idle_note(of) + "\n";
  text += section("Kernels", top_kernel_table(gpu), "no kernel ran") + kernel_note(gpu) + "\n";
  if (!gpu.classes.empty()) text += section("Kernel classes", class_table(gpu), "");
  if (!gpu.copies.empty()) text += section("Copies and memsets", copy_table(gpu), "");
  if (gpu.api) text += section("API calls", api_table(gpu), "no API call was made");
  return text;
}

inline std::string work_text(summary const& of, report_sections const& section) {
  if (!has_work(of)) return {};
  return section("Work and limits", work_table(of), "") + work_note(of) + "\n" + section("Work by name", work_name_table(of), "");
}

inline std::string memory_text(summary const& of, report_sections const& section) {
  return section("Memory by scope", scope_memory_table(of), "no scope had any") + scope_memory_note +
         (has_polled_memory(of) ? polled_memory_note : "") + "\n" + section("Memory of allocators", allocator_table(of), "");
}

inline std::string throughput_text(step_summary const& of) {
  std::string text = fmt::format("{} warm-up steps excluded; std is of the sample (n - 1)", of.warmup);
  if (of.items_per_second) {
    text += fmt::format("; {} {}/s by {}", format_count(of.items_per_second), of.item_name, of.items_per_second_basis);
  }
  return text + "\n\n";
}

inline void write_file(std::filesystem::path const& path, std::string const& content) {
  std::ofstream file{path, std::ios::binary};
  file << content;
  file.close();
  if (!file) throw error{"cannot write " + path.string()};
}

template <class Unused>
std::shared_ptr<summary const> report_code<Unused>::summarize(profile const& of) {
  return std::make_shared<summary const>(analyze(of));
}

template <class Unused>
std::string report_code<Unused>::text(report const& of, bool as_markdown) {
  summary const& what = of.summary();
  report_sections const section{as_markdown};
  std::string text;
  if (!what.covers_steps) text += "No step was made (profkit::step): everything below covers the whole session.\n\n";
  text += section("Steps", step_table(what), "") + throughput_text(what.steps) + model_text(what);
  if (what.covers_steps) text += section.lines(verdict_text(what));
  if (what.budget) text += budget_text(what, section);
  text += section("Scopes", scope_table(what), "no scope was recorded");
  if (!what.names.empty()) text += section("By name", name_table(what), "");
  if (!what.adopted.empty()) text += section("Work done for scopes elsewhere", adopted_table(what), "") + adopted_note + "\n";
  text += work_text(what, section);
  if (!what.memory.empty()) text += section("Memory", memory_table(what), "");
  if (!what.allocators.empty()) text += memory_text(what, section);
  if (!what.counters.empty()) text += section("Counters", counter_table(what), "");
  text += what.gpu
              ? gpu_text(what, section)
              : section.title("Kernels") + fmt::format("not collected ({})\n\n", why_not_collected(what, "kernels", "no reason was given"));
  return text + section.title("Data quality") + quality_text(what);
}

template <class Unused>
void report_code<Unused>::write(report const& of, std::filesystem::path const& directory, std::uint64_t trace_steps) {
  summary const& what = of.summary();
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (failure) throw error{"cannot make the directory " + directory.string() + ": " + failure.message(), failure.value()};
  write_file(directory / "report.json", report_json(what));
  write_file(directory / "report.md", of.markdown());
  write_file(directory / "scopes.csv", scope_table(what).to_csv());
  if (!what.allocators.empty()) write_file(directory / "scope_memory.csv", scope_memory_table(what).to_csv());
  write_file(directory / "steps.csv", step_table(what).to_csv());
  if (what.gpu) write_file(directory / "kernels.csv", kernel_table(*what.gpu).to_csv());
  attribution const launched = attribute(of.profile());
  for (named_csv const& each : nsys_csv(summarize_like_nsys(of.profile(), launched), what.gpu.has_value())) {
    write_file(directory / each.name, each.content);
  }
  write_file(directory / "trace.json", trace_json(of.profile(), launched, trace_steps));
}

template <class Unused>
void report_code<Unused>::write_trace(profile const& of, std::filesystem::path const& path, std::uint64_t steps) {
  write_file(path, trace_json(of, steps));
}

#ifdef PROFKIT_REPORT_ELSEWHERE
extern template struct report_code<void>;
#endif

}  // namespace detail
}  // namespace profkit

template <>
struct fmt::formatter<profkit::report> : fmt::formatter<std::string> {
  template <class Context>
  auto format(profkit::report const& of, Context& context) const {
    return fmt::formatter<std::string>::format(of.text(), context);
  }
};
