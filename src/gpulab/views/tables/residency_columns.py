"""The columns of registers, resident warps and blocks, and waves, for tables of times."""

from __future__ import annotations

from collections.abc import Iterable

from gpulab.profiling.residency import Residency
from gpulab.views.tables.builder import Column
from gpulab.views.tables.number_format import ratio

__all__ = ["RESIDENCY_COLUMNS", "residency_caption"]

RESIDENCY_COLUMNS = (
    Column("registers", "residency.registers", str, optional=True),
    Column("warps/SM", "residency.warps_per_sm", str, optional=True),
    Column("blocks/SM", "residency.blocks_per_sm", str, optional=True),
    Column("waves", "residency.waves", ratio, optional=True),
)
"""The columns, for rows with an attribute `residency`."""


def residency_caption(residencies: Iterable[Residency | None]) -> str:
    """Return the sentences that explain the columns and name the compiler; "" if there are no figures."""
    compilers = list(dict.fromkeys(each.compiler for each in residencies if each))
    if not compilers:
        return ""
    return (
        " Registers: of a thread. Warps and blocks: resident on an SM at once. Waves: blocks of the grid "
        f"divided by the resident blocks of all SMs. Compiler: {'; '.join(compilers)}."
    )
