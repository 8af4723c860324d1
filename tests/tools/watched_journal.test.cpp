// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/impl/profile/journal_encoder.hpp>
#include <profkit/save_load.hpp>

#include <profkit/profkit.hpp>

#include "../support/made_gpu_profile.hpp"
#include "../support/made_path.hpp"
#include "../support/made_profile.hpp"
#include "../support/parsed_report.hpp"
#include "../support/profile_of.hpp"
#include "../support/repetitions.hpp"
#include "../support/summary_bytes.hpp"
#include "../support/testing.hpp"
#include "../support/wait_for_drain.hpp"
#include "program_run.hpp"
#include "watched_files.hpp"
#include "watched_journal.hpp"

using profkit_program::watched_journal;

namespace {

/// A profile without its records.
profkit::profile without_records(profkit::profile profile) {
  profile.scopes.clear(), profile.steps.clear(), profile.gpu_scopes.clear(), profile.gpu_steps.clear(), profile.gpu_operations.clear(),
      profile.api_calls.clear();
  profile.counters.clear(), profile.memory.clear(), profile.allocations.clear(), profile.work.clear(), profile.device_clocks.clear();
  profile.collectives.clear(), profile.device_utilization.clear(), profile.samples.clear();
  return profile;
}

/// A run of many steps: those of a profile, repeatedly.
profkit::profile repeated(profkit::profile const& profile, std::uint64_t times) {
  profkit::profile result = without_records(profile);
  profkit::timestamp end = profile.steps.back().time.end;
  std::uint64_t max_correlation = 0;
  for (profkit::gpu_operation_record const& each : profile.gpu_operations) end = std::max(end, each.time.end);
  for (profkit::api_call_record const& each : profile.api_calls) max_correlation = std::max(max_correlation, each.correlation);
  std::chrono::nanoseconds const period = end - profile.steps.front().time.begin;
  for (std::uint64_t i = 0; i < times; ++i) {
    std::chrono::nanoseconds const later = static_cast<std::int64_t>(i) * period;
    auto const add = [](auto& list, auto const& all, auto const& move) {
      for (auto each : all) {
        move(each);
        list.push_back(each);
      }
    };
    auto const move = [&](auto& each) { each.time = {each.time.begin + later, each.time.end + later}; };
    auto const move_of_gpu = [&](auto& each) { move(each), each.correlation += i * (max_correlation + 1); };
    add(result.scopes, profile.scopes, move), add(result.gpu_operations, profile.gpu_operations, move_of_gpu),
        add(result.api_calls, profile.api_calls, move_of_gpu);
    add(result.work, profile.work, [&](auto& each) { each.begin += later; }),
        add(result.allocations, profile.allocations, [&](auto& each) { each.time += later; });
    add(result.steps, profile.steps, [&](auto& each) {
      move(each);
      each.index += i * profile.steps.size();
      each.warmup = each.warmup && i == 0;
    });
    add(result.memory, profile.memory, [&](auto& each) { each.step += i * profile.steps.size(); });
  }
  result.time.end += static_cast<std::int64_t>(times) * period;
  return result;
}

/// Writes a profile like a session writes its journal: everything that has ended by the end of each step.
class journal_in_parts {
 public:
  journal_in_parts(profkit::profile const& profile, fs::path const& file)
      : profile_{profile}, so_far_{without_records(profile)}, file_{file} {
    write(profkit::detail::journal_encoder::beginning());
  }

  [[nodiscard]] std::size_t parts() const { return profile_.steps.size(); }

  void write_part(std::size_t part) {
    bool const is_last = part + 1 == parts();
    profkit::timestamp const to = is_last ? profkit::timestamp::max() : profile_.steps[part].time.end;
    std::uint64_t const steps = profile_.steps[part].index + 1;
    auto const take = [&](auto& list, auto const& all, auto const& time_of) {
      for (auto const& each : all) {
        if (from_ < time_of(each) && time_of(each) <= to) list.push_back(each);
      }
    };
    auto const end_of = [](auto const& each) { return each.time.end; };
    auto const begin_of = [](auto const& each) { return each.begin; };
    auto const time_of = [](auto const& each) { return each.time; };
    take(so_far_.scopes, profile_.scopes, end_of), take(so_far_.steps, profile_.steps, end_of),
        take(so_far_.api_calls, profile_.api_calls, end_of);
    take(so_far_.gpu_operations, profile_.gpu_operations, end_of), take(so_far_.gpu_scopes, profile_.gpu_scopes, begin_of);
    take(so_far_.work, profile_.work, begin_of), take(so_far_.counters, profile_.counters, time_of),
        take(so_far_.allocations, profile_.allocations, time_of), take(so_far_.collectives, profile_.collectives, end_of),
        take(so_far_.samples, profile_.samples, time_of);
    auto const take_of_steps = [&](auto& list, auto const& all) {
      for (auto const& each : all) {
        if ((from_step_ <= each.step && each.step < steps) || (is_last && each.step >= steps)) list.push_back(each);
      }
    };
    take_of_steps(so_far_.gpu_steps, profile_.gpu_steps), take_of_steps(so_far_.memory, profile_.memory);
    take_of_steps(so_far_.device_clocks, profile_.device_clocks), take_of_steps(so_far_.device_utilization, profile_.device_utilization);
    profkit::detail::own_string bytes;
    encoder_.append(so_far_, is_last, bytes);
    write(bytes);
    from_ = to;
    from_step_ = steps;
  }

