// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "../profile/profile.hpp"
#include "analysis_parts.hpp"
#include "analyze_options.hpp"
#include "gpu/attribution.hpp"
#include "summary.hpp"
#include "window.hpp"

namespace profkit {

/// @brief The figures of a session, computed window by window. Two analyses can be merged.
///
/// The summary does not depend on the borders of the windows, nor on the order in which windows and analyses are merged. Only the rounding
/// of floating-point sums (`work` and `model_flops`) depends on that order. Memory is bounded by the number of paths, kernels and
/// allocators, not by the length of the session. Not thread-safe. Performs no input or output.
class analysis {
 public:
  /// @brief Creates an analysis without windows.
  /// @param with rules for kernel classes; the same for all analyses that are merged.
  explicit analysis(analyze_options with = {}) { parts_.options = std::move(with); }

  /// @brief Adds a window. The windows of a session must not overlap; they may come in any order.
  /// @param each the window; takes time proportional to its records (n log n if they are out of order).
  void add(window const& each) { add(each.records, each.frame); }

  /// @brief Adds a window without copying its records. The windows of a session must not overlap; they may come in any order.
  /// @param records the records of the window.
  /// @param frame the stretch of time that the window owns.
  /// @param launched `attribute(records)`, if the caller has computed it; null: `add` computes it if needed.
  void add(profile const& records, window_frame const& frame, attribution const* launched = nullptr);

  /// @brief Merges another analysis: the result is as if its windows had been added here.
  /// @param other figures of windows that overlap none of those here; created with the same options.
  void merge(analysis const& other);

  /// @brief Computes the summary. Windows can be added afterwards.
  /// @return the figures of all windows so far.
  [[nodiscard]] summary finish() const;

 private:
  template <class Archive>
  friend void fields(Archive& archive, analysis& state);  // in analysis_state.hpp

  detail::analysis_parts parts_;
};

}  // namespace profkit
