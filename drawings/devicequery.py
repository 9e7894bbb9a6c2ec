"""The figures of labs/00_devicequery."""

from __future__ import annotations

from drawings.figure import CARD, EMPTY, HATCHED, INK, LINE, MUTED, Figure

IDLE = "#d5dbe2"
ORANGE, BLUE, PURPLE, GREEN = "#d9680f", "#3b82c4", "#8a63c7", "#1f9a78"
PALE_BLUE, PALE_GREEN, PALE_ORANGE, YELLOW = "#bcd8f2", "#bfe6da", "#f6d3b4", "#f0c04a"


def hierarchy() -> Figure:
    """Draw a grid, a block, a warp, and the blocks on the SMs that run them."""
    fig = Figure(
        "hierarchy", 720, 372, "A grid of blocks, a block of warps, a warp of 32 lanes; blocks on SMs"
    )
    tints = [PALE_BLUE, PALE_GREEN, PALE_ORANGE]
    fig.text(24, 32, "grid", bold=True)
    fig.text(62, 32, "all threads of one launch", MUTED, size=13)
    fig.line((139, 46), (276, 46), LINE, 1.2)
    fig.line((139, 92), (276, 150), LINE, 1.2)
    for n in range(8):
        x, y = 24 + n % 4 * 60, 46 + n // 4 * 52
        fig.rect(x, y, 55, 46, tints[n % 3], stroke=BLUE if n == 1 else MUTED, width=3 if n == 1 else 1, rx=4)
        fig.text(x + 27.5, y + 28, f"block {n}", anchor="middle", size=13, bold=n == 1)
    fig.text(276, 32, "block", bold=True)
    fig.text(322, 32, "runs on one SM; can share and wait", MUTED, size=13)
    fig.rect(276, 46, 420, 104, PALE_GREEN, stroke=BLUE, width=2, rx=4)
    for warp in range(2):
        top = 58 + 44 * warp
        fig.text(286, top + 20, f"warp {warp}", size=13, bold=True)
        for lane in range(32):
            fig.rect(342 + 11 * lane, top, 10, 32, YELLOW if (warp, lane) == (1, 5) else EMPTY, width=0.8)
    fig.text(276, 176, "warp", bold=True)
    fig.text(
        318,
        176,
        "32 threads, lanes 0 to 31; one instruction at a time",
        MUTED,
        size=13,
    )
    fig.legend(276, 190, [(YELLOW, "one thread: block 1, thread 37, which is warp 1, lane 5")])

    fig.text(24, 248, "GPU", bold=True)
    fig.text(62, 248, "every SM takes blocks while it has room; the rest wait for their turn", MUTED, size=13)
    for sm, blocks in enumerate([(0, 3), (1, 4), (2, 5)]):
        x = 24 + 176 * sm
        fig.rect(x, 260, 164, 92, EMPTY, stroke=MUTED, width=1.6, rx=6)
        fig.text(x + 10, 280, f"SM {sm}", bold=True)
        for n, block in enumerate(blocks):
            fig.box(x + 10 + 74 * n, 292, 66, 44, f"block {block}", tints[block % 3])
    fig.text(560, 280, "waiting", bold=True)
    for n in range(2):
        fig.box(560 + 70 * n, 292, 64, 44, f"block {6 + n}", tints[n])
    return fig