 private:
  void write(std::string const& bytes) const { std::ofstream{file_, std::ios::binary | std::ios::app} << bytes; }

  profkit::profile const& profile_;
  profkit::profile so_far_;
  fs::path file_;
  profkit::detail::journal_encoder encoder_;
  profkit::timestamp from_ = profkit::timestamp::min();
  std::uint64_t from_step_ = 0;
};

void read_all(watched_journal& journal) {
  while (journal.read(std::chrono::steady_clock::now() + std::chrono::seconds{10})) continue;
}

}  // namespace

TEST_CASE("a journal watched while it grows has the figures of its profile", "[watch]") {
  char const* const name = GENERATE("small-128-train-fp32.profile", "tiny-128-train-bf16.profile", "small-128-train-fp32-graph.profile");
  if (repeats_less && name != std::string_view{"tiny-128-train-bf16.profile"}) return;
  CAPTURE(name);
  program_folder const folder;
  profkit::profile const recorded = repeated(profkit::load(fs::path{TEST_DATA} / name), 8);
  fs::path const file = folder.path / "journal";
  watched_journal watched{file};
  read_all(watched);
  CHECK_FALSE(watched.has_session());
  CHECK_FALSE(watched.figures());
  journal_in_parts journal{recorded, file};
  for (std::size_t part = 0; part < journal.parts(); ++part) {
    journal.write_part(part);
    read_all(watched);
    CHECK(watched.problem().empty());
    CHECK(watched.steps().last().index == recorded.steps[part].index);
    if (part % 5 != 0) continue;
    profkit::summary const figures = *watched.figures();
    CHECK(figures.steps.host.count + figures.steps.warmup == part + 1);
  }
  CHECK(watched.is_complete());
  CHECK(watched.share_read() == 1.0);
  CHECK(watched.windows() > 0);  // most of them were added while the journal grew
  CHECK(bytes_of(*watched.figures()) == bytes_of(profkit::analyze(recorded)));
}

TEST_CASE("a scope that ends long after its step counts in a later step", "[watch]") {
  program_folder const folder;
  fs::path const file = folder.path / "journal";
  profkit::profile made;
  made.time = {at_ms(0), at_ms(4000)};
  made.paths = {step_path(), {profkit::path_record::no_parent, "load", {}, "a.cpp", 1}};
  made.threads = {{100, "main"}, {101, "loader"}};
  for (std::uint64_t i = 0; i < 40; ++i) {
    double const begin = 100.0 * static_cast<double>(i);
    made.steps.push_back({{at_ms(begin), at_ms(begin + 90.0)}, i});
    made.scopes.push_back({{at_ms(begin), at_ms(begin + 90.0)}, 0, 0});
  }
  made.scopes.push_back({{at_ms(310), at_ms(2340)}, 1, 1});  // begins in a step
  made.scopes.push_back({{at_ms(395), at_ms(2360)}, 1, 1});  // begins between two steps
  watched_journal watched{file};
  journal_in_parts journal{made, file};
  for (std::size_t part = 0; part < journal.parts(); ++part) {
    journal.write_part(part);
    read_all(watched);
    static_cast<void>(watched.figures());
  }
  profkit::summary const figures = *watched.figures();
  REQUIRE(find_row(figures, "load") != nullptr);
  CHECK(find_row(figures, "load")->host.count == 1);
  CHECK(find_row(figures, "load")->host.total.count() == 2030.0);
}

