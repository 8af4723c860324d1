// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "own_memory.hpp"

// Further containers with the memory of `own_memory.hpp`. Separate, because each program with a session includes that header.

namespace profkit::detail {

template <class T>
using own_deque = std::deque<T, block_allocator<T>>;

template <class Key, class T, class Hash = std::hash<Key>>
using own_hash_map = std::unordered_map<Key, T, Hash, std::equal_to<Key>, block_allocator<std::pair<Key const, T>>>;

template <class Key, class T, class Hash = std::hash<Key>>
using own_hash_multimap = std::unordered_multimap<Key, T, Hash, std::equal_to<Key>, block_allocator<std::pair<Key const, T>>>;

template <class Key, class Hash = std::hash<Key>>
using own_hash_set = std::unordered_set<Key, Hash, std::equal_to<Key>, block_allocator<Key>>;

}  // namespace profkit::detail
