// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "tables/string_table.hpp"

namespace trainer {

/// The rows measured by a command. Each row is stored in `NAME.csv` and `NAME.json` as soon as it is complete, so that an interrupted
/// command can continue. Files are replaced atomically.
class result_file {
 public:
  /// @param directory directory of the files; empty: the rows are not stored. Rows of an earlier run are read.
  /// @param key_columns the columns that identify a row; the other columns follow.
  /// @throws input_error if a file has other columns or cannot be read.
  result_file(std::filesystem::path directory, std::string name, std::vector<std::string> const& key_columns,
              std::vector<std::string> const& value_columns);

  [[nodiscard]] bool has(std::vector<std::string> const& key) const;

  /// @param row one cell per column: a number, a word, or n/a, without quotes and commas.
  /// @throws profkit::error if the files cannot be written.
  void add(std::vector<std::string> row);

  [[nodiscard]] std::vector<std::vector<std::string>> const& rows() const noexcept { return rows_; }
  [[nodiscard]] std::vector<std::string> const& columns() const noexcept { return columns_; }
  /// The position of a column.
  [[nodiscard]] std::size_t column(std::string const& name) const;

 private:
  void read();
  [[nodiscard]] std::string json() const;

  std::filesystem::path directory_;
  std::string name_;
  std::vector<std::string> columns_;
  std::size_t key_columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// The rows as a table with the key columns on the left.
[[nodiscard]] string_table table_of(result_file const& results, std::vector<std::string> const& columns, std::size_t text_columns);

}  // namespace trainer
