// SPDX-License-Identifier: Apache-2.0
#include <profkit/session.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <profkit/impl/profile/journal_reader.hpp>
#include <profkit/load_report.hpp>
#include <profkit/save_load.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "support/profile_of.hpp"
#include "support/repetitions.hpp"
#include "support/sanitizers.hpp"
#include "support/temporary_folder.hpp"
#include "support/wait_for_drain.hpp"

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
namespace fs = std::filesystem;

namespace {

struct journal_folder : temporary_folder {
  journal_folder() : temporary_folder{"journal"} {}

  [[nodiscard]] profkit::options options(char const* file = "journal", std::uint64_t steps = 1) const {
    profkit::options result = plain_options(0, steps);
    result.journal = (path / file).string();
    return result;
  }
  [[nodiscard]] fs::path journal() const { return path / "journal"; }
};

/// The content of the journal once `is_there` is true, or after 10 seconds.
template <class Condition>
profkit::journal_content wait_for(fs::path const& journal, Condition&& is_there) {
  auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  profkit::journal_content content = profkit::load_journal(journal);
  while (!is_there(content.content) && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
    content = profkit::load_journal(journal);
  }
  return content;
}

profkit::collector_record journal_in(profkit::profile const& profile) { return profile.collectors.back(); }

/// Counts how often it is drained and flushed in steps.
class restless final : public profkit::collector {
 public:
  restless(std::atomic<int>& drained, std::atomic<int>& flushed) : drained_{&drained}, flushed_{&flushed} {}
  [[nodiscard]] std::string_view name() const noexcept override { return "restless"; }
  void drain(profkit::profile_builder&, bool) override { ++*drained_; }
  void flush() override { ++*flushed_; }

