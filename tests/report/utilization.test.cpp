// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/impl/report/html_page.hpp>
#include <profkit/impl/report/report_code.hpp>
#include <profkit/impl/report/work_section.hpp>
#include <profkit/report.hpp>

#include "../support/made_work_profile.hpp"
#include "../support/parsed_report.hpp"
#include "../support/report_text.hpp"
#include "../support/testing.hpp"

using profkit::device_unit;

namespace {

/// A window that ended in a step.
profkit::device_utilization_record window_of(std::uint64_t step, int seconds, std::int32_t device = 0) {
  profkit::timestamp const end = at_ms(100.0 * static_cast<double>(step) + 20.0);
  return {{end - std::chrono::seconds{seconds}, end}, step, device, {}};
}

void put_value(profkit::device_utilization_record& window, device_unit unit, std::uint32_t value) {
  window.values[static_cast<std::size_t>(unit)] = value;
}

/// Declares work, and has windows of 1 s and 3 s in its measured steps 1 and 2; one in the warm-up.
profkit::profile profile_with_utilization() {
  profkit::profile result = made_work_profile{}.profile;
  result.device_utilization = {window_of(0, 1), window_of(1, 1), window_of(2, 3)};
  std::uint32_t const tensor[] = {1'000, 49'000, 65'000};
  for (std::size_t i = 0; i < 3; ++i) {
    profkit::device_utilization_record& each = result.device_utilization[i];
    put_value(each, device_unit::busy, 99'000);
    put_value(each, device_unit::sm_active, 88'000);
    put_value(each, device_unit::tensor, tensor[i]);
    put_value(each, device_unit::tensor_float, tensor[i]);
    put_value(each, device_unit::tensor_fp64, 0);
    put_value(each, device_unit::fp32, 4'000);
    put_value(each, device_unit::dram, i == 2 ? 24'000 : 20'000);
    put_value(each, device_unit::pcie_send, 1U << 20U);  // 1 GiB/s
    put_value(each, device_unit::nvlink_send, 0);
  }
  return result;
}

std::size_t times_in(std::string const& text, std::string const& part) {
  std::size_t result = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++result;
  return result;
}

}  // namespace

TEST_CASE("windows of measured steps count by their length, for each device", "[utilization]") {
  profkit::profile profile = profile_with_utilization();
  profile.device_utilization.push_back(window_of(1, 2, 3));
  put_value(profile.device_utilization.back(), device_unit::memory_active, 41'000);
  profkit::summary const all = profkit::analyze(profile);
  REQUIRE(all.utilization.size() == 2);
  profkit::utilization_summary const& use = all.utilization[0];
  CHECK(use.device == 0);
  CHECK(use.source == "GPM counters");
  CHECK(use.windows == 2);
  CHECK(use.covered.count() == Approx(4000.0));
  REQUIRE(use.tensor);
  CHECK(use.tensor->mean == Approx(0.61));  // (1 s * 49 % + 3 s * 65 %) / 4 s
  CHECK(use.tensor->min == Approx(0.49));
  CHECK(use.tensor->max == Approx(0.65));
  CHECK(use.dram->mean == Approx(0.23));
  CHECK(use.pcie_send->mean == Approx(1073741824.0));
  CHECK_FALSE(use.fp64);
  CHECK_FALSE(use.memory_active);
  CHECK(all.utilization[1].device == 3);
  CHECK(all.utilization[1].source == "utilization rates");
  CHECK(all.utilization[1].windows == 1);
  CHECK(all.utilization[1].memory_active->mean == Approx(0.41));
}

TEST_CASE("the report has a table of the units, and states the limiting unit next to the declared work", "[utilization]") {
  profkit::report const report = report_of(profile_with_utilization());
  std::string const text = report.full_text();
  CHECK_THAT(text, ContainsSubstring("GPU utilization"));
  CHECK_THAT(text, ContainsSubstring("Device 0: 2 windows, 4.00 s in all, GPM counters"));
  CHECK_THAT(text,
             ContainsSubstring("of the FLOP roof; tensor pipes active 61 % of the time; DRAM 23 %. Tensor pipes come close to limiting "
                               "the run."));
  CHECK_THAT(text, ContainsSubstring("tensor, fp16, bf16, tf32, fp8"));
  CHECK_THAT(text, !ContainsSubstring("tensor, fp64"));  // it did nothing
  CHECK_THAT(text, ContainsSubstring("PCIe, from the device"));
  CHECK_THAT(text, !ContainsSubstring("NVLink"));
  CHECK_THAT(text, ContainsSubstring("Active is not efficient"));
  std::string const screen = report.text();
  CHECK(times_in(screen, "UNITS") == 1);
  CHECK_THAT(screen, ContainsSubstring("DRAM 23 %\n") && ContainsSubstring("UNITS    Declared") && !ContainsSubstring("SMs active"));
  CHECK_THAT(profkit::report_json(report.summary()), ContainsSubstring("\"tensor_mean\": 0.61"));
}

TEST_CASE("a report without utilization does not mention it", "[utilization]") {
  profkit::report const report = report_of(made_work_profile{}.profile);
  CHECK_THAT(report.text() + report.full_text() + profkit::report_json(report.summary()),
             !ContainsSubstring("utilization") && !ContainsSubstring("UNITS"));
}

TEST_CASE("the roofline shows the measured memory bandwidth if one device was measured", "[utilization]") {
  auto const band_of = [](profkit::profile const& profile) {
    profkit::summary const all = profkit::analyze(profile);
    return profkit::detail::measured_memory(all);
  };
  auto const band = band_of(profile_with_utilization());
  REQUIRE(band);
  CHECK(band->low == Approx(0.20 * 4.8e12));
  CHECK(band->mean == Approx(0.23 * 4.8e12));
  CHECK(band->high == Approx(0.24 * 4.8e12));
  profkit::profile two_devices = profile_with_utilization();
  two_devices.device_utilization.push_back(window_of(1, 2, 3));
  CHECK_FALSE(band_of(two_devices));
  profkit::profile unknown = profile_with_utilization();
  unknown.environment.gpu = "NVIDIA H200 NVL MIG 1g";
  CHECK_FALSE(band_of(unknown));
  std::string const page = profkit::detail::html_page(profkit::detail::report_code::describe(profkit::analyze(profile_with_utilization())));
  CHECK(times_in(page, "<line class=\"moved\"") == 3);
  CHECK(times_in(profkit::detail::html_page(profkit::detail::report_code::describe(profkit::analyze(unknown))), "class=\"moved\"") == 0);
}

TEST_CASE("one sentence says which unit limits the run", "[utilization]") {
  using profkit::share_of_unit;
  profkit::utilization_summary use;
  CHECK(profkit::detail::utilization_limit(use) == "This device does not report which unit limits the run.");
  use.busy = share_of_unit{0.65, 0.6, 0.7};
  CHECK_THAT(profkit::detail::utilization_limit(use), ContainsSubstring("35") && ContainsSubstring("the host or waiting limits the run."));
  use.busy->mean = 0.99;
  use.sm_active = share_of_unit{0.45, 0.4, 0.5};
  use.tensor = share_of_unit{0.1, 0.0, 0.2};
  use.fp32 = share_of_unit{0.2, 0.0, 0.2};
  use.dram = share_of_unit{0.3, 0.0, 0.3};
  CHECK_THAT(profkit::detail::utilization_limit(use),
             ContainsSubstring("Kernels leave 55") && ContainsSubstring("of the SMs without work."));
  use.sm_active->mean = 0.9;
  CHECK(profkit::detail::utilization_limit(use) == "No unit is near its limit: kernels wait for data, or for each other.");
  use.dram->mean = 0.7;
  CHECK(profkit::detail::utilization_limit(use) == "Memory bandwidth comes close to limiting the run.");
  use.dram->mean = 0.88;
  CHECK(profkit::detail::utilization_limit(use) == "Memory bandwidth limits the run.");
  use.tensor->mean = 0.94;
  CHECK(profkit::detail::utilization_limit(use) == "Tensor pipes limit the run.");
}

TEST_CASE("the energy of steps is in the report, in report.json and at its top", "[energy]") {
  profkit::profile profile = profile_with_utilization();
  CHECK(json_of(profile).count("energy") == 0);
  profile.energy_meters = {{"GPU 0", 0}, {"package-0", -1}};
  auto const energy_of = [](std::uint64_t steps, std::uint64_t items, double ms, std::uint64_t microjoules, std::uint32_t meter) {
    return profkit::energy_record{at_ms(130), ns_of_ms(ms), 1, steps, items, microjoules, std::chrono::milliseconds{20}, meter};
  };
  profile.energy = {energy_of(1, 50, 100.0, 20'000'000, 0), energy_of(1, 50, 100.0, 30'000'000, 0), energy_of(2, 0, 200.0, 3'000'000, 1)};
  CHECK_THAT(profkit::report_full_text(profkit::analyze(profile)), ContainsSubstring("No scope takes ten changes of a counter"));
  for (double const ms : {20.0, 30.0}) {
    profile.energy.push_back(energy_of(0, 0, ms, 10'000'000, 0));
    profile.energy.back().path = 1;
  }
  json const found = json_of(profile).at("energy");
  REQUIRE(found.size() == 2);
  CHECK(found[0].at("meter") == "GPU 0");
  CHECK(found[0].at("joules") == 50.0);
  CHECK(found[0].at("joules_per_step") == 25.0);
  CHECK(found[0].at("joules_per_item") == 0.5);
  CHECK(found[0].at("mean_watt") == 250.0);
  CHECK(found[0].at("min_joules") == 20.0);
  CHECK(found[0].at("max_joules") == 30.0);
  CHECK(found[0].at("resolution_ms") == 20.0);
  CHECK(found[0].at("steps") == 2);  // without records of scopes
  REQUIRE(found[0].at("scopes").size() == 1);
  json const& scope = found[0].at("scopes")[0];
  CHECK(scope.at("path") == profkit::detail::path_text(profile.paths, 1));
  CHECK(scope.at("count") == 2);
  CHECK(scope.at("joules") == 10.0);
  CHECK(scope.at("mean_watt") == Approx(400.0));
  CHECK(found[1].at("scopes").empty());
  CHECK(found[1].at("joules_per_item").is_null());
  CHECK(found[1].at("min_joules").is_null());
  profkit::detail::document const document = profkit::detail::report_code::describe(profkit::analyze(profile));
  auto const section =
      std::find_if(document.sections.begin(), document.sections.end(), [](auto const& each) { return each.id == "energy"; });
  REQUIRE(section != document.sections.end());
  profkit::detail::data_table const& scopes = table_of(*section, "energy_scopes");
  REQUIRE(scopes.rows.size() == 1);
  CHECK(std::get<std::string>(scopes.rows[0].cells[3].value) == "10.0");
  CHECK_THAT(section->answer, ContainsSubstring("GPU 0: 25.0\xc2\xa0J a step (250\xc2\xa0W), 500\xc2\xa0mJ per item"));
  auto const is_energy = [](auto const& each) { return each.name == "energy a step"; };
  CHECK(std::any_of(document.key_figures.begin(), document.key_figures.end(), is_energy));
}
