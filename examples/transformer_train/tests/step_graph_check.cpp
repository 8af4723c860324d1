// SPDX-License-Identifier: Apache-2.0
//
// A step that is replayed from a CUDA graph computes the same as without a graph. Needs a GPU; without one it returns 77.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config.hpp"
#include "device.hpp"
#include "errors.hpp"
#include "named_check.hpp"
#include "training/batch_feed.hpp"
#include "training/text.hpp"
#include "training/training.hpp"

namespace step_graph_check {

namespace {

using namespace trainer;

constexpr std::uint64_t steps = 12;

int failures = 0;

void expect(bool is_true, std::string_view what) {
  if (is_true) return;
  ++failures;
  fmt::print("FAIL: {}\n", what);
}

/// Different tokens in each batch.
class counting_feed final : public batch_feed {
 public:
  void next(std::span<std::int64_t> tokens, std::span<std::int64_t> targets) override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      tokens[i] = next_;
      targets[i] = next_ = (next_ * 31 + 7) % vocabulary;
    }
  }

 private:
  std::int64_t next_ = 1;
};

struct outcome {
  std::vector<float> losses;
  std::optional<std::uint64_t> skipped_steps;
  std::optional<double> held_out_before;
  std::optional<double> held_out_after;
};

outcome run(run_config const& config, bool has_feed) {
  compute_device const device{device_kind::cuda, config.graph};
  std::optional<text> data;
  if (!config.data_file.empty()) data.emplace(config.data_file, config.ctx);
  training trained{config, device, std::move(data), steps};
  outcome result;
  result.held_out_before = trained.held_out_loss();
  counting_feed feed;
  for (std::uint64_t i = 0; i < steps; ++i) trained.step(has_feed ? &feed : nullptr);
  device.synchronize();
  result.losses = trained.losses();
  result.skipped_steps = trained.skipped_steps();
  result.held_out_after = trained.held_out_loss();
  return result;
}

/// Within 0.1 %, or 0.001 if that is more: some kernels add in a different order each time.
bool agree(double a, double b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return std::isfinite(a) == std::isfinite(b);
  return std::abs(a - b) <= 1e-3 * std::max(1.0, std::abs(a));
}

bool agree(std::optional<double> a, std::optional<double> b) { return a && b ? agree(*a, *b) : a.has_value() == b.has_value(); }

/// @return the losses with the graph.
outcome check_same(run_config config, bool has_feed = false) {
  std::string const name = fmt::format(
      "{} {} {} attention, ctx {}, batch {}, lr {}, clip {}{}{}", name_of(run_modes, config.mode), name_of(precisions, config.precision),
      config.fused ? "fused" : name_of(attentions, config.attention), config.ctx, config.batch, config.learning_rate,
      config.max_gradient_norm, config.data_file.empty() ? "" : ", text", has_feed ? ", feed" : "");
  config.graph = false;
  outcome const eager = run(config, has_feed);
  config.graph = true;
  outcome const replayed = run(config, has_feed);
  fmt::print("{}\n  eager    {::.4f}\n  replayed {::.4f}\n", name, eager.losses, replayed.losses);
  expect(eager.losses.size() == steps && replayed.losses.size() == steps, name + ": each step has a loss");
  expect(std::equal(eager.losses.begin(), eager.losses.end(), replayed.losses.begin(), replayed.losses.end(),
                    [](double a, double b) { return agree(a, b); }),
         name + ": losses are the same");
  expect(eager.skipped_steps == replayed.skipped_steps, name + ": as many steps are skipped");
  expect(agree(eager.held_out_before, replayed.held_out_before) && agree(eager.held_out_after, replayed.held_out_after),
         name + ": held-out losses are the same");
  return replayed;
}

run_config tiny(run_mode mode, precision_kind precision) {
  run_config config;
  config.size = model_sizes.front();
  config.ctx = 32;
  config.batch = 2;
  config.mode = mode;
  config.precision = precision;
  config.learning_rate = 1e-4;
  return config;
}

void check_modes_and_precisions() {
  for (run_mode const mode : {run_mode::forward, run_mode::forward_backward, run_mode::train}) {
    for (auto const& [name, precision] : precisions) check_same(tiny(mode, precision));
  }
  for (precision_kind const precision : {precision_kind::fp32, precision_kind::bf16}) {
    run_config config = tiny(run_mode::train, precision);
    config.attention = attention_kind::sdpa;
    check_same(config);
    config.fused = true;
    check_same(config);
  }
}

void check_gradient_treatment() {
  for (precision_kind const precision : {precision_kind::fp32, precision_kind::fp16_scaled}) {
    run_config config = tiny(run_mode::train, precision);
    config.max_gradient_norm = 0.1;
    check_same(config);
  }
  // The first update makes the weights so large that everything after it overflows.
  run_config config = tiny(run_mode::train, precision_kind::fp16_scaled);
  config.learning_rate = 1e6;
  expect(check_same(config).skipped_steps == steps - 1, "replayed steps skip their updates");
}

void check_batches() {
  std::vector<float> losses = check_same(tiny(run_mode::forward, precision_kind::fp32)).losses;
  std::sort(losses.begin(), losses.end());
  expect(std::adjacent_find(losses.begin(), losses.end()) == losses.end(), "each replay reads a batch of its own");
  check_same(tiny(run_mode::train, precision_kind::fp32), /*has_feed=*/true);
  // The gradient of an embedding uses other kernels for more than 3072 tokens.
  run_config config = tiny(run_mode::train, precision_kind::bf16);
  config.ctx = 512;
  config.batch = 8;
  check_same(config);
}

void check_text(std::filesystem::path const& path) {
  std::ofstream file{path};
  for (int i = 0; i < 100; ++i) file << "What is repeated often enough is learned quickly. ";
  file.close();
  run_config config = tiny(run_mode::train, precision_kind::fp32);
  config.data_file = path.string();
  config.learning_rate = 1e-3;
  outcome const learned = check_same(config);
  expect(learned.losses.back() < learned.losses[training::graph_warmup_steps] - 1.0F, "replayed steps learn");
  expect(learned.held_out_after < learned.held_out_before, "what replayed steps learned is in the weights that are evaluated");
}

int run(int /*count*/, char** /*arguments*/) {
  try {
    compute_device const needed{device_kind::cuda};
  } catch (input_error const& error) {
    fmt::print("skipped: {}\n", error.what());
    return 77;
  }
  try {
    check_modes_and_precisions();
    check_gradient_treatment();
    check_batches();
    std::filesystem::path const path = std::filesystem::temp_directory_path() / fmt::format("step_graph_check_{}", ::getpid());
    check_text(path);
    std::filesystem::remove(path);
  } catch (std::exception const& error) {
    ++failures;
    fmt::print("FAIL: {}\n", error.what());
  }
  if (failures == 0) fmt::print("passed\n");
  return failures == 0 ? 0 : 1;
}

checks::named_check const registered{"step_graph", run};

}  // namespace

}  // namespace step_graph_check
