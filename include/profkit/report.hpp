// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Reports with their figures, printed with fmt.

#include <fmt/format.h>

#include <string>

#include "error.hpp"
#include "plain_report.hpp"
#include "profile.hpp"
#include "summary.hpp"

/// @cond  doxygen does not find fmt
template <>
struct fmt::formatter<profkit::report> : fmt::formatter<std::string> {
  template <class Context>
  auto format(profkit::report const& report, Context& context) const {
    return fmt::formatter<std::string>::format(report.text(), context);
  }
};

// Overloads of fmt's function template for a report alone. Each unit that calls the template compiles all formatting code of header-only
// fmt, which takes several times as long as the rest of a short program. These functions format where the code of reports is compiled.
namespace fmt {

inline void print(format_string<profkit::report> text, profkit::report&& report) {
  string_view const format = text;
  profkit::detail::report_code::print({format.data(), format.size()}, report.summary());
}

inline void print(format_string<profkit::report&> text, profkit::report& report) {
  string_view const format = text;
  profkit::detail::report_code::print({format.data(), format.size()}, report.summary());
}

inline void print(format_string<profkit::report const&> text, profkit::report const& report) {
  string_view const format = text;
  profkit::detail::report_code::print({format.data(), format.size()}, report.summary());
}

}  // namespace fmt
/// @endcond
