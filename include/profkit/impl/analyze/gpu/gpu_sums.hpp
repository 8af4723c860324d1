// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>

#include "../../../profile.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/own_containers.hpp"
#include "../../profile/own_memory.hpp"
#include "../time/measured_time.hpp"
#include "../time/path_tree.hpp"
#include "../time/quantiles.hpp"
#include "../window.hpp"
#include "../windows/state.hpp"
#include "attribution.hpp"
#include "counted_operations.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Computes the length of a union of intervals. Intervals are added in the order of their beginnings.
class union_length {
 public:
  /// @return whether the union grew.
  bool add(interval const& time) {
    if (time.end <= covered_until_) return false;
    length_ += time.end - std::max(time.begin, covered_until_);
    covered_until_ = time.end;
    return true;
  }

  [[nodiscard]] std::chrono::nanoseconds length() const noexcept { return length_; }

 private:
  timestamp covered_until_ = timestamp::min();
  std::chrono::nanoseconds length_{};
};

/// The part of the union of all operations that a window adds: the union of its own operations without what operations of earlier windows
/// cover. Operations are added in the order of their beginnings.
class added_union {
 public:
  /// @param is_earlier the operation belongs to an earlier window.
  /// @return whether the union of all operations grew.
  bool add(interval const& time, bool is_earlier) {
    if (is_earlier) earlier_.add(time);
    return all_.add(time);
  }

  [[nodiscard]] std::chrono::nanoseconds length() const noexcept { return all_.length() - earlier_.length(); }

 private:
  union_length all_;
  union_length earlier_;
};

/// The span (first start to last end) of the operations launched in each scope. It includes work on other threads in scopes that adopted
/// this one. Each launch of a CUDA graph counts as one scope, for the scopes in which its nodes were captured. Each launch outside the
/// scopes of a thread also counts as one scope.
class operation_spans {
 public:
  operation_spans(profile const& profile, attribution const& launched)
      : profile_{profile}, launched_{launched}, parents_{parents_of(profile.paths)}, of_scope_(profile.scopes.size()) {
    find_scopes_of_others();
  }

  void add(timed_operation const& operation) {
    interval const& time = operation.time;
    std::uint32_t path = operation.path;
    // A span contains the spans inside it: if one does not grow, the outer ones do not grow either.
    if (operation.scope != attribution::none) {
      if (is_of_other_.empty() || !is_of_other_[operation.scope]) {
        of_scope_[operation.scope].add(time);  // `complete` extends the outer scopes
        return;
      }
      std::uint32_t outermost = operation.scope;
      for (std::uint32_t scope = outermost; scope != attribution::none; scope = launched_.parent_of[scope]) {
        if (!of_scope_[scope].add(time)) return;
        outermost = scope;
      }
      path = parents_[profile_.scopes[outermost].path];
    }
    std::uint32_t const launched_in = launched_.scope_of[operation.record];
    for (; path != path_record::no_parent; path = parents_[path]) {
      if (!span_of(operation.record, launched_in, path).add(time)) return;
    }
  }

  /// To be called after all operations are added.
  void complete() {
    for (std::uint32_t scope = 0; scope < of_scope_.size(); ++scope) {
      if (of_scope_[scope].is_empty()) continue;
      interval const span{of_scope_[scope].begin, of_scope_[scope].end};
      for (std::uint32_t outer = launched_.parent_of[scope]; outer != attribution::none; outer = launched_.parent_of[outer]) {
        if (!of_scope_[outer].add(span) || outer > scope) break;  // later scopes extend their own outer scopes
      }
    }
  }

  /// @param visit called with a path, a span and the position of its scope; `attribution::none` for a launch.
  template <class Visit>
  void for_each(Visit const& visit) const {
    for (std::size_t i = 0; i < of_scope_.size(); ++i) {
      if (!of_scope_[i].is_empty()) visit(profile_.scopes[i].path, of_scope_[i], static_cast<std::uint32_t>(i));
    }
    for (auto const& [key, span] : of_launch_) visit(static_cast<std::uint32_t>(key >> 32U), span, attribution::none);
  }

