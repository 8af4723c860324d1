// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
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
#include "../gpu/attribution.hpp"
#include "../time/measured_time.hpp"
#include "../time/path_tree.hpp"
#include "../windows/state.hpp"
#include "kind_names.hpp"

namespace profkit::detail {

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

    auto members() { return listed(name, path, count, amount(total), min, max); }
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

  /// @return the number of paths with figures.
  [[nodiscard]] std::size_t paths() const noexcept {
    std::size_t result = 0;
    for (row const& each : pairs_) result = std::max(result, each.path + std::size_t{1});
    return result;
  }

 private:
  /// The hash table is not stored; reading rebuilds it.
  template <class Archive>
  friend void fields(Archive& archive, launched_kernels& value) {
    archive(value.pairs_), archive(value.outside_);
    if constexpr (Archive::is_reader) {
      bool is_right = value.pairs_.size() <= max_pairs;
      for (row const& each : value.pairs_) is_right = is_right && each.path != attribution::none;
      for (std::size_t name = 0; name < value.outside_.size(); ++name)
        is_right = is_right && value.outside_[name].name == name && value.outside_[name].path == attribution::none;
      archive.check(is_right, "kernels with a wrong name or path");
      value.enter_all();
    }
  }

  /// Searches with linear probing in a table that is at most a quarter full. The tags keep most searches away from the rows of other pairs,
  /// because the table is small enough for a processor's cache.
  row& row_of(std::uint32_t name, std::uint32_t path) {
    if (path == attribution::none) return row_outside(name);
    if (slots_.empty()) slots_.resize(first_size);
    std::uint64_t const hash = hash_of(name, path);
    for (std::size_t at = first_slot(hash);; at = (at + 1) & (slots_.size() - 1)) {
      std::uint32_t const slot = slots_[at];
      if (slot == empty_slot) return add_pair(name, path);
      if ((slot & ~position_bits) != tag_of(hash)) continue;
      row& found = pairs_[(slot & position_bits) - 1];
      if (found.name == name && found.path == path) return found;
    }
  }

  row& row_outside(std::uint32_t name) {
    for (std::uint32_t next = static_cast<std::uint32_t>(outside_.size()); next <= name; ++next) outside_.emplace_back().name = next;
    return outside_[name];
  }

  row& add_pair(std::uint32_t name, std::uint32_t path) {
    if (pairs_.size() >= max_pairs) return row_outside(name);
    row& added = pairs_.emplace_back();
    added.name = name;
    added.path = path;
    if (slots_.size() < 4 * pairs_.size()) {
      enter_all();
    } else {
      enter(pairs_.size() - 1);
    }
    return added;
  }

  /// Computes the hash table.
  void enter_all() {
    std::size_t size = first_size;
    while (size < 4 * pairs_.size()) size *= 2;
    slots_.assign(size, empty_slot);
    for (std::size_t position = 0; position < pairs_.size(); ++position) enter(position);
  }

  /// Enters a pair that the hash table does not contain.
  void enter(std::size_t position) {
    std::uint64_t const hash = hash_of(pairs_[position].name, pairs_[position].path);
    std::size_t at = first_slot(hash);
    while (slots_[at] != empty_slot) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = tag_of(hash) | static_cast<std::uint32_t>(position + 1);
  }

  static std::uint64_t hash_of(std::uint32_t name, std::uint32_t path) noexcept {
    return (std::uint64_t{name} << 32U | path) * 0x9e3779b97f4a7c15U;
  }
  static std::uint32_t tag_of(std::uint64_t hash) noexcept { return static_cast<std::uint32_t>(hash >> 16U) & ~position_bits; }
  [[nodiscard]] std::size_t first_slot(std::uint64_t hash) const noexcept { return (hash >> 48U) & (slots_.size() - 1); }

  static constexpr std::uint32_t empty_slot = 0;
  static constexpr std::uint32_t position_bits = 0x7fff;  ///< slot: 1 + position in `pairs_`; the other bits are from the hash
  static constexpr std::size_t first_size = 64;
  static_assert(max_pairs <= position_bits);

  own_vector<row> pairs_;            ///< in the order of first appearance
  own_vector<row> outside_;          ///< kernels without a path, by name
  own_vector<std::uint32_t> slots_;  ///< hash table of `pairs_`; its size is a power of two
};

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
