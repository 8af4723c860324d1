// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
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
  std::uint32_t capture_group = 0;           ///< number of its communicator and function among those in CUDA graphs
  std::uint32_t capture_order = 0;           ///< its position among those of its group in the graph, in the order of their capture
  std::uint32_t record = attribution::none;  ///< position in `profile::collectives` if it is timed on the host, or a message
};

/// A number for a collective of a replayed graph. NCCL numbers only the captured call, but ranks capture and replay in the same order.
/// @param step index of the step.
/// @param replay number of the replay in the step.
/// @param order see `found_collective::capture_order`.
inline std::uint64_t number_of_replayed(std::uint64_t step, std::uint64_t replay, std::uint32_t order) {
  constexpr std::uint64_t of_graphs = std::uint64_t{1} << 63U;  // no number of NCCL is so large
  return of_graphs | (step & 0x7fffffffU) << 32U | (replay & 0xfffU) << 20U | (order & 0xfffffU);
}

/// The kernels of NCCL in CUDA graphs, and the communicator of each.
///
/// NCCL reports a collective once, at its capture. A kernel belongs to the communicator whose collectives with its function were captured
/// in its scope. If none were seen there, or those of several communicators, it can belong to each of these, or to any. Then the order of
/// none of them is known, and all their kernels with this function stay unknown, so that no kernel is matched with a wrong one.
class replayed_kernels {
 public:
  /// @param records borrowed, like `groups`.
  /// @param groups the communicators on the device.
  replayed_kernels(profile const& records, own_vector<std::uint32_t> const& groups) : records_{records}, groups_{groups} {
    if (groups.size() < 2) return;
    paths_ = captured_paths(records);
    for (collective_record const& each : records.collectives) {
      if (!each.is_captured) continue;
      own_vector<std::uint32_t>& in_scope = captured_[{each.path, records.collective_words[each.function]}];
      if (std::find(in_scope.begin(), in_scope.end(), each.communicator) == in_scope.end()) in_scope.push_back(each.communicator);
    }
  }

  void add(std::size_t at, std::uint64_t node, collective_kind kind) {
    own_vector<std::uint32_t> const& communicators = communicators_of(node, kind.function);
    if (communicators.size() > 1) {
      for (std::uint32_t const each : communicators) doubtful_.emplace(each, kind.function);
      return;
    }
    communicator_record const& group = records_.communicators[communicators.front()];
    kind.communicator = group.id;
    kind.group = group.name;
    kind.size = group.size;
    kind.rank = group.rank;
    nodes_[{communicators.front(), kind.function}].emplace(node, 0);
    known_.push_back({at, node, communicators.front(), std::move(kind)});
  }

  /// @param visit called with position, node, kind, group and position in the group (`found_collective`) of each known kernel.
  template <class Visit>
  void for_each_known(Visit const& visit) {
    std::uint32_t number = 0;
    std::map<group_key, std::uint32_t> numbers;
    // CUPTI numbers the nodes of a graph in the order of their capture, and has the graph in the upper half of the number.
    for (auto& [group, order] : nodes_) {
      numbers[group] = number++;
      std::uint64_t graph = 0;
      std::uint32_t next = 0;
      for (auto& [node, position] : order) {
        if (std::exchange(graph, node >> 32U) != node >> 32U) next = 0;
        position = next++;
      }
    }
    for (kernel const& each : known_) {
      group_key const group{each.communicator, each.kind.function};
      if (doubtful_.count(group) == 0) visit(each.at, each.node, each.kind, numbers[group], nodes_[group][each.node]);
    }
  }

 private:
  using group_key = std::pair<std::uint32_t, std::string>;  ///< position of the communicator, and the function
  struct kernel {
    std::size_t at = 0;
    std::uint64_t node = 0;
    std::uint32_t communicator = 0;
    collective_kind kind;
  };

  [[nodiscard]] own_vector<std::uint32_t> const& communicators_of(std::uint64_t node, std::string const& function) const {
    auto const path = paths_.find(node);
    auto const found = path == paths_.end() ? captured_.end() : captured_.find({path->second, function});
    return found == captured_.end() ? groups_ : found->second;
  }

