"""Times of all versions of a problem's kernel in this session, modelled on several GPUs and measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from gpulab.errors import GpulabError
from gpulab.gpus.catalogue import GpuSpec
from gpulab.model.profile import profile_variant
from gpulab.problems.base import Block, Problem, Shape
from gpulab.problems.baselines import shipped_baseline
from gpulab.profiling.benchmark import Benchmark
from gpulab.profiling.residency import Residency, compiler_name, residency
from gpulab.profiling.speedup import VariantTiming, baseline_residency, time_variant
from gpulab.provenance import Provenance
from gpulab.session import correct_kernel

__all__ = ["VersionTime", "baseline_time", "measured_versions", "times_of_other_gpus", "version_times"]


@dataclass(frozen=True)
class ModelledTime:
    """The modelled time of one version on one GPU."""

    time_ms: float
    bottleneck: str
    provenance: Provenance


@dataclass(frozen=True)
class VersionTime:
    """One version on one GPU: its times, or the reason why there is no modelled one."""

    gpu: str
    variant: str
    block: Block
    shape: Shape
    modelled: ModelledTime | None = None
    residency: Residency | None = None
    measured: Benchmark | None = None
    error: str = ""

    @property
    def error_percent(self) -> float | None:
        """The error of the modelled time, in percent of the measured one."""
        if self.modelled is None or self.measured is None:
            return None
        return 100 * (self.modelled.time_ms / self.measured.median_ms - 1)

    @property
    def time_ms(self) -> float | None:
        """The measured time if there is one, else the modelled one."""
        if self.measured is not None:
            return self.measured.median_ms
        return self.modelled.time_ms if self.modelled else None


def measured_versions(problem: Problem, shape: Shape | None) -> dict[str, tuple[GpuSpec, VariantTiming]]:
    """Time the session's kernels on the GPU for which they were compiled; empty on the simulator."""
    timings = {}
    for variant in problem.variants:
        found = correct_kernel(problem, variant)
        if found is None:
            continue
        kernel, config = found[0], found[1].config
        if kernel.device.measures_time:
            timed = time_variant(kernel, config, shape=shape or config.timing_shape)
            timings[variant] = kernel.device.spec, timed
    return timings


def version_times(
    problem: Problem,
    spec: GpuSpec,
    shape: Shape | None,
    measured: Mapping[str, tuple[GpuSpec, VariantTiming]],
) -> Iterator[VersionTime]:
    """Yield the times of the session's kernels on a GPU."""
    for variant in problem.variants:
        if row := _version_time(problem, variant, spec, shape, measured):
            yield row


def _version_time(
    problem: Problem,
    variant: str,
    spec: GpuSpec,
    shape: Shape | None,
    measured: Mapping[str, tuple[GpuSpec, VariantTiming]],
) -> VersionTime | None:
    """Model the session's kernel of a variant on a GPU; None if there is no correct one."""
    found = correct_kernel(problem, variant)
    if found is None:
        return None
    kernel, config = found[0], found[1].config
    shape = shape or config.timing_shape
    timed_on, timed = measured.get(variant, (None, None))
    timing = timed.timing if timed and timed_on and timed_on.key == spec.key else None
    try:
        profile = profile_variant(kernel, config, device=kernel.device, shape=shape, gpu=spec.key)
    except GpulabError as error:  # the GPU refuses the launch, or the model does not cover the kernel
        return VersionTime(spec.name, variant, config.block, shape, measured=timing, error=str(error))

    modelled = ModelledTime(profile.time_ms, profile.bottleneck, profile.provenance)
    blocks = prod(config.at(shape, spec).grid)
    compiler = compiler_name(kernel.program.arch)
    resident = residency(spec, profile.occupancy, blocks, profile.registers, compiler)
    return VersionTime(spec.name, variant, config.block, shape, modelled, resident, timing)


def times_of_other_gpus(
    measured: Mapping[str, tuple[GpuSpec, VariantTiming]], shown: set[str]
) -> Iterator[VersionTime]:
    """Yield the measured times on a GPU for which no times are modelled."""
    for variant, (spec, timed) in measured.items():
        if spec.name not in shown:
            yield VersionTime(
                spec.name, variant, timed.block, timed.shape, None, timed.residency, timed.timing
            )


def baseline_time(problem: Problem, times: Sequence[VersionTime], spec: GpuSpec) -> VersionTime | None:
    """Return the shipped baseline, if it has the size of the other times and none of their versions."""
    baseline = shipped_baseline(problem.name)
    time = baseline.times.get(spec.key) if baseline else None
    if (
        baseline is None
        or time is None
        or baseline.variant in {time.variant for time in times}
        or {baseline.shape} != {time.shape for time in times}
    ):
        return None
    modelled = ModelledTime(time.time_ms, time.bottleneck, Provenance("modelled", spec.name, baseline.label))
    name, resident = f"{baseline.variant} (baseline)", baseline_residency(baseline, spec)
    return VersionTime(spec.name, name, baseline.block, baseline.shape, modelled, resident)
