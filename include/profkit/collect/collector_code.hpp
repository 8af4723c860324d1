// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "../profile/code_elsewhere.hpp"
#include "collector.hpp"

namespace profkit {

struct host_sample_options;

namespace detail {

struct utilization_times;

/// Declares the implementation of collectors that take long to compile; `make_collectors.hpp` defines it. A template for the same reasons
/// as `report_code`.
template <class>
struct collector_code {
  static std::unique_ptr<collector> sample_host(host_sample_options const& wanted);
  static std::unique_ptr<collector> measure_utilization(utilization_times const& times);
};

#ifdef PROFKIT_CODE_ELSEWHERE
extern template struct collector_code<void>;
#endif

}  // namespace detail

}  // namespace profkit
