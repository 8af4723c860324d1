// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/impl/profile/archive_reader.hpp>
#include <profkit/report.hpp>
#include <profkit/save_load.hpp>

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../support/made_full_profile.hpp"
#include "../support/repetitions.hpp"

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

/// A file that is removed at the end of the test.
struct saved_file {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("profkit-save-load-" + std::to_string(::getpid()));
  ~saved_file() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

std::string bytes_of(std::filesystem::path const& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

void write(std::filesystem::path const& path, std::string const& bytes) { std::ofstream{path, std::ios::binary} << bytes; }

void check_refused(profkit::profile const& profile, char const* why) {
  saved_file const file;
  profkit::save(profile, file.path);
  CHECK_THROWS_MATCHES(profkit::load(file.path), profkit::error, MessageMatches(ContainsSubstring(why)));
}

/// Larger in memory than in a file; counts its constructions.
struct counted_element {
  std::string text;
  inline static std::size_t made = 0;
  counted_element() { ++made; }
};

template <class Archive>
void fields(Archive& archive, counted_element& value) {
  archive(value.text);
}

}  // namespace

TEST_CASE("a loaded profile equals the saved one", "[save]") {
  saved_file const file;
  profkit::profile const saved = made_profile();
  profkit::save(saved, file.path);
  profkit::profile const loaded = profkit::load(file.path);
  CHECK(loaded.environment.command == saved.environment.command);
  CHECK(loaded.paths[2].index == saved.paths[2].index);
  CHECK(loaded.memory[0].peak_bytes == saved.memory[0].peak_bytes);
  CHECK_FALSE(loaded.memory[1].peak_bytes.has_value());
  CHECK(profkit::report_json(profkit::analyze(loaded)) == profkit::report_json(profkit::analyze(saved)));
  std::string const first = bytes_of(file.path);
  profkit::save(loaded, file.path);
  CHECK(bytes_of(file.path) == first);
}

TEST_CASE("the path of the step, the kinds of collectors and the directions of copies are saved", "[save]") {
  saved_file const file;
  profkit::profile saved = made_profile();
  saved.paths.push_back({profkit::path_record::no_parent, "step", {}, "other.cpp", 1});
  saved.collectors = {{"kernels", "collected", {}}, {"mine", "collected", {}, profkit::collector_kind::gpu_clocks}};
  saved.gpu_names = {{"[CUDA memcpy Host-to-Device]", {}}, {"copy", {}, profkit::copy_direction::peer_to_peer}};
  profkit::save(saved, file.path);
  profkit::profile const loaded = profkit::load(file.path);
  CHECK(loaded.paths.front().is_step);
  CHECK_FALSE(loaded.paths.back().is_step);
  CHECK(loaded.collectors[0].kind == profkit::collector_kind::other);
  CHECK(loaded.collectors[1].kind == profkit::collector_kind::gpu_clocks);
  CHECK(loaded.gpu_names[0].direction == profkit::copy_direction::unknown);
  CHECK(loaded.gpu_names[1].direction == profkit::copy_direction::peer_to_peer);
}

TEST_CASE("a profile with two paths of the steps, or with one inside another path, is refused", "[save]") {
  profkit::profile profile = made_profile();
  profile.paths.back().is_step = true;
  check_refused(profile, "the steps have several paths");
  profile = made_profile();
  profile.paths[0].is_step = false;
  profile.paths[1].is_step = true;
  check_refused(profile, "the path of the steps lies in another");
}

TEST_CASE("a saved snapshot is marked as a snapshot, and lists what is missing", "[save]") {
  saved_file const file;
  profkit::profile profile = made_profile();
  profile.quality.snapshot = profkit::snapshot_record{true, false, 12, 34};
  profkit::save(profile, file.path);
  auto const loaded = profkit::load(file.path).quality.snapshot;
  REQUIRE(loaded);
  CHECK(loaded->is_step_open);
  CHECK_FALSE(loaded->is_behind);
  CHECK(loaded->missing_operations == 12);
  CHECK(loaded->untimed_steps == 34);
}

TEST_CASE("a profile of the previous format is read, and older and newer ones are refused", "[save]") {
  saved_file const file;
  profkit::profile const saved = made_profile();
  profkit::save(saved, file.path);
  std::string bytes = bytes_of(file.path);
  constexpr std::size_t at_format = 8;  // after the magic
  REQUIRE(bytes[at_format] == 13);
  bytes[at_format] = 12;
  write(file.path, bytes);
  CHECK(profkit::report_json(profkit::analyze(profkit::load(file.path))) == profkit::report_json(profkit::analyze(saved)));
  for (int const format : {5, 11, 14}) {
    bytes[at_format] = static_cast<char>(format);
    write(file.path, bytes);
    CHECK_THROWS_WITH(profkit::load(file.path),
                      file.path.string() + ": it has format " + std::to_string(format) + ", this version reads formats 12 to 13");
  }
}

TEST_CASE("the state of a step, what was not kept and the speed of the host are saved", "[save]") {
  saved_file const file;
  profkit::profile saved;
  saved.steps = {{{at_ms(0), at_ms(1)}, 7, false, 1, 0.0, false, true}};
  saved.quality.discarded_records = 3;
  saved.quality.collapsed_scopes = 4;
  saved.quality.unmatched_ends = 5;
  saved.environment.host_speed = profkit::host_speed_record{std::chrono::nanoseconds{11}, std::chrono::nanoseconds{12}, 0.25};
  profkit::save(saved, file.path);
  profkit::profile const loaded = profkit::load(file.path);
  REQUIRE(loaded.steps.size() == 1);
  CHECK(loaded.steps[0].items == 1);
  CHECK_FALSE(loaded.steps[0].has_kernels);
  CHECK(loaded.steps[0].is_excluded);
  CHECK(loaded.quality.discarded_records == 3);
  CHECK(loaded.quality.collapsed_scopes == 4);
  CHECK(loaded.quality.unmatched_ends == 5);
  auto const speed = loaded.environment.host_speed;
  REQUIRE(speed);
  CHECK(speed->before.count() == 11);
  CHECK(speed->after.count() == 12);
  CHECK(speed->waiting == 0.25);
}

TEST_CASE("the source lines of functions are saved", "[save]") {
  saved_file const file;
  profkit::profile profile;
  profile.functions = {{"exp", "program", "", "layer.cpp", 40}};
  profile.sampling = profkit::sampling_record{"made", std::chrono::milliseconds{1}, 2, 3, 0, "", "no libdw"};
  profkit::save(profile, file.path);
  CHECK(profkit::load(file.path).functions[0].file == "layer.cpp");
  CHECK(profkit::load(file.path).functions[0].line == 40);
  CHECK(profkit::load(file.path).sampling->why_no_lines == "no libdw");
}

TEST_CASE("the rank, the communicators and the collectives are saved", "[save]") {
  saved_file const file;
  profkit::profile const saved = profile_with_everything();
  profkit::save(saved, file.path);
  profkit::profile const loaded = profkit::load(file.path);
  REQUIRE(loaded.environment.rank);
  CHECK(loaded.environment.rank->rank == 3);
  CHECK(loaded.environment.rank->size == 8);
  CHECK(loaded.environment.rank->local_rank == 1);
  CHECK(loaded.environment.rank->restart == 2);
  CHECK(loaded.environment.rank->launcher == "torchrun");
  CHECK(loaded.environment.boot_id == saved.environment.boot_id);
  CHECK(loaded.environment.clock_offset_ns == saved.environment.clock_offset_ns);
  REQUIRE(loaded.communicators.size() == 2);
  CHECK(loaded.communicators[0].id == saved.communicators[0].id);
  CHECK(loaded.communicators[0].name == "data parallel");
  CHECK(loaded.communicators[0].rank == 3);
  CHECK(loaded.communicators[0].size == 8);
  CHECK(loaded.collective_words == saved.collective_words);
  REQUIRE(loaded.collectives.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    profkit::collective_record const& is = loaded.collectives[i];
    profkit::collective_record const& was = saved.collectives[i];
    CHECK(is.time.begin == was.time.begin);
    CHECK(is.time.end == was.time.end);
    CHECK(std::tie(is.sequence, is.bytes, is.correlation, is.communicator) ==
          std::tie(was.sequence, was.bytes, was.correlation, was.communicator));
    CHECK(std::tie(is.function, is.datatype, is.algorithm, is.protocol) ==
          std::tie(was.function, was.datatype, was.algorithm, was.protocol));
    CHECK(std::tie(is.path, is.thread, is.is_captured) == std::tie(was.path, was.thread, was.is_captured));
  }
  CHECK_FALSE(profkit::analyze(loaded).scopes.empty());
}

TEST_CASE("a collective that points outside the tables, and a rank outside its group, are refused", "[save]") {
  using profkit::collective_record;
  for (auto const member :
       {&collective_record::function, &collective_record::datatype, &collective_record::algorithm, &collective_record::protocol,
        &collective_record::communicator, &collective_record::path, &collective_record::thread}) {
    profkit::profile profile = profile_with_everything();
    profile.collectives[1].*member = 99;
    check_refused(profile, "the profile is damaged: a collective without");
  }
  profkit::profile profile = profile_with_everything();
  std::swap(profile.collectives[1].time.begin, profile.collectives[1].time.end);
  check_refused(profile, "a collective ends before it begins");
  profile = profile_with_everything();
  profile.communicators[0].rank = 8;
  check_refused(profile, "a rank of a communicator is not one of its ranks");
  profile = profile_with_everything();
  profile.environment.rank->rank = 8;
  check_refused(profile, "the rank of the process is not one of its run");
}

TEST_CASE("a file that cannot be opened, or is no profile, is named", "[save]") {
  saved_file const file;
  CHECK_THROWS_MATCHES(profkit::load("/nowhere/profile"), profkit::error, MessageMatches(ContainsSubstring("/nowhere/profile")));
  CHECK_THROWS_MATCHES(profkit::save({}, "/nowhere/profile"), profkit::error, MessageMatches(ContainsSubstring("/nowhere/profile")));
  write(file.path, "{\"schema\": 1}");
  CHECK_THROWS_MATCHES(profkit::load(file.path), profkit::error, MessageMatches(ContainsSubstring("is not a profkit profile")));
  write(file.path, std::string{"profkit\n\x63\0\0\0", 12});
  CHECK_THROWS_MATCHES(profkit::load(file.path), profkit::error, MessageMatches(ContainsSubstring("format 99")));
}

TEST_CASE("a profile truncated anywhere is refused", "[save]") {
  saved_file const file;
  profkit::save(profile_with_everything(), file.path);
  std::string const bytes = bytes_of(file.path);
  for (std::size_t length = 0; length < bytes.size(); length += stride) {
    write(file.path, bytes.substr(0, length));
    REQUIRE_THROWS_AS(profkit::load(file.path), profkit::error);
  }
  write(file.path, bytes + "x");
  CHECK_THROWS_AS(profkit::load(file.path), profkit::error);
}

TEST_CASE("paths whose text grows with the square of the file are refused", "[save]") {
  saved_file const file;
  profkit::profile profile;
  std::string const name(1000, 'a');
  auto const nest = [&](std::uint32_t deep) {
    profile.paths.assign(1, {profkit::path_record::no_parent, name, std::nullopt, "", 0});
    for (std::uint32_t parent = 0; parent + 1 < deep; ++parent) profile.paths.push_back({parent, name, std::nullopt, "", 0});
    profkit::save(profile, file.path);
  };
  nest(731);  // 731 * 732 / 2 * 1001 - 731 bytes are a little less
  CHECK(profkit::load(file.path).paths.size() == 731);
  nest(732);
  CHECK_THROWS_MATCHES(profkit::load(file.path), profkit::error,
                       MessageMatches(ContainsSubstring("the profile is damaged: its paths take more than 256 MiB as text")));
}

TEST_CASE("a damaged byte causes at most an error", "[save]") {
  saved_file const file;
  profkit::save(profile_with_everything(), file.path);
  std::string const bytes = bytes_of(file.path);
  for (std::size_t position = 8; position < bytes.size(); position += stride) {
    std::string damaged = bytes;
    damaged[position] = static_cast<char>(damaged[position] ^ 0x80);
    write(file.path, damaged);
    try {
      static_cast<void>(profkit::analyze(profkit::load(file.path)));
    } catch (profkit::error const&) {
    }
  }
}

TEST_CASE("a number of elements beyond the file is refused", "[save]") {
  constexpr std::uint64_t there = 100;  // empty texts of 8 bytes each
  constexpr std::uint64_t claimed = 8 * there;
  std::string bytes(sizeof claimed + 8 * there, '\0');
  std::memcpy(&bytes[0], &claimed, sizeof claimed);
  std::istringstream stream{bytes};
  profkit::detail::archive_reader archive{stream, bytes.size()};
  profkit::detail::own_vector<counted_element> elements;
  counted_element::made = 0;
  CHECK_THROWS_MATCHES(archive(elements), profkit::error, MessageMatches(ContainsSubstring("cut off")));
  CHECK(counted_element::made <= there + 1);
}

TEST_CASE("times whose sum overflows nanoseconds are refused", "[save]") {
  profkit::profile profile = profile_with_everything();
  auto const lifetime = std::chrono::nanoseconds{std::chrono::hours{24 * 365 * 70}};
  // Each fits, but their sum does not.
  profile.scopes[0].time.end = profile.scopes[0].time.begin + lifetime;
  profile.gpu_operations[0].time.end = profile.gpu_operations[0].time.begin + lifetime;
  saved_file const file;
  profkit::save(profile, file.path);
  CHECK(profkit::load(file.path).scopes[0].time.duration() == lifetime);
  profile.gpu_steps = {{0, 0, -lifetime}};
  check_refused(profile, "its times add up to more than 146 years");
}

TEST_CASE("a time before 1970 is refused", "[save]") {
  profkit::timestamp const before{std::chrono::nanoseconds{-1}};
  for (int field = 0; field < 5; ++field) {
    profkit::profile profile = profile_with_everything();
    profile.gpu_scopes = {{0, at_ms(0), 0, {}}};
    profile.counter_names = {"loss"};
    profile.counters = {{at_ms(0), 1.0, 0, 0}};
    if (field == 0) profile.gpu_scopes[0].begin = before;
    if (field == 1) profile.counters[0].time = before;
    if (field == 2) profile.allocations[0].time = before;
    if (field == 3) profile.work[0].begin = before;
    if (field == 4) profile.device_clocks[0].time = before;
    check_refused(profile, "a time lies before 1970");
  }
}

TEST_CASE("a record that points outside its list is refused", "[save]") {
  saved_file const file;
  profkit::profile profile = made_profile();
  profile.scopes[0].path = 99;
  profkit::save(profile, file.path);
  CHECK_THROWS_MATCHES(profkit::load(file.path), profkit::error, MessageMatches(ContainsSubstring("a scope without path")));
}

TEST_CASE("a record that ends before it begins is refused", "[save]") {
  saved_file const file;
  profkit::profile profile = made_profile();
  profile.steps[1].time.end = profile.steps[1].time.begin - std::chrono::nanoseconds{1};
  profkit::save(profile, file.path);
  CHECK_THROWS_MATCHES(profkit::load(file.path), profkit::error, MessageMatches(ContainsSubstring("a step ends before it begins")));
}

TEST_CASE("adoptions and the capture scopes of graph nodes are saved", "[save]") {
  saved_file const file;
  profkit::profile const saved = profile_with_adopted_scope();
  profkit::save(saved, file.path);
  profkit::profile const loaded = profkit::load(file.path);
  REQUIRE(loaded.paths.size() == saved.paths.size());
  CHECK(loaded.paths.back().adopted_from == 2);
  CHECK(loaded.paths.back().role == "backward");
  CHECK(loaded.paths.back().name == "forward/layer_0 (backward)");
  CHECK(loaded.paths[2].adopted_from == profkit::path_record::no_parent);
  CHECK(loaded.paths[2].role.empty());
  CHECK(loaded.gpu_operations.at(0).graph_node == 0x1'0000'0002U);
  REQUIRE(loaded.graph_nodes.size() == 2);
  CHECK(loaded.graph_nodes[0].node == 0x1'0000'0002U);
  CHECK(loaded.graph_nodes[0].path == saved.graph_nodes[0].path);
  CHECK(loaded.graph_nodes[1].path == profkit::path_record::no_parent);
}

TEST_CASE("a path that adopts itself, a later path or a position outside the list is refused", "[save]") {
  saved_file const file;
  profkit::profile profile = profile_with_adopted_scope();
  auto const own = static_cast<std::uint32_t>(profile.paths.size() - 1);
  profile.paths.push_back({0, "later", {}, "engine.cpp", 71});
  for (std::uint32_t const from : {own, own + 1, own + 2, 0xfffffffeU}) {
    profile.paths[own].adopted_from = from;
    profkit::save(profile, file.path);
    CHECK_THROWS_MATCHES(profkit::load(file.path), profkit::error,
                         MessageMatches(ContainsSubstring("a path comes before the one that it adopted")));
  }
}

TEST_CASE("a node of a graph that points outside the paths is refused", "[save]") {
  saved_file const file;
  profkit::profile profile = profile_with_adopted_scope();
  profile.graph_nodes[1].path = static_cast<std::uint32_t>(profile.paths.size());
  profkit::save(profile, file.path);
  CHECK_THROWS_MATCHES(profkit::load(file.path), profkit::error, MessageMatches(ContainsSubstring("a node of a graph without path")));
}

TEST_CASE("memory, work, device clocks and roofs are saved", "[save]") {
  saved_file const file;
  profkit::profile const saved = profile_with_everything();
  profkit::save(saved, file.path);
  profkit::profile const loaded = profkit::load(file.path);
  CHECK(loaded.precision == profkit::precision::bf16);
  CHECK(loaded.steps[0].model_flops == 0.0);
  CHECK(loaded.steps[1].model_flops == 1.5e12);

  REQUIRE(loaded.allocators.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(loaded.allocators[i].name == saved.allocators[i].name);
    CHECK(loaded.allocators[i].bytes_at_start == saved.allocators[i].bytes_at_start);
    CHECK(loaded.allocators[i].is_polled == saved.allocators[i].is_polled);
  }
  REQUIRE(loaded.allocations.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(loaded.allocations[i].time == saved.allocations[i].time);
    CHECK(loaded.allocations[i].address == saved.allocations[i].address);
    CHECK(loaded.allocations[i].bytes == saved.allocations[i].bytes);
    CHECK(loaded.allocations[i].thread == saved.allocations[i].thread);
    CHECK(loaded.allocations[i].allocator == saved.allocations[i].allocator);
    CHECK(loaded.allocations[i].kind == saved.allocations[i].kind);
  }
  REQUIRE(loaded.work.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(loaded.work[i].begin == saved.work[i].begin);
    CHECK(loaded.work[i].path == saved.work[i].path);
    CHECK(loaded.work[i].work.flops == saved.work[i].work.flops);
    CHECK(loaded.work[i].work.bytes == saved.work[i].work.bytes);
    CHECK(loaded.work[i].work.precision == saved.work[i].work.precision);
    CHECK(loaded.work[i].work.backward == saved.work[i].work.backward);
  }
  REQUIRE(loaded.stop);
  CHECK(loaded.stop->wanted == saved.stop->wanted);
  CHECK(loaded.stop->reached == saved.stop->reached);
  CHECK(loaded.stop->is_of_gpu);
  CHECK(loaded.stop->max_steps == 500);
  REQUIRE(loaded.device_clocks.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(loaded.device_clocks[i].time == saved.device_clocks[i].time);
    CHECK(loaded.device_clocks[i].step == saved.device_clocks[i].step);
    CHECK(loaded.device_clocks[i].device == saved.device_clocks[i].device);
    CHECK(loaded.device_clocks[i].sm_mhz == saved.device_clocks[i].sm_mhz);
    CHECK(loaded.device_clocks[i].max_sm_mhz == saved.device_clocks[i].max_sm_mhz);
    CHECK(loaded.device_clocks[i].reasons == saved.device_clocks[i].reasons);
    CHECK(loaded.device_clocks[i].milliwatt == saved.device_clocks[i].milliwatt);
    CHECK(loaded.device_clocks[i].celsius == saved.device_clocks[i].celsius);
  }
  REQUIRE(loaded.device_utilization.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(loaded.device_utilization[i].time.begin == saved.device_utilization[i].time.begin);
    CHECK(loaded.device_utilization[i].time.end == saved.device_utilization[i].time.end);
    CHECK(loaded.device_utilization[i].step == saved.device_utilization[i].step);
    CHECK(loaded.device_utilization[i].device == saved.device_utilization[i].device);
    CHECK(loaded.device_utilization[i].values == saved.device_utilization[i].values);
  }
  REQUIRE(loaded.measured_roofs.size() == 1);
  CHECK(loaded.measured_roofs[0].precision == profkit::precision::tf32);
  CHECK(loaded.measured_roofs[0].flops_per_second == 4.1e14);
  CHECK(loaded.measured_roofs[0].bytes_per_second == 4.2e12);
  CHECK(loaded.measured_roofs[0].how == "matrix product 8192 x 8192 x 8192");

  std::string const first = bytes_of(file.path);
  profkit::save(loaded, file.path);
  CHECK(bytes_of(file.path) == first);
  CHECK(profkit::report_json(profkit::analyze(loaded)) == profkit::report_json(profkit::analyze(saved)));
}

TEST_CASE("an allocation without allocator or thread is refused", "[save]") {
  profkit::profile profile = profile_with_everything();
  profile.allocations[2].allocator = 2;
  check_refused(profile, "an allocation without allocator");
  profile = profile_with_everything();
  profile.allocations[0].thread = 2;
  check_refused(profile, "an allocation without thread");
}

TEST_CASE("an unknown kind of allocation or precision is refused", "[save]") {
  profkit::profile profile = profile_with_everything();
  profile.allocations[1].kind = static_cast<profkit::allocation_kind>(3);
  check_refused(profile, "a kind of allocation is 3");
  profile = profile_with_everything();
  profile.work[0].work.precision = static_cast<profkit::precision>(7);
  check_refused(profile, "a precision is 7");
  profile = profile_with_everything();
  profile.measured_roofs[0].precision = static_cast<profkit::precision>(200);
  check_refused(profile, "a precision is 200");
}

TEST_CASE("work without a path, negative work and NaN are refused", "[save]") {
  profkit::profile profile = profile_with_everything();
  profile.work[0].path = static_cast<std::uint32_t>(profile.paths.size());
  check_refused(profile, "work without path");
  for (double const wrong : {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    for (int field = 0; field < 4; ++field) {
      profile = profile_with_everything();
      if (field == 0) profile.work[0].work.flops = wrong;
      if (field == 1) profile.work[0].work.bytes = wrong;
      if (field == 2) profile.work[0].work.backward = static_cast<float>(wrong);
      if (field == 3) profile.steps[1].model_flops = wrong;
      check_refused(profile, "work is negative or not a number");
    }
  }
}