 private:
  std::atomic<int>* drained_;
  std::atomic<int>* flushed_;
};

/// LeakSanitizer does not see the parent's threads in a child. The child ends before the leak check, after the other exit handlers.
int code_of_child = 0;
int const skips_leaks = std::atexit([] {
  if (code_of_child != 0) ::_exit(code_of_child);
});

/// The exit code of a child that runs this function. -1: it was killed.
template <class Function>
int exit_code_of_child(Function&& function) {
  ::pid_t const child = ::fork();
  if (child == 0) {
    ::alarm(40);
    function();
    std::_Exit(99);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  if (under_address_sanitizer && WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) SKIP("AddressSanitizer's heap was locked at a fork");
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("ended scopes are in the journal while their step continues", "[journal]") {
  journal_folder const folder;
  profkit::session session{folder.options("journal", 2)};
  for (profkit::step step : session) {
    PROF_SCOPE("outer");
    for (std::int64_t i = 0; i < 5; ++i) PROF_SCOPE_INDEXED("inner", i);
    std::thread{[] { PROF_SCOPE("elsewhere"); }}.join();
    std::size_t const wanted = 6 * (step.index() + 1) + 2 * step.index();
    profkit::journal_content const found =
        wait_for(folder.journal(), [&](profkit::profile const& so_far) { return so_far.scopes.size() >= wanted; });
    CHECK_FALSE(found.is_complete);
    CHECK(found.content.scopes.size() == wanted);
    CHECK(count_scopes(found.content, "step/outer/inner_4") == step.index() + 1);
    CHECK(count_scopes(found.content, "elsewhere") == step.index() + 1);
    CHECK(found.content.steps.size() == step.index());
    CHECK(found.content.quality.open_scopes == 2);
    CHECK(found.content.environment.process_id == static_cast<std::uint64_t>(::getpid()));
    CHECK(journal_in(found.content).status == "recovered");
    CHECK_THAT(journal_in(found.content).reason, ContainsSubstring("the session did not end"));
  }
}

TEST_CASE("what has been open for a second is in the journal, and written once while nothing changes", "[journal]") {
  journal_folder const folder;
  profkit::session session{folder.options()};
  static profkit::communicator group{"world", 7, 1, 4};
  static profkit::site wait{"cuStreamSynchronize", "", 0};
  auto const open_frames = [&] {
    std::ifstream stream{folder.journal(), std::ios::binary};
    std::uint64_t const size = profkit::detail::size_of(stream);
    profkit::detail::journal_file file;
    profkit::profile tables;
    std::pair<std::vector<profkit::detail::journal_open>, profkit::profile> result;
    if (!file.read_beginning(stream, size)) return result;
    while (file.read_frame(stream, size, tables)) {
      bool const is_new = file.open() && (result.first.empty() || result.first.back().time != file.open()->time);
      if (is_new) result.first.push_back(*file.open());
    }
    result.second = std::move(tables);
    return result;
  };
  for (profkit::step step : session) {
    PROF_SCOPE("sum", profkit::collective{"all_reduce", group, 64});
    for (int i = 0; i < 10; ++i) PROF_SCOPE("short");
    auto const call = profkit::detail::begin_api_call(wait, 5);
    std::this_thread::sleep_for(std::chrono::milliseconds{3500});
    profkit::detail::end_api_call(call);
  }
  static_cast<void>(session.report());
  auto const [frames, tables] = open_frames();
  CHECK((frames.size() >= 2 && frames.size() <= 5));  // one a second
  profkit::detail::journal_open const& open = frames.front();
  CHECK(open.time - open.ranges.back().begin >= std::chrono::seconds{1});
  REQUIRE(open.ranges.size() == 3);  // innermost first
  CHECK(open.ranges[0].call == "cuStreamSynchronize");
  CHECK(tables.paths.at(open.ranges[1].path).name == "sum");
  CHECK(tables.paths.at(open.ranges[2].path).is_step);
  CHECK(tables.threads.at(open.ranges[0].thread).system_id == static_cast<std::uint64_t>(::getpid()));
  REQUIRE(open.collectives.size() == 1);
  CHECK(open.collectives[0].sequence == 0);
  CHECK(tables.communicators.at(open.collectives[0].communicator).name == "world");
  CHECK(tables.scopes.size() == 12);
}

TEST_CASE("the journal of a session that ended holds its whole profile", "[journal]") {
  journal_folder const folder;
  profkit::session session{folder.options("journal", 20)};
  for (profkit::step step : session) {
    for (int i = 0; i < 1000; ++i) PROF_SCOPE("inner");
    PROF_COUNTER("loss", 1.0);
  }
  profkit::profile const of_session = session.report().profile();
  profkit::save(of_session, folder.path / "saved");
  profkit::journal_content const found = profkit::load_journal(folder.journal());
  CHECK(found.is_complete);
  CHECK(found.bytes_left_out == 0);
  CHECK(found.content.scopes.size() == 20 * 1001);
  CHECK(journal_in(found.content).status == "written");
  profkit::save(found.content, folder.path / "found");
  CHECK(fs::file_size(folder.path / "found") == fs::file_size(folder.path / "saved"));
  CHECK(found.content.quality.bookkeeping == of_session.quality.bookkeeping);
}

TEST_CASE("a journal has more records and steps than a profile in memory", "[journal]") {
  constexpr std::uint64_t steps = repetitions(70'000);
  constexpr std::uint64_t scopes_of_a_step = 16;
  journal_folder const folder;
  profkit::options options = folder.options("journal", steps);
  options.max_records = repetitions(options.max_records);
  REQUIRE(steps * scopes_of_a_step > options.max_records);
  profkit::session session{options};
  for (profkit::step each : session) {
    static_cast<void>(each);
    for (std::uint64_t i = 0; i < scopes_of_a_step; ++i) PROF_SCOPE("part");
  }
  profkit::report const report = session.report();
  profkit::profile const written = profkit::load(folder.journal());
  CHECK(written.steps.size() == steps);
  CHECK(written.scopes.size() == steps * (scopes_of_a_step + 1));
  CHECK(written.quality.discarded_records == 0);
  CHECK(written.quality.untraced_records == 0);
  CHECK(report.summary().quality.untraced_records > 0);
}

TEST_CASE("if a journal cannot be created, the error names it, and another session can be created", "[journal]") {
  journal_folder const folder;
  CHECK_THROWS_MATCHES(profkit::session{folder.options("missing/journal")}, profkit::error,
                       MessageMatches(ContainsSubstring("missing/journal: No such file or directory")));
  CHECK_THROWS_MATCHES(profkit::session{folder.options("")}, profkit::error,
                       MessageMatches(ContainsSubstring("it exists and is not a regular file")));
  CHECK_NOTHROW(profkit::session{folder.options()});
}

TEST_CASE("a journal that reaches the file size limit ends there, without a signal", "[journal]") {
  journal_folder const folder;
  int const code = exit_code_of_child([&] {
    ::rlimit const limit{20'000, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    profkit::session session{folder.options("journal", 2)};
    for (profkit::step step : session) {
      for (int i = 0; i < 5000; ++i) PROF_SCOPE("work");
    }
    profkit::profile const profile = session.report().profile();
    bool const is_said =
        journal_in(profile).status == "not written" && journal_in(profile).reason.find("File too large") != std::string::npos;
    std::_Exit(is_said && count_scopes(profile, "step/work") == 10'000 ? 0 : 1);
  });
  CHECK(code == 0);
  profkit::journal_content const found = profkit::load_journal(folder.journal());
  CHECK_FALSE(found.is_complete);
  CHECK(found.bytes_left_out > 0);
}

TEST_CASE("the child of a fork does not affect the journal and the session of its parent", "[journal]") {
  if (under_thread_sanitizer) SKIP("ThreadSanitizer ends a child that starts a thread");
  journal_folder const folder;
  std::optional<profkit::session> session{folder.options("journal", 10)};
  for (profkit::step step : *session) {
    PROF_SCOPE("work");
    int const code = exit_code_of_child([&] {
      { PROF_SCOPE("in the child"); }
      std::string const why = session->report().summary().quality.not_recorded;
      bool const is_said = why.find("the session belongs to process " + std::to_string(::getppid()) + ",") != std::string::npos;
      session.reset();
      profkit::session own{plain_options()};
      { PROF_SCOPE("own"); }
      std::_Exit(is_said && own.report().profile().scopes.size() == 1 ? 0 : 1);
    });
    CHECK(code == 0);
  }
  int const code = exit_code_of_child([] {
    code_of_child = 3;
    std::exit(3);  // with the session open
  });
  CHECK(code == 3);
  CHECK(skips_leaks == 0);
  static_cast<void>(session->report());
  profkit::journal_content const found = profkit::load_journal(folder.journal());
  CHECK(found.is_complete);
  CHECK(found.content.steps.size() == 10);
  CHECK(count_scopes(found.content, "step/work") == 10);
  CHECK(count_scopes(found.content, "in the child") == 0);
}

TEST_CASE("collectors are drained in steps, and are flushed only with a journal", "[journal]") {
  journal_folder const folder;
  for (bool const has_journal : {true, false}) {
    std::atomic<int> drained{0};
    std::atomic<int> flushed{0};
    profkit::session session{has_journal ? folder.options() : plain_options()};
    session.collect(restless{drained, flushed});
    for (profkit::step step : session) {
      auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
      while (drained < 5 && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    profkit::profile const profile = session.report().profile();
    CHECK(drained >= 5);
    CHECK((flushed >= 1) == has_journal);
    CHECK(profile.collectors.front().status == "collected");
  }
}

namespace {

constexpr std::uint64_t scopes_of_a_step = 20'000;
constexpr std::uint64_t file_bytes = std::uint64_t{1} << 21U;

void run_step() {
  for (std::uint64_t i = 0; i < scopes_of_a_step; ++i) PROF_SCOPE("many");
  wait_for_drain();
}

/// The report of a journal once it has this many scopes, or after 10 seconds.
profkit::report wait_for_figures(fs::path const& journal, std::uint64_t scopes) {
  auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  for (;;) {
    profkit::report const found = profkit::load_report(journal);
    profkit::scope_summary const* const row = find_row(found.summary(), "step/many");
    bool const has_all = row != nullptr && row->host.count >= scopes;
    if (has_all || std::chrono::steady_clock::now() > deadline) return found;
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
}

}  // namespace

TEST_CASE("a full journal continues in another file, and its report has the figures of the whole session", "[journal]") {
  constexpr std::uint64_t steps = 32;
  journal_folder const folder;
  profkit::options options = folder.options("journal", steps);
  options.journal_bytes = 2 * file_bytes;
  options.max_records = 1000;
  profkit::journal_reader reader{folder.journal()};
  profkit::profile followed;
  std::uint64_t scopes_followed = 0;
  profkit::session session{options};
  for (profkit::step const step : session) {
    run_step();
    if (step.index() % 4 == 3) {
      profkit::report const so_far = wait_for_figures(folder.journal(), step.index() * scopes_of_a_step);
      profkit::scope_summary const* const row = find_row(so_far.summary(), "step/many");
      REQUIRE(row != nullptr);
      CHECK(row->host.count == step.index() * scopes_of_a_step);  // those of the open step belong to no step
      CHECK(so_far.summary().steps.host.count == step.index());
    }
    CHECK_FALSE(reader.read(followed).is_other_file);
    scopes_followed += followed.scopes.size();
    followed.scopes.clear();
  }
  profkit::report const report = session.report();
  static_cast<void>(reader.read(followed));
  CHECK(scopes_followed + followed.scopes.size() == steps * (scopes_of_a_step + 1));

  profkit::report const found = profkit::load_report(folder.journal());
  CHECK(find_row(found.summary(), "step/many")->host.count == steps * scopes_of_a_step);
  CHECK(find_row(found.summary(), "step/many")->host.total == find_row(report.summary(), "step/many")->host.total);
  CHECK(found.summary().steps.host.count == steps);
  CHECK(found.summary().steps.host.mean == report.summary().steps.host.mean);
  CHECK(found.profile().scopes.size() > scopes_of_a_step);
  CHECK(found.profile().scopes.size() + found.profile().quality.untraced_records == steps * (scopes_of_a_step + 1));
  CHECK(found.summary().quality.untraced_records == found.profile().quality.untraced_records);
  for (char const* const name : {"journal", "journal.1"}) {
    CHECK(fs::file_size(folder.path / name) > 0);
    CHECK(fs::file_size(folder.path / name) < 2 * file_bytes);
  }
  CHECK_FALSE(fs::exists(folder.path / "journal.next"));

  profkit::session next{folder.options()};
  CHECK(fs::exists(folder.path / "journal.before.1"));
  CHECK_FALSE(fs::exists(folder.path / "journal.1"));
  profkit::report const before = profkit::load_report(folder.path / "journal.before");
  CHECK(find_row(before.summary(), "step/many")->host.count == steps * scopes_of_a_step);
}

TEST_CASE("the size limit of a journal must be at least 1 MiB", "[journal]") {
  journal_folder const folder;
  profkit::options options = folder.options();
  options.journal_bytes = (std::uint64_t{1} << 20U) - 1;
  CHECK_THROWS_MATCHES(profkit::session{options}, profkit::error,
                       MessageMatches(ContainsSubstring("profkit::options::journal_bytes is 1048575; it must be at least 1048576")));
}
