"""Launches of karpathy/llm.c, `dev/cuda`: the layers of GPT-2, each in several versions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np

from benchmarks.compatibility import launches
from benchmarks.compatibility.launches import (
    Array,
    Launch,
    New,
    blocks,
    integers,
    masked,
    new,
    suite,
    uniform,
)

__all__: list[str] = []

declare = suite("llm.c", "dev/cuda/")
B, T, C, HEADS = 2, 32, 256, 4  # batch, tokens, channels, heads
CUDNN = {"ENABLE_CUDNN": 1}  # without it, the kernels that convert numbers are left out
LANES_RACE = (
    "lanes of a warp read elements that other lanes have written, and no `__syncwarp()` is between, which "
    "GPUs since Volta require"
)
CLAMPED_READ = (
    "threads past the end of a row read its last element, which its own thread overwrites; they do not "
    "use the value"
)
NO_FENCE = (
    "the last block reads sums of the other blocks, which they store without a `__threadfence()` before "
    "they increase the counter"
)


def bf16(values: Array) -> Array:
    """Return the nearest bfloat16 numbers, as their bits."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bf16(bits: Array) -> Array:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def normal(*shape: int, seed: int = 0) -> Array:
    """Return random numbers that have the same value as float and bfloat16."""
    return from_bf16(bf16(launches.normal(*shape, seed=seed)))


def close_bf16(expected: Array) -> Any:
    """Return a check that bits of bfloat16 numbers are near the expected values; their precision is 0.004."""
    return lambda bits: np.allclose(
        from_bf16(bits).reshape(expected.shape), expected, 0.004, 0.004 * np.abs(expected).max()
    )


def in_bf16(launch: Launch, *indices: int) -> Launch:
    """Return a launch in which these arrays have bfloat16 numbers, as with `ENABLE_BF16`."""
    args, expect = list(launch.args), dict(launch.expect)
    for index in indices:
        value = args[index]
        args[index] = New(value.shape, np.uint16) if isinstance(value, New) else bf16(value)
        if index in expect:
            expect[index] = close_bf16(np.asarray(expect[index]))
    return replace(launch, args=args, expect=expect)


def softmax(x: Array) -> Array:
    e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    return np.asarray(e / e.sum(-1, keepdims=True))


def causal_softmax(x: Array) -> Array:
    """Return the softmax of each row of (..., T, T) up to the diagonal, and zeros after it."""
    return softmax(np.where(np.tri(x.shape[-1], dtype=bool), x, -1e30))


@declare("adamw.cu", "adamw_kernel1", "adamw_kernel2")
def adamw(scale: int) -> Launch:
    n = 1000 * scale
    p, g, m = (normal(n, seed=seed) for seed in range(3))
    v = uniform(n)
    m1 = np.float64(0.9) * m + 0.1 * g
    v1 = 0.999 * v.astype(np.float64) + 0.001 * g.astype(np.float64) ** 2
    p1 = p - 0.01 * (m1 / 0.19 / (np.sqrt(v1 / 0.002) + 1e-8) + 0.05 * p)
    args = [p, g, m, v, n, 0.01, 0.9, 0.999, 0.19, 0.002, 1e-8, 0.05]
    return Launch(blocks(n, 256), 256, args, {0: p1, 2: m1, 3: v1})


# Attention -------------------------------------------------------------------------------------


def heads_of(inp: Array) -> tuple[Array, Array, Array]:
    """Return q, k and v, of shape (B, heads, T, head size), of their (B, T, 3, heads, head size)."""
    return tuple(np.ascontiguousarray(inp[:, :, n].transpose(0, 2, 1, 3)) for n in range(3))  # type: ignore[return-value]


