// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/profile/journal_encoder.hpp>
#include <profkit/impl/profile/journal_reader.hpp>
#include <profkit/save_load.hpp>

#include <unistd.h>

#include <algorithm>
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
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "../support/made_full_profile.hpp"
#include "../support/repetitions.hpp"

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

/// A file that is removed at the end of the test.
struct temporary_file {
  std::filesystem::path path;
  explicit temporary_file(std::string const& name = "journal")
      : path{std::filesystem::temp_directory_path() / ("profkit-" + name + "-format-" + std::to_string(::getpid()))} {}
  ~temporary_file() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    std::filesystem::remove(before(), ignored);
  }
  [[nodiscard]] std::filesystem::path before() const { return profkit::detail::earlier_journal(path.string()); }
  void write(std::string const& bytes) const { std::ofstream{path, std::ios::binary} << bytes; }
  void set(std::size_t position, char byte) const {
    std::fstream file{path, std::ios::binary | std::ios::in | std::ios::out};
    file.seekp(static_cast<std::streamoff>(position));
    file.put(byte);
  }
};

std::string saved(profkit::profile const& profile) {
  temporary_file const file{"saved"};
  profkit::save(profile, file.path);
  std::ifstream stream{file.path, std::ios::binary};
  return {std::istreambuf_iterator<char>{stream}, {}};
}

/// A session that records in three parts, as if it drained three times.
struct made_journal {
  std::vector<profkit::profile> states;  ///< the profile after each part
  std::vector<std::size_t> ends;         ///< ends of the frames in the file
  profkit::detail::own_string bytes;
};

made_journal journal_in_parts() {
  made_journal result;
  profkit::detail::journal_encoder encoder;
  result.bytes = encoder.beginning();
  profkit::profile state = profile_with_everything();
  state.scopes.resize(state.scopes.size() / 2);
  state.steps.resize(1);
  state.memory.clear();
  state.allocations.resize(1);
  state.gpu_operations.clear();
  state.gpu_names.clear();
  state.graph_nodes.resize(1);
  state.collectors.clear();
  auto const put = [&](bool last) {
    encoder.append(state, last, result.bytes);
    result.states.push_back(state);
    result.ends.push_back(result.bytes.size());
  };
  put(false);
  state = profile_with_everything();
  put(false);
  state.scopes.push_back(state.scopes.back());
  state.graph_nodes.push_back({77, 0});
  state.quality.dropped_events += 3;
  state.time.end += std::chrono::seconds{1};
  put(true);
  return result;
}

}  // namespace

TEST_CASE("what was open is in a journal beside its profile, and only with valid positions", "[journal]") {
  using namespace profkit::detail;
  profkit::profile const recorded = profile_with_everything();
  auto const table_entry = [](auto const& table) { return static_cast<std::uint32_t>(table.size()) - 1; };
  journal_open open;
  open.time = recorded.time.end;
  open.ranges = {{recorded.time.begin, table_entry(recorded.paths), table_entry(recorded.threads), {}},
                 {recorded.time.begin, profkit::path_record::no_parent, 0, "cuStreamSynchronize"}};
  open.collectives = {recorded.collectives.front()};
  auto const journal_with = [&](journal_open const& what) {
    journal_encoder encoder;
    own_string bytes = journal_encoder::beginning();
    encoder.append(recorded, false, bytes);
    encoder.append(what, bytes);
    encoder.append(recorded, true, bytes);
    return bytes;
  };
  temporary_file const file;
  file.write(std::string{journal_with(open)});
  profkit::journal_content const loaded = profkit::load_journal(file.path);
  CHECK((loaded.is_complete && loaded.bytes_left_out == 0));
  CHECK((saved(loaded.content) == saved(recorded)));
  journal_file read;
  std::ifstream stream{file.path, std::ios::binary};
  std::uint64_t const size = size_of(stream);
  profkit::profile tables;
  REQUIRE(read.read_beginning(stream, size));
  while (read.read_frame(stream, size, tables)) continue;
  REQUIRE(read.open());
  CHECK(read.open()->time == open.time);
  REQUIRE(read.open()->ranges.size() == 2);
  CHECK(read.open()->ranges[0].path == open.ranges[0].path);
  CHECK(read.open()->ranges[1].call == "cuStreamSynchronize");
  CHECK(read.open()->collectives.size() == 1);
  for (int what = 0; what < 3; ++what) {
    journal_open wrong = open;
    if (what == 0) ++wrong.ranges[0].path;
    if (what == 1) ++wrong.ranges[0].thread;
    if (what == 2) wrong.collectives[0].communicator = table_entry(recorded.communicators) + 1;
    file.write(std::string{journal_with(wrong)});
    CHECK_THROWS_WITH(profkit::load_journal(file.path), ContainsSubstring("the profile is damaged: an open"));
  }
}

