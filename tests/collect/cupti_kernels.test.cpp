// SPDX-License-Identifier: Apache-2.0
//
// Kernel collection on an imitated driver and CUPTI in the library path.
#include <profkit/cupti.hpp>
#include <profkit/impl/analyze/gpu/attribution.hpp>
#include <profkit/report.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <cupti.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "../support/profile_of.hpp"
#include "../support/repetitions.hpp"
#include "fake_cupti.hpp"

using Catch::Matchers::ContainsSubstring;

namespace {

thread_local std::uint64_t allocations = 0;

/// An environment variable that is removed at the end of the test.
struct variable {
  variable(char const* variable_name, std::string const& value) : name{variable_name} { ::setenv(name, value.c_str(), 1); }
  ~variable() { ::unsetenv(name); }
  variable(variable const&) = delete;
  variable& operator=(variable const&) = delete;
  char const* name;
};

int synchronisations() { return *static_cast<int*>(::dlsym(::dlopen("libcuda.so.1", RTLD_NOW), "fake_cuda_synchronisations")); }

profkit::collector_record kernels_of(profkit::session& session) {
  for (auto const& each : session.report().profile().collectors) {
    if (each.name == "kernels") return each;
  }
  return {};
}

/// The reason why a session cannot collect kernels.
std::string reason() {
  profkit::session session{plain_options()};
  session.collect(profkit::cupti_kernels());
  profkit::collector_record const kernels = kernels_of(session);
  CHECK(kernels.status == "not collected");
  return kernels.reason;
}

/// The registers that a block takes, at least.
std::uint32_t registers_of_block(std::uint32_t threads, std::uint32_t registers) {
  return (threads + 31) / 32 * 32 * ((registers + 7) / 8 * 8);
}

std::vector<std::string> charged(profkit::profile const& profile) {
  profkit::attribution const to = profkit::attribute(profile);
  std::vector<std::string> result;
  for (std::size_t i = 0; i < profile.gpu_operations.size(); ++i) {
    std::string const scope = to.scope_of[i] == profkit::attribution::none ? "-" : path_name(profile, profile.scopes[to.scope_of[i]].path);
    result.push_back(profile.gpu_names[profile.gpu_operations[i].name].name + " in " + scope);
  }
  return result;
}

}  // namespace

__attribute__((noinline)) void* operator new(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc{};
}
__attribute__((noinline)) void* operator new(std::size_t size, std::nothrow_t const&) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

TEST_CASE("operations are charged to the innermost scope open when they were launched", "[cupti]") {
  fake_cupti_controls& fake = fake_cupti();
  for (bool const all_api_calls : {false, true}) {
    profkit::session session{plain_options()};
    auto& collector = session.collect(profkit::cupti_kernels({all_api_calls}));
    INFO(collector.status().reason);
    REQUIRE(collector.status().works);
    fake.kernel("_Z5firstv", 1, 100, 200);
    {
      PROF_SCOPE("outer");
      fake.kernel("_Z6secondPf", 2, 300, 400);
      {
        PROF_SCOPE("inner");
        fake.copy(1, 1024, 400, 500);
        fake.set(64, 500, 600);
        fake.call();
      }
      fake.kernel("_Z6secondPf", 3, 600, 700);
      std::thread{[&] { fake.kernel("not mangled", 4, 700, 800); }}.join();
    }
    profkit::profile const profile = session.report().profile();
    CHECK(charged(profile) == std::vector<std::string>{"first() in -", "second(float*) in outer",
                                                       "[CUDA memcpy Host-to-Device] in outer/inner", "[CUDA memset] in outer/inner",
                                                       "second(float*) in outer", "not mangled in -"});
    REQUIRE(profile.gpu_names.size() == 5);  // each name once
    CHECK(profile.gpu_names[1].mangled == "_Z6secondPf");
    CHECK(profile.gpu_names[4].mangled.empty());
    CHECK(profile.gpu_names[0].direction == profkit::copy_direction::unknown);
    CHECK(profile.gpu_names[2].direction == profkit::copy_direction::host_to_device);
    CHECK(profile.collectors.at(0).kind == profkit::collector_kind::kernels);
    CHECK(profile.gpu_operations[1].grid[0] == 2);
    CHECK(profile.gpu_operations[1].stream == 7);
    CHECK(profile.gpu_operations[1].time.duration() == std::chrono::nanoseconds{100});
    CHECK(profile.gpu_operations[2].bytes == 1024);
    CHECK(profile.gpu_operations[2].kind == profkit::gpu_operation_kind::copy);
    CHECK(profile.gpu_operations[3].kind == profkit::gpu_operation_kind::set);
    CHECK(profile.has_all_api_calls == all_api_calls);
    CHECK(profile.api_calls.size() == (all_api_calls ? 7 : 6));
    CHECK(profile.api_names[profile.api_calls[0].name] == (all_api_calls ? "cudaLaunchKernel_v7000" : "cuLaunchKernel"));
    CHECK(profile.environment.gpu == "fake GPU");
  }
}

