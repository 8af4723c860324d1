// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "../../../profile.hpp"
#include "../../../time.hpp"
#include "../../profile/own_memory.hpp"
#include "../time/measured_time.hpp"
#include "../time/path_tree.hpp"
#include "kind_positions.hpp"

namespace profkit::detail {

/// Classifies the steps of a measured time. A kind is a set of parts: the names of the scopes directly inside the step, on the thread of
/// the step. Indices are ignored: `layer_0` and `layer_1` are one part.
class step_kinds {
 public:
  /// Takes time proportional to the number of scopes (n log n in the number of parts if these are out of order).
  /// @param when must outlive this object.
  step_kinds(profile const& profile, measured_time const& when) : when_{when}, of_step_(when.steps().size()) {
    if (of_step_.empty()) return;
    find_parts(profile);
    find_kinds();
  }

  /// @return the kinds, in the order of their first steps.
  [[nodiscard]] own_vector<occurring_kind> const& all() const noexcept { return kinds_; }

  /// @param step position in `measured_time::steps`.
  [[nodiscard]] kind_key of_step(std::size_t step) const { return kinds_[of_step_[step]].key; }

  /// @param begin beginning of a measured step.
  [[nodiscard]] kind_key of_step_at(timestamp begin) const {
    std::optional<std::size_t> const step = when_.has_steps() ? when_.step_of(begin) : std::nullopt;
    return step ? of_step(*step) : no_kind;
  }

 private:
  static constexpr std::uint32_t not_a_part = 0xffffffffU;

  struct part_of_step {
    std::size_t step;
    std::uint32_t part;  ///< position in `names_`
    std::uint64_t thread;

    [[nodiscard]] bool operator<(part_of_step const& other) const { return std::tie(step, part) < std::tie(other.step, other.part); }
  };

  /// Fills `names_` in alphabetical order.
  /// @return positions in `names_`, by path.
  [[nodiscard]] own_vector<std::uint32_t> parts_by_path(own_vector<path_record> const& paths) {
    own_vector<std::uint32_t> result(paths.size(), not_a_part);
    std::map<std::string, own_vector<std::uint32_t>> by_name;
    for (std::uint32_t path = 0; path < paths.size(); ++path) {
      std::uint32_t const parent = paths[path].parent;
      if (parent != path_record::no_parent && paths[parent].is_step) by_name[name_without_place(paths, path)].push_back(path);
    }
    for (auto const& [name, of_name] : by_name) {
      for (std::uint32_t const path : of_name) result[path] = static_cast<std::uint32_t>(names_.size());
      names_.push_back(name);
    }
    return result;
  }

  void find_parts(profile const& profile) {
    own_vector<std::uint32_t> const part_of = parts_by_path(profile.paths);
    own_vector<std::optional<std::uint64_t>> thread_of(of_step_.size());  // of the step's own scope
    measured_time_cursor in{when_};
    // A step with many scopes of few names needs few entries, which are cheap to sort.
    std::size_t last_step = of_step_.size();
    std::uint64_t last_thread = 0;
    std::uint64_t run = 0;                              // number of runs of scopes of one thread in one step
    own_vector<std::uint64_t> last_run(names_.size());  // by part: the last run with it
    for (scope_record const& scope : profile.scopes) {
      std::uint32_t const part = part_of[scope.path];
      if (part == not_a_part && !profile.paths[scope.path].is_step) continue;
      std::optional<std::size_t> const step = in.step_of(when_.moment_of(scope));
      if (!step) continue;
      std::uint64_t const thread = profile.threads[scope.thread].system_id;
      if (part != not_a_part) {
        if (last_step != *step || last_thread != thread) {
          last_step = *step;
          last_thread = thread;
          ++run;
        }
        if (std::exchange(last_run[part], run) != run) parts_.push_back({*step, part, thread});
      } else if (interval const& time = when_.steps()[*step]; scope.time.begin == time.begin && scope.time.end == time.end) {
        thread_of[*step] = thread;
      }
    }
    auto const is_elsewhere = [&](part_of_step const& each) { return thread_of[each.step].value_or(each.thread) != each.thread; };
    parts_.erase(std::remove_if(parts_.begin(), parts_.end(), is_elsewhere), parts_.end());
    if (!std::is_sorted(parts_.begin(), parts_.end())) std::sort(parts_.begin(), parts_.end());
  }

  void find_kinds() {
    std::map<own_vector<std::uint32_t>, std::uint32_t> known;
    own_vector<std::uint32_t> parts;  // of a step
    auto next = parts_.begin();
    for (std::size_t step = 0; step < of_step_.size(); ++step) {
      parts.clear();
      for (; next != parts_.end() && next->step == step; ++next) {
        if (parts.empty() || parts.back() != next->part) parts.push_back(next->part);
      }
      auto const [kind, is_new] = known.try_emplace(parts, static_cast<std::uint32_t>(kinds_.size()));
      if (is_new) add_kind(parts, when_.steps()[step].begin);
      of_step_[step] = kind->second;
    }
  }

  void add_kind(own_vector<std::uint32_t> const& parts, timestamp first) {
    occurring_kind& added = kinds_.emplace_back();
    for (std::uint32_t const part : parts) added.parts.insert(names_[part]);
    added.key = key_of(added.parts);
    added.first = first;
  }

  measured_time const& when_;
  own_vector<std::string> names_;   ///< names of the parts
  own_vector<part_of_step> parts_;  ///< in the order of the steps
  own_vector<occurring_kind> kinds_;
  own_vector<std::uint32_t> of_step_;  ///< position in `kinds_`
};

}  // namespace profkit::detail
