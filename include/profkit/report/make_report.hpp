// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "../analyze/analyze.hpp"
#include "../analyze/gpu/attribution.hpp"
#include "../analyze/names/nsys_summary.hpp"
#include "../analyze/summary.hpp"
#include "../profile/atomic_file.hpp"
#include "../profile/error.hpp"
#include "../profile/input_file.hpp"
#include "../profile/profile.hpp"
#include "adopted_table.hpp"
#include "budget_table.hpp"
#include "compact_trace_hook.hpp"
#include "coverage_text.hpp"
#include "file_attempts.hpp"
#include "first_screen.hpp"
#include "gpu_tables.hpp"
#include "html_page.hpp"
#include "make_document.hpp"
#include "memory_table.hpp"
#include "nsys_csv.hpp"
#include "quality_text.hpp"
#include "report_code.hpp"
#include "shown_text.hpp"
#include "summary_content.hpp"
#include "summary_json_writer.hpp"
#include "tables.hpp"
#include "text_style.hpp"
#include "trace_json.hpp"
#include "trend_table.hpp"
#include "verdict_text.hpp"
#include "work_table.hpp"

namespace profkit::detail {

/// The sections of a report, as text or as Markdown.
class report_sections {
 public:
  explicit report_sections(bool is_markdown) : is_markdown_{is_markdown} {}

  [[nodiscard]] std::string title(char const* name) const { return fmt::format("{}{}\n\n", is_markdown_ ? "## " : "", name); }

  [[nodiscard]] std::string operator()(char const* name, table const& content, std::string const& if_empty) const {
    std::string const body = is_markdown_ ? content.to_markdown() : content.to_text();
    return title(name) + (content.empty() ? if_empty + "\n" : body) + "\n";
  }

  /// Lines that are equal in both formats.
  [[nodiscard]] std::string lines(std::string const& content) const {
    return is_markdown_ ? "```\n" + content + "```\n\n" : content + "\n";
  }

