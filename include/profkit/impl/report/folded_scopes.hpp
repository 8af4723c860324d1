// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "../../summary.hpp"
#include "../profile/own_containers.hpp"
#include "numbers.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// All measured steps as one kind; without steps, the whole session.
inline step_kind_summary kind_of_all(summary const& all) {
  step_kind_summary result;
  result.name = all.covers_steps ? "all steps" : "session";
  result.steps = all.steps.host.count;
  result.gpu_steps = all.gpu ? all.gpu->steps : 0;
  result.times = all.steps;
  result.budget = all.budget;
  for (std::size_t i = 0; i < all.scopes.size(); ++i) {
    scope_summary const& scope = all.scopes[i];
    kind_scope_summary row;
    row.scope = i;
    row.count = scope.host.count;
    row.host = scope.host.total;
    row.host_self = scope.host_self;
    if (scope.gpu) row.busy = scope.gpu->busy;
    if (scope.gpu_idle) {
      row.idle = scope.gpu_idle->inclusive;
      row.idle_self = scope.gpu_idle->self;
    }
    result.scopes.push_back(row);
  }
  if (!all.gpu) return result;
  for (std::size_t i = 0; i < all.gpu->kernels.size(); ++i) {
    duration_summary const& time = all.gpu->kernels[i].time;
    result.kernels.push_back({i, time.count, time.total, time.min.value_or(milliseconds{}), time.max.value_or(milliseconds{}), {}});
  }
  return result;
}

/// The kinds of steps that a report shows: the main kind, which its sections describe, and at most three others. The main kind is the usual
/// kind. If there is none, or if kinds are unknown, it consists of all measured steps.
class report_kinds {
 public:
  static constexpr std::size_t max_shown = 3;  ///< includes the usual kind

  /// @param all must outlive this.
  explicit report_kinds(summary const& all) : summary_{all} {
    if (all.kinds.empty() || !all.kinds.front().is_usual) all_ = kind_of_all(all);
  }

  [[nodiscard]] step_kind_summary const& main() const noexcept { return all_ ? *all_ : summary_.kinds.front(); }

  /// Other kinds that are shown, by number of steps.
  [[nodiscard]] own_vector<step_kind_summary const*> others() const {
    own_vector<step_kind_summary const*> result;
    std::size_t const first = all_ ? 0 : 1;
    for (std::size_t i = first; i < summary_.kinds.size() && i < max_shown; ++i) result.push_back(&summary_.kinds[i]);
    return result;
  }

  [[nodiscard]] std::size_t hidden() const noexcept { return summary_.kinds.size() - std::min(summary_.kinds.size(), max_shown); }

  /// Number of steps of the kinds that are not shown.
  [[nodiscard]] std::uint64_t hidden_steps() const noexcept {
    std::uint64_t result = 0;
    for (std::size_t i = max_shown; i < summary_.kinds.size(); ++i) result += summary_.kinds[i].steps;
    return result;
  }

  /// Whether steps of several kinds were measured.
  [[nodiscard]] bool has_several() const noexcept { return summary_.kinds.size() > 1; }

  /// "usual step" if there are other kinds, otherwise "step"; without steps "session".
  [[nodiscard]] std::string main_words() const {
    if (!summary_.covers_steps) return "session";
    return has_several() && !all_ ? "usual step" : "step";
  }

 private:
  summary const& summary_;
  std::optional<step_kind_summary> all_;
};

/// Divisor from sums over the steps of a kind to host figures per step.
[[nodiscard]] inline double host_steps(step_kind_summary const& kind) noexcept {
  return static_cast<double>(std::max<std::uint64_t>(1, kind.steps));
}

/// Divisor from the sums of a step budget to figures per step.
[[nodiscard]] inline double gpu_steps(budget_summary const& budget) noexcept {
  return static_cast<double>(std::max<std::uint64_t>(1, budget.steps));
}

/// Divisor for all GPU figures of a kind: only steps with kernels collected count.
[[nodiscard]] inline double gpu_steps(step_kind_summary const& kind) noexcept {
  return kind.budget ? gpu_steps(*kind.budget) : static_cast<double>(std::max<std::uint64_t>(1, kind.gpu_steps));
}

