// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "../../profile/own_memory.hpp"
#include "../../profile/profile.hpp"
#include "../time/path_tree.hpp"

namespace profkit::detail {

/// Maps paths to parts of the budget: a scope directly inside the step, the step itself, or the outermost scope of another thread.
class budget_parts {
 public:
  explicit budget_parts(own_vector<path_record>&&) = delete;  // borrowed, so no converted temporary
  explicit budget_parts(own_vector<path_record> const& paths) : paths_{paths} {
    for (std::uint32_t path = 0; path < paths.size(); ++path) {  // parents precede their children
      std::uint32_t const parent = paths[path].parent;
      bool const is_top = parent == path_record::no_parent || paths[parent].is_step;
      top_of_.push_back(is_top ? path : top_of_[parent]);
    }
  }

  [[nodiscard]] std::uint32_t operator()(std::uint32_t path) const { return top_of_[path]; }

  [[nodiscard]] std::string name_of(std::uint32_t top) const {
    if (paths_[top].is_step) return "step itself";
    return shown_name(paths_[top]) + (paths_[top].parent == path_record::no_parent ? " (not in a step)" : "");
  }

 private:
  own_vector<path_record> const& paths_;
  own_vector<std::uint32_t> top_of_;
};

}  // namespace profkit::detail
