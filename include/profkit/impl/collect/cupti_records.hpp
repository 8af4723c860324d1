// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "../../profile.hpp"
#include "../../time.hpp"
#include "../profile/own_containers.hpp"
#include "cupti_library.hpp"
#include "function_names.hpp"

namespace profkit::detail {

/// `_Z3fooi` -> "foo(int)"; other names are returned unchanged.
inline std::string demangle(char const* mangled) { return demangled_by_runtime(mangled).value_or(mangled); }

/// The content of some buffers. `name` of a record is a number of `cupti_record_reader`, not a position in the profile. Correlations have
/// 32 bits.
struct cupti_batch {
  own_vector<gpu_name_record> new_gpu_names;  ///< in the order of their numbers
  own_vector<std::string> new_api_names;
  own_vector<gpu_operation_record> operations;  ///< times are from CLOCK_REALTIME, here and in `calls`
  own_vector<api_call_record> calls;            ///< `thread` is the system thread number
  std::uint64_t invalid = 0;                    ///< number of records without valid times

  /// Clears all members. Keeps the memory for the records of some buffers, because page faults would cost more than reading the records.
  void clear() {
    auto const clear_list = [](auto& list) {
      constexpr std::size_t max_kept_bytes = std::size_t{8} << 20U;
      if (list.capacity() * sizeof list[0] > max_kept_bytes) {
        list = std::decay_t<decltype(list)>();
      } else {
        list.clear();
      }
    };
    new_gpu_names.clear();
    new_api_names.clear();
    clear_list(operations);
    clear_list(calls);
    invalid = 0;
  }
};

/// Converts CUPTI activity records to profkit records. Not thread-safe.
class cupti_record_reader {
 public:
  explicit cupti_record_reader(cupti_library const& cupti) : cupti_{cupti} {}

  /// @return false if the buffer could not be read to its end.
  bool read(std::uint8_t* bytes, std::size_t used_bytes, cupti_batch& into) {
    CUpti_Activity* record = nullptr;
    CUptiResult status = CUPTI_SUCCESS;
    while ((status = cupti_.get_next_record(bytes, used_bytes, &record)) == CUPTI_SUCCESS) read(*record, into);
    return status == CUPTI_ERROR_MAX_LIMIT_REACHED || status == CUPTI_ERROR_INVALID_KIND;  // the end of the buffer, or unwritten memory
  }

 private:
  // The oldest layout of each record that contains the graph node; newer layouts only append.
  void read(CUpti_Activity const& record, cupti_batch& into) {
    switch (record.kind) {
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
        auto const& kernel = reinterpret_cast<CUpti_ActivityKernel5 const&>(record);
        gpu_operation_record operation;
        if (!has_time(kernel, operation, into)) return;
        operation.name = number_of_kernel(kernel.name, into);
        operation.grid = {static_cast<std::uint32_t>(kernel.gridX), static_cast<std::uint32_t>(kernel.gridY),
                          static_cast<std::uint32_t>(kernel.gridZ)};
        operation.block = {static_cast<std::uint32_t>(kernel.blockX), static_cast<std::uint32_t>(kernel.blockY),
                           static_cast<std::uint32_t>(kernel.blockZ)};
        into.operations.push_back(operation);
        return;
      }
      case CUPTI_ACTIVITY_KIND_MEMCPY: {
        auto const& copy = reinterpret_cast<CUpti_ActivityMemcpy3 const&>(record);
        add_copy(copy, into);
        return;
      }
      case CUPTI_ACTIVITY_KIND_MEMCPY2: {
        auto const& copy = reinterpret_cast<CUpti_ActivityMemcpyPtoP2 const&>(record);
        add_copy(copy, into);
        return;
      }
      case CUPTI_ACTIVITY_KIND_MEMSET: {
        auto const& set = reinterpret_cast<CUpti_ActivityMemset2 const&>(record);
        gpu_operation_record operation;
        if (!has_time(set, operation, into)) return;
        operation.kind = gpu_operation_kind::set;
        operation.bytes = set.bytes;
        operation.name = number_of(
            "[CUDA memset]",
            [](char const* name) {
              return gpu_name_record{name, {}};
            },
            into);
        into.operations.push_back(operation);
        return;
      }
      case CUPTI_ACTIVITY_KIND_RUNTIME:
        return add_call(record, CUPTI_CB_DOMAIN_RUNTIME_API, into);
      case CUPTI_ACTIVITY_KIND_DRIVER:
        return add_call(record, CUPTI_CB_DOMAIN_DRIVER_API, into);
      default:
        return;
    }
  }

  static timestamp time_of(std::uint64_t ns) { return timestamp{std::chrono::nanoseconds{static_cast<std::int64_t>(ns)}}; }

  template <class Record>
  static bool has_time(Record const& record, cupti_batch& into) {
    // Within 146 years after 1970, so that differences do not overflow. `cupti_placement` knows which of these times are possible. An
    // operation may end before it begins if CLOCK_REALTIME is set back.
    constexpr std::uint64_t latest = std::uint64_t{1} << 62U;
    bool const has_time = record.start != 0 && record.end != 0 && record.start < latest && record.end < latest;
    if (!has_time) ++into.invalid;
    return has_time;
  }

