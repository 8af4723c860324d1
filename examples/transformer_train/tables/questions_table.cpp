// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <profkit/kernels_of_scope.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tables/flops.hpp"
#include "tables/kernel_name.hpp"
#include "tables/kernel_set.hpp"
#include "tables/lookup.hpp"
#include "tables/table_cells.hpp"
#include "tables/tables.hpp"

namespace trainer {

namespace {

/// Two times this close count as equal. Host and GPU timers of a phase differ by the wait of each phase for its work.
constexpr double tolerance = 0.02;

/// "48" or "0.5": the number of kernels rarely differs between steps.
std::string calls_per(std::uint64_t steps, std::uint64_t calls) {
  return fmt::format("{:.10g}", static_cast<double>(calls) / static_cast<double>(steps));
}

std::string in_gflop(double flops) { return fmt::format("{:.4g} GFLOP", flops / 1e9); }

/// One TFLOP/s is 1e9 operations per millisecond.
std::string in_tflops(double flops, milliseconds time) {
  return time.count() > 0.0 ? fmt::format("{:.3g} TFLOP/s", flops / time.count() / 1e9) : not_measured;
}

std::string in_us(milliseconds time) { return fmt::format("{:.1f} us", 1000.0 * time.count()); }

class questions {
 public:
  questions(run_config const& config, profkit::profile const& profile, profkit::summary const& summary)
      : config_{config},
        profile_{profile},
        summary_{summary},
        steps_{summary.steps.host.count},
        has_kernels_{summary.gpu && !summary.gpu->kernels.empty() && steps_ > 0},
        flops_{count_forward_flops(config.size, config.batch, config.ctx)} {
    if (!has_kernels_) return;
    forward_.add(profkit::kernels_of_scope(profile, "step/forward"));
    backward_.add(profkit::kernels_of_scope(profile, "step/backward"));
    backward_.add(profkit::kernels_outside_scopes(profile));
    all_.add(summary.gpu->kernels);
  }

  titled_table table() {
    ask_for_forward_time();
    ask_for_top_kernels();
    ask_for_other_kernels();
    ask_for_matmul_share();
    ask_for_attention();
    return {"T6. Kernel questions", std::move(table_), notes()};
  }

 private:
  void add(std::string question, std::string answer, std::string figures, std::string basis) {
    table_.add({std::move(question), std::move(answer), std::move(figures), std::move(basis)});
  }

  void add_unknown(std::string question, std::string basis, std::string const& why = {}) {
    add(std::move(question), why.empty() ? not_measured : fmt::format("{}: {}", not_measured, why), not_measured, std::move(basis));
  }

  [[nodiscard]] std::string per_step(milliseconds total) const { return in_ms(per(steps_, total)) + " ms"; }

  /// The basis of a share.
  [[nodiscard]] std::string whole(std::string const& words, milliseconds total) const {
    return has_kernels_ ? fmt::format("of {}, {} a step", words, per_step(total)) : "of " + words;
  }

  static bool agree(milliseconds a, milliseconds b) { return std::abs((a - b).count()) <= tolerance * std::max(a, b).count(); }

  void ask_for_forward_time() {
    std::string const clocks = "a. forward pass: host clock and CUDA events";
    std::string const gaps = "a. forward pass: CUDA events and kernels";
    profkit::scope_summary const* const forward = find_scope(summary_, "step/forward");
    if (forward == nullptr || steps_ == 0) {
      add_unknown(clocks, "time per step");
      add_unknown(gaps, "time per step");
      return;
    }
    milliseconds const host = forward->host.total;
    if (!forward->gpu_events) {
      add(clocks, fmt::format("{}: no events", not_measured), fmt::format("host {}, events {}", per_step(host), not_measured),
          "time per step");
      add_unknown(gaps, "time per step");
      return;
    }
    milliseconds const events = forward->gpu_events->total;
    std::string const difference = percent(milliseconds{std::abs((events - host).count())}, std::max(host, events));
    add(clocks,
        agree(host, events) ? "they agree"
        : host < events     ? "no: the host launched and ran ahead of the GPU"
                            : "no: the host took longer; it waited, or launched before the GPU began",
        fmt::format("host {}, events {}, differ by {}", per_step(host), per_step(events), difference),
        "time per step; difference relative to the longer one");
    if (!has_kernels_) {
      add_unknown(gaps, "time per step");
      return;
    }
    // Copies and memsets also keep the GPU busy.
    milliseconds const work = forward->gpu->kernel_time;
    add(gaps,
        agree(work, events) ? "they agree: the GPU runs without gaps"
        : work < events     ? "no: the GPU has gaps between kernels"
                            : "no: kernels run concurrently",
        fmt::format("kernels {}, copies and memsets {}, neither {}", per_step(forward_.time()),
                    per_step(std::max(milliseconds{}, work - forward_.time())), percent(std::max(milliseconds{}, events - work), events)),
        whole("the time between CUDA events", events));
  }