def index() -> Figure:
    """Draw the element of each thread, and the threads past the end of the array."""
    fig = Figure(
        "index", 720, 176, "Three blocks of eight threads cover an array of twenty elements; four are idle"
    )
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
        "latency", 720, 310, "One warp leaves the SM idle while it waits; eight warps fill each other's waits"
    )
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
        "memory", 720, 330, "Memory spaces: registers and shared memory in an SM, caches, device memory, host"
    )
    fig.rect(20, 40, 150, 250, EMPTY, stroke=MUTED, rx=8)
    fig.text(32, 62, "host", bold=True)
    fig.box(34, 80, 122, 40, "CPU")
    fig.box(34, 136, 122, 64, "pageable")
    fig.box(34, 216, 122, 56, "page-locked", PALE_ORANGE)
    fig.rect(270, 40, 430, 250, EMPTY, stroke=MUTED, rx=8)
    fig.text(282, 62, "device", bold=True)
    fig.box(284, 76, 96, 196, "", PALE_ORANGE)
    fig.text(332, 104, "DRAM", anchor="middle", bold=True)
    for n, words in enumerate(["global", "constant", "texture", "local: what", "registers", "cannot hold"]):
        fig.text(332, 130 + 21 * n - (0 if n < 4 else 4 * (n - 3)), words, anchor="middle", size=12.5)
    fig.box(400, 76, 62, 196, "L2", PALE_GREEN, bold=True)
    for n in range(2):
        top = 76 + 102 * n
        fig.rect(482, top, 206, 94, CARD, stroke=BLUE, width=1.6, rx=6)
        fig.text(490, top + 18, "SM", bold=True)
        fig.box(520, top + 8, 160, 24, "L1 | shared, per block", PALE_BLUE)
        fig.box(520, top + 36, 160, 22, "constant cache", PALE_GREEN)
        fig.box(520, top + 62, 160, 24, "registers, per thread", YELLOW)
        fig.line((462, top + 47), (481, top + 47), MUTED, 2)
    fig.line((380, 174), (399, 174), MUTED, 2)
    fig.line((170, 174), (269, 174), MUTED, 3)
    fig.text(220, 162, "bus", anchor="middle", bold=True)
    fig.text(220, 194, "tens of GB/s", MUTED, anchor="middle", size=12.5)
    fig.text(332, 312, "100s to 1000s of GB/s", MUTED, anchor="middle", size=12.5)
    fig.text(588, 312, "many TB/s over all SMs", MUTED, anchor="middle", size=12.5)
    return fig


def pitch() -> Figure:
    """Draw the rows of an array without and with a pitch, over the sectors of memory."""
    fig = Figure(
        "pitch",
        720,
        286,
        "Rows of 11 elements: without padding they begin inside a sector, with a pitch of 16 at one",
    )
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
    fig.text(
        left, 248, "the pitch is 16 elements; a row's last 5 are padding that nobody uses", MUTED, size=13
    )
    fig.legend(left, 258, [(HATCHED, "no element")])
    fig.rect(left + 130, 258, 34, 14, stroke=INK, width=1.6)
    fig.text(left + 172, 270, "a sector: 8 floats, 32 bytes; the least that memory moves")
    return fig


def branch() -> Figure:
    """Draw a warp that diverges at an `if`, and the point of reconvergence."""
    fig = Figure(
        "branch",
        720,
        290,
        "A warp at a branch runs one side after the other; before Volta the waiting loop never ends",
    )
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
    for n, words in enumerate([loop, loop, "… for ever"]):
        lanes(350, 76 + 30 * n, everyone - {0}, PALE_ORANGE, words)
    fig.rect(350, 170, 8 * s, 18, YELLOW, rx=3)
    fig.text(350 + 8 * s + 10, 184, "the lanes meet here", size=13, bold=True)
    lanes(350, 198, {0}, PALE_GREEN, "turn = turn + 1;")
    fig.line((357, 66), (357, 168), INK, tip=True)
    fig.text(350, 234, "Before Volta lane 0 waits at the meeting point for the", size=13)
    fig.text(350, 252, "others, and they wait for what lane 0 does behind it.", size=13)
    return fig


def total() -> Figure:
    """Draw a sum over a grid: in shared memory within each block, then one atomic per block."""
    fig = Figure(
        "total",
        720,
        232,
        "Every block adds its own elements; one thread of each adds the block's sum to the total",
    )
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
    fig.text(24, 170, "atomicAdd, one a block,", size=13)
    fig.text(24, 188, "in whatever order the blocks end", MUTED, size=13)
    return fig


FIGURES = (hierarchy, index, latency, memory, pitch, branch, total)
