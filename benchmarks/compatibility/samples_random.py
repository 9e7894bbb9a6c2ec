"""Launches of NVIDIA/cuda-samples with random numbers of cuRAND's device functions."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from benchmarks.compatibility.launches import Array, Launch, blocks, integers, new, suite
from benchmarks.compatibility.samples_concepts import FIELDS, TAIL

__all__: list[str] = []

declare = suite("cuda-samples", "Samples/")
XORWOW = [
    ("d", "u4"),
    ("v", "u4", 5),
    ("flags", "i4", 2),
    ("extra", "f4"),
    ("_", "u4"),
    ("extra_double", "f8"),
]
SOBOL = {
    bits: [(name, f"u{bits // 8}") for name in "ixc"] + [("v", f"u{bits // 8}", bits)] for bits in (32, 64)
}
SEED = 1234


class Xorwow:
    """Marsaglia's xorwow generators, one for each seed and subsequence of 2^67 numbers."""

    def __init__(self, seeds: Array, subsequences: int) -> None:
        low = seeds.astype(np.uint32) ^ np.uint32(0xAAD26B49)
        high = np.uint32(0 ^ 0xF7DCEFDD)
        with np.errstate(over="ignore"):
            t0, t1 = low * np.uint32(1099087573), high * np.uint32(2591861531)
            self.d = np.repeat(np.uint32(6615241) + t1 + t0, subsequences)
            first = [
                np.uint32(123456789) + t0,
                np.uint32(362436069) ^ t0,
                np.uint32(521288629) + t1 + 0 * t0,
                np.uint32(88675123) ^ t1 + 0 * t0,
                np.uint32(5783321) + t0,
            ]
        bits = np.unpackbits(np.stack(first, 1).astype("<u4").view(np.uint8), axis=1, bitorder="little")
        states = [bits]
        for _ in range(subsequences - 1):
            states.append(states[-1] @ _subsequence() % 2)
        words = np.packbits(np.stack(states, 1).astype(np.uint8), axis=2, bitorder="little").view("<u4")
        self.v = [words[..., n].ravel() for n in range(5)]

    def next(self, chosen: Array | slice = slice(None)) -> Array:
        """Return the next 32 bits of the chosen generators."""
        v = [each[chosen] for each in self.v]
        t = v[0] ^ (v[0] >> np.uint32(2))
        v = [*v[1:], v[4] ^ (v[4] << np.uint32(4)) ^ t ^ (t << np.uint32(1))]
        for each, value in zip(self.v, v, strict=True):
            each[chosen] = value
        self.d[chosen] += np.uint32(362437)
        return np.asarray(v[4] + self.d[chosen])

    def uniform(self, chosen: Array | slice = slice(None)) -> Array:
        return _fraction(self.next(chosen))

    def uniform_double(self, chosen: Array | slice = slice(None)) -> Array:
        """Return numbers of 53 bits: the higher ones are the second 32 bits."""
        low, high = self.next(chosen).astype(np.uint64), self.next(chosen).astype(np.uint64)
        return np.asarray((low ^ high << np.uint64(21)) * 2.0**-53 + 2.0**-54)

    def normals(self, *, double: bool = False) -> tuple[Array, Array]:
        """Return the next two normal numbers, by Box and Muller."""
        draw = self.uniform_double if double else self.uniform
        u, v = draw().astype(np.float64), draw().astype(np.float64)
        radius = np.sqrt(-2 * np.log(u))
        return radius * np.sin(2 * np.pi * v), radius * np.cos(2 * np.pi * v)

    @property
    def states(self) -> Array:
        states = np.zeros(self.d.size, XORWOW)
        states["d"], states["v"] = self.d, np.stack(self.v, 1)
        return states.view(np.uint8)


def _fraction(bits: Array) -> Array:
    return bits.astype(np.float32) * np.float32(2**-32) + np.float32(2**-33)


