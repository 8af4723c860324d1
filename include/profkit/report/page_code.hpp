// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "../profile/code_elsewhere.hpp"
#include "../profile/own_memory.hpp"
#include "document.hpp"

namespace profkit::detail {

/// Maximum size of a page in bytes.
inline constexpr std::size_t max_html_bytes = 1'000'000;

/// Declares the implementation of `html_page`; `html_printer.hpp` defines it. A template for the same reasons as `report_code`.
template <class>
struct page_code {
  static own_string page(document const& document);
};

#ifdef PROFKIT_CODE_ELSEWHERE
extern template struct page_code<void>;
#endif

}  // namespace profkit::detail
