"""Modelled time of a launch on a GPU of the catalogue, with what bounds it.

docs/model.md describes the model and its errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from gpulab.config import KernelConfig
from gpulab.devices.argument_copies import copy_arguments, simulated_variables
from gpulab.devices.base import Device, Dim3, Kernel
from gpulab.devices.launch_limits import dim3
from gpulab.errors import CompileError
from gpulab.gpus.architectures import architecture, calibration
from gpulab.gpus.catalogue import GpuSpec
from gpulab.gpus.catalogue import gpu as gpu_named
from gpulab.gpus.occupancy import Occupancy, occupancy
from gpulab.model.estimate import Estimate, Work, estimate, explain_bound
from gpulab.model.model_input import LaunchSample
from gpulab.model.recording import LaunchRecording
from gpulab.model.resource_usage import resource_usage
from gpulab.model.sampling import (
    SampledLaunch,
    launch_sample,
    prepare_sampling,
    record_launch,
    with_work_found,
)
from gpulab.model.unrolling import without_unrolling
from gpulab.problems.base import Shape
from gpulab.profiling.counts.counters import record_samples
from gpulab.profiling.counts.metrics import Counters
from gpulab.provenance import Provenance
from gpulab.verification.inputs import draw_period, repeated_poison, repeated_values

if TYPE_CHECKING:
    from gpulab.devices.base import RecordableKernel

__all__ = [
    "Profile",
    "estimate_recording",
    "estimate_sample",
    "prepare_variant",
    "profile_launch",
    "profile_variant",
    "variant_launch",
]

KEPT_BYTES = 64 << 20  # of arrays that a profile keeps for its counters; with larger ones it counts at once
OTHER_BLOCKS = (32, 64, 128, 256, 512, 1024)  # threads per block that `Profile.explanation` may suggest


# The profiles of each kernel by configuration, GPU, shape and seed, because the tables and the roofline of a
# lab show the launches that its kernel cells have timed. The function that counts is left out: it refers to
# the kernel, which would then never be deleted.
_PROFILES: WeakKeyDictionary[Kernel, dict[tuple[object, ...], partial[Profile]]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Profile:
    """The modelled time of one launch and what bounds it.

    Attributes
    ----------
    time_ms : float
        Time of the launch in milliseconds.
    provenance : Provenance
        `modelled`, the GPU, and how the model's times of that GPU were checked.
    occupancy : Occupancy
        Resident blocks and warps per SM, and the resource that limits them.
    bottleneck : str
        The key in `terms` of the largest term.
    terms : mapping of str to float
        Milliseconds that each part of the GPU needs by itself: "DRAM", "L2", "L1" (with shared memory),
        "issue", "fp32", "fma", "integer", "fp64", "special", "constant" (loads from constant memory, and
        barriers), "load_store" (instructions that access memory), "tensor", "atomics" (and stores, on the
        same elements), "blocks" (starting them), "latency" and "launch". The time is about the largest of
        them.
    explanation : str
        The bottleneck in one sentence. If it is latency, also a block size with more resident warps.
    sampled : str
        Which blocks ran on the simulator.
    dram_bytes : float
        Bytes that the launch reads from and writes to DRAM, after the caches, with those that DRAM could move
        while it opens rows for scattered accesses.
    registers : int
        Registers per thread; estimated for GPUs of compute capability 1.x.

    See Also
    --------
    gpulab.profile : Profile a launch.
    gpulab.counters : Performance counters of a launch.

    Notes
    -----
    The kernel runs on the simulator on a sample of its blocks. docs/model.md describes the model and compares
    it with published and measured times.

    Examples
    --------
    >>> import gpulab
    >>> dev = gpulab.device("sim")
    >>> k = dev.compile('''__global__ void scale(float* x, float f)
    ... {
    ...     x[blockIdx.x * blockDim.x + threadIdx.x] *= f;
    ... }''')
    >>> profile = gpulab.profile(k, 64, 128, (dev.zeros(8192), 2.0))
    >>> profile.provenance.kind, profile.provenance.device
    ('modelled', 'H200')
    >>> 0 < profile.time_ms < 1
    True
    >>> profile.bottleneck in profile.terms
    True
    >>> profile.occupancy.warps_per_sm
    64
    >>> profile.counters.global_load_requests
    256
    """

    time_ms: float
    provenance: Provenance
    occupancy: Occupancy
    bottleneck: str
    terms: Mapping[str, float]
    explanation: str
    sampled: str
    dram_bytes: float
    registers: int
    _count: Callable[[], Counters] = field(repr=False, compare=False)

    @cached_property
    def counters(self) -> Counters:
        """Counters of the block in the middle of the grid, scaled to all blocks.

        The block runs when the attribute is read for the first time.
        """
        return self._count()


def profile_variant(
    kernel: Kernel,
    config: KernelConfig,
    *,
    device: Device,
    shape: Shape | None = None,
    gpu: str | None = None,
    seed: int = 0,
) -> Profile:
    """Return the profile of a problem's kernel, which is modelled once for each size, GPU and seed.

    Parameters
    ----------
    shape : tuple of int, optional
        Size of the problem. If omitted, the size at which the variant is timed.
    gpu : str, optional
        Name of the GPU to model, from the catalogue. If omitted, the GPU of the device.
    seed : int
        Seed of the inputs.

    Raises
    ------
    UsageError
        If the shape, block and tile cannot be launched.
    LaunchError, MemoryFault
        If the launch fails.
    """
    spec: GpuSpec = device.spec if gpu is None else gpu_named(gpu)

    def launch() -> SampledLaunch:
        return variant_launch(kernel, config, spec, shape, seed)

    def count() -> Counters:  # a profile may live long, so it does not keep the arrays
        return _middle_block(launch())

    if kernel.on_simulator.module.variables:  # a launch may depend on what they contain now
        return _profile(launch(), spec)(_count=count)

    profiles = _PROFILES.setdefault(kernel, {})
    key = config, spec, shape or config.timing_shape, seed
    if key not in profiles:
        profiles[key] = _profile(launch(), spec)
    return profiles[key](_count=count)


def variant_launch(
    kernel: Kernel, config: KernelConfig, spec: GpuSpec, shape: Shape | None = None, seed: int = 0
) -> SampledLaunch:
    """Return the launch of a problem's kernel on a GPU, on random inputs that take little memory."""
    launch = config.at(shape or config.timing_shape, spec)
    simulated = _with_loops_of(spec, kernel.on_simulator, config).silent
    rng = np.random.default_rng(seed)
    period = draw_period(rng)
    args = []
    for argument in config.problem.arguments(launch.shape, rng, repeated_values(period)):
        if argument.role == "scalar":
            args.append(argument.value)
            continue
        array = argument.value
        if argument.role == "output" and not argument.initialized:  # the same contents as in a check
            array = repeated_poison(array, period)
        args.append(simulated.device.adopt(array))
    budget = launch.column_budget
    return SampledLaunch(simulated, launch.grid, launch.block, args, launch.shared_mem, budget=budget)