/// The mean of the step time (`step_summary::step_time`) if it is known, otherwise of host times; 0 without steps.
[[nodiscard]] inline milliseconds mean_step_time(step_summary const& times) noexcept {
  return times.step_time ? times.step_time->mean : times.host.mean.value_or(milliseconds{});
}

/// The step length of a kind, the denominator of shares: from the budget if there is one, otherwise the step time.
[[nodiscard]] inline milliseconds step_length(step_kind_summary const& kind) noexcept {
  if (kind.budget && kind.budget->wall.count() > 0.0) return kind.budget->wall / gpu_steps(kind);
  return mean_step_time(kind.times);
}

/// The verdict on the step time of the kind.
[[nodiscard]] inline verdict_summary const& main_verdict(step_summary const& times) noexcept {
  std::string const basis = times.step_time ? times.step_time->basis : std::string{};
  if (basis == "GPU step time" && times.gpu_verdict) return *times.gpu_verdict;
  if (basis == "GPU step time (kernels)" && times.gpu_period) return times.gpu_period->verdict;
  return times.host_verdict;
}

/// The times to which `main_verdict` refers.
[[nodiscard]] inline duration_summary const& main_times(step_summary const& times) noexcept {
  std::string const basis = times.step_time ? times.step_time->basis : std::string{};
  if (basis == "GPU step time" && times.gpu) return *times.gpu;
  if (basis == "GPU step time (kernels)" && times.gpu_period) return times.gpu_period->time;
  return times.host;
}

/// The single times to which `main_verdict` refers, in order; means of groups with many steps.
[[nodiscard]] inline own_vector<milliseconds> const& main_samples(step_summary const& times) noexcept {
  duration_summary const* const main = &main_times(times);
  if (times.gpu && main == &*times.gpu) return times.gpu_samples;
  return times.gpu_period && main == &times.gpu_period->time ? times.gpu_period->samples : times.host_samples;
}

/// A row of the folded tree: one scope, or at least three siblings that differ only in their index. Times are per step, in milliseconds.
struct folded_scope {
  struct sibling {
    std::int64_t index = 0;
    double each = 0.0;  ///< mean time of one scope
  };

  std::string name;                   ///< "attention", "layer_3", "layer_*"
  std::string path;                   ///< names below the step, joined with "/"
  std::uint32_t depth = 0;            ///< 0 for a part of the step
  std::optional<std::size_t> parent;  ///< position in the tree
  own_vector<std::size_t> children;   ///< positions, in the order of first appearance
  own_vector<std::size_t> scopes;     ///< positions in `summary::scopes`
  std::size_t folded = 1;             ///< number of siblings in this row
  own_vector<sibling> siblings;       ///< the siblings in a folded row, in the order of their first appearance
  bool is_of_step_thread = true;      ///< inside the step; false for roots of other threads
  double count = 0.0;                 ///< scopes per step
  double time = 0.0;                  ///< busy and idle time; host time if kernels were not collected
  double host = 0.0;
  double host_self = 0.0;
  std::optional<double> busy;
  std::optional<double> idle;
};

/// The code that takes the most time: see `folded_tree::largest_place`.
struct time_place {
  folded_scope const* scope = nullptr;  ///< null: the step
  bool is_itself = false;               ///< without the scopes inside
  bool has_quarter = false;             ///< at least a quarter of the step
  double time = 0.0;                    ///< per step, in milliseconds
};