 private:
  /// Finds the outermost scopes of threads whose parent scope is on another thread.
  void find_scopes_of_others() {
    auto const count = static_cast<std::uint32_t>(profile_.scopes.size());
    auto const begins_elsewhere = [&](std::uint32_t scope) {
      return launched_.parent_of[scope] == attribution::none && parents_[profile_.scopes[scope].path] != path_record::no_parent;
    };
    std::uint32_t any = 0;
    while (any < count && !begins_elsewhere(any)) ++any;
    if (any == count) return;
    is_of_other_.resize(count);
    for (std::uint32_t scope = count; scope-- > 0;) {
      std::uint32_t outer = launched_.parent_of[scope];
      if (outer != attribution::none && outer > scope) {  // usual: inner scopes end first
        is_of_other_[scope] = is_of_other_[outer];
        continue;
      }
      std::uint32_t outermost = scope;
      for (; outer != attribution::none; outer = launched_.parent_of[outer]) outermost = outer;
      is_of_other_[scope] = begins_elsewhere(outermost);
    }
  }

  operation_span& span_of(std::uint32_t operation, std::uint32_t launched_in, std::uint32_t path) {
    std::uint32_t scope = around_launch(launched_in, path);
    if (scope == attribution::none) scope = open_at(launch_moment(profile_, launched_, operation), path);
    return scope != attribution::none ? of_scope_[scope] : of_launch_[std::uint64_t{path} << 32U | launched_.launch_of[operation]];
  }

  /// The scope with this path that was open on the launching thread, such as the step in which a graph was launched.
  [[nodiscard]] std::uint32_t around_launch(std::uint32_t scope, std::uint32_t path) const {
    while (scope != attribution::none && profile_.scopes[scope].path != path) scope = launched_.parent_of[scope];
    return scope;
  }

  /// The scope with this path that was open on any thread, such as the scope that waits for this work.
  [[nodiscard]] std::uint32_t open_at(timestamp moment, std::uint32_t path) {
    if (by_path_.empty()) sort_scopes();
    own_vector<std::uint32_t> const& scopes = by_path_[path];
    auto const after = std::upper_bound(scopes.begin(), scopes.end(), moment,
                                        [&](timestamp at, std::uint32_t scope) { return at < profile_.scopes[scope].time.begin; });
    bool const is_open = after != scopes.begin() && moment <= profile_.scopes[*std::prev(after)].time.end;
    return is_open ? *std::prev(after) : attribution::none;
  }

  void sort_scopes() {
    by_path_.resize(profile_.paths.size());
    for (std::uint32_t i = 0; i < profile_.scopes.size(); ++i) by_path_[profile_.scopes[i].path].push_back(i);
    for (own_vector<std::uint32_t>& scopes : by_path_) {
      std::sort(scopes.begin(), scopes.end(),
                [&](std::uint32_t a, std::uint32_t b) { return profile_.scopes[a].time.begin < profile_.scopes[b].time.begin; });
    }
  }

  profile const& profile_;
  attribution const& launched_;
  own_vector<std::uint32_t> parents_;  ///< by path
  own_vector<bool> is_of_other_;       ///< by scope: its parent is on another thread; empty if there is none
  own_vector<operation_span> of_scope_;
  own_hash_map<std::uint64_t, operation_span> of_launch_;  ///< by path and launch
  own_vector<own_vector<std::uint32_t>> by_path_;          ///< by path: scopes in order of their beginnings; filled on demand
};

/// Sums over GPU operations by charged path and by scope name. Sums of windows add up.
class gpu_sums {
 public:
  /// Sums of operations.
  struct work {
    std::uint64_t operations = 0;
    std::uint64_t kernels = 0;
    std::uint64_t launches = 0;  ///< number of operations with a known latency
    std::chrono::nanoseconds time{};
    std::chrono::nanoseconds latency{};
    quantile_sketch latencies{};

    auto members() { return listed(operations, kernels, launches, summed(time), summed(latency), latencies); }

    void add(timed_operation const& operation) {
      ++operations;
      if (operation.kind == gpu_operation_kind::kernel) ++kernels;
      time += operation.time.duration();
      if (operation.latency == timed_operation::no_latency) return;
      ++launches;
      latency += operation.latency;
      latencies.add(operation.latency);
    }
  };

