// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../profile/own_memory.hpp"
#include "document.hpp"
#include "page_code.hpp"

#ifndef PROFKIT_CODE_ELSEWHERE
#include "html_printer.hpp"  // IWYU pragma: export
#endif

namespace profkit::detail {

/// The page of a document, of at most `max_html_bytes`.
inline own_string html_page(document const& document) { return page_code<void>::page(document); }

}  // namespace profkit::detail
