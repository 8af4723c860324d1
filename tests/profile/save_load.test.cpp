// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze/analyze.hpp>
#include <profkit/profile/save_load.hpp>
#include <profkit/report/report_json.hpp>

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "../support/made_profile.hpp"

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

/// A file that is gone at the end of the test.
struct temporary_file {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("profkit-save-load-" + std::to_string(::getpid()));
  ~temporary_file() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

std::string bytes_of(std::filesystem::path const& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

void write(std::filesystem::path const& path, std::string const& bytes) { std::ofstream{path, std::ios::binary} << bytes; }

/// With a scope that was adopted, and an operation that a graph ran.
profkit::profile profile_with_adopted_scope() {
  profkit::profile result = made_profile();
  result.paths.push_back({0, "forward/layer_0 (backward)", {}, "engine.cpp", 70, 2, "backward"});
  result.gpu_names = {{"gemm", {}}};
  result.gpu_operations.emplace_back().graph_node = 0x1'0000'0002U;
  result.graph_nodes = {{0x1'0000'0002U, static_cast<std::uint32_t>(result.paths.size() - 1)},
                        {0x1'0000'0003U, profkit::path_record::no_parent}};
  return result;
}

}  // namespace

TEST_CASE("a loaded profile is the saved one", "[save]") {
  temporary_file const file;
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

TEST_CASE("a file that cannot be opened, or is no profile, is named", "[save]") {
  temporary_file const file;
  CHECK_THROWS_MATCHES(profkit::load("/nowhere/profile"), profkit::error, MessageMatches(ContainsSubstring("/nowhere/profile")));
  CHECK_THROWS_MATCHES(profkit::save({}, "/nowhere/profile"), profkit::error, MessageMatches(ContainsSubstring("/nowhere/profile")));
  write(file.path, "{\"schema\": 1}");
  CHECK_THROWS_MATCHES(profkit::load(file.path), profkit::error, MessageMatches(ContainsSubstring("is not a profkit profile")));
  write(file.path, std::string{"profkit\n\x09\0\0\0", 12});
  CHECK_THROWS_MATCHES(profkit::load(file.path), profkit::error, MessageMatches(ContainsSubstring("format 9")));
}

TEST_CASE("a profile that is cut off anywhere is refused", "[save]") {
  temporary_file const file;
  profkit::save(profile_with_adopted_scope(), file.path);
  std::string const bytes = bytes_of(file.path);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    write(file.path, bytes.substr(0, length));
    REQUIRE_THROWS_AS(profkit::load(file.path), profkit::error);
  }
  write(file.path, bytes + "x");
  CHECK_THROWS_AS(profkit::load(file.path), profkit::error);
}

TEST_CASE("a damaged byte never does worse than an error", "[save]") {
  temporary_file const file;
  profkit::save(profile_with_adopted_scope(), file.path);
  std::string const bytes = bytes_of(file.path);
  for (std::size_t position = 8; position < bytes.size(); ++position) {
    std::string damaged = bytes;
    damaged[position] = static_cast<char>(damaged[position] ^ 0x80);
    write(file.path, damaged);
    try {
      static_cast<void>(profkit::analyze(profkit::load(file.path)));
    } catch (profkit::error const&) {
    }
  }
}

TEST_CASE("a record that points outside its list is refused", "[save]") {
  temporary_file const file;
  profkit::profile profile = made_profile();
  profile.scopes[0].path = 99;
  profkit::save(profile, file.path);
  CHECK_THROWS_MATCHES(profkit::load(file.path), profkit::error, MessageMatches(ContainsSubstring("a scope without path")));
}

TEST_CASE("a record that ends before it begins is refused", "[save]") {
  temporary_file const file;
  profkit::profile profile = made_profile();
  profile.steps[1].time.end = profile.steps[1].time.begin - std::chrono::nanoseconds{1};
  profkit::save(profile, file.path);
  CHECK_THROWS_MATCHES(profkit::load(file.path), profkit::error, MessageMatches(ContainsSubstring("a step ends before it begins")));
}

TEST_CASE("who adopted whom, and where the nodes of graphs were captured, is kept", "[save]") {
  temporary_file const file;
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

TEST_CASE("a path that adopts itself, a later one or none of the list is refused", "[save]") {
  temporary_file const file;
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
  temporary_file const file;
  profkit::profile profile = profile_with_adopted_scope();
  profile.graph_nodes[1].path = static_cast<std::uint32_t>(profile.paths.size());
  profkit::save(profile, file.path);
  CHECK_THROWS_MATCHES(profkit::load(file.path), profkit::error, MessageMatches(ContainsSubstring("a node of a graph without path")));
}