TEST_CASE("driver memory is recorded after its allocation and before its release", "[cupti]") {
  fake_cupti_controls& fake = fake_cupti();
  profkit::session session{plain_options()};
  session.collect(profkit::cupti_kernels());
  {
    PROF_SCOPE("scope");
    fake.allocate(0x1000, 4096, false);
    fake.allocate(0x2000, 8192, true);  // the allocation fails
    std::thread{[&] { fake.release(0x1000); }}.join();
    fake.release(0);  // freeing a null pointer does nothing
  }
  profkit::profile const profile = session.report().profile();
  REQUIRE(profile.allocators.size() == 1);
  CHECK(profile.allocators[0].name == "cuda driver");
  CHECK(profile.allocators[0].bytes_at_start == 400);  // usage of the imitated device
  CHECK_FALSE(profile.allocators[0].is_polled);
  REQUIRE(profile.allocations.size() == 2);
  profkit::allocation_record const& got = profile.allocations[0];
  CHECK(got.kind == profkit::allocation_kind::allocated);
  CHECK(got.address == 0x1000);
  CHECK(got.bytes == 4096);
  profkit::allocation_record const& given_back = profile.allocations[1];
  CHECK(given_back.kind == profkit::allocation_kind::released);
  CHECK(given_back.address == 0x1000);
  CHECK(given_back.thread != got.thread);
  CHECK(given_back.time > got.time);
  REQUIRE(profile.scopes.size() == 1);
  CHECK(profile.scopes[0].time.begin < got.time);
  CHECK(profile.api_calls.empty());  // they launch nothing
}

TEST_CASE("operations without a valid time are counted and left out, and dropped records are reported", "[cupti]") {
  fake_cupti_controls& fake = fake_cupti();
  profkit::session session{plain_options()};
  session.collect(profkit::cupti_kernels());
  fake.kernel("_Z1av", 1, 0, 0);
  fake.kernel("_Z1av", 1, 200, 100);
  fake.set(8, 100, 0);
  fake.kernel("_Z1av", 1, 100, 100);
  fake.records_to_drop = 3;
  profkit::profile const profile = session.report().profile();
  CHECK(profile.gpu_operations.size() == 1);
  CHECK(profile.quality.invalid_operations == 3);
  CHECK(profile.quality.dropped_operations == 3);
}

