// SPDX-License-Identifier: Apache-2.0
//
// The cost of a journal for the recording thread, for the session between steps, and for the process, compared with a session without one.
// Each step has one burst of scopes, with a pause in which the journal thread can catch up.
//
// usage: profkit_journal_cost [FILE]
#include <profkit/profkit.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "bench_support.hpp"

namespace {

constexpr std::uint64_t bursts = 40;
constexpr std::uint64_t scopes_per_burst = 50'000;

/// Nanoseconds: the median of the bursts, except `process`.
struct figures {
  double scope = 0.0;          ///< time of the recording thread per scope
  double between_steps = 0.0;  ///< time of the session's thread per scope
  double process = 0.0;        ///< time of all threads per scope, until everything is drained
  double bytes = 0.0;          ///< bytes of the journal per scope
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

figures measure(std::string const& journal) {
  profkit::options options;
  options.warmup_steps = 0;
  options.measured_steps = bursts;
  options.journal = journal;
  std::vector<double> scope;
  std::vector<double> between;
  double const begin = bench::now_ns(CLOCK_PROCESS_CPUTIME_ID);
  double end = 0.0;
  {
    profkit::session session{options};
    for (std::uint64_t burst = 0; burst < bursts; ++burst) {
      double recorded = 0.0;
      {
        profkit::step const step{session};
        double const before = bench::now_ns(CLOCK_THREAD_CPUTIME_ID);
        for (std::uint64_t i = 0; i < scopes_per_burst; ++i) PROF_SCOPE("scope");
        recorded = bench::now_ns(CLOCK_THREAD_CPUTIME_ID);
        scope.push_back((recorded - before) / scopes_per_burst);
      }
      between.push_back((bench::now_ns(CLOCK_THREAD_CPUTIME_ID) - recorded) / scopes_per_burst);
      std::this_thread::sleep_for(std::chrono::milliseconds{60});
    }
    { profkit::step const drains_the_last{session}; }
    end = bench::now_ns(CLOCK_PROCESS_CPUTIME_ID);
  }
  double const all = static_cast<double>(bursts * scopes_per_burst);
  double const bytes = journal.empty() ? 0.0 : static_cast<double>(std::filesystem::file_size(journal));
  return {median(scope), median(between), (end - begin) / all, bytes / all};
}

void print(char const* what, figures const& figures) {
  std::printf("%-16s %8.1f ns a scope, %6.1f ns between steps, %7.1f ns of the process in all, %5.1f bytes\n", what, figures.scope,
              figures.between_steps, figures.process, figures.bytes);
}

}  // namespace

int main(int argc, char** argv) {
  std::filesystem::path const file = argc > 1 ? argv[1] : std::filesystem::temp_directory_path() / "profkit_journal_cost.journal";
  static_cast<void>(measure({}));  // warms up
  print("without journal", measure({}));
  print("with journal", measure(file.string()));
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  return 0;
}
