"""How long a launch takes on a GPU of the catalogue, by the performance model, and what bounds it.

The kernel runs on the simulator on a sample of its blocks (`gpulab.model.sampling`); `gpulab.model` tells
the rest. docs/model.md says how far off the model is, and on which GPUs that was looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from gpulab.config import KernelConfig
from gpulab.devices.argument_copies import copy_arguments
from gpulab.devices.base import Device, Dim3, Kernel
from gpulab.devices.launch_limits import dim3
from gpulab.errors import CompileError
from gpulab.gpus.architectures import checked, timings
from gpulab.gpus.catalogue import GpuSpec
from gpulab.gpus.catalogue import gpu as gpu_named
from gpulab.gpus.occupancy import Occupancy, occupancy
from gpulab.model.estimate import estimate
from gpulab.model.explanation import bound_words
from gpulab.model.resource_usage import resource_usage
from gpulab.model.sampling import Launch, observe, prepare
from gpulab.model.unrolling import without_unrolling
from gpulab.problems.base import Shape
from gpulab.profiling.counts.counters import Counters, count_blocks
from gpulab.provenance import Provenance

if TYPE_CHECKING:
    from gpulab.devices.base import RecordableKernel

__all__ = ["Profile", "prepare_variant", "profile_launch", "profile_variant"]

OTHER_BLOCKS = (32, 64, 128, 256, 512, 1024)  # threads of a block that the words may recommend


@dataclass(frozen=True)
class Profile:
    """The modelled time of one launch.

    terms: milliseconds that each part of the machine needs for it by itself; the time is about the largest of
    those and what stands before and behind it. bottleneck: the name of that term. words: the same as a
    sentence, with what would help. sampled: which blocks ran, in words. dram_bytes: that come from and go to
    global memory, behind the caches.
    """

    time_ms: float
    provenance: Provenance
    occupancy: Occupancy
    bottleneck: str
    terms: Mapping[str, float]
    words: str
    sampled: str
    dram_bytes: float
    _count: Callable[[], Counters] = field(repr=False, compare=False)

    @cached_property
    def counters(self) -> Counters:
        """Counts of one block from the middle of the grid, scaled; the launch is run for them when asked."""
        return self._count()


def profile_variant(
    kernel: Kernel,
    config: KernelConfig,
    *,
    device: Device,
    shape: Shape | None = None,
    gpu: str | None = None,
) -> Profile:
    """Model a kernel of a problem at `shape`, or at the problem's timing size.

    gpu: the catalogue's name of the GPU to model; None: the device's own.

    Raises `UsageError` for a geometry that cannot be launched, and what the launch raises.
    """
    spec: GpuSpec = device.spec if gpu is None else gpu_named(gpu)
    launch = config.at(shape or config.timing_shape, spec)
    twin = _of_its_time(kernel.on_simulator, spec, config)
    args = [
        twin.device.zeros(argument.value.shape, argument.value.dtype)
        if argument.kind == "pointer"
        else argument.value
        for argument in config.problem.arguments(launch.shape, None)
    ]
    return _profile(Launch(twin, launch.grid, launch.block, args), spec)


def prepare_variant(kernel: Kernel, config: KernelConfig, *, device: Device) -> None:
    """Make all code that `profile_variant` needs for this block and tile; it is kept on disk."""
    prepare(_of_its_time(kernel.on_simulator, device.spec, config), device.spec, config.block)


def profile_launch(
    kernel: Kernel, grid: Dim3, block: Dim3, args: Sequence[Any], shared_mem: int = 0, *, device: Device
) -> Profile:
    """Model a launch of any kernel on the device's own GPU; the arrays keep their values."""
    twin = kernel.on_simulator
    given = _copied(args) if twin is kernel else copy_arguments(args, device, twin.device)
    return _profile(Launch(twin, dim3(grid, "grid"), dim3(block, "block"), given, shared_mem), device.spec)


def _of_its_time(twin: RecordableKernel, spec: GpuSpec, config: KernelConfig) -> RecordableKernel:
    """The kernel as the compilers of the GPU's time made it, as far as that is known."""
    if spec.compute_capability >= (2, 0) or not twin.program.source:
        return twin
    try:
        return twin.device.compile(without_unrolling(twin.program.source), twin.name, config.defines)
    except CompileError:
        return twin


def _copied(args: Sequence[Any]) -> list[Any]:
    """The simulator's own arrays once more; one that is given twice only once."""
    from gpulab.devices.simulated import SimulatedArray

    found: dict[int, Any] = {}
    for array in args:
        if isinstance(array, SimulatedArray) and id(array) not in found:
            found[id(array)] = copy = SimulatedArray(array.memory, array.shape, array.dtype)
            copy.view()[...] = array.view()
            array.memory.mark_written(copy.allocation.address)
    return [found.get(id(value), value) for value in args]


def _profile(launch: Launch, spec: GpuSpec) -> Profile:
    figures = timings(spec)
    seen, residency, sampled = observe(launch, spec, figures)
    work = resource_usage(seen, spec, figures)
    found = estimate(spec, figures, work)
    middle = np.ravel_multi_index([n // 2 for n in reversed(launch.grid)], launch.grid[::-1])
    return Profile(
        time_ms=found.time_ms,
        provenance=Provenance("modelled", spec.name, checked(spec)),
        occupancy=residency,
        bottleneck=found.bound,
        terms=found.terms,
        words=bound_words(spec, work, found, _warps_with_other_blocks(launch, spec, seen.registers)),
        sampled=sampled,
        dram_bytes=work.dram_bytes,
        _count=lambda: count_blocks(
            launch.kernel, launch.grid, launch.block, launch.args, launch.shared_mem, np.array([middle])
        ),
    )


def _warps_with_other_blocks(launch: Launch, spec: GpuSpec, registers: int) -> dict[int, int]:
    """Warps on an SM if blocks had another number of threads, and shared memory in proportion."""
    mine = prod(launch.block)
    shared = launch.kernel.resources.shared_bytes + launch.shared_mem
    return {
        threads: occupancy(spec, threads, registers, shared * threads // mine).warps_per_sm
        for threads in OTHER_BLOCKS
        if threads <= spec.max_threads_per_block
    }
