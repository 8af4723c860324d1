// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/impl/profile/archive_reader.hpp>
#include <profkit/impl/profile/journal_reader.hpp>
#include <profkit/impl/report/report_code.hpp>
#include <profkit/report.hpp>
#include <profkit/save_load.hpp>
#include <profkit/summary_file.hpp>
#include <profkit/version.hpp>

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "../support/filled_summary.hpp"
#include "../support/later_version.hpp"
#include "../support/made_full_profile.hpp"

namespace {

using namespace profkit::detail;

/// A file that is removed at the end of the test.
struct later_file {
  inline static int made = 0;
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("profkit-later-version-" + std::to_string(::getpid()) + "-" + std::to_string(++made));
  ~later_file() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }

  void write(std::string_view bytes) const { std::ofstream{path, std::ios::binary} << bytes; }
  [[nodiscard]] std::string bytes() const {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
  }
};

std::string saved_bytes(profkit::profile const& profile) {
  later_file const file;
  profkit::save(profile, file.path);
  return file.bytes();
}

/// The profile without the collector that states the format of the file.
std::string saved_without_format(profkit::profile profile) {
  REQUIRE_FALSE(profile.collectors.empty());
  profkit::collector_record const format = profile.collectors.back();
  profile.collectors.pop_back();
  CHECK(format.name == "format");
  CHECK(format.status == "newer");
  CHECK(format.reason == "a newer profkit wrote the file, with format " + later(profile_format).text() + "; profkit " +
                             std::string{profkit::version} + " reads format " + profile_format.text() + " and leaves out what was added");
  return saved_bytes(profile);
}

own_string beginning(std::string_view magic, format_version format) {
  own_string result{magic};
  later_writer{result}.put(format.in_file());
  return result;
}

std::string summary_with(format_version format, std::string_view content) {
  own_string result = beginning(summary_magic, format);
  checksum sum;
  sum.add(std::string_view{result}.substr(summary_magic.size()));
  sum.add(content);
  later_writer{result}.put(sum.value());
  return std::string{result.append(content)};
}

}  // namespace

TEST_CASE("a profile of a later version is read without what that version added", "[format]") {
  profkit::profile profile = profile_with_everything();
  own_string bytes = beginning(profile_magic, later(profile_format));
  later_writer{bytes}(profile);
  later_file const file;
  file.write(bytes);
  CHECK(saved_without_format(profkit::load(file.path)) == saved_bytes(profile));
  // With the version of the present format, the same bytes are damaged.
  file.write(std::string{bytes}.replace(profile_magic.size(), 4, beginning("", profile_format)));
  CHECK_THROWS_AS(profkit::load(file.path), profkit::error);
}

TEST_CASE("a journal of a later version is read without what that version added", "[format]") {
  profkit::profile const profile = profile_with_everything();
  own_string bytes = beginning(journal_magic, later(profile_format));
  bytes += journal_frame(frame_kind::part, later_frame(profile));
  bytes += journal_frame(static_cast<frame_kind>(0x77777777), "a frame of another kind");
  own_string end;
  later_writer archive{end};
  profkit::profile last;
  last.time = profile.time;
  for_each_member(last, last, [&](auto& member, auto const&) {
    using type = std::remove_reference_t<decltype(member)>;
    bool const is_there = is_growing<type> || std::is_same_v<type, profkit::interval>;
    if (!is_growing<type>) archive.put(is_there);
    if (is_there) archive(member);
  });
  bytes += journal_frame(frame_kind::last, end);
  later_file const file;
  file.write(bytes);
  profkit::journal_content const loaded = profkit::load_journal(file.path);
  CHECK(loaded.is_complete);
  CHECK(loaded.bytes_left_out == 0);
  CHECK(saved_without_format(loaded.content) == saved_bytes(profile));
}

TEST_CASE("a summary of a later version is read without what that version added", "[format]") {
  profkit::summary summary = filled_summary();
  own_string content;
  later_writer{content}(summary);
  later_file const file;
  file.write(summary_with(later(summary_format), content));
  profkit::summary loaded = profkit::load_summary(file.path);
  REQUIRE(loaded.collectors.size() == summary.collectors.size() + 1);
  CHECK(loaded.collectors.back().reason.find("with format 4.1; profkit ") != std::string::npos);
  loaded.collectors.pop_back();
  CHECK(values_of(loaded) == values_of(summary));
}

