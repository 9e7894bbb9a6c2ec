"""Construction of a roofline: times and DRAM traffic of a problem's kernels, and the ceilings of a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from gpulab.config import KernelConfig
from gpulab.devices.base import Device, Dim3, Kernel
from gpulab.devices.launch_limits import dim3
from gpulab.errors import GpulabError, UsageError
from gpulab.gpus.catalogue import GpuSpec
from gpulab.gpus.catalogue import gpu as gpu_named
from gpulab.model.profile import Profile, profile_launch, profile_variant
from gpulab.problems.base import Problem, Shape
from gpulab.problems.baselines import shipped_baseline
from gpulab.profiling.benchmark import Benchmark, benchmark, modelled
from gpulab.profiling.ceilings import measured_ceilings, published_ceilings
from gpulab.profiling.roofline import (
    TENSOR_LEVELS,
    Arithmetic,
    Intensity,
    Roofline,
    RooflinePoint,
    check_intensity,
)
from gpulab.profiling.speedup import time_variant
from gpulab.provenance import Provenance

__all__ = ["KernelLaunch", "KernelVersion", "ReportProgress", "baseline_point", "roofline_of"]

ReportProgress = Callable[[int, int, str], None]
"""Called with the steps done, the number of steps, and the name of the next one."""


@dataclass(frozen=True)
class KernelVersion:
    """A correct kernel of a problem and its launch configuration."""

    config: KernelConfig
    kernel: Kernel


@dataclass(frozen=True)
class KernelLaunch:
    """A launch of any kernel, with the name of its point."""

    name: str
    kernel: Kernel
    grid: Dim3
    block: Dim3
    args: Sequence[Any]


def roofline_of(
    problem: Problem | None,
    versions: Sequence[KernelVersion],
    launches: Sequence[KernelLaunch] = (),
    *,
    device: Device,
    gpu: str | None = None,
    shape: Shape | None = None,
    intensity: str = "counted",
    notes: Sequence[str] = (),
    progress: ReportProgress | None = None,
) -> Roofline:
    """Time kernels, count their bytes, and place them under the ceilings of a GPU.

    On a CUDA device, times and ceilings are measured; the ceilings of the data sheet are added. On the
    simulator, or for a catalogue GPU that is not installed, times are modelled and all ceilings are
    published. Bytes are counted on the simulator in either case.

    Parameters
    ----------
    problem : Problem or None
        The problem of the versions; None if there are none.
    versions : sequence of KernelVersion
        The kernels of the problem, in the order of their versions.
    launches : sequence of KernelLaunch
        Launches of other kernels. Their operations are counted.
    device : Device
        The session's device.
    gpu : str, optional
        Key of a catalogue GPU; the device's own GPU if omitted.
    shape : tuple of int, optional
        Size of the problem; its timing size if omitted.
    intensity : {"counted", "compulsory"}
        The bytes that the intensity is computed from.
    notes : sequence of str
        Sentences to keep with the roofline.
    progress : callable, optional
        Receives each step.

    Returns
    -------
    Roofline
        A kernel that cannot be timed is left out, and a note gives the reason.

    Raises
    ------
    UsageError
        If the catalogue has no such GPU, `intensity` is unknown, or launches are to be modelled for another
        GPU.
    """
    check_intensity(intensity)
    if launches and gpu is not None:
        raise UsageError("launches are drawn for the GPU of the session; leave out `gpu`.")
    if problem is not None and not problem.flops(problem.timing_size):
        raise UsageError(
            f"a roofline shows floating-point operations, and {problem.name} declares none. The "
            "sliders show its GB/s."
        )
    spec: GpuSpec = device.spec if gpu is None else gpu_named(gpu)
    measures = device.measures_time and (gpu is None or bool(spec.key and spec.key == device.spec.key))
    report = progress or (lambda *_: None)
    modelled_gpu = None if measures else gpu
    steps: list[tuple[str, Callable[[], RooflinePoint]]] = [
        (v.config.variant, partial(_version_point, v, device, modelled_gpu, spec, shape, intensity))
        for v in versions
    ]
    steps += [(launch.name, partial(_launch_point, launch, device, spec, intensity)) for launch in launches]
    total = len(steps) + measures

    points, all_notes = [], list(notes)
    for number, (name, point) in enumerate(steps):
        report(number, total, name)
        try:
            points.append(point())
        except GpulabError as error:
            all_notes.append(f"{name} is left out: {str(error).splitlines()[0]}")

    tensor_types = [kind for kind, level in TENSOR_LEVELS.items() if level in {p.arithmetic for p in points}]
    ceilings = published_ceilings(spec, tensor_types)
    if measures:
        report(total - 1, total, "ceilings")
        ceilings = (*measured_ceilings(device, tensor_types), *ceilings)

    return Roofline(
        problem.name if problem else "",
        spec.name,
        cast("Intensity", intensity),
        ceilings,
        tuple(points),
        spec.l2_bytes,
        tuple(all_notes),
    )


def baseline_point(
    problem: Problem, spec: GpuSpec, shape: Shape | None, intensity: str
) -> RooflinePoint | None:
    """Return the baseline that ships with gpulab; None if it has none for this GPU and size."""
    baseline = shipped_baseline(problem.name)
    time = baseline.times.get(spec.key) if baseline else None
    if baseline is None or time is None or shape not in (None, baseline.shape):
        return None
    counted = intensity == "counted" and time.dram_bytes > 0
    return RooflinePoint(
        f"{baseline.variant} (baseline)",
        baseline.shape,
        baseline.block,
        baseline.tile,
        problem.flops(baseline.shape),
        time.dram_bytes if counted else problem.compulsory_bytes(baseline.shape),
        Benchmark.from_samples([time.time_ms], Provenance("modelled", spec.name, baseline.label)),
        Provenance("counted", spec.name, baseline.label),
        time.occupancy,
        time.bottleneck,
    )


def _version_point(
    version: KernelVersion,
    device: Device,
    gpu: str | None,
    spec: GpuSpec,
    shape: Shape | None,
    intensity: str,
) -> RooflinePoint:
    """Return the point of a problem's kernel. gpu: the GPU for which it is modelled; None to measure it."""
    config = version.config
    shape = shape or config.timing_shape
    config.require_size(shape)

    profile = profile_variant(version.kernel, config, device=device, shape=shape, gpu=gpu)
    timing = modelled(profile)
    if device.measures_time and gpu is None:
        timing = time_variant(version.kernel, config, shape=shape).timing

    nbytes, origin = _compulsory_bytes(config.problem, shape)
    if intensity == "counted":
        counted, counted_origin = _counted_bytes(profile, spec)
        # The caches see a part of the launch, so the count may be a little below what no launch can avoid.
        if counted > nbytes or nbytes <= spec.l2_bytes:
            nbytes, origin = counted, counted_origin
    return RooflinePoint(
        config.variant,
        shape,
        config.block,
        config.tile,
        config.problem.flops(shape),
        nbytes,
        timing,
        origin,
        **_modelled_fields(profile, spec),
    )