def prepare_variant(kernel: Kernel, config: KernelConfig, *, device: Device) -> None:
    """Compile and cache on disk all code that `profile_variant` needs for this configuration."""
    simulated = _with_loops_of(device.spec, kernel.on_simulator, config).silent
    prepare_sampling(simulated, device.spec, config.block)


def profile_launch(
    kernel: Kernel, grid: Dim3, block: Dim3, args: Sequence[Any], shared_mem: int = 0, *, device: Device
) -> Profile:
    """Return the profile of any launch on the device's GPU. Arrays and variables keep their values."""
    simulated = kernel.on_simulator
    copies = copy_arguments(args, device, simulated.device)
    launch = SampledLaunch(simulated, dim3(grid, "grid"), dim3(block, "block"), copies, shared_mem)
    kept = sum(getattr(array, "nbytes", 0) for array in copies) <= KEPT_BYTES
    if kept and not kernel.module.variables:
        profile = _profile(launch, device.spec)(_count=lambda: _middle_block(launch))
    else:
        with simulated_variables(kernel, keep=True):
            counters = _middle_block(launch)
            profile = _profile(launch, device.spec)(_count=lambda: counters)
    simulated.warn()
    return profile


def _with_loops_of(spec: GpuSpec, kernel: RecordableKernel, config: KernelConfig) -> RecordableKernel:
    """Return the kernel with its loops unrolled as the compilers of the GPU's time did."""
    if spec.compute_capability >= (2, 0) or not kernel.program.source:
        return kernel
    try:
        source = without_unrolling(kernel.program.source)
        return kernel.device.compile(source, kernel.name, config.defines)
    except CompileError:
        return kernel


def _middle_block(launch: SampledLaunch) -> Counters:
    """Return the counters of the middle one of the blocks with work, scaled to all of them."""
    middle = with_work_found(launch).spread(1)
    recorded = record_samples(
        launch.kernel,
        launch.grid,
        launch.block,
        launch.args,
        launch.shared_mem,
        [middle],
        budget=launch.budget,
    )
    return recorded.counters


def _calibration(spec: GpuSpec, work: Work, kernel: RecordableKernel) -> str:
    note = calibration(spec)
    if work.pipes["tensor"]:
        note += "; not compared for tensor cores"
    if kernel.uses_textures:
        note += "; without accesses to textures and surfaces"
    return note


def estimate_recording(recording: LaunchRecording, spec: GpuSpec) -> tuple[Work, Estimate]:
    """Return the work and the modelled time of a recorded launch."""
    return estimate_sample(launch_sample(recording, spec, architecture(spec)), spec)


def estimate_sample(sample: LaunchSample, spec: GpuSpec) -> tuple[Work, Estimate]:
    """Return the work and the modelled time of a sampled launch."""
    figures = architecture(spec)
    work = resource_usage(sample, spec, figures)
    return work, estimate(spec, figures, work)


def _profile(launch: SampledLaunch, spec: GpuSpec) -> partial[Profile]:
    """Return the profile of a launch, which lacks only the function that counts."""
    recording = record_launch(launch, spec)
    work, estimated = estimate_recording(recording, spec)

    # Resident warps if blocks had another number of threads, and shared memory in proportion.
    shared = launch.kernel.resources.shared_bytes + launch.shared_mem
    warps_by_threads = {
        threads: occupancy(
            spec, threads, recording.registers, shared * threads // launch.threads
        ).warps_per_sm
        for threads in OTHER_BLOCKS
        if threads <= spec.max_threads_per_block
    }

    return partial(
        Profile,
        time_ms=estimated.time_ms,
        provenance=Provenance("modelled", spec.name, _calibration(spec, work, launch.kernel)),
        occupancy=recording.residency,
        bottleneck=estimated.bound,
        terms=estimated.terms,
        explanation=explain_bound(spec, work, estimated, warps_by_threads),
        sampled=recording.description,
        dram_bytes=work.dram_bytes,
        registers=recording.registers,
    )
