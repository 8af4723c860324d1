// SPDX-License-Identifier: Apache-2.0
#include "summary_json.hpp"

#include <profkit/analyze.hpp>
#include <profkit/impl/analyze/summary_fields.hpp>
#include <profkit/impl/profile/flat_records.hpp>
#include <profkit/report.hpp>
#include <profkit/save_load.hpp>
#include <profkit/time.hpp>

#include <nlohmann/json.hpp>
#include <type_traits>

#include "../support/filled_summary.hpp"
#include "../support/made_full_profile.hpp"
#include "../support/made_gpu_profile.hpp"
#include "../support/made_loop.hpp"
#include "../support/random_gpu_profile.hpp"
#include "../support/random_loop_profile.hpp"
#include "../support/random_memory_profile.hpp"
#include "../support/random_step_profile.hpp"
#include "../support/repetitions.hpp"
#include "../support/testing.hpp"

using nlohmann::json;

namespace {

/// The values of a summary by place: the names of `summary_fields.hpp`, without positions in lists.
class placed_values {
 public:
  explicit placed_values(profkit::summary what) {
    auto const by_name = [](auto const& a, auto const& b) { return std::tie(a.source, a.quantity) < std::tie(b.source, b.quantity); };
    std::sort(what.memory.begin(), what.memory.end(), by_name);  // report.json sorts them by name
    add("", what);
  }

  /// The places where two summaries differ by more than the last digits of a number.
  friend std::set<std::string> differences(placed_values const& a, placed_values const& b) {
    std::set<std::string> result;
    for (auto const& [place, values] : a.values_) {
      if (auto const found = b.values_.find(place); found == b.values_.end() || !is_same(values, found->second)) result.insert(place);
    }
    for (auto const& each : b.values_) {
      if (a.values_.count(each.first) == 0) result.insert(each.first);
    }
    return result;
  }

 private:
  using value = std::variant<std::string, double>;

  template <class T>
  void add(std::string const& place, T const& what) {
    if constexpr (profkit::detail::is_described<T>) {
      profkit::detail::described_fields<T>.for_each([&](auto const& each) { add(place + " " + each.name, what.*each.member); });
    } else if constexpr (std::is_enum_v<T>) {
      put(place, static_cast<double>(what));
    } else {
      put(place, static_cast<double>(what));
    }
  }
  void add(std::string const& place, std::string const& what) { put(place, what); }
  void add(std::string const& place, profkit::rank_timeline const& what) { put(place, static_cast<double>(what.steps.size())); }
  void add(std::string const& place, profkit::milliseconds what) { put(place, what.count()); }
  void add(std::string const& place, std::chrono::nanoseconds what) { put(place, static_cast<double>(what.count())); }
  template <class T>
  void add(std::string const& place, std::optional<T> const& what) {
    put(place, what ? "known" : "n/a");
    if (what) add(place, *what);
  }
  template <class T>
  void add(std::string const& place, profkit::detail::own_vector<T> const& what) {
    put(place, static_cast<double>(what.size()));
    for (T const& each : what) add(place, each);
  }
  template <class T, std::size_t Count>
  void add(std::string const& place, std::array<T, Count> const& what) {
    for (std::size_t i = 0; i < Count; ++i) add(place + " " + std::to_string(i), what[i]);
  }
  void put(std::string const& place, value what) { values_[place].push_back(std::move(what)); }

  static bool is_same(std::vector<value> const& a, std::vector<value> const& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](value const& left, value const& right) {
      auto const* const number = std::get_if<double>(&left);
      auto const* const other = std::get_if<double>(&right);
      return number == nullptr || other == nullptr ? left == right : std::abs(*number - *other) <= 1e-14 * std::abs(*number);
    });
  }

  std::map<std::string, std::vector<value>> values_;
};

/// The places where a summary differs from the one that is read from its report.
std::set<std::string> places_lost(profkit::summary const& what) {
  json const written = json::parse(profkit::report_json(what));
  profkit::summary const read = profkit_program::detail::summary_json_reader{{&written, "report.json: "}}.read();
  return differences(placed_values{what}, placed_values{read});
}

