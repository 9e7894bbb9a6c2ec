"""`gpulab.roofline`: this session's correct kernels of a problem under the ceilings of a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpulab.errors import GpulabError, UsageError
from gpulab.gpus.catalogue import gpu as gpu_named
from gpulab.installation import install_command
from gpulab.problems.baselines import shipped_baseline
from gpulab.session import chosen_problem
from gpulab.views.tables.session_kernels import unfinished_kernels

if TYPE_CHECKING:
    from gpulab.config import KernelConfig
    from gpulab.devices.base import Device, Dim3, Kernel
    from gpulab.notebook.tables.roofline_figure import RooflineFigure
    from gpulab.problems.base import Problem
    from gpulab.profiling.roofline_points import KernelVersion

__all__ = ["roofline"]


def roofline(
    problem: str | None = "",
    gpu: str | None = None,
    size: int | str | None = None,
    intensity: str = "counted",
    *,
    launches: Mapping[str, tuple[Kernel, Dim3, Dim3, Sequence[Any]]] | None = None,
    theme: str = "light",
) -> RooflineFigure:
    """Draw the roofline of a problem: GFLOPS against flop per byte, both on logarithmic axes.

    Every correct kernel of the session is a numbered point; a line joins the versions in their order. Solid
    ceilings are measured: DRAM (copy and triad), fp32 (FMA), L2 and shared memory (reads). Dashed ceilings
    are computed from the data sheet. A kernel that computes with tensor cores is bounded by their peak, which
    is drawn as well. Until the session has a correct first kernel, a modelled baseline that
    ships with gpulab is in its place.

    Parameters
    ----------
    problem : str or None
        Name of the problem. If omitted, that of the kernel cell that ran last. None draws the ceilings
        without the kernels of a problem.
    gpu : str, optional
        Key of a catalogue GPU: "gtx280", "t10", "gtx480", "k40", "gtx1080", "v100", "t4", "rtx3090",
        "a100", "rtx4090", "h100" or "h200", for which times are modelled. If omitted, the session's device:
        on a CUDA GPU times are measured, on the simulator they are modelled.
    size : int or str, optional
        Size of the problem, such as 128 or "65x47x9". If omitted, the size at which the problem is timed.
    intensity : {"counted", "compulsory"}
        Bytes of the arithmetic intensity: the DRAM traffic that the simulator counts, or the bytes that no
        kernel can avoid (each input read once, each output written once).
    launches : mapping of str to (kernel, grid, block, args), optional
        Further points: launches of any kernels, by the name of the point. Their floating-point operations,
        also those of tensor cores, are counted by the simulator.
    theme : {"light", "dark"}
        Colours of the figure.

    Returns
    -------
    RooflineFigure
        A plotly figure. `.save("x.png")` and `.save("x.svg")` write it to a file, and `.roofline` holds the
        values. Front ends without plotly show it as SVG.

    Raises
    ------
    UsageError
        If an argument is not among the legal values, or plotly is not installed.

    Examples
    --------
    >>> import gpulab
    >>> figure = gpulab.roofline(None, gpu="gtx280")
    >>> for ceiling in figure.roofline.ceilings:
    ...     print(ceiling)
    fp32 622 GFLOPS (data sheet)
    DRAM 142 GB/s (data sheet)
    shared memory 1,244 GB/s (data sheet)
    """
    try:
        from gpulab.notebook.tables.roofline_figure import check_theme, roofline_figure
    except ImportError:
        raise UsageError(f"figures need plotly: {install_command('lab')}") from None
    from gpulab.devices import open_device
    from gpulab.notebook.tables.session_progress import progress_bar
    from gpulab.profiling.roofline_points import KernelLaunch, baseline_point, roofline_of
    from gpulab.views.roofline.roofline_layout import scene_of

    check_theme(theme)
    device = open_device()
    others = [KernelLaunch(name, *launch) for name, launch in (launches or {}).items()]
    if problem is None:
        with progress_bar("roofline") as progress:
            values = roofline_of(None, (), others, device=device, gpu=gpu, progress=progress)
        return roofline_figure(scene_of(values), theme)

    chosen = chosen_problem(problem)
    shape = chosen.parse_shape(str(size)) if size is not None else None
    versions, notes = _correct_kernels(chosen, device)
    with progress_bar("roofline") as progress:
        values = roofline_of(
            chosen,
            versions,
            others,
            device=device,
            gpu=gpu,
            shape=shape,
            intensity=intensity,
            notes=notes,
            progress=progress,
        )

    baseline = shipped_baseline(chosen.name)
    if baseline and baseline.variant not in {version.config.variant for version in versions}:
        shipped = baseline_point(chosen, device.spec if gpu is None else gpu_named(gpu), shape, intensity)
        values = replace(values, points=(*([shipped] if shipped else []), *values.points))
    shapes = {point.shape for point in values.points}
    size_text = chosen.format_shape(shapes.pop()) if len(shapes) == 1 else ""
    return roofline_figure(scene_of(values, size_text), theme)


def _correct_kernels(problem: Problem, device: Device) -> tuple[list[KernelVersion], list[str]]:
    """Return the session's correct kernels, and sentences about those that are not finished."""
    from gpulab import session
    from gpulab.cell import require_kernel_cell, unwritten_lines
    from gpulab.profiling.roofline_points import KernelVersion

    versions: list[KernelVersion] = []
    without_kernel: list[str] = []
    unwritten: list[str] = []
    for variant in problem.variants:
        name = f"{problem.name}.{variant}"
        cell = session.cell(name)
        if cell is None:
            continue
        if unwritten_lines(cell.source):
            unwritten.append(variant)
        elif name not in session.kernel_names():
            without_kernel.append(variant)
        elif not _is_correct(require_kernel_cell(cell).config, device):
            session.mark_incorrect(name)
        else:
            versions.append(KernelVersion(require_kernel_cell(cell).config, session.kernel(name)))
    return versions, [
        *unfinished_kernels(problem),
        *_left_out(without_kernel, "did not compile"),
        *_left_out(unwritten, "not written yet"),
    ]


def _left_out(variants: list[str], reason: str) -> Iterator[str]:
    if variants:
        yield f"{', '.join(variants)} left out: {reason}."


def _is_correct(config: KernelConfig, device: Device) -> bool:
    """Return True if the kernel was correct when its cell ran; a kernel that was not timed is verified."""
    from gpulab import session
    from gpulab.notebook import session_timings
    from gpulab.verification.check import preflight
    from gpulab.verification.verify import signature_reason, verify

    if config.variant in session_timings.timings(config.problem.name).timings:
        return True
    kernel = session.kernel(config.name)
    if signature_reason(kernel, config):
        return False
    try:
        verdict = preflight(kernel, config, device) or verify(kernel, config)
    except GpulabError:
        return False
    return verdict.correct
