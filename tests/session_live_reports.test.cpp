// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/report/headline.hpp>
#include <profkit/impl/session/live/live_reports.hpp>
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
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "support/filled_summary.hpp"
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

TEST_CASE("metrics are whole at any time, count up, and end with the figures of the report", "[session][metrics]") {
  temporary_folder const folder{"live-metrics"};
  std::filesystem::path const file = folder.path / "run.prom";
  profkit::options options = plain_options(2, 1'000'000);
  options.metrics = file.string();
  options.metrics_every = std::chrono::milliseconds{1};
  options.journal = (folder.path / "run.journal").string();  // begins at once, on the session's thread
  auto const measured = [&] {
    std::string const text = text_of(file);
    CHECK((!text.empty() && text.back() == '\n'));
    CHECK_THAT(text, ContainsSubstring("profkit_dropped_events_total{"));  // the last one
    std::size_t const at = text.find(R"(kind="measured"} )");
    return at == std::string::npos ? 0 : std::stoull(text.substr(at + 17));
  };
  std::uint64_t before = 0;
  {
    profkit::session session{options};
    CHECK(measured() == 0);  // the file is there from the beginning
    bool const counts_up = comes_true([&] {
      { profkit::step const step{session}; }
      std::uint64_t const now = measured();
      CHECK(now >= before);
      before = now;
      return now > 50;
    });
    CHECK(counts_up);
    before = session.report().summary().steps.host.count;
  }
  CHECK(measured() == before);
  CHECK_THAT(text_of(file), ContainsSubstring("profkit_session_ended{") && ContainsSubstring(R"("} 1)"));
}

TEST_CASE("metrics that fail are a warning in the report until they are written again", "[session][metrics]") {
  temporary_folder const folder{"failed-metrics"};
  profkit::options options = plain_options(0, 1'000'000);
  options.metrics = (folder.path / "later" / "run.prom").string();
  options.metrics_every = std::chrono::milliseconds{1};
  profkit::session session{options};
  auto const status = [&] { return session.snapshot().profile().collectors.at(0); };
  CHECK(status().name == "metrics");
  CHECK(status().status == "not written");
  CHECK_THAT(status().reason, ContainsSubstring("No such file or directory"));
  std::filesystem::create_directory(folder.path / "later");
  CHECK(comes_true([&] { return status().status == "written"; }));
  CHECK(status().reason == options.metrics);
}

TEST_CASE("metrics have base units, escaped labels, and no figure that is n/a", "[metrics]") {
  profkit::summary summary;
  summary.environment.command = {"/bin/odd \"na\\me\"\n"};
  summary.environment.process_id = 7;
  summary.environment.rank = profkit::rank_record{3, 8, {}, {}, {}};
  summary.steps.host.count = 4;
  summary.steps.host.total = profkit::milliseconds{500};
  summary.steps.host.median = profkit::milliseconds{125};
  summary.steps.items = 40;
  summary.steps.items_per_second = 80.0;
  summary.steps.item_name = "tokens";
  summary.steps.step_time = profkit::step_time_summary{profkit::milliseconds{125}, "host step time", {}};
  summary.budget = profkit::budget_summary{};
  summary.budget->wall = profkit::milliseconds{200};
  summary.budget->busy = profkit::milliseconds{150};
  summary.budget->rows.push_back({"forward", {}, {profkit::milliseconds{20}, {}, profkit::milliseconds{30}, {}, {}}, {}});
  summary.steps.clocks.push_back({1, 8, 2, 0, 0.0, 0, 0, 0, 400.0, 500.0, 66});
  summary.memory.push_back({"host", "resident", 4, 1, 4096, 8192, {}, {}, {}});
  summary.energy.emplace_back().meter = "package-0";
  summary.energy.back().joules_per_step = 2.5;
  summary.timeline = profkit::rank_timeline{};
  summary.timeline->steps.resize(2);
  summary.timeline->steps[0].communication = std::chrono::milliseconds{30};
  summary.timeline->steps[1].exposed = std::chrono::milliseconds{10};
  std::string const text = profkit::detail::metrics_text::of(summary, false);
  std::string const own = R"({program="odd \"na\\me\"\n",rank="3",pid="7")";
  for (char const* const line :
       {"profkit_steps_total@,kind=\"measured\"} 4\n", "profkit_step_seconds@,quantile=\"0.5\"} 0.125\n",
        "profkit_step_seconds_sum@} 0.5\n", "profkit_items_total@,item=\"tokens\"} 40\n", "profkit_gpu_busy_ratio@} 0.75\n",
        "profkit_gpu_idle_ratio@,cause=\"launching\"} 0.1\n", "profkit_gpu_idle_ratio@,cause=\"synchronisation\"} 0.15\n",
        "profkit_gpu_power_watts@,device=\"1\"} 400\n", "profkit_gpu_energy_per_step_joules@,device=\"1\"} 50\n",
        "profkit_gpu_temperature_max_celsius@,device=\"1\"} 66\n", "profkit_gpu_throttled_ratio@,device=\"1\"} 0.25\n",
        "profkit_energy_per_step_joules@,meter=\"package-0\"} 2.5\n", "profkit_memory_bytes@,source=\"host\",quantity=\"resident\"} 4096\n",
        "profkit_communication_per_step_seconds@} 0.015\n", "profkit_exposed_communication_per_step_seconds@} 0.005\n"}) {
    std::string wanted = line;
    wanted.replace(wanted.find('@'), 1, own);
    CHECK_THAT(text, ContainsSubstring(wanted));
  }
  for (char const* const missing : {"0.95", "model_flops", "capacity", "allocated", "sm_active", "nan", "inf"}) {
    CHECK_THAT(text, !ContainsSubstring(missing));
  }
}

TEST_CASE("promtool has no complaint about any metric", "[metrics]") {
  char const* const named = std::getenv("PROMTOOL");
  std::string const promtool = named == nullptr ? "promtool" : named;
  if (std::system((promtool + " --version >/dev/null 2>&1").c_str()) != 0) SKIP("there is no promtool (Debian: prometheus)");
  temporary_folder const folder{"promtool"};
  profkit::summary all = filled_summary();
  for (profkit::timeline_step& each : all.timeline->steps) each.is_measured = true;
  std::string const text = profkit::detail::metrics_text::of(all, false);
  for (char const* const last : {"profkit_model_flops_utilization_ratio{", "profkit_gpu_sm_active_ratio{", "profkit_allocated_max_bytes{",
                                 "profkit_exposed_communication_per_step_seconds{", "profkit_energy_per_step_joules{"}) {
    CHECK_THAT(text, ContainsSubstring(last));
  }
  std::filesystem::path const file = folder.path / "all.prom";
  std::filesystem::path const said = folder.path / "said";
  std::ofstream{file} << text;
  CHECK(std::system((promtool + " check metrics <" + file.string() + " >" + said.string() + " 2>&1").c_str()) == 0);
  CHECK(text_of(said).empty());
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
