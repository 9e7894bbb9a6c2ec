"""What copies cost: pageable beside page-locked memory, both ways, beside a kernel that only copies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpulab.devices import open_device
from gpulab.devices.base import Device, Kernel
from gpulab.errors import UsageError
from gpulab.profiling.benchmark import Benchmark, benchmark
from gpulab.profiling.transfers import Transfer, time_copy
from gpulab.views.html import View, table
from gpulab.views.tables.speedup_view import milliseconds

__all__ = ["transfer_table"]

SIZES = (2**20, 2**24, 2**26)  # bytes
_HEADERS = (
    "size", "direction", "pageable (ms)", "(GB/s)", "page-locked (ms)", "(GB/s)",
    "a kernel that copies (ms)", "(GB/s)",
)  # fmt: skip
_THREADS = 256
_SOURCE = """extern "C" __global__ void copy_floats(const float* from, float* to, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) to[i] = from[i];
}"""


def transfer_table(sizes: Sequence[int] = SIZES, *, device: Device | None = None) -> View:
    """Times and bandwidths of copies between host and device, one row for each size and direction.

    sizes: bytes of a copy, multiples of 4. device: None for the one that kernels run on.

    Measured on a GPU, modelled on the simulator: every time says which when the pointer rests on it.
    Raises `UsageError` for sizes that are not multiples of 4, and what a copy raises.
    """
    device = device or open_device()
    wrong = [size for size in sizes if size < 4 or size % 4]
    if wrong or not sizes:
        raise UsageError(f"sizes are bytes of floats, multiples of 4; not {list(wrong or sizes)}.")
    kernel = device.compile(_SOURCE)
    rows: list[tuple[str, ...]] = []
    hover: dict[tuple[int, int], str] = {}
    kinds: dict[str, None] = {}
    for size in sizes:
        alone = _kernel_time(device, kernel, size)
        for to_device in (True, False):
            copies = [time_copy(device, size, to_device=to_device, pinned=pinned) for pinned in (False, True)]
            timings = [*(copy.timing for copy in copies), alone]
            hover |= {(len(rows), 2 + 2 * i): str(timing.provenance) for i, timing in enumerate(timings)}
            hover |= {(len(rows), 3 + 2 * i): str(timing.provenance) for i, timing in enumerate(timings)}
            kinds |= dict.fromkeys(_kind(timing, device) for timing in timings)
            rows.append(
                (_bytes(size), "to the device" if to_device else "back", *_cells(copies, alone, size))
            )
    return table(
        _HEADERS,
        rows,
        numeric=(0, *range(2, 8)),
        caption=f"Times: {', '.join(kinds)}. The kernel copies within the device: it reads and writes every "
        "byte, and its GB/s count both."
        + ("" if device.measures_time else " The fixed time of a copy, some microseconds, is not modelled."),
        hover=hover,
    )


def _kind(timing: Benchmark, device: Device) -> str:
    """`measured (NVIDIA H200)`; what is modelled is of the GPU that the simulator stands for."""
    kind = timing.provenance.kind
    return f"{kind} ({device.spec.name if kind == 'modelled' else timing.provenance.device})"


def _cells(copies: Sequence[Transfer], alone: Benchmark, size: int) -> list[str]:
    pairs = [*((copy.timing, copy.gb_s) for copy in copies), (alone, 2 * size / alone.median_ms / 1e6)]
    return [text for timing, gb_s in pairs for text in map(milliseconds, (timing.median_ms, gb_s))]


def _kernel_time(device: Device, kernel: Kernel, size: int) -> Benchmark:
    n = size // 4
    grid, block = min(-(-n // _THREADS), device.spec.max_grid_dims[0]), _THREADS
    args = (device.empty(n), device.empty(n), np.int32(n))
    return benchmark(kernel, grid, block, args, n_repeat=5, detail="median of 5 launches")


def _bytes(size: int) -> str:
    for unit, words in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size % unit == 0:
            return f"{size // unit} {words}"
    return f"{size} bytes"