/// The tree of scopes in the steps of a kind. Three or more siblings that differ only in their index (`PROF_SCOPE_INDEXED`) are one row
/// with their sum; their children are merged in the same way. Digits in names are not interpreted.
class folded_tree {
 public:
  /// @param kind the kind; its scopes refer to `all`.
  folded_tree(summary const& all, step_kind_summary const& kind)
      : summary_{all}, host_steps_{detail::host_steps(kind)}, gpu_steps_{detail::gpu_steps(kind)} {
    own_vector<std::size_t> roots;
    children_.resize(all.scopes.size());
    row_of_.resize(all.scopes.size());
    for (std::size_t i = 0; i < all.scopes.size(); ++i) position_of_.emplace(all.scopes[i].path, i);
    for (kind_scope_summary const& row : kind.scopes) {
      if (row.scope >= all.scopes.size()) continue;
      row_of_[row.scope] = &row;
      has_gpu_ = has_gpu_ || row.busy;
      std::optional<std::size_t> const parent = all.scopes[row.scope].parent;
      if (parent && *parent < row.scope && row_of_[*parent] != nullptr) {
        children_[*parent].push_back(row.scope);
      } else {
        roots.push_back(row.scope);
      }
    }
    bool const has_step = all.covers_steps && kind.steps > 0 && !roots.empty() && roots.front() == 0 && !all.scopes.front().parent;
    if (has_step) {
      step_ = sum_of({roots.front()});
      add_rows(children_[roots.front()], true);
      roots.erase(roots.begin());
    }
    add_rows(roots, !has_step);
  }

  [[nodiscard]] own_vector<folded_scope> const& rows() const noexcept { return rows_; }
  /// The step itself; n/a if no scope is known to be the step.
  [[nodiscard]] std::optional<folded_scope> const& step() const noexcept { return step_; }
  /// Positions of the rows without a parent, in the order of first appearance.
  [[nodiscard]] own_vector<std::size_t> const& roots() const noexcept { return roots_; }
  [[nodiscard]] bool has_gpu() const noexcept { return has_gpu_; }

  /// Sorts siblings by time, longest first. Siblings whose time is not part of the step's time come last.
  [[nodiscard]] own_vector<std::size_t> by_time(own_vector<std::size_t> positions) const {
    own_stable_sort(positions.begin(), positions.end(), [&](std::size_t a, std::size_t b) {
      bool const is_part_a = is_part_of_step(rows_[a]);
      bool const is_part_b = is_part_of_step(rows_[b]);
      return is_part_a != is_part_b ? is_part_a : rows_[a].time > rows_[b].time;
    });
    return positions;
  }

  /// Whether the time of a row is part of the step's time: always for GPU time; for host time only on the step thread.
  [[nodiscard]] bool is_part_of_step(folded_scope const& row) const noexcept { return has_gpu_ || row.is_of_step_thread; }

  /// "multiply", or "multiply in backward" if other rows have the same name.
  [[nodiscard]] std::string unique_name(folded_scope const& scope, char const* suffix = "") const {
    auto const same = std::count_if(rows_.begin(), rows_.end(), [&](folded_scope const& each) { return each.name == scope.name; });
    std::string const name = name_words(scope.name) + suffix;
    return same < 2 || !scope.parent ? name : name + " in " + name_words(rows_[*scope.parent].name);
  }

  /// Time of a row without the rows inside.
  [[nodiscard]] double own_time(folded_scope const& row) const noexcept {
    if (!has_gpu_) return row.host_self;
    double inside = 0.0;
    for (std::size_t const i : row.children) inside += rows_[i].time;
    return std::max(0.0, row.time - inside);
  }

  /// Time of all roots, over all threads.
  [[nodiscard]] double sum_of_roots() const noexcept {
    double sum = 0.0;
    for (std::size_t const i : roots_) sum += rows_[i].time;
    return sum;
  }

  /// The place to begin with, which all sentences of a report name. Places are scopes, and the own code of scopes with other scopes inside
  /// and of the step. The result is the longest of the innermost places with a quarter of the time; if none has a quarter, with half of the
  /// longest part. n/a without times. @param whole the time of the step; 0: the sum of the roots.
  [[nodiscard]] std::optional<time_place> largest_place(double whole) const {
    double own = step_ ? step_->time : 0.0;
    double longest = 0.0;
    for (std::size_t const i : roots_) {
      if (!is_part_of_step(rows_[i])) continue;
      if (rows_[i].is_of_step_thread) own -= rows_[i].time;
      longest = std::max(longest, rows_[i].time);
    }
    double const quarter = 0.25 * (whole > 0.0 ? whole : sum_of_roots());
    longest = std::max(longest, own);
    time_place best;
    best.has_quarter = longest >= quarter;
    double const least = best.has_quarter ? quarter : 0.5 * longest;
    auto const offer = [&](folded_scope const* scope, bool is_itself, double time) {
      if (time >= least && time > best.time) best = {scope, is_itself, best.has_quarter, time};
    };
    for (folded_scope const& row : rows_) {
      if (!is_part_of_step(row)) continue;
      bool const is_itself = !row.children.empty() && own_time(row) >= least;
      bool const has_large_child =
          std::any_of(row.children.begin(), row.children.end(), [&](std::size_t i) { return rows_[i].time >= least; });
      if (is_itself || !has_large_child) offer(&row, is_itself, is_itself ? own_time(row) : row.time);
    }
    offer(nullptr, true, own);
    return best.time > 0.0 ? std::optional{best} : std::nullopt;
  }