 private:
  bool is_markdown_;
};

/// The step budget and its verdict. @param summary has a budget.
inline std::string budget_text(summary const& summary, report_sections const& section) {
  std::string text =
      section("Where the step went", budget_table(summary), "") + collected_steps_note(summary) + budget_verdict(summary) + "\n";
  if (!summary.budget->starving.empty()) text += section("What the GPU waits for", starving_table(summary), "");
  return text;
}

/// GPU work by scope, kernels, copies and API calls. @param summary has GPU figures.
inline std::string gpu_text(summary const& summary, report_sections const& section) {
  gpu_summary const& gpu = *summary.gpu;
  std::string text = section("GPU work by scope", gpu_scope_table(summary), nothing_text(summary, "scope")) +
                     "kernel, busy and span: of the operations launched in the scopes or inside them; self: in the scopes themselves\n" +
                     collected_steps_note(summary) + idle_note(summary) + "\n";
  text += section("Kernels", top_kernel_table(gpu), nothing_text(summary, "kernel")) + kernel_note(gpu) + "\n";
  if (!gpu.classes.empty()) text += section("Kernel classes", class_table(gpu), "");
  if (!gpu.copies.empty()) text += section("Copies and memsets", copy_table(gpu), "");
  if (gpu.api) text += section("API calls", api_table(gpu), nothing_text(summary, "API call"));
  return text;
}

/// Declared work and its limits; empty without declared work.
inline std::string work_text(summary const& summary, report_sections const& section) {
  if (!has_work(summary)) return {};
  return section("Work and limits", work_table(summary), "") + work_note(summary) + collected_steps_note(summary) + "\n" +
         section("Work by name", work_name_table(summary), "");
}

/// Memory by scope and by allocator. @param summary has allocators.
inline std::string memory_text(summary const& summary, report_sections const& section) {
  return section("Memory by scope", scope_memory_table(summary), "no scope had any") + scope_memory_note +
         (has_polled_memory(summary) ? polled_memory_note : "") + "\n" + section("Memory of allocators", allocator_table(summary), "");
}

/// Which steps the statistics cover, items per second, and how far the host runs ahead.
inline std::string throughput_text(step_summary const& steps) {
  std::string text = fmt::format("{} warm-up steps excluded", steps.warmup);
  if (steps.excluded > 0) text += fmt::format(", and {} by the program (step.exclude())", steps.excluded);
  text += "; std is of the sample (n - 1)";
  if (steps.items_per_second) {
    text += fmt::format("; {} {}/s by {}", format_count(steps.items_per_second), one_line(steps.item_name), steps.items_per_second_basis);
  }
  return text + "\n" + run_ahead_text(steps) + "\n";
}

template <class Unused>
std::shared_ptr<summary const> report_code<Unused>::summarize(profile const& profile) {
  return std::make_shared<summary const>(analyze(profile));
}

template <class Unused>
std::string report_code<Unused>::first_screen(summary const& what, int descriptor, std::string const& files) {
  text_style const style = descriptor < 0 ? plain_style() : style_of(descriptor);
  return detail::first_screen{make_document(what), style}.text(files);
}

template <class Unused>
std::string report_code<Unused>::html(summary const& what) {
  return html_page(make_document(what));
}

template <class Unused>
std::string report_code<Unused>::full_text(summary const& what, bool as_markdown) {
  report_sections const section{as_markdown};
  std::string text = coverage_text(what);
  if (!what.quality.not_recorded.empty()) return text + section.title("Data quality") + quality_text(what);
  text += section("Steps", step_table(what), "") + throughput_text(what.steps) + model_text(what);
  if (what.covers_steps) text += section.lines(verdict_text(what) + level_change_text(what.trend));
  if (has_trend_table(what.trend)) text += section("Trend", trend_table(what.trend), "") + trend_note + "\n";
  if (what.budget && what.steps.host.count > 0) text += budget_text(what, section);
  text += section("Scopes", scope_table(what, has_gpu_events(what)), nothing_text(what, "scope"));
  if (!what.scopes.empty()) text += "p50, p95 and p99 of scopes have a relative error of at most 1 %\n\n";
  if (!what.names.empty()) {
    std::string const note = collected_steps_note(what);
    text += section("By name", name_table(what), "") + note + (note.empty() ? "" : "\n");
  }
  if (!what.adopted.empty())
    text += section("Work done for scopes elsewhere", adopted_table(what), "") + adopted_note + collected_steps_note(what) + "\n";
  text += work_text(what, section);
  if (!what.memory.empty()) text += section("Memory", memory_table(what), "");
  if (!what.allocators.empty()) text += memory_text(what, section);
  if (!what.counters.empty()) text += section("Counters", counter_table(what), "");
  text += what.gpu ? gpu_text(what, section)
                   : section.title("Kernels") +
                         fmt::format("not collected ({})\n\n", why_not_collected(what, collector_kind::kernels, "no reason was given"));
  return text + section.title("Data quality") + quality_text(what);
}

/// Writes `trace.json`, and `trace.pftrace` if the program includes `<profkit/perfetto.hpp>`.
inline void write_traces(profile const& profile, attribution const& launched, std::uint64_t steps, std::filesystem::path const& path,
                         file_attempts& attempt) {
  attempt([&] { write_trace_json(profile, launched, steps, path); });
  if (write_compact_trace == nullptr) return;
  attempt([&] { write_compact_trace(profile, launched, steps, std::filesystem::path{path}.replace_extension(".pftrace")); });
}

/// The files that only some reports have.
inline constexpr std::array<std::string_view, 9> occasional_files{
    "scope_memory.csv",          "kernels.csv",           "cuda_api_sum.csv",  "cuda_gpu_kern_sum.csv", "cuda_gpu_mem_time_sum.csv",
    "cuda_gpu_mem_size_sum.csv", "nvtx_gpu_proj_sum.csv", "nvtx_kern_sum.csv", "trace.pftrace"};

/// Removes files of an earlier report that this report does not have. Touches no other file.
inline void remove_earlier_files(std::filesystem::path const& folder, std::vector<std::string> const& written, file_attempts& attempt) {
  for (std::string_view const name : occasional_files) {
    if (std::find(written.begin(), written.end(), name) != written.end()) continue;
    attempt([&] {
      std::error_code failure;
      std::filesystem::remove(folder / name, failure);
      if (failure)
        throw error{"cannot remove " + (folder / name).string() + " of an earlier report: " + failure.message(), failure.value()};
    });
  }
}

template <class Unused>
std::vector<std::string> report_code<Unused>::write(profile const& profile, summary const& what, std::string const& directory,
                                                    std::uint64_t trace_steps) {
  std::filesystem::path const folder = directory;
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) throw error{"cannot make the directory " + directory + ": " + failure.message(), failure.value()};
  file_attempts attempt;
  std::vector<std::string> written;
  auto const write = [&](std::string const& name, std::string const& content) {
    written.push_back(name);
    attempt([&] { write_file(folder / name, content); });
  };
  write("report.json", json(what));
  attempt([&] { report_code::save_summary(what, folder / "summary.profkit"); });
  written.emplace_back("summary.profkit");
  write("report.html", html(what));
  write("report.md", full_text(what, true));
  write("scopes.csv", scope_table(what).to_csv());
  if (!what.allocators.empty()) write("scope_memory.csv", scope_memory_table(what).to_csv());
  write("steps.csv", step_table(what).to_csv());
  if (what.gpu) write("kernels.csv", kernel_table(*what.gpu).to_csv());
  attribution const launched = attribute(profile);
  for (named_csv const& each : nsys_csv(summarize_like_nsys(profile, launched), what.gpu.has_value())) write(each.name, each.content);
  write_traces(profile, launched, trace_steps, folder / "trace.json", attempt);
  written.emplace_back("trace.json");
  if (write_compact_trace != nullptr) written.emplace_back("trace.pftrace");
  remove_earlier_files(folder, written, attempt);
  attempt.finish();
  return written;
}

template <class Unused>
void report_code<Unused>::write_trace(profile const& profile, std::string const& path, std::uint64_t steps) {
  file_attempts attempt;
  write_traces(profile, attribute(profile), steps, path, attempt);
  attempt.finish();
}

template <class Unused>
std::string report_code<Unused>::json(summary const& what) {
  return summary_json_writer{what}.write();
}

template <class Unused>
void report_code<Unused>::save_summary(summary const& what, std::filesystem::path const& path) {
  atomic_file file{path};
  write_summary(what, file);
  file.finish();
}

template <class Unused>
summary report_code<Unused>::load_summary(std::filesystem::path const& path) {
  std::ifstream file{path, std::ios::binary};
  if (!file) throw error{"cannot open " + path.string()};
  std::uint64_t const size = size_of(file);
  try {
    return read_summary(file, size);
  } catch (error const& failure) {
    throw error{path.string() + ": " + failure.what()};
  }
}

}  // namespace profkit::detail
