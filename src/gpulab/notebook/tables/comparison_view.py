"""`gpulab.beside_published`: published figures of a kernel next to those of this session's kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpulab import session
from gpulab.problems.published import rows
from gpulab.problems.published import source as source_named
from gpulab.views.html import View, note, paragraph, stack
from gpulab.views.tables.builder import Column, Footnotes, table_view
from gpulab.views.tables.number_format import extents, rate
from gpulab.views.tables.point_view import shared_sources
from gpulab.views.tables.published_view import missing_variant_error, published_provenance, unrolling
from gpulab.views.unfinished import keep_finished

if TYPE_CHECKING:
    from gpulab.devices.base import Device
    from gpulab.profiling.published_comparison import PublishedComparison

__all__ = ["beside_published", "comparison_view"]


def beside_published(variant: str, source: str = "t10", *, device: Device | str | None = None) -> View:
    """Compare the published figures of a kernel with those of this session's kernel.

    For each published row, the text of the kernel's cell is compiled with the row's block and tile, and
    modelled at the row's size on the GPU that was measured. A CUDA device also measures it.

    Parameters
    ----------
    variant : str
        The kernel: "K1" or "matmul.K1", likewise for Ks, K2, K3, K34, K4 and K5.
    source : {"t10", "gtx280", "gtx280_lecture", "cpu", "blog"}
        The document's table, as for `gpulab.published_table`.
    device : Device or str, optional
        An open device, or a name that `gpulab.device` accepts. If omitted, the session's device.

    Returns
    -------
    View
        A table in GFLOPS with the error of the model in percent. If the kernel's cell has not run, a line of
        text.

    Raises
    ------
    UsageError
        If there is no such table, or it has no figures of the variant.

    Examples
    --------
    >>> import gpulab
    >>> gpulab.beside_published("K1", source="t10")
    Run the cell that starts with `%%cuda matmul.K1` first. Its kernel is compared with the published figures.
    """
    from gpulab.notebook.tables.session_progress import progress_bar
    from gpulab.profiling.published_comparison import compare_with_published

    problem, _, short = variant.rpartition(".")
    document = source_named(source)
    published = [row for row in rows(source, variant=short) if problem in ("", row.problem)]
    if not published or not short:
        raise missing_variant_error(source, variant)

    name = f"{published[0].problem}.{short}"
    cell = session.cell(name)
    if cell is None:
        return paragraph(
            f"Run the cell that starts with `%%cuda {name}` first. Its kernel is compared with the published "
            "figures."
        )
    device_name = device if device is None or isinstance(device, str) else device.selector
    remaining = compare_with_published(published, cell, device_name)
    comparisons: list[PublishedComparison] = []

    def finished() -> View:
        return comparison_view(name, comparisons, document.citation) if comparisons else View()

    with keep_finished(finished), progress_bar("modelling") as progress:
        for number, row in enumerate(published):
            progress(number, len(published), row.label)
            comparisons.append(next(remaining))
    return comparison_view(name, comparisons, document.citation)


def comparison_view(name: str, comparisons: Sequence[PublishedComparison], citation: str) -> View:
    """Return the table, with the reasons why rows were not modelled below it."""
    footnotes = Footnotes()
    table = table_view(_columns(footnotes), comparisons, _caption(name, comparisons, citation))
    reasons = footnotes.lines()
    return stack(table, note("hint", "Not modelled", reasons) if reasons else None)


def _columns(footnotes: Footnotes) -> tuple[Column, ...]:
    def error(comparison: PublishedComparison) -> str | None:
        if comparison.error:
            return footnotes.mark(comparison.error)
        return None if comparison.error_percent is None else f"{comparison.error_percent:+.0f} %"

    return (
        Column("threads", _threads, source=lambda comparison: f"published as: {comparison.row.label}"),
        Column("unrolled", lambda comparison: unrolling(comparison.row)),
        Column("published overall", "row.overall_gflops", str, _published),
        Column("modelled overall", "modelled.overall_gflops", rate, _modelled_overall),
        Column("published kernel", "row.kernel_gflops", str, _published),
        Column("modelled kernel", "modelled.kernel_gflops", rate, _modelled),
        Column("error", error, str),
        Column("measured kernel", "measured.kernel_gflops", rate, "measured.provenance", optional=True),
    )


def _threads(comparison: PublishedComparison) -> str | None:
    return extents([number for number in comparison.row.block or () if number > 1]) or None


def _published(comparison: PublishedComparison) -> object:
    return published_provenance(comparison.row)


def _modelled(comparison: PublishedComparison) -> str:
    point = comparison.modelled
    if point is None or point.timing is None:
        return ""
    bound = f"; bound by {point.bottleneck}" if point.bottleneck else ""
    return f"{point.timing.provenance}{bound}"


def _modelled_overall(comparison: PublishedComparison) -> str:
    point = comparison.modelled
    copies = f"; copies: {point.copies.provenance}" if point and point.copies else ""
    return f"{_modelled(comparison)}{copies}"


def _caption(name: str, comparisons: Sequence[PublishedComparison], citation: str) -> str:
    points = [point for c in comparisons for point in (c.modelled, c.measured)]
    origins = shared_sources(point.timing for point in points if point and point.timing)
    caption = f"GFLOPS. Published: {citation}."
    if origins:
        caption += (
            f" {name} of this session: {'; '.join(origins)}. Error: of the modelled kernel if the document "
            "has the kernel alone, else of overall."
        )
    return caption
