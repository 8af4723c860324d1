// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "../../../profile.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../../work.hpp"
#include "../../profile/numbers.hpp"
#include "../../profile/own_memory.hpp"
#include "../device_summary.hpp"
#include "../time/measured_time.hpp"
#include "../time/path_tree.hpp"
#include "../windows/state.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Sums of work by precision, because each precision has its own rate.
class work_sums {
 public:
  /// @param otherwise the precision of work without one.
  /// @param times multiplier of the work.
  void add(work const& done, precision otherwise, double times = 1.0) {
    precision const kind = done.precision == precision::unknown ? otherwise : done.precision;
    flops_[static_cast<std::size_t>(kind)] += counted(done.flops) * times;
    bytes_ += counted(done.bytes) * times;
  }

  void add(work_sums const& other) {
    for (std::size_t i = 0; i < precision_count; ++i) flops_[i] += other.flops_[i];
    bytes_ += other.bytes_;
  }

  [[nodiscard]] double flops() const {
    double sum = 0.0;
    for (double const each : flops_) sum += each;
    return sum;
  }
  [[nodiscard]] double bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool empty() const { return flops() == 0.0 && bytes_ == 0.0; }

  /// @return such as "fp32 + bf16"; empty if unknown.
  [[nodiscard]] std::string precisions() const {
    if (flops_[0] == flops()) return {};
    std::string result;
    for (std::size_t i = precision_count; i-- > 0;) {
      if (flops_[i] > 0.0) result.insert(0, std::string{precision_names[i]} + (result.empty() ? "" : " + "));
    }
    return result;
  }

  /// The roofline model (Williams, Waterman and Patterson 2009), expressed as times. Computing and memory access can overlap, so the
  /// shortest possible time is the longer of the two; the share of the roof is that time divided by the measured time. With one precision
  /// this equals the achieved rate divided by the minimum of the peak and intensity times bandwidth. n/a if a required rate is unknown.
  [[nodiscard]] std::optional<roof_share> share_of_roof(device_rates const& most, milliseconds taken) const {
    double const seconds = std::chrono::duration<double>{taken}.count();
    if (empty() || seconds <= 0.0) return std::nullopt;
    double computing = 0.0;
    for (std::size_t i = 0; i < precision_count; ++i) {
      if (flops_[i] == 0.0) continue;
      if (!most.flops_per_second[i]) return std::nullopt;
      computing += flops_[i] / *most.flops_per_second[i];
    }
    if (bytes_ > 0.0 && !most.bytes_per_second) return std::nullopt;
    double const moving = bytes_ > 0.0 ? bytes_ / *most.bytes_per_second : 0.0;
    return roof_share{std::max(computing, moving) / seconds, moving > computing ? work_bound::memory : work_bound::compute};
  }

 private:
  /// Negative and non-finite amounts count as 0.
  static double counted(double value) { return amount_or_zero(value); }

  template <class Archive>
  friend void fields(Archive& archive, work_sums& state) {
    archive(state.flops_), archive(state.bytes_);
    if constexpr (Archive::is_reader) {
      bool const is_right =
          state.bytes_ >= 0.0 && std::all_of(state.flops_.begin(), state.flops_.end(), [](double each) { return each >= 0.0; });
      archive.check(is_right, "work is negative or not a number");
    }
  }

  std::array<double, precision_count> flops_{};
  double bytes_ = 0.0;
};

/// Declared work (`profkit::work`) by path. Sums are exact for whole numbers with a sum below 2^53.
class work_by_path {
 public:
  struct row {
    work_sums self;
    work_sums again;                  ///< declared backward work, done by adopting scopes
    std::uint64_t again_unknown = 0;  ///< number of scopes without declared backward work

    auto members() { return listed(self, again, again_unknown); }
  };

