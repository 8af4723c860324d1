// SPDX-License-Identifier: Apache-2.0
#include "model/model.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/polar.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/view_as_real.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <array>
#include <profkit/scope.hpp>
#include <string>

#include "model/attention.hpp"
#include "model/fused_operations.hpp"
#include "model/sdpa.hpp"
#include "model/work.hpp"

namespace trainer {

namespace {

constexpr double rope_theta = 10'000.0;
constexpr double norm_epsilon = 1e-5;

/// [ctx, 1, d_head / 2]: position p rotates pair i by the angle p * theta^(-2i / d_head). Source: J. Su et al., "RoFormer" (2021), eq. 34.
at::Tensor rotation_table(std::int64_t ctx, std::int64_t d_head) {
  // In double: in fp32, the cosine of an angle of hundreds of radians would be wrong in the fifth digit.
  at::Tensor const frequencies = at::pow(rope_theta, at::arange(0, d_head, 2, at::kDouble) / static_cast<double>(-d_head));
  at::Tensor const angles = at::outer(at::arange(ctx, at::kDouble), frequencies);
  return at::polar(at::ones_like(angles), angles).to(at::kComplexFloat).unsqueeze(1);
}

/// [batch, T, heads, d_head] -> [batch, heads, T, d_head], contiguous. A batched product takes it and its transpose without a copy. From
/// the other layout it would copy, and transpose the keys element by element.
at::Tensor heads_outermost(at::Tensor const& x, at::ScalarType type) {
  return x.transpose(1, 2).to(type, /*non_blocking=*/false, /*copy=*/false, at::MemoryFormat::Contiguous).contiguous();
}

}  // namespace

transformer::transformer(model_size const& size, std::int64_t ctx, attention_kind attention, at::ScalarType compute_type,
                         c10::Device device, bool fused)
    : size_{size},
      attention_{fused ? attention_kind::sdpa : attention},
      compute_type_{compute_type},
      fused_{fused},
      parameters_{device},
      rotation_{rotation_table(ctx, size.d_model / size.heads).to(device)},
      mask_{causal_mask(ctx, device)},
      token_embedding_{parameters_.embedding("token_embedding.weight", vocabulary, size.d_model)} {
  std::int64_t const d = size.d_model;
  for (std::int64_t i = 0; i < size.layers; ++i) {
    std::string const prefix = "layers." + std::to_string(i) + ".";
    std::string const attention_prefix = prefix + "attention.";
    std::string const feed_forward_prefix = prefix + "feed_forward.";
    at::Tensor const query_key_value = fused ? parameters_.storage(3 * d, d) : at::Tensor{};
    at::Tensor const w1_w3 = fused ? parameters_.storage(2 * size.d_ff, d) : at::Tensor{};
    // A view of the rows in `storage`, or a separate tensor.
    auto const linear = [&](std::string const& name, at::Tensor const& storage, std::int64_t part, std::int64_t rows) {
      return storage.defined() ? parameters_.linear(name, storage.narrow(0, part * rows, rows)) : parameters_.linear(name, rows, d);
    };
    // Braced lists are evaluated from left to right, which fixes the order of the parameters.
    layers_.push_back(layer{
        attention_block{
            parameters_.scale(prefix + "attention_norm.weight", d),
            linear(attention_prefix + "query.weight", query_key_value, 0, d),
            linear(attention_prefix + "key.weight", query_key_value, 1, d),
            linear(attention_prefix + "value.weight", query_key_value, 2, d),
            parameters_.linear(attention_prefix + "output.weight", d, d),
            query_key_value,
        },
        feed_forward_block{
            parameters_.scale(prefix + "feed_forward_norm.weight", d),
            linear(feed_forward_prefix + "w1.weight", w1_w3, 0, size.d_ff),
            parameters_.linear(feed_forward_prefix + "w2.weight", d, size.d_ff),
            linear(feed_forward_prefix + "w3.weight", w1_w3, 1, size.d_ff),
            w1_w3,
        },
    });
  }
  final_norm_ = parameters_.scale("final_norm.weight", d);
  lm_head_ = parameters_.linear("lm_head.weight", vocabulary, d);
}

at::Tensor transformer::forward(at::Tensor const& tokens) const {
  if (fused_) return forward_fused(tokens);
  forward_work const work = work_of(tokens);
  at::Tensor x;
  {
    PROF_SCOPE("embedding", work.embedding());
    x = at::embedding(token_embedding_, tokens);
  }
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    PROF_SCOPE_INDEXED("layer", i);
    x = attention_sublayer(layers_[i].attention, x);
    x = feed_forward_sublayer(layers_[i].feed_forward, x);
  }
  {
    PROF_SCOPE("final_norm", work.norm());
    x = normalise(x, final_norm_);
  }
  PROF_SCOPE("lm_head", work.lm_head());
  return at::linear(x, lm_head_);
}

