"""Copies between host and device: measured on a GPU, otherwise modelled from bus and published figures."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from gpulab.devices.base import Device
from gpulab.devices.streams import Launch
from gpulab.errors import UsageError
from gpulab.gpus.catalogue import GpuSpec
from gpulab.gpus.catalogue import gpu as gpu_named
from gpulab.problems import problem as problem_named
from gpulab.problems.base import Problem, Shape
from gpulab.problems.published import PublishedRow, rows
from gpulab.profiling.benchmark import Benchmark, SamplingOptions, benchmark, measure_launches, sample
from gpulab.provenance import Provenance

__all__ = [
    "ImpliedRate", "Transfer", "copy_rate", "implied_rate", "time_copies", "time_copy", "time_copying_kernel",
]  # fmt: skip

# cudaMemcpyKind's numbers (CUDA Runtime API), part of CUDA's binary interface.
_TO_DEVICE, _FROM_DEVICE = 1, 2

_THREADS = 256  # threads of a block
_COPY_FLOATS = """extern "C" __global__ void copy_floats(const float* from, float* to, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) to[i] = from[i];
}"""


@dataclass(frozen=True)
class Transfer:
    """One copy between host and device.

    Attributes
    ----------
    nbytes : int
        The size in bytes.
    to_device : bool
        True for a copy from the host to the device, False for the opposite direction.
    pinned : bool
        True if the host memory is page-locked.
    timing : Benchmark
        The time of one copy.
    """

    nbytes: int
    to_device: bool
    pinned: bool
    timing: Benchmark

    @property
    def gb_s(self) -> float:
        """Bandwidth in GB/s (1e9 bytes), by the median time."""
        return self.nbytes / self.timing.median_ms / 1e6


@dataclass(frozen=True)
class ImpliedRate:
    """The bandwidth of copies that a published pair of rates implies.

    The copies take the difference of the two times: ``rate = bytes / (flops / overall - flops / kernel)``.

    Attributes
    ----------
    gb_s : float
        In GB/s (1e9 bytes).
    low, high : float
        Its range, given the rounding of the printed rates.
    row : PublishedRow
        The pair: that of the fastest kernel, where rounding matters least.
    """

    gb_s: float
    low: float
    high: float
    row: PublishedRow

    def __str__(self) -> str:
        return f"{self.gb_s:.2f} GB/s ({self.low:.2f} to {self.high:.2f} with the figures' rounding)"


def time_copy(
    device: Device, nbytes: int, *, to_device: bool = True, pinned: bool = False, repeats: int = 5
) -> Transfer:
    """Time one copy of `nbytes` between the host and a device.

    On a GPU it is measured, `repeats` times after one warm-up. On the simulator it is modelled for the
    simulated GPU: the peak of its bus times the efficiency in `transfers.toml`, or, for pageable memory on
    a GPU with published times with and without copies, the bandwidth that these imply. The model leaves out
    the fixed cost of a copy, which is a few microseconds.

    Raises `UsageError` for less than one byte or repeat, and for more memory than the GPU has.
    """
    if nbytes < 1 or repeats < 1:
        raise UsageError(f"a copy has at least one byte and is timed at least once: {nbytes=}, {repeats=}.")
    if not device.measures_time:
        return Transfer(nbytes, to_device, pinned, _modelled(device.name, device.spec, nbytes, pinned))
    direction = "to the device" if to_device else "from the device"
    detail = f"median of {repeats} copies {direction}, {_kind(pinned)} memory"
    (samples,) = sample([_copying(device, nbytes, to_device, pinned)], n_repeat=repeats, n_warmup=1)
    timing = Benchmark.from_samples(samples, device.timing_provenance(detail))
    return Transfer(nbytes, to_device, pinned, timing)


def time_copies(
    device: Device,
    problem: Problem,
    shape: Shape,
    *,
    pinned: bool = False,
    repeats: int = 5,
    gpu: str | None = None,
) -> Benchmark:
    """Time the copies of a launch: every input to the device and every output back.

    gpu: the key of a catalogue GPU to model instead. Raises the same errors as `time_copy`.
    """
    sizes = _sizes(problem.name, problem.checked_shape(shape))
    if gpu is not None or not device.measures_time:
        spec = device.spec if gpu is None else gpu_named(gpu)
        name = device.name if gpu is None else spec.name
        return _modelled(name, spec, sum(nbytes for nbytes, _ in sizes), pinned)
    copies = [
        time_copy(device, nbytes, to_device=to_device, pinned=pinned, repeats=repeats).timing
        for nbytes, to_device in sizes
    ]
    samples = [sum(each) for each in zip(*(timing.samples_ms for timing in copies), strict=True)]
    detail = f"{len(sizes)} copies, {_kind(pinned)} memory, median of {repeats}"
    return Benchmark.from_samples(samples, device.timing_provenance(detail))


def time_copying_kernel(device: Device, nbytes: int, *, repeats: int = 5) -> Benchmark:
    """Time a kernel that copies `nbytes`, a multiple of 4, within the device's memory.

    On a GPU it is measured, on the simulator it is modelled.
    """
    n = nbytes // 4
    launch = Launch(
        device.compile(_COPY_FLOATS),
        min(-(-n // _THREADS), device.spec.max_grid_dims[0]),
        _THREADS,
        (device.empty(n), device.empty(n), np.int32(n)),
    )
    detail = f"median of {repeats} launches"
    if device.measures_time:  # in this process, because this kernel does not fault
        return measure_launches(launch, SamplingOptions(n_repeat=repeats, detail=detail))
    return benchmark(launch.kernel, launch.grid, launch.block, launch.args)


def implied_rate(gpu_key: str) -> ImpliedRate | None:
    """Return the bandwidth that a GPU's published tables imply; None if no row has both rates."""
    pairs = [row for row in rows(gpu=gpu_key) if row.overall_gflops and row.kernel_gflops and row.shape]
    return _implied_by(max(pairs, key=lambda row: row.kernel_gflops or 0)) if pairs else None


