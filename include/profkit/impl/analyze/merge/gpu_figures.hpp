// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "../../../kernel_class.hpp"
#include "../../../profile.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/own_memory.hpp"
#include "../gpu/attribution.hpp"
#include "../gpu/counted_operations.hpp"
#include "../gpu/gpu_summary.hpp"
#include "../gpu/gpu_sums.hpp"
#include "../gpu/gpu_work.hpp"
#include "../time/measured_time.hpp"
#include "../time/path_tree.hpp"
#include "../time/time_per_step.hpp"
#include "../window.hpp"

namespace profkit::detail {

/// The figures of GPU operations and API calls.
class gpu_figures {
 public:
  /// @param names the names that a window knows: all of the session so far, or the first of them.
  void set_names(own_vector<gpu_name_record> const& names) {
    if (names_.size() < names.size()) names_ = names;
  }

  /// @param with_kernels measured time of the window's own steps with kernels collected.
  void add(profile const& records, window_frame const& frame, attribution const& launched, counted_operations const& counted,
           measured_time const& with_kernels) {
    has_kernels_ = true;
    steps_ += with_kernels.steps().size();
    measured_time const earlier = measured_time::of_window(records, {timestamp::min(), frame.own.begin}, frame.has_steps, true);
    path_tree const tree{records.paths};
    sums_.add(gpu_sums::window_of{records, launched, counted, tree, frame.own, earlier, frame.has_steps});
    by_name_.add(records, counted.all());
    counts_.add({records, launched, counted});
    if (!records.has_all_api_calls) return;
    has_all_api_calls_ = true;
    api_calls_.add({records, with_kernels});
  }

  /// @param added the stretch of the added windows.
  void settle(interval const& added) { sums_.settle(added); }

  [[nodiscard]] own_vector<gpu_name_record> const& names() const noexcept { return names_; }
  [[nodiscard]] bool has_kernels() const noexcept { return has_kernels_; }

  /// Whether there are kernels with a name.
  [[nodiscard]] bool has_kernel(std::uint32_t name) const { return has_kernels_ && by_name_.has_kernel(name); }

  /// Whether all positions of paths are below a number.
  [[nodiscard]] bool is_in(std::size_t paths) const noexcept { return sums_.rows().size() <= paths; }

  /// @return the number of measured steps with kernels collected.
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

  /// @return the complete sums. Nothing may be added afterwards.
  [[nodiscard]] gpu_sums sums() && {
    sums_.complete();
    return std::move(sums_);
  }

  /// Computes the summary, without idle time.
  /// @param work computed from `sums`.
  /// @param kernel_rows receives the positions in `gpu_summary::kernels`, by name.
  [[nodiscard]] gpu_summary summarize(gpu_work const& work, time_per_step const& per_step, kernel_class_rules const& classes,
                                      own_vector<std::size_t>& kernel_rows) const {
    gpu_summary result;
    result.all = work.of_all();
    result.unattributed_operations = work.unattributed_operations();
    result.unattributed_kernels = work.unattributed_kernels();
    result.unattributed_time = result.all.kernel_self;
    result.unknown_launches = counts_.unknown_launches;
    result.operations_of_graphs = counts_.of_graphs;
    result.operations_of_unknown_graphs = counts_.of_unknown_graphs;
    kernel_rows = summarize_names(result, names_, by_name_, classes, &per_step);
    result.steps = steps_;
    if (has_all_api_calls_) result.api = api_calls_.summarize();
    return result;
  }

 private:
  template <class Archive>
  friend void fields(Archive& archive, gpu_figures& value) {
    archive(value.names_), archive(value.has_kernels_), archive(value.steps_), archive(value.sums_), archive(value.by_name_),
        archive(value.counts_);
    archive(value.has_all_api_calls_), archive(value.api_calls_);
    if constexpr (Archive::is_reader) archive.check(value.by_name_.size() <= value.names_.size(), "GPU operations without name");
  }

  own_vector<gpu_name_record> names_;
  bool has_kernels_ = false;
  std::uint64_t steps_ = 0;
  gpu_sums sums_;
  operations_by_name by_name_;  ///< by position in `names_`
  operation_counts counts_;
  bool has_all_api_calls_ = false;
  merged_api_calls api_calls_;
};

}  // namespace profkit::detail
