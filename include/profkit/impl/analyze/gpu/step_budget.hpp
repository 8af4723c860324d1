// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "../../../kernel_class.hpp"
#include "../../../profile.hpp"
#include "../../../time.hpp"
#include "../../profile/own_containers.hpp"
#include "../../profile/own_memory.hpp"
#include "../kinds/step_kinds.hpp"
#include "../step_kind_summary.hpp"
#include "../time/measured_time.hpp"
#include "../time/path_tree.hpp"
#include "../time/quantiles.hpp"
#include "../time/thread_timeline.hpp"
#include "../windows/state.hpp"
#include "attribution.hpp"
#include "counted_operations.hpp"
#include "gpu_idle.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// By path: the part of the budget that it belongs to, which is the path of a scope directly inside the step, of the step itself, or of the
/// outermost scope of another thread.
inline own_vector<std::uint32_t> budget_parts(own_vector<path_record> const& paths) {
  own_vector<std::uint32_t> result;
  for (std::uint32_t path = 0; path < paths.size(); ++path) {  // parents precede their children
    std::uint32_t const parent = paths[path].parent;
    bool const is_part = parent == path_record::no_parent || paths[parent].is_step;
    result.push_back(is_part ? path : result[parent]);
  }
  return result;
}
inline std::string budget_part_name(path_record const& part) {
  if (part.is_step) return "step itself";
  return shown_name(part) + (part.parent == path_record::no_parent ? " (not in a step)" : "");
}

/// Computes a union of intervals inside the measured steps. Intervals are added in the order of their beginnings.
class union_in_steps {
 public:
  explicit union_in_steps(measured_time const& when) : clip_{when} {}

  /// @param step the step that contains the interval; n/a if no single step contains all of it.
  /// @param visit called with a step and the growth of the union in it.
  template <class Visit>
  void add(interval const& time, std::optional<std::size_t> step, Visit const& visit) {
    if (time.end <= covered_until_) return;
    interval const added{std::max(time.begin, covered_until_), time.end};
    covered_until_ = time.end;
    if (step) return visit(*step, added.duration());
    clip_(added, [&](interval const& part, std::size_t in) { visit(in, part.duration()); });
  }

 private:
  step_clip clip_;
  timestamp covered_until_ = timestamp::min();
};

/// GPU busy time in the measured steps by part of the budget. Figures of several stretches of time add up.
class busy_sums {
 public:
  busy_sums() = default;

  /// Computes the busy time by kind of step.
  /// @param communicates by kernel name: whether its class is `communication`.
  [[nodiscard]] static own_vector<busy_sums> of_kinds(profile const& profile, measured_time const& when, kind_positions const& kinds,
                                                      counted_operations const& operations, own_vector<bool> const& communicates) {
    own_vector<busy_sums> result(kinds.count);
    bool const some_communicate = std::find(communicates.begin(), communicates.end(), true) != communicates.end();
    for (busy_sums& each : result) {
      each.of_path_.resize(profile.paths.size());
      each.some_communicate_ = some_communicate;
    }
    auto const sums_of = [&](std::size_t step) -> busy_sums& { return result[kinds(step)]; };
    for (std::size_t step = 0; step < when.steps().size(); ++step) sums_of(step).wall_ += when.steps()[step].duration();
    union_in_steps all{when};
    union_in_steps copies{when};
    union_in_steps all_but_copies{when};
    union_in_steps communication{when};
    union_in_steps all_but_communication{when};
    step_clip clip{when};
    for (timed_operation const& each : operations.all()) {  // if several run, the moment counts for the one that began first
      std::optional<std::size_t> const step = clip.step_around(each.time);
      // Time without other operations is the union of all operations minus the union of the others.
      all.add(each.time, step, [&](std::size_t in, std::chrono::nanoseconds grown) {
        busy_sums& sums = sums_of(in);
        (each.path == attribution::none ? sums.outside_ : sums.of_path_[each.path]) += grown;
        sums.overlap_ -= grown;
        sums.copies_.alone += grown;
        if (some_communicate) sums.communication_.alone += grown;
      });
      if (step) {
        sums_of(*step).overlap_ += each.time.duration();
      } else {
        clip(each.time, [&](interval const& part, std::size_t in) { sums_of(in).overlap_ += part.duration(); });
      }
      if (each.kind == gpu_operation_kind::kernel) {
        all_but_copies.add(each.time, step, [&](std::size_t in, std::chrono::nanoseconds grown) { sums_of(in).copies_.alone -= grown; });
      } else {
        copies.add(each.time, step, [&](std::size_t in, std::chrono::nanoseconds grown) { sums_of(in).copies_.time += grown; });
      }
      if (!some_communicate) continue;
      if (each.kind == gpu_operation_kind::kernel && communicates[each.name]) {
        communication.add(each.time, step,
                          [&](std::size_t in, std::chrono::nanoseconds grown) { sums_of(in).communication_.time += grown; });
      } else {
        all_but_communication.add(each.time, step,
                                  [&](std::size_t in, std::chrono::nanoseconds grown) { sums_of(in).communication_.alone -= grown; });
      }
    }
    return result;
  }

  [[nodiscard]] std::size_t paths() const noexcept { return of_path_.size(); }

  /// @return the time charged to the scopes with the path themselves.
  [[nodiscard]] std::chrono::nanoseconds of_path(std::size_t path) const {
    return path < of_path_.size() ? of_path_[path] : std::chrono::nanoseconds{};
  }

  /// @return the time of operations launched outside any scope.
  [[nodiscard]] std::chrono::nanoseconds outside() const noexcept { return outside_; }

