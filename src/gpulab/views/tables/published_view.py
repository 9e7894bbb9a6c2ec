"""`gpulab.published_table`: figures that a course document printed."""

from __future__ import annotations

from gpulab.errors import UsageError
from gpulab.problems import problem
from gpulab.problems.published import PublishedRow, Source, rows, sources
from gpulab.problems.published import source as source_named
from gpulab.provenance import Provenance
from gpulab.views.html import View, disclosure, note, stack
from gpulab.views.tables.builder import Column, table_view
from gpulab.views.tables.number_format import block_name

__all__ = ["missing_variant_error", "published_provenance", "published_table", "unrolling"]


def published_provenance(row: PublishedRow) -> Provenance:
    """Return the document that printed a row."""
    return Provenance("published", source_named(row.source_key).machine, row.source)


def unrolling(row: PublishedRow) -> str | None:
    """Format the outputs per thread and the unrolling of the loop over k: i x4, k x2."""
    factors = [*zip("ij", row.tile or (), strict=False), ("k", row.k_unroll)]
    return ", ".join(f"{axis} x{factor}" for axis, factor in factors if factor > 1) or None


def _threads(row: PublishedRow) -> str | None:
    return None if row.block is None else block_name(row.block)


def _size(row: PublishedRow) -> str:
    return problem(row.problem).format_shape(row.shape) if row.shape else "not given"


def _figure(header: str, name: str) -> Column:
    """Declare a column of figures, with the decimals that were printed."""
    return Column(header, name, str, published_provenance, optional=True)


_COLUMNS = (
    Column("kernel", "label"),
    Column("threads", _threads, str, optional=True),
    Column("unrolled", unrolling, optional=True),
    Column("size", _size, str),
    _figure("overall (GFLOPS)", "overall_gflops"),
    _figure("kernel only (GFLOPS)", "kernel_gflops"),
    _figure("bound (GFLOPS)", "bound_gflops"),
    _figure("speed-up over a CPU", "speedup"),
)


def published_table(
    source: str = "t10", *, variant: str | None = None, source_key: str | None = None
) -> View:
    """Show the figures that a course document printed, as it printed them.

    Parameters
    ----------
    source : {"t10", "gtx280", "gtx280_lecture", "cpu", "blog", "device_query"}
        The document's table.
    variant : str, optional
        Show only the rows of this kernel: "Ks", "K1", "K2", "K3", "K34", "K4" or "K5". "gtx280_lecture" and
        "blog" have only K1 and K5, "t10" has K1 to K4 and K34, "gtx280" has all but K34. The other tables
        have no kernel names.
    source_key : str, optional
        Earlier name of `source`.

    Returns
    -------
    View
        A table with one row for each kernel, block and unrolling. The citation is below the table and in
        the tooltip of each figure.

    Raises
    ------
    UsageError
        If there is no such table, or it has no row of the variant.

    Examples
    --------
    >>> import gpulab
    >>> print(gpulab.published_table("t10", variant="K2").text.splitlines()[2])
    K2           32  4096x4096x4096              28.5                  29.8
    """
    document = source_named(source_key or source)
    if document.listing:
        return _listing(document)

    shown = rows(document.key, variant=variant)
    if not shown:
        raise missing_variant_error(document.key, variant or "")
    caption = (
        f"Published: {document.citation}. Machine: {document.machine}. Matrices: {document.layout}, float32."
    )
    return stack(table_view(_COLUMNS, shown, caption), _notes(document))


def missing_variant_error(source: str, variant: str) -> UsageError:
    """Return the error for a variant that a table does not have; it names the tables that have it."""
    available = ", ".join(dict.fromkeys(row.variant for row in rows(source) if row.variant)) or "none"
    short = variant.rpartition(".")[2]
    others = [key for key in sources() if short and rows(key, variant=short)]
    elsewhere = f" {short} is in: {', '.join(others)}." if others else ""
    return UsageError(
        f"`{source}` has no published figures of `{variant}`. It has those of: {available}.{elsewhere}"
    )


def _listing(document: Source) -> View:
    origin = Provenance("published", document.machine, document.citation)
    columns = (
        Column("property", lambda line: line[0]),
        Column("published", lambda line: line[1], source=lambda _: origin),
    )
    caption = f"Published: {document.citation}. Machine: {document.machine}."
    return stack(table_view(columns, document.listing, caption), _notes(document))


def _notes(document: Source) -> View:
    if not document.notes:
        return View()
    return disclosure("How the printed table is read", note("plain", "Notes", document.notes))
