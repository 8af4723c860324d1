// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <utility>

#include "own_memory.hpp"

// The algorithms of the standard library that allocate a buffer, with a buffer that is not from the heap of the program if it is large.

namespace profkit::detail {

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

/// `std::stable_sort`
template <class Iterator, class Less = std::less<>>
void own_stable_sort(Iterator first, Iterator last, Less const& less = {}) {
  using value = typename std::iterator_traits<Iterator>::value_type;
  using distance = typename std::iterator_traits<Iterator>::difference_type;
  constexpr std::size_t bytes = sizeof(value);  // NOLINT(bugprone-sizeof-expression): also of pointers
  constexpr distance piece = bytes < min_mapped_bytes / 2 ? (min_mapped_bytes - 1) / bytes : 1;
  distance const size = last - first;
  for (distance i = 0; i < size; i += piece) std::stable_sort(first + i, first + std::min(i + piece, size), less);
  own_vector<value> buffer;
  for (distance width = piece; width < size; width *= 2) {
    for (distance i = 0; i + width < size; i += 2 * width)
      own_inplace_merge(first + i, first + i + width, first + std::min(i + 2 * width, size), less, buffer);
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

}  // namespace profkit::detail
