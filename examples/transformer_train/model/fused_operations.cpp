// SPDX-License-Identifier: Apache-2.0
#include "model/fused_operations.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/view_as_real.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cstdint>
#include <optional>
#include <vector>

#if TRAINER_WITH_FUSED_KERNELS
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "model/fused_kernels.hpp"
#endif

namespace trainer::fused {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

#if TRAINER_WITH_FUSED_KERNELS

bool has_kernels(at::Tensor const& x) { return x.is_cuda(); }

fused_kernels::number number_of(at::ScalarType type) {
  if (type == at::kBFloat16) return fused_kernels::number::bf16;
  return type == at::kHalf ? fused_kernels::number::fp16 : fused_kernels::number::fp32;
}

float* floats(at::Tensor const& x) { return x.defined() ? x.mutable_data_ptr<float>() : nullptr; }
void* numbers(at::Tensor const& x) { return x.defined() ? x.mutable_data_ptr() : nullptr; }

/// Calls `run` with the stream of the tensors.
template <class Run>
void launch(at::Tensor const& on, Run run) {
  c10::cuda::CUDAGuard const device{on.device()};
  run(c10::cuda::getCurrentCUDAStream().stream());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

#endif

/// Autograd functions do not accept undefined tensors.
std::optional<at::Tensor> if_defined(at::Tensor const& x) { return x.defined() ? std::optional{x} : std::nullopt; }

at::Tensor contiguous(at::Tensor const& x) { return x.defined() ? x.contiguous() : x; }

struct add_and_norm_function : Function<add_and_norm_function> {
  static variable_list forward(AutogradContext* context, at::Tensor const& x, std::optional<at::Tensor> const& added,
                               at::Tensor const& scale, double epsilon, at::ScalarType type) {
    at::Tensor const delta = added.value_or(at::Tensor{});
    at::Tensor sum = x;
    at::Tensor normed;
    at::Tensor rstd;
#if TRAINER_WITH_FUSED_KERNELS
    if (has_kernels(x)) {
      TORCH_CHECK(x.size(1) <= fused_kernels::max_norm_columns, "the fused norm takes at most ", fused_kernels::max_norm_columns,
                  " columns");
      TORCH_CHECK(x.is_contiguous() && (!delta.defined() || (delta.is_contiguous() && delta.scalar_type() == type)));
      if (delta.defined()) sum = at::empty_like(x);
      normed = at::empty_like(x, x.options().dtype(type));
      rstd = at::empty({x.size(0)}, x.options());
      launch(x, [&](cudaStream_t stream) {
        fused_kernels::norm_forward(number_of(type), floats(x), numbers(delta), floats(scale), delta.defined() ? floats(sum) : nullptr,
                                    numbers(normed), floats(rstd), x.size(0), x.size(1), static_cast<float>(epsilon), stream);
      });
    }
#endif
    if (!normed.defined()) {
      if (delta.defined()) sum = x + delta;
      rstd = at::rsqrt(sum.square().mean(-1) + epsilon);
      normed = (sum * rstd.unsqueeze(-1) * scale).to(type);
    }
    context->set_materialize_grads(false);
    context->save_for_backward({sum, rstd, scale});
    context->saved_data["has_delta"] = delta.defined();
    context->saved_data["type"] = static_cast<std::int64_t>(type);
    return {sum, normed};
  }

  static variable_list backward(AutogradContext* context, variable_list const& gradients) {
    variable_list const saved = context->get_saved_variables();
    at::Tensor const& sum = saved[0];
    at::Tensor const& rstd = saved[1];
    at::Tensor const& scale = saved[2];
    bool const has_delta = context->saved_data["has_delta"].toBool();
    auto const type = static_cast<at::ScalarType>(context->saved_data["type"].toInt());
    at::Tensor const grad_sum = contiguous(gradients[0]);
    at::Tensor const grad_normed = contiguous(gradients[1]);
    at::Tensor grad_x;
    at::Tensor grad_delta;
    at::Tensor grad_scale;
    bool const has_cast = has_delta && type != at::kFloat;
#if TRAINER_WITH_FUSED_KERNELS
    if (has_kernels(sum)) {
      grad_x = at::empty_like(sum);
      if (has_cast) grad_delta = at::empty_like(sum, sum.options().dtype(type));
      grad_scale = at::empty_like(scale);
      at::Tensor const parts = at::empty({fused_kernels::norm_parts(sum.size(0)), sum.size(1)}, sum.options());
      launch(sum, [&](cudaStream_t stream) {
        fused_kernels::norm_backward(number_of(type), floats(grad_sum), numbers(grad_normed), floats(sum), floats(rstd), floats(scale),
                                     floats(grad_x), numbers(grad_delta), floats(parts), floats(grad_scale), sum.size(0), sum.size(1),
                                     stream);
      });
    }
#endif
    if (!grad_x.defined()) {
      grad_x = grad_sum;
      if (grad_normed.defined()) {
        at::Tensor const hat = sum * rstd.unsqueeze(-1);
        at::Tensor const wide = grad_normed.to(at::kFloat);
        at::Tensor const scaled = wide * scale;
        at::Tensor const part = rstd.unsqueeze(-1) * (scaled - hat * (scaled * hat).mean(-1, /*keepdim=*/true));
        grad_x = grad_sum.defined() ? grad_sum + part : part;
        grad_scale = (wide * hat).sum(0);
      }
      if (has_cast && grad_x.defined()) grad_delta = grad_x.to(type);
    }
    if (has_delta && !has_cast) grad_delta = grad_x;
    return {grad_x, grad_delta, grad_scale, {}, {}};
  }
};

struct linear_function : Function<linear_function> {
  static at::Tensor forward(AutogradContext* context, at::Tensor const& x, at::Tensor const& all, std::optional<at::Tensor> const& first,
                            std::optional<at::Tensor> const& second, std::optional<at::Tensor> const& third) {
    at::Tensor const weight = all.to(x.scalar_type());
    context->save_for_backward({x, weight});
    auto const rows = [](std::optional<at::Tensor> const& part) { return part ? part->size(0) : 0; };
    context->saved_data["rows"] = std::vector<std::int64_t>{rows(first), rows(second), rows(third)};
    return x.mm(weight.t());
  }

  static variable_list backward(AutogradContext* context, variable_list const& gradients) {
    variable_list const saved = context->get_saved_variables();
    at::Tensor const& x = saved[0];
    at::Tensor const gradient = gradients[0].contiguous();
    at::Tensor const grad_x = gradient.mm(saved[1]);
    // The result is in fp32, so it is neither rounded nor cast.
    bool const is_widened = x.is_cuda() && x.scalar_type() != at::kFloat;
    at::Tensor const grad_all = is_widened ? at::mm(gradient.t(), x, at::kFloat) : gradient.t().mm(x).to(at::kFloat);
    variable_list result{grad_x, {}};
    std::int64_t first = 0;
    for (std::int64_t const rows : context->saved_data["rows"].toIntVector()) {
      result.push_back(rows > 0 ? grad_all.narrow(0, first, rows) : at::Tensor{});
      first += rows;
    }
    return result;
  }
};

/// [rows, ...] of q and k as complex numbers, multiplied by the rotation `turn` of their positions.
at::Tensor turned(at::Tensor const& x, at::Tensor const& turn, std::int64_t length) {
  // [batch, T, heads, d_head / 2]
  at::Tensor const pairs = at::view_as_complex(x.to(at::kFloat).contiguous().unflatten(-1, {-1, 2}));
  return at::view_as_real(pairs * turn.narrow(0, 0, length)).flatten(-2).to(x.scalar_type());
}

struct rope_and_split_function : Function<rope_and_split_function> {
  static variable_list forward(AutogradContext* context, at::Tensor const& joined, at::Tensor const& turn, std::int64_t batch,
                               std::int64_t heads) {
    std::int64_t const length = joined.size(0) / batch;
    std::int64_t const d_head = joined.size(1) / (3 * heads);
    context->save_for_backward({turn});
    context->set_materialize_grads(false);
#if TRAINER_WITH_FUSED_KERNELS
    if (has_kernels(joined)) {
      variable_list parts;
      for (int i = 0; i < 3; ++i) parts.push_back(at::empty({batch, length, heads, d_head}, joined.options()));
      launch(joined, [&](cudaStream_t stream) {
        fused_kernels::rope_forward(number_of(joined.scalar_type()), numbers(joined), static_cast<float const*>(turn.const_data_ptr()),
                                    numbers(parts[0]), numbers(parts[1]), numbers(parts[2]), joined.size(0), length, heads, d_head, stream);
      });
      return parts;
    }
#endif
    at::Tensor const split = joined.view({batch, length, 3, heads, d_head});
    return {turned(split.select(2, 0), turn, length), turned(split.select(2, 1), turn, length), split.select(2, 2).clone()};
  }

  static variable_list backward(AutogradContext* context, variable_list const& gradients) {
    at::Tensor const turn = context->get_saved_variables()[0];
    at::Tensor const q = contiguous(gradients[0]);
    at::Tensor const k = contiguous(gradients[1]);
    at::Tensor const v = contiguous(gradients[2]);
    TORCH_CHECK(q.defined() && k.defined() && v.defined(), "attention: the gradient of q, k or v is undefined");
    std::int64_t const rows = q.size(0) * q.size(1);
    std::int64_t const columns = 3 * q.size(2) * q.size(3);
#if TRAINER_WITH_FUSED_KERNELS
    if (has_kernels(q)) {
      at::Tensor const joined = at::empty({rows, columns}, q.options());
      launch(q, [&](cudaStream_t stream) {
        fused_kernels::rope_backward(number_of(q.scalar_type()), numbers(q), numbers(k), numbers(v),
                                     static_cast<float const*>(turn.const_data_ptr()), numbers(joined), rows, q.size(1), q.size(2),
                                     q.size(3), stream);
      });
      return {joined, {}, {}, {}};
    }
#endif
    at::Tensor const back = turn.conj().resolve_conj();
    at::Tensor const joined = at::stack({turned(q, back, q.size(1)), turned(k, back, q.size(1)), v}, 2).view({rows, columns});
    return {joined, {}, {}, {}};
  }
};

struct swiglu_function : Function<swiglu_function> {
  static at::Tensor forward(AutogradContext* context, at::Tensor const& joined) {
    context->save_for_backward({joined});
    std::int64_t const columns = joined.size(1) / 2;
#if TRAINER_WITH_FUSED_KERNELS
    if (has_kernels(joined)) {
      at::Tensor hidden = at::empty({joined.size(0), columns}, joined.options());
      launch(joined, [&](cudaStream_t stream) {
        fused_kernels::swiglu_forward(number_of(joined.scalar_type()), numbers(joined), numbers(hidden), joined.size(0), columns, stream);
      });
      return hidden;
    }
#endif
    at::Tensor const gate = joined.narrow(1, 0, columns).to(at::kFloat);
    return (gate * gate.sigmoid() * joined.narrow(1, columns, columns)).to(joined.scalar_type());
  }

  static variable_list backward(AutogradContext* context, variable_list const& gradients) {
    at::Tensor const joined = context->get_saved_variables()[0];
    at::Tensor const gradient = gradients[0].contiguous();
    std::int64_t const columns = joined.size(1) / 2;
#if TRAINER_WITH_FUSED_KERNELS
    if (has_kernels(joined)) {
      at::Tensor const result = at::empty_like(joined);
      launch(joined, [&](cudaStream_t stream) {
        fused_kernels::swiglu_backward(number_of(joined.scalar_type()), numbers(gradient), numbers(joined), numbers(result), joined.size(0),
                                       columns, stream);
      });
      return {result};
    }
#endif
    at::Tensor const gate = joined.narrow(1, 0, columns).to(at::kFloat);
    at::Tensor const up = joined.narrow(1, columns, columns).to(at::kFloat);
    at::Tensor const sigmoid = gate.sigmoid();
    at::Tensor const silu = gate * sigmoid;
    return {at::cat({gradient * up * (sigmoid + silu * (1 - sigmoid)), gradient * silu}, 1).to(joined.scalar_type())};
  }
};

struct cross_entropy_function : Function<cross_entropy_function> {
  static at::Tensor forward(AutogradContext* context, at::Tensor const& logits, at::Tensor const& targets) {
    at::Tensor losses;
    at::Tensor log_sums;
#if TRAINER_WITH_FUSED_KERNELS
    if (has_kernels(logits)) {
      losses = at::empty({logits.size(0)}, logits.options().dtype(at::kFloat));
      log_sums = at::empty_like(losses);
      launch(logits, [&](cudaStream_t stream) {
        fused_kernels::cross_entropy_forward(number_of(logits.scalar_type()), numbers(logits), targets.const_data_ptr<std::int64_t>(),
                                             floats(losses), floats(log_sums), logits.size(0), logits.size(1), stream);
      });
    }
#endif
    if (!losses.defined()) {
      at::Tensor const wide = logits.to(at::kFloat);
      log_sums = at::logsumexp(wide, {-1});
      losses = log_sums - wide.gather(-1, targets.unsqueeze(-1)).squeeze(-1);
    }
    context->save_for_backward({logits, targets, log_sums});
    return losses.mean();
  }

  static variable_list backward(AutogradContext* context, variable_list const& gradients) {
    variable_list const saved = context->get_saved_variables();
    at::Tensor const& logits = saved[0];
    at::Tensor const& targets = saved[1];
    at::Tensor const& log_sums = saved[2];
#if TRAINER_WITH_FUSED_KERNELS
    if (has_kernels(logits)) {
      at::Tensor const result = at::empty_like(logits);
      launch(logits, [&](cudaStream_t stream) {
        fused_kernels::cross_entropy_backward(number_of(logits.scalar_type()), floats(gradients[0]), numbers(logits),
                                              targets.const_data_ptr<std::int64_t>(), floats(log_sums), numbers(result), logits.size(0),
                                              logits.size(1), stream);
      });
      return {result, {}};
    }
#endif
    at::Tensor const chances = (logits.to(at::kFloat) - log_sums.unsqueeze(-1)).exp();
    at::Tensor const rows = at::arange(logits.size(0), targets.options());
    chances.index_put_({rows, targets}, at::full({}, -1.0, chances.options()), /*accumulate=*/true);
    return {(chances * (gradients[0] / static_cast<double>(logits.size(0)))).to(logits.scalar_type()), {}};
  }
};

}  // namespace

std::string_view implementation([[maybe_unused]] c10::Device device) {
#if TRAINER_WITH_FUSED_KERNELS
  if (device.is_cuda()) return "CUDA kernels";
#endif
  return "ATen operations";
}

normed_sum add_and_norm(at::Tensor const& x, at::Tensor const& delta, at::Tensor const& scale, double epsilon, at::ScalarType type) {
  variable_list const both = add_and_norm_function::apply(x, if_defined(delta), scale, epsilon, type);
  return {both[0], both[1]};
}

at::Tensor linear(at::Tensor const& x, joined_weights const& weights) {
  auto const& [first, second, third] = weights.parts;
  return linear_function::apply(x, weights.all, if_defined(first), if_defined(second), if_defined(third));
}

std::array<at::Tensor, 3> rope_and_split(at::Tensor const& joined, at::Tensor const& turn, std::int64_t batch, std::int64_t heads) {
  TORCH_CHECK(joined.size(1) % (6 * heads) == 0, "RoPE rotates pairs of values: the head size must be even");
  variable_list const parts = rope_and_split_function::apply(joined, turn, batch, heads);
  return {parts[0].transpose(1, 2), parts[1].transpose(1, 2), parts[2].transpose(1, 2)};
}

at::Tensor swiglu(at::Tensor const& joined) { return swiglu_function::apply(joined); }

at::Tensor cross_entropy(at::Tensor const& logits, at::Tensor const& targets) { return cross_entropy_function::apply(logits, targets); }

}  // namespace trainer::fused