def _launch_point(launch: KernelLaunch, device: Device, spec: GpuSpec, intensity: str) -> RooflinePoint:
    """Return the point of a launch, whose operations are counted."""
    kernel, grid, block, args = launch.kernel, launch.grid, launch.block, launch.args
    profile = profile_launch(kernel, grid, block, args, device=device)
    timing = benchmark(kernel, grid, block, args) if device.measures_time else modelled(profile)
    counters = profile.counters
    nbytes: float = counters.compulsory_bytes_read + counters.compulsory_bytes_written
    origin = Provenance("counted", spec.name, "each sector read or written once")
    if intensity == "counted" and profile.dram_bytes > 0:
        nbytes, origin = _counted_bytes(profile, spec)
    return RooflinePoint(
        launch.name,
        (),
        dim3(block, "block"),
        (1, 1, 1),
        counters.flops,
        nbytes,
        timing,
        origin,
        flops_origin="counted in one block and scaled",
        **_modelled_fields(profile, spec),
    )


def _modelled_fields(profile: Profile, spec: GpuSpec) -> dict[str, Any]:
    """Return the fields of a point that the performance model computes."""
    return {
        "occupancy": profile.occupancy.fraction,
        "bottleneck": profile.bottleneck,
        "arithmetic": _arithmetic(profile, spec),
    }


def _arithmetic(profile: Profile, spec: GpuSpec) -> Arithmetic:
    """Return the level of the units that perform most of a launch's floating-point operations.

    A GPU without tensor cores for a type is modelled as if it used its CUDA cores.
    """
    if not profile.terms.get("tensor"):
        return "fp32"
    counters = profile.counters
    if 2 * counters.tensor_flops <= counters.flops:
        return "fp32"
    kinds = {kind: counters.tensor_operations.get(kind, 0) for kind in TENSOR_LEVELS}
    kind = max(kinds, key=kinds.__getitem__)
    return "fp32" if spec.peak_tensor_gflops(kind) is None else TENSOR_LEVELS[kind]


def _compulsory_bytes(problem: Problem, shape: Shape) -> tuple[float, Provenance]:
    """Return the bytes that no kernel can avoid."""
    detail = "each input read once, each output written once"
    return problem.compulsory_bytes(shape), Provenance("counted", problem.name, detail)


def _counted_bytes(profile: Profile, spec: GpuSpec) -> tuple[float, Provenance]:
    """Return the bytes between DRAM and the chip in one launch, counted by the simulator."""
    if profile.dram_bytes <= 0:
        raise UsageError(
            "its arrays stay in L2 at this size and cause no DRAM traffic. Choose a larger size, or "
            'intensity="compulsory".'
        )
    detail = "misses of the simulated caches" if spec.l2_bytes else "all requests, because there is no cache"
    return profile.dram_bytes, Provenance("counted", spec.name, f"{detail}; {profile.sampled}")