def qkv(scale: int) -> Array:
    return normal(B, T * scale, 3, HEADS, C // HEADS)


@declare(("attention_forward.cu", "attention_backward.cu", "trimat_forward.cu"), "permute_kernel")
@declare("attention_forward.cu", "permute_kernel_lowp", low=True)
def permute(scale: int, low: bool = False) -> Launch:
    inp = qkv(scale)
    parts = [bf16(part) for part in heads_of(inp)] if low else heads_of(inp)
    outputs = [New(part.shape, part.dtype) for part in parts]
    args = [*outputs, inp, B, inp.shape[1], HEADS, C // HEADS]
    return Launch(blocks(parts[0].size, 256), 256, args, dict(enumerate(parts)))


@declare("attention_backward.cu", "permute_kernel_backward")
def permute_backward(scale: int) -> Launch:
    dinp = qkv(scale)
    grads = [normal(*part.shape, seed=seed) for seed, part in enumerate(heads_of(dinp))]
    expected = dinp + np.stack([grad.transpose(0, 2, 1, 3) for grad in grads], 2)
    return Launch(
        blocks(grads[0].size, 256), 256, [dinp, *grads, B, dinp.shape[1], HEADS, C // HEADS], {0: expected}
    )


@declare(("attention_forward.cu", "attention_backward.cu"), "unpermute_kernel")
@declare("attention_forward.cu", "unpermute_kernel_lowp", low=True)
def unpermute(scale: int, low: bool = False) -> Launch:
    inp = normal(B, HEADS, T * scale, C // HEADS)
    inp = bf16(inp) if low else inp
    expected = np.ascontiguousarray((from_bf16(inp) if low else inp).transpose(0, 2, 1, 3))
    args = [inp, new(*expected.shape), B, T * scale, HEADS, C // HEADS]
    return Launch(blocks(inp.size, 256), 256, args, {1: expected})


@declare("attention_backward.cu", "unpermute_kernel_backward")
def unpermute_backward(scale: int) -> Launch:
    dinp, dout = normal(B, HEADS, T * scale, C // HEADS), normal(B, T * scale, HEADS, C // HEADS)
    expected = dinp + dout.transpose(0, 2, 1, 3)
    return Launch(blocks(dinp.size, 256), 256, [dinp, dout, B, T * scale, HEADS, C // HEADS], {0: expected})


@declare("attention_forward.cu", "fp32_to_lowp_kernel")
def to_bf16(scale: int) -> Launch:
    x = normal(1024 * scale)
    return Launch(x.size // 256, 256, [new(x.size, dtype=np.uint16), x], {0: bf16(x)}, defines=CUDNN)


@declare("attention_forward.cu", "lowp_to_fp32_kernel")
def to_fp32(scale: int) -> Launch:
    x = bf16(normal(1024 * scale))
    return Launch(x.size // 256, 256, [x, new(x.size)], {1: from_bf16(x)}, defines=CUDNN)


def attention(scale: int) -> tuple[Array, Array, Array, Array]:
    """Return q, k and v as one array, the scaled products of q and k, their softmax, and the output."""
    inp = qkv(scale)
    q, k, v = heads_of(inp)
    products = q.astype(np.float64) @ k.transpose(0, 1, 3, 2) / sqrt(C // HEADS)
    weights = causal_softmax(products)
    return inp, products, weights, (weights @ v).transpose(0, 2, 1, 3)


@declare("attention_forward.cu", "attention_query_key_kernel1")
def query_key(scale: int) -> Launch:
    inp, products, *_ = attention(scale)
    tokens = inp.shape[1]
    expected = np.where(np.tri(tokens, dtype=bool), products, -np.inf)
    args = [new(*products.shape), inp, B, tokens, C, HEADS]
    return Launch(blocks(products.size, 256), 256, args, {0: expected})


@declare("attention_forward.cu", "attention_softmax_kernel1")
def attention_softmax(scale: int) -> Launch:
    x = normal(B, HEADS, T * scale, T * scale)
    args = [new(*x.shape), x, B, T * scale, HEADS]
    return Launch(blocks(B * HEADS * T * scale, 256), 256, args, {0: causal_softmax(x)})


@declare("attention_forward.cu", "attention_value_kernel1")
def attention_value(scale: int) -> Launch:
    inp, _, weights, out = attention(scale)
    args = [new(*out.shape), weights.astype(np.float32), inp, B, inp.shape[1], C, HEADS]
    return Launch(blocks(B * HEADS * inp.shape[1], 256), 256, args, {0: out})


@declare("attention_forward.cu", "attention_forward_kernel2")
def flash_attention(scale: int) -> Launch:
    inp, products, _, out = attention(2 * scale)
    tokens, size = inp.shape[1], C // HEADS
    masked = np.where(np.tri(tokens, dtype=bool), products, -np.inf)
    largest = masked.max(-1)
    sums = np.exp(masked - largest[..., None]).sum(-1)
    tiles = blocks(tokens, 32)
    state = [np.zeros(sums.shape, np.float32), np.full(sums.shape, -np.inf, np.float32)]
    args = [*heads_of(inp), tokens, size, tiles, tiles, 32, 32, 1 / sqrt(size), *state]
    out = np.ascontiguousarray(out.transpose(0, 2, 1, 3))
    shared = 4 * (3 * 32 * size + 32 * 32)
    return Launch(
        (B, HEADS),
        32,
        [*args, np.zeros(out.shape, np.float32)],
        {10: sums, 11: largest, 12: out},
        shared,
        rtol=1e-4,
    )


@declare("attention_forward.cu", "attention_forward_fused1")
def fused_attention(scale: int) -> Launch:
    inp, products, weights, out = attention(scale)
    tokens = inp.shape[1]
    lower = ~np.broadcast_to(np.tri(tokens, dtype=bool), products.shape)
    args = [new(*out.shape), new(*products.shape), new(*products.shape), inp, B, tokens, C, HEADS]
    expected = {0: out, 1: np.ma.array(products, mask=lower), 2: np.ma.array(weights, mask=lower)}
    return Launch((blocks(tokens, 4), HEADS, B), 128, args, expected, true_alarms=LANES_RACE)


@declare("attention_forward.cu", "scale_kernel")
def scale_and_mask(scale: int) -> Launch:
    x = normal(B, HEADS, T * scale, T * scale)
    expected = np.where(np.tri(T * scale, dtype=bool), 0.125 * x, -np.inf)
    return Launch(blocks(x.size, 256), 256, [x, 0.125, B, HEADS, T * scale], {0: expected})


@declare(("attention_forward.cu", "attention_backward.cu"), "softmax_forward_kernel5")
@declare("attention_forward.cu", "softmax_forward_kernel5_lowp", low=True)
def softmax5(scale: int, low: bool = False) -> Launch:
    x = normal(B * HEADS, T * scale, T * scale)
    x = bf16(x) if low else x
    expected = causal_softmax(0.125 * (from_bf16(x) if low else x))
    args = [np.zeros_like(x), 0.125, x, B * HEADS, T * scale]
    return Launch(
        blocks(x.shape[0] * x.shape[1], 8), 256, args, {0: close_bf16(expected) if low else expected}
    )


@declare("attention_backward.cu", "softmax_autoregressive_backward_kernel1", threads=1)
@declare("attention_backward.cu", "softmax_autoregressive_backward_kernel2", threads=1)
@declare("attention_backward.cu", "softmax_autoregressive_backward_kernel3", threads=32)
@declare("attention_backward.cu", "softmax_autoregressive_backward_kernel4", threads=4)
@declare("attention_backward.cu", "softmax_autoregressive_backward_kernel5", threads=4)
@declare("attention_backward.cu", "softmax_autoregressive_backward_kernel6", size=32)
# With more than one warp, the zeros that the first warp stores to `block_acc` can replace sums of the others.
@declare("attention_backward.cu", "softmax_autoregressive_backward_kernel7", size=32)
@declare("attention_backward.cu", "softmax_autoregressive_backward_kernel8", size=32, rows=4)
def softmax_backward(scale: int, kernel: str, threads: int = 0, size: int = 0, rows: int = 1) -> Launch:
    tokens, factor = 2 * T * scale, 1 / sqrt(C // HEADS)
    att = causal_softmax(normal(B, HEADS, tokens, tokens)).astype(np.float32)
    datt = normal(B, HEADS, tokens, tokens, seed=1)
    expected = factor * att * (datt - (att.astype(np.float64) * datt).sum(-1, keepdims=True))
    args = [np.zeros_like(att), datt, att, B, tokens, C, factor if kernel[-1] in "78" else HEADS]
    grid = (tokens // rows if size else blocks(threads * tokens, 64), B * HEADS)
    instance = f"{kernel}<{size}>" if size else ""
    return Launch(grid, size or 64, args, {0: expected}, instance=instance)


# Classifier ------------------------------------------------------------------------------------


@declare("classifier_fused.cu", "fused_classifier_kernel1", per_row=False)
@declare("classifier_fused.cu", *(f"fused_classifier_kernel{n}" for n in (2, 3, 4)))
@declare("classifier_fused.cu", "fused_classifier_kernel5", instance="fused_classifier_kernel5<true, false>")
def fused_classifier(scale: int, per_row: bool = True, instance: str = "") -> Launch:
    size, padded = 1000 * scale, 1024 * scale
    logits, dlosses = normal(B, T, padded), uniform(B, T)
    targets = integers(B, T, high=size)
    probs = softmax(logits[..., :size])
    hot = np.eye(size)[targets]
    dlogits = masked(B, T, padded)
    dlogits[..., :size] = (probs - hot) * dlosses[..., None]
    outputs = [new(B, T, padded), new(B, T)]
    args = [*outputs, *([None] if per_row else []), logits, dlosses, targets, B, T, size, padded]
    grid = B * T if per_row else B * T // 4
    expected = {0: dlogits, 1: -np.log((probs * hot).sum(-1))}
    return Launch(grid, 128, args, expected, instance=instance)


@declare("crossentropy_forward.cu", "crossentropy_forward_kernel1")
def crossentropy_forward(scale: int) -> Launch:
    size = 100 * scale
    probs = softmax(normal(B, T, size)).astype(np.float32)
    targets = integers(B, T, high=size)
    expected = -np.log(np.take_along_axis(probs, targets[..., None], 2))
    return Launch(blocks(B * T, 128), 128, [new(B, T), probs, targets, B, T, size], {0: expected})


@declare("crossentropy_softmax_backward.cu", "crossentropy_softmax_backward_kernel1")
def crossentropy_backward(scale: int) -> Launch:
    size = 100 * scale
    probs = softmax(normal(B, T, size)).astype(np.float32)
    dlogits, dlosses, targets = normal(B, T, size, seed=1), normal(B, T), integers(B, T, high=size)
    expected = dlogits + (probs - np.eye(size)[targets]) * dlosses[..., None]
    args = [dlogits, dlosses, probs, targets, B, T, size]
    return Launch(blocks(probs.size, 256), 256, args, {0: expected})


# Elements --------------------------------------------------------------------------------------


@declare("encoder_forward.cu", "encoder_forward_kernel1", elements=C)
@declare("encoder_forward.cu", "encoder_forward_kernel2", elements=1)
@declare("encoder_forward.cu", "encoder_forward_kernel3", elements=8)
def encoder_forward(scale: int, elements: int) -> Launch:
    tokens = T * scale
    inp, wte, wpe = integers(B, tokens, high=50), normal(50, C), normal(tokens, C)
    args = [new(B, tokens, C), inp, wte, wpe, B, tokens, C]
    launch = Launch(blocks(B * tokens * C, 128 * elements), 128, args, {0: wte[inp] + wpe})
    return in_bf16(launch, 0, 2, 3)


@declare("encoder_backward.cu", "encoder_backward_kernel1", threads=B * T * C)
@declare("encoder_backward.cu", "encoder_backward_kernel2", threads=C)
def encoder_backward(_scale: int, threads: int) -> Launch:
    inp, dout = integers(B, T, high=50), normal(B, T, C)
    dwte, dwpe = normal(50, C, seed=1), normal(T, C, seed=2)
    expected = dwte.astype(np.float64)
    np.add.at(expected, inp, dout)
    return Launch(
        blocks(threads, 128), 128, [dwte, dwpe, dout, inp, B, T, C], {0: expected, 1: dwpe + dout.sum(0)}
    )


def gelu_parts(x: Array) -> tuple[Array, Array]:
    """Return GELU in its approximation by tanh, and its derivative."""
    x = x.astype(np.float64)
    t = np.tanh(sqrt(2 / np.pi) * (x + 0.044715 * x**3))
    inner = sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x**2)
    return 0.5 * x * (1 + t), 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner


@declare("gelu_forward.cu", "gelu_forward_kernel1", elements=1)
@declare("gelu_forward.cu", "gelu_forward_kernel2", elements=8)
def gelu_forward(scale: int, elements: int) -> Launch:
    x = normal(2048 * scale)
    launch = Launch(blocks(x.size, 128 * elements), 128, [new(x.size), x, x.size], {0: gelu_parts(x)[0]})
    return in_bf16(launch, 0, 1)


@declare("gelu_backward.cu", "gelu_backward1", elements=1)
@declare("gelu_backward.cu", "gelu_backward2", elements=8)
def gelu_backward(scale: int, elements: int) -> Launch:
    x, dout = normal(2048 * scale), normal(2048 * scale, seed=1)
    expected = dout * gelu_parts(x)[1]
    launch = Launch(blocks(x.size, 128 * elements), 128, [new(x.size), x, dout, x.size], {0: expected})
    return in_bf16(launch, 0, 1, 2)


@declare(("residual_forward.cu", "fused_residual_forward.cu"), "residual_forward_kernel1", elements=1)
@declare("residual_forward.cu", "residual_forward_kernel2", elements=8)
def residual_forward(scale: int, elements: int) -> Launch:
    x, y = normal(2048 * scale), normal(2048 * scale, seed=1)
    launch = Launch(blocks(x.size, 128 * elements), 128, [new(x.size), x, y, x.size], {0: x + y})
    return in_bf16(launch, 0, 1, 2)


@declare("nccl_all_reduce.cu", "set_vector")
def set_vector(scale: int) -> Launch:
    n = 1000 * scale
    return Launch(blocks(n, 256), 256, [new(n), n, 3.0], {0: np.full(n, 3.0)})


@declare("permute.cu", "permute_kernel")
def permute_axes(scale: int) -> Launch:
    x = normal(6 * scale, 7, 8, 9)
    expected = x.transpose(3, 2, 0, 1)
    return Launch(blocks(x.size, 256), 256, [x, new(x.size), *x.shape], {1: np.ascontiguousarray(expected)})


# Norms -----------------------------------------------------------------------------------------


@declare("global_norm.cu", "norm_kernel1", "norm_kernel2", "norm_kernel3")
def norm(scale: int, kernel: str) -> Launch:
    x = normal(10_000 * scale)
    expected = np.square(x, dtype=np.float64).sum(keepdims=True)
    return Launch(8, 128, [np.zeros(1, np.float32), x, x.size], {0: expected}, instance=f"{kernel}<float>")


@declare("global_norm.cu", "norm_kernel4")
def norm4(scale: int) -> Launch:
    x = np.zeros(8 * 128 * 10 * scale, np.float32)
    x[: 10_000 * scale] = normal(10_000 * scale)
    expected = np.square(x, dtype=np.float64).reshape(-1, 8, 128).sum((0, 2))
    return Launch(8, 128, [new(8), x, 10_000 * scale], {0: expected}, instance="norm_kernel4<float>")


@declare("global_norm.cu", "global_norm_aggregate_kernel")
def norm_aggregate(_scale: int) -> Launch:
    x = uniform(800)
    return Launch(1, 1024, [x, x.size], {0: np.append(x.sum(dtype=np.float64), x[1:])})


def layernorm(x: Array, weight: Array, bias: Array) -> tuple[Array, Array, Array]:
    """Return the normalized rows, their means, and the reciprocals of their standard deviations."""
    x = x.astype(np.float64)
    mean, rstd = x.mean(-1), 1 / np.sqrt(x.var(-1) + 1e-5)
    return (x - mean[..., None]) * rstd[..., None] * weight + bias, mean, rstd


@declare("layernorm_forward.cu", "layernorm_forward_kernel1", rows=128)
@declare("fused_residual_forward.cu", "layernorm_forward_kernel1", rows=128, low=True)
@declare("layernorm_forward.cu", "layernorm_forward_kernel3", "layernorm_forward_kernel4", rows=4)
@declare("layernorm_forward.cu", "layernorm_forward_kernel5", rows=1)
@declare("layernorm_forward.cu", "layernorm_forward_kernel6", rows=4, block=(32, 4), shared=4 * (2 + 4) * C)
def layernorm_forward(
    scale: int, rows: int, block: int | tuple[int, int] = 128, shared: int = 0, low: bool = False
) -> Launch:
    n = B * T * scale
    x, weight, bias = normal(n, C) * 2, normal(C, seed=1), normal(C, seed=2)
    args = [new(n, C), new(n), new(n), x, weight, bias, n, C]
    launch = Launch(blocks(n, rows), block, args, dict(enumerate(layernorm(x, weight, bias))), shared)
    return in_bf16(launch, *range(6)) if low else launch


@declare("layernorm_forward.cu", "mean_kernel")
def mean(scale: int) -> Launch:
    x = normal(B * T * scale, C)
    args = [new(len(x)), x, len(x), C, 128]
    return Launch(len(x), 128, args, {0: x.mean(1, np.float64)}, 128 * 4)


@declare("layernorm_forward.cu", "rstd_kernel")
def rstd(scale: int) -> Launch:
    x = normal(B * T * scale, C)
    _, means, rstds = layernorm(x, np.ones(C), np.zeros(C))
    return Launch(
        len(x), 128, [new(len(x)), x, means.astype(np.float32), len(x), C, 128], {0: rstds}, 128 * 4
    )


@declare("layernorm_forward.cu", "normalization_kernel")
def normalization(scale: int) -> Launch:
    x, weight, bias = normal(B * T * scale, C), normal(C, seed=1), normal(C, seed=2)
    expected, means, rstds = layernorm(x, weight, bias)
    state = [means.astype(np.float32), rstds.astype(np.float32)]
    args = [new(*x.shape), x, *state, weight, bias, B, T * scale, C]
    return Launch(blocks(x.size, 256), 256, args, {0: expected})


@declare(
    "fused_residual_forward.cu", "fused_residual_forward2", rows=64, block=64
)  # its guard lets row N pass
@declare(
    "fused_residual_forward.cu",
    "fused_residual_forward3",
    "fused_residual_forward_kernel4",
    rows=4,
    block=(32, 4),
)
@declare(
    "fused_residual_forward.cu",
    "fused_residual_forward_kernel5",
    rows=4,
    block=(32, 4),
    shared=2 * (2 + 4) * C,
)
@declare(
    "fused_residual_forward.cu",
    "fused_residual_forward_kernel6",
    rows=4,
    block=(32, 1, 4),
    shared=2 * (2 + 4) * C + 4 * 64 * 4,
)
def fused_residual(scale: int, rows: int, block: Any = 128, shared: int = 0) -> Launch:
    n = B * T * scale
    x, y, weight, bias = normal(n, C), normal(n, C, seed=1), normal(C, seed=1), normal(C, seed=2)
    total = from_bf16(bf16(x + y))
    args = [new(n, C), new(n, C), new(n), new(n), x, y, weight, bias, n, C]
    expected = dict(enumerate((total, *layernorm(total, weight, bias))))
    return in_bf16(Launch(blocks(n, rows), block, args, expected, shared), *range(8))


F4 = "<float, float, float, float>"


@declare("layernorm_backward.cu", "layernorm_backward_kernel1", grid=B, block=T)
@declare("layernorm_backward.cu", "layernorm_backward_kernel3", shared=2 * C, instance=F4)
@declare(
    "layernorm_backward.cu", "layernorm_backward_kernel5", shared=2 * C + 1, scratch=4 * C + 1, instance=F4
)
@declare(
    "layernorm_backward.cu",
    "layernorm_backward_kernel6",
    shared=2 * C + 1,
    scratch=2 * C + 1,
    adds=False,
    instance=F4,
)
@declare(
    "layernorm_backward.cu",
    "layernorm_backward_kernel7",
    shared=2 * C + 1,
    scratch=2 * C + 1,
    adds=False,
    low=True,
)
@declare("layernorm_backward.cu", "layernorm_backward_kernel8", shared=2 * C + 1, scratch=2 * C + 1, low=True)
@declare(
    "layernorm_backward.cu",
    "layernorm_backward_kernel9",
    shared=2 * C + 257,
    scratch=32 + 4 * C,
    low=True,
    alarms=NO_FENCE,
)
@declare(
    "layernorm_backward.cu",
    "layernorm_backward_kernel10",
    shared=2 * C + 8 * 96,
    scratch=32 + 4 * C,
    low=True,
    alarms=NO_FENCE,
)
def layernorm_backward(
    scale: int,
    kernel: str,
    grid: int = 2,
    block: int = 128,
    shared: int = 0,
    scratch: int = 0,
    adds: bool = True,
    instance: str = "",
    low: bool = False,
    alarms: str = "",
) -> Launch:
    arrays, expected = _layernorm_backward(scale, adds)
    extra = [np.zeros(scratch, np.float32)] if scratch else []
    written: dict[int, Any] = {0: expected[0], 1: expected[1], 2: expected[2]} | ({3: None} if extra else {})
    args = [*arrays[:3], *extra, *arrays[3:], B, T * scale, C]
    name = f"{kernel}{instance}" if instance else ""
    launch = Launch(grid, block, args, written, 4 * shared, instance=name, rtol=5e-5, true_alarms=alarms)
    return in_bf16(launch, 0, 1, 2, 4, 5, 6, 7, 8) if low else launch


def _layernorm_backward(scale: int, adds: bool = True) -> tuple[list[Array], Sequence[Array]]:
    """Return dinp, dweight, dbias, dout, inp, weight, mean and rstd; and the first three after the launch."""
    n = B * T * scale
    dout, x, weight = normal(n, C), normal(n, C, seed=1), normal(C)
    dinp, dweight, dbias = normal(n, C, seed=2), normal(C, seed=3), normal(C, seed=4)
    _, means, rstds = layernorm(x, np.ones(C), np.zeros(C))
    dnorm = (weight * dout).astype(np.float64)
    state = [from_bf16(bf16(means)), from_bf16(bf16(rstds))]
    normed = (x - state[0][:, None]) * state[1][:, None].astype(np.float64)
    grad = dnorm - dnorm.mean(1, keepdims=True) - normed * (dnorm * normed).mean(1, keepdims=True)
    sums = (normed * dout).sum(0), dout.sum(0, np.float64)
    rstds = state[1]
    expected = dinp + grad * rstds[:, None], adds * dweight + sums[0], adds * dbias + sums[1]
    return [dinp, dweight, dbias, dout, x, weight, *state], expected


@declare("layernorm_backward.cu", "layernorm_backward_kernel2")
def layernorm_backward2(scale: int) -> Launch:
    arrays, expected = _layernorm_backward(scale)
    sums = [np.zeros(C, np.float32), np.zeros(C, np.float32)]
    args = [*arrays, B, T * scale, C, *sums]
    written = {0: expected[0], 11: expected[1] - arrays[1], 12: expected[2] - arrays[2]}
    return Launch(
        B * T * scale // 4, 128, args, written, 8 * C, instance=f"layernorm_backward_kernel2{F4}", rtol=5e-5
    )


@declare("layernorm_backward.cu", "layernorm_backward_kernel4")
def layernorm_backward4(scale: int) -> Launch:
    arrays, expected = _layernorm_backward(scale)
    args = [*arrays, B, T * scale, C]
    instance = f"layernorm_backward_kernel4<{', '.join(['__nv_bfloat16'] * 4)}>"
    return in_bf16(Launch(2, 128, args, dict(enumerate(expected)), 8 * C, instance=instance), *range(8))


@declare("layernorm_backward.cu", "copy_to_dweight_dbias")
def copy_sums(_scale: int) -> Launch:
    x, y = normal(C), normal(C, seed=1)
    return Launch(1, 512, [C, new(C), new(C), x, y], {1: x, 2: y}, instance="copy_to_dweight_dbias<float>")


@declare("softmax_forward.cu", "softmax_forward_kernel1", "softmax_forward_online_kernel1", rows=32, block=32)
@declare("softmax_forward.cu", "softmax_forward_kernel2", shared=128)
@declare("softmax_forward.cu", "softmax_forward_kernel3", block=32, shared=32)
@declare(
    "softmax_forward.cu", "softmax_forward_kernel4", block=32, shared=1
)  # with more warps, a barrier is missing
@declare("softmax_forward.cu", "softmax_forward_kernel7", shared=8, alarms=CLAMPED_READ)
@declare("attention_forward.cu", "softmax_forward_kernel4", shared=8)
@declare("softmax_forward.cu", "softmax_forward_online_kernel2", "softmax_forward_online_kernel8", rows=4)
def softmax_forward(scale: int, rows: int = 1, block: int = 128, shared: int = 0, alarms: str = "") -> Launch:
    x = normal(64, 300 * scale)
    args = [new(*x.shape), x, *x.shape]
    return Launch(blocks(64, rows), block, args, {0: softmax(x)}, 4 * shared, true_alarms=alarms)


# Products --------------------------------------------------------------------------------------


@declare("matmul_forward.cu", "matmul_forward_kernel1")
@declare("matmul_forward.cu", "matmul_forward_kernel4", tile=128)
def matmul_forward(scale: int, tile: int = 16) -> Launch:
    rows, columns, depth = 256 * scale, 128 * scale, 64
    x, weight, bias = normal(rows, depth), normal(columns, depth, seed=1), normal(columns)
    sizes = [depth, columns] if tile == 128 else [rows, depth, columns]
    args = [new(rows, columns), x, weight, bias, *sizes]
    expected = x.astype(np.float64) @ weight.T + bias
    return Launch((rows // tile, columns // tile), (16, 16), args, {0: expected})


@declare("matmul_forward.cu", "add_bias")
def add_bias(scale: int) -> Launch:
    x, bias = normal(B, T * scale, C), normal(C)
    return Launch(8, 256, [x, bias, B, T * scale, C], {0: x + bias})


Y8 = (4, 8, 4)


@declare("matmul_backward.cu", "matmul_backward_bias_kernel_naive", grid=2, block=128)
@declare("matmul_backward.cu", "matmul_backward_bias_kernel_faster", grid=C, block=128, shared=128)
@declare("matmul_backward_bias.cu", "matmul_backward_bias_kernel1", grid=C, block=128, shared=128)
@declare("matmul_backward_bias.cu", "matmul_backward_bias_kernel2", grid=C // 4, block=128)
@declare("matmul_backward_bias.cu", "matmul_backward_bias_kernel3", grid=C, block=128)
@declare("matmul_backward_bias.cu", "matmul_backward_bias_kernel4", grid=C // 32, block=128, shared=128)
@declare("matmul_backward_bias.cu", "matmul_backward_bias_kernel7", grid=(1, 4), block=(32, 8), shared=256)
def backward_bias(scale: int, kernel: str, grid: Any, block: Any, shared: int = 0) -> Launch:
    dout, dbias = normal(B, T * scale, C), normal(C)
    sums = dout.sum((0, 1), np.float64)
    if kernel[-1].isdigit():
        args = [dbias, dout, B, T * scale, C] + [256] * kernel.endswith("7")
        launch = Launch(grid, block, args, {0: dbias + sums}, 4 * shared)
        return in_bf16(launch, 1) if kernel.endswith("7") else in_bf16(launch, 0, 1)
    return Launch(grid, block, [new(C), dout, B, T * scale, C], {0: sums}, 4 * shared)


@declare("matmul_backward_bias.cu", "matmul_backward_bias_kernel5")
def backward_bias_in_float(scale: int) -> Launch:
    dout, dbias = normal(B, T * scale, C), normal(C)
    args = [dbias, dout, B, T * scale, C]
    expected = {0: dbias + dout.sum((0, 1), np.float64)}
    return Launch((2, 4), 128, args, expected, sizes={"ENABLE_BF16": None})


@declare("matmul_backward_bias.cu", "matmul_backward_bias_kernel8", "matmul_backward_bias_kernel9")
def backward_bias_vectors(scale: int, kernel: str) -> list[Launch]:
    dout, dbias = normal(B, T * scale, C), normal(C)
    sums = dout.reshape(-1, 4, 16, C).sum((0, 2), np.float64)
    sizes = [dout, B, T * scale, C, b"\0"]
    whole = Launch(
        (4, 1), Y8, [dbias, *sizes], {0: dbias + sums.sum(0)}, instance=f"{kernel}<__nv_bfloat16, false>"
    )
    parts = [np.zeros(C, np.float32), sums.sum(0)] if kernel.endswith("8") else [new(4, C), sums]
    split = Launch((4, 4), Y8, [parts[0], *sizes], {0: parts[1]}, instance=f"{kernel}<float, true>")
    return [in_bf16(whole, 0, 1), in_bf16(split, 1)]


@declare("matmul_backward_bias.cu", "cast_and_add_kernel")
def cast_and_add(scale: int) -> Launch:
    x, y = normal(1000 * scale), normal(1000 * scale, seed=1)
    return in_bf16(Launch(blocks(x.size, 256), 256, [x, y, x.size], {0: x + y}), 0)


@declare("matmul_backward_bias.cu", "reduce_add_sum_kernel")
def reduce_add_sum(scale: int) -> Launch:
    x, y = normal(1000 * scale), normal(6, 1000 * scale)
    return in_bf16(Launch(blocks(x.size, 1024), 256, [x, y, x.size, 6], {0: x + y.sum(0)}), 0)


@declare("trimat_forward.cu", "trimul_global")
def triangle(scale: int) -> list[Launch]:
    tokens = 256 * scale
    inp = normal(1, tokens, 3, 2, 64)
    q, k, _ = heads_of(inp)
    products = q.astype(np.float64) @ k.transpose(0, 1, 3, 2) / 8
    row, column = np.indices((tokens, tokens)) // 8
    expected = np.ma.array(products, mask=np.broadcast_to(column > row, products.shape))
    return [
        Launch(
            (tokens // 128, tokens // 128, 2),
            (16, 16),
            [new(*products.shape), inp, tokens, 128, 2],
            {0: expected},
            instance=f"trimul_global<{name}>",
        )
        for name in ("matmul_tri_naive", "matmul_tri_registers", "matmul_tri3", "matmul_tri4")
    ]
