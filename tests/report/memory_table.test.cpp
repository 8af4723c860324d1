// SPDX-License-Identifier: Apache-2.0
#include <profkit/csv_printer.hpp>
#include <profkit/impl/report/memory_section.hpp>
#include <profkit/impl/report/trace_json.hpp>
#include <profkit/report.hpp>

#include "../support/made_profile.hpp"
#include "../support/parsed_report.hpp"
#include "../support/report_text.hpp"
#include "../support/temporary_folder.hpp"
#include "../support/testing.hpp"

using profkit::allocation_kind;

namespace {

constexpr std::uint64_t mib = 1U << 20U;

/// In each of the two measured steps, `layer_0` has 3 MiB and retains 1; `forward` has 2 MiB of its own between its layers and releases
/// them; and the step releases the memory retained by the layer. `layer_1` allocates nothing. 10 MiB remain from the warm-up.
profkit::profile profile_with_memory() {
  profkit::profile result = made_profile();
  result.allocators = {{"libtorch", 4 * mib, false}};
  auto const add = [&](double ms, std::uint64_t address, std::uint64_t bytes) {
    result.allocations.push_back({at_ms(ms), address, bytes, 0, 0, bytes > 0 ? allocation_kind::allocated : allocation_kind::released});
  };
  add(50, 1, 10 * mib);
  for (double const begin : {200.0, 300.0}) {
    double const length = begin == 200.0 ? 10.0 : 20.0;
    add(begin + 0.11 * length, 2, 2 * mib);
    add(begin + 0.12 * length, 3, 1 * mib);
    add(begin + 0.13 * length, 2, 0);
    add(begin + 0.50 * length, 4, 2 * mib);
    add(begin + 0.51 * length, 4, 0);
    add(begin + 0.90 * length, 3, 0);
  }
  return result;
}

/// Also the host, read four times: its usage rises by 2 MiB in `layer_1` and then falls by 1 MiB in `forward`.
profkit::profile profile_with_two_allocators() {
  profkit::profile result = profile_with_memory();
  result.allocators.push_back({"host", 100 * mib, true});
  for (auto const& [ms, level] : std::vector<std::pair<double, std::uint64_t>>{{201, 100}, {203.9, 102}, {205.9, 101}, {209.9, 101}}) {
    result.allocations.push_back({at_ms(ms), 0, level * mib, 0, 1, allocation_kind::usage});
  }
  return result;
}

json scope_named(json const& report, std::string const& path) {
  for (json const& each : report.at("scopes")) {
    if (each.at("path") == path) return each;
  }
  FAIL("no scope " << path);
  return {};
}

}  // namespace

TEST_CASE("the table has the scopes with memory, in their tree", "[memory]") {
  profkit::report const report = report_of(profile_with_memory());
  std::string const text = report.full_text();
  CHECK_THAT(text, ContainsSubstring("Memory by scope\n"));
  CHECK(profkit::detail::csv_of(profkit::detail::scope_memory_table(report.summary())) ==
        "scope,memory of,peak MiB,own peak MiB,retained MiB,own retained MiB,allocated MiB,allocations,\"all of it, peak MiB\"\n"
        "step,libtorch,3.0,0.0,0.0,0.0,5.0,3,17.0\n"
        "  forward,libtorch,3.0,2.0,1.0,0.0,5.0,3,17.0\n"
        "    layer_0,libtorch,3.0,3.0,1.0,1.0,3.0,2,17.0\n");
  CHECK_THAT(text, ContainsSubstring("retained memory is still live at the end of the scope") && !ContainsSubstring("polled:"));
  CHECK_THAT(report.markdown(), ContainsSubstring("### Memory by scope\n") &&
                                    ContainsSubstring("layer_0 | libtorch | 3.0 | 3.0 | 1.0 | 1.0 | 3.0 | 2 | 17.0 |"));
  CHECK(profkit::detail::csv_of(profkit::detail::allocator_table(report.summary())) ==
        "memory of,first MiB,last MiB,highest MiB,change in scopes MiB,outside scopes MiB,between steps MiB\n"
        "libtorch,14.0,14.0,17.0,0.0,0.0,0.0\n");
}

