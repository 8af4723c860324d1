// SPDX-License-Identifier: Apache-2.0
//
// Kernels in a journal, on an imitated driver and CUPTI in the library path.
#include <profkit/cupti.hpp>
#include <profkit/impl/analyze/gpu/attribution.hpp>
#include <profkit/report.hpp>
#include <profkit/save_load.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "../support/profile_of.hpp"
#include "fake_cupti.hpp"

namespace {

/// A file that is removed at the end of the test.
struct temporary_file {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("profkit-cupti-journal-" + std::to_string(::getpid()));
  ~temporary_file() { std::filesystem::remove(path); }
};

/// Waits until the journal has `count` operations with their scopes, for at most 10 seconds. The session may write an operation one round
/// before its scope, which ends later.
profkit::profile wait_for_operations(std::filesystem::path const& journal, std::size_t count) {
  auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  auto const is_complete = [&](profkit::profile const& found) {
    if (found.gpu_operations.size() < count) return false;
    std::vector<std::uint32_t> const paths = profkit::attribute(found).path_of;
    return std::count(paths.begin(), paths.end(), profkit::attribution::none) == 0;
  };
  profkit::profile found = profkit::load(journal);
  while (!is_complete(found) && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
    found = profkit::load(journal);
  }
  return found;
}

/// "kernel in scope" of each operation.
std::vector<std::string> charged_in_journal(profkit::profile const& profile) {
  profkit::attribution const to = profkit::attribute(profile);
  std::vector<std::string> result;
  for (std::size_t i = 0; i < profile.gpu_operations.size(); ++i) {
    std::string const path = to.path_of[i] == profkit::attribution::none ? "-" : path_name(profile, to.path_of[i]);
    result.push_back(profile.gpu_names[profile.gpu_operations[i].name].name + " in " + path);
  }
  return result;
}

}  // namespace

TEST_CASE("kernels are in the journal with their scopes while the launching step still runs", "[cupti][journal]") {
  temporary_file const journal;
  profkit::options options = plain_options(0, 2);
  options.journal = journal.path.string();
  profkit::session session{options};
  session.collect(profkit::cupti_kernels());
  std::size_t launched = 0;
  for (profkit::step step : session) {
    std::uint64_t node = 0;
    {
      PROF_SCOPE("capture");
      node = fake_cupti().clone(fake_cupti().capture(1), 2 + static_cast<std::uint32_t>(step.index()));
    }
    {
      PROF_SCOPE("launch");
      fake_cupti().kernel("_Z5firstv", 1, 100, 200);
      fake_graph_node const captured{node, fake_graph_node::kind::kernel};
      fake_cupti().replay(&captured, 1, 300);
    }
    launched += 2;
    profkit::profile const found = wait_for_operations(journal.path, launched);
    std::vector<std::string> wanted;
    for (std::size_t i = 0; i < launched; i += 2) {
      wanted.push_back("first() in step/launch");
      wanted.push_back("node() in step/capture");
    }
    CHECK(charged_in_journal(found) == wanted);
    CHECK(found.steps.size() == step.index());
  }
  profkit::profile const of_session = session.report().profile();
  profkit::profile const found = profkit::load(journal.path);
  CHECK(charged_in_journal(found) == charged_in_journal(of_session));
  CHECK(found.graph_nodes.size() == of_session.graph_nodes.size());
  CHECK(found.graph_nodes.size() == 4);  // two captured and two copies
}

TEST_CASE("scopes reach the journal while CUPTI does not answer, because a device hangs", "[cupti][journal]") {
  temporary_file const journal;
  profkit::options options = plain_options(0, 1);
  options.journal = journal.path.string();
  profkit::session session{options};
  session.collect(profkit::cupti_kernels());
  for (profkit::step step : session) {
    fake_cupti().kernel("_Z5firstv", 1, 100, 200);
    fake_cupti().blocks_flushes = true;
    auto const limit = std::chrono::steady_clock::now() + std::chrono::seconds{10};
    while (fake_cupti().blocked_flushes == 0 && std::chrono::steady_clock::now() < limit)
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    CHECK(fake_cupti().blocked_flushes == 1);
    { PROF_SCOPE("while it hangs"); }
    CHECK(session.snapshot().profile().quality.snapshot);
    std::size_t scopes = 0;
    while (scopes == 0 && std::chrono::steady_clock::now() < limit) scopes = profkit::load(journal.path).scopes.size();
    CHECK(scopes == 1);
    fake_cupti().blocks_flushes = false;
  }
  CHECK(session.report().profile().gpu_operations.size() == 1);
}
