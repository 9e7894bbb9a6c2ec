"""The data that an explorer draws: one kernel at one size on one GPU, by block."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from gpulab.exploration.search_space import Candidate, blocks
from gpulab.gpus.catalogue import GpuSpec
from gpulab.problems.base import Block
from gpulab.profiling.point import Point
from gpulab.profiling.speedup import baseline_timing

__all__ = ["Curve", "PublishedFigure", "curve_of", "published_figures"]


@dataclass(frozen=True)
class PublishedFigure:
    """A figure of a course document: of the kernel alone if it was published, else with the copies.

    rate: in the unit of the curve.
    """

    block: Block
    rate: float
    source: str


@dataclass(frozen=True)
class Curve:
    """The points of all blocks.

    Attributes
    ----------
    candidate : Candidate
        The selected candidate.
    gpu : str
        Name of the GPU.
    points : mapping of Block to Point or None
        The points by block, in ascending order of threads; None if not timed yet.
    checked : frozenset of Block
        Blocks with which the values were verified.
    modelled : mapping of Block to Point or None
        Modelled points, if `points` are measured.
    published : tuple of PublishedFigure
        Published figures of the same kernel, tile, size and GPU.
    baseline : PublishedFigure or None
        The baseline that ships with gpulab, at the same size and GPU; None for a curve of the same kernel.
    """

    candidate: Candidate
    gpu: str
    points: Mapping[Block, Point | None]
    checked: frozenset[Block]
    modelled: Mapping[Block, Point | None]
    published: tuple[PublishedFigure, ...] = ()
    baseline: PublishedFigure | None = None

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(self.points)

    @property
    def selected(self) -> Point | None:
        """The point of the selected candidate."""
        return self.points.get(self.candidate.block)

    @property
    def timed(self) -> list[Point]:
        """The points so far, with those that have no time."""
        return [point for point in self.points.values() if point is not None]

    @property
    def origin(self) -> str:
        return "modelled" if self.candidate.is_modelled else "measured"

    @cached_property
    def unit(self) -> str:
        """The unit of the rates: GFLOPS, or GB/s if the problem declares no operations."""
        return "GFLOPS" if self.candidate.config.problem.flops(self.candidate.shape) else "GB/s"

    @property
    def has_two_axes(self) -> bool:
        """True if GB/s are a second axis, and not that of the rates."""
        return self.unit != "GB/s"

    @cached_property
    def gb_s_per_rate(self) -> float:
        """Ratio of GB/s to the rates of the curve, which is the same for all kernels of the size."""
        problem, shape = self.candidate.config.problem, self.candidate.shape
        return problem.compulsory_bytes(shape) / problem.flops(shape) if problem.flops(shape) else 1.0

    @property
    def top_rate(self) -> float:
        """The largest rate of the picture; 1 if there are none."""
        points = [point.rate for point in (*self.timed, *self.modelled.values()) if point]
        published = [figure.rate for figure in (*self.published, self.baseline) if figure]
        return max([rate for rate in (*points, *published) if rate], default=1.0)


def curve_of(
    candidate: Candidate,
    spec: GpuSpec,
    cell_block: Block,
    points: Mapping[Candidate, Point],
    checked: Collection[Candidate],
    model_device: str = "",
) -> Curve:
    """Return the curve through a candidate.

    cell_block: the block in the cell's header. model_device: the simulator of a GPU that measures, whose
    points are drawn too.
    """
    curve = {block: candidate.at(block=block) for block in blocks(candidate, spec, cell_block)}
    modelled = {block: replace(each, device=model_device) for block, each in curve.items() if model_device}
    return Curve(
        candidate,
        spec.name,
        {block: points.get(each) for block, each in curve.items()},
        frozenset(block for block, each in curve.items() if each in checked),
        {block: points.get(each) for block, each in modelled.items()},
        published_figures(candidate, spec.key, tuple(curve)),
        baseline_figure(candidate, spec, tuple(curve)),
    )


def baseline_figure(candidate: Candidate, spec: GpuSpec, among: tuple[Block, ...]) -> PublishedFigure | None:
    """Return the baseline that ships with gpulab, if it is of this size and GPU and of another kernel."""
    config = candidate.config
    timed = baseline_timing(config.problem, spec)
    if timed is None or timed.variant == config.variant:
        return None
    if timed.shape != candidate.shape or timed.block not in among:
        return None
    problem = config.problem
    amount = problem.flops(timed.shape) or problem.compulsory_bytes(timed.shape)
    rate = amount / timed.timing.median_ms / 1e6
    return PublishedFigure(timed.block, rate, f"{timed.variant}: {timed.timing.provenance.detail}")


def published_figures(
    candidate: Candidate, gpu: str, among: tuple[Block, ...]
) -> tuple[PublishedFigure, ...]:
    """Return what course documents print of this kernel, tile, size and GPU, for these blocks."""
    from gpulab.problems.published import rows
    from gpulab.profiling.published_comparison import tile_of

    config, figures = candidate.config, []
    for row in rows(gpu=gpu, variant=config.variant) if gpu else ():
        gflops = row.kernel_gflops or row.overall_gflops
        same_size = (row.problem, row.shape) == (config.problem.name, candidate.shape)
        if (
            not same_size
            or row.block is None
            or row.block not in among
            or tile_of(row, candidate.cell) != config.tile
            or not gflops
        ):
            continue
        timed = "kernel alone" if row.kernel_gflops else "with the copies"
        unrolled = f", k unrolled {row.k_unroll} times" if row.k_unroll > 1 else ""
        source = f"{row.label}: {gflops:g} GFLOPS, {timed}{unrolled}. {row.source}"
        figures.append(PublishedFigure(row.block, float(gflops), source))
    return tuple(figures)
