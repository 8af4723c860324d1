// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "../../../time.hpp"
#include "../../profile/own_memory.hpp"
#include "../gpu/counted_operations.hpp"
#include "../gpu/gpu_step_periods.hpp"
#include "../gpu/step_budget.hpp"
#include "../time/measured_time.hpp"
#include "../windows/state.hpp"
#include "step_kinds.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The wall time of a budget, with the kinds of its steps.
struct wall_by_kind {
  /// Host step times.
  /// @param found the kinds of all steps.
  /// @param steps the steps that count.
  wall_by_kind(step_kinds const& found, measured_time const& steps) : time{steps} {
    for (interval const& step : steps.steps()) kinds.push_back(found.of_step_at(step.begin));
  }

  /// GPU periods.
  explicit wall_by_kind(own_vector<gpu_wall_part> const& parts) : time{times_of(parts)}, is_of_gpu{true} {
    for (gpu_wall_part const& each : parts) kinds.push_back(each.kind);
  }

  measured_time time;
  own_vector<kind_key> kinds{};  ///< by step
  bool is_of_gpu = false;

 private:
  static measured_time times_of(own_vector<gpu_wall_part> const& parts) {
    own_vector<interval> times;
    times.reserve(parts.size());
    for (gpu_wall_part const& each : parts) times.push_back(each.time);
    return measured_time::of_stretches(std::move(times));
  }
};

/// Kernel time by name and by the path that the kernels are charged to. Sums of several windows add up.
class launched_kernels {
 public:
  /// Maximum number of pairs of name and path. Kernels of further pairs count as launched outside any scope.
  static constexpr std::size_t max_pairs = std::size_t{1} << 14U;

  struct row {
    std::uint32_t name = 0;
    std::uint32_t path = attribution::none;
    std::uint64_t count = 0;  ///< 0: there is no such kernel
    std::chrono::nanoseconds total{};
    std::chrono::nanoseconds min = std::chrono::nanoseconds::max();
    std::chrono::nanoseconds max{};

    auto members() { return listed(name, path, count, summed(total), min, max); }
  };

  void add(std::uint32_t name, std::uint32_t path, std::chrono::nanoseconds time) {
    row& to = row_of(name, path);
    ++to.count;
    to.total += time;
    to.min = std::min(to.min, time);
    to.max = std::max(to.max, time);
  }

  /// @param visit called with each row that has kernels.
  template <class Visit>
  void for_each(Visit const& visit) const {
    for (row const& each : pairs_) visit(each);
    for (row const& each : outside_) {
      if (each.count > 0) visit(each);
    }
  }

  [[nodiscard]] std::size_t paths() const noexcept {
    std::size_t result = 0;
    for (row const& each : pairs_) result = std::max(result, each.path + std::size_t{1});
    return result;
  }

 private:
  template <class Archive>
  friend void fields(Archive& archive, launched_kernels& value) {
    archive(value.pairs_), archive(value.outside_);
    if constexpr (Archive::is_reader) {
      bool is_right = value.pairs_.size() <= max_pairs;
      for (std::uint16_t i = 0; is_right && i < value.pairs_.size(); ++i)
        is_right = value.pairs_[i].path != attribution::none &&
                   std::exchange(value.place_of(value.pairs_[i].name, value.pairs_[i].path), i + 1) == 0;
      for (std::size_t name = 0; name < value.outside_.size(); ++name)
        is_right = is_right && value.outside_[name].name == name && value.outside_[name].path == attribution::none;
      archive.check(is_right, "kernels with a wrong name or path");
    }
  }

  /// The place of a pair in `places_`; 0 if the pair is new. Linear probing in a table that is at most half full.
  std::uint16_t& place_of(std::uint32_t name, std::uint32_t path) {
    if (places_.empty()) places_.resize(2 * max_pairs);
    for (std::size_t at = ((std::uint64_t{name} << 32U | path) * 0x9e3779b97f4a7c15U) >> 40U;; ++at) {
      std::uint16_t& place = places_[at % (2 * max_pairs)];
      if (place == 0 || (pairs_[place - 1U].name == name && pairs_[place - 1U].path == path)) return place;
    }
  }

  row& row_of(std::uint32_t name, std::uint32_t path) {
    if (path == attribution::none) return row_outside(name);
    std::uint16_t& place = place_of(name, path);
    if (place != 0) return pairs_[place - 1U];
    if (pairs_.size() >= max_pairs) return row_outside(name);
    pairs_.push_back({name, path});
    place = static_cast<std::uint16_t>(pairs_.size());
    return pairs_.back();
  }

  row& row_outside(std::uint32_t name) {
    for (std::uint32_t next = static_cast<std::uint32_t>(outside_.size()); next <= name; ++next) outside_.emplace_back().name = next;
    return outside_[name];
  }

  own_vector<row> pairs_;             ///< in the order of first appearance
  own_vector<row> outside_;           ///< kernels without a path, by name
  own_vector<std::uint16_t> places_;  ///< hash table of the pairs: 1 + position in `pairs_`; 0: free
};

struct kind_figures {
  struct scopes_of_path {
    std::uint64_t count = 0;
    std::chrono::nanoseconds time{};
    std::chrono::nanoseconds self{};

    auto members() { return listed(count, summed(time), self); }
  };

  auto members() { return listed(parts, first, summed(gpu_steps), scopes, kernels, budget_in_steps, budget_in_gpu_periods); }

  /// @return the number of paths with figures.
  [[nodiscard]] std::size_t paths() const noexcept {
    return std::max({scopes.size(), kernels.paths(), budget_in_steps.paths(), budget_in_gpu_periods.paths()});
  }

