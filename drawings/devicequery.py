"""The figures of labs/00_devicequery."""

from __future__ import annotations

from drawings.figure import Figure
from drawings.palette import (
    BLUE,
    CARD,
    EMPTY,
    GREEN,
    GREY,
    HATCHED,
    INK,
    LINE,
    MUTED,
    ORANGE,
    PALE_BLUE,
    PALE_GREEN,
    PALE_ORANGE,
    STRIPED,
    YELLOW,
)

# src/gpulab/gpus/architectures.toml, compute capability 9.0; 349 ns to DRAM at 1.98 GHz
LATENCY_SOURCE = "Latencies: measured on an H200 at 1.98 GHz by benchmarks/model_microbenchmarks.py."


def hierarchy() -> Figure:
    """Draw a grid, a block, a warp, and the blocks on the SMs that run them."""
    fig = Figure(
        "hierarchy", 720, 372,
        "A grid of blocks, a block of warps, a warp of 32 lanes; blocks on SMs",
        "A grid of eight blocks. Block 1 is drawn large: two warps of 32 lanes; thread 37 is lane 5 of "
        "warp 1. Below, three SMs hold two blocks each, and two blocks wait for a free place on any SM.",
    )  # fmt: skip
    tints = [PALE_BLUE, PALE_GREEN, PALE_ORANGE]
    fig.text(24, 32, "grid", bold=True)
    fig.text(62, 32, "all threads of one launch", MUTED, size=13)
    fig.line((139, 46), (276, 46), LINE, 1.2)
    fig.line((139, 92), (276, 150), LINE, 1.2)
    for n in range(8):
        x, y = 24 + n % 4 * 60, 46 + n // 4 * 52
        fill = tints[n % 3] if n < 6 else EMPTY  # which SM will run blocks 6 and 7 is not known yet
        fig.rect(x, y, 55, 46, fill, stroke=BLUE if n == 1 else MUTED, width=3 if n == 1 else 1, rx=4)
        fig.text(x + 27.5, y + 28, f"block {n}", anchor="middle", size=13, bold=n == 1)
    fig.text(276, 32, "block", bold=True)
    fig.text(322, 32, "runs on one SM; its threads share memory and barriers", MUTED, size=13)
    fig.rect(276, 46, 420, 104, PALE_GREEN, stroke=BLUE, width=2, rx=4)
    for warp in range(2):
        top = 58 + 44 * warp
        fig.text(286, top + 20, f"warp {warp}", size=13, bold=True)
        for lane in range(32):
            fig.rect(342 + 11 * lane, top, 10, 32, YELLOW if (warp, lane) == (1, 5) else EMPTY, width=0.8)
    fig.text(276, 176, "warp", bold=True)
    fig.text(
        324,
        176,
        "32 threads, lanes 0 to 31; one instruction at a time",
        MUTED,
        size=13,
    )
    fig.legend(276, 190, [(YELLOW, "one thread: block 1, thread 37, which is warp 1, lane 5")])

    fig.text(24, 248, "GPU", bold=True)
    fig.text(
        62,
        248,
        "each SM runs as many blocks as fit; the others wait for any SM with room",
        MUTED,
        size=13,
    )
    for sm, blocks in enumerate([(0, 3), (1, 4), (2, 5)]):
        x = 24 + 176 * sm
        fig.rect(x, 260, 164, 92, EMPTY, stroke=MUTED, width=1.6, rx=6)
        fig.text(x + 10, 280, f"SM {sm}", bold=True)
        for n, block in enumerate(blocks):
            fig.box(x + 10 + 74 * n, 292, 66, 44, f"block {block}", tints[block % 3])
    fig.text(560, 280, "waiting", bold=True)
    for n in range(2):
        fig.box(560 + 70 * n, 292, 64, 44, f"block {6 + n}")
    return fig