/// Data that report.json lacks: members that the description hides, and some figures of durations.
std::set<std::string> not_written() {
  std::set<std::string> result{" environment -process_id",
                               " environment -boot_id",
                               " environment -clock_offset_ns",
                               " -timeline",
                               " /quality/collectors -kind",
                               " steps -items",
                               " steps clocks? -reason_bits",
                               " steps * -gpu_period_host_mean_ms",
                               " limits * tflops_per_s 0",  // without a precision
                               " limits -measured_rates gb_per_s",
                               " step_kinds times -items",
                               " step_kinds times clocks? -reason_bits",
                               " step_kinds times * -gpu_period_host_mean_ms",
                               " step_kinds times * total_ms",
                               " step_kinds times gpu_* count",
                               " step_kinds times gpu_* total_ms",
                               " step_kinds times * gpu_period_* total_ms",
                               " steps * total_ms",
                               " steps gpu_* count",
                               " steps gpu_* total_ms",
                               " steps * gpu_period_* total_ms",
                               " scopes gpu_event_* min_ms",
                               " scopes gpu_event_* max_ms"};
  auto const add = [&](std::string const& place, std::vector<char const*> const& names) {
    for (char const* const each : names) result.insert(place + each);
  };
  for (std::size_t i = 0; i < profkit::precision_count; ++i) result.insert(" limits -measured_rates tflops_per_s " + std::to_string(i));
  for (char const* const verdict : {" steps * ", " steps gpu_* ", " steps * gpu_period_* ", " step_kinds times * ",
                                    " step_kinds times gpu_* ", " step_kinds times * gpu_period_* "}) {
    add(verdict, {"-measured", "-relative_half_width", "-cautious_half_width", "-warmup", "-warmup_finding", "-change"});
  }
  for (char const* const work : {" * /gpu/*", " names *", " scopes *"}) {
    add(std::string{work} + " gpu_span_* ", {"count", "mean_ms", "std_ms", "min_ms", "max_ms"});
  }
  add(" names host_* ", {"mean_ms", "std_ms", "min_ms", "max_ms"});
  return result;
}

/// The places where a summary loses data that report.json has.
std::string wrongly_lost(profkit::summary const& what) {
  std::set<std::string> const expected = not_written();
  std::string result;
  for (std::string const& each : places_lost(what)) {
    if (expected.count(each) == 0) result += each + "\n";
  }
  return result;
}

}  // namespace

TEST_CASE("a summary read from report.json has each written member, except those that report.json lacks", "[summary_json]") {
  CHECK(places_lost(filled_summary()) == not_written());
}

TEST_CASE("the summary of a profile is the same from its report.json", "[summary_json]") {
  for (char const* const name : {"small-128-train-fp32", "small-128-train-fp32-graph", "small-128-train-fp32-without-bridge",
                                 "small-512-fwd-fp32", "tiny-128-train-bf16"}) {
    INFO(name);
    CHECK(wrongly_lost(profkit::analyze(profkit::load(std::string{TEST_DATA "/"} + name + ".profile"))) == "");
  }
  for (profkit::profile const& made : {profile_with_everything(), profile_with_adopted_scope(), made_gpu_profile(true),
                                       loop_that_runs_ahead().profile, profkit::profile{}}) {
    CHECK(wrongly_lost(profkit::analyze(made)) == "");
  }
  for (std::uint64_t seed = 0; seed < repetitions(20); ++seed) {
    INFO(seed);
    CHECK(wrongly_lost(profkit::analyze(make_random_gpu_profile(seed, 300).profile)) == "");
    CHECK(wrongly_lost(profkit::analyze(make_random_loop_profile(seed))) == "");
    CHECK(wrongly_lost(profkit::analyze(make_random_memory_profile(seed))) == "");
    CHECK(wrongly_lost(profkit::analyze(make_random_step_profile(seed))) == "");
  }
}

TEST_CASE("a report.json of an earlier version, which has fewer members, is read", "[summary_json]") {
  json earlier = json::parse(profkit::report_json(filled_summary()));
  for (char const* const key : {"covers", "names", "trend", "memory", "allocators", "adopted", "step_kinds", "step_list"})
    earlier.erase(key);
  earlier["scopes"][1].erase("per_step");
  earlier["quality"].erase("overhead");
  profkit::summary const read = profkit_program::detail::summary_json_reader{{&earlier, "report.json: "}}.read();
  CHECK(read.covers_steps);
  CHECK(read.memory.empty());
  CHECK(read.scopes.at(0).per_step);
  CHECK_FALSE(read.scopes.at(1).per_step);
  CHECK(read.scopes.at(1).parent == 0U);
  CHECK(read.scopes_recorded == 0);
}

TEST_CASE("an invalid value in report.json is named with its place", "[summary_json]") {
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
  CHECK(error_of("/covers", 7) == "report.json: covers is not a text");
  CHECK(error_of("/memory", json::array()) == "report.json: memory is not an object");
  CHECK(error_of("/memory/host", nullptr) == "report.json: memory.host is not an object");
  CHECK(error_of("/memory/host/resident", 7) == "report.json: memory.host.resident is not an object");
}
