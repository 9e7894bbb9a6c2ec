"""Tables of the measurements for a terminal, and the same data for a JSON file."""

from __future__ import annotations

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from benchmarks.simulators.compare import SAMPLE_S, Comparison, Samples
from benchmarks.simulators.costs import CompileCost
from benchmarks.simulators.scaling import Scaling
from benchmarks.simulators.tiers import MINIMUM_RATIOS, WITH_OCLGRIND, Tiers

__all__ = [
    "as_data",
    "comparison_table",
    "compile_table",
    "import_line",
    "machine_line",
    "scaling_table",
    "tiers_table",
]

GPULAB = "gpulab"


def machine_line(machine: dict[str, Any]) -> str:
    """Return a description of the machine, with a warning if it is busy."""
    line = "measured on {cores} cores of {cpu}, {system}, Python {python}".format(**machine)
    if machine["load"] > 0.5 * machine["cores"]:
        line += (
            f"\n[yellow]other processes are running (load {machine['load']:.1f}): expect wide quartiles[/]"
        )
    return line


def _rate(value: float, unit: str) -> str:
    for scale, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= scale:
            return f"{value / scale:.3g} {prefix}{unit}/s"
    return f"{value:.3g} {unit}/s"


def _times(value: float) -> str:
    return f"{value:.2f}" if value < 100 else f"{value:,.0f}" if value < 1e4 else f"{value / 1e3:.0f},000"


def _ratio(samples: Samples) -> str:
    low, high = samples.quartiles
    if high < 1e4:
        return f"{_times(samples.median)} [dim]({_times(low)}-{_times(high)})[/]"
    return f"{_times(samples.median)} [dim]({low / 1e3:.0f}-{high / 1e3:.0f} k)[/]"


def _milliseconds(samples: Samples) -> str:
    low, high = samples.quartiles
    return f"{samples.median * 1e3:.1f} [dim]({low * 1e3:.1f}-{high * 1e3:.1f})[/]"


def _spread(samples: Samples) -> str:
    low, high = samples.quartiles
    return f"{samples.median * 1e3:.1f} [dim]±{(high - low) / 2 / samples.median:.0%}[/]"


def comparison_table(comparisons: list[Comparison], versions: dict[str, str]) -> Table:
    """Return a table with a row per engine: its time, its rate, and gpulab's rate divided by it."""
    rounds = len(next(iter(comparisons[0].seconds.values())).values)
    caption = [
        f"Wall time, median of {rounds} interleaved rounds; ± half the interquartile range.",
        f"In a round, each engine launches for {SAMPLE_S:g} s, and the median of these launches counts.",
        "Ratios are taken within a round; quartiles in parentheses.",
        *(f"{name}: {version}." for name, version in versions.items()),
    ]
    table = Table(
        title="gpulab's simulator and its peers",
        caption="\n".join(caption),
        caption_justify="left",
        box=SIMPLE_HEAD,
    )
    table.add_column("", no_wrap=True)
    for title in ("ms", "rate", "gpulab / peer"):
        table.add_column(title, justify="right", no_wrap=True)
    for c in comparisons:
        table.add_row(f"[bold]{c.workload.title}, {c.workload.size}")
        for name, seconds in c.seconds.items():
            size = "" if c.size[name] == c.workload.size else f", {c.size[name]}"
            ratio = f"[bold]{_ratio(c.ratios[name])}[/]" if name in c.ratios else ""
            rate = _rate(c.rate(name), c.workload.unit)
            table.add_row(f"  {name}{size}", _spread(seconds), rate, ratio)
        for name, reason in c.unavailable.items():
            table.add_row(f"  {name}", reason)
    return table


def import_line(imports: Samples) -> str:
    """Return a line with the time of the import."""
    return f"import gpulab, without the import of NumPy: {_milliseconds(imports)} ms"


def compile_table(compiles: list[CompileCost]) -> Table:
    """Return a table with a row per lab kernel, in milliseconds."""
    table = Table(
        title="from a lab kernel's source to running code, in a new process",
        caption="Milliseconds, median and quartiles: compilation and first launch, with NVRTC and LLVM.",
        caption_justify="left",
        box=SIMPLE_HEAD,
    )
    table.add_column("kernel")
    table.add_column("cold", justify="right")
    table.add_column("from the disk cache", justify="right")
    for cost in compiles:
        table.add_row(cost.kernel, _milliseconds(cost.cold), _milliseconds(cost.warm))
    return table


