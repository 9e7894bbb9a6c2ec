"""The speed-up table: each variant so far beside the rung before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpulab.config import launch_geometry
from gpulab.devices.base import Device, Kernel
from gpulab.model.profile import profile_variant
from gpulab.problems import problem as problem_named
from gpulab.problems.base import Block, Problem, Shape
from gpulab.profiling.benchmark import Timing, time_kernel
from gpulab.provenance import Provenance
from gpulab.verification.inputs import on_device

__all__ = ["SpeedupRow", "SpeedupTable", "VariantTiming", "time_variant"]


@dataclass(frozen=True)
class VariantTiming:
    """One variant's time at one shape, block and tile."""

    variant: str
    shape: Shape
    block: Block
    tile: Block
    timing: Timing


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
    problem: Problem,
    variant: str,
    block: Block,
    tile: Block,
    *,
    device: Device,
    shape: Shape | None = None,
    repeats: int = 5,
    limit_s: float = 5.0,
) -> VariantTiming:
    """Time a kernel of a problem at `shape`, or at the problem's timing size for this device.

    On a GPU it is measured. On the simulator it is what the performance model says of the simulator's GPU,
    as one sample: how long the simulator takes tells nothing about a GPU.

    Raises `UsageError` for a geometry that cannot be launched, and what the launch raises.
    """
    shape = shape or problem.timing_shape(variant, block, tile, device.kind)
    launch = launch_geometry(problem, shape, block, tile, device.spec)
    if not device.measures_time and kernel.program.ptx:
        profile = profile_variant(kernel, problem, variant, block, tile, device=device, shape=shape)
        timing = Timing.from_samples([profile.time_ms], profile.provenance)
        return VariantTiming(variant, shape, block, tile, timing)
    # The values do not matter to the clock, as long as they are numbers.
    args = list(on_device(device, problem.arguments(shape, np.random.default_rng(0))).values())
    timing = time_kernel(
        kernel,
        launch.grid,
        launch.block,
        args,
        device=device,
        repeats=repeats,
        limit_s=limit_s,
        detail=f"median at {problem.format_shape(shape)}",
    )
    return VariantTiming(variant, shape, block, tile, timing)
