// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../analyze/summary.hpp"
#include "../profile/own_memory.hpp"
#include "report_code.hpp"

namespace profkit {

/// @brief The summary as JSON (RFC 8259): the content of `report.json`. Key names end in their unit; values that were not measured are
/// null.
/// @param summary the figures.
/// @return the document.
[[nodiscard]] detail::own_string report_json(summary const& summary);

}  // namespace profkit
