// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/report/headline.hpp>
#include <profkit/report.hpp>
#include <profkit/session.hpp>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "support/profile_of.hpp"
#include "support/temporary_folder.hpp"

using Catch::Matchers::ContainsSubstring;

namespace {

std::string text_of(std::filesystem::path const& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

/// Waits until it is true, or for 20 seconds.
template <class Condition>
bool comes_true(Condition&& condition) {
  auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds{20};
  while (std::chrono::steady_clock::now() < deadline) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return false;
}

profkit::options every(std::chrono::milliseconds period, std::filesystem::path const& folder) {
  profkit::options result = plain_options(0, 1'000'000);
  result.report_every = period;
  result.output_directory = folder.string();
  return result;
}

}  // namespace

TEST_CASE("report=every writes complete files while the session continues, and the last report at its end", "[session][live]") {
  temporary_folder const folder{"live-reports"};
  std::filesystem::path const json = folder.path / "out" / "report.json";
  std::uint64_t steps = 0;
  std::size_t reports = 0;
  {
    profkit::session session{every(std::chrono::milliseconds{30}, folder.path / "out")};
    std::string before;
    bool const came = comes_true([&] {
      profkit::step const step{session};
      PROF_SCOPE("work");
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
      ++steps;
      std::string const now = text_of(json);  // inside a step, to show that nothing waits for its end
      if (now == before) return false;
      before = now;
      CHECK_THAT(now, ContainsSubstring("\"step_open\""));
      CHECK(now.find_last_not_of(" \n") == now.rfind('}'));  // the file is complete
      return ++reports >= 3;
    });
    CHECK(came);
  }
  std::string const last = text_of(json);
  CHECK_THAT(last, !ContainsSubstring("\"step_open\"") && ContainsSubstring("\"measured\": " + std::to_string(steps)));
  for (auto const& each : std::filesystem::directory_iterator{folder.path / "out"}) {
    CHECK_THAT(each.path().filename().string(), !ContainsSubstring("tmp"));
  }
}

TEST_CASE("report=every:N writes whole files after every N-th step, and none between", "[session][live]") {
  temporary_folder const folder{"live-reports-steps"};
  std::filesystem::path const json = folder.path / "out" / "report.json";
  profkit::options options = plain_options(0, 1'000'000);
  options.report_every_steps = 5;
  options.output_directory = (folder.path / "out").string();
  profkit::session session{options};
  auto const make_steps = [&](int count) {
    for (int i = 0; i < count; ++i) {
      profkit::step const step{session};
      PROF_SCOPE("work");
    }
  };
  auto const has_steps = [&](char const* count) { return text_of(json).find("\"measured\": " + std::string{count}) != std::string::npos; };
  make_steps(4);
  std::this_thread::sleep_for(std::chrono::milliseconds{50});
  CHECK_FALSE(std::filesystem::exists(json));
  make_steps(1);
  CHECK(comes_true([&] { return has_steps("5"); }));
  make_steps(4);
  std::this_thread::sleep_for(std::chrono::milliseconds{50});
  CHECK(has_steps("5"));
  make_steps(1);
  CHECK(comes_true([&] { return has_steps("10"); }));
}

namespace {

std::atomic<bool> is_disk_blocked{false};
std::atomic<bool> is_stuck{false};

}  // namespace

/// Replaces the function of the C library: a disk that does not answer where a trace is to be renamed.
extern "C" int rename(char const* from, char const* to) noexcept {
  while (is_disk_blocked && std::strstr(to, "trace.json") != nullptr) {
    is_stuck = true;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

TEST_CASE("a blocked disk does not stop recording and draining", "[session][live]") {
  temporary_folder const folder{"live-reports-slow"};
  profkit::options options = every(std::chrono::milliseconds{1}, folder.path / "out");
  options.log_slots_per_thread = std::uint64_t{1} << 16U;  // 21,845 scopes
  is_disk_blocked = true;
  {
    profkit::session session{options};
    CHECK(comes_true([] { return is_stuck.load(); }));
    constexpr std::uint64_t bursts = 10;
    for (std::uint64_t burst = 1; burst <= bursts; ++burst) {
      for (int i = 0; i < 10'000; ++i) PROF_SCOPE("scope");
      CHECK(session.snapshot().profile().scopes.size() == burst * 10'000);
    }
    profkit::step const step{session};
    CHECK_THAT(text_of(folder.path / "out" / "report.json"), ContainsSubstring("\"schema\""));
    is_disk_blocked = false;
  }
  CHECK_THAT(text_of(folder.path / "out" / "report.json"), ContainsSubstring("\"snapshot\": null"));
  CHECK_THAT(text_of(folder.path / "out" / "report.json"), ContainsSubstring("\"dropped_events\": 0"));
}

TEST_CASE("report() and the destructor end a session while a report is always due, and none is written afterwards", "[session][live]") {
  temporary_folder const folder{"live-reports-end"};
  for (int i = 0; i < 20; ++i) {
    profkit::session session{every(std::chrono::milliseconds{1}, folder.path / "out")};
    for (int k = 0; k < 3; ++k) {
      profkit::step const step{session};
      std::this_thread::sleep_for(std::chrono::milliseconds{i % 4});
    }
    if (i % 2 == 0) {
      CHECK(session.report().profile().steps.size() == 3);
      std::filesystem::remove(folder.path / "out" / "steps.csv");
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
      CHECK_FALSE(std::filesystem::exists(folder.path / "out" / "steps.csv"));  // none is written after report()
    }
  }
  CHECK_THAT(text_of(folder.path / "out" / "report.json"), ContainsSubstring("\"snapshot\": null"));
}

TEST_CASE("the status line of a running session has its duration, its steps and their time", "[report][live]") {
  profkit::summary summary;
  summary.covers_steps = false;
  summary.scopes_recorded = 12;
  CHECK(profkit::status_line(summary, std::chrono::seconds{59}) == "00:00:59: 12 scopes recorded, no step made");
  summary.covers_steps = true;
  summary.steps.warmup = 5;
  CHECK(profkit::status_line(summary, std::chrono::minutes{1}) == "00:01:00: 0 steps measured, 5 warm-up steps made");
  summary.steps.host.count = 1234;
  summary.steps.host.mean = profkit::milliseconds{1.31};
  summary.steps.host.p95 = profkit::milliseconds{1.4};
  CHECK(profkit::status_line(summary, std::chrono::hours{100}) == "100:00:00: 1234 steps measured; host step time 1.310 ms, p95 1.400 ms");
  summary.budget = profkit::budget_summary{};
  summary.budget->wall = profkit::milliseconds{200};
  summary.budget->busy = profkit::milliseconds{186};
  CHECK_THAT(profkit::status_line(summary, {}), ContainsSubstring("; GPU busy 93.0 %"));
}