  template <class Record>
  bool has_time(Record const& record, gpu_operation_record& operation, cupti_batch& into) {
    if (!has_time(record, into)) return false;
    operation.time = {time_of(record.start), time_of(record.end)};
    operation.correlation = record.correlationId;
    operation.graph_node = record.graphNodeId;
    operation.device = static_cast<std::int32_t>(record.deviceId);
    operation.stream = record.streamId;
    return true;
  }

  template <class Record>
  void add_copy(Record const& copy, cupti_batch& into) {
    gpu_operation_record operation;
    if (!has_time(copy, operation, into)) return;
    operation.kind = gpu_operation_kind::copy;
    operation.bytes = copy.bytes;
    operation.name = number_of_copy(direction_of(copy.copyKind), into);
    into.operations.push_back(operation);
  }

  void add_call(CUpti_Activity const& record, CUpti_CallbackDomain domain, cupti_batch& into) {
    auto const& call = reinterpret_cast<CUpti_ActivityAPI const&>(record);
    if (!has_time(call, into)) return;
    into.calls.push_back(
        {{time_of(call.start), time_of(call.end)}, call.correlationId, number_of_call(domain, call.cbid, into), call.threadId});
  }

  /// The number of a text. Tries the entry with the same address first and compares the text, because CUPTI may free a text together with
  /// its module.
  /// @param describe creates the entry of a new text.
  template <class Describe>
  std::uint32_t number_of(char const* text, Describe&& describe, cupti_batch& into) {
    std::uint32_t& recent = recent_[(reinterpret_cast<std::uintptr_t>(text) * std::uint64_t{0x9e3779b97f4a7c15}) >> (64U - recent_bits)];
    if (recent < texts_.size() && std::strcmp(texts_[recent]->c_str(), text) == 0) return recent;
    auto const [known, is_new] = numbers_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
    if (is_new) {
      texts_.push_back(&known->first);
      into.new_gpu_names.push_back(describe(text));
    }
    return recent = known->second;
  }

  std::uint32_t number_of_kernel(char const* mangled, cupti_batch& into) {
    auto const describe = [](char const* text) {
      std::string name = demangle(text);
      std::string const kept = name == text ? "" : text;
      return gpu_name_record{std::move(name), kept};
    };
    return number_of(mangled == nullptr ? "unknown kernel" : mangled, describe, into);
  }

  static copy_direction direction_of(std::uint8_t kind) {
    return kind < copy_directions ? static_cast<copy_direction>(kind) : copy_direction::unknown;
  }

  std::uint32_t number_of_copy(copy_direction direction, cupti_batch& into) {
    auto const describe = [direction](char const* name) { return gpu_name_record{name, {}, direction}; };
    return number_of(copy_names[static_cast<std::size_t>(direction)], describe, into);
  }

  std::uint32_t number_of_call(CUpti_CallbackDomain domain, CUpti_CallbackId id, cupti_batch& into) {
    std::uint64_t const key = (static_cast<std::uint64_t>(domain) << 32U) | id;
    auto const [known, is_new] = calls_.try_emplace(key, static_cast<std::uint32_t>(calls_.size()));
    if (is_new) {
      char const* name = nullptr;
      bool const has_name = cupti_.get_callback_name(domain, id, &name) == CUPTI_SUCCESS && name != nullptr;
      into.new_api_names.push_back(has_name ? name : "API call " + std::to_string(id));
    }
    return known->second;
  }

  static_assert(static_cast<int>(copy_direction::host_to_device) == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD &&
                static_cast<int>(copy_direction::device_to_host) == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH &&
                static_cast<int>(copy_direction::host_to_array) == CUPTI_ACTIVITY_MEMCPY_KIND_HTOA &&
                static_cast<int>(copy_direction::array_to_host) == CUPTI_ACTIVITY_MEMCPY_KIND_ATOH &&
                static_cast<int>(copy_direction::array_to_array) == CUPTI_ACTIVITY_MEMCPY_KIND_ATOA &&
                static_cast<int>(copy_direction::array_to_device) == CUPTI_ACTIVITY_MEMCPY_KIND_ATOD &&
                static_cast<int>(copy_direction::device_to_array) == CUPTI_ACTIVITY_MEMCPY_KIND_DTOA &&
                static_cast<int>(copy_direction::device_to_device) == CUPTI_ACTIVITY_MEMCPY_KIND_DTOD &&
                static_cast<int>(copy_direction::host_to_host) == CUPTI_ACTIVITY_MEMCPY_KIND_HTOH &&
                static_cast<int>(copy_direction::peer_to_peer) == CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
  static constexpr unsigned recent_bits = 10;

  cupti_library const& cupti_;
  own_hash_map<std::string, std::uint32_t> numbers_;          ///< by text: mangled names of kernels, names of copies and memsets
  own_vector<std::string const*> texts_;                      ///< keys of `numbers_`, by number
  std::uint32_t recent_[std::size_t{1} << recent_bits] = {};  ///< by address of the text
  own_hash_map<std::uint64_t, std::uint32_t> calls_;
};

}  // namespace profkit::detail
