"""The GPUs of the catalogue beside each other: generation, size, peak and bandwidth, with bars."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gpulab.views.html import View, escape, table

if TYPE_CHECKING:
    from gpulab.gpus.catalogue import GpuSpec

__all__ = ["catalogue_table"]

_HEADS = (
    "GPU", "generation", "c.c.", "SMs", "cores", "MHz", "bus, bits", "GB", "GB/s", "GFLOPS", "flop a float",
)  # fmt: skip
_LEFT = 3  # columns that are words
_CAPTION = (
    "Published: data sheets (hover over a number for its source). c.c.: compute capability. "
    "GFLOPS = cores * 2 * clock; GB/s = 2 * memory clock * bus / 8. Flop a float: operations that a kernel "
    "must make with each float it moves before arithmetic bounds it. Bars: share of the column's largest."
)


def catalogue_table() -> View:
    """Every GPU of the catalogue, oldest first, with theoretical fp32 peak and memory bandwidth.

    Formulas and units as in `gpulab.gpus.catalogue`; each figure's source in the hover.
    """
    from gpulab.gpus.catalogue import gpu, names

    specs = [gpu(name) for name in names()]
    text = table(
        _HEADS, [_words(spec) for spec in specs], numeric=range(_LEFT, len(_HEADS)), caption=_CAPTION
    )
    return View(_html(specs), text.text)


def _words(spec: GpuSpec) -> tuple[str, ...]:
    major, minor = spec.compute_capability
    return (
        spec.name,
        spec.architecture,
        f"{major}.{minor}",
        f"{spec.sms}",
        f"{spec.cores:,}",
        f"{spec.boost_clock_mhz:g}",
        f"{spec.memory_bus_bits:,}",
        f"{spec.memory_bytes / 1e9:.0f}",
        f"{spec.dram_gb_s:,.0f}",
        f"{spec.peak_fp32_gflops:,.0f}",
        f"{_flop_per_float(spec):.0f}",
    )


def _flop_per_float(spec: GpuSpec) -> float:
    return spec.peak_fp32_gflops / (spec.dram_gb_s / 4)


# The columns behind the words: which figures of the catalogue each number is made of.
_MADE_OF = (
    ("sms",), ("sms",), ("boost_clock_mhz",), ("memory_bus_bits",), ("memory_bytes",),
    ("memory_clock_mhz", "memory_bus_bits"), ("sms", "boost_clock_mhz"),
    ("sms", "boost_clock_mhz", "memory_clock_mhz", "memory_bus_bits"),
)  # fmt: skip


def _html(specs: list[GpuSpec]) -> str:
    drawn = {8: "dram_gb_s", 9: "peak_fp32_gflops"}  # columns with a bar
    most = {column: max(getattr(spec, name) for spec in specs) for column, name in drawn.items()}
    rows = []
    for spec in specs:
        cells = []
        for column, words in enumerate(_words(spec)):
            if column < _LEFT:
                cells.append(f"<td>{escape(words)}</td>")
                continue
            says = escape("; ".join(_sources(spec, _MADE_OF[column - _LEFT])))
            bar = ""
            if column in drawn:
                part = 100 * getattr(spec, drawn[column]) / most[column]
                bar = f' gp-share" style="--gp-part:{part:.1f}%'
            cells.append(f'<td class="gp-n{bar}" title="{says}">{escape(words)}</td>')
        rows.append(f"<tr>{''.join(cells)}</tr>")
    number = ' class="gp-n"'
    heads = "".join(
        f"<th{number if column >= _LEFT else ''}>{escape(head)}</th>" for column, head in enumerate(_HEADS)
    )
    return (
        f'<div class="gp-scroll"><table class="gp-table"><caption>{escape(_CAPTION)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _sources(spec: GpuSpec, figures: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(spec.sources[figure] for figure in figures))