TEST_CASE("a frame contains only the new nodes of graphs", "[journal]") {
  profkit::detail::journal_encoder encoder;
  profkit::profile state = profile_with_everything();
  profkit::detail::own_string bytes;
  encoder.append(state, false, bytes);
  std::vector<std::size_t> sizes;
  for (std::uint64_t i = 0; i < 100; ++i) {
    state.graph_nodes.push_back({1000 + i, 0});
    bytes.clear();
    encoder.append(state, false, bytes);
    sizes.push_back(bytes.size());
  }
  CHECK(sizes.back() == sizes.front());
}

TEST_CASE("a journal truncated anywhere keeps all frames before the cut, and reports the ignored bytes", "[journal]") {
  temporary_file const file;
  made_journal const journal = journal_in_parts();
  file.write(journal.bytes);
  std::size_t const beginning = profkit::detail::journal_encoder::beginning().size();
  for (std::size_t length = journal.bytes.size(); length-- > beginning;) {
    std::filesystem::resize_file(file.path, length);
    profkit::journal_content const loaded = profkit::load_journal(file.path);
    auto const whole =
        static_cast<std::size_t>(std::count_if(journal.ends.begin(), journal.ends.end(), [&](std::size_t end) { return end <= length; }));
    std::size_t const end = whole == 0 ? beginning : journal.ends[whole - 1];
    REQUIRE_FALSE(loaded.is_complete);
    REQUIRE(loaded.bytes_left_out == length - end);
    REQUIRE(loaded.content.scopes.size() == (whole == 0 ? 0 : journal.states[whole - 1].scopes.size()));
    REQUIRE(loaded.content.collectors.back().status == "recovered");
    bool const says_bytes = loaded.content.collectors.back().reason.find(std::to_string(length - end) + " bytes") != std::string::npos;
    REQUIRE(says_bytes == (length != end));
  }
  for (std::size_t length = beginning; length-- > 0;) {
    std::filesystem::resize_file(file.path, length);
    REQUIRE_THROWS_AS(profkit::load(file.path), profkit::error);
  }
}

TEST_CASE("a damaged byte ends a journal before its frame", "[journal]") {
  temporary_file const file;
  made_journal const journal = journal_in_parts();
  file.write(journal.bytes);
  for (std::size_t position = profkit::detail::journal_encoder::beginning().size(); position < journal.bytes.size(); position += stride) {
    file.set(position, static_cast<char>(journal.bytes[position] ^ 0x10));
    profkit::journal_content const loaded = profkit::load_journal(file.path);
    auto const whole =
        static_cast<std::size_t>(std::count_if(journal.ends.begin(), journal.ends.end(), [&](std::size_t end) { return end <= position; }));
    REQUIRE_FALSE(loaded.is_complete);
    REQUIRE(loaded.content.scopes.size() == (whole == 0 ? 0 : journal.states[whole - 1].scopes.size()));
    file.set(position, journal.bytes[position]);
  }
  CHECK(profkit::load_journal(file.path).is_complete);
}

