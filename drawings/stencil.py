"""The figures of labs/01_stencil."""

from __future__ import annotations

from drawings import timelines
from drawings.figure import Figure, Point
from drawings.palette import (
    BLUE,
    DOTTED,
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
    PURPLE,
)

BOUNDARY, OWN, HALO = GREY, PALE_BLUE, DOTTED
CENTRE, SIDE, BELOW, ABOVE = ORANGE, BLUE, PURPLE, GREEN

Cell = tuple[int, int]


def seven_points() -> Figure:
    """Draw the seven points in space, and the same points frame by frame."""
    fig = Figure(
        "seven_points", 720, 290,
        "One output point needs seven input points, spread over three frames",
        "Seven points in space: the point itself and two neighbours along each of x, y and z. Frame by "
        "frame: one point in the bottom frame, five in the current one, one in the top one.",
    )  # fmt: skip
    c = (158.0, 140.0)
    x, y, z = (78.0, 0.0), (-46.0, 40.0), (0.0, -82.0)
    arms = [(x, SIDE), (y, SIDE), (z, ABOVE)]
    for (dx, dy), _ in arms:
        fig.line((c[0] - dx, c[1] - dy), (c[0] + dx, c[1] + dy), LINE, 3)
    for (dx, dy), colour in arms:
        fig.dot((c[0] - dx, c[1] - dy), 12, BELOW if colour == ABOVE else colour)
        fig.dot((c[0] + dx, c[1] + dy), 12, colour)
    fig.dot(c, 15, CENTRE)
    fig.text(c[0] + 12, c[1] + 34, "(x, y, z)", bold=True)
    fig.text(c[0] + x[0] + 18, c[1] + 5, "x + 1")
    fig.text(c[0] - x[0] - 52, c[1] + 5, "x − 1")
    fig.text(c[0] + y[0] - 18, c[1] + y[1] + 30, "y + 1")
    fig.text(c[0] - y[0] + 16, c[1] - y[1] + 2, "y − 1")
    fig.text(c[0] + 20, c[1] + z[1] + 2, "z + 1")
    fig.text(c[0] + 20, c[1] - z[1] + 10, "z − 1")

    cross = {(2, 2): CENTRE, (1, 2): SIDE, (3, 2): SIDE, (2, 1): SIDE, (2, 3): SIDE}
    frames = [
        ("bottom frame", "z − 1", {(2, 2): BELOW}),
        ("current frame", "z", cross),
        ("top frame", "z + 1", {(2, 2): ABOVE}),
    ]
    for n, (name, where, cells) in enumerate(frames):
        left, top, s = 318 + n * 132, 60, 22
        fig.text(left + 2.5 * s, 32, name, anchor="middle", bold=True)
        fig.text(left + 2.5 * s, 50, where, MUTED, anchor="middle", size=13)
        for i in range(5):
            for j in range(5):
                fig.rect(left + i * s, top + j * s, s, s, cells.get((i, j), EMPTY))
    fig.text(318, 206, "Anext = sum of the six neighbours", size=15, code=True)
    fig.text(390, 230, "− 6 · A0 / (fac · fac)", size=15, code=True)
    fig.dot((326, 257), 7, CENTRE)
    fig.text(340, 262, "weight −6 / fac²", MUTED)
    for n, colour in enumerate([SIDE, BELOW, ABOVE]):
        fig.dot((486 + 18 * n, 257), 7, colour)
    fig.text(538, 262, "weight 1 each", MUTED)
    return fig


