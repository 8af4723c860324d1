// SPDX-License-Identifier: Apache-2.0
#include "commands/cells.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <set>
#include <string>
#include <utility>

namespace trainer {

void measure_cells(result_file& into, std::vector<cell> const& cells) {
  using clock = std::chrono::steady_clock;
  auto const begin = clock::now();
  std::vector<cell const*> left;
  std::set<std::vector<std::string>> wanted;  // a list may contain duplicates
  double weight_left = 0.0;
  double weight_done = 0.0;
  for (cell const& each : cells) {
    if (!wanted.insert(each.key).second || into.has(each.key)) continue;
    left.push_back(&each);
    weight_left += each.weight;
  }
  std::size_t const known = wanted.size() - left.size();
  if (known > 0) fmt::print(stderr, "{} of {} measured before\n", known, wanted.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::vector<std::string> row = left[i]->key;
    std::vector<std::string> measured = left[i]->measure();
    std::string const result = fmt::format("{}", fmt::join(measured.begin(), measured.begin() + (measured.size() > 1 ? 2 : 1), " "));
    std::move(measured.begin(), measured.end(), std::back_inserter(row));
    into.add(std::move(row));
    weight_done += left[i]->weight;
    weight_left -= left[i]->weight;
    double const elapsed = std::chrono::duration<double>{clock::now() - begin}.count();
    fmt::print(stderr, "[{}/{}] {}: {}; {:.0f} s elapsed, about {:.0f} s left\n", known + i + 1, wanted.size(),
               fmt::join(left[i]->key, " "), result, elapsed, i + 1 == left.size() ? 0.0 : elapsed / weight_done * weight_left);
  }
}

}  // namespace trainer
