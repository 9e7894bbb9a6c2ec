"""The speed-up table: the time of each timed variant, compared with the previous step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from gpulab.config import KernelConfig, LaunchConfig
from gpulab.devices.base import Device, Kernel
from gpulab.devices.device_process import run_in_process
from gpulab.devices.streams import Launch
from gpulab.errors import LaunchError, WrongResult
from gpulab.gpus.catalogue import GpuSpec
from gpulab.gpus.occupancy import occupancy
from gpulab.model.profile import profile_variant
from gpulab.problems import problem as problem_named
from gpulab.problems.base import Block, Problem, Shape
from gpulab.problems.baselines import ShippedBaseline, shipped_baseline
from gpulab.profiling.benchmark import Benchmark, SamplingOptions, measure_launches, modelled, sample
from gpulab.profiling.checked_launches import CheckedLaunches
from gpulab.profiling.residency import Residency, compiler_name, residency
from gpulab.provenance import Provenance
from gpulab.verification.fault_place import with_place
from gpulab.verification.inputs import place_arguments

if TYPE_CHECKING:
    from gpulab.devices.base import RecordableKernel

__all__ = [
    "SpeedupRow",
    "SpeedupTable",
    "VariantTiming",
    "baseline_residency",
    "baseline_timing",
    "time_variant",
]


@dataclass(frozen=True)
class VariantTiming:
    """The time of one variant at one size, block and tile; its residency if it is known."""

    config: KernelConfig
    shape: Shape
    timing: Benchmark
    residency: Residency | None = None

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
            "residency": asdict(self.residency) if self.residency else None,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> VariantTiming:
        """Return the timing that `as_dict` described."""
        block, tile = tuple(data["block"]), tuple(data["tile"])
        config = KernelConfig(problem_named(data["problem"]), data["variant"], block, tile)
        resident = Residency(**data["residency"]) if data.get("residency") else None
        return cls(config, tuple(data["shape"]), Benchmark.from_dict(data["timing"]), resident)

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
    """One row of the speed-up table.

    Attributes
    ----------
    variant, changes : str
        The step, and what it changes; of the baseline, that it is one.
    before : str or None
        The variant that it is compared with; None for the first step, and if no earlier step was timed at the
        same size on the same device.
    before_ms, after_ms : float
        The times of `before` and of `variant`, in milliseconds.
    speedup : float or None
        ``before_ms / after_ms``.
    gflops : float
        The problem's floating-point operations divided by `after_ms`, in GFLOPS.
    shape, block, tile : tuple of int
        Size and geometry.
    provenance : Provenance
        The provenance of `after_ms`.
    residency : Residency or None
        Registers, resident blocks and waves of the launch.
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
    residency: Residency | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)


@dataclass
class SpeedupTable:
    """The timed variants of one problem, in the order of its steps.

    `add` replaces an earlier time of the same variant. `baseline` stands in for a variant without a time.
    """

    problem: str
    timings: dict[str, VariantTiming] = field(default_factory=dict)
    baseline: VariantTiming | None = None

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
        """Return the rows as plain data for JSON."""
        return [row.as_dict() for row in self]

    def _rows(self) -> Iterator[SpeedupRow]:
        problem = problem_named(self.problem)
        for name, variant in problem.variants.items():
            timed = self._timing(name)
            if timed is None:
                continue
            before = self._before(problem, name)
            after_ms = timed.timing.median_ms
            before_ms = before.timing.median_ms if before else None
            yield SpeedupRow(
                variant=name,
                changes=timed.timing.provenance.detail if timed is self.baseline else variant.changes,
                before=before.variant if before else None,
                before_ms=before_ms,
                after_ms=after_ms,
                speedup=before_ms / after_ms if before_ms is not None and after_ms > 0 else None,
                gflops=problem.flops(timed.shape) / after_ms / 1e6 if after_ms > 0 else 0.0,
                shape=timed.shape,
                block=timed.block,
                tile=timed.tile,
                provenance=timed.timing.provenance,
                residency=timed.residency,
            )

    def _before(self, problem: Problem, name: str) -> VariantTiming | None:
        """Return the time of the nearest earlier step that is comparable; None if there is none."""
        timed = self._timing(name)
        assert timed is not None
        for candidate in _earlier_steps(problem, name):
            earlier = self._timing(candidate)
            if (
                earlier is not None
                and earlier is not timed
                and earlier.shape == timed.shape
                and earlier.timing.provenance.comparable(timed.timing.provenance)
            ):
                return earlier
        return None

    def _timing(self, name: str) -> VariantTiming | None:
        """Return the time of a variant, or of the baseline if it is this variant."""
        shipped = self.baseline if self.baseline and self.baseline.variant == name else None
        return self.timings.get(name, shipped)


def _earlier_steps(problem: Problem, name: str) -> Iterator[str]:
    """Yield the step that a variant improves on, the step before that one, and so on to the first one."""
    baseline = problem.variants[name].baseline
    while baseline:
        yield baseline
        baseline = problem.variants[baseline].baseline


def baseline_timing(problem: Problem, spec: GpuSpec) -> VariantTiming | None:
    """Return the modelled time of the baseline that ships with gpulab; None if it has none for this GPU."""
    baseline = shipped_baseline(problem.name)
    time = baseline.times.get(spec.key) if baseline else None
    if baseline is None or time is None:
        return None
    config = KernelConfig(problem, baseline.variant, baseline.block, baseline.tile)
    provenance = Provenance("modelled", spec.name, baseline.label)
    timing = Benchmark.from_samples([time.time_ms], provenance)
    return VariantTiming(config, baseline.shape, timing, baseline_residency(baseline, spec))


