"""`gpulab.device_query`: the properties of a GPU, each with its formula and its source."""

from __future__ import annotations

from collections.abc import Iterable

from gpulab.devices.base import Device
from gpulab.devices.listing import ListingEntry, heading, listing_entries
from gpulab.devices.query import DeviceProperties
from gpulab.problems.published import source
from gpulab.provenance import Provenance
from gpulab.views.html import View, note, stack
from gpulab.views.tables.builder import Column, table_view
from gpulab.views.tables.device_choice import chosen_device
from gpulab.views.tables.number_format import byte_size

__all__ = ["device_query", "figures_provenance"]

_LISTING = "device_query"  # key of the published listing


def device_query(device: Device | None = None, *, published: bool = False, gpu: str | None = None) -> View:
    """Show the properties of a GPU: the listing of Lab 0, and what newer GPUs add to it.

    Parameters
    ----------
    device : Device, optional
        An open device. The simulator shows the GPU that it models. If omitted, the session's device.
    published : bool
        Add the listing that the PASI manual prints, of a GeForce GTX 480.
    gpu : str, optional
        Key of a catalogue GPU: "gtx280", "t10", "gtx480", "k40", "gtx1080", "v100", "t4", "rtx3090",
        "a100", "rtx4090", "h100" or "h200". Not together with `device`.

    Returns
    -------
    View
        A table. The source of each figure, and its formula if it is computed, are in its tooltip.

    Raises
    ------
    UsageError
        If the catalogue has no such GPU, or both `device` and `gpu` are given.

    Examples
    --------
    >>> import gpulab
    >>> print(gpulab.device_query(gpu="gtx480").text.splitlines()[5])
    Number of multiprocessors                      15
    """
    properties = chosen_device(device, gpu).properties()
    columns = [
        Column("property", "label"),
        Column(
            properties.name,
            lambda entry: _with_unit(str(entry)),
            source=lambda entry: _source(properties, entry),
        ),
    ]
    caption = f"{heading(properties)}. Figures: {properties.source}; hover over one for its source."
    if published:
        listing = source(_LISTING)
        values = dict(listing.listing)
        origin = Provenance("published", listing.machine, listing.citation)
        columns.append(
            Column(
                f"{listing.machine}, as printed",
                lambda entry: values.get(entry.label),
                source=lambda _: origin,
            )
        )
        caption += f" Printed: {listing.citation}. {' '.join(listing.notes)}"
    return stack(table_view(columns, listing_entries(properties), caption), note("good", "Test PASSED"))


def figures_provenance(properties: DeviceProperties, figures: Iterable[str]) -> Provenance:
    """Return the origin of a device's figures: its driver, or the sources that the catalogue names."""
    by_figure = [properties.figure_sources.get(figure, "") for figure in figures]
    sources = list(dict.fromkeys(text for text in by_figure if text))
    if properties.kind == "cuda" and (not sources or "" in by_figure):
        return Provenance("measured", properties.name, "; ".join(["reported by the CUDA driver", *sources]))
    catalogue = properties.source.removeprefix("published, ")
    return Provenance("published", properties.name, "; ".join(sources) or catalogue)


def _source(properties: DeviceProperties, entry: ListingEntry) -> str:
    if not entry.figures and properties.kind != "cuda":
        return ""
    formula = f"; computed: {entry.formula}" if entry.formula else ""
    return f"{figures_provenance(properties, entry.figures)}{formula}"


def _with_unit(text: str) -> str:
    """Add a binary unit to a large number of bytes; the number itself stays as the listing prints it."""
    number, _, unit = text.partition(" ")
    if unit != "bytes" or not number.isdecimal() or int(number) < 2**20:
        return text
    return f"{text} ({byte_size(int(number))})"
