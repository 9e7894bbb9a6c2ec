"""The exercises of lab 1."""

from __future__ import annotations

from gpulab.exercises.choice_exercise import ChoiceExercise
from gpulab.exercises.lab1_kernels import KERNELS
from gpulab.exercises.lab1_truths import truth_of_ablation, truth_of_opt_1
from gpulab.exercises.number_exercise import DrawnParameter, ExerciseTask, NumberExercise, Quantity
from gpulab.gpus.catalogue import gpu

__all__ = ["EXERCISES"]

BLOCK_X, BLOCK_Y = 32, 8  # threads of a block of the lab's naive kernel
FLOAT_BYTES = 4


def right_idle_threads(task: ExerciseTask) -> dict[str, float]:
    """Return the threads of a launch that covers one frame, and those without work."""
    blocks = -(-task.nx // BLOCK_X) * -(-task.ny // BLOCK_Y)
    threads = blocks * BLOCK_X * BLOCK_Y
    writing = (task.nx - 2) * (task.ny - 2)
    return {
        "blocks": blocks,
        "threads": threads,
        "no_point": threads - task.nx * task.ny,
        "writing": writing,
        "idle_percent": 100 * (threads - writing) / threads,
    }


def steps_idle_threads(task: ExerciseTask) -> list[str]:
    """Return the worked steps of `right_idle_threads`."""
    nx, ny, right = task.nx, task.ny, right_idle_threads(task)
    across, down = -(-nx // BLOCK_X), -(-ny // BLOCK_Y)
    blocks, threads, writing = (int(right[name]) for name in ("blocks", "threads", "writing"))
    return [
        f"blocks: ⌈{nx} / {BLOCK_X}⌉ × ⌈{ny} / {BLOCK_Y}⌉ = {across} × {down} = {blocks}.",
        f"threads: {blocks} × {BLOCK_X * BLOCK_Y} = {threads:,}.",
        f"no_point: {threads:,} − {nx} × {ny} = {int(right['no_point']):,}.",
        f"writing: the boundary is not written, so ({nx} − 2) × ({ny} − 2) = {writing:,}.",
        f"idle_percent: 100 × ({threads:,} − {writing:,}) / {threads:,} = {right['idle_percent']:.2f}.",
    ]


IDLE_THREADS = NumberExercise(
    name="idle_threads",
    title="Idle threads of the naive kernel",
    parameters=(
        DrawnParameter("nx", range(98, 190), "points in x"),
        DrawnParameter("ny", range(42, 118), "points in y"),
    ),
    quantities=(
        Quantity("blocks", f"blocks of {BLOCK_X} × {BLOCK_Y} threads that cover one frame"),
        Quantity("threads", "threads of all blocks"),
        Quantity("no_point", "threads that have no point of the frame"),
        Quantity("writing", "threads that write a point"),
        Quantity("idle_percent", "threads that write nothing, of all threads", "%", 0.01),
    ),
    right=right_idle_threads,
    steps=steps_idle_threads,
    accept=lambda task: task.nx % BLOCK_X > 2 and task.ny % BLOCK_Y > 2 and task.nx != task.ny,
)


def right_tile(task: ExerciseTask) -> dict[str, float]:
    """Return the size of a block's tile, the points of its halo, and the readers of two points."""
    x, y = task.block_x, task.block_y
    return {
        "bytes_without_halo": FLOAT_BYTES * x * y,
        "bytes_with_halo": FLOAT_BYTES * (x + 2) * (y + 2),
        "halo_points": 2 * (x + y),
        "readers_inside": 5,
        "readers_of_halo": 1,
    }


def steps_tile(task: ExerciseTask) -> list[str]:
    """Return the worked steps of `right_tile`."""
    x, y, right = task.block_x, task.block_y, right_tile(task)
    return [
        f"bytes_without_halo: {x} × {y} × {FLOAT_BYTES} = {right['bytes_without_halo']:,}.",
        (
            f"bytes_with_halo: one more column on each side and one more row on each side, so ({x} + 2) × "
            f"({y} + 2) × {FLOAT_BYTES} = {right['bytes_with_halo']:,}."
        ),
        (
            f"halo_points: two rows of {x} and two columns of {y}, so {right['halo_points']}. The four "
            "corners of the array are not read, because no point reads a diagonal neighbour."
        ),
        "readers_inside: the point's own thread and the threads of its four neighbours in the frame, so 5.",
        "readers_of_halo: only the thread next to it belongs to this block, so 1.",
    ]


TILE = NumberExercise(
    name="tile",
    title="The tile of a block and its halo",
    parameters=(
        DrawnParameter("block_x", (16, 24, 40, 48, 64, 96), "threads of the block in x"),
        DrawnParameter("block_y", (3, 4, 5, 6, 7, 9, 10), "threads of the block in y"),
    ),
    quantities=(
        Quantity("bytes_without_halo", "shared memory for the points of the block", "bytes"),
        Quantity("bytes_with_halo", "shared memory for the points of the block and the halo", "bytes"),
        Quantity("halo_points", "points of the halo that the block reads"),
        Quantity("readers_inside", "threads of the block that read a point in the middle of the tile"),
        Quantity("readers_of_halo", "threads of the block that read a point of the halo"),
    ),
    right=right_tile,
    steps=steps_tile,
)

GPU = gpu("h200")
WARP = 32  # threads


def right_waves(task: ExerciseTask) -> dict[str, float]:
    """Return the resident blocks of a launch on an H200, and its waves."""
    warps = task.threads // WARP
    by_registers = GPU.blocks_by_registers(task.threads, task.registers) or GPU.max_blocks_per_sm
    resident = min(by_registers, GPU.max_warps_per_sm // warps, GPU.max_blocks_per_sm)
    blocks = task.nx * task.ny // task.threads
    waves = blocks / (GPU.sms * resident)
    return {
        "resident_blocks": resident,
        "resident_warps": resident * warps,
        "blocks": blocks,
        "waves": waves,
        "rounds": -(-blocks // (GPU.sms * resident)),
    }


def steps_waves(task: ExerciseTask) -> list[str]:
    """Return the worked steps of `right_waves`."""
    right = right_waves(task)
    resident, blocks = int(right["resident_blocks"]), int(right["blocks"])
    total = GPU.sms * resident
    return [
        (
            f"A block has {task.threads} threads of {task.registers} registers. An SM has "
            f"{GPU.registers_per_sm:,} registers; they are given to warps in units of 256, so that a thread "
            f"takes {-(-task.registers // 8) * 8}."
        ),
        (
            f"resident_blocks: {GPU.registers_per_sm:,} / ({task.threads} × {-(-task.registers // 8) * 8}), "
            f"rounded down, and at most {GPU.max_warps_per_sm * WARP:,} threads: {resident}."
        ),
        f"resident_warps: {resident} × {task.threads} / {WARP} = {right['resident_warps']:.0f}.",
        f"blocks: {task.nx} × {task.ny} / {task.threads} = {blocks:,}.",
        f"waves: {blocks:,} / ({GPU.sms} × {resident}) = {blocks:,} / {total:,} = {right['waves']:.2f}.",
        f"rounds: {right['waves']:.2f}, rounded up, is {right['rounds']:.0f}.",
    ]


WAVES = NumberExercise(
    name="waves",
    title=f"Resident blocks and waves on an H200 ({GPU.sms} SMs)",
    parameters=(
        DrawnParameter("registers", (30, 36, 40, 44, 48, 52, 56, 60, 64, 72), "registers per thread"),
        DrawnParameter("threads", (128, 256), "threads of a block"),
        DrawnParameter("nx", (512, 640, 768), "points in x"),
        DrawnParameter("ny", (256, 384, 512, 640), "points in y"),
    ),
    quantities=(
        Quantity("resident_blocks", "blocks that an SM holds at once"),
        Quantity("resident_warps", "warps that an SM holds at once"),
        Quantity("blocks", "blocks of the grid, with one thread for each column of points"),
        Quantity("waves", "blocks divided by the resident blocks of all SMs", tolerance=0.01),
        Quantity("rounds", "rounds until all blocks have run, if all blocks take equally long"),
    ),
    right=right_waves,
    steps=steps_waves,
    accept=lambda task: right_waves(task)["rounds"] > 1,
)

FASTER, SLOWER, SAME = "faster", "slower", "same"

OPT_1 = ChoiceExercise(
    name="faster_opt_1",
    title="Is opt_1 faster than naive?",
    quantities=(
        Quantity("own", "on the GPU of this session", options=(FASTER, SLOWER, SAME)),
        Quantity("gtx280", "on a GeForce GTX 280 of 2008", options=(FASTER, SLOWER, SAME)),
    ),
    truth=truth_of_opt_1,
)

ABLATION = ChoiceExercise(
    name="ablation",
    title="Which change helps which kernel? (H200, 512 × 512 × 512)",
    quantities=(
        Quantity(
            "naive_helped_most_by",
            "the one change that makes naive fastest",
            options=("shared tile (opt_1)", "register cap", "z split", "hoisted division"),
        ),
        Quantity("opt_3_with_cap", "opt_3 with at most 32 registers", options=(FASTER, SLOWER, SAME)),
        Quantity("opt_3_split", "opt_3 with z split", options=(FASTER, SLOWER, SAME)),
        Quantity(
            "fastest_at_32", "the fastest with at most 32 registers", options=("naive", "opt_1", "opt_2")
        ),
    ),
    truth=truth_of_ablation,
)


def detective_case(
    number: int, lines: str, line: str, orders: tuple[str, ...], steps: tuple[str, ...]
) -> NumberExercise:
    """Return a case about a kernel with one fault.

    lines: the letters of its lines. line: the right one. orders: the first one is right.
    """
    right = {"line": line, "order": orders[0]}
    return NumberExercise(
        name=f"case_{number}",
        title=f"Case {number}: a kernel with one fault",
        parameters=(),
        quantities=(
            Quantity(
                "line", "the line that is wrong, or that must be followed by another", options=tuple(lines)
            ),
            Quantity("order", "what can happen", options=tuple(sorted(orders))),
        ),
        right=lambda _task: right,
        steps=lambda _task: steps,
    )


CASE_1 = detective_case(
    1,
    "ABC",
    "C",
    (
        "A of the next round writes before C of this round has read",
        "C reads before A of the same round has written",
        "two threads write the same element in A",
    ),
    (
        "The barrier B orders A and C of the same round.",
        (
            "There is no barrier between C of one round and A of the next. Warp 1 can finish C, begin the "
            "next round and overwrite its half of the line in A before warp 0 has read that half in C."
        ),
        "A barrier after C orders the two.",
    ),
)
CASE_2 = detective_case(
    2,
    "ABCDE",
    "D",
    (
        "D of one warp writes before C of another warp has read",
        "C of the next round reads before D has written",
        "D writes before A of the same round has loaded",
    ),
    (
        "In C a thread reads an element that another thread wrote. In D every thread overwrites its own.",
        "There is no barrier between C and D, so one warp can roll while another still needs the old value.",
        "D belongs after the barrier E. The barrier B of the next round then orders D and the next C.",
    ),
)
CASE_3 = detective_case(
    3,
    "ABCDEF",
    "C",
    (
        "E reads a row whose copy has not arrived",
        "the copy of the next row overwrites the row that E reads",
        "E reads before all threads have passed D",
    ),
    (
        "__pipeline_wait_prior(N) waits until at most the N latest groups are under way.",
        (
            "When C runs, two groups were committed last: the copies of this row and of the next one. With "
            "N = 2, both may still be under way."
        ),
        "With N = 1, the copy of this row has arrived, and the copy of the next row may go on.",
    ),
)

EXERCISES = (IDLE_THREADS, TILE, OPT_1, CASE_1, CASE_2, WAVES, ABLATION, CASE_3, *KERNELS)
