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
#include <variant>

#include "../analyze/analyze.hpp"
#include "../analyze/gpu/attribution.hpp"
#include "../analyze/names/nsys_summary.hpp"
#include "../analyze/summary.hpp"
#include "../profile/atomic_file.hpp"
#include "../profile/error.hpp"
#include "../profile/input_file.hpp"
#include "../profile/own_memory.hpp"
#include "../profile/profile.hpp"
#include "compact_trace_hook.hpp"
#include "csv_printer.hpp"
#include "file_attempts.hpp"
#include "first_screen.hpp"
#include "html_page.hpp"
#include "json_printer.hpp"
#include "make_document.hpp"
#include "markdown_printer.hpp"
#include "nsys_csv.hpp"
#include "report_code.hpp"
#include "summary_content.hpp"
#include "summary_json_writer.hpp"
#include "text_printer.hpp"
#include "text_style.hpp"
#include "trace_json.hpp"

namespace profkit::detail {

template <class Unused>
std::shared_ptr<summary const> report_code<Unused>::summarize(profile const& profile) {
  return std::make_shared<summary const>(analyze(profile));
}

template <class Unused>
document report_code<Unused>::describe(summary const& what) {
  return make_document(what);
}

template <class Unused>
std::string report_code<Unused>::text(summary const& what) {
  return first_screen(make_document(what), -1, {});
}

template <class Unused>
std::string report_code<Unused>::full_text(summary const& what) {
  return full_text(make_document(what), false);
}

template <class Unused>
std::string report_code<Unused>::markdown(summary const& what) {
  return full_text(make_document(what), true);
}

template <class Unused>
std::string report_code<Unused>::html(summary const& what) {
  return html(make_document(what));
}

template <class Unused>
void report_code<Unused>::print(std::string_view format, summary const& what) {
  std::string const text = report_code<Unused>::text(what);
  fmt::vprint({format.data(), format.size()}, fmt::make_format_args(text));
}

template <class Unused>
std::string report_code<Unused>::first_screen(document const& what, int descriptor, std::string const& files) {
  text_style const style = descriptor < 0 ? plain_style() : style_of(descriptor);
  return detail::first_screen{what, style}.text(files);
}

template <class Unused>
std::string report_code<Unused>::html(document const& what) {
  return html_page(what);
}

template <class Unused>
std::string report_code<Unused>::full_text(document const& what, bool as_markdown) {
  return as_markdown ? markdown_printer{what}.print() : text_printer{what, plain_style()}.print();
}

/// Writes `trace.json`, and `trace.pftrace` if the program includes `<profkit/perfetto.hpp>`.
inline void write_traces(profile const& profile, attribution const& launched, std::uint64_t steps, std::filesystem::path const& path,
                         file_attempts& attempt) {
  attempt([&] { write_trace_json(profile, launched, steps, path); });
  if (write_compact_trace == nullptr) return;
  attempt([&] { write_compact_trace(profile, launched, steps, std::filesystem::path{path}.replace_extension(".pftrace")); });
}

/// The tables of a document that a report writes as CSV files.
inline own_vector<named_csv> csv_files(document const& made) {
  constexpr std::array<std::string_view, 4> names{"scopes", "scope_memory", "steps", "kernels"};
  own_vector<named_csv> result;
  for (section const& from : made.sections) {
    for (block const& each : from.blocks) {
      auto const* const table = std::get_if<data_table>(&each);
      if (table != nullptr && std::find(names.begin(), names.end(), table->name) != names.end())
        result.push_back({table->name + ".csv", csv_of(*table)});
    }
  }
  return result;
}

/// The files that some reports do not have.
inline constexpr std::array<std::string_view, 9> occasional_files{
    "scope_memory.csv",          "kernels.csv",           "cuda_api_sum.csv",  "cuda_gpu_kern_sum.csv", "cuda_gpu_mem_time_sum.csv",
    "cuda_gpu_mem_size_sum.csv", "nvtx_gpu_proj_sum.csv", "nvtx_kern_sum.csv", "trace.pftrace"};

/// Removes files of an earlier report that this report does not have. Does not touch any other file.
/// @param names the files that some reports do not have.
template <class Names>
void remove_earlier_files(std::filesystem::path const& folder, own_vector<std::string> const& written, Names const& names,
                          file_attempts& attempt) {
  for (std::string_view const name : names) {
    if (std::find(written.begin(), written.end(), name) != written.end()) continue;
    attempt([&] {
      std::error_code failure;
      std::filesystem::remove(folder / name, failure);
      if (failure)
        throw error{"cannot remove " + (folder / name).string() + " of an earlier report: " + failure.message(), failure.value()};
    });
  }
}

/// Writes the files that need only a summary. @return their names.
inline own_vector<std::string> write_summary_files(summary const& what, document const& made, std::filesystem::path const& folder,
                                                   file_attempts& attempt) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) throw error{"cannot create the directory " + folder.string() + ": " + failure.message(), failure.value()};
  own_vector<std::string> written;
  auto const write = [&](std::string const& name, std::string const& content) {
    written.push_back(name);
    attempt([&] { write_file(folder / name, content); });
  };
  write("report.json", report_code<void>::json(what));
  attempt([&] { report_code<void>::save_summary(what, (folder / "summary.profkit").string()); });
  written.emplace_back("summary.profkit");
  write("report.html", html_page(made));
  write("report.md", markdown_printer{made}.print());
  for (named_csv const& each : csv_files(made)) write(each.name, each.content);
  return written;
}