  void add_top_kernel(std::string question, kernel_set const& in, char const* words) {
    if (in.rows().empty()) {
      add_unknown(std::move(question), std::string{"of "} + words, has_kernels_ ? "there are none in this run" : "");
      return;
    }
    kernel_total const& top = in.rows().front();
    std::uint64_t const in_forward = forward_.calls_of(top.name);
    std::string figures = fmt::format("{} calls a step", calls_per(steps_, top.calls));
    if (&in != &forward_) figures += fmt::format(", {} of them in the forward pass", calls_per(steps_, in_forward));
    add(std::move(question), short_kernel_name(top.name),
        figures + fmt::format("; {}, {}", per_step(top.time), percent(top.time, in.time())), whole(words, in.time()));
    if (full_names_.empty() || full_names_.back() != top.name) full_names_.push_back(top.name);
  }

  void ask_for_top_kernels() {
    add_top_kernel("b. longest kernel, forward", forward_, "forward kernel time");
    std::string const question = "b. longest kernel, forward + backward";
    if (config_.mode == run_mode::forward) {
      add_unknown(question, "of forward + backward kernel time", "no backward pass in mode fwd");
      return;
    }
    kernel_set both = forward_;
    both.add(backward_);
    add_top_kernel(question, both, "forward + backward kernel time");
  }

  void ask_for_other_kernels() {
    constexpr std::size_t shown = 5;
    std::string const basis = whole("forward kernel time", forward_.time());
    std::vector<kernel_total> others;
    std::copy_if(forward_.rows().begin(), forward_.rows().end(), std::back_inserter(others),
                 [](kernel_total const& each) { return each.kernel_class != "matmul"; });
    std::string const question = "c. kernels besides matmul, forward";
    if (others.empty()) {
      add_unknown(question, basis, has_kernels_ ? "there are none in this run" : "");
      return;
    }
    std::string classes;
    for (std::string const& name : forward_.classes()) {
      if (name == "matmul") continue;
      classes += fmt::format("{}{} {}", classes.empty() ? "" : ", ", name, percent(forward_.time_of_class(name), forward_.time()));
    }
    milliseconds const time = forward_.time() - forward_.time_of_class("matmul");
    add(question, fmt::format("{} of the time", percent(time, forward_.time())), classes, basis);
    for (std::size_t i = 0; i < std::min(shown, others.size()); ++i) {
      kernel_total const& each = others[i];
      add(fmt::format("c. kernels besides matmul, forward, {}.", i + 1), short_kernel_name(each.name),
          fmt::format("{}, {} calls a step; {}, {}", each.kernel_class, calls_per(steps_, each.calls), per_step(each.time),
                      percent(each.time, forward_.time())),
          basis);
    }
  }

  void ask_for_matmul_share() {
    std::string const question = "d. matmul: inference and the whole step";
    std::string const basis = whole("forward kernel time", forward_.time()) + "; " + whole("kernel time of the whole step", all_.time());
    if (forward_.rows().empty()) {
      add_unknown(question, basis);
      return;
    }
    std::string const inference = percent(forward_.time_of_class("matmul"), forward_.time());
    if (config_.mode == run_mode::forward) {
      add(question, fmt::format("{} in inference; mode fwd has nothing to compare it with", inference), not_measured, basis);
      return;
    }
    std::string grown;
    for (std::string const& name : all_.classes()) {
      double const before = forward_.time_of_class(name) / forward_.time();
      double const now = all_.time_of_class(name) / all_.time();
      if (now - before < 0.005) continue;
      grown += fmt::format("{}{} {:.1f} to {:.1f} %", grown.empty() ? "" : ", ", name, 100.0 * before, 100.0 * now);
    }
    add(question, fmt::format("{} in inference, {} in the step", inference, percent(all_.time_of_class("matmul"), all_.time())),
        grown.empty() ? "no class grew by half a percent" : "grew: " + grown, basis);
  }

  void ask_for_attention() {
    std::int64_t const layers = config_.size.layers;
    bool const is_naive = config_.attention == attention_kind::naive;
    bool const is_fused = !is_naive && sdpa_backend_of(summary_) != "math";
    add_softmax_against_matmul(is_naive);
    add_part({"QKV projections", "attention projections", flops_.qkv_projections, layers});
    if (is_naive) {
      add_part({"attention scores", "attention scores + mask", flops_.scores, layers});
      add_part({"attention x value", "attention x value", flops_.weighted_values, layers});
    } else if (is_fused) {
      add_part({"fused attention", "scaled dot product attention", causal_attention_flops(flops_, config_.ctx), layers, "attention"});
    } else {
      add_part({"attention products (sdpa, math)", "scaled dot product attention", flops_.attention_products(), layers});
    }
    add_part({"output projection", "output projection", flops_.output_projection, layers});
    add_part({"feed-forward", "ffn_sublayer", flops_.feed_forward, layers});
    add_part({"LM head", "lm_head", flops_.lm_head, 1});
    std::int64_t const fused = is_fused ? layers * flops_.attention_products() : 0;
    add_part({"all matrix products, forward", "step/forward", flops_.matmuls(layers) - fused, 1});
  }