def index() -> Figure:
    """Draw the element of each thread, and the threads past the end of the array."""
    fig = Figure(
        "index", 720, 176,
        "Three blocks of eight threads cover an array of twenty elements; four are idle",
        "Three blocks of eight threads over an array of twenty elements. Thread 5 of block 1 computes "
        "element 13. The last four threads have no element.",
    )  # fmt: skip
    s, left, top, n = 28, 24, 62, 20
    for i in range(24):
        block, thread = divmod(i, 8)
        x = left + i * s
        fig.rect(x, top, s, s, (PALE_BLUE, PALE_GREEN, PALE_ORANGE)[block], width=0.8)
        fig.text(x + s / 2, top + 19, str(thread), anchor="middle", size=13)
        if i < n:
            fig.rect(x, top + 44, s, s, YELLOW if i == 13 else EMPTY)
            fig.text(x + s / 2, top + 63, str(i), anchor="middle", size=13, bold=i == 13)
        else:
            fig.rect(x, top, s, s, HATCHED, stroke="none")
    for block in range(3):
        fig.rect(left + 8 * s * block, top, 8 * s, s, stroke=MUTED, width=2)
        fig.text(left + 8 * s * block + 4, top - 8, f"blockIdx.x = {block}", code=True, size=12.5)
    fig.text(left, 28, "i = blockIdx.x * blockDim.x + threadIdx.x", code=True)
    fig.text(430, 28, "13 = 1 * 8 + 5", ORANGE, code=True, bold=True)
    fig.line((left + 13.5 * s, top + s + 1), (left + 13.5 * s, top + 42), tip=True)
    fig.text(left + 20 * s + 6, top + 58, "20 to 23: no", MUTED, size=12.5)
    fig.text(left + 20 * s + 6, top + 74, "element; guard", MUTED, size=12.5)
    fig.text(left, 158, "threads above, elements of the array below", MUTED, size=13)
    return fig


def latency() -> Figure:
    """Draw one warp that stalls, and eight warps that hide each other's stalls."""
    fig = Figure(
        "latency", 720, 310,
        "One warp leaves the SM idle while it waits; eight warps fill each other's waits",
        "Time lines. One warp issues for two steps and waits for fourteen, so the SM is busy in 6 of 34 "
        "steps. With eight warps, one of which can always issue, it is busy in all of them.",
    )  # fmt: skip
    unit, left, work, wait = 17, 100, 2, 14

    def row(y: float, first: int, warp: int, rounds: int) -> None:
        at = first
        for _ in range(rounds):
            fig.rect(left + at * unit, y, work * unit, 17, BLUE, stroke=EMPTY)
            at += work
            end = min(wait, 34 - at)
            if end > 0:
                fig.line((left + at * unit + 2, y + 8.5), (left + (at + end) * unit - 2, y + 8.5), LINE, 2)
            at += wait
        fig.text(left - 10, y + 13, f"warp {warp}", anchor="end", size=13)

    fig.text(24, 30, "one warp", bold=True)
    row(42, 0, 0, 3)
    fig.text(left - 10, 80, "SM", anchor="end", size=13, bold=True)
    for n in range(34):
        fig.rect(left + n * unit, 67, unit, 17, GREEN if n % 16 < 2 else HATCHED, stroke=LINE)
    fig.text(24, 112, "eight warps", bold=True)
    for warp in range(8):
        row(121 + 18 * warp, 2 * warp, warp, 2 if warp else 3)
    fig.text(left - 10, 282, "SM", anchor="end", size=13, bold=True)
    for n in range(34):
        fig.rect(left + n * unit, 269, unit, 17, GREEN, stroke=LINE)
    fig.legend(left + 6, 17, [(BLUE, "has an instruction to issue")])
    fig.line((left + 226, 25), (left + 250, 25), LINE, 2)
    fig.text(left + 258, 29, "waits for memory")
    fig.text(left + 400, 29, "time", MUTED, size=13)
    fig.line((left + 436, 25), (left + 500, 25), tip=True)
    fig.text(left, 303, "SM busy: 6 of 34 steps with one warp, all of them with eight", MUTED, size=13)
    return fig


