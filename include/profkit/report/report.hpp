// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "../analyze/analyze.hpp"
#include "../analyze/summary.hpp"
#include "../profile/error.hpp"
#include "../profile/profile.hpp"
#include "quality_text.hpp"
#include "report_json.hpp"
#include "tables.hpp"

namespace profkit {

/// A profile and what it comes to. Cheap to copy; prints with fmt: `fmt::print("{}\n", report)`.
class report {
 public:
  explicit report(std::shared_ptr<profkit::profile const> of)
      : profile_{std::move(of)}, summary_{std::make_shared<profkit::summary const>(analyze(*profile_))} {}

  [[nodiscard]] profkit::profile const& profile() const noexcept { return *profile_; }
  [[nodiscard]] profkit::summary const& summary() const noexcept { return *summary_; }

  /// Tables for a terminal.
  [[nodiscard]] std::string text() const { return render(&table::to_text, ""); }

  /// The same tables in Markdown.
  [[nodiscard]] std::string markdown() const { return render(&table::to_markdown, "## "); }

  /// Writes `report.json`, `report.md`, `scopes.csv` and `steps.csv`; makes the directory if need be.
  /// @throws profkit::error that names the file.
  void write(std::filesystem::path const& directory) const {
    std::error_code failure;
    std::filesystem::create_directories(directory, failure);
    if (failure) throw error{"cannot make the directory " + directory.string() + ": " + failure.message(), failure.value()};
    write_file(directory / "report.json", report_json(*summary_));
    write_file(directory / "report.md", markdown());
    write_file(directory / "scopes.csv", scope_table(*summary_).to_csv());
    write_file(directory / "steps.csv", step_table(*summary_).to_csv());
  }

 private:
  [[nodiscard]] std::string render(std::string (table::*format)() const, char const* title) const {
    auto const section = [&](char const* name, table const& content, char const* if_empty) {
      return fmt::format("{}{}\n\n{}\n", title, name, content.empty() ? std::string{if_empty} + "\n" : (content.*format)());
    };
    std::string text;
    if (!summary_->covers_steps) text += "No step was made (profkit::step): everything below covers the whole session.\n\n";
    text += section("Steps", step_table(*summary_), "") + throughput();
    text += section("Scopes", scope_table(*summary_), "no scope was recorded");
    if (!summary_->memory.empty()) text += section("Memory", memory_table(*summary_), "");
    if (!summary_->counters.empty()) text += section("Counters", counter_table(*summary_), "");
    text += fmt::format("{}Kernels\n\nnot collected (no collector)\n\n", title);
    return text + fmt::format("{}Data quality\n\n{}", title, quality_text(*summary_));
  }

  [[nodiscard]] std::string throughput() const {
    step_summary const& steps = summary_->steps;
    std::string text = fmt::format("{} warm-up steps excluded; std is of the sample (n - 1)", steps.warmup);
    if (steps.items_per_second) {
      text += fmt::format("; {} {}/s by {}", detail::format_count(steps.items_per_second), steps.item_name, steps.items_per_second_basis);
    }
    return text + "\n\n";
  }

  static void write_file(std::filesystem::path const& path, std::string const& content) {
    std::ofstream file{path, std::ios::binary};
    file << content;
    file.close();
    if (!file) throw error{"cannot write " + path.string()};
  }

  std::shared_ptr<profkit::profile const> profile_;
  std::shared_ptr<profkit::summary const> summary_;
};

}  // namespace profkit

template <>
struct fmt::formatter<profkit::report> : fmt::formatter<std::string> {
  template <class Context>
  auto format(profkit::report const& of, Context& context) const {
    return fmt::formatter<std::string>::format(of.text(), context);
  }
};
