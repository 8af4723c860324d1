// SPDX-License-Identifier: Apache-2.0
#include "commands/result_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "errors.hpp"
#include "files.hpp"
#include "tables/table_cells.hpp"

namespace trainer {

namespace {

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  if (line.ends_with('\r')) line.remove_suffix(1);
  for (std::size_t comma = 0; comma != std::string_view::npos;) {
    comma = line.find(',');
    cells.emplace_back(line.substr(0, comma));
    if (comma != std::string_view::npos) line.remove_prefix(comma + 1);
  }
  return cells;
}

/// A number, null or a string.
std::string in_json(std::string const& cell) {
  if (cell == not_measured) return "null";
  double value = 0.0;
  auto const [end, status] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  bool const is_number = status == std::errc{} && end == cell.data() + cell.size() && std::isfinite(value);
  return is_number ? cell : '"' + cell + '"';
}

}  // namespace

result_file::result_file(std::filesystem::path directory, std::string name, std::vector<std::string> const& key_columns,
                         std::vector<std::string> const& value_columns)
    : directory_{std::move(directory)}, name_{std::move(name)}, columns_{key_columns}, key_columns_{key_columns.size()} {
  columns_.insert(columns_.end(), value_columns.begin(), value_columns.end());
  if (directory_.empty()) return;
  check_output_directory("--out", directory_);
  read();
}

bool result_file::has(std::vector<std::string> const& key) const {
  return std::any_of(rows_.begin(), rows_.end(), [&](auto const& row) {
    return std::equal(key.begin(), key.end(), row.begin(), row.begin() + static_cast<std::ptrdiff_t>(key_columns_));
  });
}

void result_file::add(std::vector<std::string> row) {
  if (row.size() != columns_.size()) throw std::logic_error{name_ + ": a row must have one cell per column"};
  for (std::string const& cell : row) {
    if (cell.find_first_of("\",\\\r\n") != std::string::npos)
      throw std::logic_error{name_ + ": a cell must not contain quotes or commas: " + cell};
  }
  rows_.push_back(std::move(row));
  if (directory_.empty()) return;
  string_table const all = table_of(*this, columns_, key_columns_);
  replace_file(directory_ / (name_ + ".csv"), all.to_csv());
  replace_file(directory_ / (name_ + ".json"), json());
}

std::size_t result_file::column(std::string const& name) const {
  auto const at = std::find(columns_.begin(), columns_.end(), name);
  if (at == columns_.end()) throw std::logic_error{name_ + ": there is no column " + name};
  return static_cast<std::size_t>(at - columns_.begin());
}

void result_file::read() {
  std::filesystem::path const path = directory_ / (name_ + ".csv");
  if (!std::filesystem::exists(path)) return;
  std::ifstream file{path};
  std::string line;
  auto const refuse = [&](std::string const& what) {
    return input_error{"--out " + directory_.string() + ": " + name_ + ".csv " + what + "; use another directory, or remove that file"};
  };
  if (!std::getline(file, line)) throw refuse("cannot be read or is empty");
  if (cells_of(line) != columns_) throw refuse("has different columns than this program writes");
  while (std::getline(file, line)) {
    std::vector<std::string> row = cells_of(line);
    if (row.size() != columns_.size()) throw refuse(fmt::format("has a line with {} cells instead of {}", row.size(), columns_.size()));
    rows_.push_back(std::move(row));
  }
}

std::string result_file::json() const {
  std::vector<std::string> objects;
  for (auto const& row : rows_) {
    std::vector<std::string> members;
    for (std::size_t i = 0; i < row.size(); ++i) members.push_back(fmt::format("\"{}\": {}", columns_[i], in_json(row[i])));
    objects.push_back(fmt::format("  {{{}}}", fmt::join(members, ", ")));
  }
  return fmt::format("[\n{}\n]\n", fmt::join(objects, ",\n"));
}

string_table table_of(result_file const& results, std::vector<std::string> const& columns, std::size_t text_columns) {
  string_table table{columns, text_columns};
  for (auto const& row : results.rows()) {
    std::vector<std::string> cells;
    for (std::string const& column : columns) cells.push_back(row[results.column(column)]);
    table.add(std::move(cells));
  }
  return table;
}

}  // namespace trainer
