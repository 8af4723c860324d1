// SPDX-License-Identifier: Apache-2.0
//
// T6 of runs recorded on an H200, and its FLOP counts.
//
//     table_checks questions_table FOLDER_OF_THE_PROFILES

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <profkit/kernels_of_scope.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "model/work.hpp"
#include "named_check.hpp"
#include "table_check.hpp"
#include "tables/flops.hpp"
#include "tables/kernel_set.hpp"

namespace questions_table_check {

namespace {

using checks::cells;
using checks::check;
using checks::check_close;
using checks::check_contains;
using checks::check_equal;
using checks::recorded_run;

constexpr trainer::model_size small_size = trainer::model_sizes[1];

void check_flops() {
  trainer::forward_flops const flops = trainer::count_forward_flops(small_size, 4, 512);
  // Per layer and step: a published report has 40.8 GFLOP for each product, and a ratio of 646.
  check(flops.scores == 2LL * 4 * 12 * 512 * 512 * 64, "the scores of attention take 2 B h T^2 d_head");
  check(flops.scores == 1'610'612'736, "the scores of attention take 1.61 GFLOP");
  check(flops.weighted_values == flops.scores, "the two products of attention take the same");
  check_close(static_cast<double>(flops.attention_products()) / static_cast<double>(flops.softmax), 51.2, 1e-9, "products over softmax");
  check(flops.qkv_projections == 3 * flops.output_projection, "three of the four projections are Q, K and V");
  // Each matrix parameter takes part in one multiplication and one addition per token; the embedding and the norms in none.
  for (trainer::model_size const& size : trainer::model_sizes) {
    trainer::forward_flops const other = trainer::count_forward_flops(size, 3, 256);
    std::int64_t const matrices =
        trainer::parameter_count(size) - trainer::vocabulary * size.d_model - (2 * size.layers + 1) * size.d_model;
    check(other.matmuls(size.layers) - size.layers * other.attention_products() == 2 * 3 * 256 * matrices,
          "FLOPs are 2 a parameter and token");
    check(other.scores == 2 * 3 * 256 * 256 * size.d_model, "the heads of the scores are together as wide as the model");
  }
  check(trainer::causal_attention_flops(flops, 512) == flops.attention_products() / 1024 * 513, "the mask leaves T (T + 1) / 2 pairs");
  check(trainer::causal_attention_flops(trainer::count_forward_flops(small_size, 4, 1), 1) ==
            trainer::count_forward_flops(small_size, 4, 1).attention_products(),
        "the mask leaves a single pair as it is");
}

void check_work_is(profkit::work const& found, double flops, double bytes, std::string_view what) {
  check_close(found.flops, flops, 0.0, fmt::format("FLOPs of {}", what));
  check_close(found.bytes, bytes, 0.0, fmt::format("bytes of {}", what));
}

void check_work() {
  // d_model 768, d_ff 3072, 12 heads of 64; 4 x 512 tokens, 12,582,912 pairs of a query and a key.
  trainer::forward_work const work{small_size, 4, 512, 4};
  check_work_is(work.embedding(), 0, 2048.0 * (768 * 4 + 768 * 4 + 8), "the embedding");
  check_work_is(work.norm(), 4 * 1'572'864.0, 8 * 1'572'864.0 + 4 * 768, "a norm");
  check_work_is(work.qkv_projections(), 7'247'757'312.0, 4.0 * (1'572'864 + 3 * 589'824 + 3 * 1'572'864), "Q, K and V");
  check_work_is(work.rope(), 3 * 1'572'864.0, 8 * 1'572'864.0 + 512 * 32 * 8, "RoPE");
  check_work_is(work.scores(), 1'610'612'736.0, 4.0 * (2 * 1'572'864 + 12'582'912), "the scores");
  check_work_is(work.scale_and_mask(), 12'582'912.0, 8 * 12'582'912.0 + 512 * 512, "scale and mask");
  check_work_is(work.softmax(), 5 * 12'582'912.0, 8 * 12'582'912.0, "softmax");
  check_work_is(work.weighted_values(), 1'610'612'736.0, 4.0 * (12'582'912 + 2 * 1'572'864), "the weighted values");
  check_work_is(work.fused_attention(), 1'610'612'736.0 / 512 * 513, 4.0 * 4 * 1'572'864, "fused attention");
  check_work_is(work.output_projection(), 2'415'919'104.0, 4.0 * (2 * 1'572'864 + 589'824), "the output projection");
  check_work_is(work.residual(), 1'572'864.0, 12 * 1'572'864.0, "a residual");
  check_work_is(work.ffn_projections(), 19'327'352'832.0, 4.0 * (1'572'864 + 2 * 2'359'296 + 2 * 6'291'456), "w1 and w3");
  check_work_is(work.swiglu(), 5 * 6'291'456.0, 12 * 6'291'456.0, "SwiGLU");
  check_work_is(work.ffn_output_projection(), 9'663'676'416.0, 4.0 * (6'291'456 + 2'359'296 + 1'572'864), "w2");
  check_work_is(work.lm_head(), 31'457'280'000.0, 4.0 * (1'572'864 + 7'680'000 + 20'480'000), "the LM head");
  check_work_is(trainer::loss_work(20'480'000, 2048, 4), 81'920'000.0, 81'920'000.0 + 2048 * 8 + 4, "the loss");
  check_work_is(trainer::adamw_work(1000), 14'000, 28'000, "AdamW");

  // The products of all scopes add up to those of the step.
  double const layer = work.qkv_projections().flops + work.scores().flops + work.weighted_values().flops + work.output_projection().flops +
                       work.ffn_projections().flops + work.ffn_output_projection().flops;
  trainer::run_config run;  // small, batch 4
  run.ctx = 512;
  run.mode = trainer::run_mode::forward;
  double const forward = trainer::model_flops_of_step(run);
  check_close(12 * layer + work.lm_head().flops, forward, 0.0, "FLOPs of a forward pass");
  run.mode = trainer::run_mode::train;
  check_close(trainer::model_flops_of_step(run), 3 * forward, 0.0, "FLOPs of a training step");

  // With autocast, products read and write half the bytes; fp32 operations do not change.
  trainer::forward_work const half{small_size, 4, 512, 2};
  check_work_is(half.lm_head(), work.lm_head().flops, work.lm_head().bytes / 2, "the LM head in bf16");
  check_work_is(half.embedding(), 0, work.embedding().bytes, "the embedding in bf16");
  check_close(half.softmax().bytes, 6 * 12'582'912.0, 0.0, "bytes of softmax in bf16");
  for (profkit::work const& product : {half.scores(), half.fused_attention(), half.ffn_projections()}) {
    check(product.precision == profkit::precision::unknown && product.backward == 2.0F, "products are in the precision of the run");
  }
  for (profkit::work const& other : {half.softmax(), half.norm(), half.swiglu(), half.embedding()}) {
    check(other.precision == profkit::precision::fp32 && other.backward == 0.0F, "the rest is fp32, and its backward is not known");
  }
  check(half.residual().backward > 0.0F && half.residual().backward * half.residual().flops < 1e-20, "a sum has no backward work");
  check(trainer::arithmetic_of(trainer::precision_kind::fp16_scaled) == profkit::precision::fp16, "fp16_scaled computes in fp16");
}

void check_training_run(recorded_run const& run) {
  trainer::titled_table const table = trainer::questions_table(run.config, run.profile, run.summary);
  cells const cells{table.content};
  std::string const clocks = "a. forward pass: host clock and CUDA events";
  check_equal(cells.at(clocks, "answer"), "no: the host launched and ran ahead of the GPU", clocks);
  check_equal(cells.at(clocks, "figures"), "host 4.446 ms, events 5.075 ms, differ by 12.4 %", clocks);
  std::string const gaps = "a. forward pass: CUDA events and kernels";
  check_contains(cells.at(gaps, "answer"), "the GPU has gaps", gaps);
  check_contains(cells.at(gaps, "basis"), "5.075 ms a step", gaps);

  // Nsight Systems counted 146 launches of it in the forward ranges of two steps, and none elsewhere.
  std::string const forward = "b. longest kernel, forward";
  check_contains(cells.at(forward, "figures"), "73 calls a step;", forward);
  check_contains(cells.at(forward, "basis"), "of forward kernel time, ", forward);
  std::string const both = "b. longest kernel, forward + backward";
  check_contains(cells.at(both, "figures"), "73 calls a step, 73 of them in the forward pass;", both);
  // Nearly all kernels except those of the optimizer, including those launched by autograd threads.
  profkit::milliseconds passes{};
  for (profkit::kernel_class_summary const& each : run.summary.gpu->classes) {
    if (each.name != "optimizer") passes += each.total;
  }
  std::string const basis = cells.at(both, "basis");
  std::string const words = "of forward + backward kernel time, ";
  check_contains(basis, words, both);
  check_close(std::strtod(basis.c_str() + std::min(words.size(), basis.size()), nullptr), passes.count() / 2.0, 0.01, both);
  check_contains(table.notes.back(),
                 "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4_execute",
                 "the longest kernel in full");

  std::string const share = "d. matmul: inference and the whole step";
  check_equal(cells.at(share, "answer"), "84.8 % in inference, 80.0 % in the step", share);
  check_equal(cells.at(share, "figures"), "grew: optimizer 0.0 to 7.3 %", share);

  check_contains(cells.at("e. softmax against both products of attention", "answer"), "for 1/51.2 of the FLOPs", "e");
  for (char const* const part : {"e. QKV projections", "e. attention scores", "e. attention x value", "e. output projection",
                                 "e. feed-forward", "e. LM head", "e. all matrix products, forward"}) {
    // An H200 has 67 TFLOP/s of fp32 outside the tensor cores.
    double const achieved = cells.number(part, "answer");
    check(achieved > 1.0 && achieved < 67.0, std::string{part} + ": " + cells.at(part, "answer"));
  }
}

/// Parts of an answer are consistent with each other and with the rows of the summary.
void check_sums(recorded_run const& run) {
  cells const cells{trainer::questions_table(run.config, run.profile, run.summary).content};
  trainer::kernel_set const forward{profkit::kernels_of_scope(run.profile, "step/forward")};
  profkit::milliseconds work{};
  for (profkit::scope_summary const& scope : run.summary.scopes) {
    if (scope.path == "step/forward") work = scope.gpu->kernel_time;
  }
  check(forward.time() <= work * (1.0 + 1e-9) && forward.time() > work * 0.99, "kernels of the forward pass");
  double classes = 0.0;
  for (std::string const& name : forward.classes()) classes += forward.time_of_class(name).count();
  check_close(classes, forward.time().count(), 1e-9, "the classes of the forward pass");
  double const others = cells.number("c. kernels besides matmul, forward", "answer");
  double const matmul = cells.number("d. matmul: inference and the whole step", "answer");
  check_close(others + matmul, 100.0, 0.11, "matmul and the others, in percent");

  // The rates of the parts of attention and of the whole come from the same kernels.
  double parts = 0.0;
  for (char const* const part : {"QKV projections", "attention scores", "attention x value", "output projection", "feed-forward"}) {
    parts += cells.number(std::string{"e. "} + part, "figures") * static_cast<double>(run.config.size.layers);
  }
  parts += cells.number("e. LM head", "figures");
  double const all = cells.number("e. all matrix products, forward", "figures");
  check_close(parts, all, 0.002 * all, "microseconds of matrix products in a step");
}

void check_forward_run(recorded_run const& run) {
  cells const cells{trainer::questions_table(run.config, run.profile, run.summary).content};
  check_equal(cells.at("b. longest kernel, forward + backward", "answer"), "n/a: no backward pass in mode fwd", "b");
  check_equal(cells.at("d. matmul: inference and the whole step", "answer"), "78.6 % in inference; mode fwd has nothing to compare it with",
              "d");
  check_equal(cells.at("e. attention scores", "basis"), "1.611 GFLOP a layer and step", "e");
}

void check_without_kernels(recorded_run const& run) {
  trainer::titled_table const table = trainer::questions_table(run.config, run.profile, run.summary);
  cells const cells{table.content};
  check(cells.names().size() == 14, "without kernels every question is there once");
  for (std::string const& question : cells.names()) {
    check_equal(cells.at(question, "answer").substr(0, 3), "n/a", question);
    if (question.front() == 'a') continue;  // host time is available
    check_equal(cells.at(question, "figures"), "n/a", question);
  }
  check_equal(cells.at("a. forward pass: host clock and CUDA events", "figures"), "host 4.446 ms, events n/a", "a");
  check_equal(table.notes.back(), "GPU kernels: not collected (another tool has CUPTI).", "note");
}

/// Treats the softmax scope of the recorded run as fused attention.
void check_fused_attention(recorded_run run) {
  run.config.attention = trainer::attention_kind::sdpa;
  for (profkit::path_record& path : run.profile.paths) {
    if (path.name == "softmax") path.name = "scaled dot product attention";
    if (path.name == "attention scores + mask" || path.name == "attention x value") path.name = "other";
  }
  cells const math{trainer::questions_table(run.config, run.profile, checks::summary_of(run.profile)).content};
  check_equal(math.at("e. softmax against both products of attention", "answer"), "n/a: sdpa computes softmax inside its kernels", "e");
  check_equal(math.at("e. attention products (sdpa, math)", "basis"), "0.2013 GFLOP a layer and step", "e");
  check_equal(math.at("e. all matrix products, forward", "basis"), "126.2 GFLOP a step", "e");

  for (profkit::gpu_name_record& name : run.profile.gpu_names) {
    if (name.name.find("exp_kernel_cuda") == std::string::npos) continue;
    name = {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0_0", {}};
  }
  cells const fused{trainer::questions_table(run.config, run.profile, checks::summary_of(run.profile)).content};
  check_equal(fused.at("e. fused attention", "basis"), "0.1014 GFLOP a layer and step", "e");
  check(fused.number("e. fused attention", "answer") > 0.0, "fused attention achieves nothing");
  check_contains(fused.at("e. fused attention", "figures"), "in attention kernels", "e");
  check_equal(fused.at("e. all matrix products, forward", "basis"), "123.8 GFLOP a step", "e");
}

int run(int count, char** arguments) {
  if (count != 2) return 2;
  check_flops();
  check_work();
  recorded_run const training = checks::training_run(arguments[1]);
  recorded_run const forward = checks::forward_run(arguments[1]);
  check_training_run(training);
  check_sums(training);
  check_sums(forward);
  check_forward_run(forward);
  check_without_kernels(checks::without_gpu(training, "another tool has CUPTI"));
  check_fused_attention(training);
  return checks::failures == 0 ? 0 : 1;
}

checks::named_check const registered{"questions_table", run};

}  // namespace

}  // namespace questions_table_check