  [[nodiscard]] step_budget& budget(bool is_of_gpu) noexcept { return is_of_gpu ? budget_in_gpu_periods : budget_in_steps; }
  [[nodiscard]] step_budget const& budget(bool is_of_gpu) const noexcept { return is_of_gpu ? budget_in_gpu_periods : budget_in_steps; }

  std::set<std::string> parts{};       ///< empty until a window with such a step is added
  timestamp first = timestamp::max();  ///< beginning of the first known step
  std::uint64_t gpu_steps = 0;         ///< number of steps with kernels collected
  own_vector<scopes_of_path> scopes;   ///< by path
  launched_kernels kernels;
  step_budget budget_in_steps;        ///< for host step times; `analysis::finish` chooses one of the two
  step_budget budget_in_gpu_periods;  ///< for GPU periods
};

/// The kinds of the measured steps, in bounded memory. The table distinguishes the `max_kinds` kinds that occur first. All further kinds
/// share the key `other_kinds`. The figures do not depend on the cut into windows.
class kind_table {
 public:
  static constexpr std::size_t max_kinds = 16;

  /// Adds kinds without figures.
  /// @param found the kinds of the steps of a window.
  /// @param gpu_wall GPU periods, also of earlier steps.
  void enter(own_vector<occurring_kind> const& found, own_vector<gpu_wall_part> const& gpu_wall = {}) {
    std::map<kind_key, occurring_kind> added;
    auto const add_kind = [&](kind_key key, std::set<std::string> const& parts, timestamp first) {
      if (key == other_kinds || key == no_kind) return;
      if (auto const known = kinds_.find(key); known != kinds_.end()) {
        if (known->second.parts.empty()) known->second.parts = parts;
        return;
      }
      occurring_kind& kind = added.try_emplace(key, occurring_kind{key}).first->second;
      kind.first = std::min(kind.first, first);
      if (kind.parts.empty()) kind.parts = parts;
    };
    for (occurring_kind const& each : found) add_kind(each.key, each.parts, each.first);
    for (gpu_wall_part const& each : gpu_wall) add_kind(each.kind, {}, each.step);
    own_vector<std::pair<timestamp, kind_key>> order;
    for (auto const& [key, kind] : added) order.emplace_back(kind.first, key);
    std::sort(order.begin(), order.end());
    for (auto const& [first, key] : order) {
      if (kinds_.size() == max_kinds) return;
      kind_figures& kind = kinds_[key];
      kind.parts = std::move(added[key].parts);
      kind.first = first;
    }
  }

  /// Adds the budgets of a window.
  /// @param wall host step times, or GPU periods.
  void add(budget_basis const& basis, wall_by_kind const& wall) {
    own_vector<kind_key> kept_kinds;  // only few, so that the budgets of a window with many kinds fit into memory
    kept_kinds.reserve(wall.kinds.size());
    for (kind_key const each : wall.kinds) kept_kinds.push_back(kept(each));
    kind_positions const kinds{kept_kinds};
    own_vector<step_budget> const budgets = step_budget::of_kinds(basis, wall.time, kinds);
    for (std::size_t i = 0; i < budgets.size(); ++i) add_to((*this)[kinds.keys[i]].budget(wall.is_of_gpu), budgets[i]);
  }

  /// @return the key under which the figures of a kind are: its own or `other_kinds`.
  [[nodiscard]] kind_key kept(kind_key kind) const { return kind == no_kind || kinds_.count(kind) > 0 ? kind : other_kinds; }

  [[nodiscard]] kind_figures& operator[](kind_key kind) {
    auto const known = kinds_.find(kind);
    return known == kinds_.end() ? others_ : known->second;
  }

  /// Whether all positions of paths are below a number, and no self time is longer than its scopes.
  [[nodiscard]] bool is_in(std::size_t paths) const {
    bool result = true;
    for_each([&](kind_key, kind_figures const& each) {
      result = result && each.paths() <= paths;
      for (auto const& scopes : each.scopes) result = result && scopes.self.count() >= 0 && scopes.self <= scopes.time;  // cannot overflow
    });
    return result;
  }

  template <class Condition>
  [[nodiscard]] bool all_kernels(Condition const& holds) const {
    bool result = true;
    for_each([&](kind_key, kind_figures const& each) {
      each.kernels.for_each([&](launched_kernels::row const& row) { result = result && holds(row.name); });
    });
    return result;
  }

  [[nodiscard]] step_budget sum_of_budgets(bool is_of_gpu, std::size_t paths) const {
    step_budget result;
    result.idle.of_path.resize(paths);
    for_each([&](kind_key, kind_figures const& each) { add_to(result, each.budget(is_of_gpu)); });
    return result;
  }

  /// @param visit called with the key and the figures of each kind; `other_kinds` comes last.
  template <class Visit>
  void for_each(Visit const& visit) const {
    for (auto const& [key, each] : kinds_) visit(key, each);
    visit(other_kinds, others_);
  }

 private:
  template <class Archive>
  friend void fields(Archive& archive, kind_table& value) {
    archive(value.kinds_), archive(value.others_);
    if constexpr (Archive::is_reader) {
      archive.check(value.kinds_.size() <= max_kinds && value.kinds_.count(no_kind) + value.kinds_.count(other_kinds) == 0,
                    "there are too many kinds of steps");
    }
  }

  std::map<kind_key, kind_figures> kinds_;
  kind_figures others_;
};

}  // namespace PROFKIT_NAMESPACE::detail
