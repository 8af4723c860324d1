// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainer {

/// A value of an option and the word for it on the command line.
template <class Value>
struct named_value {
  std::string_view name;
  Value value;
};

template <class Value, std::size_t Count>
using name_table = std::array<named_value<Value>, Count>;

template <class Value, std::size_t Count>
[[nodiscard]] constexpr std::optional<Value> value_of(name_table<Value, Count> const& table, std::string_view name) {
  for (auto const& entry : table) {
    if (entry.name == name) return entry.value;
  }
  return std::nullopt;
}

template <class Value, std::size_t Count>
[[nodiscard]] constexpr std::string_view name_of(name_table<Value, Count> const& table, Value value) {
  for (auto const& entry : table) {
    if (entry.value == value) return entry.name;
  }
  return "?";
}

struct model_size {
  std::string_view name;
  std::int64_t d_model = 0;
  std::int64_t d_ff = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;

  bool operator==(model_size const&) const = default;
};

inline constexpr std::array model_sizes{
    model_size{"tiny", 512, 1344, 4, 16},    model_size{"small", 768, 3072, 12, 12}, model_size{"medium", 1024, 4096, 24, 16},
    model_size{"large", 1280, 5120, 36, 20}, model_size{"xl", 1600, 6400, 48, 25},   model_size{"2.7B", 2560, 10240, 32, 32},
};

inline constexpr auto model_sizes_by_name = [] {
  name_table<model_size, model_sizes.size()> table{};
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = {model_sizes[i].name, model_sizes[i]};
  return table;
}();

inline constexpr std::int64_t vocabulary = 10'000;

[[nodiscard]] constexpr std::int64_t parameter_count(model_size const& size) {
  std::int64_t const attention = 4 * size.d_model * size.d_model;
  std::int64_t const feed_forward = 3 * size.d_model * size.d_ff;
  std::int64_t const norms = (2 * size.layers + 1) * size.d_model;
  return 2 * vocabulary * size.d_model + size.layers * (attention + feed_forward) + norms;
}

enum class run_mode { forward, forward_backward, train };
inline constexpr name_table<run_mode, 3> run_modes{
    {{"fwd", run_mode::forward}, {"fwd_bwd", run_mode::forward_backward}, {"train", run_mode::train}}};

/// `tf32` computes in fp32 and lets tensor cores round the inputs of matrix products. `bf16` and `fp16` use autocast. `fp16_scaled` also
/// scales the loss, and skips steps whose gradients overflow.
enum class precision_kind { fp32, tf32, bf16, fp16, fp16_scaled };
inline constexpr name_table<precision_kind, 5> precisions{{{"fp32", precision_kind::fp32},
                                                           {"tf32", precision_kind::tf32},
                                                           {"bf16", precision_kind::bf16},
                                                           {"fp16", precision_kind::fp16},
                                                           {"fp16_scaled", precision_kind::fp16_scaled}}};

/// `naive` consists of separate operations; `sdpa` is `scaled_dot_product_attention`.
enum class attention_kind { naive, sdpa };
inline constexpr name_table<attention_kind, 2> attentions{{{"naive", attention_kind::naive}, {"sdpa", attention_kind::sdpa}}};

/// The permitted kernels of `scaled_dot_product_attention`; with `automatic` LibTorch chooses.
enum class sdpa_backend { automatic, flash, efficient, cudnn, math };
inline constexpr name_table<sdpa_backend, 5> sdpa_backends{{{"auto", sdpa_backend::automatic},
                                                            {"flash", sdpa_backend::flash},
                                                            {"efficient", sdpa_backend::efficient},
                                                            {"cudnn", sdpa_backend::cudnn},
                                                            {"math", sdpa_backend::math}}};

/// `adamw` is LibTorch's optimizer, which updates one parameter at a time; `fused_adamw` updates all of them in a few kernels.
enum class optimizer_kind { adamw, fused_adamw };
inline constexpr name_table<optimizer_kind, 2> optimizers{{{"adamw", optimizer_kind::adamw}, {"fused_adamw", optimizer_kind::fused_adamw}}};

enum class device_kind { automatic, cpu, cuda };
inline constexpr name_table<device_kind, 3> devices{
    {{"auto", device_kind::automatic}, {"cpu", device_kind::cpu}, {"cuda", device_kind::cuda}}};

inline constexpr name_table<bool, 2> switches{{{"on", true}, {"off", false}}};

/// The phases of a step that `--slow-rank` can delay.
enum class step_phase { data, forward, backward };
inline constexpr name_table<step_phase, 3> step_phases{
    {{"data", step_phase::data}, {"forward", step_phase::forward}, {"backward", step_phase::backward}}};

/// `host`: the training thread sleeps; `gpu`: the GPU runs a kernel that spins.
enum class delay_kind { host, gpu };
inline constexpr name_table<delay_kind, 2> delay_kinds{{{"host", delay_kind::host}, {"gpu", delay_kind::gpu}}};

/// The rank of this process and the number of ranks.
struct rank_layout {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::uint32_t local_rank = 0;  ///< among the processes of its host; also the number of its GPU

  [[nodiscard]] bool has_others() const noexcept { return size > 1; }
};

/// A rank to slow down, so that you can see what a report says about it.
struct slow_rank {
  std::uint32_t rank = 0;
  double delay_ms = 0.0;  ///< added to `phase` in every step
  delay_kind kind = delay_kind::host;
  step_phase phase = step_phase::data;
};

/// The options of one run.
struct run_config {
  model_size size = model_sizes[1];
  std::int64_t ctx = 256;
  std::int64_t batch = 4;  ///< of each rank
  run_mode mode = run_mode::train;
  precision_kind precision = precision_kind::fp32;
  attention_kind attention = attention_kind::naive;
  sdpa_backend backend = sdpa_backend::automatic;
  optimizer_kind optimizer = optimizer_kind::fused_adamw;
  double learning_rate = 1e-3;
  double max_gradient_norm = 0.0;  ///< 0: gradients are not clipped
  device_kind device = device_kind::automatic;
  std::string data_file;  ///< empty: random tokens
  std::uint64_t seed = 0;
  double max_seconds = 0.0;  ///< the longest time of the loop over steps, which ends after its current step; 0: no limit
  bool bridge = true;        ///< charge the backward pass to forward scopes
  bool scope_memory = true;  ///< charge LibTorch's allocations to scopes
  bool measure_roof = false;
  bool fused = false;        ///< joined products and fused operations; implies attention_kind::sdpa
  bool graph = false;        ///< capture one step as a CUDA graph and replay it
  std::string package_file;  ///< the compiled forward pass; empty: LibTorch runs one operation after the other
  bool synchronise_phases = false;
  std::uint32_t head_start_ms = 0;  ///< the delay of the GPU before each forward pass
  bool all_api_calls = false;       ///< all CUDA API calls, not only those that launch GPU work
  bool times_phases = false;        ///< time phases with the trainer's own events, also without profkit
  bool memory_snapshot = false;
  bool cuda_profiler_api = false;  ///< mark the measured steps with cudaProfilerStart and cudaProfilerStop
  bool questions = false;          ///< answer the questions of table T6
  std::string profile_file;        ///< empty: the recorded profile is not saved
  rank_layout ranks;               ///< not an option: set by the launcher
  std::vector<slow_rank> slow_ranks;

  /// Tokens per step on this rank.
  [[nodiscard]] std::int64_t tokens_per_step() const noexcept { return batch * ctx; }
};

}  // namespace trainer
