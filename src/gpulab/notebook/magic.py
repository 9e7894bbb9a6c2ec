"""The `%%cuda` magic: compile a kernel cell, check its values, count its memory traffic, and time it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from IPython.core.magic import Magics, cell_magic, magics_class, no_var_expand

from gpulab import session
from gpulab.cell import Cell, KernelCell, parse_cell
from gpulab.errors import (
    CompileError,
    GpulabError,
    HeaderError,
    KernelNotWritten,
    LaunchError,
    MemoryFault,
    UsageError,
    WrongResult,
    as_sentence,
    first_sentence,
)
from gpulab.garbage_collection import collection_paused
from gpulab.notebook import level, session_timings
from gpulab.notebook.failure import mark_shown
from gpulab.notebook.progress import Progress
from gpulab.notebook.screen import Screen, screen_of
from gpulab.notebook.timing_process import PendingTiming, timing_process
from gpulab.views.cell_view import kernel_view, launch_error_view, verdict_section
from gpulab.views.compile_view import compile_error_view
from gpulab.views.compile_view import summary as compile_summary
from gpulab.views.counts_view import counts_view
from gpulab.views.html import disclosure, paragraph
from gpulab.views.score_view import score_line
from gpulab.views.verdict_view import cause
from gpulab.views.verdict_view import summary as verdict_summary

if TYPE_CHECKING:
    from gpulab.devices.base import Device, Kernel
    from gpulab.verification.check import CheckResult

__all__ = ["CudaMagics"]


@magics_class
class CudaMagics(Magics):
    """The `%%cuda` magic. open_device: returns the device to run on; None selects `gpulab.device`."""

    def __init__(self, shell: Any, open_device: Callable[[], Device] | None = None) -> None:
        super().__init__(shell)
        self._open_device = open_device

    @no_var_expand  # the grader reads the header as text, so Python variables are not expanded in it
    @cell_magic
    def cuda(self, line: str, cell: str) -> None:
        """Compile a cell of CUDA C, check its values, count its memory traffic, and time it.

            %%cuda PROBLEM.VARIANT [--block X [Y [Z]]] [--tile X [Y [Z]]] [--kernel KERNEL]
            %%cuda NAME [--kernel KERNEL]

        PROBLEM.VARIANT   a step of a lab, such as stencil.opt_1 or matmul.K5; the cell must
                          define the kernel of the step (block2D_opt_1, mmkernel).
        NAME              a kernel of your own. It is compiled and returned by gpulab.kernel("NAME").
        --block X Y Z     threads per block on each axis, at most 1024 in total.
        --tile X Y Z      output points per thread on each axis; 0 means the whole axis, in a loop.
        --kernel KERNEL   the function that NAME refers to, if the cell has several; also an
                          instance of a template, as in --kernel "k<8>".

        Without --kernel, NAME refers to the kernel of this name, or to the only one. Other kernels of
        the cell have their own names: gpulab.kernel("OTHER"). They share its __device__ and
        __constant__ variables: gpulab.kernel("NAME").module.set_global("variable", values).

        The grid is ceil(extent / (block * tile)) on each axis. The macros BLOCK_X, BLOCK_Y,
        BLOCK_Z, TILE_X, TILE_Y and TILE_Z hold these numbers in the source.

        The output shows the verdict, then the source with the memory traffic of each line,
        counted by the simulator. Set the environment variable GPULAB_COUNTERS=off to omit it.

        At level 2 (see gpulab.choose_level) the unchanged stub of a given kernel runs the source
        of the given file.

        The cell fails if the kernel does not compile, faults, or computes wrong values. The
        output names the line and, if the simulator ran it, the block and the thread.
        """
        try:
            parsed = parse_cell(f"%%cuda {line}\n{cell}")
        except HeaderError:
            session.forget(line.partition(" ")[0])  # a test cell must not check an earlier run
            raise
        device, screen = self._device(), screen_of(self.shell)
        given = level.given_replacement(parsed)
        if given is not None:
            name = given.config.variant if isinstance(given, KernelCell) else given.name
            screen.add(paragraph(f"Level {level.current_level()}: {name} is given; runs {given.origin}."))
            level.record_given(given)
            parsed = given
        if os.environ.get("GPULAB_GRADING"):  # the judge checks the text of the cell in a process of its own
            keep_unchecked(parsed, device)
            screen.add(paragraph(f"{parsed.name}: see its test cell for the verdict.", dim=True))
            return
        run_cell(parsed, device, screen)

    def _device(self) -> Device:
        if self._open_device is not None:
            return self._open_device()
        from gpulab.devices import open_device

        return open_device()


@collection_paused()
def run_cell(cell: Cell, device: Device, screen: Screen) -> None:
    """Check a cell and show the outcome; a failure is shown and then raised.

    A kernel that is not written yet is no failure: "Run All" goes on, and its test cell raises.
    """
    from gpulab.verification.check import check_cell, load_cell

    session.keep_cell(cell)  # before the compilation, so that an older kernel is dropped if it fails
    if isinstance(cell, KernelCell):  # a kernel that became wrong must not stay in the table
        session_timings.forget(cell.config.problem.name, cell.config.variant)
    try:
        kernel = load_cell(cell, device)
        session.keep_cell(cell, kernel)
        with Progress(screen, "checking") as progress:
            ahead = _TimingAhead(cell, kernel, progress)
            result = check_cell(cell, device, progress=ahead, kernel=kernel, machine_counts=_counts_wanted())
    except KernelNotWritten as error:
        screen.add(compile_error_view(error))
        return
    except CompileError as error:
        screen.add(compile_error_view(error))
        mark_shown(error, compile_summary(error))
        raise
    except LaunchError as error:
        session.mark_incorrect(cell.name)
        screen.add(launch_error_view(error, cell.source))
        mark_shown(error, first_sentence(str(error)))
        raise

    if not result.values_correct:
        session.mark_incorrect(cell.name)
    elif not result.correct:
        session.mark_unfinished(cell.name)
    screen.add(verdict_section(cell, result))
    show_counts(result, screen)
    screen.add(kernel_view(cell, result, device))
    if result.values_correct and result.verdict is not None:
        time_cell(cell, result, device, screen, ahead.pending)
    if not (result.correct or result.is_stage):
        raise _failure(cell, result)
    if result.score is not None:  # Shift+Enter scrolls to the end of the output
        screen.add(score_line(result.score))


class _TimingAhead:
    """A progress callback of a check, which requests the modelled time of the kernel meanwhile.

    It does so after the first launch, when the kernel's code is in the cache of compiled code.
    """

    def __init__(self, cell: Cell, kernel: Kernel, progress: Progress) -> None:
        self._cell, self._kernel, self._progress = cell, kernel, progress
        self.pending: PendingTiming | None = None

    def __call__(self, done: int, total: int, label: str = "") -> None:
        self._progress(done, total, label)
        modelled = not self._kernel.device.measures_time and bool(self._kernel.program.ptx)
        if done == 1 and modelled and isinstance(self._cell, KernelCell):
            self.pending = timing_process.request(self._kernel, self._cell.config)


def keep_unchecked(cell: Cell, device: Device) -> None:
    """Store a cell in the session; its kernel is compiled when it is first used."""
    from gpulab.verification.check import load_cell

    session.keep_cell(cell, compiler=lambda: load_cell(cell, device))


def _counts_wanted() -> bool:
    """Return True if memory traffic is counted; the environment variable GPULAB_COUNTERS=off prevents it."""
    return os.environ.get("GPULAB_COUNTERS", "").lower() != "off"


def show_counts(result: CheckResult, screen: Screen) -> None:
    """Show the memory traffic of each line, if a launch was counted; folded below wrong values."""
    if not _counts_wanted():
        return
    if result.count is not None:
        step = result.count.launch.config
        has_par = bool(step.problem.variants[step.variant].par)
        counts = counts_view(result.count.report, unfolded=has_par)
        screen.add(counts if result.values_correct else disclosure("memory traffic of each line", counts))
    elif result.count_error:
        screen.add(paragraph(f"Not counted: {result.count_error}", dim=True))


def _failure(cell: Cell, result: CheckResult) -> GpulabError:
    """Return the error to raise for a result that is not correct."""
    verdict, name = result.verdict, cell.name
    assert verdict is not None
    values_correct = verdict.correct or not verdict.results
    summary = verdict_summary(name, verdict)
    if not summary.endswith("?"):
        summary = f"{summary}."
    if values_correct and result.reasons:
        summary = f"{name}: {result.reasons[0]}"
    likely = cause(verdict)
    message, shown = summary, first_sentence(summary)
    if likely.rstrip(".") not in summary:
        message = f"{summary} {as_sentence(likely)}"
        shown = f"{shown} {first_sentence(as_sentence(likely))}"
    message = "\n".join([message, *(reason for reason in result.reasons if reason not in message)])

    error: GpulabError
    if any(shape.fault for shape in verdict.results):
        kind = MemoryFault if any(finding.in_memory for finding in result.findings) else LaunchError
        error = kind(message, result.findings)
    else:
        error = WrongResult(message, verdict)
    return mark_shown(error, shown)  # short, because the card above has the rest


def time_cell(
    cell: Cell, result: CheckResult, device: Device, screen: Screen, pending: PendingTiming | None = None
) -> None:
    """Time a kernel with correct values and show the speed-up table of its problem.

    pending: the modelled time of the kernel, if another process computes it.
    """
    from gpulab.profiling.speedup import time_variant

    kernel = result.kernel
    if kernel is None or not isinstance(cell, KernelCell):
        return
    problem, shape = cell.config.problem, cell.config.timing_shape
    try:
        with Progress(screen, "timing") as step:
            step(0, 1, problem.format_shape(shape))
            timed = pending.wait() if pending else None
            timed = timed or time_variant(kernel, cell.config, device=device, shape=shape)
    except UsageError as error:  # the timing size cannot be launched with this block and tile
        screen.add(paragraph(f"Not timed: {error}", dim=True))
        return
    except LaunchError as error:
        screen.add(launch_error_view(error, cell.source))
        size = problem.format_shape(shape)
        mark_shown(error, f"{cell.name} is correct at small sizes; at {size}: {first_sentence(str(error))}")
        raise
    session_timings.keep_timing(problem.name, timed)
    times = session_timings.speedup_table(problem.name)
    folded = bool(problem.variants[cell.config.variant].par)  # the stars come first
    screen.add(disclosure("times", times) if folded else times)