TEST_CASE("a polled allocator is marked, and figures that it cannot provide are n/a", "[memory]") {
  profkit::report const report = report_of(profile_with_two_allocators());
  std::string const csv = profkit::detail::csv_of(profkit::detail::scope_memory_table(report.summary()));
  CHECK_THAT(csv, ContainsSubstring("    layer_0,libtorch,3.0,3.0,1.0,1.0,3.0,2,17.0\n"));
  // A mean over the scopes of two steps; only one of them was read.
  CHECK_THAT(csv, ContainsSubstring("  forward,host (polled),2.0,0.0,0.5,-0.5,n/a,n/a,102.0\n"));
  CHECK_THAT(csv, ContainsSubstring("    layer_1,host (polled),2.0,2.0,1.0,1.0,n/a,n/a,102.0\n"));
  CHECK_THAT(csv, !ContainsSubstring("layer_0,host"));
  CHECK_THAT(report.full_text(), ContainsSubstring("polled: read at both ends of scopes; a peak in between is not seen\n"));
}

TEST_CASE("report.json has the memory of every scope, by allocator", "[memory]") {
  json const report = json_of(profile_with_two_allocators());
  json const layer = scope_named(report, "step/forward/layer_1");
  CHECK(layer.at("peak_bytes") == 0);  // libtorch was not polled
  REQUIRE(layer.at("memory").size() == 2);
  json const& torch = layer["memory"][0];
  check_members(torch,
                {{"source", "libtorch"}, {"polled", false}, {"allocated_bytes", 0}, {"allocations", 0}, {"wide_peak_bytes", 15 * mib}});
  json const& host = layer["memory"][1];
  check_members(host, {{"source", "host"},
                       {"polled", true},
                       {"peak_bytes", 2 * mib},
                       {"own_peak_bytes", 2 * mib},
                       {"retained_bytes", 2 * mib},
                       {"own_retained_bytes", 2 * mib},
                       {"own_change_bytes", 2 * mib}});
  for (char const* const name : {"allocated_bytes", "own_allocated_bytes", "allocations"}) CHECK(host.at(name).is_null());
  json const forward = scope_named(report, "step/forward");
  check_members(forward, {{"peak_bytes", 3 * mib},
                          {"/memory/0/allocated_bytes", 10 * mib},
                          {"/memory/0/own_allocated_bytes", 4 * mib},
                          {"/memory/1/own_retained_bytes", -static_cast<std::int64_t>(mib)}});

  REQUIRE(report.at("allocators").size() == 2);
  json const& allocator = report["allocators"][0];
  check_members(allocator, {{"source", "libtorch"},
                            {"polled", false},
                            {"first_bytes", 14 * mib},
                            {"last_bytes", 14 * mib},
                            {"max_bytes", 17 * mib},
                            {"outside_change_bytes", 0},
                            {"between_steps_change_bytes", 0},
                            {"unknown_releases", 0},
                            {"reused_addresses", 0}});
}

TEST_CASE("the peak of a scope is that of the polled allocator if there is no other", "[memory]") {
  profkit::profile profile = profile_with_two_allocators();
  profile.allocators.erase(profile.allocators.begin());
  profile.allocations.erase(profile.allocations.begin(), profile.allocations.end() - 4);
  for (profkit::allocation_record& each : profile.allocations) each.allocator = 0;
  json const report = json_of(profile);
  CHECK(scope_named(report, "step/forward/layer_1").at("peak_bytes") == 2 * mib);
}

TEST_CASE("if no scope allocates, there is no table of scopes", "[memory]") {
  profkit::profile profile = profile_with_memory();
  profile.allocations.resize(1);
  CHECK_THAT(report_of(profile).full_text(), !ContainsSubstring("Memory by scope") && ContainsSubstring("Memory of allocators"));
}