def frames() -> Figure:
    """Draw a stack of x-y frames, with the column of points that one thread computes."""
    fig = Figure(
        "frames", 720, 360,
        "The grid is a stack of x-y frames; one thread walks up a column of points",
        "A stack of x-y frames. A block's tile is tinted in three of them, and the column of one thread "
        "goes through all of them.",
    )  # fmt: skip
    nx, ny = 9, 7
    ex, ey = (30.0, 0.0), (-15.0, 9.0)
    origin_x, gap = 190.0, 64.0
    labels = ["z = 0", "z − 1   bottom", "z   current", "z + 1   top", "z = nz − 1"]
    tint = [BOUNDARY, BELOW, CENTRE, ABOVE, BOUNDARY]
    column: list[Point] = []
    for k in range(5):
        oy = 302 - k * gap

        def at(i: float, j: float, oy: float = oy) -> Point:
            return (origin_x + i * ex[0] + j * ey[0], oy + i * ex[1] + j * ey[1] - 18)

        for j in range(ny):
            for i in range(nx):
                on_boundary = k in (0, 4) or i in (0, nx - 1) or j in (0, ny - 1)
                tile = 3 <= i <= 6 and 2 <= j <= 4
                corners = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)]
                fig.polygon(corners, BOUNDARY if on_boundary else EMPTY)
                if tile and not on_boundary:
                    fig.polygon(corners, tint[k], LINE, 0.38)
        column.append(at(5.5, 3.5))
        fig.text(origin_x + nx * ex[0] + 22, oy - 12, labels[k], MUTED if k in (0, 4) else INK, bold=k == 2)
    fig.line((column[0][0], column[0][1]), (column[4][0], column[4][1] - 18), INK, 2, tip=True)
    for k in (1, 2, 3):
        fig.dot(column[k], 7, tint[k])
    fig.legend(590, 66, [(BOUNDARY, "boundary:"), (EMPTY, "inner points")], 44)
    fig.text(612, 96, "read only")
    fig.text(590, 160, "tinted: the tile")
    fig.text(590, 178, "of one block")
    fig.text(590, 206, "arrow: the column")
    fig.text(590, 224, "of one thread")
    corner = (614.0, 316.0)
    for tip, name, where in [
        ((58, 0), "x", (64, 5)),
        ((-30, 18), "y", (-43, 22)),
        ((0, -52), "z", (-4, -60)),
    ]:
        fig.line(corner, (corner[0] + tip[0], corner[1] + tip[1]), tip=True)
        fig.text(corner[0] + where[0], corner[1] + where[1], name)
    return fig


