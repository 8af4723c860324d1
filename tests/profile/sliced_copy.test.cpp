// SPDX-License-Identifier: Apache-2.0
#include <profkit/profile/save_load.hpp>
#include <profkit/profile/sliced_copy.hpp>

#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "../support/made_full_profile.hpp"
#include "../support/temporary_folder.hpp"

namespace {

/// The whole profile as the bytes of a file.
std::string archived(profkit::profile const& what) {
  temporary_folder const folder{"sliced-copy"};
  profkit::save(what, folder.path / "profile");
  std::ifstream file{folder.path / "profile", std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

}  // namespace

TEST_CASE("a copy in slices has all that the profile has", "[profile]") {
  profkit::profile of = profile_with_everything();
  of.quality.snapshot = profkit::snapshot_record{true, true, 3, 4};
  profkit::detail::sliced_copy copy{of};
  while (copy.copy_slice(of)) continue;
  CHECK(archived(copy.take()) == archived(of));
}

TEST_CASE("a copy in slices is the profile as it was at its beginning, whatever is added meanwhile", "[profile]") {
  profkit::profile of = profile_with_everything();
  of.scopes.resize(100'000);
  std::string const before = archived(of);
  profkit::detail::sliced_copy copy{of};
  std::size_t slices = 1;
  for (; copy.copy_slice(of); ++slices) {
    of.scopes.resize(of.scopes.size() + 5'000);  // reallocates the list from time to time
    of.steps.push_back(of.steps.front());
    of.paths.push_back(of.paths.front());
    of.item_name += "s";
    ++of.quality.dropped_events;
  }
  CHECK(slices > 50);  // 100,000 scopes of 24 bytes
  CHECK(archived(copy.take()) == before);
}
