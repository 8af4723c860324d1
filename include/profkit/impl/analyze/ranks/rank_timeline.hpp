// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "../../../time.hpp"
#include "../../profile/own_memory.hpp"

namespace profkit {

/// @brief A duration charged to a path.
struct path_time {
  std::uint32_t path = 0;           ///< position in `rank_timeline::paths`
  std::chrono::nanoseconds time{};  ///< the duration
};

/// @brief The common properties of collectives of one communicator. Unknown texts are empty.
struct collective_kind {
  std::uint64_t communicator = 0;  ///< id, equal on all its ranks; 0: unknown
  std::string group;               ///< name of the communicator; may be empty
  std::string function;            ///< such as "AllReduce"
  std::string datatype;            ///< such as "f32"
  std::string algorithm;           ///< such as "RING"
  std::string protocol;            ///< such as "LL"
  bool is_host = false;            ///< timed on the host, not on a GPU
  std::uint32_t size = 0;          ///< number of ranks of the communicator; 0: unknown
  std::uint32_t rank = 0;          ///< rank of this process in the communicator
};

/// @brief One collective as one rank saw it.
struct timeline_collective {
  std::uint64_t step = 0;                ///< `step_record::index`
  std::uint64_t sequence = 0;            ///< number within communicator and function, the same on all ranks
  std::uint64_t bytes = 0;               ///< 0: unknown
  std::uint32_t kind = 0;                ///< position in `rank_timeline::kinds`
  std::uint32_t path = 0;                ///< the scope that issued it: position in `rank_timeline::paths`
  interval time;                         ///< on the GPU; on the host if `collective_kind::is_host`
  detail::own_vector<interval> exposed;  ///< the parts of `time` during which no other work of its step ran on the GPU; in time order

  // The activity of the rank since its previous collective in this step, or since the step began on its GPU.
  detail::own_vector<path_time> busy;  ///< GPU time by the scope that launched the operation; on the host: empty
  detail::own_vector<path_time> idle;  ///< GPU idle time by the scope open on the step thread; on the host: the time of the step thread
};

/// @brief One step as one rank saw it.
struct timeline_step {
  std::uint64_t index = 0;                   ///< `step_record::index`
  bool is_measured = true;                   ///< neither warm-up nor excluded
  interval host;                             ///< on the step thread
  timestamp begin{};                         ///< start of its first operation on the GPU; without one, its beginning on the host
  std::optional<timestamp> next_begin;       ///< `begin` of the next step; n/a for the last one
  timestamp end{};                           ///< end of its last operation on the GPU; without one, its end on the host
  std::chrono::nanoseconds compute{};        ///< length of the union of its operations that are not collectives
  std::chrono::nanoseconds communication{};  ///< length of the union of its collectives
  std::chrono::nanoseconds exposed{};        ///< the part of `communication` during which nothing else ran on the GPU
  detail::own_vector<path_time> stages;      ///< host time of each direct child of the step, by beginning
  detail::own_vector<path_time> gpu;         ///< GPU time by the scope that launched the operation; without collectives
  detail::own_vector<interval> computing;    ///< when operations other than collectives ran; neighbours are joined if there are many
};

/// @brief The data of one rank for the report of many ranks: steps and collectives with their times, bounded in size.
///
/// Beyond the bound, it keeps a sample of the steps. The sample depends on the indices of the steps, so all ranks keep the same steps.
struct rank_timeline {
  std::uint64_t stride = 1;                   ///< 1: all steps are kept; otherwise about 65,536 of so many: see `detail::last_stride_of`
  detail::own_vector<std::string> paths;      ///< such as "step/forward"; "" for code outside any scope
  detail::own_vector<collective_kind> kinds;  ///< table: kinds of collectives
  detail::own_vector<timeline_step> steps;    ///< in order of their indices
  detail::own_vector<timeline_collective> collectives;  ///< in order of their beginnings within a step
  std::uint64_t all_steps = 0;                          ///< number of steps, kept or not
  std::uint64_t all_collectives = 0;                    ///< number of collectives, kept or not
  std::uint64_t unknown_collectives = 0;                ///< number of NCCL kernels whose collective was not collected
  std::uint64_t graph_collectives = 0;                  ///< the part of `unknown_collectives` in CUDA graphs
  bool has_numbers = true;  ///< false: collectives are numbered by their order on the GPU, because NCCL's numbers were not collected
};

namespace detail {

/// The largest stride of a timeline that keeps a step: at least 65,536, and at least 131,072 for half of all steps. A larger stride keeps a
/// part of the steps of a smaller one. The bits of the index are mixed, so that programs with a period, such as a collective in every
/// fourth step, keep their share of steps. Step 0 is always kept, because its waits are those of the start.
[[nodiscard]] inline std::uint64_t last_stride_of(std::uint64_t index) noexcept {
  // The finalizer of MurmurHash3 by Austin Appleby, public domain.
  index = (index ^ (index >> 33U)) * 0xff51afd7ed558ccdU;
  index = (index ^ (index >> 33U)) * 0xc4ceb9fe1a85ec53U;
  index = (index ^ (index >> 33U)) >> 16U;
  constexpr std::uint64_t largest = ~std::uint64_t{0};
  return index == 0 ? largest : largest / index;
}

}  // namespace detail

}  // namespace profkit
