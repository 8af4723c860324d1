// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "../options.hpp"
#include "session_ending.hpp"
#include "session_factory.hpp"
#include "session_impl.hpp"

namespace profkit::detail {

template <class Unused>
std::unique_ptr<session_core> session_factory<Unused>::make(options wanted) {
  return std::make_unique<session_impl<Unused>>(std::move(wanted));
}

}  // namespace profkit::detail