/// Uses tensors like those that `fused_attention` gets: the choice depends on type, shape, strides and whether gradients are needed.
std::optional<std::string_view> transformer::attention_backend(std::int64_t batch, std::int64_t length) const {
  at::Tensor const x = at::empty({batch, length, size_.heads, size_.d_model / size_.heads}, token_embedding_.options()).requires_grad_();
  at::Tensor const heads = heads_first(x);
  return sdpa_backend_for(heads, heads, heads);
}

at::Tensor transformer::attention_sublayer(attention_block const& block, at::Tensor const& x) const {
  forward_work const work = work_of(x);
  PROF_SCOPE("attention_sublayer", work.norm());
  at::Tensor const normed = normalise(x, block.norm);
  auto const project = [&](at::Tensor const& weight) { return at::linear(normed, weight).unflatten(-1, {size_.heads, -1}); };
  at::Tensor q;
  at::Tensor k;
  at::Tensor v;
  {
    PROF_SCOPE("attention projections", work.qkv_projections());
    q = project(block.query);
    k = project(block.key);
    v = project(block.value);
  }
  {
    PROF_SCOPE("rope q", work.rope());
    q = rotate(q);
  }
  {
    PROF_SCOPE("rope k", work.rope());
    k = rotate(k);
  }
  at::Tensor const mixed = attention_ == attention_kind::naive ? naive_attention(q, k, v) : fused_attention(q, k, v);
  PROF_SCOPE("output projection", work.output_projection());
  profkit::add_work(work.residual());
  return x + at::linear(mixed, block.output);
}

at::Tensor transformer::feed_forward_sublayer(feed_forward_block const& block, at::Tensor const& x) const {
  forward_work const work = work_of(x);
  PROF_SCOPE("ffn_sublayer", work.norm());
  at::Tensor const normed = normalise(x, block.norm);
  at::Tensor gate;
  at::Tensor hidden;
  {
    PROF_SCOPE("ffn projections", work.ffn_projections());
    gate = at::linear(normed, block.w1);
    hidden = at::linear(normed, block.w3);
  }
  {
    PROF_SCOPE("swiglu", work.swiglu());
    hidden = at::silu(gate) * hidden;
  }
  PROF_SCOPE("ffn output projection", work.ffn_output_projection());
  profkit::add_work(work.residual());
  return x + at::linear(hidden, block.w2);
}

/// The next sublayer adds this result to x, because its norm needs the sum: one kernel does both.
at::Tensor transformer::forward_fused(at::Tensor const& tokens) const {
  // no autocast: each fused operation handles its types
  c10::impl::ExcludeDispatchKeyGuard const no_autocast{c10::autocast_dispatch_keyset};
  forward_work const work = work_of(tokens);
  std::int64_t const batch = tokens.size(0);
  at::Tensor x;
  {
    PROF_SCOPE("embedding", work.embedding());
    x = at::embedding(token_embedding_, tokens.flatten());
  }
  at::Tensor delta;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    PROF_SCOPE_INDEXED("layer", i);
    delta = fused_attention_sublayer(layers_[i].attention, x, delta, batch);
    delta = fused_feed_forward_sublayer(layers_[i].feed_forward, x, delta, batch);
  }
  at::Tensor normed;
  {
    PROF_SCOPE("final_norm");
    normed = fused_norm(x, delta, final_norm_, work);
  }
  PROF_SCOPE("lm_head", work.lm_head());
  return fused::linear(normed, {lm_head_.detach(), {lm_head_}}).unflatten(0, {batch, -1});
}

at::Tensor transformer::fused_norm(at::Tensor& x, at::Tensor const& delta, at::Tensor const& scale, forward_work const& work) const {
  PROF_SCOPE("residual + norm", work.norm());
  if (delta.defined()) profkit::add_work(work.residual());
  fused::normed_sum const result = fused::add_and_norm(x, delta, scale, norm_epsilon, compute_type_);
  x = result.sum;
  return result.normed;
}

