// SPDX-License-Identifier: Apache-2.0
//
// Migrations and faults of unified memory, from an imitated CUPTI.
#include <profkit/cupti.hpp>
#include <profkit/impl/collect/function_names.hpp>
#include <profkit/report.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>

#include "../support/profile_of.hpp"
#include "fake_cupti.hpp"

namespace {

constexpr std::uint32_t to_device = 1, to_host = 2, cpu_fault = 3, gpu_fault = 4, thrashing = 5;

std::uint64_t calendar_us(int us) {
  auto const now = std::chrono::system_clock::now().time_since_epoch() + std::chrono::microseconds{us};
  return static_cast<std::uint64_t>(now / std::chrono::nanoseconds{1});
}

/// The imitated CUPTI gets times of the calendar for the length of a test.
struct with_calendar_times {
  with_calendar_times() { fake_cupti().takes_calendar_times = true; }
  ~with_calendar_times() { fake_cupti().takes_calendar_times = false; }
};

/// The address of the call in the calling function.
__attribute__((noinline)) std::uint64_t program_counter() {
  asm volatile("");  // two calls are not one
  return reinterpret_cast<std::uint64_t>(__builtin_return_address(0)) - 1;
}

/// Two instructions of this function, which fault.
struct faults {
  std::uint64_t first;
  std::uint64_t second;
};
constexpr std::uint32_t line_of_faults = __LINE__;
__attribute__((noinline)) faults touch_managed_pages() {
  faults result{};
  result.first = program_counter();   // 3 lines after `line_of_faults`
  result.second = program_counter();  // 4 lines after it
  return result;
}

profkit::collector_record pages_of(profkit::report const& report) {
  for (profkit::collector_record const& each : report.profile().collectors) {
    if (each.kind == profkit::collector_kind::unified_memory) return each;
  }
  return {};
}

/// In each step, a kernel of 700 us in "compute" with pages on the way for 430 us of it; then the host touches them in "check".
void run_step() {
  fake_cupti_controls& fake = fake_cupti();
  {
    PROF_SCOPE("compute");
    std::uint64_t const begin = calendar_us(1000);
    fake.kernel("_Z13matrix_vectorv", 1, begin, begin + 700'000);
    fake.page_event(gpu_fault, 3, begin + 10'000, begin + 60'000);
    fake.page_event(to_device, 65'536, begin + 40'000, begin + 240'000);  // overlaps with the fault
    fake.page_event(to_device, 4096, begin + 500'000, begin + 700'000);
    fake.page_event(to_host, 8192, begin + 800'000, begin + 900'000);  // after the kernel
    fake.page_event(thrashing, 8192, begin + 100'000, 0);              // not collected
    std::this_thread::sleep_for(std::chrono::milliseconds{4});
  }
  PROF_SCOPE("check");
  std::this_thread::sleep_for(std::chrono::milliseconds{1});
  faults const at = touch_managed_pages();
  for (std::uint64_t const each : {at.first, at.second, at.second}) fake.page_event(cpu_fault, each, calendar_us(0), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds{1});
}

}  // namespace

TEST_CASE("migrations and faults are charged to the kernel that runs, or to the scope of the step thread", "[cupti]") {
  with_calendar_times const absolute;
  profkit::session session{plain_options(1, 2)};
  session.collect(profkit::cupti_kernels());
  session.collect(profkit::unified_memory());
  CHECK(fake_cupti().page_counters == 5);
  for (profkit::step step : session) run_step();
  profkit::report const report = session.report();
  CHECK(pages_of(report).status == "collected");
  CHECK(report.profile().quality.invalid_operations == 0);
  REQUIRE(report.profile().page_events.size() == 3 * 7);
  REQUIRE(report.summary().unified_memory);
  profkit::unified_memory_summary const& pages = *report.summary().unified_memory;
  REQUIRE(pages.operations.size() == 3);
  CHECK(pages.operations[0].name == "[CUDA memcpy Unified Host-to-Device]");
  CHECK(pages.operations[0].time.count == 4);
  CHECK(pages.operations[0].bytes == 2 * (65'536 + 4096));
  CHECK(pages.operations[1].name == "[CUDA memcpy Unified Device-to-Host]");
  CHECK(pages.operations[1].bytes == 2 * 8192);
  CHECK(pages.operations[2].time.total.count() == Catch::Approx(0.1));
  std::string const why_no_lines = profkit::detail::function_names{}.why_no_lines();
  REQUIRE(pages.places.size() == (why_no_lines.empty() ? 4 : 3));
  CHECK(pages.places[0].kernel == "matrix_vector()");
  CHECK(pages.places[0].path == "step/compute");
  CHECK(pages.places[0].migrations == 4);
  CHECK(pages.places[0].bytes_to_device == 2 * (65'536 + 4096));
  CHECK(pages.places[0].device_faults == 6);
  CHECK(pages.places[0].waiting.count() == Catch::Approx(2 * 0.43));  // the union, twice
  CHECK(pages.places[1].kernel.empty());
  CHECK(pages.places[1].path == "step/compute");
  CHECK(pages.places[1].bytes_to_host == 2 * 8192);
  CHECK(pages.places[1].waiting.count() == 0.0);
  CHECK(pages.places[2].path == "step/check");
  CHECK(pages.places[2].function.find("touch_managed_pages") != std::string::npos);
  profkit::detail::own_string const text = report.full_text();
  if (!why_no_lines.empty()) {
    CHECK(text.find("Source lines of faults need") != std::string::npos);
    SKIP(why_no_lines);
  }
  CHECK(pages.places[2].host_faults == 4);
  CHECK(pages.places[3].host_faults == 2);
  CHECK(pages.places[3].function == pages.places[2].function);
  CHECK(pages.places[2].line == line_of_faults + 4);
  CHECK(pages.places[3].line == line_of_faults + 3);
  CHECK(pages.places[3].file.find("cupti_unified_memory.test.cpp") != std::string::npos);
  CHECK(text.find("Source lines of faults need") == std::string::npos);
}

TEST_CASE("managed memory is a suspicion, unless its migrations are recorded", "[cupti]") {
  auto const report_of = [](bool uses_managed, bool with_pages) {
    profkit::session session{plain_options(0, 2)};
    session.collect(profkit::cupti_kernels());
    if (with_pages) session.collect(profkit::unified_memory());
    fake_cupti_controls& fake = fake_cupti();
    if (uses_managed) fake.allocate_managed(0x10000, 256U << 20U);
    fake.allocate(0x20000, 4096, false);
    for (profkit::step step : session) fake.kernel("_Z1av", 1, 100, 200);
    if (uses_managed) fake.release(0x10000);
    fake.release(0x20000);
    return session.report();
  };
  constexpr char const* suspicion = "Kernels may wait for pages: the program uses 256 MiB of managed memory.";
  profkit::report const suspected = report_of(true, false);
  for (profkit::allocator_summary const& each : suspected.summary().allocators) {
    CHECK(each.unknown_releases == 0);  // each release belongs to its allocator
    if (each.source == "cuda managed") CHECK(each.max_bytes == 256U << 20U);
  }
  CHECK(suspected.summary().allocators.size() == 2);
  CHECK(suspected.full_text().find(suspicion) != std::string::npos);
  CHECK(report_of(true, true).full_text().find("Kernels may wait for pages") == std::string::npos);
  CHECK(report_of(false, false).full_text().find("Kernels may wait for pages") == std::string::npos);
}

TEST_CASE("unified memory has a reason where it cannot be recorded, and kernels are collected nevertheless", "[cupti]") {
  auto const collect = [](bool with_kernels) {
    profkit::session session{plain_options(0, 1)};
    if (with_kernels) session.collect(profkit::cupti_kernels());
    session.collect(profkit::unified_memory());
    for (profkit::step step : session) fake_cupti().kernel("_Z1av", 1, 100, 200);
    profkit::report report = session.report();
    CHECK(pages_of(report).status == "not collected");
    CHECK_FALSE(report.summary().unified_memory);
    CHECK(report.profile().gpu_operations.size() == (with_kernels ? 1 : 0));
    return pages_of(report).reason;
  };
  CHECK(collect(false) == "unified memory needs cupti_kernels, collected before it");
  ::setenv("FAKE_CUPTI", "cuptiActivityConfigureUnifiedMemoryCounter=32", 1);
  CHECK(collect(true).rfind("cuptiActivityConfigureUnifiedMemoryCounter: ", 0) == 0);
  ::unsetenv("FAKE_CUPTI");
}

TEST_CASE("unified memory has a reason where CUPTI shows no pages, because memory was allocated before", "[cupti]") {
  auto const pages = [](bool allocates) {
    profkit::session session{plain_options(0, 1)};
    session.collect(profkit::cupti_kernels());
    session.collect(profkit::unified_memory());
    if (allocates) fake_cupti().allocate_managed(0x10000, 4096);
    for (profkit::step step : session) fake_cupti().kernel("_Z1av", 1, 100, 200);
    if (allocates) fake_cupti().release(0x10000);
    return pages_of(session.report());
  };
  CHECK(pages(true).status == "collected");
  CHECK(pages(false).reason == "no managed memory was allocated while this collector ran, and CUPTI does not show pages of earlier memory");
}

TEST_CASE("the option unified_memory adds the counters to a kernel collector, and without it there are none", "[cupti]") {
  for (bool const wanted : {false, true}) {
    with_calendar_times const absolute;
    fake_cupti().page_counters = 0;
    profkit::options options = profkit::options::parse(wanted ? "unified_memory,steps=1,warmup=0" : "steps=1,warmup=0");
    profkit::session session{options};
    session.collect(profkit::cupti_kernels());
    for (profkit::step step : session) run_step();
    profkit::report const report = session.report();
    CHECK(report.summary().unified_memory.has_value() == wanted);
    CHECK(fake_cupti().page_counters == (wanted ? 5 : 0));
    CHECK(report.profile().page_events.size() == (wanted ? 7 : 0));
    CHECK(pages_of(report).name == (wanted ? "unified memory" : ""));
  }
}

TEST_CASE("events of unified memory with impossible times are counted and left out", "[cupti]") {
  with_calendar_times const absolute;
  profkit::session session{plain_options(0, 1)};
  session.collect(profkit::cupti_kernels());
  session.collect(profkit::unified_memory());
  for (profkit::step step : session) {
    std::uint64_t const now = calendar_us(0);
    fake_cupti().page_event(to_device, 1, now + 500, now + 100);
    fake_cupti().page_event(to_device, 1, 0x8000000000000000U, 0x8000000000000100U);
    fake_cupti().page_event(to_device, 1, now, now + 10'000'000'000U);
    fake_cupti().page_event(cpu_fault, 1, 1, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  profkit::profile const profile = session.report().profile();
  CHECK(profile.page_events.empty());
  CHECK(profile.quality.invalid_operations == 4);
}
