"""The speed-up table: each variant so far beside the rung before it."""

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
    """One line of the table; times in milliseconds.

    before: the variant it is compared with, before_ms its time and speedup = before_ms / after_ms; all
    three None where there is none to compare with: the ladder's first rung, or nothing timed before it
    at the same shape on the same device.
    gflops: the problem's operations by after_ms.
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
        """As plain data for JSON."""
        data = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return data | {"provenance": self.provenance.as_dict()}


@dataclass
class SpeedupTable:
    """The variants of one problem that were timed, in the order of its ladder.

    `table.add(VariantTiming(...))` puts a variant in, or in the place of its last time.
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
        """The rows as plain data for JSON."""
        return [row.as_dict() for row in self]

    def _rows(self) -> Iterator[SpeedupRow]:
        known = problem_named(self.problem)
        for name, variant in known.variants.items():
            here = self.timings.get(name)
            if here is None:
                continue
            before = self._before(known, name)
            after_ms = here.timing.median_ms
            before_ms = before.timing.median_ms if before else None
            yield SpeedupRow(
                variant=name,
                changes=variant.changes,
                before=before.variant if before else None,
                before_ms=before_ms,
                after_ms=after_ms,
                speedup=before_ms / after_ms if before_ms is not None and after_ms > 0 else None,
                gflops=known.flops(here.shape) / after_ms / 1e6 if after_ms > 0 else 0.0,
                shape=here.shape,
                block=here.block,
                tile=here.tile,
                provenance=here.timing.provenance,
            )

    def _before(self, known: Problem, name: str) -> VariantTiming | None:
        """The rung before, else the ladder's first, when its time can be compared with this one's."""
        here = self.timings[name]
        for candidate in (known.variants[name].baseline, next(iter(known.variants))):
            there = self.timings.get(candidate) if candidate else None
            if (
                there is not None
                and there is not here
                and there.shape == here.shape
                and there.timing.provenance.comparable(here.timing.provenance)
            ):
                return there
        return None


def time_variant(
    kernel: Kernel,
    config: KernelConfig,
    *,
    device: Device,
    shape: Shape | None = None,
    n_repeat: int = 5,
    limit_s: float = 5.0,
) -> VariantTiming:
    """Time a kernel of a problem.

    On a GPU the time is measured. On the simulator it is modelled for the simulated GPU, as one sample.

    Parameters
    ----------
    kernel : Kernel
        The kernel, compiled for `device` with the macros of `config`.
    config : KernelConfig
        Problem, variant, block and tile, as `gpulab.kernel_cell(name).config` returns them.
    device : Device
        The device that runs the kernel.
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
    In a notebook, after the cell ``%%cuda matmul.K4`` ran:

    >>> config = gpulab.kernel_cell("matmul.K4").config                   # doctest: +SKIP
    >>> timed = gpulab.time_variant(gpulab.kernel("matmul.K4"), config,
    ...                             device=gpulab.device())               # doctest: +SKIP
    >>> timed.timing.median_ms                                            # doctest: +SKIP
    6.99
    """
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
