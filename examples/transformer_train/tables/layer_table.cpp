// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <profkit/statistics.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tables/lookup.hpp"
#include "tables/table_cells.hpp"
#include "tables/tables.hpp"

namespace trainer {

namespace {

/// One row of T8. Times are totals over the measured steps; n/a if they were not measured.
struct layer_row {
  std::string name;
  std::optional<milliseconds> host;
  std::optional<milliseconds> events;  ///< between CUDA events
  std::optional<milliseconds> work;    ///< of operations launched in the scope: kernels, copies and memsets
  std::optional<milliseconds> span;    ///< mean per scope, from the first start to the last end of its work
};

layer_row row_of(std::string name, profkit::scope_summary const& scope) {
  layer_row row{std::move(name), scope.host.total, {}, {}, {}};
  if (scope.gpu_events) row.events = scope.gpu_events->total;
  if (scope.gpu) {
    row.work = scope.gpu->kernel_time;
    row.span = scope.gpu->span.mean;
  }
  return row;
}

/// A share of a whole, with the clock that measured both.
struct share {
  std::optional<double> of_whole;
  char const* clock = not_measured;

  [[nodiscard]] std::string text() const { return of_whole ? fmt::format("{:.1f} %", 100.0 * *of_whole) : not_measured; }
};

/// Uses the first clock of the list that measured both.
share share_of(layer_row const& part, layer_row const& whole, bool has_events) {
  auto const by = [&](std::optional<milliseconds> layer_row::*time, char const* clock) -> share {
    if (!(part.*time) || !(whole.*time) || (whole.*time)->count() <= 0.0) return {};
    return {*(part.*time) / *(whole.*time), clock};
  };
  share const events = by(&layer_row::events, "CUDA events");
  share const work = by(&layer_row::work, "GPU work");
  share const host = by(&layer_row::host, "host clock");
  if (has_events && events.of_whole) return events;
  if (!has_events && work.of_whole) return work;
  return host;
}

class layer_rows {
 public:
  explicit layer_rows(profkit::summary const& summary) : summary_{summary}, steps_{summary.steps.host.count} {}

  titled_table table() {
    if (steps_ > 0) step_.host = summary_.steps.host.total;
    if (summary_.steps.gpu) step_.events = summary_.steps.gpu->total;
    if (summary_.gpu) step_.work = summary_.gpu->all.kernel_time;
    forward_ = phase("FORWARD", "step/forward");
    backward_ = phase("BACKWARD", "step/backward");
    optimizer_ = phase("OPTIMIZER", "step/optimizer");
    if (!is_backward_in_scopes(summary_)) {  // autograd threads launch nearly all of its work elsewhere
      backward_.work.reset();
      backward_.span.reset();
    }
    for (layer_row const* each : {&step_, &forward_, &backward_, &optimizer_}) add(*each, share_of(*each, step_, true), "step");
    add_ratio();
    add_forward();
    add_layer_statistics();
    return {"T8. Per layer", std::move(table_), notes()};
  }

 private:
  [[nodiscard]] layer_row phase(char const* name, std::string_view path) const {
    profkit::scope_summary const* const scope = find_scope(summary_, path);
    return scope == nullptr ? layer_row{name, {}, {}, {}, {}} : row_of(name, *scope);
  }

  void add(layer_row const& row, std::string share_text, std::string const& whole) {
    table_.add({row.name, in_ms(row.host), in_ms(per(steps_, row.host)), in_ms(per(steps_, row.events)), in_ms(row.work),
                in_ms(per(steps_, row.work)), in_ms(row.span), std::move(share_text), whole});
  }

  void add(layer_row const& row, share const& part, char const* whole) {
    add(row, part.text(), part.of_whole ? fmt::format("{} ({})", whole, part.clock) : whole);
  }

  void add_ratio() {
    share const ratio = share_of(backward_, forward_, true);
    add({"BACKWARD : FORWARD", {}, {}, {}, {}}, ratio.of_whole ? fmt::format("{:.2f}", *ratio.of_whole) : not_measured,
        ratio.of_whole ? fmt::format("FORWARD ({})", ratio.clock) : "FORWARD");
  }

