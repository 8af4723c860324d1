// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/impl/profile/journal_encoder.hpp>
#include <profkit/impl/session/live/control_socket.hpp>
#include <profkit/report.hpp>
#include <profkit/save_load.hpp>
#include <profkit/summary_file.hpp>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "../support/made_full_profile.hpp"
#include "../support/temporary_folder.hpp"
#include "../support/testing.hpp"
#include "report_reader.hpp"

// tests/data/1.0 has small files of all formats. From 1.0 on they are frozen, and every later version reads them. Until then, the hidden
// test "[record]" writes them again: profkit_tools_tests "[record]".

namespace {

using nlohmann::json;

std::filesystem::path golden(std::string const& name) { return std::filesystem::path{TEST_DATA} / "1.0" / name; }

/// The part of report.json that follows from the file alone: names, counts and sums, and no verdict, rate or quantile, whose computation
/// may change.
json figures_in(json const& report) {
  static std::set<std::string> const kept{
      "steps",       "warmup",        "measured",    "mean_ms",       "min_ms",       "max_ms",     "item_name", "scopes",
      "path",        "name",          "count",       "host_total_ms", "host_self_ms", "kernels",    "total_ms",  "copies",
      "bytes",       "gpu_kernel_ms", "gpu_busy_ms", "gpu_self_ms",   "allocators",   "peak_bytes", "samples",   "functions",
      "environment", "gpu",           "host",        "command",       "counters",     "energy",     "joules",    "memory"};
  if (report.is_array()) {
    json result = json::array();
    for (json const& each : report) result.push_back(figures_in(each));
    return result;
  }
  if (!report.is_object()) return report;
  json result = json::object();
  for (auto const& [key, value] : report.items()) {
    if (kept.count(key) > 0) result[key] = figures_in(value);
  }
  return result;
}

/// The places where a report lacks what was recorded, or has another value. It may have more.
void find_losses(json const& recorded, json const& now, std::string const& place, std::vector<std::string>& losses) {
  if (recorded.is_object() && now.is_object()) {
    for (auto const& [key, value] : recorded.items()) {
      now.contains(key) ? find_losses(value, now[key], place + "." + key, losses) : losses.push_back(place + "." + key);
    }
  } else if (recorded.is_array() && now.is_array() && recorded.size() == now.size()) {
    for (std::size_t i = 0; i < recorded.size(); ++i) find_losses(recorded[i], now[i], place + "[" + std::to_string(i) + "]", losses);
  } else if (recorded.is_number() && now.is_number()) {
    double const a = recorded.get<double>();
    double const b = now.get<double>();
    if (std::abs(a - b) > 1e-9 * std::max(std::abs(a), std::abs(b))) losses.push_back(place);
  } else if (recorded != now) {
    losses.push_back(place);
  }
}

std::vector<std::string> losses(std::string const& name, profkit::summary const& read) {
  std::ifstream file{golden(name + ".figures.json")};
  std::vector<std::string> result;
  find_losses(json::parse(file), json::parse(std::string{profkit::report_json(read)}), name, result);
  return result;
}

/// The first five steps of a recorded run with a GPU: three of warm-up and two measured ones.
profkit::profile short_run() {
  profkit::profile result = profkit::load(TEST_DATA "/validation-steps.profile");
  result.steps.resize(5);
  profkit::timestamp const end = result.steps.back().time.end;
  auto const begin_of = [](auto const& record) {
    if constexpr (std::is_same_v<decltype(record.time), profkit::interval const> ||
                  std::is_same_v<decltype(record.time), profkit::interval>) {
      return record.time.begin;
    } else {
      return record.time;
    }
  };
  auto const cut = [&](auto& list) {
    list.erase(std::remove_if(list.begin(), list.end(), [&](auto const& each) { return begin_of(each) >= end; }), list.end());
  };
  cut(result.scopes), cut(result.gpu_operations), cut(result.api_calls), cut(result.counters), cut(result.allocations), cut(result.samples);
  cut(result.device_clocks), cut(result.collectives);
  auto& gpu_steps = result.gpu_steps;
  gpu_steps.erase(std::remove_if(gpu_steps.begin(), gpu_steps.end(), [](auto const& each) { return each.step >= 5; }), gpu_steps.end());
  auto& scopes = result.gpu_scopes;
  scopes.erase(std::remove_if(scopes.begin(), scopes.end(), [&](auto const& each) { return each.begin >= end; }), scopes.end());
  result.time.end = end;
  return result;
}

void write_text(std::string const& name, std::string const& text) { std::ofstream{golden(name), std::ios::binary} << text; }

void record(std::string const& name, profkit::profile const& profile) {
  profkit::summary const figures = profkit::analyze(profile);
  std::string const report{profkit::report_json(figures)};
  profkit::save(profile, golden(name + ".profile"));
  profkit::save_summary(figures, golden(name + ".profkit"));
  write_text(name + ".report.json", nlohmann::ordered_json::parse(report).dump() + "\n");  // without blanks: a third of the size
  write_text(name + ".figures.json", figures_in(json::parse(report)).dump() + "\n");
}

/// A journal with two frames of records and one with what was open.
void record_journal(std::string const& name, profkit::profile const& profile) {
  profkit::detail::journal_encoder encoder;
  profkit::detail::own_string bytes = profkit::detail::journal_encoder::beginning();
  profkit::profile first = profile;
  first.scopes.resize(first.scopes.size() / 2);
  encoder.append(first, false, bytes);
  profkit::detail::journal_open open;
  open.time = profile.time.end;
  open.ranges = {{profile.time.begin, 0, 0, {}}, {profile.time.begin, profkit::path_record::no_parent, 0, "cuStreamSynchronize"}};
  encoder.append(open, bytes);
  encoder.append(profile, true, bytes);
  write_text(name + ".journal", std::string{bytes});
}

}  // namespace