def plane() -> Figure:
    """Draw one x-y plane under a grid of blocks: boundary, idle threads, one block with its halo."""
    fig = Figure(
        "plane", 720, 330,
        "Blocks of threads cover an x-y plane; one block with its halo is marked",
        "An x-y plane of 14 by 9 points under 4 by 3 blocks of 4 by 4 threads, with the boundary, idle "
        "threads, and one block with its halo.",
    )  # fmt: skip
    nx, ny, bx, by, s = 14, 9, 4, 4, 23
    left, top = 44, 46
    blocks_x, blocks_y = -(-nx // bx), -(-ny // by)
    own = (range(4, 8), range(4, 8))
    for j in range(blocks_y * by):
        for i in range(blocks_x * bx):
            x, y = left + i * s, top + j * s
            if i >= nx or j >= ny:
                fig.rect(x, y, s, s, EMPTY, width=0.6)
                fig.rect(x, y, s, s, HATCHED, stroke="none")
                continue
            fill = BOUNDARY if i in (0, nx - 1) or j in (0, ny - 1) else EMPTY
            beside_x = j in own[1] and i in (own[0].start - 1, own[0].stop)
            beside_y = i in own[0] and j in (own[1].start - 1, own[1].stop)
            fig.rect(x, y, s, s, HALO if beside_x or beside_y else fill)
            if i in own[0] and j in own[1] and fill == EMPTY:
                fig.rect(x, y, s, s, OWN)
    for b in range(blocks_x):
        for c in range(blocks_y):
            fig.rect(left + b * bx * s, top + c * by * s, bx * s, by * s, stroke=MUTED, width=1.6)
    fig.rect(left + 4 * s, top + 4 * s, 4 * s, 4 * s, stroke=SIDE, width=3)
    fig.line((left, 28), (left + 60, 28), tip=True)
    fig.text(left + 66, 33, "x, blockIdx.x")
    fig.line((28, top), (28, top + 60), tip=True)
    fig.text(24, top + 78, "y")
    fig.legend(
        448, 64,
        [
            (OWN, "points of one 4 × 4 block"),
            (HALO, "its halo: read, not written here"),
            (BOUNDARY, "boundary of the grid"),
            (HATCHED, "threads without a point"),
        ],
        30,
    )  # fmt: skip
    fig.text(448, 212, "nx = 14, ny = 9, --block 4 4", code=True, size=13)
    fig.text(448, 236, "grid = ceil(14/4) × ceil(9/4)", code=True, size=13)
    fig.text(487, 254, "= 4 × 3 blocks", code=True, size=13)
    fig.text(448, 284, "The four corners next to a block", MUTED, size=13)
    fig.text(448, 301, "are not neighbours of its points.", MUTED, size=13)
    return fig


def tile() -> Figure:
    """Draw the shared tile of opt_1: the readers of each cell, and the threads that load the halo."""
    fig = Figure(
        "tile", 720, 300,
        "The shared tile: each point is loaded once and read by up to five threads",
        "A shared tile of 6 by 6 cells: 4 by 4 points of the block, and the halo on four sides. One "
        "thread loads a point from global memory, and five threads read it from the tile.",
    )  # fmt: skip
    s, left, top = 38, 62, 44
    for j in range(6):
        for i in range(6):
            x, y = left + i * s, top + j * s
            edge_x, edge_y = i in (0, 5), j in (0, 5)
            if edge_x and edge_y:
                fig.rect(x, y, s, s, EMPTY, width=0.6)
                fig.line((x + 12, y + 12), (x + s - 12, y + s - 12), LINE)
                fig.line((x + s - 12, y + 12), (x + 12, y + s - 12), LINE)
            else:
                fig.rect(x, y, s, s, HALO if edge_x or edge_y else OWN)
    fig.rect(left + s, top + s, 4 * s, 4 * s, stroke=SIDE, width=3)
    centre = (left + 3.5 * s, top + 2.5 * s)
    for dx, dy in ((s, 0), (-s, 0), (0, s), (0, -s)):
        fig.line(
            (centre[0] + dx * 0.26, centre[1] + dy * 0.26),
            (centre[0] + dx * 0.78, centre[1] + dy * 0.78),
            tip=True,
        )
        fig.dot((centre[0] + dx, centre[1] + dy), 7, SIDE)
    fig.dot(centre, 8, CENTRE)
    fig.text(left + 3 * s, 30, "tile of a 4 × 4 block", anchor="middle", bold=True)
    fig.text(330, 66, "In naive, five threads load this point:", bold=True)
    fig.text(330, 86, "its own thread and the four next to it.")
    fig.text(330, 122, "With the tile, one thread loads it, and", bold=True)
    fig.text(330, 142, "all five read it from shared memory.")
    fig.dot((337, 167), 8, CENTRE)
    fig.text(352, 172, "this point, read by its own thread")
    fig.line((330, 194), (342, 194), tip=True)
    fig.dot((349, 194), 7, SIDE)
    fig.text(364, 199, "a neighbour whose thread reads it too")
    fig.legend(
        330, 214,
        [
            (OWN, "each thread loads its own point"),
            (HALO, "halo: points of the neighbouring blocks"),
            (EMPTY, "corners: no thread reads them"),
        ],
        30,
    )  # fmt: skip
    return fig


def rolling() -> Figure:
    """Draw opt_2: the role of each frame from one step of z to the next."""
    fig = Figure(
        "rolling", 720, 300,
        "Rolling frames: top becomes current, current becomes bottom, one new frame is loaded",
        "Three steps of z. The top value becomes the current one, the current value becomes the bottom "
        "one, and one new frame is loaded.",
    )  # fmt: skip
    rows = [("top", "register", ABOVE), ("current", "shared tile", CENTRE), ("bottom", "register", BELOW)]
    for n, (name, where, colour) in enumerate(rows):
        y = 62 + n * 74
        fig.text(28, y + 20, name, bold=True)
        fig.text(28, y + 38, where, MUTED, size=13)
        for step in range(3):
            x = 136 + step * 196
            frame = 2 + step - n
            fig.rect(x, y, 118, 46, EMPTY, stroke=colour, width=2.4, rx=8)
            prologue = step == 0 and n > 0
            fig.text(x + 59, y + (20 if prologue else 29), f"frame {frame}", anchor="middle", bold=True)
            if prologue:
                fig.text(x + 59, y + 37, "from the prologue", MUTED, anchor="middle", size=12)
    for step in range(3):
        x = 136 + step * 196 + 59
        fig.text(x, 282, f"z = {1 + step}", anchor="middle", bold=True)
        fig.text(x + 66, 30, "A0", MUTED, anchor="middle", code=True)
        fig.curve((x + 54, 26), (x + 6, 26), (x, 58))
    for step in range(2):
        x = 136 + step * 196
        for n in (0, 1):
            fig.line((x + 118, 62 + n * 74 + 30), (x + 194, 62 + (n + 1) * 74 + 16), INK, 1.8, tip=True)
    return fig


def two_points() -> Figure:
    """Draw opt_3: three assignments of two points to each of eight threads."""
    fig = Figure(
        "two_points", 720, 300,
        "Three ways to give every thread two output points",
        "Three ways to give each of eight threads two points: BLOCK_Y apart in y, neighbours in y, "
        "neighbours in x.",
    )  # fmt: skip
    colours = [PALE_BLUE, EMPTY, PALE_GREEN, EMPTY]
    s = 30

    def panel(left: float, name: str, tile: str, points: list[tuple[Cell, Cell]]) -> None:
        fig.text(left, 36, name, bold=True)
        fig.text(left, 56, tile, MUTED, size=13)
        for thread, pair in enumerate(points):
            for i, j in pair:
                fill = HALO if thread == 5 else colours[thread % 2 + 2 * (thread // 4)]
                fig.rect(left + i * s, 76 + j * s, s, s, fill)
                fig.text(left + i * s + s / 2, 96 + j * s, str(thread), anchor="middle", bold=thread == 5)
        columns, rows = (1 + max(cell[axis] for pair in points for cell in pair) for axis in (0, 1))
        fig.rect(left, 76, columns * s, rows * s, stroke=MUTED, width=2)

    threads = [(t % 4, t // 4) for t in range(8)]
    panel(28, "BLOCK_Y apart in y", "--tile 1 2 0", [((x, y), (x, y + 2)) for x, y in threads])
    panel(226, "neighbours in y", "--tile 1 2 0", [((x, 2 * y), (x, 2 * y + 1)) for x, y in threads])
    panel(424, "neighbours in x", "--tile 2 1 0", [((2 * x, y), (2 * x + 1, y)) for x, y in threads])
    fig.text(28, 228, "Numbers are threads of a 4 × 2 block; thread 5 is marked.")
    fig.text(28, 252, "Ask of each: do the threads of a warp read neighbouring addresses?", MUTED)
    fig.text(28, 272, "Does one of a thread's points serve as a neighbour of its other point?", MUTED)
    return fig


def register_tile() -> Figure:
    """Draw opt_3: the two points of a thread in the shared tile, and the values in its registers."""
    fig = Figure(
        "register_tile", 720, 344,
        "opt_3: the two points of a thread are BLOCK_Y rows apart in one taller tile",
        "The tile of a block of 4 by 4 threads with two points each: 4 by 8 points and a halo around "
        "them. Points 1 and 2 of one thread are 4 rows apart and have no neighbour in common: each takes "
        "five reads of the tile. A thread keeps the bottom and the top value of both points in registers.",
    )  # fmt: skip
    s, left, top = 29, 46, 36
    points = ((2, 2), (2, 6))
    for j in range(10):
        for i in range(6):
            x, y = left + i * s, top + j * s
            if i in (0, 5) and j in (0, 9):
                fig.rect(x, y, s, s, EMPTY, width=0.6)
                fig.line((x + 9, y + 9), (x + s - 9, y + s - 9), LINE)
                fig.line((x + s - 9, y + 9), (x + 9, y + s - 9), LINE)
            else:
                fig.rect(x, y, s, s, HALO if i in (0, 5) or j in (0, 9) else OWN)
    for n, (i, j) in enumerate(points, 1):
        for column, row in ((i, j), (i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
            fill = CENTRE if (column, row) == (i, j) else SIDE
            fig.rect(left + column * s, top + row * s, s, s, fill)
            text = str(n) if fill == CENTRE else "n"
            fig.text(
                left + (column + 0.5) * s, top + (row + 0.66) * s, text, EMPTY, anchor="middle", bold=True
            )
    fig.rect(left + s, top + s, 4 * s, 8 * s, stroke=INK, width=2.4)
    fig.line((left + s - 6, top + 5 * s), (left + 5 * s + 6, top + 5 * s), INK, 2)
    fig.line((left + 6.4 * s, top + 2.5 * s), (left + 6.4 * s, top + 6.5 * s), tip=True)
    fig.text(left + 6.4 * s + 8, top + 4.6 * s, "BLOCK_Y", code=True, size=13)
    fig.text(left + 3 * s, 25, "one frame, --tile 1 2 0", anchor="middle", size=13, bold=True)
    x = 330
    fig.text(x, 50, "A thread has points 1 and 2.", bold=True)
    fig.text(x, 74, "Of each, it reads the point and its neighbours n")
    fig.text(x, 92, "from the tile: 5 + 5 reads. None serves both points.")
    fig.text(x, 122, "Its registers hold bottom and top of both points.")
    fig.text(x, 158, "What two points save:", bold=True)
    fig.text(x, 182, "half the barriers for each point;")
    fig.text(x, 200, "two rows of the halo where two blocks met:")
    fig.text(x, 218, "24 halo points for 32 points, not 32 for 32.")
    fig.legend(x, 246, [(OWN, "points of the block"), (HALO, "halo")], 26)
    fig.text(x, 318, "Price: twice the registers for bottom and top,", MUTED, size=13)
    fig.text(x, 334, "twice the shared memory, half the threads.", MUTED, size=13)
    return fig


def wide() -> Figure:
    """Draw opt_4: requests with 4 and 16 bytes per lane, and the neighbours of four points."""
    fig = Figure(
        "wide", 720, 330,
        "16 bytes per lane: one request for 512 bytes",
        "A warp's load: with 4 bytes per lane, 128 bytes in 4 sectors; with 16 bytes per lane, 512 bytes "
        "in 16 sectors. Below, four points of one thread with their left and right neighbours.",
    )  # fmt: skip
    left, s = 40, 20

    def request(y: float, name: str, sectors: int, each: int, words: str) -> None:
        fig.text(left, y - 10, name, bold=True)
        for n in range(16):
            full = n < sectors
            fig.rect(left + n * 2 * s, y, 2 * s, 24, OWN if full else EMPTY, stroke=MUTED if full else LINE)
        fig.rect(left, y, each * s / 4, 24, CENTRE, stroke=INK, width=1.4)
        fig.text(left, y + 44, words, MUTED, size=13)

    request(
        52,
        "float: 4 bytes per lane",
        4,
        1,
        "one request: 128 bytes, 4 sectors; four for 512 bytes",
    )
    request(
        142,
        "float4: 16 bytes per lane",
        16,
        4,
        "one request: 512 bytes, 16 sectors; in each row, the marked part is lane 0",
    )
    t = 44
    x0, y0 = 100, 236
    for n in range(6):
        own = 1 <= n <= 4
        fig.rect(x0 + n * t, y0, t, 34, CENTRE if own else SIDE, stroke=INK if own else LINE)
        label = ["left", "x", "y", "z", "w", "right"][n]
        fig.text(x0 + n * t + t / 2, y0 + 22, label, EMPTY, anchor="middle", bold=own, size=13)
    for n in range(1, 4):
        fig.line((x0 + n * t + 0.75 * t, y0 + 44), (x0 + n * t + 1.25 * t, y0 + 44), INK, 1.6, tip=True)
        fig.line((x0 + n * t + 1.25 * t, y0 + 52), (x0 + n * t + 0.75 * t, y0 + 52), INK, 1.6, tip=True)
    fig.text(x0, y0 + 80, "four points of a thread: 6 of their 8 x neighbours are among them", size=14)
    fig.legend(x0 + 300, y0 + 2, [(CENTRE, "one 16-byte load"), (SIDE, "4 bytes, or a shuffle")], 22)
    return fig


def z_split() -> Figure:
    """Draw opt_4: the z axis divided over layers of blocks, with the frames that are read twice."""
    fig = Figure(
        "z_split", 720, 300,
        "z split over blocks: more threads, and two more frames for each piece",
        "The z axis divided into three pieces, one for each layer of blocks. Every piece loads the frame "
        "below its first one and the frame above its last one as well.",
    )  # fmt: skip
    w, h, left, top = 26, 34, 40, 62
    pieces = [(0, "blockIdx.z = 0"), (1, "1"), (2, "2")]
    frames_, depth = 18, 6
    fig.text(left, 34, "frames of the grid, --tile 4 1 6, nz = 18", bold=True)
    for n in range(frames_):
        on_boundary = n in (0, frames_ - 1)
        fig.rect(left + n * w, top, w, h, BOUNDARY if on_boundary else EMPTY)
        fig.text(left + n * w + w / 2, top + 22, str(n), MUTED, anchor="middle", size=12)
    for k, name in pieces:
        y = top + 56 + k * 50
        first, last = max(1, k * depth), min(frames_ - 1, (k + 1) * depth)
        for n in range(first - 1, last + 1):
            own = first <= n < last
            fig.rect(left + n * w, y, w, h, OWN if own else HALO)
        fig.rect(left + first * w, y, (last - first) * w, h, stroke=SIDE, width=3)
        fig.line((left + first * w + 6, y + h / 2), (left + last * w - 6, y + h / 2), tip=True)
        fig.text(left + frames_ * w + 16, y + 22, name, code=True, size=13)
    fig.legend(left, top + 212, [(OWN, "frames this piece writes")])
    fig.legend(left + 230, top + 212, [(HALO, "also loaded: the frame below the first one, above the last")])
    return fig


FIGURES = (
    seven_points,
    frames,
    plane,
    timelines.waves,
    tile,
    timelines.barrier_timeline,
    rolling,
    two_points,
    register_tile,
    wide,
    z_split,
)