@cache
def _subsequence() -> Array:
    """Return the matrix over two elements that skips 2^67 numbers of a row of 160 bits."""
    step = np.zeros((160, 160))
    for n in range(128):
        step[32 + n, n] = 1
    for n in range(32):
        for source, shift in ((0, 0), (0, 1), (0, -2), (0, -1), (128, 0), (128, 4)):
            if shift >= 0 and n - shift >= 0:
                step[source + n - shift, 128 + n] += 1
            elif shift == -2 and n + 2 < 32:
                step[source + n + 2, 128 + n] += 1
            elif shift == -1 and 0 < n < 31:
                step[source + n + 1, 128 + n] += 1
    for _ in range(67):
        step = step @ step % 2
    return step


# Pi --------------------------------------------------------------------------------------------


@declare("2_Concepts_and_Techniques/MC_EstimatePiInlineP/src/piestimator.cu", "initRNG")
@declare("2_Concepts_and_Techniques/MC_SingleAsianOptionP/src/pricingengine.cu", "initRNG")
def generators(scale: int) -> Launch:
    count = 128 * scale
    args = [new(48 * count, dtype=np.uint8), SEED]
    return Launch(scale, 128, args, {0: _same_states(Xorwow(np.array([SEED]), count).states)})


def _same_states(expected: Array) -> Any:
    """Return a check of all fields of states; their padding may have any value."""
    names = ["d", "v", "flags"]
    return lambda got: bool((got.view(XORWOW)[names] == expected.view(XORWOW)[names]).all())


def _inside(random: Xorwow, points: int, draw: Any) -> Array:
    """Return how many of a block's points are in the circle."""
    threads = random.d.size
    counts = np.zeros(threads, np.uint32)
    for first in range(0, points, threads):
        chosen = slice(0, min(threads, points - first))
        counts[chosen] += draw(random, chosen) ** 2 + draw(random, chosen) ** 2 < 1
    return np.asarray(counts.reshape(-1, 128).sum(1, dtype=np.uint32))


@declare("2_Concepts_and_Techniques/MC_EstimatePiInlineP/src/piestimator.cu", "computeValue")
def points_inside(scale: int) -> list[Launch]:
    launches = []
    for name, draw in (("float", Xorwow.uniform), ("double", Xorwow.uniform_double)):
        random, points = Xorwow(np.array([SEED]), 256), 1000 * scale
        args = [new(2, dtype=np.uint32), random.states, points]
        expected = {0: _inside(random, points, draw)}
        launches.append(Launch(2, 128, args, expected, 128 * 4, f"computeValue<{name}>"))
    return launches


@declare("5_Domain_Specific/simpleVulkanMMAP/MonteCarloPi.cu", "monte_carlo_kernel")
def points(scale: int) -> Launch:
    random, count = Xorwow(np.array([7]), 256), 1000 * scale
    places = []
    for first in range(0, count, 256):
        chosen = slice(0, min(256, count - first))
        places.append(np.stack([random.uniform(chosen), random.uniform(chosen)], 1))
    xy = 2 * np.concatenate(places) - 1
    inside = np.hypot(*xy.T) <= 1
    args = [new(count, 2), new(count), np.zeros(1, np.float32), count, 7.5]
    expected = {0: xy, 1: inside.astype(np.float32), 2: inside.sum(keepdims=True).astype(np.float32)}
    return Launch(2, 128, args, expected)


# Options ---------------------------------------------------------------------------------------


