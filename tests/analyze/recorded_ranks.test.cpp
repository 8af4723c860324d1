// SPDX-License-Identifier: Apache-2.0
#include <profkit/profile.hpp>
#include <profkit/save_load.hpp>

#include "../support/testing.hpp"

// The recorded ranks. TEST_RANKS/README.md describes each run.

namespace {

profkit::profile recorded_rank(char const* run, std::uint32_t rank) {
  return profkit::load(std::string{TEST_RANKS "/"} + run + "/rank" + std::to_string(rank) + ".profile");
}

}  // namespace

TEST_CASE("each kernel of NCCL on recorded ranks has its collective, the same on all ranks", "[collectives]") {
  for (auto const& [run, ranks] : std::map<char const*, std::uint32_t>{{"even", 2}, {"four", 4}}) {
    std::set<std::tuple<std::uint64_t, std::string, std::uint64_t, std::uint64_t>> found_before;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      profkit::profile const profile = recorded_rank(run, rank);
      REQUIRE(profile.environment.rank);
      CHECK(profile.environment.rank->rank == rank);
      CHECK(profile.environment.rank->size == ranks);
      std::set<std::tuple<std::uint64_t, std::string, std::uint64_t, std::uint64_t>> found;
      std::map<std::uint64_t, std::size_t> collectives;  // by correlation
      for (profkit::collective_record const& each : profile.collectives) {
        found.insert(
            {profile.communicators.at(each.communicator).id, profile.collective_words.at(each.function), each.sequence, each.bytes});
        ++collectives[each.correlation];
      }
      CHECK(found.size() == 302);
      CHECK((rank == 0 || found == found_before));
      found_before = found;
      std::size_t kernels = 0;
      for (profkit::gpu_operation_record const& each : profile.gpu_operations) {
        if (profile.gpu_names.at(each.name).name.rfind("ncclDevKernel", 0) != 0) continue;
        ++kernels;
        CHECK(collectives[each.correlation] == 1);
      }
      CHECK(kernels == 302);
    }
  }
}
