// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>

#include "../../../profile.hpp"
#include "../../../time.hpp"
#include "../../profile/own_containers.hpp"
#include "../kinds/kind_names.hpp"
#include "step_series.hpp"

namespace profkit::detail {

/// The steps that begin in a stretch of time, in the order of recording.
class step_list {
 public:
  step_list() = default;

  /// @param kind_of maps the beginning of a measured step to its kind.
  template <class KindOf>
  step_list(profile const& profile, interval const& own, KindOf const& kind_of) {
    own_hash_map<std::uint64_t, std::chrono::nanoseconds> gpu_times;  // by step
    for (gpu_step_record const& each : profile.gpu_steps) gpu_times[each.step] += each.duration;
    for (step_record const& each : profile.steps) {
      if (each.time.begin < own.begin || each.time.begin >= own.end) continue;
      if (each.is_excluded) {
        excluded_.add(each.index, false, each.time.begin, each.time.duration());
        continue;
      }
      kind_key const kind = each.is_measured() ? kind_of(each.time.begin) : no_kind;
      host_.add(each.index, each.warmup, each.time.begin, each.time.duration(), kind);
      if (auto const gpu = gpu_times.find(each.index); gpu != gpu_times.end()) {
        gpu_.add(each.index, each.warmup, each.time.begin, gpu->second, kind);
      }
      if (each.is_measured()) {
        items_[kind] += each.items;
        model_flops_ += each.model_flops;
      }
    }
  }

  /// Appends the following steps: the result is as if they had been added here.
  void append(step_list const& next) {
    host_.append(next.host_);
    gpu_.append(next.gpu_);
    excluded_.append(next.excluded_);
    for (auto const& [kind, items] : next.items_) items_[kind] += items;
    model_flops_ += next.model_flops_;
  }

  /// @return the list without kinds.
  [[nodiscard]] step_list of_all_kinds() const {
    step_list result = *this;
    result.rename_kinds([](kind_key) { return no_kind; });
    return result;
  }

  /// @return the measured steps of one kind, without `model_flops`.
  [[nodiscard]] step_list of_kind(kind_key kind) const {
    step_list result;
    result.host_ = host_.of_kind(kind);
    result.gpu_ = gpu_.of_kind(kind);
    if (auto const items = items_.find(kind); items != items_.end()) result.items_.insert(*items);
    return result;
  }

  /// Changes the kinds of the measured steps.
  /// @param name_of maps an old kind to the new one.
  template <class NameOf>
  void rename_kinds(NameOf const& name_of) {
    host_.rename_kinds(name_of);
    gpu_.rename_kinds(name_of);
    for (auto const& [kind, items] : std::exchange(items_, {})) items_[name_of(kind)] += items;
  }

  [[nodiscard]] step_series const& host() const noexcept { return host_; }

  /// @return the times between CUDA events.
  [[nodiscard]] step_series const& gpu() const noexcept { return gpu_; }

  /// @return host times of the excluded steps; the other lists do not contain them.
  [[nodiscard]] step_series const& excluded() const noexcept { return excluded_; }

  [[nodiscard]] std::uint64_t items() const noexcept {
    return std::accumulate(items_.begin(), items_.end(), std::uint64_t{0},
                           [](std::uint64_t sum, auto const& each) { return sum + each.second; });
  }

  /// @return model FLOPs of the measured steps, as counted by the program.
  [[nodiscard]] double model_flops() const noexcept { return model_flops_; }

 private:
  template <class Archive>
  friend void fields(Archive& archive, step_list& steps) {
    archive(steps.host_), archive(steps.gpu_), archive(steps.excluded_), archive(steps.items_), archive(steps.model_flops_);
    if constexpr (Archive::is_reader) archive.check(steps.model_flops_ >= 0.0, "the work of steps is negative or not a number");
  }

  step_series host_;
  step_series gpu_;
  step_series excluded_;
  std::map<kind_key, std::uint64_t> items_;  ///< items of the measured steps, by kind
  double model_flops_ = 0.0;
};

}  // namespace profkit::detail
