// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/impl/analyze/gpu/attribution.hpp>
#include <profkit/impl/report/report_view.hpp>
#include <profkit/impl/report/trace_json.hpp>
#include <profkit/save_load.hpp>

#include <nlohmann/json.hpp>

#include "../support/made_gpu_profile.hpp"
#include "../support/temporary_folder.hpp"
#include "../support/testing.hpp"

using nlohmann::json;

namespace {

std::vector<json> events_of(profkit::profile const& profile, std::string const& phase, std::uint64_t steps = 100) {
  std::vector<json> result;
  json const trace = json::parse(profkit::trace_json(profile, steps));
  for (json const& event : trace.at("traceEvents")) {
    if (event.at("ph") == phase) result.push_back(event);
  }
  return result;
}

std::int64_t ns_of(json const& microseconds) { return std::llround(microseconds.get<double>() * 1000.0); }

/// Nanoseconds of the slices of a category, by name.
std::map<std::string, std::int64_t> times_by_name(std::vector<json> const& slices, std::string const& category) {
  std::map<std::string, std::int64_t> result;
  for (json const& slice : slices) {
    if (slice.at("cat") == category) result[slice.at("name")] += ns_of(slice.at("dur"));
  }
  return result;
}

void check_that_slices_nest(std::vector<json> const& slices) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::int64_t>> open;  // ends, by track
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> last_begin;
  for (json const& slice : slices) {
    std::pair<std::int64_t, std::int64_t> const track{slice.at("pid"), slice.at("tid")};
    std::int64_t const begin = ns_of(slice.at("ts"));
    std::int64_t const end = begin + ns_of(slice.at("dur"));
    auto& ends = open[track];
    while (!ends.empty() && ends.back() <= begin) ends.pop_back();
    CHECK((ends.empty() || end <= ends.back()));
    CHECK((last_begin.count(track) == 0 || last_begin[track] <= begin));
    ends.push_back(end);
    last_begin[track] = begin;
  }
}

void check_that_flows_have_two_ends(profkit::profile const& profile) {
  std::vector<json> const slices = events_of(profile, "X");
  std::map<std::int64_t, json> starts;
  for (json const& start : events_of(profile, "s")) CHECK(starts.emplace(start.at("id"), start).second);
  std::vector<json> const finishes = events_of(profile, "f");
  CHECK(finishes.size() == starts.size());
  auto const slice_at = [&](json const& flow, bool is_call) {
    for (json const& slice : slices) {
      if (slice.at("pid") == flow.at("pid") && slice.at("tid") == flow.at("tid") && slice.at("ts") == flow.at("ts") &&
          (slice.at("cat") == "api") == is_call && slice.at("args").contains("correlation")) {
        return slice;
      }
    }
    return json{};
  };
  for (json const& finish : finishes) {
    REQUIRE(starts.count(finish.at("id")) == 1);
    CHECK(finish.at("bp") == "e");
    json const call = slice_at(starts[finish.at("id")], true);
    json const operation = slice_at(finish, false);
    REQUIRE(call.is_object());
    REQUIRE(operation.is_object());
    CHECK(call["args"]["correlation"] == operation["args"]["correlation"]);
  }
}

}  // namespace

TEST_CASE("slices of a trace nest on their tracks, and every flow has both ends", "[trace]") {
  for (bool const has_all_api_calls : {false, true}) {
    profkit::profile const profile = made_gpu_profile(has_all_api_calls);
    check_that_slices_nest(events_of(profile, "X"));
    check_that_flows_have_two_ends(profile);
    CHECK(events_of(profile, "s").size() == 14);  // seven launches in each of two steps
  }
}

TEST_CASE("durations by name in a trace add up to the report's", "[trace]") {
  profkit::profile const profile = made_gpu_profile();
  profkit::summary const summary = profkit::analyze(profile);
  std::vector<json> const slices = events_of(profile, "X");
  std::map<std::string, std::int64_t> scopes;
  for (profkit::scope_summary const& row : summary.scopes) scopes[row.name] += std::llround(row.host.total.count() * 1e6);
  CHECK(times_by_name(slices, "scope") == scopes);
  std::map<std::string, std::int64_t> kernels;
  REQUIRE(summary.gpu.has_value());
  for (profkit::kernel_summary const& row : summary.gpu->kernels) kernels[row.name] = std::llround(row.time.total.count() * 1e6);
  CHECK(times_by_name(slices, "kernel") == kernels);
  std::map<std::string, std::int64_t> copies;
  for (profkit::copy_summary const& row : summary.gpu->copies) copies[row.name] = std::llround(row.time.total.count() * 1e6);
  std::map<std::string, std::int64_t> shown = times_by_name(slices, "copy");
  shown.merge(times_by_name(slices, "memset"));
  CHECK(shown == copies);
}

