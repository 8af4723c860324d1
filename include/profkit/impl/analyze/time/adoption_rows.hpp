// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "../../../profile.hpp"
#include "../../profile/own_containers.hpp"

namespace profkit::detail {

[[nodiscard]] inline bool has_adopted(own_vector<path_record> const& paths) {
  return std::any_of(paths.begin(), paths.end(), [](path_record const& path) { return path.adopted_from != path_record::no_parent; });
}

/// Finds the scopes for which adopting scopes work, and the roles. Depends on the paths only.
///
/// Work belongs only to the innermost adopting scope around it. It counts for the adopted scope and for all scopes around that scope. If
/// the adopted scope is an adopting scope itself, or lies in one, the work counts for the original scope but in its own row: "backward of
/// work in backward" can be a second derivative, or the derivative of a recomputation.
class adoption_rows {
 public:
  static constexpr std::uint32_t none = path_record::no_parent;
  static constexpr std::size_t no_row = static_cast<std::size_t>(-1);

  /// The work for one path in one role.
  struct row {
    std::uint32_t path;
    std::size_t role;
    std::size_t above;  ///< the row of the path's parent in the same role
  };

  explicit adoption_rows(own_vector<path_record>&&) = delete;  // borrowed, so no converted temporary
  explicit adoption_rows(own_vector<path_record> const& paths) : paths_{paths}, row_of_(paths.size(), no_row) { find_origins(); }

  [[nodiscard]] bool adopts(std::size_t path) const { return paths_[path].adopted_from != none; }

  /// @return the innermost adopting path around the path, possibly itself; `none` if there is none.
  [[nodiscard]] std::uint32_t around(std::size_t path) const { return around_[path]; }

  /// @return the row of an adopting path.
  [[nodiscard]] std::size_t row_of(std::size_t path) const { return row_of_[path]; }

  /// @return the rows; rows of parents precede those of their children.
  [[nodiscard]] own_vector<row> const& rows() const noexcept { return rows_; }

  /// @return the roles in the order of their first appearance.
  [[nodiscard]] own_vector<std::string> const& roles() const noexcept { return roles_; }

 private:
  /// Finds for each path the adopting path around it, and for each adopting path its row. A path follows all paths that it refers to.
  void find_origins() {
    own_vector<std::uint32_t> first(paths_.size(), none);  // by adopting path: the path from which its chain of adoptions starts
    around_.assign(paths_.size(), none);
    for (std::uint32_t path = 0; path < paths_.size(); ++path) {
      path_record const& record = paths_[path];
      if (!adopts(path)) {
        if (record.parent != none) around_[path] = around_[record.parent];
        continue;
      }
      around_[path] = path;
      std::uint32_t const within = around_[record.adopted_from];
      first[path] = within == none ? path : first[within];
      path_record const& origin = paths_[first[path]];
      row_of_[path] = row_for(origin.adopted_from, role_named(within == none ? record.role : record.role + " of work in " + origin.role));
    }
  }

  std::size_t role_named(std::string const& name) {
    auto const [known, is_new] = role_at_.try_emplace(name, roles_.size());
    if (is_new) roles_.push_back(name);
    return known->second;
  }

  /// Finds or creates the row of a path, after the rows of all paths around it.
  std::size_t row_for(std::uint32_t path, std::size_t role) {
    own_vector<std::uint32_t> missing;  // innermost first
    std::size_t above = no_row;
    for (; path != none; path = paths_[path].parent) {
      auto const known = row_at_.find({path, role});
      if (known != row_at_.end()) {
        above = known->second;
        break;
      }
      missing.push_back(path);
    }
    for (auto each = missing.rbegin(); each != missing.rend(); ++each) {
      rows_.push_back({*each, role, above});
      above = row_at_[{*each, role}] = rows_.size() - 1;
    }
    return above;
  }

  own_vector<path_record> const& paths_;
  own_vector<std::uint32_t> around_;
  own_vector<std::size_t> row_of_;  ///< row of each adopting path
  own_vector<std::string> roles_;
  own_hash_map<std::string, std::size_t> role_at_;  ///< by role: its position in `roles_`
  own_vector<row> rows_;
  std::map<std::pair<std::uint32_t, std::size_t>, std::size_t> row_at_;
};

}  // namespace profkit::detail