TEST_CASE("bytes after the last frame of a journal are ignored", "[journal]") {
  temporary_file const file;
  made_journal const journal = journal_in_parts();
  file.write(journal.bytes + "more");
  profkit::journal_content const loaded = profkit::load_journal(file.path);
  CHECK(loaded.is_complete);
  CHECK(loaded.bytes_left_out == 4);
}

TEST_CASE("a frame with a length beyond the file is rejected", "[journal]") {
  temporary_file const file;
  for (std::uint64_t const size : {std::uint64_t{1}, std::uint64_t{1} << 40U, ~std::uint64_t{0}}) {
    profkit::detail::frame_header header{profkit::detail::frame_kind::part, 0, size};
    profkit::detail::own_string bytes = profkit::detail::journal_encoder::beginning() + std::string(sizeof header, '\0');
    std::memcpy(&bytes[bytes.size() - sizeof header], &header, sizeof header);
    file.write(bytes);
    CHECK(profkit::load_journal(file.path).bytes_left_out == sizeof header);
  }
}

TEST_CASE("a journal of another format, or a file that is no journal, is named", "[journal]") {
  temporary_file const file;
  profkit::detail::own_string bytes = profkit::detail::journal_encoder::beginning();
  bytes[profkit::detail::journal_magic.size()] = 99;
  file.write(bytes);
  CHECK_THROWS_MATCHES(profkit::load(file.path), profkit::error, MessageMatches(ContainsSubstring("format 99")));
  file.write("something else, and long enough");
  CHECK_THROWS_MATCHES(profkit::load_journal(file.path), profkit::error,
                       MessageMatches(ContainsSubstring(file.path.string()) && ContainsSubstring("not a profkit journal")));
  CHECK_THROWS_AS(profkit::load_journal("/nowhere/journal"), profkit::error);
}

TEST_CASE("a reader of a growing journal continues where it stopped, and leaves an incomplete frame for the next read", "[journal]") {
  temporary_file const file;
  made_journal const journal = journal_in_parts();
  profkit::journal_reader reader{file.path};
  profkit::profile read;
  CHECK_THROWS_MATCHES(reader.read(read), profkit::error, MessageMatches(ContainsSubstring(file.path.string() + ": it cannot be opened")));
  std::size_t const beginning = profkit::detail::journal_encoder::beginning().size();
  std::size_t frames = 0;
  for (std::size_t length = 0; length <= journal.bytes.size(); ++length) {
    file.write(journal.bytes.substr(0, length));
    profkit::journal_progress const found = reader.read(read);
    bool const has_frame = frames < journal.ends.size() && length == journal.ends[frames];
    if (has_frame) ++frames;
    REQUIRE(found.has_begun == (length >= beginning));
    REQUIRE(found.has_news == has_frame);
    REQUIRE(found.is_complete == (frames == journal.ends.size()));
    REQUIRE_FALSE(found.is_other_file);
    std::size_t const end = frames == 0 ? (length < beginning ? 0 : beginning) : journal.ends[frames - 1];
    REQUIRE(found.bytes_left_out == length - end);
    REQUIRE(read.scopes.size() == (frames == 0 ? 0 : journal.states[frames - 1].scopes.size()));
  }
  CHECK(saved(read) == saved(journal.states.back()));
  CHECK_FALSE(reader.read(read).has_news);
}

TEST_CASE("a reader of a journal reads a late frame once its bytes are complete", "[journal]") {
  temporary_file const file;
  made_journal const journal = journal_in_parts();
  std::string late = journal.bytes;
  std::fill(late.begin() + static_cast<std::ptrdiff_t>(journal.ends[0]) + 40, late.end(), '\0');
  file.write(late);
  profkit::journal_reader reader{file.path};
  profkit::profile read;
  CHECK(reader.read(read).bytes_left_out == journal.bytes.size() - journal.ends[0]);
  CHECK(saved(read) == saved(journal.states[0]));
  file.write(journal.bytes);
  CHECK(reader.read(read).is_complete);
  CHECK(saved(read) == saved(journal.states.back()));
}

