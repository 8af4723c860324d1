// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "../collect/gpu_utilization.hpp"
#include "../options.hpp"
#include "session_ending.hpp"
#include "session_factory.hpp"
#include "session_impl.hpp"
#include "session_start.hpp"

namespace profkit::detail {

template <class Unused>
std::unique_ptr<session_core> session_factory<Unused>::make(options wanted) {
  bool const has_utilization = wanted.enabled && wanted.gpu_utilization;
  std::unique_ptr<session_core> result = std::make_unique<session_impl<Unused>>(std::move(wanted));
  if (has_utilization) result->take(std::make_unique<gpu_utilization>());
  return result;
}

}  // namespace profkit::detail
