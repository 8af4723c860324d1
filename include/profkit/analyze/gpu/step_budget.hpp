// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "../../profile/profile.hpp"
#include "../../profile/time.hpp"
#include "../merge/add_rows.hpp"
#include "../summary.hpp"
#include "../time/durations.hpp"
#include "../time/measured_time.hpp"
#include "../time/path_tree.hpp"
#include "attribution.hpp"
#include "counted_operations.hpp"
#include "gpu_idle.hpp"
#include "idle_stretches.hpp"
#include "kernel_class.hpp"
#include "thread_calls.hpp"

namespace profkit::detail {

/// Computes the length of a union of intervals inside the measured steps. Intervals are added in the order of their beginnings.
class union_in_steps {
 public:
  explicit union_in_steps(measured_time const& when) : clip_{when} {}

  /// @param is_in_step the interval lies completely in one step.
  /// @return the growth of the union.
  std::chrono::nanoseconds add(interval const& time, bool is_in_step) {
    if (time.end <= covered_until_) return {};
    interval const added{std::max(time.begin, covered_until_), time.end};
    std::chrono::nanoseconds const grown = is_in_step ? added.duration() : clip_.length_in(added);
    covered_until_ = time.end;
    length_ += grown;
    return grown;
  }

  [[nodiscard]] std::chrono::nanoseconds length() const noexcept { return length_; }

 private:
  step_clip clip_;
  timestamp covered_until_ = timestamp::min();
  std::chrono::nanoseconds length_{};
};

/// Maps paths to parts of the budget: a scope directly inside the step, the step itself, or the outermost scope of another thread.
class budget_parts {
 public:
  explicit budget_parts(std::vector<path_record> const& paths) : paths_{paths} {
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
  std::vector<path_record> const& paths_;
  std::vector<std::uint32_t> top_of_;
};

/// The name without index and parents: "layer" for `layer_3`, "attention (backward)" for `forward/layer_3/attention (backward)`. Iterations
/// of a loop share it.
inline std::string name_without_place(std::vector<path_record> const& paths, std::uint32_t path) {
  path_record const& record = paths[path];
  if (record.adopted_from == path_record::no_parent) return name_without_index(record);
  return name_without_place(paths, record.adopted_from) + " (" + record.role + ")";
}

/// GPU busy time in the measured steps by part of the budget. Figures of several stretches of time add up.
class busy_sums {
 public:
  busy_sums() = default;

  /// @param communicates by kernel name: whether its class is `communication`.
  busy_sums(profile const& of, measured_time const& when, counted_operations const& operations, std::vector<bool> const& communicates)
      : of_path_(of.paths.size()) {
    for (interval const& step : when.steps()) wall_ += step.duration();
    some_communicate_ = std::find(communicates.begin(), communicates.end(), true) != communicates.end();
    union_in_steps all{when};
    union_in_steps copies{when};
    union_in_steps all_but_copies{when};
    union_in_steps communication{when};
    union_in_steps all_but_communication{when};
    std::chrono::nanoseconds sum{};
    step_clip clip{when};
    for (timed_operation const& each : operations.all()) {  // if several run, the moment counts for the one that began first
      bool const is_in_step = clip.holds(each.time);
      (each.path == attribution::none ? outside_ : of_path_[each.path]).time += all.add(each.time, is_in_step);
      sum += is_in_step ? each.time.duration() : clip.length_in(each.time);
      (each.kind == gpu_operation_kind::kernel ? all_but_copies : copies).add(each.time, is_in_step);
      if (!some_communicate_) continue;
      bool const is_communication = each.kind == gpu_operation_kind::kernel && communicates[each.name];
      (is_communication ? communication : all_but_communication).add(each.time, is_in_step);
    }
    overlap_ = sum - all.length();
    copies_ = {copies.length(), all.length() - all_but_copies.length()};
    if (some_communicate_) communication_ = {communication.length(), all.length() - all_but_communication.length()};
  }

  /// @param path_of maps paths of `other` to paths of this object.
  void add(busy_sums const& other, std::vector<std::uint32_t> const& path_of) {
    add_rows(of_path_, other.of_path_, path_of);
    outside_.add(other.outside_);
    wall_ += other.wall_;
    overlap_ += other.overlap_;
    copies_.add(other.copies_);
    communication_.add(other.communication_);
    some_communicate_ = some_communicate_ || other.some_communicate_;
  }

