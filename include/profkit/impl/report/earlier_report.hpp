// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../../time.hpp"
#include "../profile/file_access.hpp"
#include "../profile/own_memory.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The files of a folder of reports. Some reports do not have the ones from `first_occasional_file` on; those after `kernels.csv` are of
/// earlier versions.
inline constexpr std::array<std::string_view, 16> report_file_names{"report.json",
                                                                    "summary.profkit",
                                                                    "report.html",
                                                                    "report.md",
                                                                    "scopes.csv",
                                                                    "steps.csv",
                                                                    "trace.json",
                                                                    "scope_memory.csv",
                                                                    "kernels.csv",
                                                                    "nvtx_pushpop_sum.csv",
                                                                    "cuda_api_sum.csv",
                                                                    "cuda_gpu_kern_sum.csv",
                                                                    "nvtx_kern_sum.csv",
                                                                    "cuda_gpu_mem_time_sum.csv",
                                                                    "cuda_gpu_mem_size_sum.csv",
                                                                    "nvtx_gpu_proj_sum.csv"};
inline constexpr std::size_t first_occasional_file = 7;

/// If `report.json` cannot be written, the end of `report.html` lists the files of the report; if that fails too, this file does.
inline constexpr char const* file_list_name = ".profkit-files";
inline constexpr std::string_view file_list_magic = "Files of a profkit report:\n";

/// What the report in a folder says about itself.
struct earlier_report {
  std::vector<std::string> files;    ///< names of the files that belong to it
  std::uint64_t process_id = 0;      ///< 0: unknown
  std::string program;               ///< without blanks; empty: unknown
  std::optional<timestamp> written;  ///< when `report.json` was written
};

/// A text without blanks and line ends.
template <class String>
[[nodiscard]] String without_blanks(String text) {
  text.erase(std::remove_if(text.begin(), text.end(), [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }), text.end());
  return text;
}

/// Reads the beginning of `report.json` of this or an earlier version. Recognises it by its first members, without a JSON parser.
/// @return nothing if it is not a file that profkit wrote.
[[nodiscard]] inline std::optional<earlier_report> read_report_head(std::filesystem::path const& file) {
  constexpr ::off_t max_head = ::off_t{1} << 16U;
  own_string const head = without_blanks(part_of_file(file, max_head));
  constexpr std::string_view first = "{\"schema\":";
  std::size_t const own = head.find("\"profkit\":{\"version\":");
  if (head.compare(0, first.size(), first) != 0 || own == std::string::npos || own > 64) return std::nullopt;
  std::string_view const object = std::string_view{head}.substr(own, head.find('}', own) - own);
  earlier_report result;
  auto const value_of = [](std::string_view text, std::string_view key) {
    std::size_t const at = text.find(key);
    return at == std::string_view::npos ? std::string_view{} : text.substr(at + key.size());
  };
  std::string_view const id = value_of(object, "\"process_id\":");
  std::from_chars(id.data(), id.data() + id.size(), result.process_id);
  std::string_view const program = value_of(head, "\"command\":[\"");
  result.program = program.substr(0, program.find('"'));
  std::string_view list = value_of(object, "\"files\":[");
  bool const is_old = list.empty();  // its version wrote or removed each of these files
  list = list.substr(0, list.find(']'));
  for (std::string_view const name : report_file_names) {
    if (is_old || list.find("\"" + std::string{name} + "\"") != std::string_view::npos) result.files.emplace_back(name);
  }
  struct ::stat found {};
  if (::lstat(file.c_str(), &found) == 0) {
    result.written = timestamp{std::chrono::seconds{found.st_mtim.tv_sec} + std::chrono::nanoseconds{found.st_mtim.tv_nsec}};
  }
  return result;
}

/// The list of `files` that takes the place of the one in `report.json`.
[[nodiscard]] inline std::string file_list(std::vector<std::string> const& files) {
  std::string text{file_list_magic};
  for (std::string const& name : files) text += name + "\n";
  return text;
}

/// The names in the list at the end of a file; empty without a list.
[[nodiscard]] inline std::vector<std::string> read_file_list(std::filesystem::path const& file) {
  constexpr ::off_t max_bytes = 2048;
  std::vector<std::string> result;
  own_string const end = part_of_file(file, -max_bytes);
  std::size_t const begin = end.rfind(file_list_magic);
  for (std::string_view const name : report_file_names) {
    if (begin != std::string::npos && end.find("\n" + std::string{name} + "\n", begin) != std::string::npos) result.emplace_back(name);
  }
  return result;
}

}  // namespace PROFKIT_NAMESPACE::detail