template <class Unused>
own_vector<std::string> report_code<Unused>::write(profile const& profile, summary const& what, document const& made,
                                                   std::string const& directory, std::uint64_t trace_steps) {
  std::filesystem::path const folder = directory;
  file_attempts attempt;
  own_vector<std::string> written = write_summary_files(what, made, folder, attempt);
  attribution const launched = attribute(profile);
  for (named_csv const& each : nsys_csv(summarize_like_nsys(profile, launched), what.gpu.has_value())) {
    written.push_back(each.name);
    attempt([&] { write_file(folder / each.name, each.content); });
  }
  write_traces(profile, launched, trace_steps, folder / "trace.json", attempt);
  written.emplace_back("trace.json");
  if (write_compact_trace != nullptr) written.emplace_back("trace.pftrace");
  remove_earlier_files(folder, written, occasional_files, attempt);
  attempt.finish();
  return written;
}

template <class Unused>
void report_code<Unused>::write(profile const& profile, summary const& what, std::string const& directory, std::uint64_t trace_steps) {
  write(profile, what, make_document(what), directory, trace_steps);
}

/// Does not remove an existing trace, because it may be from the same run as the summary.
template <class Unused>
own_vector<std::string> report_code<Unused>::write(summary const& what, document const& made, std::string const& directory) {
  file_attempts attempt;
  own_vector<std::string> written = write_summary_files(what, made, directory, attempt);
  constexpr std::array<std::string_view, 2> occasional{"scope_memory.csv", "kernels.csv"};
  remove_earlier_files(directory, written, occasional, attempt);
  attempt.finish();
  return written;
}

template <class Unused>
std::string report_code<Unused>::document_json(document const& what) {
  return json_printer{what}.print();
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
bool report_code<Unused>::is_summary(std::string const& path) {
  return begins_with(path, summary_magic);
}

template <class Unused>
void report_code<Unused>::save_summary(summary const& what, std::string const& path) {
  atomic_file file{path};
  write_summary(what, file);
  file.finish();
}

template <class Unused>
summary report_code<Unused>::load_summary(std::string const& path) {
  std::ifstream file{path, std::ios::binary};
  if (!file) throw error{"cannot open " + path};
  std::uint64_t const size = size_of(file);
  try {
    return read_summary(file, size);
  } catch (error const& failure) {
    throw error{path + ": " + failure.what()};
  }
}

}  // namespace profkit::detail
