// SPDX-License-Identifier: Apache-2.0
#include "written.hpp"

#include <profkit/analyze.hpp>
#include <profkit/impl/analyze/gpu/attribution.hpp>
#include <profkit/impl/profile/make_profile_builder.hpp>
#include <profkit/impl/report/html_page.hpp>
#include <profkit/impl/report/make_report.hpp>
#include <profkit/impl/report/trace_json.hpp>
#include <profkit/load_report.hpp>
#include <profkit/report.hpp>

#include <cstdint>
#include <filesystem>
#include <utility>

#include "nsys/nsys_csv.hpp"

std::string printed(profkit::profile const& profile) { return profkit::report_full_text(profkit::analyze(profile)); }

std::string printed_journal(std::filesystem::path const& file) { return profkit::load_report(file).text(); }

std::string printed(profkit::summary const& summary) {
  std::string result = profkit::report_text(summary);
  result += profkit::report_full_text(summary) + profkit::report_json(summary) + profkit::report_html(summary);
  for (profkit::detail::named_csv const& each : profkit::detail::csv_files(profkit::detail::report_code::describe(summary)))
    result += each.content;
  return result;
}

std::string saved(profkit::profile const& profile) {
  std::string result;
  profkit::detail::string_output output{result};
  profkit::detail::write_profile(profile, output);
  return result;
}

std::string saved(profkit::summary const& summary) {
  std::string result;
  profkit::detail::string_output output{result};
  profkit::detail::write_summary(summary, output);
  return result;
}

std::vector<profkit::detail::named_csv> written(profkit::profile const& profile) {
  constexpr std::uint64_t trace_steps = 3;
  profkit::summary const what = profkit::analyze(profile);
  profkit::attribution const launched = profkit::attribute(profile);
  std::vector<profkit::detail::named_csv> result = profkit::nsys_csv(profkit::summarize_like_nsys(profile, launched), what.gpu.has_value());
  result.push_back({"report.txt", profkit::report_full_text(what)});
  result.push_back({"report.md", profkit::report_markdown(what)});
  result.push_back({"report.html", profkit::report_html(what)});
  result.push_back({"report.json", profkit::report_json(what)});
  result.push_back({"trace.json", profkit::trace_json(profile, launched, trace_steps)});
  for (profkit::detail::named_csv& each : profkit::detail::csv_files(profkit::detail::report_code::describe(what)))
    result.push_back(std::move(each));
  return result;
}
