// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "../../../profile.hpp"
#include "../../../time.hpp"
#include "../../profile/own_memory.hpp"
#include "../merge/add_rows.hpp"
#include "../time/durations.hpp"
#include "../time/measured_time.hpp"
#include "../time/path_tree.hpp"
#include "../time/quantiles.hpp"
#include "attribution.hpp"
#include "counted_operations.hpp"
#include "operation_spans.hpp"

namespace profkit::detail {

/// Sums over GPU operations by charged path and by scope name. Sums of windows add up.
class gpu_sums {
 public:
  /// Sums of the operations launched in the scopes themselves; `busy` includes the scopes inside.
  struct row {
    std::uint64_t operations = 0;
    std::uint64_t kernels = 0;
    std::uint64_t launches = 0;  ///< number of operations with a known latency
    std::chrono::nanoseconds time{};
    std::chrono::nanoseconds latency{};
    std::chrono::nanoseconds busy{};  ///< length of the union, including scopes inside
    quantile_sketch latencies{};
    duration_statistics spans{};

    template <class Archive>
    friend void fields(Archive& archive, row& value) {
      archive(value.operations), archive(value.kernels), archive(value.launches), archive.amount(value.time), archive.amount(value.latency);
      archive.amount(value.busy), archive(value.latencies), archive(value.spans);
    }

    void add(timed_operation const& operation) {
      ++operations;
      if (operation.kind == gpu_operation_kind::kernel) ++kernels;
      time += operation.time.duration();
      if (operation.latency == timed_operation::no_latency) return;
      ++launches;
      latency += operation.latency;
      latencies.add(operation.latency);
    }

    /// Adds the sums of a child path, except `busy` and `spans`.
    void add_inside(row const& other) {
      operations += other.operations;
      kernels += other.kernels;
      launches += other.launches;
      time += other.time;
      latency += other.latency;
      latencies.add(other.latencies);
    }

    void add(row const& other) {
      add_inside(other);
      busy += other.busy;
      spans.add(other.spans);
    }
  };

  /// The inputs of `add`: one window.
  struct window_of {
    profile const& records;
    attribution const& launched;
    counted_operations const& counted;  ///< contains the operations launched in `earlier` too; only the window's own count
    path_tree const& tree;
    interval own;                  ///< the stretch that the window owns
    measured_time const& earlier;  ///< the measured time of earlier windows
    bool has_steps;                ///< false: the figures are of a session without steps
  };

  void add(window_of const& window) {
    profile const& profile = window.records;
    grow_rows(rows_, profile.paths.size());
    auto const root = static_cast<std::uint32_t>(profile.paths.size());
    union_walk unions{profile, window.tree};
    operation_spans spans{profile, window.launched};
    bool const has_earlier = !window.earlier.is_empty();
    for (timed_operation const& each : window.counted.all()) {
      bool const is_own = each.is_counted();
      if (!is_own && !(has_earlier && window.earlier.contains(launch_moment(profile, window.launched, each.record)))) continue;
      unions.add(each.path == attribution::none ? root : each.path, each.time, !is_own);
      if (!is_own) continue;
      (each.path == attribution::none ? root_ : rows_[each.path]).add(each);
      spans.add(each);
    }
    spans.complete();
    add_spans(window, spans);
    for (std::size_t path = 0; path < root; ++path) rows_[path].busy += unions.of_path(path);
    root_.busy += unions.of_path(root);
    for (std::size_t name = 0; name < window.tree.names().size(); ++name) {
      std::chrono::nanoseconds const busy = unions.of_name(name);
      if (busy.count() > 0) busy_of_name_[window.tree.names()[name].name] += busy;
    }
  }

  /// Counts scopes that span several windows once all of these windows are added.
  /// @param added the stretch of the added windows.
  void settle(interval const& added) {
    settle_if([&](timestamp begin, timestamp end) { return added.begin <= begin && end < added.end; });
  }

  /// @return the sums by path.
  [[nodiscard]] own_vector<row> const& rows() const noexcept { return rows_; }

  /// Operations launched outside any scope. `busy` covers all operations, `spans` the steps.
  [[nodiscard]] row const& root() const noexcept { return root_; }

  /// Counts the spans of scopes whose windows were not all added, and the span of a session without steps. Nothing may be added afterwards.
  void complete() {
    settle_if([](timestamp, timestamp) { return true; });
    if (!session_.is_empty()) root_.spans.add(session_.length());
    session_ = {};
  }

  [[nodiscard]] std::chrono::nanoseconds busy_of_name(std::string const& name) const {
    auto const known = busy_of_name_.find(name);
    return known == busy_of_name_.end() ? std::chrono::nanoseconds{} : known->second;
  }

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

  own_vector<row> rows_;
  row root_;
  std::map<std::string, std::chrono::nanoseconds> busy_of_name_;
  operation_span session_;  ///< all operations of a session without steps

  struct crossing_scope {
    operation_span span;
    timestamp end = timestamp::max();  ///< end of the scope

    template <class Archive>
    friend void fields(Archive& archive, crossing_scope& value) {
      archive(value.span), archive(value.end);
    }
  };

  /// Path, system thread number and beginning of a scope.
  using scope_key = std::tuple<std::uint32_t, std::uint64_t, timestamp>;

  template <class Archive>
  friend void fields(Archive& archive, gpu_sums& value) {
    archive(value.rows_), archive(value.root_), archive.amount(value.busy_of_name_), archive(value.session_), archive(value.crossing_);
    if constexpr (Archive::is_reader) {
      for (auto const& [scope, each] : value.crossing_) archive.check(std::get<0>(scope) < value.rows_.size(), "a scope without path");
    }
  }

  /// @param is_complete called with the beginning and the end of a scope.
  template <class IsComplete>
  void settle_if(IsComplete const& is_complete) {
    for (auto each = crossing_.begin(); each != crossing_.end();) {
      if (is_complete(std::get<2>(each->first), each->second.end)) {
        if (!each->second.span.is_empty()) rows_[std::get<0>(each->first)].spans.add(each->second.span.length());
        each = crossing_.erase(each);
      } else {
        ++each;
      }
    }
  }

  void add_spans(window_of const& window, operation_spans const& spans) {
    profile const& profile = window.records;
    interval const& own = window.own;
    spans.for_each([&](std::uint32_t path, operation_span const& span, std::uint32_t scope) {
      if (scope == attribution::none || (own.begin <= profile.scopes[scope].time.begin && profile.scopes[scope].time.end < own.end)) {
        rows_[path].spans.add(span.length());
      } else {
        crossing_of(profile, profile.scopes[scope]).span.add({span.begin, span.end});
      }
    });
    // The end of a scope from an earlier window may first appear in this window.
    for (std::size_t i = 0; own.begin > timestamp::min() && i < profile.scopes.size(); ++i) {
      scope_record const& scope = profile.scopes[i];
      if (scope.time.begin < own.begin && own.begin <= scope.time.end && scope.time.end < own.end) crossing_of(profile, scope);
    }
    for (operation_span const& step : window.counted.steps()) {
      if (step.is_empty()) continue;
      if (window.has_steps) {
        root_.spans.add(step.length());
      } else {
        session_.add({step.begin, step.end});
      }
    }
  }

  /// The state of a scope that spans several windows.
  crossing_scope& crossing_of(profile const& profile, scope_record const& scope) {
    crossing_scope& result = crossing_[{scope.path, profile.threads[scope.thread].system_id, scope.time.begin}];
    result.end = std::min(result.end, scope.time.end);
    return result;
  }

  std::map<scope_key, crossing_scope> crossing_;  ///< scopes that span several windows
};

}  // namespace profkit::detail