def memory() -> Figure:
    """Draw the memory spaces, from the host to a thread."""
    fig = Figure(
        "memory", 720, 358,
        "Memory spaces: registers and shared memory in an SM, caches, device memory, host",
        "The host with pageable and page-locked memory; a bus; the device with DRAM, which holds global, "
        "constant, texture and local memory, an L2 cache, and SMs with L1 and shared memory, a constant "
        "cache and registers. Load latencies on an H200: shared memory 30 cycles, L1 39, L2 287, DRAM "
        "691.",
    )  # fmt: skip
    fig.rect(20, 24, 150, 250, EMPTY, stroke=MUTED, rx=8)
    fig.text(32, 46, "host", bold=True)
    fig.box(34, 62, 122, 40, "CPU")
    fig.box(34, 118, 122, 64, "pageable memory")
    fig.box(34, 198, 122, 56, "page-locked", PALE_ORANGE)
    fig.rect(270, 24, 430, 250, EMPTY, stroke=MUTED, rx=8)
    fig.text(282, 46, "device", bold=True)
    fig.rect(284, 60, 96, 196, PALE_ORANGE, stroke=MUTED, rx=4)
    fig.text(332, 88, "DRAM", anchor="middle", bold=True)
    for n, words in enumerate(["global", "constant", "texture", "local: what", "registers", "cannot hold"]):
        fig.text(332, 114 + 21 * n - (0 if n < 4 else 4 * (n - 3)), words, anchor="middle", size=12.5)
    fig.box(400, 60, 62, 196, "L2", PALE_GREEN, bold=True)
    for n in range(2):
        top = 60 + 102 * n
        fig.rect(482, top, 206, 94, CARD, stroke=BLUE, width=1.6, rx=6)
        fig.text(490, top + 18, "SM", bold=True)
        fig.box(520, top + 8, 160, 24, "L1 | shared, per block", PALE_BLUE)
        fig.box(520, top + 36, 160, 22, "constant cache", PALE_GREEN)
        fig.box(520, top + 62, 160, 24, "registers, per thread", YELLOW)
        fig.line((462, top + 47), (481, top + 47), MUTED, 2)
    fig.line((380, 158), (399, 158), MUTED, 2)
    fig.line((170, 158), (269, 158), MUTED, 3)
    fig.text(220, 146, "bus", anchor="middle", bold=True)
    for x, latency, bandwidth in (
        (220, "", "tens of GB/s"),
        (332, "691 cycles", "100s to 1000s of GB/s"),
        (431, "287", ""),
        (588, "L1 39, shared 30", "many TB/s over all SMs"),
    ):
        if latency:
            fig.text(x, 298, latency, anchor="middle", size=13, bold=True)
        if bandwidth:
            fig.text(x, 178 if x == 220 else 318, bandwidth, MUTED, anchor="middle", size=12.5)
    fig.text(24, 298, "latency of a load, in cycles", size=13)
    fig.text(24, 318, "bandwidth", MUTED, size=13)
    fig.text(24, 344, LATENCY_SOURCE, MUTED, size=12.5)
    return fig


