"""Text of docs/races.md: what `gpulab.sanitize` reports on public suites of kernels with planted races."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.markdown import paragraph
from benchmarks.races.gpurepair_page import RepairVerdict, read_repair_verdicts, repair_section
from benchmarks.races.indigo_suite import BLOCK, GRID, RACE_BUGS, SuiteKernel

__all__ = ["FIGURES", "IndigoFigures", "KernelVerdicts", "page", "summary", "write_page"]

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "races.md"
FIGURES = ROOT / "benchmarks" / "figures" / "indigo.json"
ARTIFACT = "https://github.com/JohnJacobsonIII/HiRace-Artifact-SC24"
# Races found by HiRace, iGUARD and compute-sanitizer: table 1 of HiRace's paper (SC 2024).
PUBLISHED = {
    "DAG_100n_200e": (346, 298, 92),
    "DAG_200n_400e": (346, 298, 92),
    "counterDAG_200n_1000e": (346, 298, 56),
    "power_law_200n_1000e": (346, 297, 128),
    "DAG_5n_5e": (182, 118, 92),
    "counterDAG_5n_5e": (295, 148, 92),
}
PUBLISHED_KERNELS, PUBLISHED_RACES = 580, 346
_REASONS = {
    "n": "No accesses conflict in this launch",
    "e": (
        "Accesses conflict, but none changes the value of its element. gpulab reports such writes if the "
        "value is computed from that of the element, and the load and the store are in one basic block; of a "
        "loop, the compiler can move the load to the front"
    ),
    "v": "Accesses conflict, and a write changes the value of its element",
    "?": "The accesses were not logged",
}


@dataclass(frozen=True)
class KernelVerdicts:
    """The reports of gpulab on one kernel.

    Attributes
    ----------
    name : str
        The name of the source file.
    races : str
        A letter for each graph: `r` if a race is reported as an error, `w` if all are warnings, `-` if none
        is reported. Empty if the kernel did not run.
    conflicts : str
        A letter for each graph: `.` if the report agrees with the suite's label, else the first letter of
        what the accesses conflict in: `n`othing, `e`qual values or `v`alues; `?` if not logged.
    bounds : str
        For kernels with a bounds bug, a letter for each graph: `b` if an access outside an array is reported,
        else `-`.
    reports : tuple of str
        Reports of other errors than races, each with its graph.
    """

    name: str
    races: str
    conflicts: str
    bounds: str = ""
    reports: tuple[str, ...] = ()

    @property
    def suite_kernel(self) -> SuiteKernel:
        return SuiteKernel(Path(f"{self.name}.cu"))

    @property
    def has_race(self) -> bool:
        """The suite's label."""
        return bool(self.suite_kernel.race_bugs)

    def reports_race(self, graph: int, severities: str = "rw") -> bool:
        return self.races[graph : graph + 1] in tuple(severities)


@dataclass(frozen=True)
class IndigoFigures:
    """The verdicts of one run; graphs: those of the launches, in the order of the letters."""

    graphs: tuple[str, ...]
    kernels: tuple[KernelVerdicts, ...]

    @classmethod
    def read(cls, path: Path) -> IndigoFigures:
        stored = json.loads(path.read_text(encoding="utf-8"))
        rows = [KernelVerdicts(**{**row, "reports": tuple(row["reports"])}) for row in stored["kernels"]]
        return cls(tuple(stored["graphs"]), tuple(rows))

    def store(self, path: Path) -> None:
        """Write the figures, one line for each kernel."""
        rows = ",\n".join(f"  {json.dumps(asdict(row))}" for row in self.kernels)
        path.write_text(
            f'{{\n "graphs": {json.dumps(self.graphs)},\n "kernels": [\n{rows}\n ]\n}}\n', encoding="utf-8"
        )

    @property
    def racy(self) -> list[KernelVerdicts]:
        """The kernels with the label "race"."""
        return [row for row in self.kernels if row.has_race]

    @property
    def right(self) -> list[KernelVerdicts]:
        """The kernels with the label "no race"."""
        return [row for row in self.kernels if not row.has_race]


