"""The points of a roofline: a problem's kernels with their times and with the bytes they move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from gpulab.devices.base import Device, Kernel
from gpulab.errors import GpulabError, UsageError
from gpulab.gpus.catalogue import GpuSpec
from gpulab.gpus.catalogue import gpu as gpu_named
from gpulab.model.profile import Profile, profile_variant
from gpulab.problems.base import Block, Problem, Shape
from gpulab.profiling.benchmark import Timing
from gpulab.profiling.ceilings import measured_ceilings, published_ceilings
from gpulab.profiling.point import require_size
from gpulab.profiling.roofline import Ceiling, Intensity, Point, Roofline, check_intensity
from gpulab.profiling.speedup import time_variant
from gpulab.provenance import Provenance

__all__ = ["Rung", "roofline_of", "roofs_of"]

Step = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Rung:
    """A right kernel of a problem, with the block and tile of its cell's header."""

    variant: str
    kernel: Kernel
    block: Block
    tile: Block


def roofline_of(
    problem: Problem,
    rungs: Sequence[Rung],
    *,
    device: Device,
    gpu: str | None = None,
    shape: Shape | None = None,
    intensity: str = "counted",
    notes: Sequence[str] = (),
    progress: Step | None = None,
) -> Roofline:
    """Time the kernels and count their bytes, on the ceilings of a GPU.

    On a CUDA device times and ceilings are measured, beside the ceilings of the data sheet. On the
    simulator, or for a `gpu` of the catalogue that is not here, times are modelled and all ceilings are the
    data sheet's. The bytes are counted on the simulator in either case.

    shape: None for the problem's timing size. progress: called with (steps done, steps, what is next).

    A kernel without a time, since its block or the size cannot be launched say, is left out, and a note says
    why. Raises `UsageError` for a GPU that the catalogue lacks and for a wrong `intensity`.
    """
    check_intensity(intensity)
    spec, here = _spec_of(device, gpu)
    step = progress or (lambda *_: None)
    total = len(rungs) + here
    ceilings = _ceilings(spec, device if here else None, lambda: step(0, total, "ceilings"))
    points, said = [], list(notes)
    for number, rung in enumerate(rungs):
        step(number + here, total, rung.variant)
        try:
            points.append(_point(rung, problem, device, None if here else gpu, spec, shape, intensity))
        except GpulabError as error:
            said.append(f"{rung.variant} is left out: {str(error).splitlines()[0]}")
    return Roofline(
        problem.name,
        spec.name,
        cast("Intensity", intensity),
        ceilings,
        tuple(points),
        spec.l2_bytes,
        tuple(said),
    )


def roofs_of(*, device: Device, gpu: str | None = None, progress: Step | None = None) -> Roofline:
    """The ceilings of a GPU and no kernels; of no problem. Arguments and errors as of `roofline_of`."""
    spec, here = _spec_of(device, gpu)
    step = progress or (lambda *_: None)
    ceilings = _ceilings(spec, device if here else None, lambda: step(0, 1, "ceilings"))
    return Roofline("", spec.name, "counted", ceilings, (), spec.l2_bytes)


def _spec_of(device: Device, gpu: str | None) -> tuple[GpuSpec, bool]:
    """The data sheet that is asked for, and whether its GPU is here to be measured."""
    spec: GpuSpec = device.spec if gpu is None else gpu_named(gpu)
    return spec, device.measures_time and (gpu is None or bool(spec.key and spec.key == device.spec.key))


def _ceilings(spec: GpuSpec, here: Device | None, announce: Callable[[], None]) -> tuple[Ceiling, ...]:
    if here is None:
        return published_ceilings(spec)
    announce()
    return (*measured_ceilings(here), *published_ceilings(spec))


def _point(
    rung: Rung,
    problem: Problem,
    device: Device,
    gpu: str | None,
    spec: GpuSpec,
    shape: Shape | None,
    intensity: str,
) -> Point:
    geometry = rung.variant, rung.block, rung.tile
    shape = shape or problem.timing_shape(*geometry, device.kind)
    require_size(problem, rung.variant, shape, rung.block, rung.tile)
    profile = profile_variant(rung.kernel, problem, *geometry, device=device, shape=shape, gpu=gpu)
    timing = Timing.from_samples([profile.time_ms], profile.provenance)
    if device.measures_time and gpu is None:
        timing = time_variant(rung.kernel, problem, *geometry, device=device, shape=shape).timing
    if intensity == "counted":
        nbytes, origin = _counted(profile, spec)
    else:
        words = "each input read once, each output written once"
        nbytes, origin = problem.compulsory_bytes(shape), Provenance("counted", problem.name, words)
    return Point(
        rung.variant,
        shape,
        rung.block,
        rung.tile,
        problem.flops(shape),
        nbytes,
        timing,
        origin,
        profile.occupancy.fraction,
        profile.bottleneck,
    )


def _counted(profile: Profile, spec: GpuSpec) -> tuple[float, Provenance]:
    """Bytes between DRAM and the chip in one launch, as counted on the simulator."""
    words = (
        "what misses the simulated caches" if spec.l2_bytes else "all that is asked for: there is no cache"
    )
    if profile.dram_bytes <= 0:
        raise UsageError(
            "its arrays stay in L2 at this size, and nothing goes to DRAM: take a larger size, or "
            'intensity="compulsory".'
        )
    return profile.dram_bytes, Provenance("counted", spec.name, f"{words}; {profile.sampled}")