  /// "multiply", "multiply itself", "multiply in backward", "code outside any scope".
  [[nodiscard]] std::string name_of(time_place const& place) const {
    if (place.scope == nullptr) return "code outside any scope";
    return unique_name(*place.scope, place.is_itself ? " itself" : "");
  }

  /// "layer_*" for "layer_3" with the index 3; the name of a scope without an index.
  [[nodiscard]] static std::string without_index(scope_summary const& scope) {
    if (!scope.index) return scope.name;
    std::string const index = std::to_string(*scope.index);
    bool const fits = scope.name.size() > index.size() && scope.name.compare(scope.name.size() - index.size(), index.size(), index) == 0;
    return fits ? scope.name.substr(0, scope.name.size() - index.size()) + "*" : scope.name;
  }

 private:
  /// The key by which siblings are grouped: the name. For a scope with an index: the name of its folded row, and the index.
  using key = std::pair<std::string, std::optional<std::int64_t>>;
  static constexpr std::int64_t any_index = std::numeric_limits<std::int64_t>::min();

  /// The key of an adopting scope. Its name consists of the path of the adopted scope and a role, such as "forward/layer_3/softmax
  /// (backward)". The key is that path without indices, and the first index.
  [[nodiscard]] std::optional<key> adopted_key(scope_summary const& scope) const {
    std::size_t const role = scope.name.rfind(" (");
    if (role == std::string::npos || scope.name.back() != ')') return std::nullopt;
    std::string const path = scope.name.substr(0, role);
    std::string const& step = summary_.scopes.front().path;
    auto at = position_of_.find(step + "/" + path);
    if (at == position_of_.end()) at = position_of_.find(path);
    if (at == position_of_.end()) return std::nullopt;
    own_vector<std::size_t> around;  // innermost first
    for (std::optional<std::size_t> each = at->second; each; each = summary_.scopes[*each].parent) {
      scope_summary const& adopted = summary_.scopes[*each];
      if (!adopted.parent && adopted.path == step) break;
      around.push_back(*each);
    }
    key result;
    for (auto each = around.rbegin(); each != around.rend(); ++each) {
      scope_summary const& adopted = summary_.scopes[*each];
      if (adopted.index && !result.second) result.second = adopted.index;
      result.first.append(each == around.rbegin() ? "" : "/").append(without_index(adopted));
    }
    result.first.append(scope.name, role);
    return result.second ? std::optional{result} : std::nullopt;
  }

  [[nodiscard]] key key_of(scope_summary const& scope) const {
    if (scope.index) return {without_index(scope), scope.index};
    return adopted_key(scope).value_or(key{scope.name, std::nullopt});
  }

  [[nodiscard]] folded_scope sum_of(own_vector<std::size_t> const& scopes) const {
    folded_scope result;
    for (std::size_t const scope : scopes) {
      kind_scope_summary const& row = *row_of_[scope];
      result.count += static_cast<double>(row.count) / host_steps_;
      result.host += row.host.count() / host_steps_;
      result.host_self += row.host_self.count() / host_steps_;
      if (row.busy) result.busy = result.busy.value_or(0.0) + row.busy->count() / gpu_steps_;
      if (row.idle) result.idle = result.idle.value_or(0.0) + row.idle->count() / gpu_steps_;
    }
    result.time = has_gpu_ ? result.busy.value_or(0.0) + result.idle.value_or(0.0) : result.host;
    return result;
  }

