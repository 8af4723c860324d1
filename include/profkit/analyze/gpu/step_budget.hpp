// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "../../profile/profile.hpp"
#include "../../profile/time.hpp"
#include "../summary.hpp"
#include "../time/durations.hpp"
#include "../time/measured_time.hpp"
#include "../time/path_tree.hpp"
#include "attribution.hpp"
#include "counted_operations.hpp"
#include "gpu_idle.hpp"
#include "idle_stretches.hpp"
#include "kernel_class.hpp"

namespace profkit::detail {

/// Length of the union of intervals inside the measured steps. Intervals are added in the order in which they begin.
class union_in_steps {
 public:
  explicit union_in_steps(measured_time const& when) : clip_{when} {}

  /// @return by how much it grew.
  std::chrono::nanoseconds add(interval const& time) {
    if (time.end <= covered_until_) return {};
    std::chrono::nanoseconds const grown = clip_.length_in({std::max(time.begin, covered_until_), time.end});
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

/// What a path counts to in the budget: what lies directly in a step, the step itself, or the outermost scope of another thread.
class budget_parts {
 public:
  explicit budget_parts(std::vector<path_record> const& paths) : paths_{paths} {
    for (std::uint32_t path = 0; path < paths.size(); ++path) {  // a parent stands before its children
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

/// "layer" of `layer_3`, "attention (backward)" of `forward/layer_3/attention (backward)`: one name for what a loop does again and again.
inline std::string name_without_place(std::vector<path_record> const& paths, std::uint32_t path) {
  path_record const& record = paths[path];
  if (record.adopted_from == path_record::no_parent) return name_without_index(record);
  return name_without_place(paths, record.adopted_from) + " (" + record.role + ")";
}

/// Where the wall time of the measured steps went.
class step_budget {
 public:
  step_budget(profile const& of, measured_time const& when, counted_operations const& operations, gpu_idle const& idle,
              kernel_class_rules const& classes)
      : of_{of}, part_of_{of.paths}, rows_(of.paths.size() + 1), steps_{when.steps().size()}, has_launches_{idle.has_launches} {
    for (interval const& step : when.steps()) wall_ += step.duration();
    add_busy(when, operations, classes);
    add_idle(idle);
  }

  [[nodiscard]] budget_summary summarize() const {
    budget_summary result;
    result.wall = to_ms(wall_);
    result.steps = steps_;
    result.has_launches = has_launches_;
    for (std::size_t top = 0; top < rows_.size(); ++top) {
      if (rows_[top].total.count() == 0) continue;
      bool const has_scope = top < of_.paths.size();
      budget_row line{has_scope ? part_of_.name_of(static_cast<std::uint32_t>(top)) : "outside any scope", to_ms(rows_[top].busy), {}, {}};
      for (std::size_t cause = 0; cause < idle_causes; ++cause) line.idle[cause] = to_ms(rows_[top].idle[cause]);
      line.total = to_ms(rows_[top].total);
      result.busy += line.busy;
      result.rows.push_back(std::move(line));
    }
    result.overlap = to_ms(overlap_);
    result.copies = copies_;
    result.communication = communication_;
    result.starving = starving_;
    return result;
  }

 private:
  struct row {
    std::chrono::nanoseconds busy{};
    gpu_idle::causes idle{};
    std::chrono::nanoseconds total{};
  };

  /// A moment in which several operations run belongs to the one that began first.
  void add_busy(measured_time const& when, counted_operations const& operations, kernel_class_rules const& classes) {
    kernel_classifier const class_of{classes};
    std::vector<bool> communicates;
    for (gpu_name_record const& each : of_.gpu_names) communicates.push_back(class_of(each.name) == "communication");
    bool const some_communicate = std::find(communicates.begin(), communicates.end(), true) != communicates.end();
    union_in_steps all{when};
    union_in_steps copies{when};
    union_in_steps all_but_copies{when};
    union_in_steps communication{when};
    union_in_steps all_but_communication{when};
    std::chrono::nanoseconds sum{};
    step_clip clip{when};
    for (timed_operation const& each : operations.all()) {
      row& to = rows_[each.path == attribution::none ? of_.paths.size() : part_of_(each.path)];
      std::chrono::nanoseconds const grown = all.add(each.time);
      to.busy += grown;
      to.total += grown;
      sum += clip.length_in(each.time);
      (each.kind == gpu_operation_kind::kernel ? all_but_copies : copies).add(each.time);
      if (!some_communicate) continue;
      bool const is_communication = each.kind == gpu_operation_kind::kernel && communicates[each.name];
      (is_communication ? communication : all_but_communication).add(each.time);
    }
    overlap_ = sum - all.length();
    copies_ = {to_ms(copies.length()), to_ms(all.length() - all_but_copies.length())};
    if (some_communicate) communication_ = {to_ms(communication.length()), to_ms(all.length() - all_but_communication.length())};
  }

  void add_idle(gpu_idle const& idle) {
    std::unordered_map<std::string, std::size_t> known;
    auto const add = [](row& to, gpu_idle::causes const& causes) {
      for (std::size_t cause = 0; cause < idle_causes; ++cause) {
        to.idle[cause] += causes[cause];
        to.total += causes[cause];
      }
    };
    add(rows_.back(), idle.unattributed_by_cause);
    for (std::uint32_t path = 0; path < of_.paths.size(); ++path) {
      if (!idle.of_path[path] || idle.of_path[path]->self.count() == 0) continue;
      gpu_idle::times const& times = *idle.of_path[path];
      add(rows_[part_of_(path)], times.self_by_cause);
      std::string const name = name_without_place(of_.paths, path);
      std::size_t const position = known.try_emplace(name, starving_.size()).first->second;
      if (position == starving_.size()) starving_.push_back({name, {}, {}});
      starving_[position].total += to_ms(times.self);
      for (std::size_t cause = 0; cause < idle_causes; ++cause) starving_[position].by_cause[cause] += to_ms(times.self_by_cause[cause]);
    }
    std::stable_sort(starving_.begin(), starving_.end(),
                     [](starving_scope const& a, starving_scope const& b) { return a.total > b.total; });
  }

  profile const& of_;
  budget_parts part_of_;
  std::vector<row> rows_;  ///< by path of a part; the last: outside any scope
  std::size_t steps_;
  bool has_launches_;
  std::chrono::nanoseconds wall_{};
  std::chrono::nanoseconds overlap_{};
  hidden_work copies_;
  hidden_work communication_;
  std::vector<starving_scope> starving_;
};

}  // namespace profkit::detail
