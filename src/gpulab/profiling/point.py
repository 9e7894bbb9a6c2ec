"""One kernel at one size, block and tile: its time with and without the copies, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from gpulab.cell import Cell
from gpulab.errors import UsageError
from gpulab.problems import problem as problem_named
from gpulab.problems.base import Block, Problem, Shape
from gpulab.profiling.benchmark import Timing
from gpulab.provenance import Provenance

__all__ = ["Iteration", "Point", "require_size", "with_geometry"]


@dataclass(frozen=True)
class Iteration:
    """One launch and its rates. Times in milliseconds; overall: with the copies there and back.

    gb_s: bytes that no kernel can avoid moving (1e9), by the kernel's seconds. points_s: inner points in a
    second, of a stencil only.
    """

    kernel_ms: float
    overall_ms: float | None
    kernel_gflops: float
    overall_gflops: float | None
    gb_s: float
    points_s: float | None


@dataclass(frozen=True)
class Point:
    """A kernel at one size, block and tile.

    grid: blocks, None where nothing can be launched. timing: of the kernel alone. copies: of its inputs to
    the device and its output back; None where they are not known.
    occupancy: resident warps by those that an SM can hold, 0 to 1. bottleneck: what bounds the time, where
    that is known; words: the same as a sentence.
    why_not: why there is no time, in a sentence. wrong: the reason is the kernel, whose text does not compile
    or whose values are wrong, and not what was asked for.
    """

    problem: str
    variant: str
    shape: Shape
    block: Block
    tile: Block
    grid: Block | None = None
    timing: Timing | None = None
    copies: Timing | None = None
    occupancy: float | None = None
    bottleneck: str = ""
    words: str = ""
    why_not: str = ""
    wrong: bool = False

    @property
    def flops(self) -> int:
        """Floating-point operations of one launch, as the lab counts them."""
        return problem_named(self.problem).flops(self.shape)

    @property
    def provenance(self) -> Provenance | None:
        """Where the kernel's time comes from."""
        return self.timing.provenance if self.timing else None

    @property
    def median(self) -> Iteration | None:
        """The middle one of the launches and its rates; None where none was timed."""
        return self._iteration(self.timing.median_ms) if self.timing else None

    @property
    def iterations(self) -> tuple[Iteration, ...]:
        """Every launch that was timed, in order. The copies are the same median for all of them."""
        return tuple(map(self._iteration, self.timing.samples_ms)) if self.timing else ()

    @property
    def kernel_ms(self) -> float | None:
        return self.median.kernel_ms if self.median else None

    @property
    def overall_ms(self) -> float | None:
        return self.median.overall_ms if self.median else None

    @property
    def kernel_gflops(self) -> float | None:
        return self.median.kernel_gflops if self.median else None

    @property
    def overall_gflops(self) -> float | None:
        return self.median.overall_gflops if self.median else None

    @property
    def gb_s(self) -> float | None:
        """Bytes that no kernel can avoid moving (1e9 bytes), by the kernel's seconds."""
        return self.median.gb_s if self.median else None

    def as_dict(self) -> dict[str, Any]:
        """As plain data for JSON; what is not known is None."""
        geometry = ("problem", "variant", "shape", "grid", "block", "tile", "flops")
        rates = ("kernel_ms", "overall_ms", "kernel_gflops", "overall_gflops", "gb_s", "points_s")
        return {
            **{name: getattr(self, name) for name in geometry},
            **{name: getattr(self.median, name, None) for name in rates},
            "copies_ms": self.copies.median_ms if self.copies else None,
            "occupancy": self.occupancy,
            "bottleneck": self.bottleneck or None,
            "provenance": self.timing.provenance.as_dict() if self.timing else None,
            "copies_provenance": self.copies.provenance.as_dict() if self.copies else None,
            "why_not": self.why_not or None,
        }

    def _iteration(self, kernel_ms: float) -> Iteration:
        copies_ms = self._copies_ms()
        overall_ms = None if copies_ms is None else kernel_ms + copies_ms
        known = problem_named(self.problem)
        unavoidable = known.compulsory_bytes(self.shape)
        return Iteration(
            kernel_ms,
            overall_ms,
            _per_ns(self.flops, kernel_ms),
            None if overall_ms is None else _per_ns(self.flops, overall_ms),
            _per_ns(unavoidable, kernel_ms),
            _per_ns(known.work(self.shape), kernel_ms) * 1e9 if self.problem == "stencil" else None,
        )

    def _copies_ms(self) -> float | None:
        """The copies' time where it can be added to the kernel's: both measured, or both modelled."""
        if self.copies is None or self.timing is None:
            return None
        same = self.copies.provenance.kind == self.timing.provenance.kind
        return self.copies.median_ms if same else None


def _per_ns(amount: float, ms: float) -> float:
    """1e9 of something in a second."""
    return amount / ms / 1e6 if ms > 0 else 0.0


def with_geometry(cell: Cell, block: tuple[int, ...] = (), tile: tuple[int, ...] = ()) -> Cell:
    """The cell with another block and tile in its header; numbers that are left out stay as they are.

    Raises `UsageError` for a cell of no problem, which nobody knows how to launch.
    """
    header = cell.header
    if header.problem is None or header.block is None or header.tile is None:
        raise UsageError(
            f"{cell.origin}: `{header.name}` belongs to no problem, so nobody knows how to launch it; "
            "its header must name PROBLEM.VARIANT."
        )
    filled = replace(header, block=_over(header.block, block), tile=_over(header.tile, tile))
    return replace(cell, header=filled)


def _over(here: Block, given: tuple[int, ...]) -> Block:
    x, y, z = (*given, *here[len(given) :])
    return x, y, z


def require_size(problem: Problem, variant: str, shape: Shape, block: Block, tile: Block) -> None:
    """`UsageError` for a size that a variant without guards cannot take with this block and tile."""
    units = problem.shape_multiples(variant, block, tile)
    if all(number % unit == 0 for number, unit in zip(shape, units, strict=True)):
        return
    nearest = tuple(-(-number // unit) * unit for number, unit in zip(shape, units, strict=True))
    raise UsageError(
        f"{variant} takes sizes whose {', '.join(problem.axes)} are multiples of "
        f"{', '.join(map(str, units))} with this block and tile; {problem.format_shape(shape)} is none: "
        f"take {problem.format_shape(nearest)}."
    )
