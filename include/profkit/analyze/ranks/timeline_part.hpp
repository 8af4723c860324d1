// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../../profile/time.hpp"
#include "../gpu/attribution.hpp"
#include "rank_timeline.hpp"
#include "timeline_fields.hpp"

namespace profkit::detail {

/// The timeline of a stretch of a session. Positions of paths are those of the analysis.
class timeline_part {
 public:
  /// Beyond them, every second step is dropped. 2,048 collectives take about 300 KB in a file.
  static constexpr std::size_t max_steps = 128;
  static constexpr std::size_t max_collectives = 2048;

  timeline_part() = default;

  /// @param content a stretch with all its steps and a stride of 1; `paths` is empty, unnumbered collectives count from 0.
  explicit timeline_part(rank_timeline content) : of_{std::move(content)} {
    of_.all_steps = of_.steps.size();
    of_.all_collectives = of_.collectives.size();
    if (!of_.steps.empty()) {
      edge const first{of_.steps.front().index, of_.steps.front().begin};
      first_ = first;
      last_ = of_.steps.back().index;
    }
    for (std::size_t i = 1; i < of_.steps.size(); ++i) {
      if (of_.steps[i].index == of_.steps[i - 1].index + 1)
        of_.steps[i - 1].next_begin = std::max(of_.steps[i - 1].begin, of_.steps[i].begin);
    }
    for (timeline_collective& each : of_.collectives) {
      if (!of_.has_numbers) each.sequence = numbers_[key_of(of_.kinds[each.kind])]++;
    }
    fit();
  }

  /// Appends the following stretch.
  void append(timeline_part const& next) {
    if (!next.first_) return;
    if (!first_) {
      *this = next;
      return;
    }
    if (*last_ + 1 == next.first_->index && !of_.steps.empty() && of_.steps.back().index == *last_)
      of_.steps.back().next_begin = std::max(of_.steps.back().begin, next.first_->begin);
    last_ = next.last_;
    std::vector<std::uint32_t> kind_of;
    for (collective_kind const& each : next.of_.kinds) kind_of.push_back(find_or_add(of_.kinds, each));
    of_.steps.insert(of_.steps.end(), next.of_.steps.begin(), next.of_.steps.end());
    of_.has_numbers = of_.has_numbers && next.of_.has_numbers;
    for (timeline_collective each : next.of_.collectives) {
      if (!next.of_.has_numbers) each.sequence += number_before(next.of_.kinds[each.kind]);
      each.kind = kind_of[each.kind];
      of_.collectives.push_back(std::move(each));
    }
    for (auto const& [of, count] : next.numbers_) numbers_[of] += count;
    of_.all_steps += next.of_.all_steps;
    of_.all_collectives += next.of_.all_collectives;
    of_.unknown_collectives += next.of_.unknown_collectives;
    keep_every(std::max(of_.stride, next.of_.stride));
    fit();
  }

  /// Moves the steps to new positions of paths.
  /// @param path_of called with each position, but not with `attribution::none`.
  template <class PathOf>
  void move(PathOf const& path_of) {
    for_each_path([&](std::uint32_t& path) {
      if (path != attribution::none) path = static_cast<std::uint32_t>(path_of(path));
    });
  }

  /// @param text_of the text of a path.
  /// @return the timeline with its own table of paths.
  template <class TextOf>
  [[nodiscard]] rank_timeline finish(TextOf const& text_of) && {
    std::map<std::uint32_t, std::uint32_t> known;
    for_each_path([&](std::uint32_t& path) {
      auto const [at, is_new] = known.try_emplace(path, static_cast<std::uint32_t>(of_.paths.size()));
      if (is_new) of_.paths.push_back(path == attribution::none ? std::string{} : text_of(path));
      path = at->second;
    });
    return std::move(of_);
  }

  [[nodiscard]] bool is_empty() const noexcept { return of_.steps.empty(); }

 private:
  struct edge {
    std::uint64_t index = 0;
    timestamp begin{};

    template <class Archive>
    friend void fields(Archive& archive, edge& state) {
      archive(state.index), archive(state.begin);
    }
  };
  using number_key = std::tuple<std::uint64_t, std::string, std::string>;  ///< communicator and function

  template <class Archive>
  friend void fields(Archive& archive, timeline_part& state) {
    archive(state.of_), archive(state.first_), archive(state.last_), archive(state.numbers_);
    if constexpr (Archive::is_reader) {
      archive.check(state.first_.has_value() == state.last_.has_value(), "a timeline without its last step");
      archive.check(state.of_.paths.empty(), "a timeline with paths");
      check_timeline(state.of_, false);
      if (!state.first_) archive.check(state.of_.steps.empty(), "a timeline without its first step");
    }
  }

  static number_key key_of(collective_kind const& kind) { return {kind.communicator, kind.group, kind.function}; }

  [[nodiscard]] std::uint64_t number_before(collective_kind const& kind) const {
    auto const at = numbers_.find(key_of(kind));
    return at == numbers_.end() ? 0 : at->second;
  }

  template <class Visit>
  void for_each_path(Visit const& visit) {
    for (timeline_step& step : of_.steps) {
      for (path_time& each : step.stages) visit(each.path);
      for (path_time& each : step.gpu) visit(each.path);
    }
    for (timeline_collective& each : of_.collectives) {
      visit(each.path);
      for (path_time& share : each.busy) visit(share.path);
      for (path_time& share : each.idle) visit(share.path);
    }
  }

  void keep_every(std::uint64_t stride) {
    of_.stride = stride;
    auto const is_dropped = [&](std::uint64_t step) { return step % of_.stride != 0; };
    auto& steps = of_.steps;
    steps.erase(std::remove_if(steps.begin(), steps.end(), [&](timeline_step const& each) { return is_dropped(each.index); }), steps.end());
    auto& all = of_.collectives;
    all.erase(std::remove_if(all.begin(), all.end(), [&](timeline_collective const& each) { return is_dropped(each.step); }), all.end());
  }

  /// Drops every second step until the rest is within the bounds. The steps that remain depend on all steps alone, not on the stretches in
  /// which they were added.
  void fit() {
    while ((of_.steps.size() > max_steps || of_.collectives.size() > max_collectives) && of_.steps.size() > 1) {
      keep_every(2 * of_.stride);
    }
    if (of_.collectives.size() > max_collectives) of_.collectives.resize(max_collectives);
  }

  rank_timeline of_;
  std::optional<edge> first_;                    ///< the first step, kept or not
  std::optional<std::uint64_t> last_;            ///< index of the last step, kept or not
  std::map<number_key, std::uint64_t> numbers_;  ///< number of unnumbered collectives
};

}  // namespace profkit::detail
