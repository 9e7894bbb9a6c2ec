"""The roofline: how fast a kernel is beside what the memory and the arithmetic of its GPU allow.

S. Williams, A. Waterman, D. Patterson, Roofline: An Insightful Visual Performance Model for Multicore
Architectures, Communications of the ACM 52(4), 2009: attainable flop/s = min(peak flop/s, bandwidth *
arithmetic intensity), where the intensity is flops by bytes of DRAM traffic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Literal, get_args

from gpulab.errors import UsageError
from gpulab.problems.base import Block, Shape
from gpulab.profiling.benchmark import Timing
from gpulab.provenance import Provenance

__all__ = ["Ceiling", "Intensity", "Level", "Point", "Roofline", "ridge_point"]

Level = Literal["DRAM", "L2", "shared memory", "fp32"]
Intensity = Literal["counted", "compulsory"]

# Figures are rounded and clocks move a little: this much above a roof is no mistake yet.
SLACK = 1.02


def ridge_point(bandwidth_gb_s: float, peak_gflops: float) -> float:
    """The intensity in flop per byte at which a bandwidth's roof meets that of the arithmetic.

    Raises `UsageError` for a rate that is not positive.
    """
    return _rate(peak_gflops) / _rate(bandwidth_gb_s)


@dataclass(frozen=True)
class Ceiling:
    """One limit of a GPU: the bandwidth of a memory in GB/s (1e9 bytes), or the peak of fp32 in GFLOPS.

    benchmark: which of gpulab's own kernels measured it ("copy", "triad", "FMA", "read"); "" for a figure
    from a data sheet. clock_mhz: of the SMs, while it was measured; of a data sheet's figure None.

    Raises `UsageError` for a rate that is not positive.
    """

    level: Level
    rate: float
    provenance: Provenance
    benchmark: str = ""
    clock_mhz: float | None = None

    def __post_init__(self) -> None:
        _rate(self.rate)

    @property
    def is_memory(self) -> bool:
        return self.level != "fp32"

    @property
    def measured(self) -> bool:
        """Whether it was measured here; it is drawn solid then, and dashed otherwise."""
        return self.provenance.kind == "measured"

    @property
    def unit(self) -> str:
        return "GB/s" if self.is_memory else "GFLOPS"

    def gflops(self, intensity: float) -> float:
        """GFLOPS that it allows at this intensity (flop per byte)."""
        return self.rate * intensity if self.is_memory else self.rate

    def __str__(self) -> str:
        what = f"{self.benchmark}, " if self.benchmark else ""
        return f"{self.level} {self.rate:,.0f} {self.unit} ({what}{self.provenance.kind})"


@dataclass(frozen=True)
class Point:
    """A variant's place: operations by bytes, and operations by time.

    flops: of one launch, as the lab counts them. nbytes: what one launch moves between DRAM and the chip, by
    bytes_provenance. occupancy: resident warps by those that an SM can hold, 0 to 1; None where not known.
    bottleneck: what the performance model says bounds it; "" where not known.

    Raises `UsageError` where flops, bytes or time are not positive.
    """

    variant: str
    shape: Shape
    block: Block
    tile: Block
    flops: int
    nbytes: float
    timing: Timing
    bytes_provenance: Provenance
    occupancy: float | None = None
    bottleneck: str = ""

    def __post_init__(self) -> None:
        for name, value in (
            ("flops", self.flops),
            ("bytes", self.nbytes),
            ("milliseconds", self.timing.median_ms),
        ):
            if not (isfinite(value) and value > 0):
                raise UsageError(f"{self.variant} has no place on a roofline: {value:g} {name}.")

    @property
    def intensity(self) -> float:
        """Flop per byte."""
        return self.flops / self.nbytes

    @property
    def gflops(self) -> float:
        """By the median time."""
        return self.flops / self.timing.median_ms / 1e6

    @property
    def gb_s(self) -> float:
        """Its bytes (1e9) in a second, by the median time."""
        return self.nbytes / self.timing.median_ms / 1e6

    @property
    def provenance(self) -> Provenance:
        """Where its time comes from."""
        return self.timing.provenance


@dataclass(frozen=True)
class Roofline:
    """The ceilings of one GPU, and variants of one problem in the order of their ladder.

    gpu: its name. intensity: whether the points' bytes are those that were counted, or those that no kernel
    can avoid. notes: what is left out and why, in sentences.

    The roofs of DRAM and fp32 bound a point. Those of L2 and shared memory do not: the points' bytes are
    DRAM's.

    Raises `UsageError` where there is no ceiling of DRAM or of fp32, or intensity is neither of the two.
    """

    problem: str
    gpu: str
    intensity: Intensity
    ceilings: tuple[Ceiling, ...]
    points: tuple[Point, ...] = ()
    l2_bytes: int = 0
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        check_intensity(self.intensity)
        for level in ("DRAM", "fp32"):
            if not any(ceiling.level == level for ceiling in self.ceilings):
                raise UsageError(f"a roofline needs a ceiling of {level}, and {self.gpu} has none.")

    def best(self, level: Level) -> Ceiling | None:
        """The ceiling that kernels are held against: the best measured one, else the data sheet's."""
        found = [ceiling for ceiling in self.ceilings if ceiling.level == level]
        return max(found, key=lambda ceiling: (ceiling.measured, ceiling.rate), default=None)

    def ridges(self) -> tuple[tuple[Ceiling, float], ...]:
        """Every memory ceiling, and the intensity at which it meets the fp32 ceiling of its own kind.

        Where there is no fp32 ceiling of its kind (measured, or of the data sheet) it is the best there is.
        """
        found = []
        for memory in self.ceilings:
            if memory.is_memory:
                peaks = [c for c in self.ceilings if not c.is_memory and c.measured == memory.measured]
                peak = max(peaks, key=lambda c: c.rate, default=None) or self.best("fp32")
                assert peak is not None
                found.append((memory, ridge_point(memory.rate, peak.rate)))
        return tuple(found)

    def binding(self, point: Point) -> Ceiling:
        """The roof that a point would meet first on its way up: DRAM left of the ridge, fp32 right of it."""
        dram, fp32 = self.best("DRAM"), self.best("fp32")
        assert dram is not None
        assert fp32 is not None
        return min((dram, fp32), key=lambda ceiling: ceiling.gflops(point.intensity))

    def percent(self, point: Point) -> float:
        """100 * the point's GFLOPS by those that its binding roof allows at its intensity."""
        return 100 * point.gflops / self.binding(point).gflops(point.intensity)

    def mistake(self, point: Point) -> str:
        """Why the point cannot be where it is, in words; "" for one below its roof.

        A point is judged by the highest ceiling there is of each level: a kernel can be faster than a
        benchmark that was measured, and not faster than the GPU.
        """
        highest = [
            max((c for c in self.ceilings if c.level == level), key=lambda c: c.rate)
            for level in ("DRAM", "fp32")
        ]
        roof = min(highest, key=lambda ceiling: ceiling.gflops(point.intensity))
        allowed = roof.gflops(point.intensity)
        if point.gflops <= SLACK * allowed:
            return ""
        words = (
            f"{point.variant} lies above its roof: {_gflops(point.gflops)}, where {roof} allows "
            f"{_gflops(allowed)} at {point.intensity:.3g} flop per byte. No kernel can do that: it is a "
            "mistake in the units or in the counting"
        )
        if not roof.is_memory:
            return f"{words} of the operations."
        if point.nbytes <= self.l2_bytes:
            return f"{words} of the bytes: {point.nbytes / 2**20:.3g} MiB fit in L2 and stay there."
        return f"{words} of the bytes."

    @property
    def mistakes(self) -> tuple[str, ...]:
        """The sentences about points above their roof."""
        return tuple(words for point in self.points if (words := self.mistake(point)))

    def as_dict(self) -> dict[str, Any]:
        """As plain data for JSON."""
        return {
            "problem": self.problem,
            "gpu": self.gpu,
            "intensity": self.intensity,
            "ceilings": [
                {"level": c.level, "rate": c.rate, "unit": c.unit, "benchmark": c.benchmark or None,
                 "clock_mhz": c.clock_mhz, "provenance": c.provenance.as_dict()}
                for c in self.ceilings
            ],
            "points": [self._point_as_dict(point) for point in self.points],
            "notes": list(self.notes),
        }  # fmt: skip

    def _point_as_dict(self, point: Point) -> dict[str, Any]:
        names = ("variant", "shape", "block", "tile", "flops", "nbytes", "intensity", "gflops", "occupancy")
        return {
            **{name: getattr(point, name) for name in names},
            "time_ms": point.timing.median_ms,
            "spread_ms": point.timing.spread_ms,
            "percent": self.percent(point),
            "binding": str(self.binding(point)),
            "mistake": self.mistake(point) or None,
            "bottleneck": point.bottleneck or None,
            "provenance": point.provenance.as_dict(),
            "bytes_provenance": point.bytes_provenance.as_dict(),
        }


def check_intensity(intensity: str) -> None:
    """`UsageError` for a word that says no kind of bytes."""
    kinds: Sequence[str] = get_args(Intensity)
    if intensity not in kinds:
        raise UsageError(f"intensity is {' or '.join(map(repr, kinds))}; not {intensity!r}.")


def _gflops(number: float) -> str:
    return f"{number:,.0f} GFLOPS" if number >= 100 else f"{number:.3g} GFLOPS"


def _rate(rate: float) -> float:
    if not (isfinite(rate) and rate > 0):
        raise UsageError(f"a ceiling is a positive rate; not {rate:g}.")
    return rate