  /// Adds the next window.
  /// @param counted contains the operations launched in `earlier` too; only the window's own count.
  /// @param earlier the measured time of earlier windows.
  void add(profile const& profile, window_frame const& frame, attribution const& launched, counted_operations const& counted,
           measured_time const& earlier) {
    grow_rows(rows_, profile.paths.size());
    auto const root = static_cast<std::uint32_t>(profile.paths.size());
    path_tree const tree{profile.paths};
    union_walk unions{profile, tree};
    operation_spans spans{profile, launched};
    counted.for_each_with(earlier, profile, launched, [&](timed_operation const& each) {
      unions.add(each.path == attribution::none ? root : each.path, each.time, !each.is_counted());
      if (!each.is_counted()) return;
      (each.path == attribution::none ? root_ : rows_[each.path]).launched.add(each);
      spans.add(each);
    });
    spans.complete();
    add_spans(profile, frame, counted, spans);
    for (std::size_t path = 0; path < root; ++path) rows_[path].busy += unions.of_path(path);
    root_.busy += unions.of_path(root);
    for (std::size_t name = 0; name < tree.names().size(); ++name) {
      std::chrono::nanoseconds const busy = unions.of_name(name);
      if (busy.count() > 0) busy_of_name_[tree.names()[name].name] += busy;
    }
  }

  /// Counts scopes that span several windows once all of these windows are added.
  /// @param added the stretch of the added windows.
  void settle(interval const& added) {
    crossing_.settle(added, [this](auto const&... scope) { add_span(scope...); });
  }

  [[nodiscard]] std::size_t paths() const noexcept { return rows_.size(); }

  /// Counts the spans of scopes whose windows were not all added, and the span of a session without steps, and computes the figures with
  /// inner scopes. Nothing may be added afterwards.
  /// @param tree the paths of the session.
  void complete(path_tree const& tree) {
    own_vector<path_record> const& paths = tree.paths();
    crossing_.complete([this](auto const&... scope) { add_span(scope...); });
    if (!session_.is_empty()) root_.spans.add(session_.length());
    grow_rows(rows_, paths.size());
    all_ = root_.launched;
    inclusive_.reserve(paths.size());
    for (row const& each : rows_) inclusive_.push_back(each.launched);
    for (std::size_t path = paths.size(); path-- > 0;) {
      add_to(tree.has_parent(path) ? inclusive_[paths[path].parent] : all_, inclusive_[path]);
    }
  }

  /// The following functions require `complete`.
  [[nodiscard]] bool has_operations(std::size_t path) const { return inclusive_[path].operations > 0; }
  [[nodiscard]] gpu_work_summary of_all() const { return summarize(all_, root_.launched.time, root_.busy, root_.spans); }
  [[nodiscard]] gpu_work_summary of_path(std::size_t path) const {
    return summarize(inclusive_[path], rows_[path].launched.time, rows_[path].busy, rows_[path].spans);
  }
  [[nodiscard]] gpu_work_summary of_name(path_tree::name_group const& group) const {
    work inclusive;
    duration_statistics spans;
    for (std::uint32_t const path : group.outermost) {
      add_to(inclusive, inclusive_[path]);
      spans.add(rows_[path].spans);
    }
    std::chrono::nanoseconds self{};
    for (std::uint32_t const path : group.paths) self += rows_[path].launched.time;
    auto const busy = busy_of_name_.find(group.name);
    return summarize(inclusive, self, busy == busy_of_name_.end() ? std::chrono::nanoseconds{} : busy->second, spans);
  }

  /// Operations launched outside any scope.
  [[nodiscard]] work const& outside() const noexcept { return root_.launched; }

 private:
  /// Computes the unions of all paths and names. The root above all paths has the position after the last path.
  class union_walk {
   public:
    union_walk(profile const& profile, path_tree const& tree) : of_name_(tree.names().size()), tree_{tree} {
      auto const root = static_cast<std::uint32_t>(profile.paths.size());
      auto const no_name = static_cast<std::uint32_t>(tree.names().size());
      of_path_.assign(root + std::size_t{1}, {{}, root, no_name});
      for (std::size_t path = 0; path < root; ++path) {
        if (tree.has_parent(path)) of_path_[path].above = profile.paths[path].parent;
      }
      for (std::uint32_t name = 0; name < no_name; ++name) {
        own_vector<std::uint32_t> const& outermost = tree.names()[name].outermost;
        if (outermost.size() < 2) continue;
        for (std::uint32_t const path : outermost) of_path_[path].shared_name = name;
      }
    }