at::Tensor transformer::fused_attention_sublayer(attention_block const& block, at::Tensor& x, at::Tensor const& delta,
                                                 std::int64_t batch) const {
  forward_work const work = work_of(x.unflatten(0, {batch, -1}));
  PROF_SCOPE("attention_sublayer");
  at::Tensor const normed = fused_norm(x, delta, block.norm, work);
  at::Tensor joined;
  {
    PROF_SCOPE("attention projections", work.qkv_projections());
    joined = fused::linear(normed, {block.query_key_value, {block.query, block.key, block.value}});
  }
  std::array<at::Tensor, 3> heads;
  {
    PROF_SCOPE("rope q and k", work.rope());
    profkit::add_work(work.rope());
    heads = fused::rope_and_split(joined, rotation_, batch, size_.heads);
  }
  at::Tensor mixed;
  {
    PROF_SCOPE("scaled dot product attention", work.fused_attention());
    auto const& [q, k, v] = heads;
    mixed = trainer::fused_attention(q, k, v).transpose(1, 2).flatten(2).flatten(0, 1);
  }
  PROF_SCOPE("output projection", work.output_projection());
  return fused::linear(mixed, {block.output.detach(), {block.output}});
}

at::Tensor transformer::fused_feed_forward_sublayer(feed_forward_block const& block, at::Tensor& x, at::Tensor const& delta,
                                                    std::int64_t batch) const {
  forward_work const work = work_of(x.unflatten(0, {batch, -1}));
  PROF_SCOPE("ffn_sublayer");
  at::Tensor const normed = fused_norm(x, delta, block.norm, work);
  at::Tensor joined;
  {
    PROF_SCOPE("ffn projections", work.ffn_projections());
    joined = fused::linear(normed, {block.w1_w3, {block.w1, block.w3}});
  }
  at::Tensor hidden;
  {
    PROF_SCOPE("swiglu", work.swiglu());
    hidden = fused::swiglu(joined);
  }
  PROF_SCOPE("ffn output projection", work.ffn_output_projection());
  return fused::linear(hidden, {block.w2.detach(), {block.w2}});
}

/// Separate operations, because the section breakdown shows them.
/// @param q, k, v [batch, T, heads, d_head]; @return [batch, T, d_model].
at::Tensor transformer::naive_attention(at::Tensor const& q, at::Tensor const& k, at::Tensor const& v) const {
  std::int64_t const length = q.size(1);
  forward_work const work = work_of(q);
  at::Tensor scores;
  {
    PROF_SCOPE("attention scores + mask", work.scores());
    profkit::add_work(work.scale_and_mask());
    at::Tensor const mask = mask_.narrow(0, 0, length).narrow(1, 0, length);
    scores = masked_scores(heads_outermost(q, compute_type_), heads_outermost(k, compute_type_), mask);
  }
  at::Tensor weights;
  {
    PROF_SCOPE("softmax", work.softmax());
    weights = naive_softmax(scores);
  }
  PROF_SCOPE("attention x value", work.weighted_values());
  return weights.matmul(heads_outermost(v, compute_type_)).transpose(1, 2).flatten(2);
}

at::Tensor transformer::fused_attention(at::Tensor const& q, at::Tensor const& k, at::Tensor const& v) const {
  PROF_SCOPE("scaled dot product attention", work_of(q).fused_attention());
  return trainer::fused_attention(heads_first(q), heads_first(k), heads_first(v)).transpose(1, 2).flatten(2);
}

/// @param x [batch, T, ...]: the input of a sublayer, or the tokens.
forward_work transformer::work_of(at::Tensor const& x) const {
  return {size_, x.size(0), x.size(1), static_cast<std::int64_t>(c10::elementSize(compute_type_))};
}

/// [batch, T, heads, d_head] -> [batch, heads, T, d_head] without a copy: the fused kernels accept any layout.
at::Tensor transformer::heads_first(at::Tensor const& x) const { return x.transpose(1, 2).to(compute_type_); }

/// RMSNorm in fp32. The result is cast here once; autocast would cast it in each product that takes it.
at::Tensor transformer::normalise(at::Tensor const& x, at::Tensor const& scale) const {
  return at::rms_norm(x, {size_.d_model}, scale, norm_epsilon).to(compute_type_);
}

/// RoPE: each (even, odd) pair is a complex number, rotated by one multiplication. In fp32; the consumer casts the result.
/// @param x [batch, T, heads, d_head].
at::Tensor transformer::rotate(at::Tensor const& x) const {
  at::Tensor const pairs = at::view_as_complex(x.to(at::kFloat).unflatten(-1, {-1, 2}));
  return at::view_as_real(pairs * rotation_.narrow(0, 0, x.size(1))).flatten(-2);
}

at::Tensor cross_entropy(at::Tensor const& logits, at::Tensor const& targets, bool fused) {
  PROF_SCOPE("loss", loss_work(logits.numel(), targets.numel(), logits.element_size()));
  if (fused) return fused::cross_entropy(logits.flatten(0, 1), targets.flatten());
  return at::cross_entropy_loss(logits.flatten(0, 1), targets.flatten());
}

}  // namespace trainer
