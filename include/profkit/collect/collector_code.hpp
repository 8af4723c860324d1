// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "../profile/code_elsewhere.hpp"
#include "collector.hpp"

namespace profkit {

struct host_sample_options;
struct memory_reading;

namespace detail {

struct utilization_times;

/// Declares the implementation of collectors that take long to compile; `make_collectors.hpp` defines it. A template for the same reasons
/// as `report_code`.
template <class>
struct collector_code {
  static std::unique_ptr<collector> sample_host(host_sample_options const& wanted);
  static std::unique_ptr<collector> measure_utilization(utilization_times const& times);
  static std::vector<memory_reading> read_host_memory();
  /// @return 0 if the file cannot be read. Keeps the file open.
  static std::uint64_t resident_bytes() noexcept;
};

#ifdef PROFKIT_CODE_ELSEWHERE
extern template struct collector_code<void>;
#endif

}  // namespace detail

}  // namespace profkit