  /// A part of the model, and the rate of its matrix products.
  struct part {
    char const* name;
    char const* scope;
    std::int64_t flops;  ///< of one run
    std::int64_t runs;   ///< in a step
    char const* kernel_class = "matmul";
  };

  /// Kernels of a scope; empty if none were collected.
  [[nodiscard]] kernel_set kernels_of(char const* scope) const {
    return has_kernels_ ? kernel_set{profkit::kernels_of_scope(profile_, scope)} : kernel_set{};
  }

  void add_part(part const& asked) {
    kernel_set const kernels = kernels_of(asked.scope);
    milliseconds const time = kernels.time_of_class(asked.kernel_class);
    auto const flops = static_cast<double>(asked.flops);
    double const runs = static_cast<double>(asked.runs) * static_cast<double>(steps_);
    std::string const question = fmt::format("e. {}", asked.name);
    std::string const basis = in_gflop(flops) + (asked.runs == 1 ? " a step" : " a layer and step");
    if (time.count() <= 0.0) {
      add_unknown(question, basis);
      return;
    }
    add(question, in_tflops(flops * runs, time),
        fmt::format("{} of {} in {} kernels", in_us(time / runs), in_us(kernels.time() / runs), asked.kernel_class), basis);
  }

  void add_softmax_against_matmul(bool is_naive) {
    std::string const question = "e. softmax against both products of attention";
    auto const products_flops = static_cast<double>(flops_.attention_products());
    auto const softmax_flops = static_cast<double>(flops_.softmax);
    std::string const basis =
        fmt::format("{} and {} a layer and step: 5 per score, 2 B T^2 d per product", in_gflop(softmax_flops), in_gflop(products_flops));
    if (!is_naive) {
      add_unknown(question, basis, "sdpa computes softmax inside its kernels");
      return;
    }
    kernel_set const softmax = kernels_of("softmax");
    kernel_set const scores = kernels_of("attention scores + mask");
    kernel_set const values = kernels_of("attention x value");
    milliseconds const products = scores.time_of_class("matmul") + values.time_of_class("matmul");
    if (softmax.time().count() <= 0.0 || products.count() <= 0.0) {
      add_unknown(question, basis);
      return;
    }
    double const runs = static_cast<double>(config_.size.layers) * static_cast<double>(steps_);
    add(question, fmt::format("{:.2f} times the time for 1/{:.1f} of the FLOPs", softmax.time() / products, products_flops / softmax_flops),
        fmt::format("softmax {}, {}; products {}, {} (with scale, mask and copies {})", in_us(softmax.time() / runs),
                    in_tflops(softmax_flops * runs, softmax.time()), in_us(products / runs), in_tflops(products_flops * runs, products),
                    in_us((scores.time() + values.time()) / runs)),
        basis);
  }

  [[nodiscard]] std::vector<std::string> notes() const {
    std::vector<std::string> result{fmt::format("{} measured steps; size {}, batch {}, ctx {}, mode {}, precision {}, {} attention.",
                                                steps_, config_.size.name, config_.batch, config_.ctx, name_of(run_modes, config_.mode),
                                                name_of(precisions, config_.precision), name_of(attentions, config_.attention))};
    if (!has_kernels_) {
      result.push_back(summary_.gpu ? "No kernel was launched in the measured steps." : why_no_kernels(summary_));
      return result;
    }
    result.emplace_back("Forward pass: kernels launched in the scope forward or inside it.");
    if (config_.mode != run_mode::forward) {
      result.emplace_back(
          "Backward pass: kernels launched in the scope backward, and those that autograd threads launch outside any scope.");
    }
    result.emplace_back(
        "e: rates of the kernels of the named class among all kernels of the part. Softmax counts all its kernels, products those of "
        "matmul. "
        "FLOPs are counted from the shapes: 2 m k n for a product [m, k] x [k, n]. Naive attention computes masked pairs too; fused "
        "attention counts the T (T + 1) / 2 pairs that the causal mask leaves.");
    for (std::string const& name : full_names_) result.push_back("Longest kernel in full: " + name);
    return result;
  }

  run_config const& config_;
  profkit::profile const& profile_;
  profkit::summary const& summary_;
  std::uint64_t steps_;
  bool has_kernels_;
  forward_flops flops_;
  kernel_set forward_;
  kernel_set backward_;
  kernel_set all_;
  std::vector<std::string> full_names_;
  string_table table_{{"question", "answer", "figures", "basis"}, /*text_columns=*/4};
};

}  // namespace

titled_table questions_table(run_config const& config, profkit::profile const& profile, profkit::summary const& summary) {
  return questions{config, profile, summary}.table();
}

}  // namespace trainer
