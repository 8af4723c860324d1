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
#include <string_view>
#include <tuple>
#include <utility>

#include "../../../profile.hpp"
#include "../../../time.hpp"
#include "../../profile/own_containers.hpp"
#include "../../profile/own_memory.hpp"
#include "../gpu/attribution.hpp"
#include "../step_kind_summary.hpp"
#include "../time/measured_time.hpp"
#include "../time/path_tree.hpp"
#include "../windows/state.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Identifies a kind of step in all windows and sessions: a hash of the names of its parts.
using kind_key = std::uint64_t;

inline constexpr kind_key no_kind = 0;                                         ///< steps that are not measured
inline constexpr kind_key other_kinds = std::numeric_limits<kind_key>::max();  ///< all kinds beyond the bound of `kind_table`

/// FNV-1a. Source: G. Fowler, L. C. Noll, K.-P. Vo, D. Eastlake, "The FNV Non-Cryptographic Hash Algorithm", IETF draft.
inline kind_key key_of(std::set<std::string> const& parts) {
  constexpr std::uint64_t prime = 0x100000001b3U;
  kind_key result = 0xcbf29ce484222325U;
  for (std::string const& part : parts) {
    for (char const each : part) result = (result ^ static_cast<unsigned char>(each)) * prime;
    result = (result ^ 0xffU) * prime;  // separates the names; 0xff does not occur in UTF-8
  }
  return result == no_kind || result == other_kinds ? 1 : result;
}

/// A kind of step that occurs in some stretch of time.
struct occurring_kind {
  kind_key key = no_kind;
  std::set<std::string> parts{};       ///< empty if only the key is known
  timestamp first = timestamp::max();  ///< the beginning of its first step
};

/// The kinds of the steps of a measured time, as positions in a list.
struct kind_positions {
  /// All steps have the same kind.
  kind_positions() = default;

  /// @param of_steps the kinds of the steps, in time order.
  explicit kind_positions(own_vector<kind_key> const& of_steps) {
    own_hash_map<kind_key, std::uint32_t> position_of;
    for (kind_key const kind : of_steps) {
      auto const [known, is_new] = position_of.try_emplace(kind, static_cast<std::uint32_t>(keys.size()));
      of_step.push_back(known->second);
      if (is_new) keys.push_back(kind);
    }
    if (keys.empty()) keys.push_back(other_kinds);  // for figures that belong to no step
    count = keys.size();
  }

  /// @return the position of the kind of a step.
  [[nodiscard]] std::uint32_t operator()(std::size_t step) const { return of_step.empty() ? 0 : of_step[step]; }

  own_vector<kind_key> keys{};
  own_vector<std::uint32_t> of_step{};
  std::size_t count = 1;  ///< number of kinds, at least 1
};

/// @return "a and b", or "a, b and 3 more".
inline std::string some_of(own_vector<std::string> const& names) {
  constexpr std::size_t max_names = 3;
  std::string result;
  std::size_t const shown = names.size() <= max_names ? names.size() : max_names - 1;
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) result += i + 1 == names.size() ? " and " : ", ";
    result += names[i];
  }
  if (shown < names.size()) result += " and " + std::to_string(names.size() - shown) + " more";
  return result;
}

/// @return the elements of `parts` that are not in `others`, in their order.
inline own_vector<std::string> parts_not_in(own_vector<std::string> const& parts, own_vector<std::string> const& others) {
  own_hash_set<std::string_view> const known{others.begin(), others.end()};
  own_vector<std::string> result;
  for (std::string const& each : parts) {
    if (known.count(each) == 0) result.push_back(each);
  }
  return result;
}

inline own_vector<std::string> common_parts(own_vector<step_kind_summary> const& kinds) {
  own_vector<std::string> result = kinds.front().parts;
  for (step_kind_summary const& each : kinds) {
    own_vector<std::string> const missing = parts_not_in(result, each.parts);
    result = parts_not_in(result, missing);
  }
  return result;
}

/// Marks the usual kind, and names the kinds after the parts that distinguish them.
/// @param kinds the kinds, most steps first.
/// @param steps number of measured steps.
/// @param has_others the last element stands for all kinds beyond the bound.
inline void name_kinds(own_vector<step_kind_summary>& kinds, std::uint64_t steps, bool has_others) {
  std::size_t const named = kinds.size() - (has_others ? 1 : 0);
  if (has_others) kinds.back().name = "other";
  if (named == 0) return;
  kinds.front().is_usual = kinds.front().steps >= steps - kinds.front().steps;
  own_vector<step_kind_summary> const all{kinds.begin(), kinds.begin() + static_cast<std::ptrdiff_t>(named)};
  own_vector<std::string> const usual = kinds.front().is_usual ? kinds.front().parts : common_parts(all);
  for (std::size_t i = 0; i < named; ++i) {
    step_kind_summary& kind = kinds[i];
    std::string const count = std::to_string(kind.steps) + (kind.steps == 1 ? " step" : " steps");
    own_vector<std::string> const added = parts_not_in(kind.parts, usual);
    own_vector<std::string> const missing = parts_not_in(usual, kind.parts);
    if (kind.is_usual) {
      kind.name = "usual";
    } else if (!added.empty()) {
      kind.name = count + " with " + some_of(added);
    } else if (!missing.empty()) {
      kind.name = count + " without " + some_of(missing);
    } else {
      kind.name = count + (kind.parts.empty() ? " without scopes" : " with only " + some_of(kind.parts));
    }
  }
}

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
    std::uint32_t last_thread = 0;                      // position in the profile
    std::uint64_t run = 0;                              // number of runs of scopes of one thread in one step
    own_vector<std::uint64_t> last_run(names_.size());  // by part: the last run with it
    for (scope_record const& scope : profile.scopes) {
      std::uint32_t const part = part_of[scope.path];
      if (part == not_a_part && !profile.paths[scope.path].is_step) continue;
      std::uint32_t const step = in.step_of(when_.moment_of(scope));
      if (step == no_step) continue;
      if (part != not_a_part) {
        if (last_step != step || last_thread != scope.thread) {
          last_step = step;
          last_thread = scope.thread;
          ++run;
        }
        if (std::exchange(last_run[part], run) != run) parts_.push_back({step, part, profile.threads[scope.thread].system_id});
      } else if (interval const& time = when_.steps()[step]; scope.time.begin == time.begin && scope.time.end == time.end) {
        thread_of[step] = profile.threads[scope.thread].system_id;
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

}  // namespace PROFKIT_NAMESPACE::detail