  profile const& records_;
  own_vector<std::uint32_t> const& groups_;
  own_hash_map<std::uint64_t, std::uint32_t> paths_;
  std::map<std::pair<std::uint32_t, std::string>, own_vector<std::uint32_t>> captured_;  ///< by path and function: communicators
  std::map<group_key, std::map<std::uint64_t, std::uint32_t>> nodes_;                    ///< position of each node
  std::set<group_key> doubtful_;
  own_vector<kernel> known_;
};

/// The collectives of a window, in the order of their beginnings. A collective of NCCL has the time of its kernel. If NCCL's collectives
/// were not collected, its kernels are numbered in the order of their starts. For kernels in CUDA graphs see `replayed_kernels`.
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
        issued& by_call = by_correlation_[each.correlation];
        if (each.side != message_side::none) {
          by_call.messages.push_back(i);
          continue;
        }
        if (by_call.first == attribution::none) by_call.first = i;
        by_call.bytes += each.bytes;
      } else if (is_timed_on_host(each)) {
        all.push_back({each.time, each.time.begin, each.sequence, each.bytes, kind_of(records, each, true), each.path});
        all.back().record = i;
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
  /// Collectives and messages launched by one call. They share a kernel, and the first collective represents all.
  struct issued {
    std::uint32_t first = attribution::none;  ///< position in `profile::collectives`
    std::uint64_t bytes = 0;                  ///< sum over the collectives
    own_vector<std::uint32_t> messages{};     ///< positions in `profile::collectives`
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
    replayed_kernels replayed{records, groups};
    own_vector<std::uint32_t> kind_of_name(records.gpu_names.size(), attribution::none);
    is_collective_.resize(records.gpu_operations.size());
    for (timed_operation const& each : operations.all()) {
      auto const known = by_correlation_.find(records.gpu_operations[each.record].correlation);
      bool const is_known = known != by_correlation_.end();
      if (!is_known && !is_kernel[each.name]) continue;
      is_collective_[each.record] = true;
      found_collective next{each.time, launch_moment(records, launched, each.record), 0, 0, 0, each.path};
      for (std::size_t i = 0; is_known && i < known->second.messages.size(); ++i) {
        std::uint32_t const at = known->second.messages[i];
        collective_record const& record = records.collectives[at];
        next.path = each.path == attribution::none ? record.path : each.path;
        all.push_back({next.time, next.issued, record.sequence, record.bytes, kind_of(records, record, false), next.path});
        all.back().record = at;
      }
      if (is_known && known->second.first == attribution::none) continue;
      if (is_known) {
        collective_record const& record = records.collectives[known->second.first];
        next.sequence = record.sequence;
        next.bytes = known->second.bytes;
        next.kind = kind_of(records, record, false);
        if (next.path == attribution::none) next.path = record.path;
      } else {
        std::uint64_t const node = records.gpu_operations[each.record].graph_node;
        next.is_unknown = were_collected;
        next.is_in_graph = were_collected && node != 0;
        if (next.is_in_graph) replayed.add(all.size(), node, detail::kind_of_kernel(records.gpu_names[each.name].name));
        if (!were_collected) {
          has_numbers = false;
          std::uint32_t& kind = kind_of_name[each.name];
          if (kind == attribution::none) kind = find_or_add(kinds, known_kinds_, detail::kind_of_kernel(records.gpu_names[each.name].name));
          next.kind = kind;
        }
      }
      all.push_back(next);
    }
    replayed.for_each_known([&](std::size_t at, std::uint64_t node, collective_kind const& kind, std::uint32_t group, std::uint32_t order) {
      found_collective& known = all[at];
      known.is_unknown = known.is_in_graph = false;
      known.graph_node = node;
      known.capture_group = group;
      known.capture_order = order;
      known.kind = find_or_add(kinds, known_kinds_, kind);
    });
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
            collective.side == message_side::none ? word(collective.function) : "message",
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
