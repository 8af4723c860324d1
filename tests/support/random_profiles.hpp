// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/profile.hpp>

#include "made_full_profile.hpp"
#include "made_profile.hpp"
#include "random_loop_profile.hpp"
#include "random_memory_profile.hpp"
#include "random_step_profile.hpp"
#include "repetitions.hpp"
#include "testing.hpp"

/// Calls `check(profile, seed)` for the hand-made profiles and for random ones with and without steps.
/// @param seeds number of random profiles of each kind.
template <class Check>
void for_each_made_profile(std::uint64_t seeds, Check const& check) {
  check(made_profile(), 1);
  check(profile_with_everything(), 2);
  for (std::uint64_t seed = 1; seed <= repetitions(seeds); ++seed) {
    INFO("seed " << seed);
    check(make_random_step_profile(seed), seed);
    check(make_random_loop_profile(seed), seed);
    check(make_random_memory_profile(seed), seed);
    profkit::profile without_steps = make_random_step_profile(seed);
    without_steps.steps.clear();
    check(without_steps, seed);
    without_steps = make_random_memory_profile(seed);
    without_steps.steps.clear();
    check(without_steps, seed);
  }
}
