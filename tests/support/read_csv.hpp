// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

/// Reads CSV (RFC 4180); throws if the text is invalid.
inline std::vector<std::vector<std::string>> read_csv(std::string const& text) {
  std::vector<std::vector<std::string>> records;
  for (std::size_t at = 0; at < text.size();) {
    records.emplace_back();
    for (bool is_in_record = true; is_in_record; ++at) {
      std::string& cell = records.back().emplace_back();
      if (at < text.size() && text[at] == '"') {
        for (++at; text.at(at) != '"' || (at + 1 < text.size() && text[at + 1] == '"'); ++at) {
          cell += text.at(at);
          if (text.at(at) == '"') ++at;
        }
        ++at;
      } else {
        while (text.at(at) != ',' && text.at(at) != '\n') {
          if (text.at(at) == '"' || text.at(at) == '\r') throw std::runtime_error{"a quote or return in a bare cell"};
          cell += text.at(at++);
        }
      }
      if (text.at(at) != ',' && text.at(at) != '\n') throw std::runtime_error{"something follows a quoted cell"};
      is_in_record = text.at(at) == ',';
    }
  }
  return records;
}