TEST_CASE("operations with impossible times are counted and left out, and change no other figure", "[cupti]") {
  using namespace std::chrono_literals;
  fake_cupti_controls& fake = fake_cupti();
  auto const ns = [](std::chrono::nanoseconds time) { return static_cast<std::uint64_t>(time.count()); };
  constexpr std::uint64_t before = 0;  // times are added to the moment of the launch, and wrap around
  struct impossible {
    char const* what;
    std::uint64_t start;
    std::uint64_t end;
  };
  bool is_absolute = false;
  std::vector<impossible> const relative{
      {"begins 50 ms before its launch", before - ns(50ms), 100},
      {"runs before its launch", before - ns(3s), before - ns(2s)},
      {"runs 30 years ago", before - ns(262'800h), before - ns(262'799h)},
      {"began 30 years ago", before - ns(262'800h), 100},
      {"ends in 30 years", 100, ns(262'800h)},
      {"runs in 30 years", ns(262'800h), ns(262'801h)},
      {"ends in 10 s", 100, ns(10s)},
      {"ends before it begins", 500, 100},
  };
  std::vector<impossible> const absolute{
      {"the sign bit alone", 0x8000000000000000U, 0x8000000000000000U},
      {"begins at the sign bit", 0x8000000000000000U, 0x8000000000000100U},
      {"ends at the sign bit", 1, 0x8000000000000000U},
      {"all bits", ~std::uint64_t{0}, ~std::uint64_t{0}},
      {"the first nanosecond", 1, 2},
      {"half of the range", std::uint64_t{1} << 62U, (std::uint64_t{1} << 62U) + 5},
      {"no time", 0, 0},
  };
  auto const run = [&](impossible const* bad, bool with_journal) {
    profkit::options options = plain_options(0, 4);
    std::string const file = "impossible_times.journal";
    if (with_journal) options.journal = file;
    profkit::session session{options};
    session.collect(profkit::cupti_kernels());
    for (profkit::step step : session) {
      PROF_SCOPE("work");
      fake.kernel("_Z4goodv", 1, 1000, 2000);
      fake.takes_calendar_times = is_absolute;
      if (bad != nullptr) fake.kernel("_Z3badv", 1, bad->start, bad->end);
      fake.takes_calendar_times = false;
      std::this_thread::sleep_for(1ms);
    }
    profkit::report report = session.report();
    if (with_journal) ::unlink(file.c_str());
    return report;
  };
  for (bool const all_absolute : {false, true}) {
    is_absolute = all_absolute;
    for (impossible const& each : all_absolute ? absolute : relative) {
      INFO(each.what);
      bool const with_journal = &each == &relative.front();
      profkit::report const report = run(&each, with_journal);
      CHECK(report.profile().quality.invalid_operations == 4);
      REQUIRE(report.profile().gpu_operations.size() == 4);
      REQUIRE(report.summary().gpu);
      CHECK(report.summary().gpu->all.kernels == 4);
      CHECK(report.summary().gpu->kernels.size() == 1);
      for (profkit::gpu_operation_record const& operation : report.profile().gpu_operations) {
        CHECK(operation.time.begin >= report.profile().time.begin);
        CHECK(operation.time.end <= report.profile().time.end);
      }
    }
  }
  is_absolute = false;
  CHECK(run(nullptr, false).profile().quality.invalid_operations == 0);
}

TEST_CASE("each launch has its shape, with as many resident blocks as NVIDIA's occupancy calculator says", "[cupti]") {
  fake_cupti_controls& fake = fake_cupti();
  // The occupancy calculator for compute capability 9.0, written independently of cuda_occupancy.h.
  auto const resident_blocks = [](fake_launch_shape const& shape) {
    auto const up = [](std::uint32_t value, std::uint32_t unit) { return (value + unit - 1) / unit * unit; };
    std::uint32_t const warps = up(shape.threads, 32) / 32;
    std::uint32_t const registers_of_warp = up(shape.registers * 32U, 256);
    std::uint32_t const shared = up(shape.static_shared_bytes + shape.dynamic_shared_bytes + 1024, 128);
    std::uint32_t const by_registers = registers_of_warp == 0 ? 64 : 65536 / 4 / registers_of_warp * 4 / warps;
    return std::min({std::uint32_t{32}, 64 / warps, by_registers, 233472 / shared});
  };
  std::vector<fake_launch_shape> shapes;
  for (std::uint32_t const threads : {1U, 32U, 96U, 100U, 128U, 256U, 768U, 1024U}) {
    for (std::uint16_t const registers : std::vector<std::uint16_t>{16, 32, 40, 64, 128, 255}) {
      if (registers_of_block(threads, registers) > 65536) continue;
      for (std::uint32_t const dynamic_bytes : {0U, 1000U, 16384U, 49152U, 200000U})
        shapes.push_back({threads, registers, 512, dynamic_bytes, 8, 0});
    }
  }
  REQUIRE(shapes.size() >= 200);
  profkit::session session{plain_options()};
  session.collect(profkit::cupti_kernels());
  for (int round = 0; round < 2; ++round) {
    for (fake_launch_shape const& each : shapes) {
      fake.shape = each;
      fake.kernel("_Z1av", 7, 100, 200);
    }
  }
  fake.shape = {64, 32, 0, 0, 0, 4};
  fake.kernel("_Z7clusterv", 8, 100, 200);
  fake.shape = {1, 0, 0, 0, 0, 0};
  profkit::profile const profile = session.report().profile();
  REQUIRE(profile.gpu_operations.size() == 2 * shapes.size() + 1);
  REQUIRE(profile.launch_shapes.size() == shapes.size() + 1);  // each once
  for (std::size_t i = 0; i < 2 * shapes.size(); ++i) {
    fake_launch_shape const& wanted = shapes[i % shapes.size()];
    profkit::launch_shape_record const& found = profile.launch_shapes.at(profile.gpu_operations[i].shape - 1U);
    CAPTURE(wanted.threads, wanted.registers, wanted.dynamic_shared_bytes);
    CHECK(found.threads == wanted.threads);
    CHECK(found.registers == wanted.registers);
    CHECK(found.static_shared_bytes == 512);
    CHECK(found.dynamic_shared_bytes == wanted.dynamic_shared_bytes);
    CHECK(found.local_bytes == 8);
    CHECK(found.cluster_blocks == 1);
    CHECK(found.multiprocessors == 132);
    CHECK(found.max_warps == 64);
    CHECK(found.blocks_per_multiprocessor == resident_blocks(wanted));
    CHECK(found.limits != 0);
  }
  CHECK(profile.launch_shapes.back().cluster_blocks == 4);
}

TEST_CASE("beyond 4,096 shapes, launches have none", "[cupti]") {
  fake_cupti_controls& fake = fake_cupti();
  profkit::session session{plain_options()};
  session.collect(profkit::cupti_kernels());
  for (std::uint32_t i = 0; i < 5000; ++i) {
    fake.shape = {32, 16, i, 0, 0, 0};
    fake.kernel("_Z1av", 7, 100, 200);
  }
  fake.shape = {1, 0, 0, 0, 0, 0};
  profkit::profile const profile = session.report().profile();
  REQUIRE(profile.gpu_operations.size() == 5000);
  CHECK(profile.launch_shapes.size() == 4096);
  CHECK(profile.gpu_operations[4095].shape == 4096);
  CHECK(profile.gpu_operations[4096].shape == 0);
}

TEST_CASE("beyond the record budget, operations and calls still count in the figures", "[cupti]") {
  profkit::options options = plain_options();
  options.max_records = 5;
  profkit::session session{options};
  session.collect(profkit::cupti_kernels());
  {
    PROF_SCOPE("scope");
    for (std::uint64_t i = 0; i < 10; ++i) fake_cupti().kernel("_Z5firstv", 1, 100 * (i + 1), 100 * (i + 1) + 50);
  }
  profkit::report const report = session.report();
  profkit::profile const& profile = report.profile();
  CHECK(profile.scopes.size() + profile.gpu_operations.size() + profile.api_calls.size() == 5);
  CHECK(profile.quality.untraced_records == 1 + 10 + 10 - 5);
  CHECK(report.summary().gpu->kernels.at(0).time.count == 10);
  CHECK(report.summary().scopes.at(0).gpu->operations == 10);
}

TEST_CASE("correlations continue beyond 32 bits", "[cupti]") {
  fake_cupti_controls& fake = fake_cupti();
  fake.next_correlation = 0xffffffffU - 100;
  profkit::session session{plain_options()};
  session.collect(profkit::cupti_kernels());
  for (std::uint32_t i = 0; i < 200; ++i) {
    PROF_SCOPE_INDEXED("scope", i);
    fake.kernel("_Z1av", i + 1, 100, 200);
  }
  profkit::profile const profile = session.report().profile();
  profkit::attribution const to = profkit::attribute(profile);
  REQUIRE(profile.gpu_operations.size() == 200);
  for (std::size_t i = 0; i < 200; ++i) {
    if (i > 0) CHECK(profile.gpu_operations[i].correlation == profile.gpu_operations[i - 1].correlation + 1);
    CHECK(profile.paths[profile.scopes[to.scope_of[i]].path].index == static_cast<std::int64_t>(profile.gpu_operations[i].grid[0]) - 1);
  }
}

TEST_CASE("each of many kernels keeps its name, wherever its text is stored", "[cupti]") {
  constexpr std::uint32_t names = 3000;
  std::vector<std::string> here;
  for (std::uint32_t i = 0; i < names; ++i) here.push_back("a kernel with number " + std::to_string(i));
  std::vector<std::string> const there = here;
  profkit::session session{plain_options()};
  session.collect(profkit::cupti_kernels());
  for (std::uint32_t i = 0; i < 3 * names; ++i) fake_cupti().kernel((i / names == 1 ? there : here)[i % names].c_str(), i + 1, 100, 200);
  profkit::profile const profile = session.report().profile();
  CHECK(profile.gpu_names.size() == names);
  REQUIRE(profile.gpu_operations.size() == 3 * names);
  std::uint32_t wrong = 0;
  for (profkit::gpu_operation_record const& each : profile.gpu_operations) {
    wrong += profile.gpu_names[each.name].name == here[(each.grid[0] - 1) % names] ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a warm launching thread allocates nothing, and buffers are reused", "[cupti]") {
  fake_cupti_controls& fake = fake_cupti();
  constexpr std::uint32_t launches = 400'000;  // of 216 bytes: 21 buffers of 4 MiB
  profkit::session session{plain_options()};
  session.collect(profkit::cupti_kernels());
  std::uint64_t const buffers_before = fake.buffers_requested;
  std::uint64_t on_this_thread = 0;
  std::thread{[&] {
    fake.kernel("_Z1av", 1, 100, 200);
    std::uint64_t const before = allocations;
    for (std::uint32_t i = 1; i < launches; ++i) fake.kernel("_Z1av", 1, 100, 200);
    on_this_thread = allocations - before;
  }}.join();
  CHECK(on_this_thread == 0);
  CHECK(fake.buffers_requested - buffers_before >= 20);
  CHECK(session.report().profile().gpu_operations.size() == launches);
  CHECK(session.report().profile().quality.dropped_operations == 0);
}

TEST_CASE("the device is synchronised once, when the session ends", "[cupti]") {
  fake_cupti_controls& fake = fake_cupti();
  profkit::options options = plain_options(2, 3);
  profkit::session session{options};
  session.collect(profkit::cupti_kernels());
  int const before = synchronisations();
  for (profkit::step const step : session) {
    fake.kernel("_Z1av", 1, 100, 200);
    std::this_thread::sleep_for(std::chrono::milliseconds{11});  // so that each step drains
  }
  CHECK(synchronisations() == before);
  CHECK(session.report().profile().gpu_operations.size() == 5);
  CHECK(synchronisations() == before + 1);
}

TEST_CASE("sessions in sequence collect, and CUPTI is free in between", "[cupti]") {
  fake_cupti_controls& fake = fake_cupti();
  for (int round = 0; round < 3; ++round) {
    {
      profkit::session session{plain_options()};
      session.collect(profkit::cupti_kernels());
      CHECK(fake.is_subscribed);
      fake.kernel("_Z1av", 1, 100, 200);
      CHECK(session.report().profile().gpu_operations.size() == 1);
      CHECK_FALSE(fake.is_subscribed);
    }
    fake.kernel("_Z7betweenv", 1, 100, 200);
  }
}

TEST_CASE("a second collector reports that one exists, and the first continues", "[cupti]") {
  fake_cupti_controls& fake = fake_cupti();
  profkit::session session{plain_options()};
  session.collect(profkit::cupti_kernels());
  auto const& second = session.collect(profkit::cupti_kernels());
  CHECK_THAT(second.status().reason, ContainsSubstring("another collector of kernels runs"));
  fake.kernel("_Z1av", 1, 100, 200);
  CHECK(session.report().profile().gpu_operations.size() == 1);
}

TEST_CASE("another tool that uses CUPTI is named", "[cupti]") {
  fake_cupti_controls& fake = fake_cupti();
  {
    variable const conflict{"FAKE_CUPTI", "cuptiSubscribe=39"};
    CHECK_THAT(reason(), ContainsSubstring("CUPTI for something uses CUPTI"));
    variable const nsys{"NSYS_PROFILING_SESSION_ID", "1"};
    CHECK_THAT(reason(), ContainsSubstring("Nsight Systems uses CUPTI"));
  }
  CHECK_FALSE(fake.is_subscribed);
}

TEST_CASE("a missing driver, device, permission or newer libcupti is named", "[cupti]") {
  static_cast<void>(fake_cupti());
  {
    variable const no_device{"FAKE_CUDA", "cuInit=100"};
    CHECK(reason() == "cuInit: CUDA_ERROR_NO_DEVICE");
  }
  {
    variable const privileges{"FAKE_CUPTI", "cuptiActivityEnable=35"};
    CHECK_THAT(reason(), ContainsSubstring("INSUFFICIENT_PRIVILEGES") && ContainsSubstring("NVreg_RestrictProfilingToAdminUsers"));
  }
  {
    variable const old{"FAKE_CUPTI", "version=18"};
    CHECK_THAT(reason(), ContainsSubstring("too old: its version is 18, at least 19"));
  }
}

TEST_CASE("if any call fails with any code at any time, the program continues and the next session collects", "[cupti]") {
  fake_cupti_controls& fake = fake_cupti();
  struct library {
    char const* variable;
    std::vector<std::string> calls;
    std::vector<int> codes;  // all that the manual names for these functions
  };
  for (library const& each :
       {library{
            "FAKE_CUPTI",
            {"cuptiGetVersion", "cuptiSubscribe", "cuptiGetCallbackName", "cuptiSetThreadIdType", "cuptiActivitySetAttribute",
             "cuptiActivityRegisterCallbacks", "cuptiActivityEnable", "cuptiEnableCallback", "cuptiGetGraphNodeId", "cuptiActivityDisable",
             "cuptiActivityFlushAll", "cuptiActivityGetNumDroppedRecords", "cuptiUnsubscribe", "cuptiActivityGetNextRecord"},
            {CUPTI_ERROR_INVALID_PARAMETER, CUPTI_ERROR_INVALID_DEVICE, CUPTI_ERROR_INVALID_CONTEXT, CUPTI_ERROR_INVALID_OPERATION,
             CUPTI_ERROR_OUT_OF_MEMORY, CUPTI_ERROR_MAX_LIMIT_REACHED, CUPTI_ERROR_NOT_READY, CUPTI_ERROR_NOT_COMPATIBLE,
             CUPTI_ERROR_NOT_INITIALIZED, CUPTI_ERROR_INVALID_KIND, CUPTI_ERROR_DISABLED, CUPTI_ERROR_NOT_SUPPORTED,
             CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
             CUPTI_ERROR_UNKNOWN}},
        library{"FAKE_CUDA",
                {"cuInit", "cuDeviceGetCount", "cuDevicePrimaryCtxGetState", "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease",
                 "cuCtxPushCurrent", "cuCtxPopCurrent", "cuCtxSynchronize", "cuThreadExchangeStreamCaptureMode"},
                {CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_DEINITIALIZED,
                 CUDA_ERROR_NO_DEVICE, CUDA_ERROR_INVALID_DEVICE, CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
                 CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_CONTEXT_IS_DESTROYED, CUDA_ERROR_UNKNOWN}}}) {
    for (std::string const& call : each.calls) {
      for (std::size_t i = 0; i < each.codes.size(); i += stride) {
        int const code = each.codes[i];
        for (int const first : {1, 2, 6}) {  // at the start, in the middle, at the end, as often as the function is called
          INFO(call << " fails with " << code << " from call " << first << " on");
          {
            variable const failure{each.variable, call + "=" + std::to_string(code) + "@" + std::to_string(first)};
            profkit::options options = plain_options(0, 2);
            options.kernels_every = 2;
            profkit::session session{options};
            session.collect(profkit::cupti_kernels());
            for (profkit::step const step : session) {
              PROF_SCOPE("scope");
              fake.kernel("_Z1av", 1, 100, 200);
              fake.capture(7);
            }
            profkit::profile const profile = session.report().profile();
            REQUIRE(count_scopes(profile, "step/scope") == 2);
            profkit::collector_record const kernels = kernels_of(session);
            bool const is_said = !kernels.reason.empty() || profile.quality.dropped_operations + profile.quality.invalid_operations > 0;
            bool const is_end = call == "cuptiActivityGetNextRecord" &&
                                (code == CUPTI_ERROR_MAX_LIMIT_REACHED || code == CUPTI_ERROR_INVALID_KIND);  // of the records
            REQUIRE((is_said || is_end || profile.gpu_operations.size() == 1));
          }
          REQUIRE_FALSE(fake.is_subscribed);
        }
      }
    }
  }
  profkit::session session{plain_options()};
  session.collect(profkit::cupti_kernels());
  fake.kernel("_Z1av", 1, 100, 200);
  CHECK(session.report().profile().gpu_operations.size() == 1);
}

TEST_CASE("the child of a fork leaves CUPTI to its parent", "[cupti]") {
  fake_cupti_controls& fake = fake_cupti();
  auto session = std::make_unique<profkit::session>(plain_options());
  session->collect(profkit::cupti_kernels());
  fake.kernel("_Z1av", 1, 100, 200);
  pid_t const child = ::fork();
  if (child == 0) {
    session.reset();
    ::_exit(fake.is_subscribed ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(session->report().profile().gpu_operations.size() == 1);
}