TEST_CASE("the report says after how many steps a source was read", "[memory]") {
  profkit::profile profile = made_profile();
  profile.memory = {{"arena", "used", 1, 10 * mib, {}, {}}};
  std::string const words = "arena used was read after 1 of 2 measured steps";
  CHECK_THAT(squeezed(report_of(profile).full_text()), ContainsSubstring(words));
  profile.memory.push_back({"arena", "used", 2, 10 * mib, {}, {}});
  CHECK_THAT(squeezed(report_of(profile).full_text()), !ContainsSubstring(words));
}

TEST_CASE("without allocators the report has no such table, and null for peaks", "[memory]") {
  profkit::report const report = report_of(made_profile());
  CHECK_THAT(report.full_text(), !ContainsSubstring("Memory by scope") && !ContainsSubstring("Memory of allocators"));
  json const all = json_of(report);
  REQUIRE(all.at("allocators").is_array());
  CHECK(all["allocators"].empty());
  for (json const& scope : all.at("scopes")) {
    CHECK(scope.at("peak_bytes").is_null());
    CHECK(scope.at("memory").empty());
  }
}

TEST_CASE("releases without a known allocation are in the data quality", "[memory]") {
  profkit::profile profile = profile_with_memory();
  CHECK_THAT(report_of(profile).full_text(), !ContainsSubstring("no known allocation"));
  profile.allocations.push_back({at_ms(210), 77, 0, 0, 0, allocation_kind::released});
  profile.allocations.push_back({at_ms(210.5), 1, 5, 0, 0, allocation_kind::allocated});
  std::string const text = report_of(profile).full_text();
  CHECK_THAT(text, ContainsSubstring("1 releases of libtorch have no known allocation (before the session, or dropped)\n"));
  CHECK_THAT(text, ContainsSubstring("1 allocations of libtorch reused a live address: a release was not recorded\n"));
}

TEST_CASE("scope_memory.csv is written if an allocator reported allocations", "[memory]") {
  temporary_folder const folder{"memory"};
  std::filesystem::path const& directory = folder.path;
  report_of(made_profile()).write(directory);
  CHECK_FALSE(std::filesystem::exists(directory / "scope_memory.csv"));
  profkit::report const report = report_of(profile_with_memory());
  report.write(directory);
  CHECK(text_of_file(directory / "scope_memory.csv") == profkit::detail::csv_of(profkit::detail::scope_memory_table(report.summary())));
}

TEST_CASE("the trace shows the total usage of an allocator, at every change in the steps shown", "[memory]") {
  json const trace = json::parse(profkit::trace_json(profile_with_memory(), 1));
  std::vector<std::uint64_t> totals;
  for (json const& each : trace.at("traceEvents")) {
    if (each.at("ph") == "C" && each.at("name") == "memory: libtorch") totals.push_back(each.at("args").at("bytes").get<std::uint64_t>());
  }
  CHECK(totals == std::vector<std::uint64_t>{16 * mib, 17 * mib, 15 * mib, 17 * mib, 15 * mib, 14 * mib});
}

TEST_CASE("the changes of a total have the right sign for any values of an allocator", "[memory]") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  profkit::summary summary;
  profkit::allocator_summary& allocator = summary.allocators.emplace_back();
  allocator.source = "arena";
  allocator.first_bytes = -most;
  allocator.last_bytes = most;
  allocator.outside_change_bytes = most;
  allocator.between_steps_change_bytes = most;
  // Sums modulo 2^64: all changes happened elsewhere.
  CHECK_THAT(profkit::detail::csv_of(profkit::detail::allocator_table(summary)),
             ContainsSubstring("\narena,-8796093022208.0,8796093022208.0,0.0,0.0,8796093022208.0,8796093022208.0\n"));
}