  /// @param idle idle time of the same steps.
  /// @param paths the paths that both refer to.
  /// @param in_order `paths` in the order of the rows.
  [[nodiscard]] budget_summary summarize(gpu_idle const& idle, own_vector<path_record> const& paths,
                                         own_vector<std::uint32_t> const& in_order) const {
    own_vector<std::uint32_t> const part_of = budget_parts(paths);
    own_vector<row> rows(paths.size() + 1);  // by path of a part; the last row: outside any scope
    rows.back().busy = outside_;
    rows.back().idle = idle.unattributed_by_cause;
    budget_summary result;
    own_hash_map<std::string, std::size_t> known;
    for (std::uint32_t const path : in_order) {
      row& to = rows[part_of[path]];
      if (path < of_path_.size()) to.busy += of_path_[path];
      if (path >= idle.of_path.size() || !idle.of_path[path] || idle.of_path[path]->self.count() == 0) continue;
      gpu_idle::times const& times = *idle.of_path[path];
      add_to(to.idle, times.self_by_cause);
      std::string const name = name_without_place(paths, path);
      std::size_t const position = known.try_emplace(name, result.starving.size()).first->second;
      if (position == result.starving.size()) result.starving.push_back({name, {}, {}});
      starving_scope& starving = result.starving[position];
      starving.total += to_ms(times.self);
      for (std::size_t cause = 0; cause < idle_causes; ++cause) starving.by_cause[cause] += to_ms(times.self_by_cause[cause]);
    }
    own_stable_sort(result.starving.begin(), result.starving.end(),
                    [](starving_scope const& a, starving_scope const& b) { return a.total > b.total; });
    auto const add_line = [&](std::string part, row const& from) {
      std::chrono::nanoseconds const total = from.total();
      if (total.count() == 0) return;
      budget_row line{std::move(part), to_ms(from.busy), {}, {}};
      for (std::size_t cause = 0; cause < idle_causes; ++cause) line.idle[cause] = to_ms(from.idle[cause]);
      line.total = to_ms(total);
      result.busy += line.busy;
      result.rows.push_back(std::move(line));
    };
    for (std::uint32_t const top : in_order) add_line(budget_part_name(paths[top]), rows[top]);
    add_line(outside_any_scope, rows.back());
    result.wall = to_ms(wall_);
    result.has_launches = idle.has_launches();
    result.overlap = to_ms(overlap_);
    result.copies = {to_ms(copies_.time), to_ms(copies_.alone)};
    if (some_communicate_) result.communication = {to_ms(communication_.time), to_ms(communication_.alone)};
    return result;
  }

  auto members() { return listed(of_path_, outside_, summed(wall_), summed(overlap_), copies_, communication_, some_communicate_); }

 private:
  struct shared_time {
    std::chrono::nanoseconds time{};
    std::chrono::nanoseconds alone{};  ///< no operation of another kind ran

    auto members() { return listed(summed(time), summed(alone)); }
  };

  struct row {
    std::chrono::nanoseconds busy{};
    gpu_idle::causes idle{};

    [[nodiscard]] std::chrono::nanoseconds total() const { return std::accumulate(idle.begin(), idle.end(), busy); }
  };

  own_vector<std::chrono::nanoseconds> of_path_;
  std::chrono::nanoseconds outside_{};
  std::chrono::nanoseconds wall_{};
  std::chrono::nanoseconds overlap_{};
  shared_time copies_;
  shared_time communication_;
  bool some_communicate_ = false;
};

/// The inputs that both budgets of a window share.
struct budget_basis {
  /// @param thread result of `thread_of_steps`.
  budget_basis(profile const& whole, attribution const& found, std::optional<std::uint32_t> thread, counted_operations const& counted,
               kernel_class_rules const& classes)
      : records{whole}, launched{found}, steps_thread{thread}, operations{counted}, calls{calls_by_lane(whole, found)} {
    kernel_classifier const classifier{classes};
    for (gpu_name_record const& each : whole.gpu_names) communicates.push_back(classifier.is_communication(each.name));
  }

  profile const& records;
  attribution const& launched;
  std::optional<std::uint32_t> steps_thread;
  counted_operations const& operations;
  own_vector<thread_calls> calls;  ///< by lane
  own_vector<bool> communicates;   ///< by name of operations: whether they communicate
};

/// The step budget: busy and idle time that add up to the wall time. Budgets of several stretches of time, or of several kinds of steps,
/// add up.
struct step_budget {
  step_budget() = default;

  /// Computes the budgets by kind of step.
  /// @param wall the host steps, or the GPU periods.
  /// @param kinds the kinds of these steps.
  [[nodiscard]] static own_vector<step_budget> of_kinds(budget_basis const& from, measured_time const& wall, kind_positions const& kinds) {
    own_vector<busy_sums> busy = busy_sums::of_kinds(from.records, wall, kinds, from.operations, from.communicates);
    own_vector<gpu_idle> idle = find_gpu_idle(from.records, from.launched, from.calls, from.steps_thread, from.operations, wall, kinds);
    own_vector<step_budget> result(kinds.count);
    for (std::size_t kind = 0; kind < kinds.count; ++kind) {
      result[kind].busy = std::move(busy[kind]);
      result[kind].idle = std::move(idle[kind]);
    }
    return result;
  }

  auto members() { return listed(busy, idle); }

  [[nodiscard]] std::size_t paths() const noexcept { return std::max(busy.paths(), idle.of_path.size()); }

  busy_sums busy;
  gpu_idle idle;
};

}  // namespace PROFKIT_NAMESPACE::detail
