"""Text of docs/counters.md: the comparison of gpulab's counters with Nsight Compute's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.counters.nsight_comparison import LaunchComparison, MetricComparison, agreement
from benchmarks.counters.nsight_figures import COMPARED, CONFLICTS, NsightFigures

__all__ = ["PAGE", "TABLES", "page", "row"]

PAGE = Path(__file__).parents[2] / "docs" / "counters.md"

MEANING = {
    "global load requests": "load instructions to global memory, executed by a warp with an active lane",
    "global load sectors": "32-byte sectors that these requests touch, each counted once per request",
    "global store requests": "store instructions to global memory, executed by a warp with an active lane",
    "global store sectors": "32-byte sectors that these requests touch, each counted once per request",
    "global reduction sectors": "sectors of atomics whose result is not used",
    "global atomic sectors": "sectors of atomics whose result is used",
    "shared load requests": "load instructions to shared memory, executed by a warp with an active lane",
    "shared load wavefronts": "passes of these requests through the 32 banks",
    "shared store requests": "store instructions to shared memory, executed by a warp with an active lane",
    "shared store wavefronts": "passes of these requests through the 32 banks",
    "bank conflicts": "wavefronts beyond the fewest possible, from the addresses of each instruction",
    "warp instructions": "machine instructions executed by warps",
    "thread instructions": "machine instructions, times the active lanes",
    "FFMA": "single precision fused multiply-adds of active lanes",
    "FADD": "single precision additions and subtractions of active lanes",
    "FMUL": "single precision multiplications of active lanes",
    "registers": "registers per thread; Nsight Compute reports at least 16, as the GPU allocates them",
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

HEAD = """# Counters compared with Nsight Compute

`gpulab.counters` counts a launch on the simulator. This page compares its counts with those that Nsight
Compute (`ncu`) measured on an H200. Both saw the same launches: every correct kernel of the labs in at least
three sizes, some of them odd, and micro-kernels that isolate one rule each (access patterns, atomics,
branches, arithmetic). The simulator ran the programs that the GPU ran, with the same arguments.
"""

DIFFERENCES = """## Known differences

**Wavefronts in shared memory.** The hardware counter sometimes has a few more passes than the addresses
need, probably because a store meets data that returns from a load. The additional passes seem to depend on
timing and not on the addresses: Nsight Compute measures all conflicts in one replay of a launch, and those of
loads and of stores in other replays. {extra} launches of the labs have additional passes, and in {unlike} of
them the sum of the two parts differs from the total, in either direction. The smallest size of a kernel never
has any. Compared with this counter, {loads_off} of the {of} launches differ in loads, {loads_far} of them by
more than 2 %, and {stores_off} in stores, {stores_far} of them by more than 2 %. Nsight Compute has a second
metric, which it derives from the addresses of each instruction
(`derived__memory_l1_wavefronts_shared_excessive`, here "bank conflicts"). gpulab agrees with it in
{conflicts} launches.

**Machine instructions.** gpulab derives their number from the counts of PTX and the assembler's line table,
which says which machine instruction was made from which PTX instruction. In the labs' kernels, loads, stores
and floating point instructions are exact. The instructions that the assembler adds to reconverge lanes depend
on how the lanes of a warp arrive, and are not exact in every kernel. If the assembler peels an iteration off
a loop or unrolls it on its own, the line table does not tell how often each copy runs; in most cases gpulab
infers it from the iteration counts of the loop. The remaining cases are estimates
(`unrolled_trip_counts` below); `Counters.caveats` then says so. A few counts are wrong without a caveat: in
`own_trip_counts` lanes reconverge more often than gpulab counts, and lanes of a warp that call
`__reduce_max_sync` with different masks do so one group after the other, which gpulab counts as one.

**Waits and bulk copies.** A GPU suspends a warp at `mbarrier.try_wait` until the phase of the barrier is
complete, so gpulab counts it once for each wait, although the simulator repeats it. A bulk copy by several
lanes is a loop over these lanes in machine code, which gpulab counts. Both were compared with Nsight Compute
on an H100.

**Divisions and roots.** Machine code calls a subroutine for operands near the ends of the range of exponents:
zeros, subnormal and very large numbers. Its instructions are not counted; a caveat names the lines in which a
lane had such operands.

**Predicates added by the assembler.** If PTX selects between two values and the machine code switches lanes
off instead (`logf`), gpulab counts the FMUL and FADD of the lanes that select the result.

**Atomics.** An atomic addition of `float` in shared memory is one PTX instruction, but a loop of
compare-and-swap in machine code. The number of iterations depends on how lanes collide; gpulab does not count
the loads and additions of this loop, and says so. In global memory a request accesses a sector as often as
lanes update the same of its elements, for the element with the most lanes, unless the assembler joins the
lanes of a warp (an integer at one address). gpulab counts this, too; "random 4096" takes one sector more.

**printf.** Its instructions are not counted; a caveat says so.

**Asynchronous copies.** gpulab's bank conflicts are those of loads and stores. The writes of `cp.async` to
shared memory are not included, so `opt_4_async_frames` has fewer than Nsight Compute measures. A copy of 16
bytes per lane bypasses L1, and Nsight Compute counts the sectors of each quarter of the warp: one that
belongs to two quarters counts twice (counters of micro-kernels on an H100), which gpulab counts once.