TEST_CASE("a reader of a journal starts again when the file is replaced, even by a longer one", "[journal]") {
  temporary_file const file;
  made_journal const journal = journal_in_parts();
  profkit::profile other = made_profile();
  other.environment.process_id += 1;
  profkit::detail::own_string bytes = profkit::detail::journal_encoder::beginning();
  profkit::detail::journal_encoder{}.append(other, true, bytes);
  for (profkit::detail::own_string const& next : {bytes, bytes + journal.bytes}) {
    file.write(journal.bytes.substr(0, journal.ends[1]));
    profkit::journal_reader reader{file.path};
    profkit::profile read;
    static_cast<void>(reader.read(read));
    std::filesystem::remove(file.path);
    profkit::journal_progress const between = reader.read(read);
    CHECK_FALSE((between.has_news || between.is_other_file || between.is_complete));
    CHECK(saved(read) == saved(journal.states[1]));
    file.write({});
    profkit::journal_progress const empty = reader.read(read);
    CHECK((empty.is_other_file && !empty.has_begun));
    CHECK(read.paths.empty());
    file.write(next);
    profkit::journal_progress const found = reader.read(read);
    CHECK((found.has_news && found.is_complete));
    CHECK(saved(read) == saved(other));
  }
  // The file must not be empty at any time.
  file.write(journal.bytes.substr(0, journal.ends[1]));
  profkit::journal_reader reader{file.path};
  profkit::profile read;
  static_cast<void>(reader.read(read));
  file.write(bytes + std::string(journal.bytes.size(), '\0'));
  profkit::journal_progress const found = reader.read(read);
  CHECK((found.is_other_file && found.has_news && found.is_complete));
  CHECK(saved(read) == saved(other));
}

TEST_CASE("a record with an invalid position is refused in later frames too", "[journal]") {
  temporary_file const file;
  profkit::detail::journal_encoder encoder;
  profkit::profile state = made_profile();
  profkit::detail::own_string bytes = encoder.beginning();
  encoder.append(state, false, bytes);
  file.write(bytes);
  profkit::journal_reader reader{file.path};
  profkit::profile read;
  REQUIRE(reader.read(read).has_news);
  state.scopes.push_back(state.scopes.back());
  state.scopes.back().thread = 1000;
  encoder.append(state, false, bytes);
  file.write(bytes);
  CHECK_THROWS_MATCHES(reader.read(read), profkit::error,
                       MessageMatches(ContainsSubstring(file.path.string()) && ContainsSubstring("a scope without thread")));
}

namespace {

/// A journal that continued in another file twice. The stream of windows had added all scopes except two when each file began.
struct made_files {
  std::vector<profkit::detail::own_string> bytes;
  std::vector<profkit::profile> states;  ///< the profile at the end of each file

  made_files() {
    profkit::detail::journal_encoder encoder;
    profkit::profile state = profile_with_everything();
    for (std::uint64_t number = 0; number < 3; ++number) {
      profkit::detail::own_string& file = bytes.emplace_back(encoder.beginning());
      if (number > 0) {
        profkit::detail::journal_head head;
        head.number = number;
        head.waiting = state;
        std::size_t const scopes = state.scopes.size();
        head.waiting.scopes.assign(state.scopes.end() - 2, state.scopes.end());
        head.forgotten = scopes - 2;
        head.figures = "figures of file " + std::to_string(number);
        encoder.append(head, file);
        state.paths.push_back(state.paths.back());
        state.paths.back().name = "path of file " + std::to_string(number);
      }
      encoder.append(state, false, file);
      state.scopes.push_back(state.scopes.back());
      state.scopes.back().path = static_cast<std::uint32_t>(state.paths.size() - 1);
      state.time.end += std::chrono::seconds{1};
      encoder.append(state, number == 2, file);
      states.push_back(state);
    }
  }
};

}  // namespace