TEST_CASE("the files of version 1.0 are recorded again", "[.][record]") {
  record("made", profile_with_everything());
  record_journal("made", profile_with_everything());
  record("run", short_run());
}

TEST_CASE("the files of version 1.0 are read, with the figures that they had", "[golden]") {
  for (std::string const name : {"made", "run"}) {
    CHECK(losses(name, profkit::analyze(profkit::load(golden(name + ".profile").string()))) == std::vector<std::string>{});
    CHECK(losses(name, profkit::load_summary(golden(name + ".profkit").string())) == std::vector<std::string>{});
    CHECK(losses(name, profkit_program::read_report_json(golden(name + ".report.json"))) == std::vector<std::string>{});
  }
  profkit::journal_content const journal = profkit::load_journal(golden("made.journal").string());
  CHECK(journal.is_complete);
  CHECK(losses("made", profkit::analyze(journal.content)) == std::vector<std::string>{});
}

TEST_CASE("the files of version 1.0 have records and figures of all kinds", "[golden]") {
  profkit::profile const made = profkit::load(golden("made.profile").string());
  CHECK_FALSE(made.collectives.empty());
  CHECK_FALSE(made.samples.empty());
  CHECK_FALSE(made.allocations.empty());
  CHECK_FALSE(made.memory.empty());
  CHECK_FALSE(made.work.empty());
  profkit::profile const run = profkit::load(golden("run.profile").string());
  CHECK(run.gpu_operations.size() > 20);
  CHECK(run.api_calls.size() > 20);
  std::uintmax_t bytes = 0;
  for (auto const& each : std::filesystem::directory_iterator{golden("")}) bytes += each.file_size();
  CHECK(bytes < 150 * 1024);
  std::ifstream file{golden("run.figures.json")};
  json const figures = json::parse(file);
  CHECK(figures.at("steps").at("measured") == 2);
  CHECK(figures.at("scopes").size() > 3);
  CHECK(figures.at("kernels").size() > 1);
}

TEST_CASE("the requests of version 1.0 to a session are understood", "[golden]") {
  using kind = profkit::detail::control_request::kind;
  std::ifstream file{golden("control.txt")};
  std::vector<profkit::detail::control_request> requests;
  for (std::string line; std::getline(file, line) && line.find(" ok ") == std::string::npos;) {
    requests.push_back(profkit::detail::parse_control_request(line));
  }
  REQUIRE(requests.size() == 4);
  CHECK(requests[0].what == kind::status);
  CHECK((requests[1].what == kind::snapshot && !requests[1].wants_profile));
  CHECK((requests[2].what == kind::snapshot && requests[2].wants_profile));
  CHECK(requests[3].what == kind::capture);
  CHECK((requests[3].steps == 20 && requests[3].from == 900 && requests[3].wants_kernels && requests[3].samples_per_second == 1000));
}

TEST_CASE("report.json of a later version is read if its schema is the same", "[golden]") {
  temporary_folder const folder{"later"};
  std::filesystem::path const file = folder.path / "report.json";
  std::ifstream recorded{golden("run.report.json")};
  json report = json::parse(recorded);
  auto const write = [&] { std::ofstream{file} << report.dump(); };
  report["schema_minor"] = 1000;
  report["later"] = {{"figure_ms", 7}, {"list", {1, 2, 3}}};
  for (json& each : report["scopes"]) each["later_ms"] = "of another type";
  report["steps"]["later"] = nullptr;
  write();
  CHECK(losses("run", profkit_program::read_report_json(file)) == std::vector<std::string>{});
  report["schema"] = 2;
  write();
  CHECK_THROWS_MATCHES(profkit_program::read_report_json(file), profkit::error,
                       MessageMatches(Catch::Matchers::Equals(file.string() + ": schema is 2, this program reads 1")));
}