  /// @param idle idle time of the same steps.
  /// @param paths the paths that both refer to.
  [[nodiscard]] budget_summary summarize(gpu_idle const& idle, std::vector<path_record> const& paths) const {
    budget_parts const part_of{paths};
    std::vector<row> rows(paths.size() + 1);  // by path of a part; the last row: outside any scope
    rows.back().busy = outside_.time;
    rows.back().idle = idle.unattributed_by_cause;
    budget_summary result;
    std::unordered_map<std::string, std::size_t> known;
    for (std::uint32_t path = 0; path < paths.size(); ++path) {
      row& to = rows[part_of(path)];
      if (path < of_path_.size()) to.busy += of_path_[path].time;
      if (path >= idle.of_path.size() || !idle.of_path[path] || idle.of_path[path]->self.count() == 0) continue;
      gpu_idle::times const& times = *idle.of_path[path];
      gpu_idle::add_causes(to.idle, times.self_by_cause);
      std::string const name = name_without_place(paths, path);
      std::size_t const position = known.try_emplace(name, result.starving.size()).first->second;
      if (position == result.starving.size()) result.starving.push_back({name, {}, {}});
      starving_scope& starving = result.starving[position];
      starving.total += to_ms(times.self);
      for (std::size_t cause = 0; cause < idle_causes; ++cause) starving.by_cause[cause] += to_ms(times.self_by_cause[cause]);
    }
    std::stable_sort(result.starving.begin(), result.starving.end(),
                     [](starving_scope const& a, starving_scope const& b) { return a.total > b.total; });
    for (std::size_t top = 0; top < rows.size(); ++top) {
      std::chrono::nanoseconds const total = rows[top].total();
      if (total.count() == 0) continue;
      bool const has_scope = top < paths.size();
      budget_row line{has_scope ? part_of.name_of(static_cast<std::uint32_t>(top)) : "outside any scope", to_ms(rows[top].busy), {}, {}};
      for (std::size_t cause = 0; cause < idle_causes; ++cause) line.idle[cause] = to_ms(rows[top].idle[cause]);
      line.total = to_ms(total);
      result.busy += line.busy;
      result.rows.push_back(std::move(line));
    }
    result.wall = to_ms(wall_);
    result.has_launches = idle.has_launches();
    result.overlap = to_ms(overlap_);
    result.copies = {to_ms(copies_.time), to_ms(copies_.alone)};
    if (some_communicate_) result.communication = {to_ms(communication_.time), to_ms(communication_.alone)};
    return result;
  }

 private:
  struct busy_time {
    std::chrono::nanoseconds time{};

    template <class Archive>
    friend void fields(Archive& archive, busy_time& of) {
      archive.amount(of.time);
    }

    void add(busy_time const& other) { time += other.time; }
  };

  struct shared_time {
    std::chrono::nanoseconds time{};
    std::chrono::nanoseconds alone{};  ///< no operation of another kind ran

    template <class Archive>
    friend void fields(Archive& archive, shared_time& of) {
      archive.amount(of.time), archive.amount(of.alone);
    }

    void add(shared_time const& other) {
      time += other.time;
      alone += other.alone;
    }
  };

  struct row {
    std::chrono::nanoseconds busy{};
    gpu_idle::causes idle{};

    [[nodiscard]] std::chrono::nanoseconds total() const { return std::accumulate(idle.begin(), idle.end(), busy); }
  };

  template <class Archive>
  friend void fields(Archive& archive, busy_sums& of) {
    archive(of.of_path_), archive(of.outside_), archive.amount(of.wall_), archive.amount(of.overlap_), archive(of.copies_);
    archive(of.communication_), archive(of.some_communicate_);
  }

  std::vector<busy_time> of_path_;
  busy_time outside_;
  std::chrono::nanoseconds wall_{};
  std::chrono::nanoseconds overlap_{};
  shared_time copies_;
  shared_time communication_;
  bool some_communicate_ = false;
};

/// The inputs that both budgets of a window share.
struct budget_basis {
  /// @param thread result of `thread_of_steps`.
  budget_basis(profile const& records, attribution const& found, std::optional<std::uint32_t> thread, counted_operations const& counted,
               kernel_class_rules const& classes)
      : of{records}, launched{found}, steps_thread{thread}, operations{counted}, calls{calls_by_lane(records, found)} {
    kernel_classifier const classifier{classes};
    for (gpu_name_record const& each : records.gpu_names) communicates.push_back(classifier.is_communication(each.name));
  }

  profile const& of;
  attribution const& launched;
  std::optional<std::uint32_t> steps_thread;
  counted_operations const& operations;
  std::vector<thread_calls> calls;  ///< by lane
  std::vector<bool> communicates;   ///< by name of operations: whether they communicate
};

/// The step budget: busy and idle time that add up to the wall time. Budgets of several stretches of time add up.
struct step_budget {
  step_budget() = default;

  /// @param wall the host steps, or the GPU periods.
  step_budget(budget_basis const& from, measured_time const& wall)
      : busy{from.of, wall, from.operations, from.communicates},
        idle{find_gpu_idle(from.of, from.launched, from.calls, from.steps_thread, from.operations, wall)} {}

  template <class Archive>
  friend void fields(Archive& archive, step_budget& of) {
    archive(of.busy), archive(of.idle);
  }

  /// @param path_of maps paths of `other` to paths of this object.
  void add(step_budget const& other, std::vector<std::uint32_t> const& path_of) {
    busy.add(other.busy, path_of);
    idle.add(other.idle, path_of);
  }

  busy_sums busy;
  gpu_idle idle;
};

}  // namespace profkit::detail