TEST_CASE("watching continues with the next file of a journal, and with the next session", "[watch]") {
  constexpr std::uint64_t scopes_of_a_step = 5'000;
  program_folder const folder;
  fs::path const file = folder.path / "journal";
  watched_journal watched{file};
  profkit::options options = plain_options(0, 100);
  options.journal = file.string();
  options.journal_bytes = std::uint64_t{1} << 20U;
  for (int run = 0; run < 2; ++run) {
    {
      profkit::session session{options};
      for (profkit::step const step : session) {
        for (std::uint64_t i = 0; i < scopes_of_a_step; ++i) PROF_SCOPE("many");
        wait_for_drain();
        if (step.index() % 4 != 3) continue;
        read_all(watched);
        REQUIRE(watched.problem().empty());
        REQUIRE(watched.has_session());
        CHECK(watched.figures()->steps.host.count <= step.index());
      }
    }
    read_all(watched);
    CHECK(fs::exists(folder.path / "journal.1"));
    CHECK(watched.is_complete());
    profkit::summary const figures = *watched.figures();
    CHECK(figures.steps.host.count == options.measured_steps);
    CHECK(find_row(figures, "step/many")->host.count == options.measured_steps * scopes_of_a_step);
    CHECK(watched.steps().size() == options.measured_steps);
    CHECK(watched.steps().begin()->index == 0);
  }
}

TEST_CASE("a file that is no journal, or of another format, is not watched, and the reason is given", "[watch]") {
  program_folder const folder;
  fs::path const file = folder.path / "file";
  auto const refusal = [&] { return folder.run("watch --once" + quoted(file)); };
  CHECK(refusal().code == 2);
  CHECK_THAT(refusal().err, ContainsSubstring(file.string() + ": no journal there yet; a program with PROFKIT=journal=" + file.string()));
  std::ofstream{file} << "{}";
  CHECK_THAT(refusal().err, ContainsSubstring(file.string() + ": is not a journal"));
  profkit::save(made_gpu_profile(), file);
  CHECK_THAT(refusal().err, ContainsSubstring("is a saved profile and not a journal; profkit report prints it"));
  report_of(made_gpu_profile()).write((folder.path / "out").string());
  CHECK_THAT(folder.run("watch" + quoted(folder.path / "out" / "summary.profkit")).err, ContainsSubstring("is the summary of a report"));
  profkit::detail::own_string bytes = profkit::detail::journal_encoder::beginning();
  bytes[profkit::detail::journal_magic.size()] = '\x7f';
  std::ofstream{file} << bytes;
  CHECK(refusal().code == 2);
  CHECK_THAT(refusal().err, ContainsSubstring("it has format 127"));
  CHECK_THAT(folder.run("watch --once /dev/null").err, ContainsSubstring("/dev/null: is neither a file nor a folder"));
  CHECK_THAT(folder.run("watch --once --interval 0" + quoted(file)).err, ContainsSubstring("--interval"));
  fs::create_directory(folder.path / "empty");
  CHECK_THAT(folder.run("watch --once" + quoted(folder.path / "empty")).err, ContainsSubstring("no journal in the folder yet"));
}

TEST_CASE("the journals of a folder are watched, and no other file in it", "[watch]") {
  program_folder const folder;
  profkit::detail::own_string bytes = profkit::detail::journal_encoder::beginning();
  profkit::detail::journal_encoder{}.append(made_gpu_profile(), true, bytes);
  fs::path const all = folder.path / "all";
  fs::create_directories(all / "folder");
  for (char const* const name : {"b.journal", "b.journal.1", "b.journal.before", "b.journal.before.1", "b.journal.next"})
    std::ofstream{all / name} << bytes;
  std::ofstream{all / "other"} << "text";
  std::ofstream{all / "empty"};
  profkit_program::watched_files files{{all.string()}};
  REQUIRE(files.journals().size() == 1);
  CHECK(files.journals().front().path() == all / "b.journal");
  std::ofstream{all / "a.journal"} << bytes;
  std::ofstream{all / "empty"} << bytes;
  files.look();
  files.look();
  REQUIRE(files.journals().size() == 3);
  CHECK(files.journals().front().path() == all / "b.journal");
  CHECK(files.journals().back().path() == all / "empty");
  program_folder::result const printed = folder.run("watch --once" + quoted(all));
  CHECK(printed.code == 0);
  CHECK_THAT(printed.out, ContainsSubstring("> a.journal") && ContainsSubstring("  b.journal") && ContainsSubstring("  empty"));
}

TEST_CASE("the journals of ranks are named by rank and host", "[watch]") {
  program_folder const folder;
  fs::path const all = folder.path / "all";
  fs::create_directories(all);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    profkit::profile made = made_gpu_profile();
    made.environment.host = "node7";
    made.environment.rank = profkit::rank_record{};
    made.environment.rank->rank = rank;
    made.environment.rank->size = 2;
    profkit::detail::own_string bytes = profkit::detail::journal_encoder::beginning();
    profkit::detail::journal_encoder{}.append(made, true, bytes);
    std::ofstream{all / ("run.journal.rank" + std::to_string(rank)), std::ios::binary} << bytes;
  }
  program_folder::result const printed = folder.run("watch --once" + quoted(all));
  CHECK(printed.code == 0);
  CHECK_THAT(printed.out, ContainsSubstring("rank 0 (node7)") && ContainsSubstring("rank 1 (node7)"));
}
