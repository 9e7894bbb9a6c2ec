"""Launches of kernels of Rodinia and cuda-samples that fill a GPU.

The declarations of `benchmarks.compatibility` compute the values that a kernel must write, which limits the
sizes of these; here, no values are expected.
"""

from __future__ import annotations

import numpy as np

from benchmarks.compatibility.launches import Launch, integers, new, normal, uniform

__all__ = ["alignment", "bodies", "convolution", "encode", "histogram", "reduction", "scalar_products"]


def alignment(scale: int, kernel: str) -> Launch:
    """Return the launch for an anti-diagonal of blocks: the longest, or the one after it."""
    width, size = 64 * scale, 16
    n = width * size + 1
    count = width if kernel.endswith("1") else width - 1
    args = [integers(n, n, low=-10, high=10), integers(n, n, low=-99, high=1, seed=1), n, 10, count, width]
    return Launch(count, size, args, {1: None})


def encode(scale: int) -> Launch:
    grid, threads = 1024 * scale, 256
    lengths = integers(256, low=2, high=11, dtype=np.uint32)
    codes = (integers(256, high=2**10, seed=1) % 2**lengths).astype(np.uint32)
    data = integers(grid * threads, high=1 << 32, seed=2, dtype=np.uint32)
    unused = [np.zeros(grid * threads, np.uint32) for _ in range(3)]
    outputs = [new(grid, threads, dtype=np.uint32), new(grid, dtype=np.uint32)]
    args = [data, codes, lengths, *unused, *outputs]
    return Launch(grid, threads, args, dict.fromkeys(range(3, 8)), 3 * 256 * 4)


def convolution(scale: int, kernel: str) -> Launch:
    height = width = 1024 * scale
    rows = "Rows" in kernel
    grid, block = ((width // 128, height // 4), (16, 4)) if rows else ((width // 16, height // 64), (16, 8))
    args = [new(height, width), uniform(height, width), width, height, width]
    return Launch(grid, block, args, {0: None}, variables={"c_Kernel": normal(17)})


def histogram(scale: int, kernel: str) -> Launch:
    wide = "256" in kernel
    grid, threads, words, bins = (240, 192, 1, 256) if wide else (1920, 64, 4, 64)
    n = (1 << 20) * scale // words
    data = integers(n, words, high=1 << 32, dtype=np.uint32)
    return Launch(grid, threads, [new(grid * bins, dtype=np.uint32), data, n], {0: None})


def bodies(scale: int) -> Launch:
    n = 4096 * scale
    place, velocity = normal(n, 4), normal(n, 4, seed=1)
    args = [new(n, 4), place, velocity, 0, n, 0.016, 0.99, n // 256]
    softening = {"softeningSquared": 0.01, "softeningSquared_fp64": 0.01}
    instance = "integrateBodies<float>"
    return Launch(n // 256, 256, args, {0: None, 2: None}, 256 * 16, instance=instance, variables=softening)


def reduction(scale: int, kernel: str) -> Launch:
    n, threads = (1 << 20) * scale, 256
    grid = 1056 if kernel == "reduce6" else 64
    name = "float, 256, true" if kernel == "reduce6" else "256, true"
    args = [uniform(n), new(grid), n]
    return Launch(grid, threads, args, {1: None}, threads * 4, instance=f"{kernel}<{name}>")


def scalar_products(scale: int) -> Launch:
    count, length = 256 * scale, 4096
    args = [new(count), uniform(count, length), uniform(count, length, seed=1), count, length]
    return Launch(min(count, 1024), 256, args, {0: None})
