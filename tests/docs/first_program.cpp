// SPDX-License-Identifier: Apache-2.0
//
// The program of README.md, which shows its output.
#include <profkit/profkit.hpp>

#include <algorithm>
#include <random>
#include <vector>

int main() {
  std::vector<unsigned> numbers(20'000);
  std::mt19937 random;
  profkit::session session;  // 5 steps of warm-up, 30 measured ones
  for (profkit::step step : session) {
    {
      PROF_SCOPE("fill");
      std::generate(numbers.begin(), numbers.end(), random);
    }
    PROF_SCOPE("sort");
    std::sort(numbers.begin(), numbers.end());
  }
  fmt::print("{}\n", session.report());
}