  /// The layers and everything inside them, then the other parts.
  void add_forward() {
    constexpr std::string_view inside_forward = "step/forward/";
    std::vector<layer_row> beside;
    for (profkit::scope_summary const& scope : summary_.scopes) {
      std::string_view const path = scope.path;
      if (!path.starts_with(inside_forward)) continue;
      // A layer has depth 2 in the tree.
      layer_row const row = row_of(std::string(2 * (scope.depth - 1), ' ') + scope.name, scope);
      if (!path.substr(inside_forward.size()).starts_with("layer_")) {
        beside.push_back(row);
        continue;
      }
      if (scope.depth == 2) layers_.push_back(row);
      if (scope.name == "attention_sublayer") attention_.push_back(row);
      add(row, share_of(row, forward_, false), "FORWARD");
    }
    for (layer_row const& row : beside) add(row, share_of(row, forward_, false), "FORWARD");
  }

  void add_layer_statistics() {
    layer_row mean{"mean of the layers", {}, {}, {}, {}};
    layer_row deviation{"std of the layers (n - 1)", {}, {}, {}, {}};
    for (auto const time : {&layer_row::host, &layer_row::work, &layer_row::span}) {
      profkit::running_statistics statistics;
      for (layer_row const& layer : layers_) {
        if (layer.*time) statistics.add((layer.*time)->count());
      }
      if (auto const value = statistics.mean()) mean.*time = milliseconds{*value};
      if (auto const value = statistics.standard_deviation()) deviation.*time = milliseconds{*value};
    }
    add(mean, share_of(mean, forward_, false), "FORWARD");
    add(deviation, share_of(deviation, forward_, false), "FORWARD");
  }

  /// The share of attention in the forward pass, by each available clock.
  [[nodiscard]] std::string attention_in_words() const {
    std::string result;
    auto const add_clock = [&](std::optional<milliseconds> layer_row::*time, char const* clock) {
      std::optional<milliseconds> total;
      for (layer_row const& row : attention_) {
        if (row.*time) total = total.value_or(milliseconds{}) + *(row.*time);
      }
      if (!total || !(forward_.*time)) return;
      result += fmt::format("{} {} of {} ms per step by {}", result.empty() ? "" : ",", percent(total, forward_.*time),
                            in_ms(per(steps_, forward_.*time)), clock);
    };
    add_clock(&layer_row::work, "GPU work");
    add_clock(&layer_row::host, "host clock");
    return result.empty() ? std::string{} : "All attention_sublayer take of FORWARD:" + result + ".";
  }

  [[nodiscard]] std::vector<std::string> notes() const {
    std::vector<std::string> result{fmt::format("{} measured steps, {} layers.", steps_, layers_.size())};
    if (std::string words = attention_in_words(); !words.empty()) result.push_back(std::move(words));
    if (share const part = share_of(optimizer_, step_, true); part.of_whole) {
      result.push_back(fmt::format("OPTIMIZER takes {} of the step by {}.", part.text(), part.clock));
    }
    result.emplace_back(
        "events: time between CUDA events, for phases only. work: sum of the durations of the kernels, copies and memsets launched in the "
        "scope or inside it. span_mean_ms: mean per scope, from the first start to the last end of its work.");
    result.emplace_back(is_backward_in_scopes(summary_)
                            ? "BACKWARD by layer: T14."
                            : "BACKWARD by layer is n/a: an autograd thread without open scopes launches its kernels.");
    if (!summary_.gpu) result.push_back(why_no_kernels(summary_));
    return result;
  }

  profkit::summary const& summary_;
  std::uint64_t steps_;
  string_table table_{
      {"scope", "host_total_ms", "host_ms/step", "events_ms/step", "work_total_ms", "work_ms/step", "span_mean_ms", "share", "share_of"}};
  layer_row step_{"step", {}, {}, {}, {}};
  layer_row forward_;
  layer_row backward_;
  layer_row optimizer_;
  std::vector<layer_row> layers_;
  std::vector<layer_row> attention_;
};

}  // namespace

titled_table layer_table(run_config const& config, profkit::summary const& summary) {
  titled_table result = layer_rows{summary}.table();
  if (!config.package_file.empty()) result.notes.emplace_back("The compiled forward pass is one scope: its layers are n/a.");
  result.notes.front() += fmt::format(" Size {}, batch {}, ctx {}.", config.size.name, config.batch, config.ctx);
  return result;
}

}  // namespace trainer
