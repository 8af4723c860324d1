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

TEST_CASE("a copy in slices has all members of the profile", "[profile]") {
  profkit::profile profile = profile_with_everything();
  profile.quality.snapshot = profkit::snapshot_record{true, true, 3, 4};
  profkit::detail::sliced_copy copy{profile};
  while (copy.copy_slice(profile)) continue;
  CHECK(archived(copy.take()) == archived(profile));
}

TEST_CASE("a copy in slices equals the profile at the start of the copy, despite later additions", "[profile]") {
  profkit::profile profile = profile_with_everything();
  profile.scopes.resize(100'000);
  std::string const before = archived(profile);
  profkit::detail::sliced_copy copy{profile};
  std::size_t slices = 1;
  for (; copy.copy_slice(profile); ++slices) {
    profile.scopes.resize(profile.scopes.size() + 5'000);  // reallocates the list from time to time
    profile.steps.push_back(profile.steps.front());
    profile.paths.push_back(profile.paths.front());
    profile.item_name += "s";
    ++profile.quality.dropped_events;
  }
  CHECK(slices > 50);  // 100,000 scopes of 24 bytes
  CHECK(archived(copy.take()) == before);
}
