"""Published figures of a kernel beside the session's own, modelled of that GPU and measured on this one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gpulab import session
from gpulab.errors import UsageError
from gpulab.problems.published import PublishedRow, rows, sources
from gpulab.problems.published import source as source_named
from gpulab.views.html import View, note, paragraph, stack, table
from gpulab.views.tables.point_view import rate, shared_sources
from gpulab.views.tables.published_view import published_provenance

if TYPE_CHECKING:
    from gpulab.profiling.published_comparison import Beside

__all__ = ["beside_published", "beside_view"]


def beside_published(variant: str, source: str = "t10", *, device: str | None = None) -> View:
    """Each published figure of a variant beside the kernel of this session's cell.

    The cell's text is compiled with the row's block and tile, and modelled at the row's size on the GPU that
    the row was measured on. Where the session's device is a CUDA GPU it is measured there too.

    variant: "K1" or "matmul.K1". source: a table of `gpulab.published_table`. device: as
    `gpulab.device` takes it; the session's when left out.

    A sentence in place of the table while the variant's cell was not run. Raises `UsageError` for a table
    that there is not, and for one without figures of the variant.
    """
    from gpulab.profiling.published_comparison import beside

    problem, _, short = variant.rpartition(".")
    citation = source_named(source).citation
    found = [row for row in rows(source, variant=short) if problem in ("", row.problem)]
    if not found or not short:
        raise UsageError(_none(variant, source))
    name = f"{found[0].problem}.{short}"
    cell = session.cell(name)
    if cell is None:
        return paragraph(
            f"Run the cell that starts with %%cuda {name} first: its kernel goes beside what was published."
        )
    compared = beside(found, cell, device)
    return beside_view(name, list(_with_progress(compared, found)), citation)


def beside_view(name: str, compared: Sequence[Beside], citation: str) -> View:
    """The table: published, modelled, error, and measured where something was; reasons below it."""
    measured = any(one.measured and one.measured.timing for one in compared)
    headers = ["threads", "unrolled", "published overall", "modelled overall", "published kernel"]
    headers += ["modelled kernel", "error", *(["measured kernel"] if measured else [])]
    cells: list[list[str]] = []
    hover: dict[tuple[int, int], str] = {}
    reasons: dict[str, int] = {}
    for one in compared:
        row, point, error = one.row, one.modelled, one.error_percent
        texts = [_threads(row), _unrolled(row)]
        texts += [_printed(row.overall_gflops), rate(point.overall_gflops if point else None)]
        texts += [_printed(row.kernel_gflops), rate(point.kernel_gflops if point else None)]
        texts += ["-" if error is None else f"{error:+.0f} %"]
        if one.why_not:
            texts[-1] = f"({reasons.setdefault(one.why_not, len(reasons) + 1)})"
        if measured:
            texts.append(rate(one.measured.kernel_gflops if one.measured else None))
        hover |= {(len(cells), column): words for column, words in _hover(one).items()}
        cells.append(texts)
    origins = shared_sources(
        point.timing for one in compared for point in (one.modelled, one.measured) if point and point.timing
    )
    caption = f"GFLOPS. Published: {citation}."
    if origins:
        caption += f" {name} of this session: {'; '.join(origins)}."
        caption += " Error: of the modelled kernel where the kernel alone was published, else of overall."
    shown = table(headers, cells, numeric=range(2, len(headers)), caption=caption, hover=hover)
    listed = [f"({number}) {why_not}" for why_not, number in reasons.items()]
    return stack(shown, note("hint", "Not modelled", listed) if listed else None)


def _hover(one: Beside) -> dict[int, str]:
    """Where each figure of a row comes from, by column."""
    published = str(published_provenance(one.row))
    found = {0: f"published as: {one.row.label}"}
    if one.row.overall_gflops is not None:
        found[2] = published
    if one.row.kernel_gflops is not None:
        found[4] = published
    if one.modelled and one.modelled.timing:
        bound = f"; bound by {one.modelled.bottleneck}" if one.modelled.bottleneck else ""
        found[5] = f"{one.modelled.timing.provenance}{bound}"
        if one.modelled.copies:
            found[3] = f"{found[5]}; copies: {one.modelled.copies.provenance}"
    if one.measured:
        found[7] = str(one.measured.provenance or one.measured.why_not)
    return found


def _with_progress(compared: Iterator[Beside], found: Sequence[PublishedRow]) -> Iterator[Beside]:
    """What is compared, behind a progress bar where a notebook can show one."""
    from IPython import get_ipython

    shell = get_ipython()
    if shell is None:
        yield from compared
        return
    from gpulab.notebook.progress import Progress
    from gpulab.notebook.screen import screen_of

    with Progress(screen_of(shell), "modelling") as step:
        for number, row in enumerate(found):
            step(number, len(found), row.label)
            yield next(compared)


def _none(variant: str, source: str) -> str:
    """What is published, for who asked for what is not."""
    there = ", ".join(dict.fromkeys(row.variant for row in rows(source) if row.variant)) or "none"
    short = variant.rpartition(".")[2]
    others = [key for key in sources() if short and rows(key, variant=short)]
    elsewhere = f" {short} is in: {', '.join(others)}." if others else ""
    return f"`{source}` has no figures of `{variant}`; its kernels are: {there}.{elsewhere}"


def _threads(row: PublishedRow) -> str:
    return "x".join(str(number) for number in row.block or () if number > 1) or "-"


def _unrolled(row: PublishedRow) -> str:
    along = [*zip("ij", row.tile or (), strict=False), ("k", row.k_unroll)]
    return ", ".join(f"{axis} x{times}" for axis, times in along if times > 1) or "-"


def _printed(value: float | None) -> str:
    return "-" if value is None else str(value)  # with the decimals it was printed with
