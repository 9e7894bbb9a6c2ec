"""The exercises of lab 0, the device."""

from __future__ import annotations

from collections.abc import Iterable

from gpulab.exercises.choice_exercise import ChoiceExercise, Truth
from gpulab.exercises.lab0_kernels import KERNELS
from gpulab.exercises.number_exercise import DrawnParameter, ExerciseTask, NumberExercise, Quantity
from gpulab.gpus.catalogue import gpu
from gpulab.gpus.occupancy import Occupancy, occupancy

__all__ = ["EXERCISES"]

BLOCKS = (64, 128, 256, 512, 1024)  # threads per block among which `OCCUPANCY` chooses
SECTOR = 32  # bytes
FLOAT = 4  # bytes


def right_peak(task: ExerciseTask) -> dict[str, float]:
    """Return the peaks that follow from the fields of a device query."""
    cores = task.sms * task.cores_per_sm
    tflops = cores * 2 * task.clock_mhz / 1e6
    gb_s = 2 * task.memory_mhz * task.bus_bits / 8 / 1e3
    return {"cores": cores, "tflops": tflops, "gb_s": gb_s, "ridge": 1e3 * tflops / gb_s}


def steps_peak(task: ExerciseTask) -> list[str]:
    """Return the worked steps of `right_peak`."""
    right = right_peak(task)
    return [
        f"cores: {task.sms} SMs × {task.cores_per_sm} = {right['cores']:,}.",
        (
            f"tflops: {right['cores']:,} cores × 2 operations × {task.clock_mhz} MHz = "
            f"{right['tflops']:.2f} TFLOPS."
        ),
        f"gb_s: 2 × {task.memory_mhz} MHz × {task.bus_bits} bits / 8 = {right['gb_s']:,.1f} GB/s.",
        (
            f"ridge: {right['tflops']:.2f} TFLOPS / {right['gb_s']:,.1f} GB/s = "
            f"{right['ridge']:.1f} operations per byte."
        ),
    ]


PEAK = NumberExercise(
    name="peak",
    title="Peaks from a device query",
    parameters=(
        DrawnParameter("sms", (24, 36, 40, 56, 68, 72, 84, 108), "multiprocessors"),
        DrawnParameter("cores_per_sm", (64, 128), "cores of each multiprocessor"),
        DrawnParameter("clock_mhz", range(1200, 2000, 65), "clock rate in MHz"),
        DrawnParameter("memory_mhz", range(4500, 10600, 500), "memory clock rate in MHz"),
        DrawnParameter("bus_bits", (128, 192, 256, 320, 384), "memory bus width in bits"),
    ),
    quantities=(
        Quantity("cores", "CUDA cores of the GPU"),
        Quantity("tflops", "peak of single precision", "TFLOPS", 0.02),
        Quantity("gb_s", "memory bandwidth", "GB/s", 0.02),
        Quantity("ridge", "operations per byte from which arithmetic is the bound", "1/byte", 0.03),
    ),
    right=right_peak,
    steps=steps_peak,
)


def right_occupancy(task: ExerciseTask) -> dict[str, float]:
    """Return resident blocks and occupancy on an SM of an H200, and the block with the largest occupancy."""
    best = max(BLOCKS, key=lambda threads: _percent(task, threads))
    return {
        "blocks": _resident(task, task.threads).blocks_per_sm,
        "percent": _percent(task, task.threads),
        "best": best,
        "percent_best": _percent(task, best),
    }


def steps_occupancy(task: ExerciseTask) -> list[str]:
    """Return the worked steps of `right_occupancy`."""
    right, warps = right_occupancy(task), task.threads // 32
    shares = ", ".join(f"{threads}: {_percent(task, threads):g} %" for threads in BLOCKS)
    by_registers = 65536 / (task.registers * task.threads)
    by_shared = 228 / (task.shared_kib + 1)
    return [
        (
            f"Registers: 65,536 / ({task.registers} × {task.threads}) = {by_registers:.2f}, so "
            f"{int(by_registers)} blocks."
        ),
        f"Shared memory: 228 / ({task.shared_kib} + 1) = {by_shared:.2f}, so {int(by_shared)} blocks.",
        f"Warps: 64 / {warps} = {64 / warps:.2f}, so {64 // warps} blocks.",
        f"blocks: the smallest of the three, {right['blocks']:g}.",
        f"percent: {right['blocks']:g} × {warps} of 64 warps = {right['percent']:g} %.",
        f"best, percent_best: {shares}. The best is {right['best']:g}.",
    ]


def _resident(task: ExerciseTask, threads: int) -> Occupancy:
    return occupancy(gpu("h200"), threads, task.registers, 1024 * task.shared_kib)


def _percent(task: ExerciseTask, threads: int) -> float:
    return 100 * _resident(task, threads).fraction


