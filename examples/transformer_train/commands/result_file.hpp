// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <profkit/report/table.hpp>
#include <string>
#include <vector>

namespace trainer {

/// Rows that a command measures one after the other. Each is in `NAME.csv` and `NAME.json` as soon as it is there, so that a command that
/// was interrupted goes on where it was. Files are replaced whole: they are never half a row.
class result_file {
 public:
  /// @param directory where the files are; empty: the rows are not kept. Rows of an earlier run are read.
  /// @param key_columns say what a row is of; the other columns follow them.
  /// @throws input_error if there is a file with other columns, or one that cannot be read.
  result_file(std::filesystem::path directory, std::string name, std::vector<std::string> const& key_columns,
              std::vector<std::string> const& value_columns);

  [[nodiscard]] bool has(std::vector<std::string> const& key) const;

  /// @param row a cell for each column: a number, a word, or n/a, without quotes and commas.
  /// @throws profkit::error if the files cannot be written.
  void add(std::vector<std::string> row);

  [[nodiscard]] std::vector<std::vector<std::string>> const& rows() const noexcept { return rows_; }
  [[nodiscard]] std::vector<std::string> const& columns() const noexcept { return columns_; }
  /// Position of a column.
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

/// The rows as a table, whose key columns stand on the left.
[[nodiscard]] profkit::table table_of(result_file const& results, std::vector<std::string> const& columns, std::size_t text_columns);

}  // namespace trainer
