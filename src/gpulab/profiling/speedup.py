"""The speed-up table: the time of each timed variant, compared with the previous step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpulab.config import KernelConfig
from gpulab.devices.base import Device, Kernel
from gpulab.model.profile import profile_variant
from gpulab.problems import problem as problem_named
from gpulab.problems.base import Block, Problem, Shape
from gpulab.profiling.benchmark import Benchmark, benchmark, modelled
from gpulab.provenance import Provenance
from gpulab.verification.inputs import place_arguments

__all__ = ["SpeedupRow", "SpeedupTable", "VariantTiming", "time_variant"]


@dataclass(frozen=True)
class VariantTiming:
    """The time of one variant at one size, block and tile."""

    config: KernelConfig
    shape: Shape
    timing: Benchmark

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; `from_dict` reads it."""
        config = self.config
        return {
            "problem": config.problem.name,
            "variant": config.variant,
            "block": config.block,
            "tile": config.tile,
            "shape": self.shape,
            "timing": self.timing.as_dict(),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> VariantTiming:
        """Return the timing that `as_dict` described."""
        block, tile = tuple(data["block"]), tuple(data["tile"])
        config = KernelConfig(problem_named(data["problem"]), data["variant"], block, tile)
        return cls(config, tuple(data["shape"]), Benchmark.from_dict(data["timing"]))

    @property
    def variant(self) -> str:
        return self.config.variant

    @property
    def block(self) -> Block:
        return self.config.block

    @property
    def tile(self) -> Block:
        return self.config.tile


@dataclass(frozen=True)
class SpeedupRow:
    """One row of the speed-up table.

    Attributes
    ----------
    variant, changes : str
        The step, and what it changes.
    before : str or None
        The variant that it is compared with; None for the first step, and if no earlier step was timed at the
        same size on the same device.
    before_ms, after_ms : float
        The times of `before` and of `variant`, in milliseconds.
    speedup : float or None
        ``before_ms / after_ms``.
    gflops : float
        The problem's floating-point operations divided by `after_ms`, in GFLOPS.
    shape, block, tile : tuple of int
        Size and geometry.
    provenance : Provenance
        The provenance of `after_ms`.
    """

    variant: str
    changes: str
    before: str | None
    before_ms: float | None
    after_ms: float
    speedup: float | None
    gflops: float
    shape: Shape
    block: Block
    tile: Block
    provenance: Provenance

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        data = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return data | {"provenance": self.provenance.as_dict()}


@dataclass
class SpeedupTable:
    """The timed variants of one problem, in the order of its steps.

    `add` replaces an earlier time of the same variant.
    """

    problem: str
    timings: dict[str, VariantTiming] = field(default_factory=dict)

    def add(self, timing: VariantTiming) -> None:
        self.timings[timing.variant] = timing

    @property
    def rows(self) -> tuple[SpeedupRow, ...]:
        return tuple(self._rows())

    def __iter__(self) -> Iterator[SpeedupRow]:
        return self._rows()

    def __len__(self) -> int:
        return len(self.timings)

    def as_list(self) -> list[dict[str, Any]]:
        """Return the rows as plain data for JSON."""
        return [row.as_dict() for row in self]

    def _rows(self) -> Iterator[SpeedupRow]:
        problem = problem_named(self.problem)
        for name, variant in problem.variants.items():
            timed = self.timings.get(name)
            if timed is None:
                continue
            before = self._before(problem, name)
            after_ms = timed.timing.median_ms
            before_ms = before.timing.median_ms if before else None
            yield SpeedupRow(
                variant=name,
                changes=variant.changes,
                before=before.variant if before else None,
                before_ms=before_ms,
                after_ms=after_ms,
                speedup=before_ms / after_ms if before_ms is not None and after_ms > 0 else None,
                gflops=problem.flops(timed.shape) / after_ms / 1e6 if after_ms > 0 else 0.0,
                shape=timed.shape,
                block=timed.block,
                tile=timed.tile,
                provenance=timed.timing.provenance,
            )

    def _before(self, problem: Problem, name: str) -> VariantTiming | None:
        """Return the time of the previous step, or of the first one, if it is comparable."""
        timed = self.timings[name]
        for candidate in (problem.variants[name].baseline, next(iter(problem.variants))):
            earlier = self.timings.get(candidate) if candidate else None
            if (
                earlier is not None
                and earlier is not timed
                and earlier.shape == timed.shape
                and earlier.timing.provenance.comparable(timed.timing.provenance)
            ):
                return earlier
        return None


def time_variant(
    kernel: Kernel,
    config: KernelConfig,
    *,
    device: Device | None = None,
    shape: Shape | None = None,
    n_repeat: int = 5,
    limit_s: float = 5.0,
) -> VariantTiming:
    """Time a kernel of a problem.

    On a GPU the time is measured. On the simulator it is modelled for the simulated GPU, as one sample.

    Parameters
    ----------
    kernel : Kernel
        The kernel, compiled with the macros of `config`.
    config : KernelConfig
        Problem, variant, block and tile, as `gpulab.kernel_cell(name).config` returns them.
    device : Device, optional
        The device that runs the kernel; by default `kernel.device`.
    shape : tuple of int, optional
        The size of the problem; by default the problem's timing size.
    n_repeat : int
        Launches to time.
    limit_s : float
        Stop early, after at least one sample, once the samples add up to this many seconds.

    Returns
    -------
    VariantTiming
        The configuration, the size, and the `timing`, a `gpulab.Benchmark`.

    Raises
    ------
    UsageError
        If the configuration cannot be launched at this size.
    LaunchError, MemoryFault
        If the launch fails.

    Examples
    --------
    >>> import gpulab
    >>> from gpulab.config import KernelConfig
    >>> source = '''
    ... extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p) {
    ...     int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
    ...     float sum = 0;
    ...     for (int k = 0; k < p; ++k) sum += b[i + n * k] * c[k + p * j];
    ...     a[i + n * j] = sum;
    ... }'''
    >>> kernel = gpulab.device("sim:h200").compile(source, "mmkernel")
    >>> config = KernelConfig(gpulab.problem("matmul"), "K1", block=(64, 1, 1), tile=(1, 1, 1))
    >>> timed = gpulab.time_variant(kernel, config, shape=(256, 64, 64))
    >>> timed.timing.provenance.kind
    'modelled'
    """
    device = device or kernel.device
    launch = config.at(shape or config.timing_shape, device.spec)
    if not device.measures_time and kernel.program.ptx:
        profile = profile_variant(kernel, config, device=device, shape=launch.shape)
        return VariantTiming(config, launch.shape, modelled(profile))

    # The values do not influence the time, as long as they are numbers.
    problem = config.problem
    args = place_arguments(device, problem.arguments(launch.shape, np.random.default_rng(0)))
    timing = benchmark(
        kernel,
        launch.grid,
        launch.block,
        list(args.values()),
        n_repeat=n_repeat,
        limit_s=limit_s,
        detail=f"median at {problem.format_shape(launch.shape)}",
    )
    return VariantTiming(config, launch.shape, timing)