    void add(std::uint32_t path, interval const& time, bool is_earlier) {
      // Time covered here is covered in all parents too.
      for (;; path = of_path_[path].above) {
        bool const has_grown = of_path_[path].time.add(time, is_earlier);
        if (of_path_[path].shared_name < of_name_.size() && (has_grown || is_earlier))
          of_name_[of_path_[path].shared_name].add(time, is_earlier);
        if ((!has_grown && !is_earlier) || of_path_[path].above == path) return;
      }
    }

    [[nodiscard]] std::chrono::nanoseconds of_path(std::size_t path) const { return of_path_[path].time.length(); }

    [[nodiscard]] std::chrono::nanoseconds of_name(std::size_t name) const {
      own_vector<std::uint32_t> const& outermost = tree_.names()[name].outermost;
      return outermost.size() == 1 ? of_path(outermost.front()) : of_name_[name].length();
    }

   private:
    struct covered_path {
      added_union time;
      std::uint32_t above;        ///< the parent, or the root
      std::uint32_t shared_name;  ///< position of the name if several outermost paths share it
    };

    own_vector<covered_path> of_path_;
    own_vector<added_union> of_name_;  ///< unions of names with several outermost paths
    path_tree const& tree_;
  };

  template <class Archive>
  friend void fields(Archive& archive, gpu_sums& value) {
    archive(value.rows_), archive(value.root_), archive.amount(value.busy_of_name_), archive(value.session_), archive(value.crossing_);
    if constexpr (Archive::is_reader) archive.check(value.crossing_.is_in(1, value.rows_.size()), "a scope without path");
  }

  void add_span(std::uint32_t, std::uint32_t path, operation_span const& span) {
    if (!span.is_empty()) rows_[path].spans.add(span.length());
  }

  static gpu_work_summary summarize(work const& from, std::chrono::nanoseconds self, std::chrono::nanoseconds busy,
                                    duration_statistics const& spans) {
    gpu_work_summary result;
    result.operations = from.operations;
    result.kernels = from.kernels;
    result.kernel_time = to_ms(from.time);
    result.kernel_self = to_ms(self);
    result.busy = to_ms(busy);
    result.span = spans.summarize();
    if (from.launches > 0) result.latency_mean = to_ms(from.latency) / static_cast<double>(from.launches);
    result.latency_p95 = quantile_of(from.latencies, 0.95);
    return result;
  }

  void add_spans(profile const& profile, window_frame const& frame, counted_operations const& counted, operation_spans const& spans) {
    interval const& own = frame.own;
    spans.for_each([&](std::uint32_t path, operation_span const& span, std::uint32_t scope) {
      if (scope == attribution::none || (own.begin <= profile.scopes[scope].time.begin && profile.scopes[scope].time.end < own.end)) {
        rows_[path].spans.add(span.length());
      } else {
        crossing_.of(profile, profile.scopes[scope]).add({span.begin, span.end});
      }
    });
    // The end of a scope from an earlier window may first appear in this window.
    for (std::size_t i = 0; own.begin > timestamp::min() && i < profile.scopes.size(); ++i) {
      scope_record const& scope = profile.scopes[i];
      if (scope.time.begin < own.begin && own.begin <= scope.time.end && scope.time.end < own.end) crossing_.of(profile, scope);
    }
    for (operation_span const& step : counted.steps()) {
      if (step.is_empty()) continue;
      if (frame.has_steps) {
        root_.spans.add(step.length());
      } else {
        session_.add({step.begin, step.end});
      }
    }
  }

  struct row {
    work launched;                    ///< in the scopes themselves
    std::chrono::nanoseconds busy{};  ///< length of the union, including scopes inside
    duration_statistics spans;

    auto members() { return listed(launched, summed(busy), spans); }
  };

  own_vector<row> rows_;
  row root_;  ///< operations outside any scope; `busy` covers all operations, `spans` the steps
  std::map<std::string, std::chrono::nanoseconds> busy_of_name_;
  operation_span session_;  ///< all operations of a session without steps
  crossing_scopes<operation_span> crossing_;
  own_vector<work> inclusive_;  ///< by path, with inner scopes; filled by `complete`
  work all_;
};

}  // namespace PROFKIT_NAMESPACE::detail
