// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "../../profile/own_memory.hpp"
#include "rank_timeline.hpp"

namespace profkit::detail {

/// The name of a function in lower case and without prefixes: "allreduce" for "AllReduce", "all_reduce" and "MPI_Allreduce".
inline std::string plain_function(std::string_view name) {
  for (std::string_view const prefix : {"MPI_", "nccl", "gloo_"}) {
    if (name.substr(0, prefix.size()) == prefix) name.remove_prefix(prefix.size());
  }
  std::string result;
  for (char const c : name) {
    if (c >= 'A' && c <= 'Z') result += static_cast<char>(c - 'A' + 'a');
    if (c >= 'a' && c <= 'z') result += c;
  }
  return result;
}

/// Whether a kernel is one of NCCL's collectives. Send and receive kernels are not, because the ranks do not start them together.
inline bool is_collective_kernel(std::string_view name) {
  bool const is_of_nccl = name.substr(0, 13) == "ncclDevKernel" || name.substr(0, 10) == "ncclKernel";
  return is_of_nccl && name.find("SendRecv") == std::string_view::npos;
}

/// Reads the name of a kernel such as "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)". Source: NCCL, `src/device/generate.py`.
inline collective_kind kind_of_kernel(std::string_view name) {
  name = name.substr(0, name.find_first_of("(<"));
  own_vector<std::string_view> words;
  for (std::size_t at = name.find('_'); at != std::string_view::npos;) {
    std::size_t const next = name.find('_', at + 1);
    words.push_back(name.substr(at + 1, next == std::string_view::npos ? next : next - at - 1));
    at = next;
  }
  collective_kind result;
  if (!words.empty()) result.function = words.front();
  constexpr std::array<std::string_view, 9> algorithms{"RING", "TREE", "COLLNET", "NVLS", "PAT", "SYMK", "MC", "DIRECT", "CHAIN"};
  constexpr std::array<std::string_view, 3> protocols{"LL", "LL128", "SIMPLE"};
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::string_view const word = words[i];
    bool is_algorithm = false;
    for (std::string_view const each : algorithms) is_algorithm = is_algorithm || word == each;
    bool is_protocol = false;
    for (std::string_view const each : protocols) is_protocol = is_protocol || word == each;
    if (is_algorithm) result.algorithm = word;
    if (is_protocol) result.protocol = word;
    if (!is_algorithm && !is_protocol && !word.empty() && (word.front() == 'f' || word.front() == 'b' || word.front() == 'u'))
      result.datatype = word;
  }
  return result;
}

}  // namespace profkit::detail
