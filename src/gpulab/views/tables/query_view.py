"""The device query as a table: every figure with its formula and where it comes from."""

from __future__ import annotations

from collections.abc import Iterable

from gpulab.devices import open_device
from gpulab.devices.base import Device
from gpulab.devices.listing import heading, listing_entries
from gpulab.devices.query import DeviceProperties
from gpulab.problems.published import source
from gpulab.provenance import Provenance
from gpulab.views.html import View, note, stack, table

__all__ = ["device_query", "figures_provenance", "size"]

_LISTING = "device_query"  # the published listing's key


def device_query(device: Device | None = None, *, published: bool = False) -> View:
    """What a GPU is: Lab 0's listing and what newer GPUs add, asked of CUDA or read from the catalogue.

    device: None for the one that kernels run on; the simulator shows the GPU that it models.
    published: with the listing that the PASI manual prints, of a GeForce GTX 480, in a third column.
    """
    properties = (device or open_device()).properties()
    entries = listing_entries(properties)
    rows: list[tuple[str, ...]] = [(entry.label, _with_unit(str(entry))) for entry in entries]
    hover = {
        (i, 1): f"{figures_provenance(properties, entry.figures)}{_computed(entry.formula)}"
        for i, entry in enumerate(entries)
        if entry.figures or properties.kind == "cuda"
    }
    headers: tuple[str, ...] = ("property", properties.name)
    caption = f"{heading(properties)}. Figures: {properties.source}; hover over one for its own source."
    if published:
        where = source(_LISTING)
        printed = dict(where.listing)
        hover |= {
            (i, 2): str(Provenance("published", where.machine, where.citation))
            for i, entry in enumerate(entries)
            if entry.label in printed
        }
        rows = [(*row, printed.get(row[0], "")) for row in rows]
        headers = (*headers, f"{where.machine}, as printed")
        caption += f" Printed: {where.citation}. {' '.join(where.notes)}"
    return stack(table(headers, rows, caption=caption, hover=hover), note("good", "Test PASSED"))


def figures_provenance(properties: DeviceProperties, figures: Iterable[str]) -> Provenance:
    """Where figures of a device come from: its driver, or the sources that the catalogue names."""
    found = [properties.figure_sources.get(figure, "") for figure in figures]
    told = list(dict.fromkeys(text for text in found if text))
    if properties.kind == "cuda" and (not told or "" in found):
        return Provenance("measured", properties.name, "; ".join(["reported by the CUDA driver", *told]))
    return Provenance(
        "published", properties.name, "; ".join(told) or properties.source.removeprefix("published, ")
    )


def size(nbytes: int) -> str:
    """A number of bytes in the largest unit that fits: `227 KiB`, `139.8 GiB`."""
    for unit, words in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if nbytes >= unit:
            return f"{nbytes / unit:.4g} {words}"
    return f"{nbytes} bytes"


def _with_unit(text: str) -> str:
    """Bytes that nobody can read at a glance, in GiB or MiB too; the listing's own bytes stay."""
    number, _, unit = text.partition(" ")
    if unit != "bytes" or not number.isdecimal() or int(number) < 2**20:
        return text
    return f"{text} ({size(int(number))})"


def _computed(formula: str) -> str:
    return f"; computed: {formula}" if formula else ""
