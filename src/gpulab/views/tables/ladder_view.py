"""`gpulab.ladder_table`: all versions of a problem's kernel, modelled on several GPUs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from gpulab.errors import GpulabError
from gpulab.problems.baselines import shipped_baseline
from gpulab.provenance import Provenance
from gpulab.session import chosen_problem
from gpulab.views.html import View, paragraph
from gpulab.views.tables.builder import Column, table_view
from gpulab.views.tables.number_format import block_extents, milliseconds
from gpulab.views.tables.residency_columns import RESIDENCY_COLUMNS, residency_caption
from gpulab.views.tables.session_kernels import correct_kernel, left_out
from gpulab.views.unfinished import keep_finished

if TYPE_CHECKING:
    from gpulab.gpus.catalogue import GpuSpec
    from gpulab.problems.base import Block, Problem, Shape
    from gpulab.profiling.benchmark import Benchmark
    from gpulab.profiling.residency import Residency
    from gpulab.profiling.speedup import VariantTiming

__all__ = ["ladder_table"]


@dataclass(frozen=True)
class _ModelledTime:
    """The modelled time of one version on one GPU."""

    time_ms: float
    bottleneck: str
    provenance: Provenance


@dataclass(frozen=True)
class _VersionRow:
    """One version on one GPU: its times, or the reason why there is no modelled one."""

    gpu: str
    variant: str
    block: Block
    shape: Shape
    modelled: _ModelledTime | None = None
    residency: Residency | None = None
    measured: Benchmark | None = None
    error: str = ""

    @property
    def error_percent(self) -> float | None:
        """The error of the modelled time, in percent of the measured one."""
        if self.modelled is None or self.measured is None:
            return None
        return 100 * (self.modelled.time_ms / self.measured.median_ms - 1)

    @property
    def time_ms(self) -> float | None:
        """The measured time if there is one, else the modelled one."""
        if self.measured is not None:
            return self.measured.median_ms
        return self.modelled.time_ms if self.modelled else None


def ladder_table(
    problem: str = "",
    gpu: str | Sequence[str] = ("gtx280", "h200"),
    size: int | str | None = None,
    *,
    gpus: str | Sequence[str] | None = None,
) -> View:
    """Show the session's kernels of a problem on several GPUs: time, speed-up, and what bounds them.

    The speed-up is relative to the first version on the same GPU. Kernels whose check failed are left out;
    a line below the table names them. On a CUDA device, measured times are added, and the error of the model
    if the GPU is in the catalogue.

    Parameters
    ----------
    problem : str
        Name of the problem. If omitted, that of the kernel cell that ran last.
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
        A table with one row for each GPU and version, times in milliseconds, or a line of text if no kernel
        has been compiled.

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

    chosen = chosen_problem(problem)
    shape = chosen.parse_shape(str(size)) if size is not None else None
    keys = gpu if gpus is None else gpus
    specs = {key: gpu_named(key) for key in ((keys,) if isinstance(keys, str) else keys)}
    measured = _measured(chosen, shape)
    rows: list[_VersionRow] = []
    with keep_finished(lambda: _rows_view(chosen, rows)):
        for spec in specs.values():
            start = len(rows)
            rows.extend(_version_rows(chosen, spec, shape, measured))
            if shipped := _baseline_row(chosen, rows[start:], spec):
                rows.insert(start, shipped)
    rows += _rows_of_other_gpus(measured, {row.gpu for row in rows})
    return _rows_view(chosen, rows)


def _rows_view(chosen: Problem, rows: Sequence[_VersionRow]) -> View:
    """Return the table, or a line of text if there are no rows."""
    missing = left_out(chosen)
    if not rows:
        return paragraph(
            missing or f"No kernel of {chosen.name} was compiled in this session yet. Run its kernel cells.",
            dim=True,
        )

    sizes = dict.fromkeys(chosen.format_shape(row.shape) for row in rows)
    origins = dict.fromkeys(
        str(timed.provenance) for row in rows for timed in (row.modelled, row.measured) if timed is not None
    )
    notes = [f"{row.variant} on the {row.gpu}: {row.error}" for row in rows if row.error]
    notes += [missing] if missing else []
    caption = f"{chosen.name} at {', '.join(sizes)}. Times: {'; '.join(origins)}."
    caption += residency_caption(row.residency for row in rows)
    return table_view(_columns(rows), rows, caption, notes=notes)


