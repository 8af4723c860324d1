// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "../../document.hpp"
#include "../profile/finite.hpp"
#include "../profile/own_memory.hpp"

namespace profkit::detail {

/// A step in the picture of steps. If there are more steps than marks, a mark stands for several neighbouring steps.
struct step_mark {
  using role = plotted_step::role;

  std::uint64_t first = 0;  ///< index of the step
  std::uint64_t last = 0;
  role is = role::usual;
  double low = 0.0;  ///< minimum of the steps with the role `is`, ms
  double median = 0.0;
  double high = 0.0;
  double max_odd = 0.0;  ///< maximum of the outliers and steps of other kinds among usual steps, ms; 0: none
  std::string label{};

  /// The CSS class of a role.
  [[nodiscard]] static char const* css_class(role is) {
    switch (is) {
      case role::warmup:
        return "warm";
      case role::outlier:
      case role::other_kind:
        return "odd";
      case role::excluded:
        return "excl";
      case role::usual:
        break;
    }
    return "usual";
  }

  [[nodiscard]] std::string tooltip() const {
    std::string text = first == last ? fmt::format("step {}: {:.5g} ms", first, median)
                                     : fmt::format("steps {} to {}: {:.5g} to {:.5g} ms, median {:.5g} ms", first, last, low, high, median);
    if (is == role::warmup) text += ", warm-up";
    if (is == role::excluded) text += ", excluded";
    return text;
  }
};

/// @param most maximum number of marks. Warm-up steps have their own marks, so there can be one more.
inline own_vector<step_mark> step_marks(own_vector<plotted_step> const& steps, std::size_t most) {
  using role = plotted_step::role;
  own_vector<step_mark> result;
  std::size_t const size = std::max<std::size_t>(1, (steps.size() + most - 1) / std::max<std::size_t>(most, 1));
  auto const is_odd = [](role is) { return is == role::outlier || is == role::other_kind; };
  for (std::size_t i = 0; i < steps.size();) {
    std::size_t end = i;
    while (end < steps.size() && end < i + size && (steps[end].is == role::warmup) == (steps[i].is == role::warmup)) ++end;
    step_mark mark;
    mark.first = steps[i].index;
    mark.last = steps[end - 1].index;
    mark.is = steps[i].is;
    for (std::size_t k = i; k < end; ++k) {
      if (steps[k].is == role::usual) mark.is = role::usual;
    }
    own_vector<double> times;
    for (; i < end; ++i) {
      double const time = amount_or_zero(steps[i].ms);
      if (steps[i].is == mark.is) times.push_back(time);
      if (steps[i].is != mark.is && is_odd(steps[i].is)) mark.max_odd = std::max(mark.max_odd, time);
      if (mark.label.empty()) mark.label = steps[i].label;
    }
    std::sort(times.begin(), times.end());
    mark.low = times.front();
    mark.median = times[times.size() / 2];
    mark.high = times.back();
    result.push_back(std::move(mark));
  }
  return result;
}

}  // namespace profkit::detail
