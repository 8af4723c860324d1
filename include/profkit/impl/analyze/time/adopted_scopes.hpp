// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "../../../profile.hpp"
#include "../../../summary.hpp"
#include "../../profile/own_memory.hpp"
#include "adopted_sums.hpp"
#include "adoption_rows.hpp"
#include "durations.hpp"
#include "path_tree.hpp"

namespace profkit::detail {

/// The work of adopting scopes for each scope, compared with the scope's own work.
class adopted_scopes {
 public:
  adopted_scopes(own_vector<path_record> const& paths, path_tree const& tree, adopted_sums const& done, bool has_kernels)
      : paths_{paths}, tree_{tree}, done_{done}, has_kernels_{has_kernels}, rows_{paths}, did_(rows_.rows().size()) {
    for (std::size_t path = 0; path < paths.size(); ++path) own_.push_back(done.own(path));
    fold();
  }

  /// @return the rows in tree order, without rows that have no work in the measured time. The roles of a scope are in the order of their
  /// first appearance.
  /// @param paths receives the paths of the rows.
  [[nodiscard]] own_vector<adopted_summary> rows(own_vector<std::uint32_t>& paths) const {
    auto const& rows = rows_.rows();
    own_vector<std::size_t> order;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (did_[row].count > 0 || did_[row].operations > 0) order.push_back(row);
    }
    own_vector<std::size_t> const place_of = places_of_roles();
    auto const place = [&](std::size_t row) { return std::make_pair(tree_.position_of(rows[row].path), place_of[rows[row].role]); };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
    own_vector<adopted_summary> result;
    for (std::size_t const row : order) {
      result.push_back(summary_of(row));
      paths.push_back(rows[row].path);
    }
    return result;
  }

 private:
  static constexpr std::uint32_t none = adoption_rows::none;

  /// @return by role: its place in the order of their first appearance.
  [[nodiscard]] own_vector<std::size_t> places_of_roles() const {
    own_vector<std::size_t> result(rows_.roles().size(), paths_.size());
    std::size_t found = 0;
    for (std::uint32_t const path : tree_.in_order()) {
      if (!rows_.adopts(path)) continue;
      std::size_t& place = result[rows_.rows()[rows_.row_of(path)].role];
      if (place == paths_.size()) place = found++;
    }
    return result;
  }

  void fold() {
    for (std::size_t path = paths_.size(); path-- > 0;) {
      if (rows_.adopts(path)) {
        did_[rows_.row_of(path)].add(done_.work(path));
      } else if (tree_.has_parent(path)) {
        adopted_sums::sums& parent = own_[paths_[path].parent];
        parent.operations += own_[path].operations;
        parent.kernels += own_[path].kernels;
      }
    }
    for (std::size_t i = did_.size(); i-- > 0;) {
      std::size_t const above = rows_.rows()[i].above;
      if (above != adoption_rows::no_row) did_[above].add(did_[i]);
    }
  }

  [[nodiscard]] adopted_summary summary_of(std::size_t row) const {
    adoption_rows::row const& entry = rows_.rows()[row];
    adopted_sums::sums const& did = did_[row];
    adopted_sums::sums const& own = own_[entry.path];
    std::string const& role = rows_.roles()[entry.role];
    adopted_summary result;
    result.name = shown_name(paths_[entry.path]);
    result.path = result.name;
    for (std::uint32_t path = paths_[entry.path].parent; path != none; path = paths_[path].parent) {
      result.path = shown_name(paths_[path]) + "/" + result.path;
      ++result.depth;
    }
    result.role = role;
    result.count = did.count;
    result.host_total = to_ms(did.host);
    if (own.count > 0) result.own_host_total = to_ms(own.host);
    if (!has_kernels_) return result;
    result.operations = did.operations;
    result.kernel_time = to_ms(did.kernels);
    result.busy = to_ms(done_.busy(entry.path, role));
    result.own_kernel_time = to_ms(own.kernels);
    if (own.kernels.count() > 0) result.kernel_ratio = *result.kernel_time / *result.own_kernel_time;
    return result;
  }

  own_vector<path_record> const& paths_;
  path_tree const& tree_;
  adopted_sums const& done_;
  bool has_kernels_;
  adoption_rows rows_;
  own_vector<adopted_sums::sums> did_;  ///< work by row
  own_vector<adopted_sums::sums> own_;  ///< work by path outside adopting scopes; operations and kernels include the scopes inside
};

}  // namespace profkit::detail
