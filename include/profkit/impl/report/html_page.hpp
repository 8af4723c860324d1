// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "../../document.hpp"
#include "../profile/own_memory.hpp"

namespace profkit::detail {

/// Maximum size of a page in bytes.
inline constexpr std::size_t max_html_bytes = 1'000'000;

/// The page of a document, of at most `max_html_bytes`.
own_string html_page(document const& document);

}  // namespace profkit::detail
