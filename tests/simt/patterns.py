"""Bit patterns for tests of arithmetic: special values in all combinations, and random values."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["FLOATS", "INTEGERS", "combined", "random_bits"]

Array = npt.NDArray[Any]


def _integers(bits: int) -> list[int]:
    """Return the limits of the signed and the unsigned range, and their neighbours."""
    top, half = 1 << bits - 1, 1 << bits // 2
    found = {0, 1, 2, 3, 5, 7, half - 1, half, top - 1, top, top + 1, 2 * top - 2, 2 * top - 1}
    return sorted(found | {0x5555555555555555 & (2 * top - 1)})


INTEGERS = {bits: _integers(bits) for bits in (8, 16, 32, 64)}


def _floats(exponent: int, fraction: int) -> list[int]:
    """Return zeros, the limits of subnormal and normal numbers, ones, infinities and NaNs of both signs."""
    infinity = ((1 << exponent) - 1) << fraction
    one = ((1 << exponent - 1) - 1) << fraction
    found = [0, 1, (1 << fraction) - 1, 1 << fraction, (1 << fraction) + 1, one - 1, one, one + 1]
    found += [one + (1 << fraction - 1), one + (3 << fraction), infinity - 1, infinity]
    found += [infinity + 1, infinity + (1 << fraction - 1), infinity + (1 << fraction - 1) + 3]
    sign = 1 << exponent + fraction
    return [*found, *(sign | bits for bits in found)]


FLOATS = {"f16": _floats(5, 10), "bf16": _floats(8, 7), "f32": _floats(8, 23), "f64": _floats(11, 52)}


def random_bits(bits: int, count: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 1 << bits, count, dtype=np.uint64).astype(f"u{bits // 8}")


def combined(specials: list[int], bits: int, operands: int, count: int, seed: int = 0) -> list[Array]:
    """Return one array per operand: at most `count` combinations of specials, then `count` random values.

    Half of the random floats are close together, so that sums cancel.
    """
    rng = np.random.default_rng(seed)
    combinations = np.array(list(product(specials, repeat=operands)) if operands < 3 else [], np.uint64)
    if operands >= 3 or len(combinations) > count:
        combinations = rng.choice(np.array(specials, np.uint64), (count, operands))
    noise = np.stack([random_bits(bits, count, seed + 1 + n) for n in range(operands)], 1).astype(np.uint64)
    near = noise[: count // 2]
    top = np.uint64(((1 << bits // 4) - 1) << (bits - bits // 4 - 1))
    near[:, 1:] = (near[:, 1:] & ~top) | (near[:, :1] & top)
    both = np.concatenate([combinations, noise])
    return [both[:, n].astype(f"u{bits // 8}") for n in range(operands)]