TEST_CASE("the last two files of a journal are read as one journal", "[journal]") {
  temporary_file const file;
  made_files const made;
  auto const read = [&] {
    profkit::profile result;
    static_cast<void>(profkit::journal_reader{file.path}.read(result));
    return saved(result);
  };
  file.write(made.bytes[0]);
  CHECK(read() == saved(made.states[0]));
  file.write(made.bytes[1]);
  std::ofstream{file.before(), std::ios::binary} << made.bytes[0];
  CHECK(read() == saved(made.states[1]));
  std::ofstream{file.before(), std::ios::binary} << made.bytes[1];
  file.write(made.bytes[2]);
  profkit::journal_content const loaded = profkit::load_journal(file.path);
  CHECK(loaded.is_complete);
  CHECK(loaded.content.scopes.size() == 4);  // two that were waiting when the second file began, and those of the two files
  CHECK(loaded.content.quality.untraced_records == made.states[0].scopes.size() - 2);
  CHECK(loaded.content.paths.size() == made.states[2].paths.size());
}

TEST_CASE("the last file of a journal is read alone if the previous one is missing, damaged or from another session", "[journal]") {
  temporary_file const file;
  made_files const made;
  file.write(made.bytes[2]);
  profkit::detail::own_string const cut = made.bytes[1].substr(0, made.bytes[1].size() - 1);
  using own_string = profkit::detail::own_string;
  for (own_string const& before : {own_string{}, made.bytes[0], made.bytes[2], own_string{"no journal"}, cut}) {
    std::ofstream{file.before(), std::ios::binary} << before;
    profkit::journal_content const loaded = profkit::load_journal(file.path);
    bool const has_tables = before == cut;  // only its last scope is missing
    CHECK(loaded.content.scopes.size() == 3);
    CHECK(loaded.content.quality.untraced_records == made.states[has_tables ? 0 : 1].scopes.size() - 2);
  }
}

TEST_CASE("a reader of a journal continues in the next file, and reports a file that it missed", "[journal]") {
  temporary_file const file;
  made_files const made;
  file.write(made.bytes[0].substr(0, made.bytes[0].size() - 1));
  profkit::journal_reader reader{file.path};
  profkit::profile read;
  static_cast<void>(reader.read(read));
  CHECK(read.scopes.size() == made.states[0].scopes.size() - 1);
  std::ofstream{file.before(), std::ios::binary} << made.bytes[0];
  file.write(made.bytes[1]);
  profkit::journal_progress found = reader.read(read);
  CHECK((found.has_news && !found.is_other_file && !found.is_complete));
  CHECK(saved(read) == saved(made.states[1]));
  CHECK_FALSE(reader.read(read).has_news);
  profkit::journal_reader late{file.path};
  profkit::profile of_late;
  static_cast<void>(late.read(of_late));
  std::ofstream{file.before(), std::ios::binary} << made.bytes[1];
  file.write(made.bytes[2]);
  found = reader.read(read);
  CHECK((found.has_news && !found.is_other_file && found.is_complete));
  CHECK(saved(read) == saved(made.states[2]));

  std::ofstream{file.before(), std::ios::binary} << made.bytes[0];
  found = late.read(of_late);
  CHECK((found.has_news && found.is_other_file && found.is_complete));
  CHECK(of_late.scopes.size() == 3);
}

TEST_CASE("the times of all frames of a journal together must not overflow nanoseconds", "[journal]") {
  temporary_file const file;
  profkit::detail::journal_encoder encoder;
  profkit::profile state = made_profile();
  profkit::detail::own_string bytes = encoder.beginning();
  encoder.append(state, false, bytes);
  profkit::scope_record long_one = state.scopes.back();
  long_one.time = {profkit::timestamp{}, profkit::timestamp{std::chrono::hours{24 * 365 * 100}}};
  for (int i = 0; i < 2; ++i) {
    state.scopes.push_back(long_one);
    encoder.append(state, false, bytes);
  }
  file.write(bytes);
  CHECK_THROWS_MATCHES(profkit::load(file.path), profkit::error, MessageMatches(ContainsSubstring("add up to more than 146 years")));
}
