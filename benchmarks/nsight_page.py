"""docs/counters.md: what each counter means, and our figures beside Nsight Compute's, launch by launch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.nsight_compare import Compared, Difference, summary
from benchmarks.nsight_figures import COMPARED, CONFLICTS, Figures

__all__ = ["PAGE", "TABLES", "page", "row"]

PAGE = Path(__file__).parent.parent / "docs" / "counters.md"

MEANING = {
    "global load requests": "loads of global memory by warps with at least one active lane",
    "global load sectors": "32-byte sectors that these touch, each once a request",
    "global store requests": "the same of stores",
    "global store sectors": "the same of stores",
    "global reduction sectors": "sectors of atomics whose result is not used",
    "global atomic sectors": "sectors of atomics whose result is used",
    "shared load requests": "loads of shared memory by warps with at least one active lane",
    "shared load wavefronts": "passes through the 32 banks, by the unit's own counter",
    "shared store requests": "the same of stores",
    "shared store wavefronts": "the same of stores",
    "bank conflicts": "wavefronts beyond the fewest, by the addresses of each instruction",
    "warp instructions": "machine instructions executed by warps",
    "thread instructions": "the same by active lanes",
    "FFMA": "fused multiply-adds by active lanes, in single precision",
    "FADD": "additions and subtractions, the same",
    "FMUL": "multiplications, the same",
    "registers": "of a thread; ncu, as the GPU, knows no fewer than 16",
}

SHORT = {
    "global load requests": "load requests", "global load sectors": "load sectors",
    "global store requests": "store requests", "global store sectors": "store sectors",
    "shared load requests": "load requests", "shared load wavefronts": "load wavefronts",
    "shared store requests": "store requests", "shared store wavefronts": "store wavefronts",
}  # fmt: skip

TABLES = {
    "Global memory": (
        "global load requests", "global load sectors", "global store requests", "global store sectors",
    ),
    "Shared memory": (
        "shared load requests", "shared load wavefronts", "shared store requests", "shared store wavefronts",
        "bank conflicts",
    ),
    "Instructions and registers": (
        "warp instructions", "thread instructions", "FFMA", "FADD", "FMUL", "registers",
    ),
}  # fmt: skip

HEAD = """# The counters beside Nsight Compute's

`gpulab.counters` and Nsight Compute (`ncu`) over the same launches: every right kernel of the labs in at
least three sizes, odd ones among them, and small kernels that show one rule each (access patterns,
atomics, branches, arithmetic). The simulator is given the programs that the GPU ran and the same
arguments.
"""

DIFFERENT = """## What cannot agree, and what does not yet

**Wavefronts of shared memory.** The unit's own counter has, now and then, a few passes more than the
addresses ask for, probably when a store meets data that comes back from a load. Their number seems to be
a matter of timing, which no rule of the addresses gives: ncu counts all conflicts in one pass over a
launch and those of loads and of stores in others, and of the {extra} launches of the labs with any such
passes, {unlike} have another number in all than in parts, now more and now less. The smallest problem of
a kernel never has any. Against that counter, {loads_off} of the {of} launches differ in loads,
{loads_far} of them by more than 2 %, and {stores_off} in stores, {stores_far} by more than 2 %. ncu has a
second figure, summed over single instructions from their addresses
(`derived__memory_l1_wavefronts_shared_excessive`, here "bank conflicts"): ours is the same in {conflicts}
launches.

**Machine instructions.** Their number is found from the counts of PTX and the assembler's table of which
instruction was made from which. In the labs' kernels loads, stores and floating point instructions are
exact; what the machine adds for lanes to meet again depends on the parts in which a warp comes there, and
is not exact in every kernel. Where the assembler peels a round off a loop or unrolls it by itself, the
table does not say how often each copy runs. Most such cases are found from the loop's own counts. Some
are estimates, which may be far off (`unrolled_trip_counts` below); `Counters.doubts` says so. A few are
wrong and nothing is said: in `if_else` the peeled round is counted twice, and in `own_trip_counts` lanes
meet more often than is counted.

**Predicates that the assembler made.** PTX selects between two values where the machine switches lanes
off (`logf`, `break_out`): their FMUL and FADD are counted for all lanes here.

**Atomics.** An addition of `float` in shared memory is one instruction of PTX and a loop of
compare-and-swap on the machine. Its rounds depend on how lanes collide, and its loads and additions are
not counted here. In global memory ncu counts a sector again for lanes of one element, or for lanes apart
from each other that share a sector ("broadcast": 32 for one); here a request's sectors are counted once.

