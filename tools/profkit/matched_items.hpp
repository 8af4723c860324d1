// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "run_figures.hpp"

namespace profkit_program::detail {

/// Matches items of runs by key, in the order of their first appearance. Items that only B has follow their predecessors in B.
template <class Item, class KeyOf, class ListOf>
class matched_items {
 public:
  matched_items(std::vector<run_figures> const& a, std::vector<run_figures> const& b, KeyOf key_of, ListOf list_of)
      : key_of_{key_of}, list_of_{list_of}, runs_{a.size() + b.size()} {
    std::size_t run = 0;
    for (auto const* const side : {&a, &b}) {
      for (run_figures const& each : *side) add(each, run++);
    }
    // Stable: items with the same place keep their order.
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t x, std::size_t y) { return place_[x] < place_[y]; });
  }

  /// Calls a function with the items of each run; null if a run does not have the item.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t const which : order_) visit(items_[which]);
  }

 private:
  void add(run_figures const& run, std::size_t number) {
    double place = -1.0;
    for (Item const& item : list_of_(run)) {
      auto const [known_item, is_new] = at_.try_emplace(key_of_(item), items_.size());
      if (is_new) {
        items_.emplace_back(runs_, nullptr);
        place = number == 0 ? place + 1.0 : place + 1e-9;
        place_.push_back(place);
        order_.push_back(known_item->second);
      }
      items_[known_item->second][number] = &item;
      place = place_[known_item->second];
    }
  }

  KeyOf key_of_;
  ListOf list_of_;
  std::size_t runs_;
  std::unordered_map<std::string, std::size_t> at_;
  std::vector<std::vector<Item const*>> items_;
  std::vector<double> place_;
  std::vector<std::size_t> order_;
};

}  // namespace profkit_program::detail
