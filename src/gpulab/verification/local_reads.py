"""The finding for a read of a local array or variable that its thread has not written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gpulab.compiler.array_extents import private_extents
from gpulab.compiler.constant_expressions import named_values
from gpulab.compiler.preprocess.phases import read_source
from gpulab.finding import Finding, Index3, index_text, unravel
from gpulab.simt.runtime.host_memory import POISON

if TYPE_CHECKING:
    from gpulab.devices.base import RecordableKernel
    from gpulab.simt.instrument.initcheck.local_read_recorder import LocalRead
    from gpulab.simt.instrument.recorder import Recorder

__all__ = ["unwritten_local_reads"]


def unwritten_local_reads(
    kernel: RecordableKernel,
    repeat: Callable[[Recorder], bool],
    other_poison: int,
    grid: Index3,
    block: Index3,
) -> list[Finding]:
    """Return the finding for the reads of unwritten local memory that change the results of a launch.

    The launch is repeated with another value in unwritten local memory. Only if its results differ, two more
    launches record the reads that return the value of unwritten memory in both.

    Parameters
    ----------
    kernel : RecordableKernel
        The kernel, which has been launched.
    repeat : callable
        Repeats the launch with a recorder, and returns True if its results differ from those of the launch.
    other_poison : int
        Another byte than `POISON` for unwritten memory.
    grid, block : Index3
        Shape of the launch.

    Returns
    -------
    list of Finding
        One finding, or none.
    """
    from gpulab.simt.instrument.initcheck.local_read_recorder import LocalReadRecorder
    from gpulab.simt.instrument.recorder import RepeatRecorder

    first, second = LocalReadRecorder(POISON), LocalReadRecorder(other_poison)
    printed, warned = kernel.printed, kernel.warned
    if repeat(RepeatRecorder(other_poison)):
        repeat(first)
        repeat(second)
    kernel.printed, kernel.warned = printed, warned

    reads = {read: count for read, count in first.reads.items() if read in second.reads}
    if not reads:
        return []
    earliest = min(reads, key=lambda read: read.block)  # the first one of that block in the order of time
    return [
        Finding(
            "initcheck",
            "uninitialized_read",
            earliest.line,
            unravel(earliest.block, grid),
            unravel(earliest.thread, block),
            _message(kernel, earliest, sorted({read.line for read in reads} - {earliest.line}), grid, block),
            sum(reads.values()),
        )
    ]


def _message(
    kernel: RecordableKernel, read: LocalRead, other_lines: list[int], grid: Index3, block: Index3
) -> str:
    thread, its_block = unravel(read.thread, block), unravel(read.block, grid)
    name = _array_in(kernel.program.source, read.line)
    what = f"an element of `{name}`" if name else "a local array or variable"
    text = (
        f"thread {index_text(thread)} of block {index_text(its_block)} reads {what} that it has not written. "
        "Variables and arrays of a function have no initial values: give it one in its declaration, such as "
        "`= {}`, or correct the index."
    )
    if other_lines:
        numbers = ", ".join(map(str, other_lines))
        text += f" Also affected: line{'s' * (len(other_lines) > 1)} {numbers}."
    return text


def _array_in(source: str, line: int) -> str:
    """Return the array of a thread that a line uses; an empty string if there is none, or more than one."""
    text = read_source(source)
    tokens = [token for token in text.tokens if not token.directive]
    arrays = private_extents(tokens, named_values(text, tokens, {}))
    names = {t.text for t in tokens if t.text in arrays and text.place_of(t.offset)[0] == line}
    return names.pop() if len(names) == 1 else ""