def _columns(rows: Sequence[_VersionRow]) -> tuple[Column, ...]:
    first: dict[str, _VersionRow] = {}
    for row in rows:
        first.setdefault(row.gpu, row)

    def speedup(row: _VersionRow) -> float | None:
        before = first[row.gpu].time_ms
        return before / row.time_ms if before and row.time_ms else None

    return (
        Column("GPU", "gpu"),
        Column("variant", "variant"),
        Column("modelled (ms)", "modelled.time_ms", milliseconds, "modelled.provenance"),
        Column("measured (ms)", "measured.median_ms", milliseconds, "measured.provenance", optional=True),
        Column("error", "error_percent", "{:+.0f} %".format, optional=True),
        Column("speed-up", speedup, "{:.2f}".format),
        Column("bound by", "modelled.bottleneck"),
        *RESIDENCY_COLUMNS,
        Column("block", lambda row: block_extents(row.block)),
    )


def _measured(problem: Problem, shape: Shape | None) -> dict[str, tuple[GpuSpec, VariantTiming]]:
    """Time the session's kernels on the GPU for which they were compiled; empty on the simulator."""
    from gpulab.profiling.speedup import time_variant

    timings = {}
    for variant in problem.variants:
        found = correct_kernel(problem, variant)
        if found is None:
            continue
        kernel, config = found[0], found[1].config
        if kernel.device.measures_time:
            timed = time_variant(kernel, config, shape=shape or config.timing_shape)
            timings[variant] = kernel.device.spec, timed
    return timings


def _version_rows(
    problem: Problem,
    spec: GpuSpec,
    shape: Shape | None,
    measured: Mapping[str, tuple[GpuSpec, VariantTiming]],
) -> Iterator[_VersionRow]:
    """Yield the rows of the session's kernels on a GPU."""
    for variant in problem.variants:
        if row := _version_row(problem, variant, spec, shape, measured):
            yield row


def _version_row(
    problem: Problem,
    variant: str,
    spec: GpuSpec,
    shape: Shape | None,
    measured: Mapping[str, tuple[GpuSpec, VariantTiming]],
) -> _VersionRow | None:
    """Model the session's kernel of a variant on a GPU; None if there is no correct one."""
    from gpulab.model.profile import profile_variant
    from gpulab.profiling.residency import compiler_name, residency

    found = correct_kernel(problem, variant)
    if found is None:
        return None
    kernel, config = found[0], found[1].config
    shape = shape or config.timing_shape
    timed_on, timed = measured.get(variant, (None, None))
    timing = timed.timing if timed and timed_on and timed_on.key == spec.key else None
    try:
        profile = profile_variant(kernel, config, device=kernel.device, shape=shape, gpu=spec.key)
    except GpulabError as error:  # the GPU refuses the launch, or the model does not cover the kernel
        return _VersionRow(spec.name, variant, config.block, shape, measured=timing, error=str(error))

    modelled = _ModelledTime(profile.time_ms, profile.bottleneck, profile.provenance)
    blocks = prod(config.at(shape, spec).grid)
    compiler = compiler_name(kernel.program.arch)
    resident = residency(spec, profile.occupancy, blocks, profile.registers, compiler)
    return _VersionRow(spec.name, variant, config.block, shape, modelled, resident, timing)


def _rows_of_other_gpus(
    measured: Mapping[str, tuple[GpuSpec, VariantTiming]], shown: set[str]
) -> Iterator[_VersionRow]:
    """Yield the measured times on a GPU for which no times are modelled."""
    for variant, (spec, timed) in measured.items():
        if spec.name not in shown:
            yield _VersionRow(
                spec.name, variant, timed.block, timed.shape, None, timed.residency, timed.timing
            )


def _baseline_row(problem: Problem, rows: Sequence[_VersionRow], spec: GpuSpec) -> _VersionRow | None:
    """Return the baseline that ships with gpulab, if it is of the rows' size and none of their versions."""
    from gpulab.profiling.speedup import baseline_residency

    baseline = shipped_baseline(problem.name)
    time = baseline.times.get(spec.key) if baseline else None
    if (
        baseline is None
        or time is None
        or baseline.variant in {row.variant for row in rows}
        or {baseline.shape} != {row.shape for row in rows}
    ):
        return None
    modelled = _ModelledTime(time.time_ms, time.bottleneck, Provenance("modelled", spec.name, baseline.label))
    name, resident = f"{baseline.variant} (baseline)", baseline_residency(baseline, spec)
    return _VersionRow(spec.name, name, baseline.block, baseline.shape, modelled, resident)