def baseline_residency(baseline: ShippedBaseline, spec: GpuSpec) -> Residency | None:
    """Return the residency of a shipped baseline; None for compute capability 1.x, whose registers differ."""
    if spec.compute_capability < (2, 0):
        return None
    config = KernelConfig(problem_named(baseline.problem), baseline.variant, baseline.block, baseline.tile)
    blocks = prod(config.at(baseline.shape, spec).grid)
    occupied = occupancy(spec, prod(baseline.block), baseline.registers, 0)
    return residency(spec, occupied, blocks, baseline.registers, baseline.compiler)


def time_variant(
    kernel: Kernel,
    config: KernelConfig,
    *,
    device: Device | None = None,
    shape: Shape | None = None,
    n_repeat: int = 5,
    limit_s: float = 5.0,
    rng: np.random.Generator | None = None,
) -> VariantTiming:
    """Time a kernel of a problem.

    On a GPU the time is measured, in another process (see `gpulab.benchmark`). On the simulator it is
    modelled for the simulated GPU, as one sample.

    Parameters
    ----------
    kernel : Kernel
        The kernel, compiled with the macros of `config`.
    config : KernelConfig
        Problem, variant, block and tile, as `gpulab.kernel_cell(name).config` returns them.
    device : Device, optional
        The device that runs the kernel; by default `kernel.device`.
    shape : tuple of int, optional
        The size of the problem; by default the problem's timing size.
    n_repeat : int
        Launches to time.
    limit_s : float
        Stop early, after at least one sample, once the samples add up to this many seconds.
    rng : numpy.random.Generator, optional
        Draws the inputs. On a GPU they then change with every launch, and the values of every launch are
        checked. By default the inputs are the same in each call.

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
    WrongResult
        If a launch on inputs from `rng` computes wrong values.

    Examples
    --------
    >>> import gpulab
    >>> from gpulab.config import KernelConfig, LaunchConfig
    >>> source = '''
    ... extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p) {
    ...     int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
    ...     float sum = 0;
    ...     for (int k = 0; k < p; ++k) sum += b[i + n * k] * c[k + p * j];
    ...     a[i + n * j] = sum;
    ... }'''
    >>> kernel = gpulab.device("sim:h200").compile(source, "mmkernel")
    >>> config = KernelConfig(gpulab.problem("matmul"), "K1", block=(64, 1, 1), tile=(1, 1, 1))
    >>> timed = gpulab.time_variant(kernel, config, shape=(256, 64, 64))
    >>> timed.timing.provenance.kind
    'modelled'
    """
    device = device or kernel.device
    launch = config.at(shape or config.timing_shape, device.spec)
    blocks, compiler = prod(launch.grid), compiler_name(kernel.program.arch)
    if not device.measures_time and kernel.program.ptx:
        seed = 0 if rng is None else int(rng.integers(1 << 63))
        profile = profile_variant(kernel, config, device=device, shape=launch.shape, seed=seed)
        resident = residency(device.spec, profile.occupancy, blocks, profile.registers, compiler)
        return VariantTiming(config, launch.shape, modelled(profile), resident)

    try:
        timing, mismatch = run_in_process(device, _measured, kernel, launch, device, n_repeat, limit_s, rng)
    except LaunchError as fault:

        def repeat(simulated: RecordableKernel) -> None:
            simulated(launch.grid, launch.block, _arguments(launch, simulated.device), launch.shared_mem)

        raise with_place(fault, kernel, repeat) from None
    if mismatch:
        raise WrongResult(f"{config.name} is not correct.\n{mismatch}")
    used = kernel.resources
    occupied = occupancy(
        device.spec, prod(launch.block), used.registers, used.shared_bytes + launch.shared_mem
    )
    resident = residency(device.spec, occupied, blocks, used.registers, compiler)
    return VariantTiming(config, launch.shape, timing, resident)


def _measured(
    kernel: Kernel,
    launch: LaunchConfig,
    device: Device,
    n_repeat: int,
    limit_s: float,
    rng: np.random.Generator | None,
) -> tuple[Benchmark, str]:
    """Time a launch in this process; return also a sentence about wrong values, "" if there are none."""
    detail = f"median at {launch.config.problem.format_shape(launch.shape)}"
    if rng is not None:
        checked = CheckedLaunches(device, launch, rng)
        (samples,) = sample([partial(checked.time, kernel)], n_repeat=n_repeat, limit_s=limit_s)
        return Benchmark.from_samples(samples, device.timing_provenance(detail)), checked.mismatch

    options = SamplingOptions(n_repeat=n_repeat, limit_s=limit_s, detail=detail)
    arguments = _arguments(launch, device)
    measured = Launch(kernel, launch.grid, launch.block, arguments, launch.shared_mem)
    return measure_launches(measured, options), ""


def _arguments(launch: LaunchConfig, device: Device) -> list[Any]:
    """Return arguments on a device. The values do not influence the time, as long as they are numbers."""
    inputs = launch.config.problem.arguments(launch.shape, np.random.default_rng(0))
    return list(place_arguments(device, inputs).values())
