// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "../../time.hpp"
#include "column_numbers.hpp"
#include "shown_text.hpp"

// Numbers and names in sentences. Numbers have three significant digits (two below 1) and a no-break space before their unit.

namespace profkit::detail {

/// Signs in UTF-8; `printable` replaces them without UTF-8.
inline constexpr char const* no_break_space = "\xc2\xa0";
inline constexpr char const* plus_minus = "\xc2\xb1";
inline constexpr char const* times_sign = "\xc3\x97";

/// 1234.6 -> "1,235", 46.321 -> "46.3", 0.4217 -> "0.42".
inline std::string significant(double value) {
  double const size = value < 0.0 ? -value : value;
  int const decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.0995 ? 2 : size >= 0.00995 ? 3 : 4;
  return value == 0.0 ? "0" : (value < 0.0 ? "\xe2\x88\x92" : "") + with_thousands(fmt::format("{:.{}f}", size, decimals));
}

/// "46.3 ms".
inline std::string with_unit(double value, char const* unit) { return significant(value) + no_break_space + unit; }

/// "46.3 ms", "1.20 s", "25.0 us".
inline std::string time_words(milliseconds time) {
  double const ms = time.count();
  double const size = ms < 0.0 ? -ms : ms;
  if (size >= 999.5) return with_unit(ms / 1000.0, "s");
  return size >= 0.0995 || size == 0.0 ? with_unit(ms, "ms") : with_unit(ms * 1000.0, "\xc2\xb5s");
}

/// "44.8 of 46.3 ms".
inline std::string part_words(milliseconds part, milliseconds whole) {
  std::string first = time_words(part);
  std::string const second = time_words(whole);
  std::size_t const unit = first.find(no_break_space);
  if (second.size() >= first.size() - unit && second.compare(second.size() - (first.size() - unit), std::string::npos, first, unit) == 0)
    first.erase(unit);
  return first + " of " + second;
}

/// 0.9671 -> "97 %", 0.0334 -> "3.3 %", 0.00001 -> "<0.1 %".
inline std::string share_words(double share) {
  double const percent = 100.0 * share;
  std::string const digits = percent == 0.0   ? "0"
                             : percent < 0.05 ? "<0.1"
                             : percent < 9.95 ? fmt::format("{:.1f}", percent)
                                              : fmt::format("{:.0f}", percent);
  return digits + no_break_space + "%";
}

/// 12.09 GiB.
inline std::string bytes_words(double bytes) {
  constexpr double mib = 1024.0 * 1024.0;
  double const size = bytes < 0.0 ? -bytes : bytes;
  if (size >= 1024.0 * mib) return fmt::format("{:.2f}{}GiB", bytes / (1024.0 * mib), no_break_space);
  return size >= mib || size == 0.0 ? with_unit(bytes / mib, "MiB") : with_unit(bytes / 1024.0, "KiB");
}

/// 354123 -> "354 k".
inline std::string rate_words(double value) {
  constexpr double from = 10'000.0;
  if (value >= 1e6 * 10.0) return with_unit(value / 1e6, "M");
  return value >= from ? with_unit(value / 1e3, "k") : significant(value);
}

/// "20,781".
inline std::string count_words(std::uint64_t number) { return with_thousands(fmt::format("{}", number)); }

/// "noisy" -> "Noisy".
inline std::string capitalized(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z') text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text;
}

/// "1 step", "36 steps".
inline std::string counted(std::uint64_t number, char const* one, char const* several) {
  return count_words(number) + " " + (number == 1 ? one : several);
}

/// A name from the program, short enough for a sentence.
inline std::string name_words(std::string_view name) {
  constexpr std::size_t max_name = 48;
  return one_line(name, max_name);
}

}  // namespace profkit::detail
