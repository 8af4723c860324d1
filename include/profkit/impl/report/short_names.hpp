// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>

#include "../profile/own_memory.hpp"
#include "shown_text.hpp"

// Functions that shorten names.

namespace profkit::detail {

/// The text after the last slash: "forward/layer_*/softmax (backward)" -> "softmax (backward)".
inline std::string last_component(std::string const& path) {
  std::size_t const slash = path.rfind('/');
  return slash == std::string::npos || slash + 1 == path.size() ? path : path.substr(slash + 1);
}

/// Shortens a path at its beginning, because its last components are the most specific: "…/ffn_sublayer/swiglu (backward)". Shortens other
/// names in the middle.
inline std::string shortened_path(std::string const& name, std::size_t width) {
  if (name.size() <= width) return name;
  std::size_t const slash = name.find('/', name.size() + 1 - width);
  return slash == std::string::npos || slash + 1 == name.size() ? shortened(name, width) : "\xe2\x80\xa6" + name.substr(slash);
}

/// Shortens names in the middle. Names that would then be equal keep the part that begins at their first difference.
inline own_vector<std::string> distinct_names(own_vector<std::string> const& names, std::size_t width) {
  own_vector<std::string> result;
  std::map<std::string, own_vector<std::size_t>> alike;
  for (std::size_t i = 0; i < names.size(); ++i) {
    result.push_back(shortened(names[i], width));
    alike[result.back()].push_back(i);
  }
  for (auto const& [look, members] : alike) {
    std::string const& first = names[members.front()];
    std::size_t common = first.size();
    for (std::size_t const i : members) {
      std::size_t const shared = std::min(common, names[i].size());
      common = static_cast<std::size_t>(
          std::mismatch(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(shared), names[i].begin()).first - first.begin());
    }
    if (common >= first.size()) continue;  // there is one name, or all names are equal
    std::size_t const head = width / 4;
    std::size_t const rest = width - head - 3;
    for (std::size_t const i : members) {
      std::string const& name = names[i];
      if (name.size() <= width) continue;
      std::size_t const word = name.find_last_of("_<,: ", common);
      std::size_t const begin = word == std::string::npos || word + rest / 2 < common ? common : word + 1;
      std::size_t const from = std::max(head, std::min(begin, name.size() - rest));
      bool const is_cut = from + rest < name.size();
      result[i] = as_utf8(name.substr(0, head)) + "..." + as_utf8(name.substr(from, is_cut ? rest - 3 : rest)) + (is_cut ? "..." : "");
    }
  }
  return result;
}

}  // namespace profkit::detail
