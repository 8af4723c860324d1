// SPDX-License-Identifier: Apache-2.0
//
// Nested scopes of any depth: no part of a report may need a stack that grows with the depth.
#include <profkit/analyze.hpp>
#include <profkit/impl/profile/path_table.hpp>
#include <profkit/report.hpp>
#include <profkit/save_load.hpp>
#include <profkit/summary_file.hpp>

#include <fmt/format.h>
#include <pthread.h>

#include <exception>
#include <thread>

#include "../support/nested_scopes.hpp"
#include "../support/parsed_report.hpp"
#include "../support/profile_of.hpp"
#include "../support/sanitizers.hpp"
#include "../support/temporary_folder.hpp"
#include "../support/testing.hpp"

using profkit::detail::path_table;

namespace {

// Sanitizers enlarge frames.
constexpr std::size_t small_stack = (under_address_sanitizer || under_thread_sanitizer ? std::size_t{1024} : std::size_t{256}) << 10U;

/// Calls a function on a thread with a small stack.
void on_small_stack(std::function<void()> function) {
  struct call {
    std::function<void()> function;
    std::exception_ptr failed;
  } made{std::move(function), nullptr};
  ::pthread_attr_t attributes;
  REQUIRE(::pthread_attr_init(&attributes) == 0);
  REQUIRE(::pthread_attr_setstacksize(&attributes, small_stack) == 0);
  ::pthread_t thread{};
  auto const body = [](void* argument) -> void* {
    auto& its = *static_cast<call*>(argument);
    try {
      its.function();
    } catch (...) {
      its.failed = std::current_exception();
    }
    return nullptr;
  };
  REQUIRE(::pthread_create(&thread, &attributes, body, &made) == 0);
  ::pthread_join(thread, nullptr);
  ::pthread_attr_destroy(&attributes);
  if (made.failed) std::rethrow_exception(made.failed);
}

profkit::timestamp at_us(std::int64_t us) {
  return profkit::timestamp{std::chrono::seconds{1'700'000'000} + std::chrono::microseconds{us}};
}

/// Three steps with scopes inside one another. @param depth number of names in the longest path, with the step.
profkit::profile profile_with_depth(std::uint32_t depth) {
  auto const us = static_cast<std::int64_t>(depth) + 1;
  profkit::profile profile;
  profile.threads.push_back({1, "main"});
  profkit::path_record step{profkit::path_record::no_parent, "step", {}, "a.cpp", 1};
  step.is_step = true;
  profile.paths.push_back(step);
  for (std::uint32_t i = 1; i < depth; ++i) profile.paths.push_back({i - 1, "s", {}, "a.cpp", 2});
  for (std::int64_t number = 0; number < 3; ++number) {
    std::int64_t const begin = 4 * us * number;
    profile.steps.push_back({{at_us(begin), at_us(begin + 3 * us)}, static_cast<std::uint64_t>(number)});
    for (std::uint32_t i = depth; i-- > 0;)
      profile.scopes.push_back({{at_us(begin + std::int64_t{i}), at_us(begin + 3 * us - std::int64_t{i})}, i, 0});
  }
  profile.time = {at_us(0), at_us(12 * us)};
  return profile;
}

/// Calls a function. @return the message of its error; empty if there is none.
template <class Function>
std::string error_of(Function const& function) {
  try {
    function();
  } catch (profkit::error const& failed) {
    return failed.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a profile of the maximum depth is loaded, and all reports of it are made on a small stack", "[deep]") {
  temporary_folder const folder{"deep-reports"};
  std::filesystem::path const file = folder.path / "deep.profile";
  profkit::save(profile_with_depth(path_table::max_depth_in_files), file);
  std::string wanted;
  on_small_stack([&] {
    profkit::report const report = report_of(profkit::load(file));
    REQUIRE(report.summary().scopes.size() == path_table::max_depth_in_files);
    CHECK(report.summary().scopes.back().host.count == 3);
    CHECK(report.summary().scopes.back().depth + 1 == path_table::max_depth_in_files);
    CHECK_THAT(report.text(), ContainsSubstring("nothing lost"));
    CHECK(report.full_text().size() > report.text().size());
    CHECK_FALSE(report.markdown().empty());
    report.write((folder.path / "out").string());
    wanted = profkit::report_json(report.summary());
  });
  on_small_stack([&] {
    profkit::summary const loaded = profkit::load_summary((folder.path / "out" / "summary.profkit").string());
    CHECK(profkit::report_json(loaded) == wanted);
  });
}

TEST_CASE("a deeper profile or summary is refused with the limit and the name of the file", "[deep]") {
  temporary_folder const folder{"deep-files"};
  std::string const wanted = "scopes are nested more than 1024 levels deep, which is the limit";
  for (std::uint32_t const depth : {path_table::max_depth_in_files + 1, 10'000U, 1'000'000U}) {
    CAPTURE(depth);
    std::filesystem::path const file = folder.path / "deep.profile";
    profkit::save(profile_with_depth(depth), file);
    std::filesystem::path const figures = folder.path / "deep.summary";
    profkit::summary summary;
    for (std::uint32_t i = 0; i < depth; ++i) {
      profkit::scope_summary& row = summary.scopes.emplace_back();
      if (i > 0) row.parent = i - 1;
      row.depth = i;
      row.path = "s" + std::string(i < 2000 ? i : 0, 's');
    }
    profkit::save_summary(summary, figures.string());
    on_small_stack([&] {
      CHECK_THAT(error_of([&] { static_cast<void>(profkit::load(file)); }), ContainsSubstring(wanted) && ContainsSubstring("deep.profile"));
      CHECK_THAT(error_of([&] { static_cast<void>(profkit::load_summary(figures.string())); }),
                 ContainsSubstring(wanted) && ContainsSubstring("deep.summary"));
    });
  }
}

TEST_CASE("100,000 nested scopes are reported while they are open and afterwards", "[deep]") {
  constexpr std::size_t depth = 100'000;
  temporary_folder const folder{"deep-live"};
  profkit::options options = plain_options(0, 1000);
  options.report_every = std::chrono::milliseconds{20};
  options.output_directory = (folder.path / "out").string();
  profkit::session session{options};
  on_small_stack([&] {
    auto const is_written = [&] { return std::filesystem::exists(folder.path / "out" / "report.json"); };
    for (int number = 0; number < 2 || (number < 100 && !is_written()); ++number) {
      profkit::step const step{session};
      nested_scopes const deep{depth};
      std::this_thread::sleep_for(std::chrono::milliseconds{50});
    }
    CHECK(is_written());
    {
      profkit::step const step{session};
      nested_scopes const deep{depth};
      CHECK_THAT(fmt::format("{}", session.snapshot()), ContainsSubstring("deeper than 512"));
    }
    profkit::report const report = session.report();
    CHECK(report.profile().quality.dropped_events == 0);
    CHECK(report.profile().quality.collapsed_scopes == report.summary().steps.host.count * (depth - path_table::max_depth));
    CHECK_THAT(fmt::format("{}", report), ContainsSubstring("deeper than 512"));
    CHECK_THAT(report.full_text(), ContainsSubstring(path_table::merged_name));
    report.write((folder.path / "again").string());
  });
}