**Wide elements.** If several lanes access the same element of 8 or 16 bytes, Nsight Compute's two metrics for
bank conflicts differ from each other. gpulab follows the hardware counter, as its wavefronts show.
"""


def page(figures: NsightFigures, comparisons: Sequence[LaunchComparison]) -> str:
    """Return the page in Markdown."""
    labs = [one for one in comparisons if one.launch.group != "micro"]
    micro = [one for one in comparisons if one.launch.group == "micro"]
    not_in_labs = ("global reduction sectors", "global atomic sectors")

    lines = [HEAD, "Measured on:", "", *(f"- {line}" for line in figures.measured_on), ""]
    lines += [
        "The raw figures are in [benchmarks/figures](../benchmarks/figures).",
        "`python -m benchmarks.counters.nsight` measures them, and",
        "`python -m benchmarks.counters.nsight_compare --page` writes this page.",
        "",
        f"## Kernels of the labs: {len(labs)} launches",
        "",
        *_agreement_table(labs, [name for name in COMPARED if name not in not_in_labs]),
        "",
        f"## Micro-kernels: {len(micro)} launches",
        "",
        *_agreement_table(micro, list(COMPARED)),
        "",
        "## Meaning of the metrics",
        "",
        "| metric | meaning | Nsight Compute's name |",
        "|---|---|---|",
        *(f"| {name} | {MEANING[name]} | `{metric}` |" for name, metric in COMPARED.items()),
        "",
        _differences(figures, labs),
        "## Launch by launch",
        "",
        "A single number means that both agree. Otherwise gpulab's count is in bold, followed by Nsight",
        "Compute's and the relative difference.",
    ]

    for title, names in TABLES.items():
        shown = labs
        if title == "Shared memory":
            shown = [
                one for one in labs if any(one.metrics[n].measured or one.metrics[n].counted for n in names)
            ]
        lines += ["", f"### {title}", ""]
        if len(shown) < len(labs):
            lines += ["Only kernels that use it.", ""]
        lines.append(f"| launch | {' | '.join(SHORT.get(name, name) for name in names)} |")
        lines.append("|---" * (len(names) + 1) + "|")
        lines += [row(one, names) for one in shown]

    lines += [
        "",
        "### Micro-kernels: metrics that differ",
        "",
        "| launch | metric | gpulab | Nsight Compute |",
        "|---|---|---|---|",
    ]
    for one in micro:
        lines += [
            f"| {one.launch.name} | {name} | {metric.counted:,} | {metric.measured:,} |"
            for name, metric in one.metrics.items()
            if metric.counted != metric.measured
        ]
    return "\n".join(lines) + "\n"


def row(one: LaunchComparison, names: Sequence[str]) -> str:
    """Return a launch's row of one of the tables."""
    return f"| {one.launch.name} | {' | '.join(_cell(one.metrics[name]) for name in names)} |"


def _is_used(metric: MetricComparison) -> bool:
    return bool(metric.measured or metric.counted)


def _cell(metric: MetricComparison) -> str:
    if metric.counted == metric.measured:
        return f"{metric.counted:,}"
    return f"**{metric.counted:,}** / {metric.measured:,} ({metric.relative:+.2%})"


def _agreement_table(comparisons: Sequence[LaunchComparison], names: Sequence[str]) -> Iterator[str]:
    yield "| metric | launches that agree | launches | worst difference | in |"
    yield "|---|---|---|---|---|"
    for name, (exact, launches, worst) in agreement(comparisons).items():
        if name in names:
            last = ("–", "") if worst is None else (_worst(worst), worst.launch)
            yield f"| {name} | {exact} | {launches} | {' | '.join(last)} |"


def _worst(metric: MetricComparison) -> str:
    if not metric.measured or abs(metric.relative) > 10:
        return f"{metric.counted:,} instead of {metric.measured:,}"
    return f"{metric.relative:+.2%}"


def _differences(figures: NsightFigures, labs: Sequence[LaunchComparison]) -> str:
    def differing(name: str, tolerance: float = 0.0) -> int:
        metrics = (one.metrics[name] for one in labs)
        return sum(m.counted != m.measured and abs(m.relative) > tolerance for m in metrics)

    exact, launches, _ = agreement(labs)["bank conflicts"]
    additional = []  # (sum of the parts, total) of launches with additional passes
    for one in labs:
        total, loads, stores = (figures.measured[one.launch.name][name] for name in CONFLICTS)
        if {loads + stores, total} != {one.metrics["bank conflicts"].measured}:
            additional.append((loads + stores, total))
    return DIFFERENCES.format(
        extra=len(additional),
        unlike=sum(parts != total for parts, total in additional),
        of=launches,
        conflicts=f"all {launches}" if exact == launches else f"{exact} of {launches}",
        loads_off=differing("shared load wavefronts"),
        loads_far=differing("shared load wavefronts", 0.02),
        stores_off=differing("shared store wavefronts"),
        stores_far=differing("shared store wavefronts", 0.02),
    )
