"""What an explorer draws: the points of one kernel at one size on one GPU, by block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from gpulab.exploration.search_space import Setting, blocks
from gpulab.gpus.catalogue import GpuSpec
from gpulab.problems import problem as problem_named
from gpulab.problems.base import Block
from gpulab.profiling.point import Point

__all__ = ["Curve", "Printed", "curve_of", "printed"]


@dataclass(frozen=True)
class Printed:
    """A figure of a course document: of the kernel alone where that was printed, else with the copies."""

    block: Block
    gflops: float
    words: str


@dataclass(frozen=True)
class Curve:
    """setting: where the handles stand. gpu: its name.

    points: by block, as far as they are known; checked: those whose values were looked at. beside: modelled
    points beside measured ones. printed: of the same kernel, tile, size and GPU.
    """

    setting: Setting
    gpu: str
    points: Mapping[Block, Point | None]
    checked: frozenset[Block]
    beside: Mapping[Block, Point | None]
    printed: tuple[Printed, ...] = ()

    @property
    def blocks(self) -> tuple[Block, ...]:
        """In the order of their threads."""
        return tuple(self.points)

    @property
    def now(self) -> Point | None:
        return self.points.get(self.setting.block)

    @property
    def known(self) -> list[Point]:
        return [point for point in self.points.values() if point is not None]

    @property
    def measured(self) -> bool:
        return self.setting.device.startswith("cuda")

    @cached_property
    def gb_s_by_gflops(self) -> float:
        """GB/s of bytes that nobody can avoid, for each GFLOPS: the same for all kernels of the size."""
        known = problem_named(self.setting.problem)
        return known.compulsory_bytes(self.setting.shape) / known.flops(self.setting.shape)

    @property
    def top(self) -> float:
        """The largest GFLOPS of the picture; 1 where nothing is known."""
        found = [point.kernel_gflops for point in (*self.known, *self.beside.values()) if point]
        return max([*(one for one in found if one), *(one.gflops for one in self.printed)], default=1.0)


def curve_of(
    setting: Setting,
    limits: GpuSpec,
    own: Block,
    points: Mapping[Setting, Point],
    checked: frozenset[Setting] | set[Setting],
    beside: str = "",
) -> Curve:
    """The curve through a setting.

    own: the block in the cell. beside: the simulator's name of the GPU that measured, for the model.
    """
    curve = {block: setting.at(block=block) for block in blocks(setting, limits, own)}
    modelled = {
        block: points.get(Setting(one.cell, one.shape, beside)) for block, one in curve.items() if beside
    }
    return Curve(
        setting,
        limits.name,
        {block: points.get(one) for block, one in curve.items()},
        frozenset(block for block, one in curve.items() if one in checked),
        modelled,
        printed(setting, limits.key, tuple(curve)),
    )


def printed(setting: Setting, gpu: str, among: tuple[Block, ...]) -> tuple[Printed, ...]:
    """What course documents print of this kernel, tile, size and GPU, at the blocks of the picture."""
    from gpulab.problems.published import rows
    from gpulab.profiling.published_comparison import tile_of

    found = []
    for row in rows(gpu=gpu, variant=setting.variant) if gpu else ():
        same = row.problem == setting.problem and row.shape == setting.shape
        gflops = row.kernel_gflops or row.overall_gflops
        if not same or row.block not in among or tile_of(row, setting.cell) != setting.tile or not gflops:
            continue
        kind = "kernel alone" if row.kernel_gflops else "with the copies"
        unrolled = f", k unrolled {row.k_unroll} times" if row.k_unroll > 1 else ""
        found.append(
            Printed(
                row.block, float(gflops), f"{row.label}: {gflops:g} GFLOPS, {kind}{unrolled}. {row.source}"
            )
        )
    return tuple(found)
