// SPDX-License-Identifier: Apache-2.0
//
// For compare_traces.py: writes DIR/trace.json, DIR/trace.pftrace and DIR/plain.pftrace of a saved profile, or of a generated one with data
// that recorded profiles lack.
//
// usage: profkit_write_traces PROFILE|made DIR STEPS
#include <profkit/impl/report/trace_json.hpp>
#include <profkit/save_load.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "../support/made_gpu_profile.hpp"
#include "traces/pftrace.hpp"

namespace {

/// Two devices, two threads, names with arbitrary bytes, overlapping operations on one stream, calls that cross the borders of scopes,
/// slices without duration, counters with any value, allocations and releases.
profkit::profile made_for_traces() {
  profkit::profile made = made_gpu_profile(true);
  std::string const hostile = "quote \" backslash \\ newline \n control \x01 {} %s broken \xff\xc3";
  made.environment.process_id = 7;
  made.environment.host = hostile;
  made.environment.command = {"program", hostile};
  made.paths[1].name = hostile;
  made.gpu_names[0].name = hostile;
  made.api_names[0] = hostile;
  made.threads = {{7, hostile}, {8, "loader"}};
  for (std::size_t i = 0; i < made.gpu_operations.size(); ++i) {
    profkit::gpu_operation_record& operation = made.gpu_operations[i];
    operation.device = i % 2 == 0 ? 1 : 0;
    operation.stream = 7;
    operation.time.end += std::chrono::milliseconds{1};
  }
  for (profkit::api_call_record& call : made.api_calls) {
    call.time = {call.time.begin - std::chrono::microseconds{100}, call.time.end + std::chrono::microseconds{700}};
  }
  profkit::timestamp const begin = made.steps.back().time.begin;
  for (int i = 0; i < 300; ++i) {  // more names than fit into one byte
    made.paths.push_back({profkit::path_record::no_parent, "name", i, "made.cpp", 1});
    profkit::timestamp const moment = begin + std::chrono::nanoseconds{i * 3};
    made.scopes.push_back({{moment, moment + std::chrono::nanoseconds{i % 3}}, static_cast<std::uint32_t>(made.paths.size() - 1), 1});
  }
  made.counter_names.push_back("any value");
  auto const counter = static_cast<std::uint32_t>(made.counter_names.size() - 1);
  for (double const value : {1e300, -0.125, 0.0}) made.counters.push_back({begin + std::chrono::microseconds{1}, value, counter, 0});
  made.counters.push_back({begin, 2.5, counter, 1});  // from another thread, and earlier
  made.allocators.push_back({"pool", 1000, false});
  auto const allocator = static_cast<std::uint16_t>(made.allocators.size() - 1);
  for (int i = 0; i < 20; ++i) {
    profkit::timestamp const moment = begin + std::chrono::microseconds{10 + i};
    made.allocations.push_back({moment, 64, std::uint64_t{1} << 32U, 0, allocator,
                                i % 2 == 0 ? profkit::allocation_kind::allocated : profkit::allocation_kind::released});
  }
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  profkit::profile const profile = std::string{argv[1]} == "made" ? made_for_traces() : profkit::load(argv[1]);
  std::filesystem::path const directory = argv[2];
  std::uint64_t const steps = std::strtoull(argv[3], nullptr, 10);
  profkit::attribution const launched = profkit::attribute(profile);
  std::filesystem::create_directories(directory);
  profkit::write_trace_json(profile, launched, steps, directory / "trace.json");
  profkit::write_pftrace(profile, launched, steps, directory / "trace.pftrace");
  profkit::write_pftrace(profile, launched, steps, directory / "plain.pftrace", profkit::pftrace_packing::plain);
  return 0;
}
