// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <profkit/error.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

namespace CLI {
class App;
}

namespace profkit_program {

/// Runs the chosen command.
/// @return the exit code.
/// @throws profkit::error for bad input.
using command = std::function<int()>;

/// @param outputs the paths of files; empty: none.
/// @throws profkit::error if an output would replace an input.
inline void check_outputs(std::vector<std::filesystem::path> const& inputs, std::initializer_list<std::string> outputs) {
  for (std::string const& output : outputs) {
    std::error_code ignored;
    if (output.empty()) continue;
    for (std::filesystem::path const& input : inputs) {
      if (std::filesystem::equivalent(input, output, ignored)) throw profkit::error{output + ": is an input; choose another output"};
    }
  }
}

/// Of Linux, whose process ids are of type int.
inline constexpr std::uint64_t max_process = std::numeric_limits<int>::max();

/// A decimal number; n/a if the text has something else in it, or if the number is out of range.
template <class Number>
std::optional<Number> number_in(std::string_view text, Number min, Number max) {
  Number number{};
  auto const [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  bool const is_number = status == std::errc{} && end == text.data() + text.size() && number >= min && number <= max;
  return is_number ? std::optional{number} : std::nullopt;
}

/// A check of an option's text. CLI11 itself takes -1 and too large numbers as 2^64 - 1, and nan as a number in each range.
/// @return a function from the text to what is wrong with it.
template <class Number>
auto number_from(Number min, Number max) {
  return [min, max](std::string const& text) {
    constexpr char const* kind = std::is_integral_v<Number> ? "whole number" : "number";
    return number_in(text, min, max) ? std::string{} : fmt::format("\"{}\" is not a {} from {} to {}", text, kind, min, max);
  };
}

// Each adds a command. @param chosen set if the command line selects the command; must outlive the parsing.
void add_compare_command(CLI::App& app, command& chosen);
void add_control_commands(CLI::App& app, command& chosen);
void add_report_command(CLI::App& app, command& chosen);
void add_run_command(CLI::App& app, command& chosen);
void add_stuck_command(CLI::App& app, command& chosen);
void add_watch_command(CLI::App& app, command& chosen);

}  // namespace profkit_program
