// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "../../document.hpp"
#include "../../time.hpp"
#include "../profile/numbers.hpp"
#include "../profile/own_memory.hpp"
#include "shown_text.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// `fmt::vformat` for results that may be large.
inline own_string own_vformat(fmt::string_view text, fmt::format_args arguments) {
  fmt::basic_memory_buffer<char, fmt::inline_buffer_size, block_allocator<char>> buffer;
  fmt::vformat_to(std::back_inserter(buffer), text, arguments);
  return own_string(buffer.data(), buffer.size());
}

/// `fmt::format` for results that may be large.
template <class... Arguments>
own_string own_format(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  return own_vformat(text, fmt::make_format_args(arguments...));
}

inline constexpr char const* not_measured = "n/a";

/// Formats a number given by the program. Handles NaN and infinity before fmt, because with -ffast-math the compiler assumes that they do
/// not exist.
inline std::string format_real(double value) {
  if (is_finite(value)) return fmt::format("{:g}", value);
  return is_nan(value) ? "nan" : is_negative(value) ? "-inf" : "inf";
}

/// 46.321 -> "46.321"; 0.00004 -> "0.000040", because clocks tick in nanoseconds.
inline std::string format_ms(milliseconds value) {
  double const size = std::abs(value.count());
  return fmt::format("{:.{}f}", value.count(), size > 0.0 && size < 0.0005 ? 6 : 3);
}

inline std::string format_ms(std::optional<milliseconds> value) { return value ? format_ms(*value) : not_measured; }

/// 0.25 -> "25.0 %"
inline std::string format_share(std::optional<double> value) { return value ? fmt::format("{:.1f} %", 100.0 * *value) : not_measured; }

inline std::string format_count(std::optional<double> value) { return value ? fmt::format("{:.0f}", *value) : not_measured; }

/// "ms", "us", "MiB"; empty if numbers of the kind have no unit.
inline char const* fixed_unit(column_kind kind) {
  switch (kind) {
    case column_kind::milliseconds:
    case column_kind::range:
      return "ms";
    case column_kind::duration:
    case column_kind::logarithmic_range:
      return "us";
    case column_kind::bytes:
      return "MiB";
    default:
      return "";
  }
}

/// A number of a column: milliseconds with three decimals or, if these are 0, six; microseconds with two, "25.0 %", MiB with one.
/// @param has_fractions whether the column has counts that are not whole numbers, such as launches per step.
inline std::string fixed_text(column_kind kind, double value, bool has_fractions) {
  if (kind == column_kind::real) return format_real(value);
  if (!is_finite(value)) return not_measured;
  switch (kind) {
    case column_kind::milliseconds:
    case column_kind::range:
      return format_ms(milliseconds{value});
    case column_kind::duration:
    case column_kind::logarithmic_range:
      return fmt::format("{:.2f}", 1000.0 * value);
    case column_kind::bytes:
      return fmt::format("{:.1f}", value / (1024.0 * 1024.0));
    case column_kind::share:
    case column_kind::change:
      return fmt::format("{:.1f} %", 100.0 * value);
    default:
      return fmt::format("{:.{}f}", value, has_fractions ? 1 : 0);
  }
}

