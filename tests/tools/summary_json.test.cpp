// SPDX-License-Identifier: Apache-2.0
#include "summary_json.hpp"

#include <profkit/analyze/analyze.hpp>
#include <profkit/profile/save_load.hpp>
#include <profkit/report/report_json.hpp>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "../support/filled_summary.hpp"
#include "../support/made_full_profile.hpp"
#include "../support/made_gpu_profile.hpp"

using nlohmann::json;

namespace {

/// The places where a report differs from that of the summary which is read from it, without positions in lists.
std::set<std::string> places_lost(profkit::summary const& what) {
  json const written = json::parse(profkit::report_json(what));
  profkit::summary const read = profkit_program::detail::summary_json_reader{{&written, "report.json: "}}.read();
  std::set<std::string> result;
  for (json const& each : json::diff(written, json::parse(profkit::report_json(read)))) {
    std::string place;
    for (char const c : each["path"].get<std::string>()) {
      if (c < '0' || c > '9') place += c;
    }
    result.insert(place);
  }
  return result;
}

}  // namespace

TEST_CASE("a summary that is read from report.json gives that report again, but for what is there in other words", "[summary_json]") {
  std::set<std::string> const in_other_words{"/covers", "/memory", "/steps/clocks//reasons/", "/steps/stop/by"};
  for (auto const& what : {profkit::analyze(profile_with_everything()), profkit::analyze(made_gpu_profile()), filled_summary(),
                           profkit::analyze(profkit::load(TEST_DATA "/tiny-128-train-bf16.profile"))}) {
    std::string lost;
    for (std::string const& each : places_lost(what)) {
      bool const is_text_of_verdict = each.find("verdict_reason") != std::string::npos || each.find("warmup_verdict") != std::string::npos;
      bool const is_of_memory = each.rfind("/memory/", 0) == 0;
      if (!is_text_of_verdict && !is_of_memory && in_other_words.count(each) == 0) lost += each + "\n";
    }
    CHECK(lost == "");
  }
}

TEST_CASE("a value of report.json that is not what it has to be is named with its place", "[summary_json]") {
  json const good = json::parse(profkit::report_json(filled_summary()));
  auto const error_of = [&](char const* place, json const& value) {
    json changed = good;
    changed[json::json_pointer{place}] = value;
    try {
      static_cast<void>(profkit_program::detail::summary_json_reader{{&changed, "report.json: "}}.read());
    } catch (profkit::error const& failure) {
      return std::string{failure.what()};
    }
    return std::string{"it is read"};
  };
  CHECK(error_of("/scopes", "none") == "report.json: scopes is not a list");
  CHECK(error_of("/scopes/1", 7) == "report.json: scopes[1] is not an object");
  CHECK(error_of("/scopes/1/count", -1) == "report.json: scopes[1].count is not a count");
  CHECK(error_of("/scopes/0/path", 7) == "report.json: scopes[0].path is not a text");
  CHECK(error_of("/scopes/0/memory/1/polled", 1) == "report.json: scopes[0].memory[1].polled is not true or false");
  CHECK(error_of("/scopes/0/memory/1/retained_bytes", 0.5) == "report.json: scopes[0].memory[1].retained_bytes is not a whole number");
  CHECK(error_of("/quality/unattributed_ms", "long") == "report.json: quality.unattributed_ms is not a number");
  CHECK(error_of("/quality/clock_change_ms", 1e300) == "report.json: quality.clock_change_ms is not a duration");
  CHECK(error_of("/quality", json::array()) == "report.json: quality is not an object");
}
