# SPDX-License-Identifier: Apache-2.0
"""The trainer's model in plain PyTorch. Tests compare the trainer's values and gradients with it, benchmarks its speed."""

import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

VOCABULARY = 10_000
ROPE_THETA = 10_000.0


@dataclass(frozen=True)
class Size:
    d_model: int
    d_ff: int
    layers: int
    heads: int


SIZES = {
    "tiny": Size(512, 1344, 4, 16),
    "small": Size(768, 3072, 12, 12),
    "medium": Size(1024, 4096, 24, 16),
    "large": Size(1280, 5120, 36, 20),
    "xl": Size(1600, 6400, 48, 25),
    "2.7B": Size(2560, 10240, 32, 32),
}


class Rope(nn.Module):
    """Rotary position embedding on interleaved pairs. `as_complex` uses one complex multiplication, like the trainer."""

    def __init__(self, ctx, d_head, as_complex):
        super().__init__()
        self.as_complex = as_complex
        frequencies = ROPE_THETA ** (-torch.arange(0, d_head, 2, dtype=torch.float64) / d_head)
        angles = torch.outer(torch.arange(ctx, dtype=torch.float64), frequencies)
        self.register_buffer("cos", angles.cos().float(), persistent=False)
        self.register_buffer("sin", angles.sin().float(), persistent=False)
        self.register_buffer("turn", torch.polar(torch.ones_like(angles), angles).to(torch.complex64), persistent=False)

    def forward(self, x):  # [batch, heads, T, d_head]
        length = x.shape[-2]
        if self.as_complex:
            pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
            return torch.view_as_real(pairs * self.turn[:length]).flatten(-2).to(x.dtype)
        cos, sin = self.cos[:length], self.sin[:length]
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2).to(x.dtype)


class Attention(nn.Module):
    def __init__(self, size, ctx, fused, tuned):
        super().__init__()
        d = size.d_model
        self.heads, self.fused, self.tuned = size.heads, fused, tuned
        self.query = nn.Linear(d, d, bias=False)
        self.key = nn.Linear(d, d, bias=False)
        self.value = nn.Linear(d, d, bias=False)
        self.output = nn.Linear(d, d, bias=False)
        self.rope = Rope(ctx, d // size.heads, as_complex=tuned)
        self.register_buffer("future", torch.ones(ctx, ctx, dtype=torch.bool).triu(1), persistent=False)

    def forward(self, x):
        q, k, v = (project(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for project in (self.query, self.key, self.value))
        q, k = self.rope(q), self.rope(k)
        if self.fused:
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            mixed = self.naive(q, k, v)
        return self.output(mixed.transpose(1, 2).flatten(2))

    def naive(self, q, k, v):
        if self.tuned:
            q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        length = q.shape[-2]
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(self.future[:length, :length], -math.inf)
        exponentials = torch.exp(scores - scores.detach().amax(dim=-1, keepdim=True))
        weights = exponentials / exponentials.sum(dim=-1, keepdim=True)
        return weights @ v


class FeedForward(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.w1 = nn.Linear(size.d_model, size.d_ff, bias=False)
        self.w2 = nn.Linear(size.d_ff, size.d_model, bias=False)
        self.w3 = nn.Linear(size.d_model, size.d_ff, bias=False)

    def forward(self, x):
        return self.w2(functional.silu(self.w1(x)) * self.w3(x))


class Norm(nn.RMSNorm):
    """RMSNorm. `cast` casts the result to the autocast type once, instead of in each product that takes it."""

    def __init__(self, d_model, cast):
        super().__init__(d_model, eps=1e-5)
        self.cast = cast

    def forward(self, x):
        normed = super().forward(x)
        if self.cast and torch.is_autocast_enabled(x.device.type):
            return normed.to(torch.get_autocast_dtype(x.device.type))
        return normed


class Layer(nn.Module):
    def __init__(self, size, ctx, fused, tuned):
        super().__init__()
        self.attention_norm = Norm(size.d_model, cast=tuned)
        self.attention = Attention(size, ctx, fused, tuned)
        self.feed_forward_norm = Norm(size.d_model, cast=tuned)
        self.feed_forward = FeedForward(size)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.feed_forward_norm(x))


class Transformer(nn.Module):
    """
    fused: scaled_dot_product_attention instead of separate operations.
    tuned: the operations of the trainer, to separate their effect on speed from that of C++.
    """

    def __init__(self, size, ctx, fused=False, tuned=False):
        super().__init__()
        self.token_embedding = nn.Embedding(VOCABULARY, size.d_model)
        self.layers = nn.ModuleList(Layer(size, ctx, fused, tuned) for _ in range(size.layers))
        self.final_norm = Norm(size.d_model, cast=tuned)
        self.lm_head = nn.Linear(size.d_model, VOCABULARY, bias=False)
        with torch.no_grad():
            nn.init.trunc_normal_(self.token_embedding.weight, std=1.0, a=-3.0, b=3.0)
            for module in self.modules():
                if isinstance(module, nn.Linear):
                    std = math.sqrt(2.0 / (module.in_features + module.out_features))
                    nn.init.trunc_normal_(module.weight, std=std, a=-3.0 * std, b=3.0 * std)

    def forward(self, tokens):  # [batch, T] -> [batch, T, VOCABULARY]
        x = self.token_embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.final_norm(x))


def loss_of(logits, targets):
    return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
