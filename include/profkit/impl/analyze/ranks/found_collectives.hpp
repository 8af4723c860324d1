// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "../../../profile.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/own_containers.hpp"
#include "../../profile/own_memory.hpp"
#include "../gpu/attribution.hpp"
#include "../gpu/counted_operations.hpp"
#include "timeline_part.hpp"

namespace PROFKIT_NAMESPACE::detail {

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
  std::uint32_t kind = 0;                    ///< position in `found_collectives::kinds`
  std::uint32_t path = attribution::none;    ///< the scope that issued it
  bool is_unknown = false;                   ///< an NCCL kernel whose collective was not collected, for example in a CUDA graph
  bool is_in_graph = false;                  ///< an unknown collective in a CUDA graph
  std::uint64_t graph_node = 0;              ///< a known collective in a CUDA graph: see `gpu_operation_record::graph_node`
  std::uint32_t capture_order = 0;           ///< its position among the NCCL kernels of the graph, in the order of their capture
  std::uint32_t record = attribution::none;  ///< position in `profile::collectives` if it is timed on the host
};

/// A number for a collective of a replayed graph. NCCL numbers only the captured call, but ranks capture and replay in the same order.
/// @param step index of the step.
/// @param replay number of the replay in the step.
/// @param order see `found_collective::capture_order`.
inline std::uint64_t number_of_replayed(std::uint64_t step, std::uint64_t replay, std::uint32_t order) {
  constexpr std::uint64_t of_graphs = std::uint64_t{1} << 63U;  // no number of NCCL is so large
  return of_graphs | (step & 0x7fffffffU) << 32U | (replay & 0xfffU) << 20U | (order & 0xfffffU);
}

/// The collectives of a window, in the order of their beginnings. A collective of NCCL has the time of its kernel. If NCCL's collectives
/// were not collected, its kernels are numbered in the order of their starts. Kernels in CUDA graphs are known if the device has one
/// communicator.
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
      } else if (is_timed_on_host(each)) {
        all.push_back(
            {each.time, each.time.begin, each.sequence, each.bytes, kind_of(records, each, true), each.path, false, false, 0, 0, i});
        on_host.push_back(each.time);
      }
    }
    if (operations != nullptr) add_kernels(records, launched, *operations);
    order_by_capture();
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
    own_vector<std::uint32_t> const groups = communicators_on_device(records);
    bool const were_collected = !groups.empty();
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
      } else {
        std::uint64_t const node = records.gpu_operations[each.record].graph_node;
        bool const is_replayed = node != 0 && groups.size() == 1;
        next.is_unknown = were_collected && !is_replayed;
        next.is_in_graph = next.is_unknown && node != 0;
        if (!next.is_unknown) {
          has_numbers = has_numbers && were_collected;
          if (were_collected) next.graph_node = node;
          std::uint32_t& kind = kind_of_name[each.name];
          if (kind == attribution::none) kind = find_or_add(kinds, known_kinds_, kind_of_kernel(records, each.name, groups));
          next.kind = kind;
        }
      }
      all.push_back(next);
    }
  }

  /// CUPTI numbers the nodes of a graph in the order of their capture, and has the graph in the upper half of the number.
  void order_by_capture() {
    std::map<std::uint64_t, std::uint32_t> order;
    for (found_collective const& each : all) {
      if (each.graph_node != 0) order.emplace(each.graph_node, 0);
    }
    std::uint64_t graph = 0;
    std::uint32_t next = 0;
    for (auto& [node, position] : order) {
      if (std::exchange(graph, node >> 32U) != node >> 32U) next = 0;
      position = next++;
    }
    for (found_collective& each : all) {
      if (each.graph_node != 0) each.capture_order = order[each.graph_node];
    }
  }

  static bool is_timed_on_host(collective_record const& each) noexcept {
    return each.correlation == 0 && !each.is_captured && (each.time.begin < each.time.end || each.side != message_side::none);
  }

  /// The communicators without a collective that is timed on the host, such as those of NCCL beside those of MPI.
  static own_vector<std::uint32_t> communicators_on_device(profile const& records) {
    own_vector<bool> is_of_host(records.communicators.size());
    for (collective_record const& each : records.collectives) {
      if (is_timed_on_host(each)) is_of_host[each.communicator] = true;
    }
    own_vector<std::uint32_t> result;
    for (std::uint32_t i = 0; i < is_of_host.size(); ++i) {
      if (!is_of_host[i]) result.push_back(i);
    }
    return result;
  }

  /// The kind of a kernel without a collective, of the only communicator if there is one.
  static collective_kind kind_of_kernel(profile const& records, std::uint32_t name, own_vector<std::uint32_t> const& groups) {
    collective_kind result = detail::kind_of_kernel(records.gpu_names[name].name);
    if (groups.empty()) return result;
    communicator_record const& group = records.communicators[groups.front()];
    result.communicator = group.id;
    result.group = group.name;
    result.size = group.size;
    result.rank = group.rank;
    return result;
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

}  // namespace PROFKIT_NAMESPACE::detail