  /// Adds the next window.
  /// @param when the measured time; with kernels collected, only the part with kernels, because rates refer to that time.
  void add(profile const& profile, measured_time const& when) {
    if (profile.work.empty()) return;
    grow_rows(rows_, profile.paths.size());
    measured_time_cursor in{when};
    for (work_record const& each : profile.work) {
      if (!in.contains(each.begin)) continue;
      row& to = rows_[each.path];
      to.self.add(each.work, profile.precision);
      if (each.work.backward > 0.0F) {
        to.again.add(each.work, profile.precision, static_cast<double>(each.work.backward));
      } else {
        ++to.again_unknown;
      }
    }
  }

  /// Whether all positions of paths are below a number.
  [[nodiscard]] bool is_in(std::size_t paths) const noexcept { return rows_.size() <= paths; }

  [[nodiscard]] row of_path(std::size_t path) const { return path < rows_.size() ? rows_[path] : row{}; }

  auto members() { return listed(rows_); }

 private:
  own_vector<row> rows_;
};

/// Declared work by path, and the achieved rates of each row of a summary.
///
/// If a scope and scopes inside it declare work, the scope declares only the remaining work, and its row has the sum.
class scope_work {
 public:
  scope_work(path_tree const& tree, work_by_path const& done, std::uint64_t steps) : paths_{tree.paths()}, tree_{tree}, steps_{steps} {
    for (std::size_t path = 0; path < paths_.size(); ++path) {
      work_by_path::row const row = done.of_path(path);
      self_.push_back(row.self);
      again_.push_back(row.again);
      knows_again_.push_back(row.again_unknown == 0);
    }
    inclusive_ = self_;
    for (auto path = tree.in_order().rbegin(); path != tree.in_order().rend(); ++path) {
      if (tree.has_parent(*path)) inclusive_[paths_[*path].parent].add(inclusive_[*path]);
    }
  }

  void fill(summary& into) const {
    own_vector<std::uint32_t> const& paths = tree_.rows();
    own_vector<time_said> const said = find_time_said(into.scopes);
    for (std::size_t row = 0; row < into.scopes.size(); ++row) {
      scope_summary& to = into.scopes[row];
      auto [time, basis] = time_of(to.gpu, to.host);
      if (!to.gpu && to.gpu_events && to.gpu_events->count == to.host.count) {
        time = to.gpu_events->total;
        basis = "GPU time between CUDA events";
      }
      to.work = summary_of(inclusive_[paths[row]], self_[paths[row]], time, basis, into.limits);
      if (to.work) to.work->share_of_time_said = said[paths[row]].share();
    }
    for (std::size_t row = 0; row < into.names.size(); ++row) {
      path_tree::name_group const& group = tree_.names()[row];
      scope_name_summary& to = into.names[row];
      work_sums inclusive;
      work_sums self;
      time_said both;
      for (std::uint32_t const path : group.outermost) {
        inclusive.add(inclusive_[path]);
        both.said += said[path].said;
        both.all += said[path].all;
      }
      for (std::uint32_t const path : group.paths) self.add(self_[path]);
      auto const [time, basis] = time_of(to.gpu, to.host);
      to.work = summary_of(inclusive, self, time, basis, into.limits);
      if (to.work) to.work->share_of_time_said = both.share();
    }
  }

  /// Fills `work` of rows with the role "backward": the declared work of the adopted scopes times `work::backward`. Skips scopes without
  /// backward work. n/a if a scope declared work without a factor for backward.
  /// @param paths the path of each row of `into.adopted`.
  void fill_backward(summary& into, own_vector<std::uint32_t> const& paths) {
    own_vector<work_sums> self(paths_.size());
    own_vector<bool> knows(paths_.size(), true);
    for (std::size_t row = 0; row < paths.size(); ++row) {
      if (into.adopted[row].role != "backward") continue;
      self[paths[row]] = again_[paths[row]];
      knows[paths[row]] = knows_again_[paths[row]];
      has_backward_ = true;
    }
    own_vector<work_sums> inclusive = self;
    for (auto at = tree_.in_order().rbegin(); at != tree_.in_order().rend(); ++at) {
      std::uint32_t const path = *at;
      backward_.add(self[path]);
      knows_backward_ = knows_backward_ && knows[path];
      if (!tree_.has_parent(path)) continue;
      std::uint32_t const parent = paths_[path].parent;
      inclusive[parent].add(inclusive[path]);
      knows[parent] = knows[parent] && knows[path];
    }
    for (std::size_t row = 0; row < paths.size(); ++row) {
      adopted_summary& to = into.adopted[row];
      std::uint32_t const path = paths[row];
      if (to.role != "backward" || !knows[path]) continue;
      milliseconds const time = to.busy ? *to.busy : to.host_total;
      to.work = summary_of(inclusive[path], self[path], time, to.busy ? gpu_basis : host_basis, into.limits);
    }
  }