def _accepts_occupancy(task: ExerciseTask) -> bool:
    """Accept parameters with one best block, and with the results of the lab's formulas.

    The occupancy calculator divides the registers among the four parts of an SM, which the lab leaves out.
    """
    percents = sorted(_percent(task, threads) for threads in BLOCKS)
    by_shared = 228 // (task.shared_kib + 1)
    simple = all(
        _resident(task, threads).blocks_per_sm
        == min(65536 // (task.registers * threads), by_shared, 2048 // threads)
        for threads in (*BLOCKS, task.threads)
    )
    return simple and percents[-2] < percents[-1] < 100 and _percent(task, task.threads) > 0


OCCUPANCY = NumberExercise(
    name="occupancy",
    title="A block for a kernel, on an SM of an H200",
    parameters=(
        DrawnParameter("registers", range(32, 72, 8), "registers of each thread"),
        DrawnParameter("shared_kib", range(8, 56), "KB of shared memory of each block"),
        DrawnParameter("threads", range(96, 672, 32), "threads of a block, for blocks and percent"),
    ),
    quantities=(
        Quantity("blocks", "resident blocks of `threads` threads on an SM"),
        Quantity("percent", "occupancy with these blocks", "%", 0.01),
        Quantity("best", "threads per block with the largest occupancy, of 64, 128, 256, 512 and 1024"),
        Quantity("percent_best", "occupancy with these threads", "%", 0.01),
    ),
    right=right_occupancy,
    steps=steps_occupancy,
    accept=_accepts_occupancy,
)


def right_copies(task: ExerciseTask) -> dict[str, float]:
    """Return the bytes of a copy in device memory, and two lower bounds of times."""
    spec, nbytes = gpu(task.gpu), FLOAT * task.mega_floats * 2**20
    assert spec.bus_gb_s is not None
    return {
        "bytes_moved": 2 * nbytes,
        "kernel_us": 2 * nbytes / spec.dram_gb_s / 1e3,
        "bus_us": nbytes / spec.bus_gb_s / 1e3,
    }


def steps_copies(task: ExerciseTask) -> list[str]:
    """Return the worked steps of `right_copies`."""
    spec, right = gpu(task.gpu), right_copies(task)
    nbytes = FLOAT * task.mega_floats * 2**20
    return [
        (
            f"bytes_moved: {task.mega_floats} × 2^20 floats × 4 bytes, read and written: "
            f"{right['bytes_moved']:,.0f}."
        ),
        (
            f"kernel_us: {right['bytes_moved']:,.0f} bytes / {spec.dram_gb_s:,.0f} GB/s = "
            f"{right['kernel_us']:,.1f} us."
        ),
        (
            f"bus_us: one array, {nbytes:,} bytes / {spec.bus_gb_s:,.1f} GB/s = {right['bus_us']:,.0f} us, "
            f"{right['bus_us'] / right['kernel_us']:.0f} times as long."
        ),
    ]


COPIES = NumberExercise(
    name="copies",
    title="Lower bounds of copies",
    parameters=(
        DrawnParameter("gpu", ("gtx1080", "v100", "t4", "rtx3090", "a100", "rtx4090", "h100"), "the GPU"),
        DrawnParameter("mega_floats", range(12, 90), "length of the array, in units of 2^20 floats"),
    ),
    quantities=(
        Quantity("bytes_moved", "bytes that a kernel reads and writes to copy the array on the device"),
        Quantity("kernel_us", "the shortest time of this kernel", "us", 0.05),
        Quantity("bus_us", "the shortest time of one copy of the array from the host", "us", 0.05),
    ),
    right=right_copies,
    steps=steps_copies,
)


def right_overlap(task: ExerciseTask) -> dict[str, float]:
    """Return the time of a pipeline of copies and kernels with one stream and with two."""
    one = task.parts * (task.in_ms + task.kernel_ms + task.out_ms)
    two = _pipeline_ms(task, streams=2)
    return {"one_stream_ms": one, "two_streams_ms": two, "saved_percent": 100 * (one - two) / one}


def _pipeline_ms(task: ExerciseTask, streams: int) -> float:
    """Return the end of the last operation; each engine and each stream does one operation at a time."""
    engines, ends = [0.0, 0.0, 0.0], [0.0] * streams
    for part in range(task.parts):
        stream = part % streams
        for engine, duration in enumerate((task.in_ms, task.kernel_ms, task.out_ms)):
            ends[stream] = engines[engine] = max(ends[stream], engines[engine]) + duration
    return max(ends)


def steps_overlap(task: ExerciseTask) -> list[str]:
    """Return the worked steps of `right_overlap`."""
    right = right_overlap(task)
    each = task.in_ms + task.kernel_ms + task.out_ms
    return [
        (
            f"one_stream_ms: {task.parts} × ({task.in_ms} + {task.kernel_ms} + {task.out_ms}) = "
            f"{task.parts} × {each} = {right['one_stream_ms']:g} ms."
        ),
        (
            "two_streams_ms: draw three rows, one for each engine: copy in, kernel, copy out. A box begins "
            "when its engine is free and the box before it in its stream has ended. The last box ends at "
            f"{right['two_streams_ms']:g} ms."
        ),
        (
            f"saved_percent: 100 × ({right['one_stream_ms']:g} − {right['two_streams_ms']:g}) / "
            f"{right['one_stream_ms']:g} = {right['saved_percent']:.1f}."
        ),
    ]


OVERLAP = NumberExercise(
    name="overlap",
    title="A pipeline of copies and kernels",
    parameters=(
        DrawnParameter("parts", (4, 6), "parts of the array, which alternate between the streams"),
        DrawnParameter("in_ms", (2, 3, 4), "ms to copy a part to the device"),
        DrawnParameter("kernel_ms", (3, 5, 6, 7, 8), "ms of the kernel for a part"),
        DrawnParameter("out_ms", (2, 3, 4), "ms to copy a part to the host"),
    ),
    quantities=(
        Quantity("one_stream_ms", "time with one stream", "ms"),
        Quantity("two_streams_ms", "time with two streams and page-locked memory", "ms"),
        Quantity("saved_percent", "share of the time with one stream that is saved", "%", 0.01),
    ),
    right=right_overlap,
    steps=steps_overlap,
    accept=lambda task: task.kernel_ms not in (task.in_ms, task.out_ms),
)


def right_sectors(task: ExerciseTask) -> dict[str, float]:
    """Return the sectors that a request of 32 lanes touches, for three indices."""
    return {
        "shifted": _sectors(i + task.shift for i in range(task.lanes)),
        "shared": _sectors(i // task.share for i in range(32)),
        "strided": _sectors(i * task.stride for i in range(32)),
    }


def _sectors(indices: Iterable[int]) -> int:
    """Return the sectors of the floats with these indices."""
    return len({FLOAT * index // SECTOR for index in indices})


def steps_sectors(task: ExerciseTask) -> list[str]:
    """Return the worked steps of `right_sectors`."""
    right = right_sectors(task)
    floats, span = 32 // task.share, FLOAT * 31 * task.stride + FLOAT
    return [
        (
            f"shifted: the bytes {FLOAT * task.shift} to {FLOAT * (task.shift + task.lanes) - 1}; "
            f"sectors begin at multiples of {SECTOR}, so {right['shifted']:g}."
        ),
        (
            f"shared: 32 lanes read {floats} different floats, {FLOAT * floats} neighbouring bytes: "
            f"{right['shared']:g}."
        ),
        (
            f"strided: neighbouring lanes are {FLOAT * task.stride} bytes apart; the request covers {span} "
            f"bytes and touches {right['strided']:g} sectors."
        ),
    ]


SECTORS = NumberExercise(
    name="sectors",
    title="Sectors of three loads",
    parameters=(
        DrawnParameter("shift", (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 20), "floats that lane 0 skips"),
        DrawnParameter("lanes", range(7, 33), "active lanes of the shifted load: i < lanes"),
        DrawnParameter("share", (2, 4, 8, 16), "lanes that read the same float"),
        DrawnParameter("stride", (2, 3, 4, 5, 6, 8, 16, 32), "floats from one lane to the next"),
    ),
    quantities=(
        Quantity("shifted", "sectors of x[i + shift] if only the lanes i < lanes load"),
        Quantity("shared", "sectors of x[i / share]"),
        Quantity("strided", "sectors of x[stride * i]"),
    ),
    right=right_sectors,
    steps=steps_sectors,
)

BARRIER_LINE = 10  # line of the barrier in the kernel `suspect` of lab 0
WHO = ("all threads of the last block", "threads with i >= n", "threads with i < n")
ORDER = (
    "one thread reaches it twice",
    "not all threads of a block reach it",
    "all threads reach it too late",
)
CASE_BRANCH = NumberExercise(
    name="case_branch",
    title="The case of the last block",
    parameters=(),
    quantities=(
        Quantity("line", "the number of the line with the fault; the header is line 1"),
        Quantity("who", "who does not execute this line", options=WHO),
        Quantity("order", "what goes wrong at this line", options=ORDER),
    ),
    right=lambda task: {"line": BARRIER_LINE, "who": WHO[1], "order": ORDER[1]},  # noqa: ARG005
    steps=lambda task: [  # noqa: ARG005
        f"Line {BARRIER_LINE}: __syncthreads() is inside the if, which threads with i >= n do not enter.",
        (
            "In the last block, threads with i < n wait there for threads that have already left the if. "
            "CUDA does not define what happens: the kernel hangs, or goes on without the barrier."
        ),
        "All threads of a block must reach each barrier. Put the barrier between two ifs.",
    ],
)

COPY4 = ChoiceExercise(
    name="copy4",
    title="Four floats for each thread",
    quantities=(
        Quantity("h200", "copy4 on an H200, compared with copy", options=("faster", "same", "slower")),
    ),
    truth=lambda _lab: {
        "h200": Truth(
            "faster: 4,282 against 2,699 GB/s, with 2^28 floats",
            "measured, one NVIDIA H200, driver 580.159, NVRTC 13.0, November 2026",
        )
    },
)

EXERCISES = (PEAK, OCCUPANCY, COPIES, OVERLAP, SECTORS, CASE_BRANCH, COPY4, *KERNELS)
