"""One kernel at one size, block and tile: its time with and without the copies, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpulab.config import KernelConfig
from gpulab.problems.base import Block, Shape
from gpulab.profiling.benchmark import Benchmark
from gpulab.provenance import Provenance

__all__ = ["Iteration", "Point"]


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

    config: KernelConfig
    shape: Shape
    grid: Block | None = None
    timing: Benchmark | None = None
    copies: Benchmark | None = None
    occupancy: float | None = None
    bottleneck: str = ""
    words: str = ""
    why_not: str = ""
    wrong: bool = False

    @property
    def problem(self) -> str:
        """The name of the problem."""
        return self.config.problem.name

    @property
    def variant(self) -> str:
        return self.config.variant

    @property
    def block(self) -> Block:
        return self.config.block

    @property
    def tile(self) -> Block:
        return self.config.tile

    @property
    def flops(self) -> int:
        """Floating-point operations of one launch, as the lab counts them."""
        return self.config.problem.flops(self.shape)

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
        known = self.config.problem
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
