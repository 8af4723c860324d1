// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "collector_code.hpp"
#include "host_sampling.hpp"
#include "utilization_measurement.hpp"

namespace profkit::detail {

template <class Unused>
std::unique_ptr<collector> collector_code<Unused>::sample_host(host_sample_options const& wanted) {
  return std::make_unique<host_sampling<Unused>>(wanted);
}

template <class Unused>
std::unique_ptr<collector> collector_code<Unused>::measure_utilization(utilization_times const& times) {
  return std::make_unique<utilization_measurement<Unused>>(times);
}

}  // namespace profkit::detail