  /// The scopes of one row.
  struct group {
    key name;
    bool is_folded;
    std::optional<std::size_t> parent;  ///< the row around it
    own_vector<std::size_t> members;
  };

  /// Adds the rows of siblings and of all scopes inside them, depth first.
  void add_rows(own_vector<std::size_t> const& siblings, bool is_of_step_thread) {
    own_vector<group> waiting;  // the next one last
    add_groups(waiting, siblings, std::nullopt);
    while (!waiting.empty()) {
      group const next = std::move(waiting.back());
      waiting.pop_back();
      std::size_t const row = add_row(next, is_of_step_thread);
      own_vector<std::size_t> children;
      for (std::size_t const scope : next.members) children.insert(children.end(), children_[scope].begin(), children_[scope].end());
      add_groups(waiting, children, row);
    }
  }

  /// Groups siblings, or the children of all scopes of a row.
  void add_groups(own_vector<group>& waiting, own_vector<std::size_t> const& scopes, std::optional<std::size_t> parent) const {
    std::map<std::string, std::set<std::int64_t>> indices;
    for (std::size_t const scope : scopes) {
      key const name = key_of(summary_.scopes[scope]);
      if (name.second) indices[name.first].insert(*name.second);
    }
    constexpr std::size_t min_folded = 3;
    std::size_t const first = waiting.size();
    std::map<key, std::size_t> position;
    for (std::size_t const scope : scopes) {
      key name = key_of(summary_.scopes[scope]);
      bool const is_folded = name.second && indices[name.first].size() >= min_folded;
      if (is_folded) name.second = any_index;
      std::size_t const at = position.try_emplace(name, waiting.size()).first->second;
      if (at == waiting.size()) waiting.push_back({std::move(name), is_folded, parent, {}});
      waiting[at].members.push_back(scope);
    }
    std::reverse(waiting.begin() + static_cast<std::ptrdiff_t>(first), waiting.end());
  }

  /// @return its position.
  std::size_t add_row(group const& from, bool is_of_step_thread) {
    folded_scope row = sum_of(from.members);
    row.name = from.is_folded ? from.name.first : summary_.scopes[from.members.front()].name;
    row.path = from.parent ? rows_[*from.parent].path + "/" + row.name : row.name;
    row.depth = from.parent ? rows_[*from.parent].depth + 1 : 0;
    row.parent = from.parent;
    row.is_of_step_thread = is_of_step_thread;
    row.scopes = from.members;
    if (from.is_folded) add_siblings(row, from.members);
    std::size_t const position = rows_.size();
    rows_.push_back(std::move(row));
    (from.parent ? rows_[*from.parent].children : roots_).push_back(position);
    return position;
  }

  void add_siblings(folded_scope& row, own_vector<std::size_t> const& members) const {
    own_vector<std::pair<std::int64_t, own_vector<std::size_t>>> of_index;
    std::map<std::int64_t, std::size_t> position;
    for (std::size_t const scope : members) {
      std::int64_t const index = key_of(summary_.scopes[scope]).second.value_or(0);
      std::size_t const at = position.try_emplace(index, of_index.size()).first->second;
      if (at == of_index.size()) of_index.emplace_back(index, own_vector<std::size_t>{});
      of_index[at].second.push_back(scope);
    }
    row.folded = of_index.size();
    for (auto const& [index, scopes] : of_index) {
      folded_scope const sum = sum_of(scopes);
      row.siblings.push_back({index, sum.count > 0.0 ? sum.time / sum.count : sum.time});
    }
  }

  summary const& summary_;
  double host_steps_;
  double gpu_steps_;
  bool has_gpu_ = false;
  own_hash_map<std::string, std::size_t> position_of_;
  own_vector<kind_scope_summary const*> row_of_;
  own_vector<own_vector<std::size_t>> children_;
  own_vector<folded_scope> rows_;
  own_vector<std::size_t> roots_;
  std::optional<folded_scope> step_;
};

}  // namespace PROFKIT_NAMESPACE::detail