TEST_CASE("idle slices of a trace add up to the idle time of the report, by cause and by scope", "[trace]") {
  for (profkit::profile const& profile : {made_gpu_profile(), profkit::load(TEST_DATA "/tiny-128-train-bf16.profile")}) {
    profkit::summary const summary = profkit::analyze(profile);
    REQUIRE(summary.budget.has_value());
    REQUIRE_FALSE(summary.budget->is_of_gpu);  // the slices are compared in the steps on the host
    std::map<std::string, double> by_cause;
    std::map<std::string, double> by_scope;
    std::vector<json> const slices = events_of(profile, "X");
    for (json const& slice : slices) {
      if (slice.at("cat") != "idle") continue;
      std::int64_t const begin = ns_of(slice.at("ts"));
      std::int64_t const end = begin + ns_of(slice.at("dur"));
      CHECK(begin < end);
      for (profkit::step_record const& step : profile.steps) {
        if (!step.is_measured()) continue;
        std::int64_t const from = std::max(begin, std::int64_t{(step.time.begin - profile.time.begin).count()});
        std::int64_t const to = std::min(end, std::int64_t{(step.time.end - profile.time.begin).count()});
        if (to <= from) continue;
        by_cause[slice.at("name")] += static_cast<double>(to - from) / 1e6;
        if (slice.contains("args")) by_scope[slice.at("args").at("scope")] += static_cast<double>(to - from) / 1e6;
      }
    }
    for (std::size_t cause = 0; cause < profkit::idle_causes; ++cause) {
      double sum = 0.0;
      for (profkit::budget_row const& row : summary.budget->rows) sum += row.idle[cause].count();
      INFO(profkit::detail::idle_cause_names[cause]);
      CHECK_THAT(by_cause[profkit::detail::idle_cause_names[cause]], Catch::Matchers::WithinAbs(sum, 1e-6));
    }
    for (profkit::scope_summary const& row : summary.scopes) {
      if (!row.gpu_idle) continue;
      INFO(row.path);
      CHECK_THAT(by_scope[row.path], Catch::Matchers::WithinAbs(row.gpu_idle->self.count(), 1e-6));
    }
  }
}

TEST_CASE("tracks of a trace name the thread, the device and the stream", "[trace]") {
  profkit::profile profile = made_gpu_profile();
  profile.environment.gpu = "NVIDIA H200";
  auto const names = [&] {
    std::set<std::string> result;
    for (json const& each : events_of(profile, "M")) {
      if (each.at("args").contains("name")) result.insert(each.at("args").at("name"));
    }
    return result;
  };
  std::set<std::string> const of_one_device = names();
  CHECK(of_one_device.count("GPU 0 NVIDIA H200") == 1);
  CHECK(of_one_device.count("stream 7") == 1);
  CHECK(of_one_device.count("GPU idle: no operation runs on any GPU") == 1);
  for (profkit::thread_record const& thread : profile.threads) CHECK(of_one_device.count(thread.name) == 1);
  profile.gpu_operations.back().device = 1;  // several devices, and only one name is known, but not for which device
  CHECK(names().count("GPU 0") == 1);
  CHECK(names().count("GPU 1") == 1);
}

TEST_CASE("a trace shows only the last measured steps, and everything if there are no steps", "[trace]") {
  profkit::profile profile = made_gpu_profile();
  CHECK(times_by_name(events_of(profile, "X", 1), "step") == std::map<std::string, std::int64_t>{{"step 2", 10'000'000}});
  CHECK(times_by_name(events_of(profile, "X", 1), "scope")["step"] == 10'000'000);
  CHECK(times_by_name(events_of(profile, "X", 2), "step").size() == 2);
  CHECK(times_by_name(events_of(profile, "X", 2), "kernel").count("warm_up_only") == 0);
  profile.steps.clear();
  CHECK(times_by_name(events_of(profile, "X", 1), "scope")["step"] == 30'000'000);
  CHECK(times_by_name(events_of(profile, "X", 1), "kernel").count("warm_up_only") == 1);
}

TEST_CASE("an operation in a trace has its launching scope and its launch parameters", "[trace]") {
  bool is_found = false;
  for (json const& slice : events_of(made_gpu_profile(), "X", 1)) {
    if (slice["cat"] == "copy") CHECK(slice["args"]["bytes"] == 1U << 20U);
    if (slice["cat"] != "kernel" || slice["args"].value("scope", "") != "step/forward/attention/attention") continue;
    is_found = true;
    CHECK(slice["args"]["grid"] == json{128, 1, 1});
    CHECK(slice["args"]["block"] == json{256, 1, 1});
    CHECK(slice["ts"] == 42700.0);
    CHECK(slice["dur"] == 1500.0);
  }
  CHECK(is_found);
}

TEST_CASE("overlapping operations of one stream are on separate tracks", "[trace]") {
  profkit::profile profile = made_gpu_profile();
  for (profkit::gpu_operation_record& operation : profile.gpu_operations) {
    operation.stream = 7;
    operation.time.end += std::chrono::milliseconds{1};
  }
  check_that_slices_nest(events_of(profile, "X"));
  check_that_flows_have_two_ends(profile);
}