def write_page() -> None:
    """Write docs/races.md from the stored figures of both suites."""
    PAGE.write_text(page(IndigoFigures.read(FIGURES), read_repair_verdicts()), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")


def page(figures: IndigoFigures, verdicts: Sequence[RepairVerdict]) -> str:
    """Return the page in Markdown."""
    racy, right, total = len(figures.racy), len(figures.right), len(figures.kernels)
    more = total - PUBLISHED_KERNELS
    lines = [
        "# Data races in public suites of kernels",
        "",
        *paragraph("""
            Two suites state for each kernel whether it has a data race. This page compares these labels with
            the reports of `gpulab.sanitize`, and says for each difference which of the two is right."""),
        "## Indigo",
        "",
        *paragraph(f"""
            Indigo (Liu, Azami, Walters and Burtscher, ISPASS 2022) is a suite of small CUDA kernels on
            graphs. The name of a file states the mistakes that are planted in it. [HiRace's
            artifact]({ARTIFACT}) (Jacobson, Burtscher and Gopalakrishnan, SC 2024) contains {total} of
            these kernels: {racy} with a race and {right} without one."""),
        *summary(figures),
        "",
        *paragraph("""
            gpulab's column counts the kernels for which racecheck reports a race in this launch. If it is
            a warning only, plain reads race with `atomicMax` of the same element, as in `if (x[0] < v)
            atomicMax(x, v)`: by CUDA's memory model that is a data race, and in most kernels every order of
            the threads gives the same result ([simulator.md](simulator.md)).
            In the kernels of `conditional_edge_neighbors_block` without `shfl` it does not: the guard
            compares the value of one thread, and the atomic stores that of the block."""),
        *paragraph(f"""
            The columns of HiRace, iGUARD and compute-sanitizer are the races found in table 1 of HiRace's
            paper, measured on a GPU. That table counts {PUBLISHED_KERNELS} kernels, {PUBLISHED_RACES} of
            them with a race, and no false alarms. The artifact has {more} more kernels, without a race; it
            does not say which."""),
        "Races found by gpulab, by the mistakes of the kernel:",
        "",
        *_by_mistake(figures),
        "",
        *_differences(figures),
        *_bounds_section(figures),
        *_method(figures),
        *repair_section(verdicts),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def summary(figures: IndigoFigures) -> list[str]:
    """Return the table of all graphs, as lines of Markdown."""
    racy, right, others = figures.racy, figures.right, ("HiRace", "iGUARD", "compute-sanitizer")
    lines = [
        f"| graph | gpulab, of {len(racy)} | as warnings | {' | '.join(others)} | alarms, of {len(right)} |",
        "|---|---|---|---|---|---|---|",
    ]
    for number, graph in enumerate(figures.graphs):
        found, alarms = (sum(row.reports_race(number) for row in rows) for rows in (racy, right))
        warnings = sum(row.reports_race(number, "w") for row in racy)
        published = " | ".join(map(str, PUBLISHED[graph]))
        lines.append(f"| {graph} | {found} | {warnings} | {published} | {alarms} |")
    return lines


def _by_mistake(figures: IndigoFigures) -> list[str]:
    groups: dict[tuple[str, ...], list[KernelVerdicts]] = {}
    for row in figures.racy:
        groups.setdefault(row.suite_kernel.race_bugs, []).append(row)
    lines = [
        f"| mistakes | kernels | {' | '.join(figures.graphs)} |",
        f"|---|---|{'---|' * len(figures.graphs)}",
    ]
    for bugs, rows in sorted(groups.items()):
        found = [str(sum(row.reports_race(n) for row in rows)) for n in range(len(figures.graphs))]
        lines.append(f"| {', '.join(bugs)} | {len(rows)} | {' | '.join(found)} |")
    return lines


def _differences(figures: IndigoFigures) -> list[str]:
    """List the launches whose report differs from the label, by reason."""
    lines = ["### Where a report differs from Indigo's label", ""]
    missed = _by_reason(figures.racy, figures.graphs)
    alarms = _by_reason(figures.right, figures.graphs)
    if missed or alarms:
        lines += paragraph("""
            For these launches, each access to the two data arrays was logged by other means than those of
            the race check. Two accesses of an element by two threads conflict if one of them is a write or
            an atomic operation, and not both are atomic.""")
    lines += ["Launches of the kernels with a race:", "", *_by_conflict(figures), ""]
    for title, groups in (("Not reported", missed), ("Reported without a label", alarms)):
        lines += [f"#### {title}", "", *([] if groups else ["None.", ""])]
        for letter, by_graphs in sorted(groups.items()):
            lines += paragraph(f"{_REASONS[letter]}.")
            lines += ["| graphs | kernels | |", "|---|---|---|"]
            lines += [
                f"| {where} | {len(names)} | {', '.join(names)} |" for where, names in by_graphs.items()
            ]
            lines.append("")
    return lines


def _by_conflict(figures: IndigoFigures) -> list[str]:
    """Return a table: of the kernels with a race, how many are reported on each graph, and why others not."""
    columns = {"e": "only equal values conflict", "n": "no conflict"}
    columns |= {
        letter: _REASONS[letter] for letter in "v?" if any(letter in r.conflicts for r in figures.racy)
    }
    lines = [f"| graph | reported | {' | '.join(columns.values())} |", f"|---|---|{'---|' * len(columns)}"]
    for number, graph in enumerate(figures.graphs):
        letters = [row.conflicts[number] for row in figures.racy if row.conflicts]
        counts = [letters.count(letter) for letter in (".", *columns)]
        lines.append(f"| {graph} | {' | '.join(map(str, counts))} |")
    return lines


def _by_reason(rows: Sequence[KernelVerdicts], graphs: Sequence[str]) -> dict[str, dict[str, list[str]]]:
    """Return the names of kernels that differ from their label, by letter and by the graphs' names."""
    groups: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        for letter in sorted(set(row.conflicts) - {"."}):
            where = [graph for graph, each in zip(graphs, row.conflicts, strict=True) if each == letter]
            groups.setdefault(letter, {}).setdefault(", ".join(where), []).append(row.name)
    return groups


def _bounds_section(figures: IndigoFigures) -> list[str]:
    rows = [row for row in figures.kernels if row.bounds]
    lines = [
        "### Accesses outside arrays",
        "",
        f"{len(rows)} kernels have a bounds bug. Those in which an access outside an array is reported:",
        "",
        f"| {' | '.join(figures.graphs)} |",
        f"|{'---|' * len(figures.graphs)}",
    ]
    found = [str(sum(row.bounds[n] == "b" for row in rows)) for n in range(len(figures.graphs))]
    others = [f"- {row.name}: {report}" for row in figures.kernels for report in row.reports]
    return [*lines, f"| {' | '.join(found)} |", "", *(["Other reports:", "", *others, ""] if others else [])]


def _method(figures: IndigoFigures) -> list[str]:
    *most, last = [f"`{name}`" for name in sorted(RACE_BUGS)]
    bugs = f"{', '.join(most)} or {last}"
    return [
        "### Method",
        "",
        *paragraph(f"""
            Each kernel ran once under `gpulab.sanitize` on each of the {len(figures.graphs)} graphs of the
            table, with {GRID} blocks of {BLOCK} threads, as in the artifact, and with the values that the
            suite's main program gives the arrays. A race counts as found if racecheck reports one, in
            whatever line. The label is "race" if the name of the file contains {bugs}."""),
        *paragraph("""
            Kernels with a bounds bug ran twice: with arrays of the suite's sizes for the table of accesses
            outside arrays, and for races with zeros around the arrays, because a launch ends at its first
            access outside an array."""),
        *paragraph("""
            `python -m benchmarks.races.indigo FOLDER` runs the suite, which is not part of gpulab, and writes
            this page."""),
    ]
