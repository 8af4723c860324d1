// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "../../profile/own_memory.hpp"

namespace profkit::detail {

/// The kind of a CUDA runtime or driver call, as far as it determines causes of GPU idle time.
enum class api_call_kind : std::uint8_t {
  other = 0,
  launch = 1,           ///< enqueues a kernel, a graph or a host function
  copy = 2,             ///< enqueues a copy or a memset, or waits until it is done
  synchronisation = 3,  ///< waits for the device
};

/// @param name as CUPTI reports it, such as "cudaLaunchKernel_v7000" or "cuMemcpyHtoDAsync_v2".
inline api_call_kind kind_of_api_call(std::string_view name) {
  for (std::string_view const prefix : {"cuda", "cu"}) {
    if (name.substr(0, prefix.size()) != prefix) continue;
    std::string_view const rest = name.substr(prefix.size());
    auto const begins_with = [&](std::string_view word) { return rest.substr(0, word.size()) == word; };
    if (begins_with("Launch") || begins_with("GraphLaunch")) return api_call_kind::launch;
    if (begins_with("Memcpy") || begins_with("Memset")) return api_call_kind::copy;
    if (rest.find("Synchronize") != std::string_view::npos) return api_call_kind::synchronisation;
    return api_call_kind::other;
  }
  return api_call_kind::other;
}

/// For each name: whether its calls enqueue work.
inline own_vector<bool> are_launching(own_vector<std::string> const& names) {
  own_vector<bool> result;
  for (std::string const& name : names) {
    api_call_kind const kind = kind_of_api_call(name);
    result.push_back(kind == api_call_kind::launch || kind == api_call_kind::copy);
  }
  return result;
}

}  // namespace profkit::detail
