// SPDX-License-Identifier: Apache-2.0
//
// Writes the pages that check_pages.py opens in a browser: of made documents, and of summaries of recorded and made profiles.
//   usage: write_pages FOLDER
#include <profkit/analyze/analyze.hpp>
#include <profkit/profile/atomic_file.hpp>
#include <profkit/profile/save_load.hpp>
#include <profkit/report/html_page.hpp>
#include <profkit/report/make_document.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include "../support/hostile_document.hpp"
#include "../support/hostile_profile.hpp"
#include "../support/huge_document.hpp"
#include "../support/made_document.hpp"
#include "../support/made_kinds.hpp"
#include "../support/made_runs.hpp"

namespace {

/// What a session without a GPU would have recorded of a profile.
profkit::profile without_gpu(profkit::profile what) {
  what.gpu_operations.clear();
  what.gpu_scopes.clear();
  what.gpu_steps.clear();
  what.api_calls.clear();
  what.device_clocks.clear();
  what.device_utilization.clear();
  what.environment.gpu.clear();
  what.collectors.clear();
  return what;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  std::filesystem::path const folder = arguments[1];
  auto const write = [&](std::string const& name, profkit::detail::document const& what) {
    profkit::detail::write_file(folder / (name + ".html"), profkit::detail::html_page(what));
  };
  auto const report = [&](std::string const& name, profkit::profile const& of) {
    write("report_" + name, profkit::detail::make_document(profkit::analyze(of)));
  };
  write("made", made_document());
  write("empty", {"a program", "", "The session took 3 s; no steps were marked", {}, {}, {}, "profkit 0.1.0"});
  write("huge", huge_document());
  for (std::uint32_t seed = 1; seed <= 3; ++seed) write("hostile_" + std::to_string(seed), hostile_document(seed));
  std::filesystem::path const data = TEST_DATA;
  for (auto const& each : std::filesystem::directory_iterator{data}) {
    if (each.path().extension() == ".profile") report(each.path().stem(), profkit::load(each.path()));
  }
  profkit::profile const recorded = profkit::load(data / "tiny-128-train-bf16.profile");
  report("host_only", without_gpu(recorded));
  report("hostile_names", hostile_profile(recorded));
  report("validation", training_with_one_validation());
  report("long_run", long_run());
  report("many_paths", run_of_many_paths());
  report("nothing", {});
}
