"""Points of a sweep: a kernel at one size, block and tile, with its times and rates."""

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
    """The time of one launch and its rates.

    Attributes
    ----------
    kernel_ms : float
        The kernel's time in milliseconds.
    overall_ms : float or None
        The same with the copies to and from the device; None if the time of the copies is unknown.
    kernel_gflops, overall_gflops : float or None
        The problem's operations divided by these times, in GFLOPS; None if it declares no operations.
    gb_s : float
        The compulsory bytes divided by the kernel's time, in GB/s (1e9 bytes).
    points_s : float or None
        Units of the problem's work per second; None unless memory bounds every kernel of the problem.
    """

    kernel_ms: float
    overall_ms: float | None
    kernel_gflops: float | None
    overall_gflops: float | None
    gb_s: float
    points_s: float | None


@dataclass(frozen=True)
class Point:
    """A kernel at one size, block and tile.

    Attributes
    ----------
    config : KernelConfig
        Problem, variant, block and tile.
    shape : tuple of int
        The problem's size.
    grid : tuple of int or None
        Blocks of the launch; None if it is not possible.
    timing : Benchmark or None
        The kernel's time.
    copies : Benchmark or None
        The time of copying the inputs to the device and the output back.
    occupancy : float or None
        Resident warps divided by the most that an SM can hold, from 0 to 1.
    bottleneck, explanation : str
        The modelled bottleneck, and a sentence about it.
    error : str
        The reason why there is no time; "" if there is one.
    wrong : bool
        True if the kernel is the reason: it does not compile, faults or computes wrong values.
    """

    config: KernelConfig
    shape: Shape
    grid: Block | None = None
    timing: Benchmark | None = None
    copies: Benchmark | None = None
    occupancy: float | None = None
    bottleneck: str = ""
    explanation: str = ""
    error: str = ""
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
        """Floating-point operations of one launch, as the problem counts them."""
        return self.config.problem.flops(self.shape)

    @property
    def provenance(self) -> Provenance | None:
        """The provenance of the kernel's time."""
        return self.timing.provenance if self.timing else None

    @property
    def median(self) -> Iteration | None:
        """The median time and its rates; None without a time."""
        return self._iteration(self.timing.median_ms) if self.timing else None

    @property
    def iterations(self) -> tuple[Iteration, ...]:
        """Every timed launch, in order; the median time of the copies is added to each."""
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
        """The compulsory bytes divided by the kernel's time, in GB/s (1e9 bytes)."""
        return self.median.gb_s if self.median else None

    @property
    def rate(self) -> float | None:
        """The rate by which launches are compared: GFLOPS, or GB/s if the problem declares no operations."""
        return self.kernel_gflops if self.flops else self.gb_s

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; unknown values are None."""
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
            "why_not": self.error or None,
        }

    def _iteration(self, kernel_ms: float) -> Iteration:
        copies_ms = self._copies_ms()
        overall_ms = None if copies_ms is None else kernel_ms + copies_ms
        problem = self.config.problem
        compulsory = problem.compulsory_bytes(self.shape)
        return Iteration(
            kernel_ms,
            overall_ms,
            _per_ns(self.flops, kernel_ms) if self.flops else None,
            _per_ns(self.flops, overall_ms) if self.flops and overall_ms is not None else None,
            _per_ns(compulsory, kernel_ms),
            _per_ns(problem.work(self.shape), kernel_ms) * 1e9 if problem.memory_bound else None,
        )

    def _copies_ms(self) -> float | None:
        """Return the time of the copies if it can be added: both measured, or both modelled."""
        if self.copies is None or self.timing is None:
            return None
        comparable = self.copies.provenance.kind == self.timing.provenance.kind
        return self.copies.median_ms if comparable else None


def _per_ns(amount: float, ms: float) -> float:
    """Return a rate in 1e9 per second, from an amount and milliseconds."""
    return amount / ms / 1e6 if ms > 0 else 0.0
