"""The table of kernels that were measured on one GPU: registers, resident blocks, waves and times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpulab.problems import problem as problem_named
from gpulab.problems.measurements import MeasuredKernel, MeasuredTable
from gpulab.views.html import View
from gpulab.views.tables.builder import Column, table_view
from gpulab.views.tables.number_format import extents, percentage, ratio

__all__ = ["measurements_view"]

MS = "{:.3f}".format  # the launches take tenths of a millisecond; equal digits can be compared at a glance


def measurements_view(problem: str, table: MeasuredTable, kernels: Sequence[MeasuredKernel]) -> View:
    """Return one row for each kernel, with the error of its modelled time."""
    caption = (
        f"{problem} at {extents(table.shape)}. Measured: {table.source}. Modelled: gpulab. Resident: "
        "blocks on an SM at once. Waves: blocks divided by the resident blocks of all SMs."
    )
    if _is_ablation(kernels):
        caption += " Cap: of registers. Hoisted: the division."
    if _has_one_block(kernels):
        caption += f" All blocks: {extents(kernels[0].block[:2])}."
    if _is_counted(kernels):
        caption += " Instructions (of warps, in millions) and DRAM traffic: Nsight Compute."
    return table_view(list(_columns(problem, table, kernels)), kernels, caption)


def _columns(problem: str, table: MeasuredTable, kernels: Sequence[MeasuredKernel]) -> Iterator[Column]:
    compulsory = problem_named(problem).compulsory_bytes(table.shape)

    def share_of_copy(kernel: MeasuredKernel) -> float:
        copied = 8 * table.shape[0] * table.shape[1] * table.shape[2]  # bytes read and written
        return compulsory / kernel.measured_ms / (copied / table.copy_ms)

    ablation, counted = _is_ablation(kernels), _is_counted(kernels)
    yield Column("kernel", "kernel")
    if ablation:
        yield Column("z split", lambda kernel: "yes" if kernel.split else "")
        yield Column("cap", lambda kernel: str(kernel.register_cap or ""))
        yield Column("hoisted", lambda kernel: "yes" if kernel.hoisted else "")
    if not _has_one_block(kernels):
        yield Column("block", lambda kernel: extents(kernel.block[:2]))
    yield Column("blocks", "blocks", "{:,}".format)
    yield Column("registers", "registers", str)
    yield Column("spilled (B)", lambda kernel: kernel.spill_bytes or None, str, optional=True)
    yield Column("resident", lambda kernel: table.occupancy(kernel).blocks_per_sm, str)
    yield Column("waves", table.waves, ratio)
    yield Column("measured (ms)", "measured_ms", MS, lambda _: f"measured, {table.source}")
    yield Column("modelled (ms)", "modelled_ms", MS, lambda _: f"modelled, {table.gpu}")
    yield Column("error", lambda kernel: round(kernel.error_percent), "{:+d} %".format)
    if counted:
        yield Column("instructions", "instructions", "{:,.0f}".format)
        yield Column("DRAM (MB)", "dram_mb", "{:,.0f}".format)
    elif not ablation:
        yield Column("of a copy", share_of_copy, percentage)


def _is_ablation(kernels: Sequence[MeasuredKernel]) -> bool:
    """Return True if the kernels differ in the changes of an ablation."""
    return any(kernel.register_cap or kernel.hoisted for kernel in kernels)


def _is_counted(kernels: Sequence[MeasuredKernel]) -> bool:
    """Return True if the kernels are few and all were counted: those that a lab compares in detail."""
    return len(kernels) <= 3 and all(kernel.instructions for kernel in kernels)


def _has_one_block(kernels: Sequence[MeasuredKernel]) -> bool:
    return len({kernel.block for kernel in kernels}) == 1
