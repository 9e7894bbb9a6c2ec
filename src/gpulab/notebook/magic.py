"""`%%cuda`: compile a kernel cell, check its values, count and show what it takes, time it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from IPython.core.magic import Magics, cell_magic, magics_class, no_var_expand

from gpulab.cell import Cell, parse_cell
from gpulab.errors import CompileError, GpulabError, LaunchError, MemoryFault, UsageError, WrongResult
from gpulab.notebook import level, session_timings
from gpulab.notebook.failure import mark_shown
from gpulab.notebook.progress import Progress
from gpulab.notebook.screen import Screen, screen_of
from gpulab.problems import problem as problem_named
from gpulab.views.cell_view import judged_view, kernel_view, launch_error_view
from gpulab.views.compile_view import compile_error_view
from gpulab.views.compile_view import summary as compile_summary
from gpulab.views.counts_view import counts_view
from gpulab.views.html import paragraph
from gpulab.views.verdict_view import summary as verdict_summary

if TYPE_CHECKING:
    from gpulab.devices.base import Device
    from gpulab.verification.check import CheckResult

__all__ = ["CudaMagics"]


@magics_class
class CudaMagics(Magics):
    """The magic of kernel cells. `open_device` says where they run."""

    def __init__(self, shell: Any, open_device: Callable[[], Device] | None = None) -> None:
        super().__init__(shell)
        self._open_device = open_device

    @no_var_expand  # a grader reads the header as text, so Python's variables have no place in it
    @cell_magic
    def cuda(self, line: str, cell: str) -> None:
        """A cell of CUDA C: compile it, check its values, show what it takes, time it.

            %%cuda PROBLEM.VARIANT [--block X [Y [Z]]] [--tile X [Y [Z]]]
            %%cuda NAME

        PROBLEM.VARIANT   which step of which lab this is, such as stencil.opt_1 or matmul.K5;
                          the cell must define the step's kernel (block2D_opt_1, mmkernel).
        NAME              a kernel of your own: compiled, and found as gpulab.kernel("NAME").
        --block X Y Z     threads of a block, at most 1024 in all.
        --tile X Y Z      output points a thread computes on each axis; 0: all of it, in a loop.

        The grid is ceil(extent / (block * tile)) on each axis. In the text, BLOCK_X, BLOCK_Y,
        BLOCK_Z, TILE_X, TILE_Y and TILE_Z stand for these numbers.

        Below the verdict stands the source with what each line asks of memory, counted by the
        simulator; the environment variable GPULAB_COUNTERS=off leaves that out.

        At level 2 (see gpulab.choose_level) the released stub of a given kernel runs the given
        file's text.

        A kernel that does not compile, faults or is wrong makes the cell fail, and the output
        says where.
        """
        parsed = parse_cell(f"%%cuda {line}\n{cell}")
        device, screen = self._device(), screen_of(self.shell)
        given = level.given_in_place_of(parsed)
        if given is not None:
            name = given.header.variant or given.header.name
            screen.add(paragraph(f"Level {level.level()}: {name} is given; this is {given.origin}."))
            level.keep_given(given)
            parsed = given
        run_cell(parsed, device, screen)

    def _device(self) -> Device:
        if self._open_device is not None:
            return self._open_device()
        from gpulab.devices import open_device

        return open_device()


def run_cell(cell: Cell, device: Device, screen: Screen) -> CheckResult:
    """Check a cell and show what happened; raises for anything but success, after it was shown."""
    from gpulab.verification.check import check_cell

    header = cell.header
    if header.problem is not None and header.variant is not None:
        session_timings.forget(header.problem, header.variant)
    try:
        with Progress(screen, "checking") as progress:
            result = check_cell(cell, device, progress=progress)
    except CompileError as error:
        screen.add(compile_error_view(error))
        mark_shown(error, compile_summary(error))
        raise
    except LaunchError as error:
        screen.add(launch_error_view(error, cell.source))
        mark_shown(error, str(error))
        raise
    screen.add(judged_view(cell, result))
    _count(cell, result, device, screen)
    screen.add(kernel_view(cell, result, device))
    if not result.correct:
        raise _failure(cell, result)
    if result.verdict is not None:
        _time(cell, result, device, screen)
    return result


def _count(cell: Cell, result: CheckResult, device: Device, screen: Screen) -> None:
    """Show what the kernel asks of memory, line by line, when it runs without a fault.

    The environment variable GPULAB_COUNTERS=off leaves it out.
    """
    from gpulab.profiling.counts.cell_counts import count_cell

    verdict, kernel = result.verdict, result.kernel
    if os.environ.get("GPULAB_COUNTERS", "").lower() == "off" or kernel is None or verdict is None:
        return
    if not verdict.results or any(each.fault for each in verdict.results):
        return
    try:
        with Progress(screen, "counting"):
            counts = count_cell(cell, kernel, device)
    except GpulabError as error:  # right on the sizes of the check; this one does not suit it
        screen.add(paragraph(f"Not counted: {error}", dim=True))
        return
    if counts is not None:
        screen.add(counts_view(counts))


def _failure(cell: Cell, result: CheckResult) -> GpulabError:
    """The error that says what the result says, as the class that fits."""
    verdict, name = result.verdict, cell.header.name
    assert verdict is not None
    values_right = verdict.correct or not verdict.results
    line = f"{verdict_summary(name, verdict)}."
    if values_right and result.reasons:
        line = f"{name}: {result.reasons[0]}"
    message = "\n".join([line, *(reason for reason in result.reasons if reason not in line)])
    error: GpulabError
    if any(each.fault for each in verdict.results):
        kind = MemoryFault if any(f.tool == "memcheck" for f in result.findings) else LaunchError
        error = kind(message, result.findings)
    else:
        error = WrongResult(message, verdict)
    return mark_shown(error, line)


def _time(cell: Cell, result: CheckResult, device: Device, screen: Screen) -> None:
    """Time a right kernel and show the table of its problem so far."""
    from gpulab.profiling.speedup import time_variant

    header, kernel = cell.header, result.kernel
    if kernel is None or not (header.problem and header.variant and header.block and header.tile):
        return
    problem = problem_named(header.problem)
    shape = problem.timing_shape(header.variant, header.block, header.tile, device.kind)
    try:
        with Progress(screen, "timing") as step:
            step(0, 1, problem.format_shape(shape))
            timed = time_variant(
                kernel, problem, header.variant, header.block, header.tile, device=device, shape=shape
            )
    except UsageError as error:  # right, but a size that cannot be launched with this block
        screen.add(paragraph(f"Not timed: {error}", dim=True))
        return
    except LaunchError as error:
        screen.add(launch_error_view(error, cell.source))
        mark_shown(error, f"{header.name} is right on small sizes; at {problem.format_shape(shape)}: {error}")
        raise
    session_timings.keep_timing(problem.name, timed)
    screen.add(session_timings.speedup_table(problem.name))
