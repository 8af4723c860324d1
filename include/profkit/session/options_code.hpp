// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "../profile/code_elsewhere.hpp"

namespace profkit {

struct options;
struct rank_record;

namespace detail {

/// Declares the reading of the environment variables; `make_options.hpp` defines it. A template for the reasons of `report_code`.
template <class>
struct options_code {
  static options from_env();
  static options parse(std::string_view text);
  static std::optional<rank_record> rank();
};

#ifdef PROFKIT_CODE_ELSEWHERE
extern template struct options_code<void>;
#endif

}  // namespace detail

}  // namespace profkit