  /// @return the sum over all scopes.
  [[nodiscard]] double flops() const {
    double sum = 0.0;
    for (std::uint32_t const path : tree_.in_order()) sum += self_[path].flops();
    return sum;
  }

  /// @return the sum of the backward work found by `fill_backward`; n/a if it is unknown for a scope.
  [[nodiscard]] std::optional<double> backward_flops() const {
    if (!knows_backward_) return std::nullopt;
    return backward_.flops();
  }
  [[nodiscard]] bool has_backward() const noexcept { return has_backward_; }

  /// @return the number of steps with this work.
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

 private:
  static constexpr char const* gpu_basis = "GPU busy time";
  static constexpr char const* host_basis = "host time";

  /// The part of a time that was spent in scopes with declared work.
  struct time_said {
    milliseconds said{};
    milliseconds all{};

    [[nodiscard]] std::optional<double> share() const {
      if (all.count() <= 0.0) return std::nullopt;
      return std::min(1.0, said / all);  // children on other threads can exceed their parent
    }
  };

  static std::pair<milliseconds, char const*> time_of(std::optional<gpu_work_summary> const& gpu, duration_summary const& host) {
    return gpu ? std::make_pair(gpu->busy, gpu_basis) : std::make_pair(host.total, host_basis);
  }

  /// @return the times by path.
  [[nodiscard]] own_vector<time_said> find_time_said(own_vector<scope_summary> const& rows) const {
    own_vector<std::uint32_t> const& paths = tree_.rows();
    own_vector<time_said> result(paths_.size());
    for (std::size_t row = rows.size(); row-- > 0;) {  // children before parents
      time_said& here = result[paths[row]];
      here.all = rows[row].gpu ? rows[row].gpu->kernel_time : rows[row].host.total;
      if (!self_[paths[row]].empty()) here.said = here.all;
      if (rows[row].parent) result[paths[*rows[row].parent]].said += here.said;
    }
    return result;
  }

  static std::optional<work_summary> summary_of(work_sums const& inclusive, work_sums const& self, milliseconds time, char const* basis,
                                                limits_summary const& limits) {
    if (inclusive.empty()) return std::nullopt;
    work_summary result;
    result.flops = inclusive.flops();
    result.bytes = inclusive.bytes();
    result.self_flops = self.flops();
    result.self_bytes = self.bytes();
    result.precision = inclusive.precisions();
    result.time = time;
    result.basis = basis;
    if (result.flops > 0.0 && result.bytes > 0.0) result.intensity = result.flops / result.bytes;
    double const seconds = std::chrono::duration<double>{time}.count();
    if (seconds <= 0.0) return result;
    if (result.flops > 0.0) result.flops_per_second = result.flops / seconds;
    if (result.bytes > 0.0) result.bytes_per_second = result.bytes / seconds;
    result.roof = inclusive.share_of_roof(limits.peaks, time);
    result.measured_roof = inclusive.share_of_roof(limits.measured_rates, time);
    return result;
  }

  own_vector<path_record> const& paths_;
  path_tree const& tree_;
  std::uint64_t steps_;
  own_vector<work_sums> self_;       ///< by path
  own_vector<work_sums> inclusive_;  ///< by path
  own_vector<work_sums> again_;      ///< declared backward work by path
  own_vector<bool> knows_again_;     ///< by path: whether all declared work has a backward factor
  work_sums backward_;
  bool knows_backward_ = true;
  bool has_backward_ = false;
};

}  // namespace PROFKIT_NAMESPACE::detail