def _implied_by(row: PublishedRow) -> ImpliedRate:
    overall, kernel, shape = row.overall_gflops, row.kernel_gflops, row.shape
    assert overall is not None
    assert kernel is not None
    assert shape is not None
    flops = problem_named(row.problem).flops(shape)
    nbytes = sum(nbytes for nbytes, _ in _sizes(row.problem, shape))

    def rate(with_copies: float, without: float) -> float:
        return nbytes / (flops / with_copies - flops / without)

    (least, most), (slowest, fastest) = _printed(overall), _printed(kernel)
    return ImpliedRate(rate(overall, kernel), rate(least, fastest), rate(most, slowest), row)


def _printed(value: float) -> tuple[float, float]:
    """Return the range of a printed rate: integers are rounded down, others to the nearest tenth."""
    return (value, value + 1) if isinstance(value, int) else (value - 0.05, value + 0.05)


def _modelled(name: str, spec: GpuSpec, nbytes: int, pinned: bool) -> Benchmark:
    gb_s, source = copy_rate(spec, pinned)
    provenance = Provenance("modelled", name, f"{_kind(pinned)} memory, {gb_s:.3g} GB/s: {source}")
    return Benchmark.from_samples([nbytes / gb_s / 1e6], provenance)


def copy_rate(spec: GpuSpec, pinned: bool) -> tuple[float, str]:
    """Return the bandwidth of a copy in GB/s, and its source."""
    implied = None if pinned else implied_rate(spec.key) if spec.key else None
    if implied is not None:
        return implied.gb_s, f"implied by the published times with and without copies, {implied.row.source}"
    if spec.bus_gb_s is None:
        raise UsageError(f"the catalogue has no bus for {spec.name}, so its copies cannot be modelled.")
    entry = _rates()["page_locked" if pinned else "pageable"]
    efficiency = float(entry["efficiency"])
    source = f"{spec.bus}, peak {spec.bus_gb_s:.1f} GB/s * {efficiency}; {entry['source']}"
    return spec.bus_gb_s * efficiency, source


def _copying(device: Device, nbytes: int, to_device: bool, pinned: bool) -> Callable[[], float]:
    """Return a function that copies once on a CUDA GPU and returns the milliseconds it took."""
    import cupy

    array = device.empty(nbytes, np.uint8)
    # Written once, so that the pages of pageable memory are mapped before the copy is timed.
    memory: Any = cupy.cuda.alloc_pinned_memory(nbytes) if pinned else bytearray(nbytes)
    host = np.frombuffer(memory, np.uint8, nbytes)
    host[:] = 1

    def copy() -> None:
        if to_device:
            cupy.cuda.runtime.memcpy(array.data.ptr, host.ctypes.data, nbytes, _TO_DEVICE)
        else:
            cupy.cuda.runtime.memcpy(host.ctypes.data, array.data.ptr, nbytes, _FROM_DEVICE)

    return lambda: device.time(copy)


@cache
def _sizes(problem: str, shape: Shape) -> tuple[tuple[int, bool], ...]:
    """Return (bytes, True if copied to the device) for every array of a launch."""
    arguments = problem_named(problem).arguments(shape, None)
    arrays = [argument for argument in arguments if argument.role != "scalar"]
    return tuple((argument.value.nbytes, argument.role == "input") for argument in arrays)


def _kind(pinned: bool) -> str:
    return "page-locked" if pinned else "pageable"


@cache
def _rates() -> dict[str, Any]:
    return tomllib.loads(files("gpulab.profiling").joinpath("transfers.toml").read_text(encoding="utf-8"))
