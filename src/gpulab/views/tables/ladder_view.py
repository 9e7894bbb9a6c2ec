"""`gpulab.ladder_table`: all versions of a problem's kernel, modelled on several GPUs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from gpulab.errors import GpulabError
from gpulab.problems import problem as problem_named
from gpulab.views.html import View, paragraph
from gpulab.views.tables.builder import Column, table_view
from gpulab.views.tables.number_format import extents, milliseconds

if TYPE_CHECKING:
    from gpulab.gpus.catalogue import GpuSpec
    from gpulab.model.profile import Profile
    from gpulab.problems.base import Block, Problem, Shape
    from gpulab.profiling.benchmark import Benchmark

__all__ = ["ladder_table"]

T = TypeVar("T")


@dataclass(frozen=True)
class _VersionRow:
    """One version: its profile on each GPU, by key, or the reason why there is none."""

    variant: str
    block: Block
    shape: Shape
    profiles: Mapping[str, Profile]
    errors: Mapping[str, str]
    measured: Benchmark | None


def ladder_table(
    problem: str = "stencil",
    gpu: str | Sequence[str] = ("gtx280", "h200"),
    size: int | str | None = None,
    *,
    gpus: str | Sequence[str] | None = None,
) -> View:
    """Show the session's kernels of a problem on several GPUs: time, speed-up, and what bounds them.

    The speed-up is relative to the first version in the table. On a CUDA device, measured times are added.

    Parameters
    ----------
    problem : {"stencil", "matmul"}
        The problem.
    gpu : str or sequence of str
        Keys of the catalogue GPUs for which times are modelled: "gtx280", "t10", "gtx480", "k40", "gtx1080",
        "v100", "t4", "rtx3090", "a100", "rtx4090", "h100" and "h200".
    size : int or str, optional
        Size of the problem, such as 128 or "65x47x9". If omitted, the size at which the problem is timed.
    gpus : str or sequence of str, optional
        Earlier name of `gpu`.

    Returns
    -------
    View
        A table with one row for each version, times in milliseconds, or a line of text if no kernel has
        been compiled.

    Raises
    ------
    UsageError
        If there is no such problem, GPU or size.

    Examples
    --------
    >>> import gpulab
    >>> gpulab.ladder_table("matmul", gpu="h200")
    No kernel of matmul was compiled in this session yet. Run its kernel cells.
    """
    from gpulab.gpus.catalogue import gpu as gpu_named

    chosen = problem_named(problem)
    shape = chosen.parse_shape(str(size)) if size is not None else None
    keys = gpu if gpus is None else gpus
    specs = {key: gpu_named(key) for key in ((keys,) if isinstance(keys, str) else keys)}
    rows = [row for variant in chosen.variants if (row := _version_row(chosen, variant, specs, shape))]
    if not rows:
        return paragraph(
            f"No kernel of {chosen.name} was compiled in this session yet. Run its kernel cells.", dim=True
        )

    sizes = dict.fromkeys(chosen.format_shape(row.shape) for row in rows)
    origins = dict.fromkeys(
        str(timed.provenance)
        for row in rows
        for timed in (*row.profiles.values(), row.measured)
        if timed is not None
    )
    notes = [
        f"{row.variant} on the {specs[key].name}: {error}"
        for row in rows
        for key, error in row.errors.items()
    ]
    caption = f"{chosen.name} at {', '.join(sizes)}. Times: {'; '.join(origins)}."
    return table_view(tuple(_columns(rows, specs)), rows, caption, notes=notes)


def _columns(rows: Sequence[_VersionRow], specs: Mapping[str, GpuSpec]) -> Iterator[Column]:
    yield Column("variant", "variant")
    yield Column("block", lambda row: extents(row.block))
    for key, spec in specs.items():
        profiles = {row.variant: profile for row in rows if (profile := row.profiles.get(key))}
        yield from _time_columns(spec.name, rows[0], {v: profile.time_ms for v, profile in profiles.items()})
        bottlenecks = {variant: profile.bottleneck for variant, profile in profiles.items()}
        yield Column("bound by", partial(_of_variant, bottlenecks))
    measured = {row.variant: row.measured.median_ms for row in rows if row.measured}
    if measured:
        yield from _time_columns("measured", rows[0], measured)


def _of_variant(values: Mapping[str, T], row: _VersionRow) -> T | None:
    return values.get(row.variant)


def _time_columns(name: str, first: _VersionRow, times: Mapping[str, float]) -> tuple[Column, Column]:
    """Declare the columns of times, by variant, and of the speed-up over the first row."""

    def speedup(row: _VersionRow) -> float | None:
        known = row.variant in times and first.variant in times
        return times[first.variant] / times[row.variant] if known else None

    return (
        Column(f"{name} (ms)", partial(_of_variant, times), milliseconds),
        Column("speed-up", speedup, "{:.2f}".format),
    )


def _version_row(
    problem: Problem, variant: str, specs: Mapping[str, GpuSpec], shape: Shape | None
) -> _VersionRow | None:
    """Model, and on a GPU measure, the session's kernel of a variant; None if there is none."""
    from gpulab import session
    from gpulab.cell import require_kernel_cell
    from gpulab.model.profile import profile_variant
    from gpulab.profiling.speedup import time_variant

    name = f"{problem.name}.{variant}"
    cell = session.cell(name)
    if name not in session.kernel_names() or cell is None:
        return None
    kernel, config = session.kernel(name), require_kernel_cell(cell).config
    device, shape = kernel.device, shape or config.timing_shape

    profiles, errors = {}, {}
    for key in specs:
        try:
            profiles[key] = profile_variant(kernel, config, device=device, shape=shape, gpu=key)
        except GpulabError as error:  # the GPU refuses the launch, or the model does not cover the kernel
            errors[key] = str(error)
    measured = None
    if device.measures_time:
        measured = time_variant(kernel, config, shape=shape).timing
    return _VersionRow(variant, config.block, shape, profiles, errors, measured)