TEST_CASE("an API call that overlaps the edge of a scope by the error of the clocks is cut there", "[trace]") {
  profkit::profile profile = made_gpu_profile(true);
  for (profkit::api_call_record& call : profile.api_calls) {
    call.time = {call.time.begin - std::chrono::microseconds{100}, call.time.end + std::chrono::microseconds{700}};
  }
  check_that_slices_nest(events_of(profile, "X"));
  std::map<std::string, std::int64_t> const as_recorded = times_by_name(events_of(made_gpu_profile(), "X"), "scope");
  CHECK(times_by_name(events_of(profile, "X"), "scope") == as_recorded);
}

TEST_CASE("several devices and threads with the same numbers stay apart", "[trace]") {
  profkit::profile profile = made_gpu_profile();
  profile.environment.process_id = 7;
  profile.threads = {{7, "train"}, {8, "loader"}};
  for (std::size_t i = 0; i < profile.gpu_operations.size(); i += 2) profile.gpu_operations[i].device = 1;
  check_that_slices_nest(events_of(profile, "X"));
  check_that_flows_have_two_ends(profile);
  std::map<std::int64_t, std::string> processes;
  for (json const& event : events_of(profile, "M")) {
    if (event["name"] == "process_name") CHECK(processes.emplace(event["pid"], event["args"]["name"]).second);
  }
  CHECK(processes == std::map<std::int64_t, std::string>{{7, "host host"}, {8, "GPU 0"}, {9, "GPU 1"}});
}

TEST_CASE("the track of a process of several ranks has the number of the rank", "[trace]") {
  profkit::environment_record environment;
  environment.host = "node17";
  CHECK(profkit::detail::process_track_name(environment) == "host node17");
  environment.rank = profkit::rank_record{3, 8, {}, 0, "Slurm"};
  CHECK(profkit::detail::process_track_name(environment) == "rank 3 (node17)");
  environment.rank->size = 1;
  environment.rank->rank = 0;
  CHECK(profkit::detail::process_track_name(environment) == "host node17");
}

TEST_CASE("migrations of unified memory are in a trace as the bytes of each direction so far", "[trace]") {
  profkit::profile profile = made_profile();
  auto const migration = [](double begin, double end, std::uint64_t bytes, profkit::page_event_kind kind) {
    return profkit::page_event_record{{at_ms(begin), at_ms(end)}, bytes, profkit::path_record::no_parent, 0, kind};
  };
  profile.page_events = {
      migration(303.0, 304.0, 500, profkit::page_event_kind::to_device), migration(301.0, 302.0, 4096, profkit::page_event_kind::to_device),
      migration(301.0, 303.0, 1, profkit::page_event_kind::gpu_faults), migration(305.0, 306.0, 70, profkit::page_event_kind::to_host)};
  std::vector<json> found;
  for (json const& each : events_of(profile, "C", 1)) {
    if (each["name"].get<std::string>().find("Unified") != std::string::npos) found.push_back(each);
  }
  REQUIRE(found.size() == 3);
  CHECK(found[0]["name"] == "[CUDA memcpy Unified Host-to-Device]");
  CHECK(found[0]["args"]["bytes"] == 4096);
  CHECK(found[1]["args"]["bytes"] == 4596);
  CHECK(found[2]["name"] == "[CUDA memcpy Unified Device-to-Host]");
  CHECK(found[2]["args"]["bytes"] == 70);
}

TEST_CASE("counters and memory are in a trace, except for values that JSON cannot represent", "[trace]") {
  profkit::profile profile = made_profile();
  std::vector<json> counters = events_of(profile, "C", 1);
  REQUIRE(counters.size() == 3);
  CHECK(counters[0]["name"] == "loss");
  CHECK(counters[0]["args"]["value"] == 5.0);
  CHECK(counters[1]["name"] == "memory: libtorch allocated");
  CHECK(counters[1]["args"]["bytes"] == 3000);
  CHECK(counters[1]["ts"] == 320000.0);
  profile.counters.back().value = std::numeric_limits<double>::infinity();
  CHECK(events_of(profile, "C", 1).size() == 2);
}

TEST_CASE("an empty profile gives an empty trace", "[trace]") {
  CHECK(events_of({}, "X").empty());
  profkit::profile warm_up_only = made_gpu_profile();
  for (profkit::step_record& step : warm_up_only.steps) step.warmup = true;
  CHECK(events_of(warm_up_only, "X").empty());
}

TEST_CASE("a trace file written in pieces has the same text, and an error names the file", "[trace]") {
  profkit::profile profile = made_gpu_profile();
  for (int i = 0; i < 20'000; ++i) profile.scopes.push_back(profile.scopes.back());
  temporary_folder const folder{"trace"};
  std::filesystem::path const path = folder.path / "trace.json";
  profkit::attribution const launched = profkit::attribute(profile);
  profkit::write_trace_json(profile, launched, 100, path);
  std::string const written = text_of_file(path);
  CHECK(written.size() > 1'000'000);
  CHECK((written == profkit::trace_json(profile, launched, 100)));
  CHECK_THROWS_WITH(profkit::write_trace_json(profile, launched, 100, "/nowhere/trace.json"), ContainsSubstring("/nowhere/trace.json"));
}
