"""Figures of labs/01_stencil that show time: waves of blocks over SMs, and a barrier between two warps."""

from __future__ import annotations

from drawings.figure import Figure
from drawings.palette import BLUE, EMPTY, HATCHED, INK, MUTED, PALE_BLUE, PALE_GREEN, STRIPED

SMS, BLOCKS = 132, 1024  # an H200, and the blocks of a 512 x 512 frame with --block 32 8
THREADS, REGISTERS = 256, 65536  # per block, and in the register file of an SM


def waves() -> Figure:
    """Draw the blocks of one launch on the SMs in time, for three register counts."""
    fig = Figure(
        "waves", 720, 380,
        "Registers per thread decide how many blocks fit on an SM, and so the number of waves",
        "Time lines of 1,024 blocks of 256 threads on an H200 with 132 SMs. With 48 registers per thread, "
        "5 blocks fit on an SM: 660 blocks run in the first wave and 364 in the second, which leaves SMs "
        "partly empty. With 40 registers, 6 blocks fit: 792 and 232. With 32 registers, 8 blocks fit and "
        "all blocks run in one wave.",
    )  # fmt: skip
    high, column = 64.0, 84.0
    for panel, registers in enumerate((48, 40, 32)):
        left = 68.0 + 220 * panel
        resident = REGISTERS // (registers * THREADS)
        at_once = SMS * resident
        number = -(-BLOCKS // at_once)
        slot = high * registers * THREADS / REGISTERS
        fig.text(left, 30, f"{registers} registers per thread", bold=True)
        fig.text(left, 49, f"{resident} resident blocks per SM", MUTED, size=13)
        for row, sm in enumerate((0, 1, SMS - 1)):
            top = 64.0 + row * (high + 10) + (14 if sm > 1 else 0)
            if panel == 0:
                fig.text(left - 8, top + high / 2 + 5, f"SM {sm}", anchor="end", size=13)
            for wave in range(number):
                blocks = min(at_once, BLOCKS - wave * at_once)
                mine = blocks // SMS + (sm < blocks % SMS)
                x = left + wave * column
                for n in range(resident):
                    fill = (PALE_BLUE, PALE_GREEN)[wave] if n < mine else HATCHED
                    fig.rect(x, top + n * slot, column, slot, fill, stroke=MUTED, width=0.8)
            fig.rect(left, top, number * column, high, stroke=INK, width=1.6)
        fig.text(left + column * number / 2, 223, "…", anchor="middle", size=18)
        for wave in range(number):
            blocks = min(at_once, BLOCKS - wave * at_once)
            middle = left + (wave + 0.5) * column
            fig.text(middle, 318, f"wave {wave + 1}", anchor="middle", size=13, bold=True)
            fig.text(middle, 335, f"{blocks:,} blocks", anchor="middle", size=13)
    fig.line((288, 360), (360, 360), tip=True)
    fig.text(280, 365, "time", MUTED, anchor="end", size=13)
    fig.rect(392, 352, 14, 14, HATCHED, stroke=MUTED)
    fig.text(414, 364, "no block left to run: the tail")
    fig.text(24, 365, "height: a block's registers", MUTED, size=13)
    return fig


def barrier_timeline() -> Figure:
    """Draw two warps in time, without and with the barrier after the last read."""
    fig = Figure(
        "barrier_timeline", 720, 330,
        "Without a barrier at the end of the loop, one warp writes the tile that another one still reads",
        "Two warps in time. Without a barrier after the last read, warp 1 writes the tile for round z = 2 "
        "while warp 0 still reads it in round z = 1: a race. With the second barrier, warp 1 waits until "
        "warp 0 has finished reading, and both write the tile for z = 2 afterwards.",
    )  # fmt: skip
    left, high = 96.0, 34.0

    def part(start: float, end: float, top: float, words: str, fill: str) -> None:
        fig.rect(left + start, top, end - start, high, fill, stroke=MUTED, rx=4)
        middle = left + start + min(end - start, 116) / 2
        if fill == STRIPED:  # the pattern would cross the letters
            fig.rect(middle - 46, top + 7, 92, 20, EMPTY, stroke="none", rx=3)
        fig.text(middle, top + high / 2 + 5, words, anchor="middle", size=13)

    def warps(top: float) -> tuple[float, float]:
        for n in range(2):
            fig.text(left - 10, top + n * 44 + 22, f"warp {n}", anchor="end", size=13, bold=True)
        return top, top + 44

    def barrier(at: float, top: float, words: str = "barrier") -> None:
        fig.line((left + at, top - 8), (left + at, top + 86), INK, 3)
        fig.text(left + at, top - 13, words, anchor="middle", size=12.5)

    fig.text(24, 32, "One barrier per round: a race", bold=True)
    first, second = warps(66)
    part(0, 106, first, "write, z = 1", PALE_BLUE)
    part(0, 96, second, "write, z = 1", PALE_BLUE)
    barrier(110, first)
    part(114, 400, first, "read, z = 1", PALE_GREEN)
    part(114, 230, second, "read, z = 1", PALE_GREEN)
    part(234, 350, second, "write, z = 2", STRIPED)
    part(354, 506, second, "waits", HATCHED)
    part(404, 506, first, "write, z = 2", PALE_BLUE)
    barrier(510, first)
    fig.line((left + 234, 60), (left + 234, 152), BLUE, 1.4)
    fig.line((left + 350, 60), (left + 350, 152), BLUE, 1.4)
    fig.text(
        left + 292, 166, "warp 1 overwrites values that warp 0 still reads", BLUE, anchor="middle", size=13
    )

    fig.text(24, 204, "A second barrier after the last read", bold=True)
    first, second = warps(236)
    part(0, 106, first, "write, z = 1", PALE_BLUE)
    part(0, 96, second, "write, z = 1", PALE_BLUE)
    barrier(110, first)
    part(114, 400, first, "read, z = 1", PALE_GREEN)
    part(114, 230, second, "read, z = 1", PALE_GREEN)
    part(234, 400, second, "waits", HATCHED)
    barrier(404, first, "second barrier")
    part(408, 506, first, "write, z = 2", PALE_BLUE)
    part(408, 500, second, "write, z = 2", PALE_BLUE)
    barrier(510, first)
    fig.line((left + 536, 300), (left + 596, 300), tip=True)
    fig.text(left + 536, 290, "time", MUTED, size=13)
    return fig
