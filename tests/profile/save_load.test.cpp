// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/impl/profile/archive_reader.hpp>
#include <profkit/impl/profile/archive_writer.hpp>
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
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
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
  profkit::profile with_snapshot = made_profile();
  with_snapshot.quality.snapshot = profkit::snapshot_record{true, false, 12, 34};
  with_snapshot.quality.discarded_records = 3;
  with_snapshot.paths.push_back({profkit::path_record::no_parent, "step", {}, "other.cpp", 1});
  with_snapshot.collectors = {{"kernels", "collected", {}}, {"mine", "collected", {}, profkit::collector_kind::gpu_clocks}};
  with_snapshot.gpu_names = {{"copy", {}, profkit::copy_direction::peer_to_peer}};
  for (profkit::profile const& saved : {profkit::profile{}, made_profile(), with_snapshot, profile_with_everything()}) {
    saved_file const file;
    profkit::save(saved, file.path);
    std::string const first = bytes_of(file.path);
    profkit::profile const loaded = profkit::load(file.path);
    CHECK(profkit::report_json(profkit::analyze(loaded)) == profkit::report_json(profkit::analyze(saved)));
    // The description of a record names every member, or it does not compile.
    profkit::save(loaded, file.path);
    CHECK(bytes_of(file.path) == first);
  }
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

TEST_CASE("a record that points outside its list, or has an impossible value, is refused", "[save]") {
  using profkit::profile;
  profkit::timestamp const before{std::chrono::nanoseconds{-1}};
  constexpr std::uint32_t outside = 99;
  struct damage {
    char const* why;
    std::function<void(profile&)> done;
  };
  std::vector<damage> damages{
      {"the steps have several paths",
       [](profile& to) {
         to.paths.push_back({profkit::path_record::no_parent, "other", {}, "other.cpp", 1});
         to.paths.back().is_step = true;
       }},
      {"the path of the steps lies in another", [](profile& to) { std::swap(to.paths[0].is_step, to.paths[1].is_step); }},
      {"a scope without path", [](profile& to) { to.scopes[0].path = outside; }},
      {"a step ends before it begins", [](profile& to) { std::swap(to.steps[1].time.begin, to.steps[1].time.end); }},
      {"a node of a graph without path", [](profile& to) { to.graph_nodes[1].path = static_cast<std::uint32_t>(to.paths.size()); }},
      {"a scope of a replayed graph without path", [](profile& to) { to.replayed_scopes[0].captured_in = outside; }},
      {"an allocation without allocator", [](profile& to) { to.allocations[2].allocator = 2; }},
      {"an allocation without thread", [](profile& to) { to.allocations[0].thread = 2; }},
      {"a kind of allocation is 3", [](profile& to) { to.allocations[1].kind = static_cast<profkit::allocation_kind>(3); }},
      {"a precision is 7", [](profile& to) { to.work[0].work.precision = static_cast<profkit::precision>(7); }},
      {"a precision is 200", [](profile& to) { to.measured_roofs[0].precision = static_cast<profkit::precision>(200); }},
      {"work without path", [](profile& to) { to.work[0].path = static_cast<std::uint32_t>(to.paths.size()); }},
      {"a collective ends before it begins", [](profile& to) { std::swap(to.collectives[1].time.begin, to.collectives[1].time.end); }},
      {"a rank of a communicator is not one of its ranks", [](profile& to) { to.communicators[0].rank = 8; }},
      {"the rank of the process is not one of its run", [](profile& to) { to.environment.rank->rank = 8; }},
      {"a time lies before 1970",
       [&](profile& to) {
         to.gpu_scopes = {{0, before, 0, {}}};
       }},
      {"a time lies before 1970",
       [&](profile& to) {
         to.counter_names = {"loss"}, to.counters = {{before, 1.0, 0, 0}};
       }},
      {"a time lies before 1970", [&](profile& to) { to.allocations[0].time = before; }},
      {"a time lies before 1970", [&](profile& to) { to.work[0].begin = before; }},
      {"a time lies before 1970", [&](profile& to) { to.device_clocks[0].time = before; }},
  };
  using profkit::collective_record;
  for (auto const member :
       {&collective_record::function, &collective_record::datatype, &collective_record::algorithm, &collective_record::protocol,
        &collective_record::communicator, &collective_record::path, &collective_record::thread}) {
    damages.push_back({"the profile is damaged: a collective without", [member](profile& to) { to.collectives[1].*member = outside; }});
  }
  for (double const wrong : {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    char const* const why = "work is negative or not a number";
    damages.push_back({why, [wrong](profile& to) { to.work[0].work.flops = wrong; }});
    damages.push_back({why, [wrong](profile& to) { to.work[0].work.bytes = wrong; }});
    damages.push_back({why, [wrong](profile& to) { to.work[0].work.backward = static_cast<float>(wrong); }});
    damages.push_back({"work is negative or not a number", [wrong](profile& to) { to.steps[1].model_flops = wrong; }});
  }
  // The adopted path is the last one; then come itself, a later one and one that does not exist.
  auto const adopting = static_cast<std::uint32_t>(profile_with_everything().paths.size() - 1);
  for (std::uint32_t const from : {adopting, adopting + 1, adopting + 2, 0xfffffffeU}) {
    damages.push_back({"a path comes before the one that it adopted", [=](profile& to) {
                         to.paths.push_back({0, "later", {}, "engine.cpp", 71});
                         to.paths[adopting].adopted_from = from;
                       }});
  }
  for (damage const& each : damages) {
    profile damaged = profile_with_everything();
    each.done(damaged);
    check_refused(damaged, each.why);
  }
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