def scaling_table(scaling: list[Scaling]) -> Table:
    """Return a table with a row per kernel and size: its rate on one core and on all, and their ratio."""
    cores = scaling[0].cores
    table = Table(
        title="the simulator on one core and on all cores",
        caption="Median rate of the repeats, in one process on one core and another on all cores.",
        caption_justify="left",
        box=SIMPLE_HEAD,
    )
    table.add_column("kernel")
    for title in ("size", "one core", f"{cores} cores", "ratio"):
        table.add_column(title, justify="right")
    for row in scaling:
        unit = row.workload.unit
        ratio = f"{row.all_cores / row.one_core:.2f}"
        one, every = _rate(row.one_core, unit), _rate(row.all_cores, unit)
        table.add_row(row.workload.title, str(row.size), one, every, ratio)
    return table


def tiers_table(tiers: list[Tiers], remark: str) -> Table:
    """Return a table with time and rate of each tier, and ratios of rates with their required minimum."""
    rounds = len(tiers[0].seconds["values"].values)
    caption = [
        f"Wall time, median of {rounds} interleaved rounds.",
        "Ratios of rates are taken within a round; quartiles in parentheses.",
        "The racecheck tier runs on one core, so that its findings are reproducible.",
        f"{remark}.",
    ]
    table = Table(
        title="cost of counting and sanitizing",
        caption="\n".join(caption),
        caption_justify="left",
        box=SIMPLE_HEAD,
    )
    table.add_column("", no_wrap=True)
    for title in ("ms", "rate", "ratio", "minimum"):
        table.add_column(title, justify="right", no_wrap=True)
    for t in tiers:
        table.add_row(f"[bold]{t.workload.title}, {t.workload.size}")
        for name, seconds in t.seconds.items():
            rate = _rate(t.rate(name), t.workload.unit)
            table.add_row(f"  {name}", f"{seconds.median * 1e3:.1f}", rate)
        for name, minimum in MINIMUM_RATIOS.items():
            if name in t.ratios:
                ratio = t.ratios[name]
                low, high = (_share(quartile) for quartile in ratio.quartiles)
                shown = f"[bold]{_share(ratio.median)}[/] [dim]({low}-{high})[/]"
                colour = "green" if ratio.median >= minimum else "red"
                table.add_row(f"  {name}", "", "", shown, f"[{colour}]{minimum:g}[/]")
            elif t.workload.kernel == WITH_OCLGRIND:
                table.add_row(f"  {name}", "", "", "not measured", f"{minimum:g}")
    return table


def _share(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3f}"


def as_data(
    machine: dict[str, Any],
    versions: dict[str, str],
    comparisons: list[Comparison],
    imports: Samples,
    scaling: list[Scaling],
    compiles: list[CompileCost],
    tiers: list[Tiers],
) -> dict[str, Any]:
    """Return all samples as plain data, in seconds."""
    return {
        "machine": machine,
        "versions": versions,
        "comparisons": [
            {
                "kernel": c.workload.kernel,
                "size": c.size,
                "unit": c.workload.unit,
                "work": c.work,
                "seconds": {name: s.as_dict() for name, s in c.seconds.items()},
                "gpulab_over": {name: s.as_dict() for name, s in c.ratios.items()},
                "unavailable": c.unavailable,
            }
            for c in comparisons
        ],
        "tiers": [
            {
                "kernel": t.workload.kernel,
                "size": t.workload.size,
                "unit": t.workload.unit,
                "work": t.work,
                "seconds": {name: s.as_dict() for name, s in t.seconds.items()},
                "ratios": {name: s.as_dict() for name, s in t.ratios.items()},
            }
            for t in tiers
        ],
        "import_seconds": imports.as_dict(),
        "compile_seconds": [
            {"kernel": c.kernel, "cold": c.cold.as_dict(), "warm": c.warm.as_dict()} for c in compiles
        ],
        "scaling": [
            {"kernel": s.workload.kernel, "size": s.size, "one_core": s.one_core, "all_cores": s.all_cores}
            for s in scaling
        ],
    }
