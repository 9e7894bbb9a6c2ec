"""Launches of rodinia's kernels on flows (cfd) and particles (lavaMD, particlefilter)."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.compatibility.launches import Array, Launch, blocks, integers, new, normal, suite, uniform

__all__: list[str] = []

declare = suite("rodinia", "cuda/")
TYPES: dict[str, Any] = {"": np.float32, "_double": np.float64}

# Flows -----------------------------------------------------------------------------------------

FAR = np.array([1.4, 1.68, 0.1, 0.2, 4.5])  # density, momentum and energy far away


class State:
    """Elements of a flow: density, momentum and energy, and what follows from them."""

    def __init__(self, variables: Array) -> None:
        self.variables = variables.astype(np.float64)
        density, self.momentum, energy = self.variables[0], self.variables[1:4], self.variables[4]
        velocity = self.momentum / density
        square = (velocity**2).sum(0)
        self.speed = np.sqrt(square)
        self.pressure = 0.4 * (energy - 0.5 * density * square)
        self.sound = np.sqrt(1.4 * self.pressure / density)
        self.momentum_flux = velocity[:, None] * self.momentum[None]
        self.momentum_flux[range(3), range(3)] += self.pressure
        self.energy_flux = velocity * (energy + self.pressure)

    @property
    def fluxes(self) -> Array:
        """The flow in each direction: an array of (variable, direction, element)."""
        return np.concatenate([self.momentum[None], self.momentum_flux, self.energy_flux[None]])


def _flow(scale: int, dtype: Any) -> tuple[Array, Array, Array, State]:
    """Return variables, neighbours (-1 at a wall, -2 far away) and normals of a flow, and its state."""
    n = 192 * 3 * scale
    variables = uniform(5, n, low=-0.3, high=0.3, dtype=dtype) + FAR[:, None].astype(dtype)
    neighbours = integers(4, n, low=-60, high=n)
    neighbours[neighbours < 0] = integers(4, n, low=-2, high=0, seed=2)[neighbours < 0]
    return variables, neighbours, normal(3, 4, n, dtype=dtype), State(variables)


def _net_flux(neighbours: Array, normals: Array, here: State) -> Array:
    far, total = State(FAR[:, None]), np.zeros_like(here.variables)
    for nb, normal_ in zip(neighbours, normals.astype(np.float64).transpose(1, 0, 2), strict=True):
        there = State(here.variables[:, nb])
        length = np.sqrt((normal_**2).sum(0))
        smoothing = -0.1 * length * (here.speed + there.speed + here.sound + there.sound)
        inner = smoothing * (here.variables - there.variables)
        inner += 0.5 * (normal_ * (here.fluxes + there.fluxes)).sum(1)
        outer = 0.5 * (normal_ * (here.fluxes + far.fluxes)).sum(1)
        wall = np.zeros_like(inner)
        wall[1:4] = normal_ * here.pressure
        total += np.where(nb >= 0, inner, np.where(nb == -1, wall, outer))
    return total


def _cfd(kernel: str, *, precomputed: bool) -> None:
    name = "pre_euler3d" if precomputed else "euler3d"
    keywords = {"precomputed": precomputed} if FLOWS[kernel] in (initialize, flux) else {}
    for suffix, dtype in TYPES.items():
        declare(f"cfd/{name}{suffix}.cu", kernel, dtype=dtype, **keywords)(FLOWS[kernel])


def far_variables(dtype: Any, precomputed: bool) -> dict[str, Array]:
    far, prefix = State(FAR[:, None]), "ff_fc" if precomputed else "ff_flux_contribution"
    fluxes = {f"{prefix}_momentum_{axis}": far.momentum_flux[n].T for n, axis in enumerate("xyz")}
    values = {"ff_variable": FAR, **fluxes, f"{prefix}_density_energy": far.energy_flux.T}
    return {variable: value.astype(dtype) for variable, value in values.items()}


def initialize(scale: int, dtype: Any, precomputed: bool) -> Launch:
    n = 192 * 3 * scale
    expected = np.repeat(FAR.astype(dtype)[:, None], n, 1)
    args = [n, new(5, n, dtype=dtype)]
    return Launch(n // 192, 192, args, {1: expected}, variables=far_variables(dtype, precomputed))


def step_factor(scale: int, dtype: Any) -> Launch:
    variables, _, _, state = _flow(scale, dtype)
    areas = uniform(variables.shape[1], low=1, high=2, dtype=dtype)
    expected = 0.5 / (np.sqrt(areas.astype(np.float64)) * (state.speed + state.sound))
    args = [areas.size, variables, areas, new(areas.size, dtype=dtype)]
    return Launch(areas.size // 192, 192, args, {3: expected})


def flux_contributions(scale: int, dtype: Any) -> Launch:
    variables, _, _, state = _flow(scale, dtype)
    n = variables.shape[1]
    expected = {2 + i: each for i, each in enumerate([*state.momentum_flux, state.energy_flux])}
    args = [n, variables, *(new(3, n, dtype=dtype) for _ in range(4))]
    return Launch(n // 192, 192, args, expected)


def flux(scale: int, dtype: Any, precomputed: bool) -> Launch:
    variables, neighbours, normals, state = _flow(scale, dtype)
    n = variables.shape[1]
    fluxes = [each.astype(dtype) for each in (*state.momentum_flux, state.energy_flux)]
    given = [n, neighbours, normals, variables, *(fluxes if precomputed else [])]
    expected = {len(given): _net_flux(neighbours, normals, state)}
    args = [*given, new(5, n, dtype=dtype)]
    return Launch(n // 192, 192, args, expected, rtol=1e-4, variables=far_variables(dtype, precomputed))


def time_step(scale: int, dtype: Any) -> Launch:
    old, fluxes = (normal(5, 192 * 3 * scale, seed=seed, dtype=dtype) for seed in range(2))
    factors = uniform(old.shape[1], dtype=dtype)
    args = [1, factors.size, old, new(*old.shape, dtype=dtype), factors, fluxes]
    return Launch(factors.size // 192, 192, args, {3: old + factors / 3 * fluxes})


FLOWS: dict[str, Any] = {
    "cuda_initialize_variables": initialize,
    "cuda_compute_step_factor": step_factor,
    "cuda_compute_flux_contributions": flux_contributions,
    "cuda_compute_flux": flux,
    "cuda_time_step": time_step,
}
for _kernel in FLOWS:
    _cfd(_kernel, precomputed=True)
    if _kernel != "cuda_compute_flux_contributions":
        _cfd(_kernel, precomputed=False)

# Particles -------------------------------------------------------------------------------------


@declare("lavaMD/kernel/kernel_gpu_cuda.cu", "kernel_gpu_cuda")
def forces(scale: int) -> Launch:
    count, alpha, size = 3 * scale, 0.5, 100
    neighbour = [("x", "i4", 3), ("number", "i4"), ("offset", "i8")]
    boxes = np.zeros(
        count,
        [
            ("x", "i4", 3),
            ("number", "i4"),
            ("offset", "i8"),
            ("nn", "i4"),
            ("_", "i4"),
            ("nei", neighbour, 26),
        ],
    )
    boxes["offset"] = size * np.arange(count)
    places, charges = uniform(count, size, 4, dtype=np.float64), uniform(count, size, dtype=np.float64)
    expected = np.zeros_like(places)
    for box in range(count):
        others = [each for each in (box - 1, box + 1) if 0 <= each < count]
        boxes["nn"][box] = len(others)
        boxes["nei"]["number"][box, : len(others)] = others
        for other in (box, *others):
            a, b = places[box][:, None], places[other][None]
            weight = np.exp(-2 * alpha**2 * (a[..., 0] + b[..., 0] - (a[..., 1:] * b[..., 1:]).sum(-1)))
            terms = np.concatenate([weight[..., None], 2 * weight[..., None] * (a - b)[..., 1:]], -1)
            expected[box] += (charges[other][None, :, None] * terms).sum(1)
    sizes = np.zeros(1, [("arguments", "i4", 4), ("boxes", "i8"), ("memory", "i8", 4)])
    sizes["boxes"] = count
    args = [np.array([alpha]).tobytes(), sizes.tobytes(), boxes.view(np.uint8), places, charges]
    return Launch(count, 128, [*args, np.zeros_like(places)], {5: expected})


def _resample(n: int) -> tuple[list[Any], Array]:
    """Return x, y, distribution, uniform numbers and new places; and the index of each particle."""
    x, y = (normal(n, seed=seed, dtype=np.float64) for seed in range(2))
    distribution = np.cumsum(uniform(n, dtype=np.float64))
    distribution /= distribution[-1]
    numbers = uniform(n, high=1.01, seed=1, dtype=np.float64)
    index = np.minimum(np.searchsorted(distribution, numbers), n - 1)
    return [x, y, distribution, numbers, new(n, dtype=np.float64), new(n, dtype=np.float64)], index


@declare("particlefilter/ex_particle_CUDA_float_seq.cu", "find_index_kernel")
@declare("particlefilter/ex_particle_CUDA_naive_seq.cu", "kernel")
def resample(scale: int, kernel: str) -> Launch:
    n = 300 * scale
    args, index = _resample(n)
    weights = [np.zeros(n)] if kernel == "find_index_kernel" else []
    return Launch(blocks(n, 128), 128, [*args, *weights, n], {4: args[0][index], 5: args[1][index]})


@declare("particlefilter/ex_particle_CUDA_float_seq.cu", "sum_kernel")
def sum_of_sums(scale: int) -> Launch:
    sums = uniform(4 * scale, dtype=np.float64)
    expected = sums.copy()
    expected[0] = sums.sum()
    return Launch(2, 32, [sums, 512 * sums.size - 5], {0: expected})


class Random:
    """A linear congruential generator for each particle, in 32 bits with a sign."""

    def __init__(self, seeds: Array) -> None:
        self.seeds = seeds.copy()

    def uniform(self) -> Array:
        with np.errstate(over="ignore"):
            numbers = np.int32(1103515245) * self.seeds + np.int32(12345)
        self.seeds = np.fmod(numbers, np.int32(2**31 - 1))
        return np.asarray(np.abs(self.seeds / (2**31 - 1)))

    def normal(self) -> Array:
        u, v = self.uniform(), self.uniform()
        return np.asarray(np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * v))


@declare("particlefilter/ex_particle_CUDA_float_seq.cu", "normalize_weights_kernel")
def normalize(_scale: int) -> Launch:
    """A single block: with several, the others read `u[0]` without a barrier after the write."""
    n = 400
    weights, seeds = uniform(n, dtype=np.float64), integers(n, high=2**31)
    scaled = weights / weights.sum()
    random = Random(seeds[:1])
    numbers = random.uniform()[0] / n + np.arange(n) / n
    after = seeds.copy()
    after[0] = random.seeds[0]
    empty = new(n, dtype=np.float64)
    args = [weights, n, np.array([weights.sum()]), empty, new(n, dtype=np.float64), seeds]
    return Launch(1, 512, args, {0: scaled, 3: np.cumsum(scaled), 4: numbers, 5: after})


@declare("particlefilter/ex_particle_CUDA_float_seq.cu", "likelihood_kernel")
def likelihood(scale: int) -> Launch:
    n, ones, size, frames, k = 300 * scale, 25, 64, 4, 2
    x, y = (uniform(n, low=20, high=40, seed=seed, dtype=np.float64) for seed in range(2))
    offsets = integers(ones, 2, low=-4, high=5)
    image = integers(size * size * frames, low=150, high=180, dtype=np.uint8)
    random = Random(integers(n, high=2**31))
    seeds = random.seeds
    moved_x = x + 1 + 5 * random.normal()
    moved_y = y - 2 + 2 * random.normal()
    at_x, at_y = (np.trunc(each).astype(np.int32)[:, None] for each in (moved_x, moved_y))
    index = np.abs((at_x + offsets[:, 1]) * size * frames + (at_y + offsets[:, 0]) * frames + k)
    index[index >= image.size] = 0
    colors = image[index].astype(np.float64)
    likelihoods = ((colors - 100) ** 2 - (colors - 228) ** 2).sum(1) / 50 / ones
    weights = np.exp(likelihoods) / n
    grid = blocks(n, 128)
    sums = np.add.reduceat(weights, np.arange(0, n, 128))
    doubles = [new(n, dtype=np.float64) for _ in range(3)]
    args = [
        *doubles[:2],
        x,
        y,
        np.zeros(n),
        new(n, ones, dtype=np.int32),
        offsets,
        doubles[2],
        image,
        np.zeros(n),
    ]
    args += [new(n, dtype=np.float64), n, ones, image.size, k, size, frames, seeds]
    args.append(new(grid, dtype=np.float64))
    expected = {0: moved_x, 1: moved_y, 5: index.astype(np.int32), 7: likelihoods, 10: weights}
    return Launch(grid, 128, args, {**expected, 17: random.seeds, 18: sums}, rtol=1e-9)
