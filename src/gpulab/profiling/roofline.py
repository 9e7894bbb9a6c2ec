"""The roofline model: kernel performance against the memory and arithmetic ceilings of a GPU.

S. Williams, A. Waterman, D. Patterson, Roofline: An Insightful Visual Performance Model for Multicore
Architectures, Communications of the ACM 52(4), 2009: attainable flop/s = min(peak flop/s, bandwidth *
arithmetic intensity), where the intensity is flop per byte of DRAM traffic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Literal, get_args

from gpulab.errors import UsageError
from gpulab.problems.base import Block, Shape
from gpulab.profiling.benchmark import Benchmark
from gpulab.provenance import Provenance

__all__ = [
    "TENSOR_LEVELS", "Arithmetic", "Ceiling", "Intensity", "Level", "Roofline", "RooflinePoint",
    "check_intensity", "ridge_point",
]  # fmt: skip

Arithmetic = Literal[
    "fp32", "tensor fp16", "tensor fp16 to fp16", "tensor bf16", "tensor tf32", "tensor fp64"
]
Level = Literal["DRAM", "L2", "shared memory"] | Arithmetic
Intensity = Literal["counted", "compulsory"]

# The ceilings of tensor cores, by the type of their products (gpulab.gpus.limits.TENSOR_TYPES). Sums of fp16
# are in fp32 unless the name says otherwise. Operations of int8 are no floating-point operations.
TENSOR_LEVELS: dict[str, Arithmetic] = {
    "fp16_dst_fp16": "tensor fp16 to fp16",
    "fp16_dst_fp32": "tensor fp16",
    "bf16_dst_fp32": "tensor bf16",
    "tf32_dst_fp32": "tensor tf32",
    "fp64": "tensor fp64",
}

# A point may exceed its ceiling by this factor before it is reported: published figures are rounded, and a
# boost clock can be a little above the one in the data sheet.
TOLERANCE = 1.02


def ridge_point(bandwidth_gb_s: float, peak_gflops: float) -> float:
    """Return the intensity in flop per byte at which a bandwidth ceiling meets the arithmetic ceiling.

    Raises `UsageError` for a rate that is not positive.
    """
    return _positive(peak_gflops) / _positive(bandwidth_gb_s)


@dataclass(frozen=True)
class Ceiling:
    """One limit of a GPU.

    Attributes
    ----------
    level : {"DRAM", "L2", "shared memory", "fp32", "tensor fp16", "tensor tf32", ...}
        The memory, single-precision arithmetic of the CUDA cores, or tensor cores (`TENSOR_LEVELS`).
    rate : float
        Bandwidth in GB/s (1e9 bytes), or peak arithmetic rate in GFLOPS. A rate that is not
        positive raises `UsageError`.
    provenance : Provenance
        A measurement on a device, or a data sheet.
    benchmark : str
        The kernel that measured the rate ("copy", "triad", "FMA", "wmma" or "read"); "" for a published rate.
    clock_mhz : float or None
        Clock of the SMs during the measurement; None for a published rate.
    """

    level: Level
    rate: float
    provenance: Provenance
    benchmark: str = ""
    clock_mhz: float | None = None

    def __post_init__(self) -> None:
        _positive(self.rate)

    @property
    def is_memory(self) -> bool:
        return self.level in ("DRAM", "L2", "shared memory")

    @property
    def measured(self) -> bool:
        """True if the rate was measured on the device; published otherwise."""
        return self.provenance.kind == "measured"

    @property
    def unit(self) -> str:
        return "GB/s" if self.is_memory else "GFLOPS"

    def gflops(self, intensity: float) -> float:
        """Return the attainable GFLOPS at an intensity in flop per byte."""
        return self.rate * intensity if self.is_memory else self.rate

    def __str__(self) -> str:
        benchmark = f"{self.benchmark}, " if self.benchmark else ""
        origin = f"{benchmark}measured" if self.measured else "data sheet"
        return f"{self.level} {self.rate:,.0f} {self.unit} ({origin})"


@dataclass(frozen=True)
class RooflinePoint:
    """Intensity and performance of one kernel.

    Attributes
    ----------
    variant : str
        Name of the variant.
    shape, block, tile : tuple of int
        The problem's size and the launch configuration.
    flops : int
        Floating-point operations of one launch.
    nbytes : float
        Bytes that one launch moves between DRAM and the chip.
    timing : Benchmark
        Time of one launch.
    bytes_provenance : Provenance
        Origin of `nbytes`.
    occupancy : float or None
        Resident warps divided by the maximum of an SM, 0 to 1; None if unknown.
    bottleneck : str
        What bounds the kernel according to the performance model; "" if unknown.
    arithmetic : str
        The level of the ceiling of its arithmetic: "fp32", or that of tensor cores if they perform most of
        its floating-point operations.
    flops_origin : str
        Origin of `flops`: the definition of a problem, or a count.

    `flops`, `nbytes` and the time must be positive; otherwise `UsageError` is raised.
    """

    variant: str
    shape: Shape
    block: Block
    tile: Block
    flops: int
    nbytes: float
    timing: Benchmark
    bytes_provenance: Provenance
    occupancy: float | None = None
    bottleneck: str = ""
    arithmetic: Arithmetic = "fp32"
    flops_origin: str = "as the lab defines them"

    def __post_init__(self) -> None:
        for name, value in (("flops", self.flops), ("bytes", self.nbytes), ("ms", self.timing.median_ms)):
            if not (isfinite(value) and value > 0):
                raise UsageError(
                    f"{self.variant} cannot be drawn on a roofline: {value:g} {name} is not positive."
                )

    @property
    def intensity(self) -> float:
        """Arithmetic intensity in flop per byte."""
        return self.flops / self.nbytes

    @property
    def gflops(self) -> float:
        """Performance in GFLOPS, from the median time."""
        return self.flops / self.timing.median_ms / 1e6

    @property
    def gb_s(self) -> float:
        """DRAM throughput in GB/s (1e9 bytes), from the median time."""
        return self.nbytes / self.timing.median_ms / 1e6

    @property
    def provenance(self) -> Provenance:
        """Origin of the time."""
        return self.timing.provenance


@dataclass(frozen=True)
class Roofline:
    """The ceilings of one GPU and the kernels of one problem, in the order of their versions.

    The ceilings of DRAM and of the point's arithmetic (fp32 or tensor cores) bound a point. Those of L2 and
    shared memory do not, because the bytes of a point are DRAM traffic.

    Attributes
    ----------
    problem : str
        Name of the problem; "" for ceilings without kernels.
    gpu : str
        Name of the GPU.
    intensity : {"counted", "compulsory"}
        The bytes of the points: DRAM traffic counted by the simulator, or the bytes that no kernel can avoid.
    ceilings : tuple of Ceiling
        At least one of DRAM, one of fp32 and one of the arithmetic of each point; otherwise `UsageError` is
        raised.
    points : tuple of RooflinePoint
        The kernels.
    l2_bytes : int
        Capacity of the L2 cache; 0 if the GPU has none.
    notes : tuple of str
        One sentence for each kernel that was left out.
    """

    problem: str
    gpu: str
    intensity: Intensity
    ceilings: tuple[Ceiling, ...]
    points: tuple[RooflinePoint, ...] = ()
    l2_bytes: int = 0
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        check_intensity(self.intensity)
        for level in ("DRAM", "fp32", *(point.arithmetic for point in self.points)):
            if not any(ceiling.level == level for ceiling in self.ceilings):
                raise UsageError(f"a roofline needs a ceiling of {level}; {self.gpu} has none.")

    def best(self, level: Level) -> Ceiling | None:
        """Return the reference ceiling of a level: the highest measured one, else the highest published."""
        candidates = [ceiling for ceiling in self.ceilings if ceiling.level == level]
        return max(candidates, key=lambda ceiling: (ceiling.measured, ceiling.rate), default=None)

    def ridges(self) -> tuple[tuple[Ceiling, float], ...]:
        """Return each memory ceiling with its ridge point in flop per byte.

        The ridge is where the ceiling meets the highest ceiling of arithmetic of the same kind (measured or
        published), or the best one if there is none of that kind.
        """
        ridges = []
        for memory in self.ceilings:
            if memory.is_memory:
                peaks = [c for c in self.ceilings if not c.is_memory and c.measured == memory.measured]
                peak = max(peaks, key=lambda c: c.rate, default=None) or self.highest_arithmetic
                ridges.append((memory, ridge_point(memory.rate, peak.rate)))
        return tuple(ridges)

    @property
    def highest_arithmetic(self) -> Ceiling:
        """The highest of the reference ceilings of arithmetic."""
        levels = {ceiling.level for ceiling in self.ceilings if not ceiling.is_memory}
        return max((best for level in levels if (best := self.best(level))), key=lambda c: c.rate)

    def binding(self, point: RooflinePoint) -> Ceiling:
        """Return the ceiling that bounds a point: DRAM left of the ridge, its arithmetic right of it."""
        dram, arithmetic = self.best("DRAM"), self.best(point.arithmetic)
        assert dram is not None
        assert arithmetic is not None
        return min((dram, arithmetic), key=lambda ceiling: ceiling.gflops(point.intensity))

    def percent(self, point: RooflinePoint) -> float:
        """Return the point's GFLOPS in percent of the GFLOPS that its binding ceiling allows."""
        return 100 * point.gflops / self.binding(point).gflops(point.intensity)

    def mistake(self, point: RooflinePoint) -> str:
        """Return a sentence about a point above its ceiling; "" for one below it.

        The highest ceiling of each level is decisive: a kernel can be faster than a measured benchmark, but
        not faster than the GPU.
        """
        highest = [
            max((c for c in self.ceilings if c.level == level), key=lambda c: c.rate)
            for level in ("DRAM", point.arithmetic)
        ]
        ceiling = min(highest, key=lambda ceiling: ceiling.gflops(point.intensity))
        attainable = ceiling.gflops(point.intensity)
        if point.gflops <= TOLERANCE * attainable:
            return ""

        measured = f"{point.variant} lies above its ceiling: {_gflops(point.gflops)}"
        limit = f"{ceiling} allows {_gflops(attainable)} at {point.intensity:.3g} flop per byte"
        error = "the operation count" if not ceiling.is_memory else "the byte count"
        if ceiling.is_memory and point.nbytes <= self.l2_bytes:
            error += f", because {point.nbytes / 2**20:.3g} MiB fit in L2 and need not leave it"
        return f"{measured}, but {limit}. This is impossible; check the units or {error}."

    @property
    def mistakes(self) -> tuple[str, ...]:
        """The sentences about points above their ceiling."""
        return tuple(sentence for point in self.points if (sentence := self.mistake(point)))


def check_intensity(intensity: str) -> None:
    """Raise `UsageError` unless `intensity` is "counted" or "compulsory"."""
    kinds: Sequence[str] = get_args(Intensity)
    if intensity not in kinds:
        raise UsageError(f"intensity must be {' or '.join(map(repr, kinds))}, not {intensity!r}.")


def _gflops(number: float) -> str:
    return f"{number:,.0f} GFLOPS" if number >= 100 else f"{number:.3g} GFLOPS"


def _positive(rate: float) -> float:
    if not (isfinite(rate) and rate > 0):
        raise UsageError(f"the rate of a ceiling must be positive, not {rate:g}.")
    return rate
