"""What each step of a ladder asks of memory, side by side: counted, and for one point of the output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulab.errors import GpulabError
from gpulab.problems import problem as problem_named
from gpulab.views.html import View, paragraph, stack, table

if TYPE_CHECKING:
    from gpulab.cell import Cell
    from gpulab.profiling.counts.metrics import Counters

__all__ = ["traffic_table"]

LANES = 32


def traffic_table(problem: str = "stencil") -> View:
    """Requests and sectors of this session's kernels of a problem, for every 32 units of its work.

    The work is the stencil's inner points, or the product's multiply-adds: 32 of them are what a warp does
    at once when each thread does one. Counted at the size on which the steps' promises are counted, where
    little is lost at the edges.

    Raises `UsageError` for a problem that is not there.
    """
    from gpulab import session

    known = problem_named(problem)
    rows: list[tuple[str, ...]] = []
    notes: dict[str, None] = {}
    for variant in known.variants:
        cell = session.cell(f"{known.name}.{variant}")
        if cell is None:
            continue
        try:
            counts, shape = _counted(cell)
        except GpulabError as error:
            notes[f"{variant}: {str(error).splitlines()[0].rstrip('.')}"] = None
            continue
        rows.append((variant, *_figures(counts, known.work(shape) / LANES)))
        words = str(counts.provenance)
        notes[words[0].upper() + words[1:]] = None
    if not rows and notes:
        return stack(*(paragraph(f"{words}.", dim=True) for words in notes))
    if not rows:
        first = next(iter(known.variants))
        return paragraph(
            f"no kernel of {known.name} has run yet: run `%%cuda {known.name}.{first}` and those after it.",
            dim=True,
        )
    headers = ("variant", "global loads", "their sectors", "global stores", "shared loads", "shared stores")
    work = "inner points" if known.name == "stencil" else "multiply-adds"
    caption = f"Requests of warps, and 32-byte sectors, for every {LANES} {work}. {'. '.join(notes)}."
    return table((*headers, "requests in all"), rows, numeric=range(1, 7), caption=caption)


def _counted(cell: Cell) -> tuple[Counters, tuple[int, ...]]:
    """One launch of a cell's kernel, counted."""
    import numpy as np

    from gpulab import session
    from gpulab.cell import require_kernel_cell
    from gpulab.devices import open_device
    from gpulab.profiling.counts.counters import counters
    from gpulab.verification.inputs import place_arguments

    config, device = require_kernel_cell(cell).config, open_device()
    launch = config.at(config.counted_shape, device.spec)
    arguments = config.problem.arguments(launch.shape, np.random.default_rng(0))
    args = list(place_arguments(device, arguments).values())
    return counters(session.kernel(cell.name), launch.grid, launch.block, args), launch.shape


def _figures(counts: Counters, work: float) -> tuple[str, ...]:
    copies = [a for a in counts.accesses if a.kind == "copy"]  # asynchronous: a reading and a writing half
    read = counts.global_load_requests + sum(a.requests for a in copies if a.space == "global")
    sectors = counts.global_load_sectors + sum(a.sectors for a in copies if a.space == "global")
    kept = counts.shared_store_requests
    each = (read, sectors, counts.global_store_requests, counts.shared_load_requests, kept)
    total = read + counts.global_store_requests + counts.shared_load_requests + kept
    return tuple(f"{number / work:.1f}" for number in (*each, total))
