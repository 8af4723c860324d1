// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <iterator>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "own_memory.hpp"

// Further containers with the memory of `own_memory.hpp`. Separate, because each program with a session includes that header.

namespace PROFKIT_NAMESPACE::detail {

template <class T>
using own_deque = std::deque<T, block_allocator<T>>;

template <class Key, class T, class Hash = std::hash<Key>>
using own_hash_map = std::unordered_map<Key, T, Hash, std::equal_to<Key>, block_allocator<std::pair<Key const, T>>>;

template <class Key, class T, class Hash = std::hash<Key>>
using own_hash_multimap = std::unordered_multimap<Key, T, Hash, std::equal_to<Key>, block_allocator<std::pair<Key const, T>>>;

template <class Key, class Hash = std::hash<Key>>
using own_hash_set = std::unordered_set<Key, Hash, std::equal_to<Key>, block_allocator<Key>>;

// The algorithms of the standard library that allocate a buffer, with a buffer that is not from the heap of the program if it is large.

/// `std::inplace_merge`
/// @param buffer is overwritten; to be reused for further calls.
template <class Iterator, class Less>
void own_inplace_merge(Iterator first, Iterator middle, Iterator last, Less const& less,
                       own_vector<typename std::iterator_traits<Iterator>::value_type>& buffer) {
  if (first == middle || middle == last || !less(*middle, *std::prev(middle))) return;
  buffer.assign(std::make_move_iterator(first), std::make_move_iterator(middle));
  auto left = buffer.begin();
  for (Iterator to = first; left != buffer.end(); ++to) {
    if (middle != last && less(*middle, *left)) {
      *to = std::move(*middle++);
    } else {
      *to = std::move(*left++);
    }
  }
}

/// `std::stable_sort`, in much less code, because many types are sorted.
template <class Iterator, class Less = std::less<>>
void own_stable_sort(Iterator first, Iterator last, Less const& less = {}) {
  using distance = typename std::iterator_traits<Iterator>::difference_type;
  constexpr distance run = 8;
  distance const size = last - first;
  for (distance i = 1; i < size; ++i) {
    auto next = std::move(first[i]);
    distance to = i;
    for (; to % run != 0 && less(next, first[to - 1]); --to) first[to] = std::move(first[to - 1]);
    first[to] = std::move(next);
  }
  own_vector<typename std::iterator_traits<Iterator>::value_type> buffer;
  for (distance width = run; width < size; width *= 2) {
    for (distance i = 0; i + width < size; i += 2 * width)
      own_inplace_merge(first + i, first + i + width, first + (std::min)(i + 2 * width, size), less, buffer);
  }
}

/// `std::stable_partition`
template <class Iterator, class Predicate>
Iterator own_stable_partition(Iterator first, Iterator last, Predicate const& is_first) {
  own_vector<typename std::iterator_traits<Iterator>::value_type> others;
  Iterator to = first;
  for (Iterator at = first; at != last; ++at) {
    if (!is_first(*at)) {
      others.push_back(std::move(*at));
    } else if (to != at) {
      *to++ = std::move(*at);
    } else {
      ++to;
    }
  }
  std::move(others.begin(), others.end(), to);
  return to;
}

}  // namespace PROFKIT_NAMESPACE::detail
