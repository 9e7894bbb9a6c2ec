"""The exercises of lab 2, the matrix product."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

from gpulab.exercises.choice_exercise import ChoiceExercise, Truth
from gpulab.exercises.lab2_kernels import KERNELS
from gpulab.exercises.number_exercise import DrawnParameter, ExerciseTask, NumberExercise, Quantity
from gpulab.gpus.catalogue import gpu
from gpulab.problems.published import rows
from gpulab.problems.published import source as source_named

__all__ = ["EXERCISES"]

WARP = 32
SECTOR = 32  # bytes
FAULTY_LINE = 9  # line of the kernel in the cell `case`; the header is line 1
SLOWER, FASTER, SAME = "slower", "faster", "same"
INSIDE = "it reads other elements of B"
OUTSIDE = "it also reads past the end of B"
HALF_WARP, WHOLE_WARP = "half a warp", "a whole warp"

# Milliseconds of one product of 4096 x 4096 matrices by the reference solutions.
MEASURED = "measured on an NVIDIA H200, driver 580.159.04, NVRTC 13.5, 4096 on each axis"
H200_MS = {"K1, 64 threads": 26.93, "K2, 64 threads, rolled": 83.63, "K2, 64 threads, unrolled by 4": 26.60}


def right_counts(task: ExerciseTask) -> dict[str, float]:
    """Return operations, compulsory bytes and their ratio."""
    flops = 2 * task.n * task.m * task.p
    moved = 4 * (task.n * task.p + task.p * task.m + task.n * task.m)
    return {"flops": flops, "bytes": moved, "flops per byte": flops / moved}


def steps_counts(task: ExerciseTask) -> list[str]:
    """Return the worked steps of `right_counts`."""
    n, m, p, right = task.n, task.m, task.p, right_counts(task)
    return [
        (
            f"flops: each of the {n} × {m} elements of a takes {p} multiply-adds of 2 operations: "
            f"2 × {n} × {m} × {p} = {right['flops']:,}."
        ),
        (
            f"bytes: b and c are read once, a is written once: 4 × ({n} × {p} + {p} × {m} + {n} × {m}) = "
            f"{right['bytes']:,}."
        ),
        f"flops per byte: {right['flops']:,} / {right['bytes']:,} = {right['flops per byte']:.1f}.",
    ]


COUNTS = NumberExercise(
    name="counts",
    title="Operations and bytes of a product",
    parameters=(
        DrawnParameter("n", range(1024, 4097, 256), "rows of a and b"),
        DrawnParameter("m", range(1024, 4097, 256), "columns of a and c"),
        DrawnParameter("p", range(1024, 4097, 256), "columns of b, rows of c"),
    ),
    quantities=(
        Quantity("flops", "floating-point operations; a multiply-add counts as two", tolerance=0.01),
        Quantity("bytes", "bytes between memory and chip, each value moved once", tolerance=0.01),
        Quantity("flops per byte", "operations for each of these bytes", tolerance=0.01),
    ),
    right=right_counts,
    steps=steps_counts,
    accept=lambda task: len({task.n, task.m, task.p}) == 3,
)


def right_traffic(task: ExerciseTask) -> dict[str, float]:
    """Return the sectors that a warp reads in one step of k, of b and c together."""
    lanes = {"Ks": (1, task.by), "K1": (WARP, 1), "block": (task.bx, WARP // task.bx)}  # along i and along j
    return {name: ceil(i * task.word / SECTOR) + j for name, (i, j) in lanes.items()}


def steps_traffic(task: ExerciseTask) -> list[str]:
    """Return the worked steps of `right_traffic`."""
    bx, by, word, right = task.bx, task.by, task.word, right_traffic(task)
    return [
        (
            f"Ks: all lanes read one value of b, in 1 sector. They have {by} "
            f"different j, so they read from {by} "
            f"columns of c, in {by} sectors: 1 + {by} = {right['Ks']}."
        ),
        (
            f"K1: the lanes read {WARP} neighbours of b, {WARP * word} bytes, in "
            f"{WARP * word // SECTOR} sectors, "
            f"and one value of c, in 1 sector: {right['K1']}."
        ),
        (
            f"block: {bx} × {word} bytes of b take {ceil(bx * word / SECTOR)} of "
            f"the {right['block']} sectors; the "
            f"{WARP // bx} different j read {WARP // bx} columns of c."
        ),
    ]


TRAFFIC = NumberExercise(
    name="traffic",
    title="Sectors in one step of k",
    parameters=(
        DrawnParameter("word", (4, 8), "bytes of a value: float or double"),
        DrawnParameter("by", (8, 16, 24, 32), "threads of a block of Ks, all along j"),
        DrawnParameter("bx", (2, 4, 8, 16), "threads of a block along i"),
    ),
    quantities=(
        Quantity("Ks", "sectors of b and c that a warp reads with blocks of 1 × by threads"),
        Quantity("K1", "the same with blocks of 32 × 1 threads"),
        Quantity("block", "the same with blocks of bx threads along i and 32 / bx along j"),
    ),
    right=right_traffic,
    steps=steps_traffic,
)

BLOCKS = ("t1", "t2", "t3", "t4")


def right_occupancy(task: ExerciseTask) -> dict[str, float]:
    """Return the resident warps of an SM for each number of threads in a block."""
    limits = gpu(task.gpu)
    warps = {name: vars(task)[name] // WARP for name in BLOCKS}
    return {
        name: min(limits.max_blocks_per_sm, limits.max_warps_per_sm // number) * number
        for name, number in warps.items()
    }


def steps_occupancy(task: ExerciseTask) -> list[str]:
    """Return the worked steps of `right_occupancy`."""
    limits, right = gpu(task.gpu), right_occupancy(task)
    most_blocks, most_warps = limits.max_blocks_per_sm, limits.max_warps_per_sm
    steps = [f"{limits.name}: at most {most_blocks} blocks and {most_warps} warps on an SM."]
    for name in BLOCKS:
        warps = vars(task)[name] // WARP
        fit = most_warps // warps
        blocks = min(fit, most_blocks)
        steps.append(
            f"{name}: a block has {vars(task)[name]} / {WARP} = {warps} warps. Blocks: {most_warps} / "
            f"{warps} rounded down is {fit}, and at most {most_blocks}: {blocks}. "
            f"Warps: {blocks} × {warps} = {right[name]:g}."
        )
    return steps


OCCUPANCY = NumberExercise(
    name="occupancy",
    title="Resident warps of K1",
    parameters=(
        DrawnParameter(
            "gpu", ("gtx280", "gtx480", "k40", "t4", "rtx3090", "a100", "rtx4090"), "key of the GPU"
        ),
        DrawnParameter("t1", (32, 64), "threads of a block"),
        DrawnParameter("t2", (96, 128, 160), "threads of a block"),
        DrawnParameter("t3", (192, 224, 256, 320), "threads of a block"),
        DrawnParameter("t4", (384, 448, 512), "threads of a block"),
    ),
    quantities=tuple(Quantity(name, f"warps on an SM with blocks of {name} threads") for name in BLOCKS),
    right=right_occupancy,
    steps=steps_occupancy,
)


def right_bound(task: ExerciseTask) -> dict[str, float | str]:
    """Return the lecture's bounds for another memory, and which reading is the lecture's own."""
    gwords = task.gb_s / 4
    words, flops = task.group + 1, 2 * task.group
    return {
        "gwords": gwords,
        "words": words,
        "flops": flops,
        "K1 bound": gwords * flops / words,
        "tile bound": gwords * task.tile,
        "lecture": HALF_WARP,
    }


def steps_bound(task: ExerciseTask) -> list[str]:
    """Return the worked steps of `right_bound`."""
    right = {name: value for name, value in right_bound(task).items() if not isinstance(value, str)}
    lecture = source_named("gtx280_lecture").figures["dram_gb_s"] / 4
    return [
        f"gwords: {task.gb_s} GB/s / 4 bytes = {right['gwords']:.2f} billion words per second.",
        (
            f"words: {task.group} of b and 1 of c = {right['words']:g}. flops: {task.group} multiply-adds = "
            f"{right['flops']:g}."
        ),
        (
            f"K1 bound: {right['gwords']:.2f} × {right['flops']:g} / {right['words']:g} "
            f"= {right['K1 bound']:.1f} GFLOPS."
        ),
        (
            "tile bound: a thread of K1 makes one operation per word that it "
            f"reads; in a tile, {task.tile} threads "
            f"share each word: {right['gwords']:.2f} × {task.tile} = {right['tile bound']:.1f} GFLOPS."
        ),
        (
            f"lecture: {lecture:.1f} × 32 / 17 = {lecture * 32 / 17:.1f} for half a warp, and × 64 / 33 = "
            f"{lecture * 64 / 33:.1f} for a whole warp; the lecture's table has one of them."
        ),
    ]


BOUND = NumberExercise(
    name="bound",
    title="Bounds of K1 and of a tiled kernel",
    parameters=(
        DrawnParameter("gb_s", range(100, 400, 4), "bandwidth of the memory in GB/s"),
        DrawnParameter("group", (8, 16, 32), "threads that share one word of c"),
        DrawnParameter("tile", (8, 16, 32), "threads that share each word of a tile"),
    ),
    quantities=(
        Quantity("gwords", "words of 4 bytes that the memory delivers", "billions per second", 0.005),
        Quantity("words", "words that a group reads in one step of k"),
        Quantity("flops", "operations of a group in one step of k"),
        Quantity("K1 bound", "the bound of K1", "GFLOPS", 0.005),
        Quantity("tile bound", "the bound with tiles", "GFLOPS", 0.005),
        Quantity("lecture", "the group of the lecture's own bound", options=(HALF_WARP, WHOLE_WARP)),
    ),
    right=right_bound,
    steps=steps_bound,
    accept=lambda task: task.group != task.tile,
)


# The case is the same for everyone, so that its explanation can wait until everything is right.
ROWS, COLUMNS, DEPTH, ROUND = 48, 32, 64, 5


def right_case(task: ExerciseTask) -> dict[str, float | str]:
    """Return the faulty line, the element that it reads, and what happens at this size."""
    del task
    row, column = divmod(ROUND * ROWS, COLUMNS)
    return {"line": FAULTY_LINE, "row": row, "column": column, "outcome": OUTSIDE}


def steps_case(task: ExerciseTask) -> list[str]:
    """Return the explanation of `right_case`."""
    right, last = right_case(task), (DEPTH - 1) * ROWS + COLUMNS - 1
    return [
        (
            f"line: line {FAULTY_LINE} takes `rows` for the length of a row of B, "
            "which is `columns`. In square "
            "matrices the two are equal, so no test with square matrices can find it."
        ),
        (
            f"row, column: for k = {ROUND} and x = 0 it reads element {ROUND} × "
            f"{ROWS} = {ROUND * ROWS} of B. This is "
            f"B[{right['row']}][{right['column']}], because {ROUND * ROWS} = {right['row']} × {COLUMNS} + "
            f"{right['column']}. The product needs B[{ROUND}][0]."
        ),
        (
            f"outcome: the largest index is {DEPTH - 1} × {ROWS} + {COLUMNS - 1} = {last:,}, and B has "
            f"{DEPTH * COLUMNS:,} elements."
        ),
    ]


CASE = NumberExercise(
    name="case",
    title="The case: right at every square size",
    parameters=(),
    quantities=(
        Quantity("line", "number of the faulty line; the header is line 1"),
        Quantity("row", f"row of the element of B that the threads with x = 0 read for k = {ROUND}"),
        Quantity("column", "its column"),
        Quantity("outcome", "what the kernel does at this size", options=(INSIDE, OUTSIDE)),
    ),
    right=right_case,
    steps=steps_case,
)


def right_reuse(task: ExerciseTask) -> dict[str, float]:
    """Return the bounds by words of b for several values per thread."""
    gwords = task.gb_s / 4
    return {
        "K2": 2 * gwords,
        "K3": 2 * gwords,
        "K4": 2 * gwords * task.columns,
        "K34": 2 * gwords * task.columns,
    }


def steps_reuse(task: ExerciseTask) -> list[str]:
    """Return the worked steps of `right_reuse`."""
    rows_, columns, right = task.rows, task.columns, right_reuse(task)
    return [
        f"The memory delivers {task.gb_s} / 4 = {task.gb_s / 4:g} billion words per second.",
        (
            "K2: one word of b for one multiply-add of 2 operations: 2 × "
            f"{task.gb_s / 4:g} = {right['K2']:g} GFLOPS."
        ),
        f"K3: {rows_} words of b for {rows_} multiply-adds: the same, {right['K3']:g} GFLOPS.",
        (
            f"K4: one word of b for {columns} multiply-adds: {columns} × "
            f"{right['K2']:g} = {right['K4']:g} GFLOPS."
        ),
        f"K34: {rows_} words of b for {rows_} × {columns} multiply-adds: as K4, {right['K34']:g} GFLOPS.",
    ]


REUSE = NumberExercise(
    name="reuse",
    title="Bounds by words of b",
    parameters=(
        DrawnParameter("gb_s", range(96, 321, 8), "bandwidth of the memory in GB/s"),
        DrawnParameter("rows", (2, 3, 4), "values along i of a thread of K3 and K34"),
        DrawnParameter("columns", (2, 3, 4, 6, 8), "values along j of a thread of K4 and K34"),
    ),
    quantities=(
        Quantity("K2", "one value per thread", "GFLOPS", 0.01),
        Quantity("K3", "`rows` values along i", "GFLOPS", 0.01),
        Quantity("K4", "`columns` values along j", "GFLOPS", 0.01),
        Quantity("K34", "`rows` × `columns` values", "GFLOPS", 0.01),
    ),
    right=right_reuse,
    steps=steps_reuse,
    accept=lambda task: task.rows != task.columns,
)


def _compared(name: str, ms: float, baseline: str, baseline_ms: float) -> str:
    """Return a comparison of two times, such as "slower: K2 83.6 ms, K1 26.9 ms, ratio 3.11"."""
    word = FASTER if ms < baseline_ms else SLOWER
    return f"{word}: {name} {ms:.1f} ms, {baseline} {baseline_ms:.1f} ms, ratio {ms / baseline_ms:.2f}"


def truth_shared_strip(lab: str) -> Mapping[str, Truth]:
    """Return K2 compared with K1, published for the T10 and measured on an H200."""
    del lab
    document = source_named("t10")
    gflops = {
        row.variant: row.kernel_gflops
        for row in rows("t10")
        if row.block == (64, 1, 1) and row.variant in ("K1", "K2")
    }
    return {
        "t10": Truth(
            f"{FASTER}: K2 {gflops['K2']} GFLOPS, K1 {gflops['K1']} GFLOPS, 64 threads",
            f"published: {document.citation}",
        ),
        "h200": Truth(
            _compared("K2", H200_MS["K2, 64 threads, rolled"], "K1", H200_MS["K1, 64 threads"]), MEASURED
        ),
    }


SHARED_STRIP = ChoiceExercise(
    name="shared_strip",
    title="Is K2 faster than K1?",
    quantities=(
        Quantity("t10", "K2 on a T10 of 2008, which has no cache", options=(FASTER, SLOWER, SAME)),
        Quantity("h200", "K2 with a rolled loop on an H200", options=(FASTER, SLOWER, SAME)),
    ),
    truth=truth_shared_strip,
)


def truth_unrolling(lab: str) -> Mapping[str, Truth]:
    """Return what unrolling the loop over k does to K2 on an H200."""
    del lab
    rolled, unrolled = H200_MS["K2, 64 threads, rolled"], H200_MS["K2, 64 threads, unrolled by 4"]
    return {
        "ratio": Truth(
            f"{rolled / unrolled:.2f}: {rolled:.1f} ms rolled, {unrolled:.1f} ms unrolled by 4", MEASURED
        ),
        "instructions": Truth(
            "1.8: 8.6 instead of 4.9 machine instructions of a warp for each multiply-add",
            "counted by the simulator, NVRTC 13.5, sm_90",
        ),
    }


UNROLLING = ChoiceExercise(
    name="unrolling",
    title="What does it gain to unroll the loop over k by 4?",
    quantities=(
        Quantity("ratio", "time on an H200 with a rolled loop, divided by the time with the unrolled one"),
        Quantity("instructions", "instructions with a rolled loop, divided by those with the unrolled one"),
    ),
    truth=truth_unrolling,
)

EXERCISES = (COUNTS, TRAFFIC, OCCUPANCY, BOUND, CASE, REUSE, SHARED_STRIP, UNROLLING, *KERNELS)
