// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <istream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

// The fields of a report.json, and those in docs/report.md, as paths such as "scopes[].per_step.steps".

/// The contents of the code spans of a line of Markdown.
inline std::vector<std::string> code_spans(std::string const& line) {
  std::vector<std::string> result;
  for (std::size_t begin = line.find('`'); begin != std::string::npos;) {
    std::size_t const end = line.find('`', begin + 1);
    if (end == std::string::npos) break;
    result.push_back(line.substr(begin + 1, end - begin - 1));
    begin = line.find('`', end + 1);
  }
  return result;
}

/// Reads the section "report.json". Headings and lines that begin with "Same fields: " name objects, and the first cells of the rows below
/// them name their fields.
inline std::set<std::string> fields_of_page(std::istream& page) {
  std::set<std::string> result;
  std::vector<std::string> objects;
  bool is_in_section = false;
  for (std::string line; std::getline(page, line);) {
    if (line.rfind("## ", 0) == 0) is_in_section = line == "## report.json";
    if (line.rfind("### ", 0) == 0) {
      objects = code_spans(line);
      if (objects.empty()) objects.emplace_back();
    }
    if (line.rfind("Same fields: ", 0) == 0) {
      for (std::string const& object : code_spans(line)) objects.push_back(object);
    }
    if (!is_in_section || line.rfind("| ", 0) != 0) continue;
    for (std::string const& field : code_spans(line.substr(0, line.find('|', 1)))) {
      for (std::string const& object : objects) result.insert(object.empty() ? field : object + "." + field);
    }
  }
  return result;
}

/// Adds the paths of all fields, such as "scopes[].per_step.steps".
inline void add_fields(nlohmann::json const& document, std::string const& path, std::set<std::string>& to) {
  if (document.is_array()) {
    for (nlohmann::json const& each : document) add_fields(each, path + "[]", to);
  }
  if (!document.is_object()) return;
  for (auto const& [key, value] : document.items()) {
    // The keys of these objects are names chosen by programs.
    std::string const name = path == "memory" ? "<source>" : path == "memory.<source>" ? "<quantity>" : key;
    std::string const inner = path.empty() ? name : path + "." + name;
    to.insert(inner);
    add_fields(value, inner, to);
  }
}

/// The elements that are not in the other set, one per line.
inline std::string lines_without(std::set<std::string> const& from, std::set<std::string> const& without) {
  std::string text;
  for (std::string const& each : from) {
    if (without.count(each) == 0) text += each + "\n";
  }
  return text;
}
