// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/profile/atomic_file.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <profkit/analyze.hpp>
#include <profkit/report.hpp>
#include <profkit/save_load.hpp>
#include <string>

#include "../support/made_profile.hpp"
#include "../support/temporary_folder.hpp"

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
namespace fs = std::filesystem;

namespace {

// What else may be in the place of a file is tested by tests/programs/outputs.py.

struct counted_folder : temporary_folder {
  counted_folder() : temporary_folder{"new-file"} {}

  [[nodiscard]] std::size_t files() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator{path}, {})); }
};

/// Imitates a full disk: limits the size of files of this process.
class file_size_limit {
 public:
  explicit file_size_limit(::rlim_t bytes) : handler_{std::signal(SIGXFSZ, SIG_IGN)} {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    ::rlimit const limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~file_size_limit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  ::rlimit before_{};
  void (*handler_)(int);
};

std::string content_of(fs::path const& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

}  // namespace

TEST_CASE("a file appears under its name only when it is complete", "[atomic_file]") {
  counted_folder const folder;
  fs::path const place = folder.path / "file";
  profkit::detail::write_file(place, "old");
  profkit::detail::atomic_file file{place};
  file.write("new ");
  file.write("content");
  CHECK(content_of(place) == "old");
  file.finish();
  CHECK(content_of(place) == "new content");
  CHECK(folder.files() == 1);
}

TEST_CASE("an incomplete file leaves no partial file, and keeps the previous one", "[atomic_file]") {
  counted_folder const folder;
  profkit::detail::write_file(folder.path / "file", "old");
  {
    profkit::detail::atomic_file file{folder.path / "file"};
    file.write("new");
  }
  { profkit::detail::atomic_file const other{folder.path / "other"}; }
  CHECK(content_of(folder.path / "file") == "old");
  CHECK(folder.files() == 1);
}

TEST_CASE("on a full disk every writer names its file and the reason, and keeps the previous file", "[atomic_file]") {
  counted_folder const folder;
  profkit::profile const profile = made_profile();
  profkit::report const report{std::make_shared<profkit::profile const>(profile)};
  fs::path const place = folder.path / "file";
  profkit::detail::write_file(place, "old");
  {
    file_size_limit const full{100};
    auto const names_it = MessageMatches(ContainsSubstring(place.string() + ": File too large"));
    CHECK_THROWS_MATCHES(profkit::save(profile, place), profkit::error, names_it);
    CHECK_THROWS_MATCHES(report.write_trace(place.string()), profkit::error, names_it);
    CHECK_THROWS_MATCHES(profkit::detail::write_file(place, std::string(101, 'x')), profkit::error, names_it);
    CHECK_THROWS_MATCHES(report.write((folder.path / "out").string()), profkit::error, MessageMatches(ContainsSubstring("report.json")));
  }
  CHECK(content_of(place) == "old");
  CHECK(fs::is_empty(folder.path / "out"));
  CHECK(folder.files() == 2);
}

TEST_CASE("a link stays a link, and a file keeps its permissions", "[atomic_file]") {
  counted_folder const folder;
  fs::create_directories(folder.path / "inside");
  fs::path const real = folder.path / "inside" / "real";
  profkit::detail::write_file(real, "old");
  ::chmod(real.c_str(), 0640);
  fs::create_symlink("inside/real", folder.path / "link");
  profkit::detail::write_file(folder.path / "link", "new");
  CHECK(fs::is_symlink(folder.path / "link"));
  CHECK(content_of(real) == "new");
  CHECK((fs::status(real).permissions() & fs::perms::all) == fs::perms{0640});
}

TEST_CASE("a pipe whose reader is missing or does not read is an error after a limited time", "[atomic_file]") {
  counted_folder const folder;
  fs::path const pipe = folder.path / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_MATCHES(profkit::detail::write_file(pipe, "x"), profkit::error,
                       MessageMatches(ContainsSubstring("no process reads this pipe")));
  int const reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(reader >= 0);
  profkit::detail::write_file(pipe, "content");
  char read[8] = {};
  CHECK(::read(reader, read, sizeof read) == 7);
  CHECK(std::string{read} == "content");
  auto const begin = std::chrono::steady_clock::now();
  CHECK_THROWS_MATCHES(profkit::detail::write_file(pipe, std::string(1U << 20U, 'x')), profkit::error,
                       MessageMatches(ContainsSubstring("pipe: Connection timed out")));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds{10});
  ::close(reader);
}

TEST_CASE("a file that appears meanwhile is kept if nothing may be replaced", "[atomic_file]") {
  counted_folder const folder;
  fs::path const place = folder.path / "file";
  profkit::detail::atomic_file file{place, profkit::detail::replacing::nothing};
  file.write("new");
  std::ofstream{place} << "mine";
  CHECK_THROWS_MATCHES(file.finish(), profkit::error, MessageMatches(ContainsSubstring("file: File exists")));
  CHECK(content_of(place) == "mine");
  CHECK(folder.files() == 1);
}

TEST_CASE("a name may be as long as names can be", "[atomic_file]") {
  counted_folder const folder;
  fs::path const place = folder.path / std::string(255, 'n');
  profkit::detail::write_file(place, "content");
  CHECK(content_of(place) == "content");
}
