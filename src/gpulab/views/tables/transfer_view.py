"""`gpulab.transfer_table`: times of copies between host and device, and of a kernel that copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gpulab.devices.base import Device
from gpulab.errors import UsageError
from gpulab.profiling.benchmark import Benchmark
from gpulab.profiling.transfers import time_copy, time_copying_kernel
from gpulab.views.html import View
from gpulab.views.tables.builder import Column, table_view
from gpulab.views.tables.device_choice import chosen_device
from gpulab.views.tables.number_format import byte_size, milliseconds

__all__ = ["transfer_table"]

SIZES = (2**20, 2**24, 2**26)  # bytes


class _CopyRow(NamedTuple):
    """Times of copies of one size in one direction, and of a kernel that copies within the device."""

    nbytes: int
    to_device: bool
    pageable: Benchmark
    pinned: Benchmark
    kernel: Benchmark


def _timed(header: str, name: str, moved: int = 1) -> tuple[Column, Column]:
    """Declare the columns of a time and its bandwidth. moved: how often each byte is read or written."""

    def gb_s(row: _CopyRow) -> float:
        timing: Benchmark = getattr(row, name)
        return moved * row.nbytes / timing.median_ms / 1e6

    source = f"{name}.provenance"
    return (
        Column(f"{header} (ms)", f"{name}.median_ms", milliseconds, source),
        Column("(GB/s)", gb_s, milliseconds, source),
    )


_COLUMNS = (
    Column("size", "nbytes", byte_size),
    Column("direction", lambda row: "host to device" if row.to_device else "device to host"),
    *_timed("pageable", "pageable"),
    *_timed("page-locked", "pinned"),
    *_timed("kernel that copies", "kernel", moved=2),
)


def transfer_table(
    sizes: Sequence[int] = SIZES, *, device: Device | None = None, gpu: str | None = None
) -> View:
    """Show times and bandwidths of copies between host and device.

    Times are measured on a GPU and modelled on the simulator; the tooltip of each figure says which.

    Parameters
    ----------
    sizes : sequence of int
        Bytes of the copies, multiples of 4.
    device : Device, optional
        An open device; the session's device if omitted.
    gpu : str, optional
        Key of a catalogue GPU: "gtx280", "t10", "gtx480", "k40", "gtx1080", "v100", "t4", "rtx3090",
        "a100", "rtx4090", "h100" or "h200". Not together with `device`.

    Returns
    -------
    View
        A table with one row for each size and direction: pageable and page-locked host memory, and a kernel
        that copies within the device. Times in milliseconds, bandwidths in GB/s (1e9 bytes).

    Raises
    ------
    UsageError
        If a size is not a positive multiple of 4, the catalogue has no such GPU, or both `device` and `gpu`
        are given.

    Examples
    --------
    >>> import gpulab
    >>> table = gpulab.transfer_table([2**20], gpu="t10")
    >>> print(table.text.splitlines()[2].split()[:3])
    ['1', 'MiB', 'host']
    """
    opened = chosen_device(device, gpu)
    wrong = [size for size in sizes if size < 4 or size % 4]
    if wrong or not sizes:
        raise UsageError(f"sizes are bytes of floats, positive multiples of 4, not {list(wrong or sizes)}.")

    rows = []
    for size in sizes:
        copying_kernel = time_copying_kernel(opened, size)
        for to_device in (True, False):
            pageable, pinned = (
                time_copy(opened, size, to_device=to_device, pinned=pinned).timing for pinned in (False, True)
            )
            rows.append(_CopyRow(size, to_device, pageable, pinned, copying_kernel))

    kinds = dict.fromkeys(
        _kind(timing, opened) for row in rows for timing in (row.pageable, row.pinned, row.kernel)
    )
    caption = (
        f"Times: {', '.join(kinds)}. The kernel reads and writes every byte within the device, and its GB/s "
        "count both."
    )
    if not opened.measures_time:
        caption += " The fixed cost of a copy, some microseconds, is not modelled."
    return table_view(_COLUMNS, rows, caption)


def _kind(timing: Benchmark, device: Device) -> str:
    """Format the kind of a time with its GPU: measured (NVIDIA H200)."""
    kind = timing.provenance.kind
    return f"{kind} ({device.spec.name if kind == 'modelled' else timing.provenance.device})"
