// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "config.hpp"

namespace trainer {

/// The valid ranges of sizes and counts.
[[nodiscard]] inline CLI::Range size_range() { return {std::int64_t{1}, std::int64_t{1} << 20U}; }
[[nodiscard]] inline CLI::Range count_range() { return {std::int64_t{0}, std::int64_t{1'000'000'000}}; }

template <class Value, std::size_t Count>
[[nodiscard]] std::vector<std::string> words_of(name_table<Value, Count> const& table) {
  std::vector<std::string> words;
  for (auto const& entry : table) words.emplace_back(entry.name);
  return words;
}

/// An option whose value is one word of a table.
template <class Value, std::size_t Count>
void add_choice(CLI::App& app, char const* name, Value& value, name_table<Value, Count> const& table, char const* help) {
  app.add_option_function<std::string>(
         name, [&value, &table](std::string const& word) { value = *value_of(table, word); }, help)
      ->check(CLI::IsMember(words_of(table)))
      ->default_str(std::string{name_of(table, value)});
}

/// An option whose value is several words of a table, separated by commas or spaces.
template <class Value, std::size_t Count>
void add_choices(CLI::App& app, char const* name, std::vector<Value>& values, name_table<Value, Count> const& table, char const* help) {
  std::string defaults;
  for (Value const value : values) defaults += (defaults.empty() ? "" : ",") + std::string{name_of(table, value)};
  app.add_option_function<std::vector<std::string>>(
         name,
         [&values, &table](std::vector<std::string> const& words) {
           values.clear();
           for (std::string const& word : words) values.push_back(*value_of(table, word));
         },
         help)
      ->check(CLI::IsMember(words_of(table)))
      ->delimiter(',')
      ->default_str(defaults);
}

}  // namespace trainer
