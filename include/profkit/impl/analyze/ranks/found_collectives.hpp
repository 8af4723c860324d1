// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "../../../profile.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/own_containers.hpp"
#include "../../profile/own_memory.hpp"
#include "../../profile/own_sort.hpp"
#include "../gpu/attribution.hpp"
#include "../gpu/counted_operations.hpp"
#include "timeline_part.hpp"

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

/// A collective in a window.
struct found_collective {
  interval time;
  timestamp issued{};  ///< time of the call on the host
  std::uint64_t sequence = 0;
  std::uint64_t bytes = 0;
  std::uint32_t kind = 0;                  ///< position in `found_collectives::kinds`
  std::uint32_t path = attribution::none;  ///< the scope that issued it
  bool is_unknown = false;                 ///< an NCCL kernel whose collective was not collected, for example in a CUDA graph
  bool is_in_graph = false;                ///< an unknown collective in a CUDA graph
};

/// The collectives of a window, in the order of their beginnings. A collective of NCCL has the time of its kernel. If NCCL's collectives
/// were not collected, its kernels are numbered in the order of their starts.
struct found_collectives {
  own_vector<found_collective> all;
  own_vector<collective_kind> kinds;
  bool has_numbers = true;
  own_vector<interval> on_host;  ///< collectives timed on the host

  /// @param operations all operations of the window; null if kernels were not collected.
  found_collectives(profile const& records, attribution const& launched, counted_operations const* operations) {
    for (std::uint32_t i = 0; i < records.collectives.size(); ++i) {
      collective_record const& each = records.collectives[i];
      if (each.correlation != 0) {
        auto const [at, is_new] = by_correlation_.try_emplace(each.correlation, issued{i, 0});
        at->second.bytes += each.bytes;
      } else if (!each.is_captured && each.time.begin < each.time.end) {
        all.push_back({each.time, each.time.begin, each.sequence, each.bytes, kind_of(records, each, true), each.path});
        on_host.push_back(each.time);
      }
    }
    if (operations != nullptr) add_kernels(records, launched, *operations);
    auto const is_earlier = [](found_collective const& a, found_collective const& b) { return a.time.begin < b.time.begin; };
    own_stable_sort(all.begin(), all.end(), is_earlier);
  }

  /// @param operation position in `profile::gpu_operations`.
  [[nodiscard]] bool is_collective(std::uint32_t operation) const { return operation < is_collective_.size() && is_collective_[operation]; }

 private:
  /// Collectives launched by one call. They share a kernel, and the first one represents all.
  struct issued {
    std::uint32_t first = 0;  ///< position in `profile::collectives`
    std::uint64_t bytes = 0;  ///< sum over the collectives
  };

  void add_kernels(profile const& records, attribution const& launched, counted_operations const& operations) {
    own_vector<bool> is_kernel(records.gpu_names.size());
    bool has_any = !by_correlation_.empty();
    for (std::size_t i = 0; i < records.gpu_names.size(); ++i) {
      is_kernel[i] = is_collective_kernel(records.gpu_names[i].name);
      has_any = has_any || is_kernel[i];
    }
    if (!has_any) return;
    bool const were_collected = !records.communicators.empty();
    own_vector<std::uint32_t> kind_of_name(records.gpu_names.size(), attribution::none);
    is_collective_.resize(records.gpu_operations.size());
    for (timed_operation const& each : operations.all()) {
      auto const known = by_correlation_.find(records.gpu_operations[each.record].correlation);
      bool const is_known = known != by_correlation_.end();
      if (!is_known && !is_kernel[each.name]) continue;
      is_collective_[each.record] = true;
      found_collective next{each.time, launch_moment(records, launched, each.record), 0, 0, 0, each.path};
      if (is_known) {
        collective_record const& record = records.collectives[known->second.first];
        next.sequence = record.sequence;
        next.bytes = known->second.bytes;
        next.kind = kind_of(records, record, false);
        if (next.path == attribution::none) next.path = record.path;
      } else if (were_collected) {
        next.is_unknown = true;
        next.is_in_graph = records.gpu_operations[each.record].graph_node != 0;
      } else {
        has_numbers = false;
        std::uint32_t& kind = kind_of_name[each.name];
        if (kind == attribution::none) kind = find_or_add(kinds, known_kinds_, kind_of_kernel(records.gpu_names[each.name].name));
        next.kind = kind;
      }
      all.push_back(next);
    }
  }

  /// Compares names only for the first of the collectives that have the same positions in the tables.
  std::uint32_t kind_of(profile const& records, collective_record const& collective, bool is_host) {
    table_positions const positions{collective.communicator, collective.function, collective.datatype,
                                    collective.algorithm,    collective.protocol, is_host};
    auto const known = kind_at_.find(positions);
    if (known != kind_at_.end()) return known->second;
    return kind_at_[positions] = find_or_add(kinds, known_kinds_, made_kind(records, collective, is_host));
  }

  static collective_kind made_kind(profile const& records, collective_record const& collective, bool is_host) {
    auto const word = [&](std::uint32_t position) { return records.collective_words[position]; };
    communicator_record const& group = records.communicators[collective.communicator];
    return {group.id,
            group.name,
            word(collective.function),
            word(collective.datatype),
            word(collective.algorithm),
            word(collective.protocol),
            is_host,
            group.size,
            group.rank};
  }

  /// Communicator, function, data type, algorithm, protocol, and whether it is timed on the host.
  using table_positions = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, bool>;

  own_hash_map<std::uint64_t, issued> by_correlation_;
  own_vector<bool> is_collective_;  ///< by GPU operation
  kind_index known_kinds_;          ///< of `kinds`
  std::map<table_positions, std::uint32_t> kind_at_;
};

}  // namespace profkit::detail