TEST_CASE("members and lists that an earlier version did not write keep their values", "[format]") {
  auto const read = [](std::string_view bytes, auto& into) {
    memory_stream stream{bytes};
    archive_reader archive{stream, bytes.size()};
    archive.set_format(profile_format, later(profile_format));
    archive(into);
    CHECK(archive.at_end());
  };
  own_string bytes;
  later_writer to{bytes};
  to.put(std::uint32_t{sizeof(std::uint64_t)});  // a `sampled_time_record` with its first member
  to.put(std::uint64_t{7});
  profkit::sampled_time_record time;
  time.user = std::chrono::nanoseconds{5};
  read(bytes, time);
  CHECK(time.samples == std::chrono::nanoseconds{7});
  CHECK(time.user == std::chrono::nanoseconds{5});
  bytes.clear();
  to.put(std::uint64_t{2});  // calls with their times alone
  to.put(std::uint32_t{2 * sizeof(std::uint64_t)});
  for (std::uint64_t i = 0; i < 4; ++i) to.put(i);
  own_vector<profkit::api_call_record> calls;
  read(bytes, calls);
  REQUIRE(calls.size() == 2);
  CHECK(calls[1].time.end == profkit::timestamp{std::chrono::nanoseconds{3}});
  CHECK(calls[1].correlation == 0);
  bytes.clear();
  to.put(std::uint64_t{1});  // an `energy_record` with its time alone
  to.put(std::uint32_t{sizeof(std::uint64_t)});
  to.put(std::uint64_t{4});
  own_vector<profkit::energy_record> energy;
  read(bytes, energy);
  REQUIRE(energy.size() == 1);
  CHECK(energy[0].time == profkit::timestamp{std::chrono::nanoseconds{4}});
  CHECK(energy[0].path == profkit::path_record::no_parent);
  std::string whole = saved_bytes({});  // ends with the length of `replayed_scopes`
  whole.resize(whole.size() - sizeof(std::uint64_t));
  profkit::profile profile;
  read(std::string_view{whole}.substr(profile_magic.size() + sizeof(std::uint32_t)), profile);
  CHECK(profile.replayed_scopes.empty());
}

TEST_CASE("a value that a later version added to an enumeration is read as unknown", "[format]") {
  profkit::profile profile = profile_with_everything();
  profile.precision = static_cast<profkit::precision>(200);
  profile.work[0].work.precision = static_cast<profkit::precision>(200);
  profile.collectors = {{"mine", "collected", {}, static_cast<profkit::collector_kind>(200)}};
  own_string bytes = beginning(profile_magic, later(profile_format));
  later_writer{bytes}(profile);
  later_file const file;
  file.write(bytes);
  profkit::profile const loaded = profkit::load(file.path);
  CHECK(loaded.precision == profkit::precision::unknown);
  CHECK(loaded.work[0].work.precision == profkit::precision::unknown);
  CHECK(loaded.collectors[0].kind == profkit::collector_kind::other);
}

TEST_CASE("a file whose format has another number is refused with both versions", "[format]") {
  later_file const file;
  auto const message = [&](format_version found, format_version own) {
    return file.path.string() + ": it has format " + found.text() + ", and profkit " + profkit::version + " reads formats " +
           std::to_string(own.number) + ".x" + (found.number > own.number ? ". Use a newer version of profkit" : "");
  };
  for (int const change : {-1, 1}) {
    format_version const other{static_cast<std::uint16_t>(profile_format.number + change), 3};
    std::string bytes = saved_bytes(profile_with_everything());
    file.write(bytes.replace(profile_magic.size(), 4, beginning("", other)));
    CHECK_THROWS_WITH(profkit::load(file.path), message(other, profile_format));
    file.write(beginning(journal_magic, other));
    CHECK_THROWS_WITH(profkit::load(file.path), message(other, profile_format));
    format_version const other_summary{static_cast<std::uint16_t>(summary_format.number + change), 0};
    file.write(summary_with(other_summary, "of another version"));
    CHECK_THROWS_WITH(profkit::load_summary(file.path), message(other_summary, summary_format));
  }
}

TEST_CASE("a file of a later version that is cut off or damaged causes at most an error", "[format]") {
  profkit::profile profile = profile_with_everything();
  own_string bytes = beginning(profile_magic, later(profile_format));
  later_writer{bytes}(profile);
  later_file const file;
  for (std::size_t at = profile_magic.size() + 4; at < bytes.size(); at += 11) {
    for (bool const is_cut : {false, true}) {
      std::string damaged = is_cut ? std::string{bytes.substr(0, at)} : std::string{bytes};
      if (!is_cut) damaged[at] = static_cast<char>(damaged[at] ^ 0x80);
      file.write(damaged);
      try {
        static_cast<void>(profkit::analyze(profkit::load(file.path)));
      } catch (profkit::error const&) {
      }
    }
  }
}