def pitch() -> Figure:
    """Draw the rows of an array without and with a pitch, over the sectors of memory."""
    fig = Figure(
        "pitch", 720, 286,
        "Rows of 11 elements: without padding they begin inside a sector, with a pitch of 16 at one",
        "Rows of 11 floats, one after the other, begin inside a sector. With a pitch of 16 floats, every "
        "row begins at a sector.",
    )  # fmt: skip
    s, left = 14, 40

    def rows(top: float, width: int, elements: int, words: str) -> None:
        fig.text(left, top - 12, words, bold=True)
        colours = [PALE_BLUE, PALE_ORANGE, PALE_GREEN]
        for i in range(44 if width == 16 else 40):
            row, column = divmod(i, width)
            there = row < 3 and column < elements
            fig.rect(left + i * s, top, s, 26, colours[row % 3] if there else HATCHED, width=0.6)
        for sector in range(6):
            fig.rect(left + 8 * s * sector, top, min(8 * s, (44 - 8 * sector) * s), 26, stroke=INK, width=1.6)

    rows(52, 11, 11, "plain: row after row")
    for row in range(3):
        fig.line(
            (left + 11 * row * s + 1, 98), (left + 11 * row * s + 1, 81), ORANGE if row else INK, tip=True
        )
        fig.text(left + 11 * row * s + 6, 102, f"row {row}", MUTED, size=12.5)
    fig.text(
        left,
        124,
        "rows 1 and 2 begin inside a sector: a warp that reads from there touches one sector more",
        MUTED,
        size=13,
    )
    rows(176, 16, 11, "pitched: every row begins at a sector")
    for row in range(3):
        fig.line((left + 16 * row * s + 1, 222), (left + 16 * row * s + 1, 205), tip=True)
        fig.text(left + 16 * row * s + 6, 226, f"row {row}", MUTED, size=12.5)
    fig.text(left, 248, "the pitch is 16 elements; the last 5 of each row are padding", MUTED, size=13)
    fig.legend(left, 258, [(HATCHED, "no element")])
    fig.rect(left + 130, 258, 34, 14, stroke=INK, width=1.6)
    fig.text(left + 172, 270, "a sector: 8 floats, 32 bytes; the unit of transfers in L1 and L2")
    return fig


def branch() -> Figure:
    """Draw a warp that diverges at an `if`, and the point of reconvergence."""
    fig = Figure(
        "branch", 720, 290,
        "A warp at a branch runs one side after the other; before Volta the waiting loop never ends",
        "Left: at an if, a warp executes one side with half of its lanes, then the other. Right: seven "
        "lanes wait in a loop for lane 0, which waits for them at the point of reconvergence.",
    )  # fmt: skip
    s = 15

    def lanes(x: float, y: float, active: set[int], colour: str, words: str) -> None:
        for lane in range(8):
            fig.rect(x + lane * s, y, s - 1, 18, colour if lane in active else HATCHED, width=0.8)
        fig.text(x + 8 * s + 10, y + 14, words, code=True, size=12.5)

    everyone, odd = set(range(8)), {1, 3, 5, 7}
    fig.text(24, 30, "if and else: both take time", bold=True)
    for n, (active, colour, words) in enumerate([
        (everyone, PALE_BLUE, "if (lane % 2)"), (odd, PALE_GREEN, "    one();"),
        (odd, PALE_GREEN, "    two();"), (everyone - odd, PALE_ORANGE, "else three();"),
        (everyone, PALE_BLUE, "four();"),
    ]):  # fmt: skip
        lanes(24, 46 + 30 * n, active, colour, words)
    fig.text(24, 216, "The lanes meet again at four().", size=13)
    fig.text(24, 234, "Hatched lanes wait. Half the issue slots", MUTED, size=13)
    fig.text(24, 251, "of the three lines in the middle are lost.", MUTED, size=13)
    fig.line((330, 24), (330, 266), LINE, 1)
    fig.text(350, 30, "a loop that waits for a lane of the same warp", bold=True)
    loop = "while (turn != lane) { }"
    lanes(350, 46, everyone, PALE_BLUE, loop)
    for n, words in enumerate([loop, loop, "… forever"]):
        lanes(350, 76 + 30 * n, everyone - {0}, PALE_ORANGE, words)
    fig.rect(350, 170, 8 * s, 18, YELLOW, rx=3)
    fig.text(350 + 8 * s + 10, 184, "the lanes meet here", size=13, bold=True)
    lanes(350, 198, {0}, PALE_GREEN, "turn = turn + 1;")
    fig.line((357, 66), (357, 168), INK, tip=True)
    fig.text(350, 234, "Before Volta lane 0 waits at the meeting point for the", size=13)
    fig.text(350, 252, "others, and they wait for what lane 0 does after it.", size=13)
    return fig


