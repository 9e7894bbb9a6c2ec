"""`python -m benchmarks.nsight_compare`: gpulab.counters beside what Nsight Compute counted on an H200.

The simulator is given the very programs that the GPU ran and the same arguments; no GPU is needed. With
--page it writes docs/counters.md. With --pack FILE ... it first makes the figures under benchmarks/figures
from results of `python -m benchmarks.nsight`; --on says what they were measured on.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import gpulab
from benchmarks.nsight_figures import COMPARED, Figures, pack
from benchmarks.nsight_launches import Launch, launches
from gpulab.compiler import compile_program
from gpulab.compiler.program import Resources
from gpulab.devices.simulated import SimulatedDevice, SimulatedKernel

__all__ = ["FEWEST_REGISTERS", "Compared", "Difference", "compare", "counted", "kernel_of", "summary"]

FEWEST_REGISTERS = 16  # ncu reports, and the GPU allocates, at least as many


@dataclass(frozen=True)
class Difference:
    """One figure of one launch: ours and ncu's."""

    launch: str
    name: str
    ours: int
    measured: int

    @property
    def relative(self) -> float:
        return (self.ours - self.measured) / max(self.measured, 1)


@dataclass(frozen=True)
class Compared:
    """One launch. figures: by short name. caveats: what gpulab says itself to be an estimate."""

    launch: Launch
    figures: Mapping[str, Difference]
    caveats: tuple[str, ...]


def kernel_of(device: SimulatedDevice, launch: Launch, program: Mapping[str, Any]) -> SimulatedKernel:
    """The kernel that the GPU ran."""
    here = compile_program(launch.source.text, defines=launch.source.defines)
    there = replace(
        here,
        ptx=program["ptx"],
        cubin=program["cubin"],
        entries=program["entries"],
        resources={name: Resources(**found) for name, found in program["resources"].items()},
    )
    return SimulatedKernel(device, there, launch.kernel, independent_threads=True)


def counted(counts: gpulab.Counters) -> dict[str, int]:
    """Our side, by the short names of `COMPARED`."""
    found = {
        name: round(counts[metric])
        for name, metric in COMPARED.items()
        if metric in counts and name != "registers"
    }
    found["registers"] = max(FEWEST_REGISTERS, counts.registers_per_thread)
    for kind in ("load", "store"):
        found[f"shared {kind} requests"] = counts.total("requests", "shared", kind)
    found["bank conflicts"] = sum(counts.total("bank_conflicts", "shared", k) for k in ("load", "store"))
    return found


def compare(figures: Figures, wanted: tuple[Launch, ...]) -> Iterator[Compared]:
    """Launch after launch, those of which there are figures."""
    device = gpulab.device("sim")
    assert isinstance(device, SimulatedDevice)
    kernels: dict[tuple[str, str], SimulatedKernel] = {}
    for launch in wanted:
        measured = figures.measured.get(launch.name)
        if measured is None:
            continue
        key = launch.source.name, launch.kernel
        if key not in kernels:
            kernels[key] = kernel_of(device, launch, figures.programs[launch.source.name])
        arguments = [
            device.asarray(value) if getattr(value, "ndim", 0) else value for value in launch.arguments()
        ]
        counts = gpulab.counters(kernels[key], launch.grid, launch.block, arguments)
        ours = counted(counts)
        both = {
            name: Difference(launch.name, name, ours[name], measured[name])
            for name in COMPARED
            if name in ours and name in measured
        }
        yield Compared(launch, both, counts.caveats)


def summary(some: list[Compared]) -> dict[str, tuple[int, int, Difference | None]]:
    """By short name: launches that agree exactly, launches in all, the worst difference if there is one."""
    found = {}
    for name in COMPARED:
        of = [one.figures[name] for one in some if name in one.figures]
        off = [one for one in of if one.ours != one.measured]
        worst = max(off, key=lambda one: abs(one.relative), default=None)
        found[name] = len(of) - len(off), len(of), worst
    return found


def print_summary(console: Console, some: list[Compared]) -> None:
    table = Table("figure", "exact", "of", "worst", "ours", "ncu's", "launch")
    for name, (exact, of, worst) in summary(some).items():
        row = [name, str(exact), str(of)]
        if worst is not None:
            row += [f"{worst.relative:+.2%}", f"{worst.ours:,}", f"{worst.measured:,}", worst.launch]
        table.add_row(*row)
    console.print(table)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nsight_compare", description=__doc__)
    parser.add_argument("--group", choices=("micro", "stencil", "matmul"), help="only these launches")
    parser.add_argument("--page", action="store_true", help="write docs/counters.md")
    parser.add_argument("--pack", type=Path, nargs="+", metavar="FILE", help="make the figures from these")
    parser.add_argument("--on", nargs="+", default=[], help="with --pack: device, driver, CUDA, a line each")
    options = parser.parse_args(arguments)
    if options.pack:
        pack(options.pack, options.on)
    figures = Figures.read()
    wanted = tuple(launch for launch in launches() if options.group in (None, launch.group))
    some = list(compare(figures, wanted))
    print_summary(Console(), some)
    if options.page:
        from benchmarks.nsight_page import PAGE, page

        PAGE.write_text(page(figures, some), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