@declare("2_Concepts_and_Techniques/MC_SingleAsianOptionP/src/pricingengine.cu", "generatePaths")
def paths(_scale: int) -> list[Launch]:
    launches = []
    for name, real in (("float", np.float32), ("double", np.float64)):
        random, steps = Xorwow(np.array([SEED]), 256), 6
        states = random.states
        option = np.zeros(1, [(field, real) for field in FIELDS] + TAIL[name])
        option["r"], option["sigma"], option["dt"] = 0.03, 0.2, 0.1
        normals = [each for _ in range(steps // 2) for each in random.normals(double=name == "double")]
        expected = np.cumprod(np.exp((0.03 - 0.02) * 0.1 + 0.2 * np.sqrt(0.1) * np.stack(normals)), 0)
        args = [new(steps, 256, dtype=real), states, option.view(np.uint8), 256, steps]
        rtol = 1e-4 if name == "float" else 1e-12
        launches.append(Launch(2, 128, args, {0: expected}, rtol=rtol, instance=f"generatePaths<{name}>"))
    return launches


@declare("5_Domain_Specific/MonteCarloMultiGPU/MonteCarlo_kernel.cu", "rngSetupStates")
def states_of_blocks(_scale: int) -> Launch:
    expected = _same_states(Xorwow(4 + np.arange(2), 256).states)
    return Launch(2, 256, [new(48 * 512, dtype=np.uint8), 2], {0: expected})


@declare("5_Domain_Specific/MonteCarloMultiGPU/MonteCarlo_kernel.cu", "MonteCarloOneBlockPerOption")
def option_values(_scale: int) -> Launch:
    count, draws = 2, 4
    random = Xorwow(np.arange(count), 256)
    states = random.states
    options = np.array([[30, 28, 0.02, 0.3], [20, 25, 0.01, 0.4]], np.float32)
    normals = np.stack([each for _ in range(draws // 2) for each in random.normals()]).reshape(
        draws, count, 256
    )
    price, strike, drift, volatility = options.T[:, :, None].astype(np.float64)
    values = np.maximum(price * np.exp(drift + volatility * normals) - strike, 0)
    expected = np.stack([values.sum((0, 2)), (values**2).sum((0, 2))], 1)
    return Launch(count, 256, [states, options, new(count, 2), 256 * draws, count], {2: expected}, rtol=1e-3)


# Sobol's sequence ------------------------------------------------------------------------------


def _sobol(offsets: Array, bits: int) -> tuple[Array, Array]:
    """Return the states of two dimensions at offsets into their sequences, and the direction vectors."""
    word: Any = np.uint32 if bits == 32 else np.uint64
    powers = word(1) << np.arange(bits, dtype=word)[::-1]
    mixed = integers(bits, high=2**31).astype(word) * word(2**32 - 5 if bits == 64 else 1)
    directions = np.stack([powers, powers ^ (mixed % powers)])
    states = np.zeros((2, offsets.size), SOBOL[bits])
    states["i"], states["v"] = offsets, directions[:, None]
    states["x"] = [_sobol_bits(each, offsets) for each in directions]
    return states, directions


def _sobol_bits(directions: Array, index: Array) -> Array:
    gray, bits = index ^ (index >> 1), np.zeros(index.shape, directions.dtype)
    for n in range(32):
        bits ^= np.where(gray >> n & 1, directions[n], directions.dtype.type(0))
    return bits


def _fraction_double(bits: Array) -> Array:
    return (bits >> np.uint64(11)) * 2.0**-53 + 2.0**-54


QUASI = "2_Concepts_and_Techniques/MC_EstimatePiInlineQ/src/piestimator.cu"


@declare(QUASI, "initRNG")
def quasi_generators(_scale: int) -> list[Launch]:
    draws, launches = 1000, []
    for bits in (32, 64):
        states, directions = _sobol(np.arange(256) * blocks(draws, 256), bits)
        args = [new(states.nbytes, dtype=np.uint8), directions, draws]
        instance = f"initRNG<curandStateSobol{bits}, curandDirectionVectors{bits}_t>"
        launches.append(Launch(2, 128, args, {0: _same_numbers(states)}, instance=instance))
    return launches


def _same_numbers(expected: Array) -> Any:
    names = ["i", "x", "v"]
    return lambda got: bool((got.view(expected.dtype)[names] == expected.ravel()[names]).all())


@declare(QUASI, "computeValue")
def quasi_points_inside(_scale: int) -> list[Launch]:
    draws, launches = 1024, []
    offsets = np.arange(256) * blocks(draws, 256)
    for name, bits, fraction in (("float", 32, _fraction), ("double", 64, _fraction_double)):
        states, directions = _sobol(offsets, bits)
        counts = np.zeros(256, np.uint32)
        for n in range(draws // 256):
            x, y = (fraction(_sobol_bits(each, offsets + n)) for each in directions)
            counts += x * x + y * y < 1
        args = [new(2, dtype=np.uint32), states.view(np.uint8).ravel(), draws]
        expected = {0: counts.reshape(2, 128).sum(1, dtype=np.uint32)}
        instance = f"computeValue<{name}, curandStateSobol{bits}>"
        launches.append(Launch(2, 128, args, expected, 512, instance))
    return launches