def total() -> Figure:
    """Draw a sum over a grid: in shared memory within each block, then one atomic per block."""
    fig = Figure(
        "total", 720, 232,
        "Every block adds its own elements; one thread of each adds the block's sum to the total",
        "Three blocks add eight numbers each in shared memory. One thread of each block adds the block's "
        "sum to a total in global memory.",
    )  # fmt: skip
    s = 26
    values = [[3, 1, 4, 1, 5, 9, 2, 6], [5, 3, 5, 8, 9, 7, 9, 3], [2, 3, 8, 4, 6, 2, 6, 4]]
    for block, numbers in enumerate(values):
        x = 24 + block * 228
        fig.text(x, 32, f"block {block}", bold=True)
        for n, number in enumerate(numbers):
            fig.box(x + n * s, 42, s - 2, 26, str(number), PALE_BLUE)
        fig.line((x + 4 * s - 1, 70), (x + 4 * s - 1, 104), tip=True)
        fig.text(x + 4 * s + 8, 92, "shared memory", MUTED, size=12.5)
        fig.box(x + 4 * s - 28, 106, 54, 28, str(sum(numbers)), PALE_GREEN, bold=True)
        fig.line((x + 4 * s - 1, 136), (360 + (block - 1) * 34, 176), tip=True)
    fig.box(306, 178, 108, 32, str(sum(map(sum, values))), YELLOW, bold=True)
    fig.text(424, 199, "in global memory", MUTED, size=13)
    fig.text(24, 170, "atomicAdd, one per block,", size=13)
    fig.text(24, 188, "in whatever order the blocks end", MUTED, size=13)
    return fig


def banks() -> Figure:
    """Draw the words that a warp accesses in the banks of shared memory: a row, a column, a padded column."""
    fig = Figure(
        "banks", 720, 350,
        "A row of a shared array has one word in each bank, a column has 32 words in one bank",
        "Shared memory as 32 banks. A warp that reads a row of a 32 by 32 array accesses each bank once, "
        "in one pass. A warp that reads a column accesses one bank 32 times, in 32 passes. With rows of "
        "33 words, the same column has one word in each bank again.",
    )  # fmt: skip
    s, top, size = 6.4, 84.0, 32
    panels = [
        ("a row", "t[3][lane]", "float t[32][32]", ["each bank once:", "1 pass"]),
        ("a column", "t[lane][3]", "float t[32][32]", ["one bank 32 times:", "32 passes"]),
        ("with padding", "t[lane][3]", "float t[32][33]", ["each bank once:", "1 pass"]),
    ]  # fmt: skip
    for n, (name, read, declared, words) in enumerate(panels):
        left = 30.0 + n * 230
        width = 33 if n == 2 else 32
        fig.text(left, 28, name, bold=True)
        fig.text(left + size * s, 28, read, anchor="end", code=True, size=13)
        fig.text(left, 50, declared, MUTED, code=True, size=12.5)
        fig.text(left + s / 2, 76, "0", MUTED, anchor="middle", size=12)
        fig.text(left + size * s / 2, 76, "bank", MUTED, anchor="middle", size=12)
        fig.text(left + 31.5 * s, 76, "31", MUTED, anchor="middle", size=12)

        rows = size + (n == 2)
        fig.rect(left, top, size * s, rows * s, EMPTY, stroke="none")
        accessed = [3 * width + lane if n == 0 else lane * width + 3 for lane in range(size)]
        padding = [row * width + 32 for row in range(size)] if n == 2 else []
        for addresses, fill in ((accessed, STRIPED if n == 1 else BLUE), (padding, GREY)):
            for address in addresses:
                row, bank = divmod(address, 32)
                fig.rect(left + bank * s, top + row * s, s, s, fill, stroke="none")
        grid = "".join(f"M{left + i * s:.1f} {top:g}v{rows * s:.1f}" for i in range(size + 1))
        grid += "".join(f"M{left:g} {top + j * s:.1f}h{size * s:.1f}" for j in range(rows + 1))
        fig.path(grid, LINE, 0.5)
        if padding:
            fig.rect(left + 116, 305, 12, 12, GREY, stroke=MUTED)
            fig.text(left + 134, 316, "padding", MUTED, size=13)
        for line, text in enumerate(words):
            fig.text(left, 317 + 18 * line, text, bold=line == 1, size=13)
    return fig


FIGURES = (hierarchy, index, latency, memory, banks, pitch, branch, total)
