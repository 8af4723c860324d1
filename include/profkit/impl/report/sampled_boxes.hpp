// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "../../document.hpp"
#include "../../summary.hpp"
#include "../analyze/samples/sample_rows.hpp"
#include "../profile/own_containers.hpp"
#include "../profile/own_sort.hpp"
#include "samples_section.hpp"
#include "sentence_numbers.hpp"

namespace profkit::detail {

/// The boxes of functions in the self time of scopes, from host samples. The samples are from the measured steps of all kinds.
class sampled_boxes {
 public:
  static constexpr double min_share = 0.0025;  ///< minimum share of the figure; narrower boxes are left out

  /// @param samples must outlive this.
  explicit sampled_boxes(host_samples_summary const& samples) {
    for (sampled_scope_summary const& each : samples.scopes) {
      if (each.scope) of_scope_.emplace(*each.scope, &each);
    }
  }

  /// Divides the self time of scopes among their functions, longest first, and waiting.
  /// @param scopes positions in `summary::scopes`.
  /// @param begin, self beginning and length of the self time, in milliseconds; nothing is added if it is too narrow.
  void add(icicle_figure& figure, own_vector<std::size_t> const& scopes, double begin, double self, std::uint32_t depth) const {
    if (self < min_share * figure.total) return;
    sums const totals = sums_of(scopes);
    if (!(totals.whole > 0.0)) return;
    own_vector<std::pair<std::string, double>> functions{totals.functions.begin(), totals.functions.end()};
    own_stable_sort(functions.begin(), functions.end(), [](auto const& a, auto const& b) { return a.second > b.second; });
    double rest = totals.other_time;
    std::uint64_t others = totals.others;
    auto const add_box = [&](std::string name, double time, icicle_figure::box_kind kind) {
      double const width = self * time / totals.whole;
      if (width < min_share * figure.total) return;
      sampled_share const share = share_of_samples(std::min(time / totals.whole, 1.0), totals.trials);
      figure.boxes.push_back({std::move(name), depth, begin, width, 0.0, kind, sampled_words(share) + " of the scope's own time"});
      begin += width;
    };
    for (auto& [name, time] : functions) {
      if (self * time / totals.whole < min_share * figure.total) {
        rest += time;
        ++others;
      } else {
        add_box(std::move(name), time, icicle_figure::box_kind::function);
      }
    }
    if (others > 0) add_box(counted(others, "more function", "more functions"), rest, icicle_figure::box_kind::function);
    double waiting = totals.whole - totals.sampled;
    for (auto const& [name, time] : totals.waits) {
      if (self * time / totals.whole < min_share * figure.total) continue;  // the last box contains its time
      add_box(name, time, icicle_figure::box_kind::waiting);
      waiting -= time;
    }
    add_box(waiting_words, std::max(waiting, 0.0), icicle_figure::box_kind::waiting);
  }

 private:
  /// Sums over scopes, in milliseconds of all measured steps.
  struct sums {
    double whole = 0.0;    ///< self time
    double sampled = 0.0;  ///< processor time of all functions
    double trials = 0.0;   ///< estimated number of samples in the self time
    std::map<std::string, double> functions;
    std::map<std::string, double> waits;  ///< by API call
    std::uint64_t others = 0;
    double other_time = 0.0;
  };

  [[nodiscard]] sums sums_of(own_vector<std::size_t> const& scopes) const {
    sums result;
    std::uint64_t samples = 0;
    for (std::size_t const scope : scopes) {
      auto const at = of_scope_.find(scope);
      if (at == of_scope_.end()) continue;
      sampled_scope_summary const& each = *at->second;
      result.whole += std::max(each.self.value_or(each.sampled), each.sampled).count();
      result.sampled += each.sampled.count();
      samples += each.samples;
      for (sampled_function_summary const& function : each.functions) result.functions[function_words(function)] += function.time.count();
      for (sampled_wait_summary const& wait : each.waits) result.waits["waiting in " + wait.name] += wait.time.count();
      result.others += each.other_functions;
      result.other_time += each.other_time.count();
    }
    if (result.sampled > 0.0) result.trials = static_cast<double>(samples) * (result.whole / result.sampled);
    return result;
  }

  own_hash_map<std::size_t, sampled_scope_summary const*> of_scope_;
};

}  // namespace profkit::detail
