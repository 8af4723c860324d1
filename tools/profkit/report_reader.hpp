// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/error.hpp>
#include <profkit/summary.hpp>
#include <profkit/summary_file.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "run_figures.hpp"
#include "summary_figures.hpp"
#include "summary_json.hpp"

namespace profkit_program {

namespace detail {

/// Limits the nesting of lists and objects, because the JSON library handles them by recursion. report.json has 8 levels.
/// @throws profkit::error that names the file and the limit.
inline void check_nesting(std::string_view json, std::filesystem::path const& file) {
  constexpr std::size_t max_depth = 100;
  std::size_t depth = 0;
  bool is_in_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    char const each = json[i];
    if (is_in_text) {
      if (each == '\\') ++i;
      is_in_text = each != '"';
    } else if (each == '"') {
      is_in_text = true;
    } else if (each == '[' || each == '{') {
      if (++depth > max_depth)
        throw profkit::error{file.string() + ": lists and objects are nested more than " + std::to_string(max_depth) +
                             " levels deep, which is the limit"};
    } else if (each == ']' || each == '}') {
      depth -= depth > 0 ? 1 : 0;
    }
  }
}

}  // namespace detail

/// Reads one report.json. Members that the document does not contain stay n/a or 0.
/// @throws profkit::error that names the file and the wrong field.
[[nodiscard]] inline profkit::summary read_report_json(std::filesystem::path const& file) {
  std::ifstream stream = profkit::detail::readable_file(file);
  std::string const content{std::istreambuf_iterator<char>{stream}, {}};
  detail::check_nesting(content, file);
  nlohmann::json const json = nlohmann::json::parse(content, nullptr, false);
  if (json.is_discarded()) throw profkit::error{file.string() + ": is not JSON"};
  detail::json_place const document{&json, file.string() + ": "};
  constexpr std::uint64_t known_schema = 1;
  std::optional<detail::json_place> const schema = json.is_object() ? document.find("schema") : std::nullopt;
  if (!schema) document.fail("schema is missing");
  if (*schema->value != known_schema) {
    schema->fail("is " + schema->value->dump() + ", this program reads " + std::to_string(known_schema));
  }
  profkit::summary result = detail::summary_json_reader{document}.read();
  try {
    profkit::detail::summary_check{}(result);
  } catch (profkit::error const& failure) {
    document.fail(failure.what());
  }
  return result;
}

/// Reads one report.json or summary.profkit.
/// @throws profkit::error that names the file, and what is wrong with it.
[[nodiscard]] inline run_figures read_run(std::filesystem::path const& file, run_statistic which) {
  profkit::summary const summary = profkit::is_summary_file(file) ? profkit::load_summary(file) : read_report_json(file);
  return figures_of_run(summary, file.string(), which);
}

namespace detail {

/// The file of a report folder that is compared: report.json if it exists, because all versions of profkit can read it.
inline std::optional<std::filesystem::path> report_in(std::filesystem::path const& folder) {
  std::error_code ignored;
  for (char const* const name : {"report.json", "summary.profkit"}) {
    if (std::filesystem::exists(folder / name, ignored)) return folder / name;
  }
  return std::nullopt;
}

}  // namespace detail

/// The runs of one side: a report.json or summary.profkit, a folder that holds one, or a folder of such folders.
/// @throws profkit::error that names what is wrong.
[[nodiscard]] inline std::vector<run_figures> read_side(std::filesystem::path const& path, run_statistic which) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (!fs::exists(path, ignored)) throw profkit::error{path.string() + ": does not exist"};
  if (!fs::is_directory(path, ignored)) return {read_run(path, which)};
  if (auto const own = detail::report_in(path)) return {read_run(*own, which)};
  std::vector<fs::path> files;
  for (fs::directory_entry const& each : fs::directory_iterator{path}) {
    if (auto const found = detail::report_in(each.path())) files.push_back(*found);
  }
  if (files.empty()) throw profkit::error{path.string() + ": no report.json and no summary.profkit in it, nor in a folder in it"};
  std::sort(files.begin(), files.end());
  std::vector<run_figures> result;
  result.reserve(files.size());
  for (fs::path const& file : files) result.push_back(read_run(file, which));
  return result;
}

}  // namespace profkit_program
