"""`gpulab.roofline`: this session's right kernels of a problem under the roofs of a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gpulab.errors import GpulabError, UsageError
from gpulab.problems import problem as problem_named

if TYPE_CHECKING:
    from gpulab.cell import Cell
    from gpulab.devices.base import Device
    from gpulab.notebook.roofline_figure import RooflineFigure
    from gpulab.problems.base import Problem
    from gpulab.profiling.roofline_points import Rung, Step

__all__ = ["roofline"]


def roofline(
    problem: str | None = "stencil",
    gpu: str | None = None,
    size: int | str | None = None,
    intensity: str = "counted",
    *,
    theme: str = "light",
) -> RooflineFigure:
    """The roofline of a problem's variants: GFLOPS by flop per byte, both on logarithmic axes.

    A mark for every variant whose kernel is right, joined in the order of the ladder. `.save("x.png")` and
    `.save("x.svg")` write it to a file; where plotly's script is not there, it shows as SVG.

    problem: "stencil" or "matmul"; None draws the roofs alone.
    gpu: a GPU of the catalogue to model ("gtx280"); None: the session's device. On a CUDA GPU times are
    measured, and so are the solid ceilings: copy and triad of DRAM, FMA, reads of L2 and shared memory.
    Elsewhere times are modelled. Dashed ceilings are the data sheet's.
    size: as the problem writes it ("128", "65x47x9"); None: its timing size.
    intensity: by which bytes: "counted", what goes between DRAM and the chip when the simulator runs the
    kernel, or "compulsory", each input read once and each output written once.
    theme: of the figure's own paper, "light" or "dark".

    Raises `UsageError` for a problem, a GPU, a size, an intensity or a theme that is not there, and where
    plotly is not installed.
    """
    try:
        from gpulab.notebook.roofline_figure import check_theme, roofline_figure
    except ImportError:
        raise UsageError("figures need plotly: pip install 'gpulab[lab]'.") from None
    from gpulab.devices import open_device
    from gpulab.profiling.roofline_points import roofline_of, roofs_of
    from gpulab.views.roofline.roofline_layout import scene_of

    check_theme(theme)
    device = open_device()
    if problem is None:
        with _progress() as step:
            roofs = roofs_of(device=device, gpu=gpu, progress=step)
        return roofline_figure(roofs, scene_of(roofs), theme)
    known = problem_named(problem)
    shape = known.parse_shape(str(size)) if size is not None else None
    rungs, notes = _right(known, device)
    with _progress() as step:
        found = roofline_of(
            known,
            rungs,
            device=device,
            gpu=gpu,
            shape=shape,
            intensity=intensity,
            notes=notes,
            progress=step,
        )
    shapes = {point.shape for point in found.points}
    words = known.format_shape(shapes.pop()) if len(shapes) == 1 else ""
    return roofline_figure(found, scene_of(found, words), theme)


def _right(known: Problem, device: Device) -> tuple[list[Rung], list[str]]:
    """The kernels of this session that are right, and why the others are left out."""
    from gpulab import session
    from gpulab.profiling.roofline_points import Rung

    rungs: list[Rung] = []
    without_kernel: list[str] = []
    wrong: list[str] = []
    for variant in known.variants:
        name = f"{known.name}.{variant}"
        cell = session.cell(name)
        if cell is None:
            continue
        if name not in session.kernel_names():
            without_kernel.append(variant)
        elif not _is_right(cell, known, variant, device):
            wrong.append(variant)
        else:
            assert cell.header.block is not None
            assert cell.header.tile is not None
            rungs.append(Rung(variant, session.kernel(name), cell.header.block, cell.header.tile))
    return rungs, [
        *_left_out(wrong, "its values are not right yet", "their values are not right yet"),
        *_left_out(without_kernel, "its cell did not compile", "their cells did not compile"),
    ]


def _left_out(variants: list[str], why: str, why_many: str) -> Iterator[str]:
    if len(variants) == 1:
        yield f"{variants[0]} is left out: {why}."
    elif variants:
        yield f"{', '.join(variants)} are left out: {why_many}."


def _is_right(cell: Cell, known: Problem, variant: str, device: Device) -> bool:
    """Whether the kernel was found right when its cell ran; one that was not timed then is checked now."""
    from gpulab import session
    from gpulab.notebook import session_timings
    from gpulab.verification.check import preflight
    from gpulab.verification.verify import signature_reason, verify

    if variant in session_timings.timings(known.name).timings:
        return True
    kernel, header = session.kernel(cell.header.name), cell.header
    if header.block is None or header.tile is None or signature_reason(kernel, known, variant):
        return False
    try:
        verdict = preflight(kernel, known, header, device) or verify(
            kernel, known, header.block, header.tile, device=device, variant=variant
        )
    except GpulabError:
        return False
    return verdict.correct


@contextmanager
def _progress() -> Iterator[Step]:
    """A progress bar where a notebook can show one."""
    from IPython import get_ipython

    shell = get_ipython()
    if shell is None:
        yield lambda *_: None
        return
    from gpulab.notebook.progress import Progress
    from gpulab.notebook.screen import screen_of

    with Progress(screen_of(shell), "roofline") as step:
        yield step