**Wide elements.** Where several lanes ask for the same element of 8 or 16 bytes, ncu's two figures for
conflicts differ from each other; ours follow the unit's counter, as the wavefronts show.
"""


def cell(one: Difference) -> str:
    """One number where both say it; otherwise ours, ncu's and the difference."""
    if one.ours == one.measured:
        return f"{one.ours:,}"
    return f"**{one.ours:,}** / {one.measured:,} ({one.relative:+.2%})"


def row(one: Compared, names: tuple[str, ...]) -> str:
    return f"| {one.launch.name} | {' | '.join(cell(one.figures[name]) for name in names)} |"


def _of(one: Compared, names: tuple[str, ...]) -> list[Difference]:
    return [one.figures[name] for name in names]


def _summary(some: list[Compared], *, names: tuple[str, ...] = tuple(COMPARED)) -> Iterator[str]:
    yield "| figure | agree exactly | of | worst difference | in |"
    yield "|---|---|---|---|---|"
    for name, (exact, of, worst) in summary(some).items():
        if name in names:
            last = ("–", "") if worst is None else (_worst(worst), worst.launch)
            yield f"| {name} | {exact} | {of} | {' | '.join(last)} |"


def _worst(one: Difference) -> str:
    if not one.measured or abs(one.relative) > 10:
        return f"{one.ours:,} for {one.measured:,}"
    return f"{one.relative:+.2%}"


def page(figures: Figures, some: list[Compared]) -> str:
    labs = [one for one in some if one.launch.group != "micro"]
    micro = [one for one in some if one.launch.group == "micro"]
    never = ("global reduction sectors", "global atomic sectors")
    lines = [HEAD, "Measured on:", "", *(f"- {line}" for line in figures.measured_on), ""]
    lines += [
        "The raw figures are in [benchmarks/figures](../benchmarks/figures). `python -m benchmarks.nsight`",
        "measures them and `python -m benchmarks.nsight_compare --page` writes this page.",
        "",
        f"## The labs' kernels: {len(labs)} launches",
        "",
        *_summary(labs, names=tuple(name for name in COMPARED if name not in never)),
        "",
        f"## Kernels for single rules: {len(micro)} launches",
        "",
        *_summary(micro),
        "",
        "## What each counter means",
        "",
        "| figure | meaning | Nsight Compute's name |",
        "|---|---|---|",
        *(f"| {name} | {MEANING[name]} | `{metric}` |" for name, metric in COMPARED.items()),
        "",
    ]

    def differing(name: str, least: float = 0.0) -> int:
        found = (one.figures[name] for one in labs)
        return sum(one.ours != one.measured and abs(one.relative) > least for one in found)

    exact, of, _ = summary(labs)["bank conflicts"]
    extra = [
        (parts, total)
        for one in labs
        for total, loads, stores in [[figures.measured[one.launch.name][name] for name in CONFLICTS]]
        for parts in [loads + stores]
        if {parts, total} != {one.figures["bank conflicts"].measured}
    ]
    lines.append(
        DIFFERENT.format(
            extra=len(extra),
            unlike=sum(parts != total for parts, total in extra),
            of=of,
            conflicts=f"all {of}" if exact == of else f"{exact} of {of}",
            loads_off=differing("shared load wavefronts"),
            loads_far=differing("shared load wavefronts", 0.02),
            stores_off=differing("shared store wavefronts"),
            stores_far=differing("shared store wavefronts", 0.02),
        )
    )
    lines += [
        "## Launch by launch",
        "",
        "One number: both say it. Otherwise ours in bold, ncu's, and the difference.",
    ]
    for title, names in TABLES.items():
        shown = labs
        if title == "Shared memory":
            shown = [one for one in labs if any(f.measured or f.ours for f in _of(one, names))]
        lines += ["", f"### {title}", ""]
        if len(shown) < len(labs):
            lines += ["Only kernels that use it.", ""]
        lines.append(f"| launch | {' | '.join(SHORT.get(name, name) for name in names)} |")
        lines.append("|---" * (len(names) + 1) + "|")
        lines += [row(one, names) for one in shown]
    lines += [
        "",
        "### Kernels for single rules, where a figure differs",
        "",
        "| launch | figure | ours | ncu's |",
        "|---|---|---|---|",
    ]
    for one in micro:
        lines += [
            f"| {one.launch.name} | {name} | {found.ours:,} | {found.measured:,} |"
            for name, found in one.figures.items()
            if found.ours != found.measured
        ]
    return "\n".join(lines) + "\n"
