// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "../../../profile.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/own_memory.hpp"
#include "../../profile/own_sort.hpp"
#include "../time/path_tree.hpp"
#include "sample_sums.hpp"

namespace profkit::detail {

/// A share with its 95 % interval. Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal of
/// the American Statistical Association 22 (1927).
/// @param share from 0 to 1.
/// @param trials total number of samples; may be estimated.
inline sampled_share share_of_samples(double share, double trials) {
  if (!(trials > 0.0)) return {share, 0.0, 1.0};
  constexpr double z = 1.959964;
  double const scale = 1.0 + z * z / trials;
  double const middle = (share + z * z / (2.0 * trials)) / scale;
  double const half = z * std::sqrt(share * (1.0 - share) / trials + z * z / (4.0 * trials * trials)) / scale;
  return {share, std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

/// Builds the rows of host samples.
class sample_rows {
 public:
  /// @param in_order `paths` in the order of their first scopes.
  /// @param rows the path of each row of `scopes`.
  sample_rows(own_vector<path_record> const& paths, own_vector<std::uint32_t> const& in_order, sample_sums const& sums,
              own_vector<scope_summary> const& scopes, own_vector<std::uint32_t> const& rows)
      : paths_{paths}, in_order_{in_order}, sums_{sums}, scopes_{scopes}, row_of_(paths.size()) {
    for (std::size_t row = 0; row < rows.size(); ++row) row_of_[rows[row]] = row;
  }

  [[nodiscard]] host_samples_summary make(sampling_record const& how) const {
    host_samples_summary result;
    result.mechanism = how.mechanism;
    result.interval = how.interval;
    result.lost = how.lost;
    result.threads = how.threads;
    result.threads_without = how.threads_without;
    result.why_without = how.why_without;
    result.why_no_lines = how.why_no_lines;
    sample_sums::functions all;
    for (std::uint32_t const path : in_order_) {
      sampled_scope_summary row = row_of_path(path, how);
      bool const has_waited = how.threads_without == 0 && row.self && *row.self >= min_intervals * milliseconds{how.interval};
      if (row.samples == 0 && !has_waited) continue;
      if (row.samples > 0) sample_sums::add(sums_.of_path(path), all);
      result.scopes.push_back(std::move(row));
    }
    if (!sums_.outside().empty()) {
      sample_sums::add(sums_.outside(), all);
      sampled_scope_summary outside;
      fill(outside, sums_.outside(), how);
      result.scopes.push_back(std::move(outside));
    }
    sampled_scope_summary whole;
    fill(whole, all, how);
    result.samples = whole.samples;
    result.sampled = whole.sampled;
    result.functions = std::move(whole.functions);
    auto const time = [](sampled_scope_summary const& each) { return each.self.value_or(each.sampled); };
    own_stable_sort(result.scopes.begin(), result.scopes.end(), [&](auto const& a, auto const& b) { return time(a) > time(b); });
    return result;
  }

 private:
  static constexpr std::size_t max_functions = 32;
  static constexpr std::size_t max_waits = 8;
  static constexpr double min_wait = 0.001;      ///< minimum share of the scope
  static constexpr double min_intervals = 10.0;  ///< minimum length of scopes without samples, in sampling intervals, to count as waiting

  [[nodiscard]] sampled_scope_summary row_of_path(std::uint32_t path, sampling_record const& how) const {
    sampled_scope_summary result;
    result.path = path_text(paths_, path);
    if (std::optional<std::size_t> const row = row_of_[path]; row && scopes_[*row].host.count > 0) {
      result.scope = row;
      result.self = std::max(scopes_[*row].host_self, milliseconds{});
    }
    static sample_sums::functions const none;
    fill(result, path < sums_.paths() ? sums_.of_path(path) : none, how);
    if (result.waiting) fill_waits(result, sums_.waits_of(path));
    return result;
  }

  /// Names parts of the waiting time. Their sum is at most the waiting time.
  static void fill_waits(sampled_scope_summary& to, device_waits const& waits) {
    milliseconds const whole = std::max(*to.self, to.sampled);
    for (auto const& [name, each] : waits) {
      to.waits.push_back({name, each.calls, milliseconds{static_cast<double>(each.ns) * 1e-6}, 0.0});
    }
    own_stable_sort(to.waits.begin(), to.waits.end(), [](auto const& a, auto const& b) { return a.time > b.time; });
    if (to.waits.size() > max_waits) to.waits.resize(max_waits);
    milliseconds left = whole - to.sampled;
    for (sampled_wait_summary& each : to.waits) {
      each.time = std::min(each.time, left);
      each.share = each.time / whole;
      left -= each.time;
    }
    while (!to.waits.empty() && !(to.waits.back().share >= min_wait)) to.waits.pop_back();
  }

  static milliseconds ms_of(sample_sums::sum const& sum) { return std::chrono::nanoseconds{static_cast<std::int64_t>(sum.ns)}; }

  /// A sample counts in the step in which it was taken, a scope in the step in which it began. So `sampled` can exceed `self`.
  void fill(sampled_scope_summary& to, sample_sums::functions const& functions, sampling_record const& how) const {
    sample_sums::sum sum;
    for (auto const& [function, each] : functions) sum.add(each);
    to.samples = sum.samples;
    to.sampled = ms_of(sum);
    milliseconds const whole = std::max(to.self.value_or(to.sampled), to.sampled);
    double const trials =
        to.sampled.count() > 0.0 ? static_cast<double>(sum.samples) * (whole / to.sampled) : whole / milliseconds{how.interval};
    if (to.self && whole.count() > 0.0) to.waiting = share_of_samples(1.0 - to.sampled / whole, trials);
    own_vector<sample_sums::functions::const_iterator> order;
    for (auto at = functions.begin(); at != functions.end(); ++at) order.push_back(at);
    own_stable_sort(order.begin(), order.end(), [](auto const& a, auto const& b) { return a->second.ns > b->second.ns; });
    for (std::size_t i = 0; i < order.size(); ++i) {
      auto const& [function, each] = *order[i];
      if (i >= max_functions) {
        ++to.other_functions;
        to.other_time += ms_of(each);
        continue;
      }
      sampled_function_summary row;
      std::tie(row.name, row.module, row.caller) = function;
      std::tie(row.file, row.line) = sums_.place_of(function);
      row.samples = each.samples;
      row.time = ms_of(each);
      row.share_of_scope = share_of_samples(whole.count() > 0.0 ? row.time / whole : 0.0, trials);
      to.functions.push_back(std::move(row));
    }
  }

  own_vector<path_record> const& paths_;
  own_vector<std::uint32_t> const& in_order_;
  sample_sums const& sums_;
  own_vector<scope_summary> const& scopes_;
  own_vector<std::optional<std::size_t>> row_of_;  ///< by path: position in `scopes_`
};

}  // namespace profkit::detail
