// SPDX-License-Identifier: Apache-2.0
#include <profkit/perfetto.hpp>
#include <profkit/profkit.hpp>

#include <fmt/format.h>

#include <filesystem>

// Both traces are in the current folder.
int main() {
  profkit::session session;
  for (profkit::step step : session) {
    PROF_SCOPE("consumed");
  }
  profkit::report const report = session.report();
  report.write_trace("consumer.json");
  if (std::filesystem::file_size("consumer.pftrace") == 0 || std::filesystem::file_size("consumer.json") == 0) return 1;
  fmt::print("{}\n", report);
}
