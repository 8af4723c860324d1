// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "../options.hpp"
#include "running_session.hpp"
#include "session_code.hpp"
#include "session_ending.hpp"

namespace profkit::detail {

template <class Unused>
std::unique_ptr<session_core> session_code<Unused>::make(options wanted) {
  return std::make_unique<running_session<Unused>>(std::move(wanted));
}

}  // namespace profkit::detail