/// 20781 -> "20,781". Keeps the digits after a decimal point.
inline std::string with_thousands(std::string digits) {
  std::size_t const point = std::min(digits.find('.'), digits.size());
  std::size_t const first = !digits.empty() && digits.front() == '-' ? 1 : 0;
  for (std::size_t at = point; at > first + 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

/// Prints the numbers of one column: one unit and one number of decimals for all rows, chosen by the largest value, so that readers can
/// compare them digit by digit. If half of the times would then be "<0.01", their median chooses, because one long step does not make
/// short ones 0. All columns of times in a table share a unit, and so do all columns of bytes. Tables with fixed units use those of
/// `fixed_text`.
class column_numbers {
 public:
  /// @param largest the largest absolute value, in the unit of `kind`.
  /// @param has_fractions the column has counts that are not whole numbers, such as launches per step.
  column_numbers(column_kind kind, double largest, bool has_fractions = false) : kind_{kind} {
    double const size = is_finite(largest) ? std::abs(largest) : 0.0;
    switch (kind) {
      case column_kind::milliseconds:
      case column_kind::range:
        set_time(size, 1.0);
        break;
      case column_kind::duration:
      case column_kind::logarithmic_range:
        set_time(size, 10.0);
        break;
      case column_kind::bytes:
        set_unit(size >= gib ? gib : size >= mib ? mib : 1024.0, size >= gib ? "GiB" : size >= mib ? "MiB" : "KiB");
        decimals_ = std::min(decimals_for(size / divisor_), 2);
        break;
      case column_kind::share:
        set_unit(0.01, "%");
        decimals_ = 1;
        break;
      case column_kind::count:
        decimals_ = has_fractions ? 1 : 0;
        break;
      case column_kind::text:
      case column_kind::code:
      case column_kind::real:
      case column_kind::bar:
      case column_kind::change:
        break;
    }
  }

  column_numbers(data_table const& table, std::size_t column) : column_numbers{table, column, table.has_fixed_units} {}

  /// @param is_fixed whether the numbers have the units of `fixed_text`.
  column_numbers(data_table const& table, std::size_t column, bool is_fixed)
      : column_numbers{table.columns[column].kind, scale_of(table, column), has_fractions_in(table, column)} {
    is_fixed_ = is_fixed;
    if (is_fixed_) unit_ = fixed_unit(kind_);
  }

  /// "ms", "%", "GiB"; empty if the numbers have none.
  [[nodiscard]] std::string const& unit() const noexcept { return unit_; }

  /// "46.32", "20,781"; "0" for exactly zero, "<0.01" for values that round to zero, "n/a" for NaN and infinity.
  [[nodiscard]] std::string text(double value) const {
    if (is_fixed_) return fixed_text(kind_, value, decimals_ > 0);
    if (!is_finite(value)) return not_measured;
    if (kind_ == column_kind::real) return with_minus(format_real(value));
    if (value == 0.0) return "0";
    double const scaled = value / divisor_;
    double const smallest = std::pow(10.0, -decimals_);
    if (std::abs(scaled) < smallest / 2.0) return fmt::format("{}<{:.{}f}", value < 0.0 ? minus : "", smallest, decimals_);
    return with_minus(with_thousands(fmt::format("{:.{}f}", scaled, decimals_)));
  }

 private:
  static constexpr double mib = 1024.0 * 1024.0;
  static constexpr double gib = 1024.0 * mib;
  static constexpr char const* minus = "\xe2\x88\x92";

  /// @param min_ms minimum size for the unit ms.
  void set_time(double size, double min_ms) {
    if (size >= 1000.0) {
      set_unit(1000.0, "s");
    } else if (size >= min_ms || size == 0.0) {
      set_unit(1.0, "ms");
    } else {
      set_unit(0.001, "\xc2\xb5s");
    }
    // Clocks tick in nanoseconds.
    decimals_ = divisor_ < 1.0 ? (size / divisor_ >= 10.0 ? 1 : 3) : decimals_for(size / divisor_);
  }

  void set_unit(double divisor, char const* unit) {
    divisor_ = divisor;
    unit_ = unit;
  }

  /// Four digits for most values. Two decimals for times up to a second, so that usual and unusual steps have the same precision.
  static int decimals_for(double largest) { return largest >= 10'000.0 ? 0 : largest >= 1000.0 ? 1 : largest >= 10.0 ? 2 : 3; }

  static std::string with_minus(std::string digits) {
    if (!digits.empty() && digits.front() == '-') digits.replace(0, 1, minus);
    return digits;
  }

  /// @return the value that chooses the unit.
  static double scale_of(data_table const& table, std::size_t column) {
    own_vector<double> sizes;
    column_kind const kind = table.columns[column].kind;
    bool const is_shared = kind == column_kind::milliseconds || kind == column_kind::bytes;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (i == column || (is_shared && table.columns[i].kind == kind)) add_sizes(table, i, sizes);
    }
    if (sizes.empty()) return 0.0;
    double const largest = *std::max_element(sizes.begin(), sizes.end());
    constexpr std::size_t min_sizes = 3;
    if (kind != column_kind::milliseconds || sizes.size() < min_sizes) return largest;
    auto const median = sizes.begin() + static_cast<std::ptrdiff_t>((sizes.size() - 1) / 2);
    std::nth_element(sizes.begin(), median, sizes.end());
    return column_numbers{kind, largest}.text(*median).front() == '<' ? *median : largest;
  }

  /// Adds the absolute values of a column that are not 0.
  static void add_sizes(data_table const& table, std::size_t column, own_vector<double>& to) {
    auto const add = [&](double value) {
      if (is_finite(value) && value != 0.0) to.push_back(std::abs(value));
    };
    for (row const& each : table.rows) {
      if (column >= each.cells.size() || each.is_quiet) continue;  // quiet rows, such as the warm-up, do not affect the unit
      cell_value const& value = each.cells[column].value;
      if (double const* const number = std::get_if<double>(&value)) add(*number);
      if (range_cell const* const range = std::get_if<range_cell>(&value)) add(range->high);
    }
  }

  static bool has_fractions_in(data_table const& table, std::size_t column) {
    return table.columns[column].kind == column_kind::count && std::any_of(table.rows.begin(), table.rows.end(), [&](row const& each) {
             double const* const number = column < each.cells.size() ? std::get_if<double>(&each.cells[column].value) : nullptr;
             return number != nullptr && is_finite(*number) && std::abs(*number - std::round(*number)) > 0.001;
           });
  }

  column_kind kind_;
  double divisor_ = 1.0;
  int decimals_ = 0;
  std::string unit_;
  bool is_fixed_ = false;
};

/// The heading of a column with its unit: "busy ms", "% of step", "each, ms".
inline std::string heading_text(column const& column, column_numbers const& numbers) {
  if (numbers.unit().empty() || column.kind == column_kind::logarithmic_range) return column.heading;
  if (column.heading.empty()) return numbers.unit();
  if (column.kind == column_kind::share) return numbers.unit() + " " + column.heading;
  return column.heading + (column.kind == column_kind::range ? ", " : " ") + numbers.unit();
}

// Numbers and names in sentences. Numbers have three significant digits (two below 1) and a no-break space before their unit.

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

/// 0.25 -> "+25.0 %".
inline std::string change_words(double change) {
  if (!is_finite(change)) return not_measured;
  double const percent = 100.0 * change;
  std::string const digits = with_thousands(fmt::format("{:.1f}", std::abs(percent)));
  return (std::abs(percent) < 0.05 ? "" : percent < 0.0 ? "\xe2\x88\x92" : "+") + digits + "\xc2\xa0%";
}

/// "+25.0 %, range +20.1 % to +30.2 %".
inline std::string change_words(change_cell const& change) {
  return change_words(change.change) + ", range " + change_words(change.low) + " to " + change_words(change.high);
}

/// A number, a range or a change in a cell; `not_measured` for other cells.
inline std::string cell_words(cell_value const& value, column_numbers const& numbers) {
  if (double const* const number = std::get_if<double>(&value)) return numbers.text(*number);
  if (auto const* const range = std::get_if<range_cell>(&value))
    return numbers.text(range->low) + "-" + numbers.text(range->high) + (range->remark.empty() ? "" : ", " + range->remark);
  auto const* const change = std::get_if<change_cell>(&value);
  return change != nullptr ? change_words(*change) : not_measured;
}

/// A table with fixed units, folded on pages.
inline data_table folded_list(char const* name, std::string caption) {
  data_table result{name};
  result.folded_label = caption;
  result.caption = std::move(caption);
  result.shown_rows = 0;
  result.has_fixed_units = true;
  return result;
}

/// A table with fixed units for text. Pages have a shorter form of it.
inline data_table text_list(char const* name, std::string caption) {
  data_table result = folded_list(name, std::move(caption));
  result.use = block_use::text;
  return result;
}

}  // namespace PROFKIT_NAMESPACE::detail
