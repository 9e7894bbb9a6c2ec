"""The figures of labs/02_matmul."""

from __future__ import annotations

from drawings.figure import Figure
from drawings.palette import (
    BLUE,
    EMPTY,
    GREEN,
    INK,
    LINE,
    MUTED,
    ORANGE,
    PALE_BLUE,
    PALE_GREEN,
    PALE_ORANGE,
    SILVER,
)

A, B, C = ORANGE, BLUE, GREEN  # the colours of the three matrices in all figures
A_SOFT, B_SOFT, C_SOFT = PALE_ORANGE, PALE_BLUE, PALE_GREEN
GRID, THREADS, LOOP, SHARED = SILVER, PALE_ORANGE, EMPTY, PALE_GREEN


def nest(
    fig: Figure, x: float, y: float, width: float, loops: list[tuple[str, str]], body: list[str]
) -> float:
    """Draw nested boxes of loops with the body in the innermost, and return the height."""
    line, margin = 24.0, 8.0
    inner = len(body) * 18 + 8
    height = inner + len(loops) * (line + margin)
    for n, (words, fill) in enumerate(loops):
        outer = height - n * (line + margin)
        left, above = x + n * margin, y + n * line
        fig.rect(left, above, width - 2 * n * margin, outer, fill, stroke=MUTED, rx=7)
        fig.text(left + 9, above + 18, words, size=12.5, code=True)
    top = y + len(loops) * line
    for n, words in enumerate(body):
        fig.text(x + len(loops) * margin + 4, top + 15 + n * 18, words, size=12.5, code=True)
    return height


def matrices() -> Figure:
    """Draw the product, and the columns of b in memory."""
    fig = Figure(
        "matrices", 720, 330,
        "One value of a is a row of b times a column of c; columns lie one after the other",
        "Three matrices: a has n rows and m columns, b has n rows and p columns, c has p rows and m "
        "columns. One value of a is a row of b times a column of c. Below, the p columns of b in memory, "
        "one after the other.",
    )  # fmt: skip
    s, top = 22, 66
    left_a, left_b, left_c = 52, 238, 470
    n, m, p = 6, 4, 8
    fig.cells(left_a, top, m, n, s, {(1, 3): A})
    fig.cells(left_b, top, p, n, s, {(k, 3): B_SOFT for k in range(p)})
    fig.cells(left_c, top, m, p, s, {(1, k): C_SOFT for k in range(p)})
    fig.text(left_a + m * s + 34, top + 70, "=", size=22, anchor="middle")
    fig.text(left_b + p * s + 28, top + 70, "·", size=26, anchor="middle")
    for x, width, name, rows, columns, colour in (
        (left_a, m, "a", "n", "m", A), (left_b, p, "b", "n", "p", B), (left_c, m, "c", "p", "m", C),
    ):  # fmt: skip
        fig.text(x + width * s / 2, 34, name, colour, anchor="middle", size=18, bold=True, code=True)
        fig.text(x + width * s / 2, top - 9, columns, MUTED, anchor="middle", code=True, size=13)
        fig.text(
            x - 10, top + (8 if rows == "p" else 3) * s / 2, rows, MUTED, anchor="end", code=True, size=13
        )
    fig.text(left_a + 1.5 * s, top + n * s + 18, "j", A, anchor="middle", code=True)
    fig.text(left_a - 10, top + 3.5 * s + 5, "i", A, anchor="end", code=True, bold=True)
    fig.text(left_b + 3.5 * s, top + n * s + 18, "k runs along the row", MUTED, anchor="middle", size=13)
    fig.text(left_c + m * s + 12, top + 60, "and down", MUTED, size=13)
    fig.text(left_c + m * s + 12, top + 78, "the column", MUTED, size=13)
    cell = 13
    for k in range(p):
        for i in range(n):
            fig.rect(left_a + (n * k + i) * cell, 282, cell, 18, B_SOFT if i == 3 else EMPTY)
        fig.rect(left_a + n * k * cell, 282, n * cell, 18, stroke=MUTED, width=1.6)
        fig.text(left_a + n * (k + 0.5) * cell, 316, f"k = {k}", MUTED, anchor="middle", size=12)
    words = "b in memory: its columns, one after the other. i: step of 1; k: step of n"
    fig.text(left_a, 272, words, size=13)
    return fig


def derive() -> Figure:
    """Draw the derivation of the kernel from the loop nest, in four boxes."""
    fig = Figure(
        "derive", 760, 478,
        "The loop nest, strip-mined, interchanged and mapped, and the kernel",
        "Four boxes of nested loops: the original nest i, j, k; i strip-mined into is and i; "
        "interchanged, so that is and j are outside and parallel, i is the SIMD loop and k is innermost; "
        "and the kernel, in which only the k loop is left.",
    )  # fmt: skip
    body = ["a[i + n*j] +=", "  b[i + n*k] * c[k + p*j]"]
    width = 342.0
    fig.text(24, 32, "0  the loops", bold=True)
    nest(fig, 24, 44, width, [("for i", LOOP), ("for j", LOOP), ("for k", LOOP)], body)
    fig.text(394, 32, "1  strip-mine i", bold=True)
    loops = [("for is, step 32", THREADS), ("for i in the strip", THREADS), ("for j", LOOP), ("for k", LOOP)]
    nest(fig, 394, 44, width, loops, body)
    fig.text(24, 254, "2  interchange, 3  map", bold=True)
    loops = [("parallel is", GRID), ("parallel j", GRID), ("SIMD i in the strip", THREADS), ("for k", LOOP)]
    nest(fig, 24, 266, width, loops, body)
    fig.text(394, 254, "the kernel: what is left", bold=True)
    fig.rect(394, 266, width, 60, GRID, stroke=MUTED, rx=7)
    fig.text(406, 286, "i of this thread: from block and lane", size=12.5)
    fig.text(406, 308, "j of this thread: from the block", size=12.5)
    nest(fig, 394, 338, width, [("for k", LOOP)], ["one multiply-add"])
    fig.text(406, 424, "one store", size=12.5)
    legend = [(GRID, "blocks of the grid", 0), (THREADS, "threads of a block", 136), (LOOP, "loops", 272)]
    for fill, words, at in legend:
        fig.rect(394 + at, 444, 13, 13, fill, stroke=MUTED)
        fig.text(394 + at + 18, 455, words, MUTED, size=12)
    return fig


def space() -> Figure:
    """Draw the iteration space as a cuboid, with the part of a block, for six kernels."""
    fig = Figure(
        "space", 720, 492,
        "The space of all multiply-adds: i to the right, j down, k into the depth",
        "The iteration space as a cuboid: i to the right, j down, k into the depth. The part of one block "
        "in six kernels: K1, a strip of lines along k; K2, the same strip in pieces along k; K3, two "
        "strips in i; K4, strips of four columns; K3 and K4 together, two strips of four columns; K5, a "
        "square of lines.",
    )  # fmt: skip
    s, depth = 15.0, (9.0, -6.5)

    def block(x: float, y: float, i: float, j: float, k: float, colour: str, opacity: float = 1.0) -> None:
        """Draw i by j by k steps with the top left corner of the front at (x, y)."""
        dx, dy = depth[0] * k, depth[1] * k
        w, h = i * s, j * s
        fig.polygon([(x, y), (x + dx, y + dy), (x + w + dx, y + dy), (x + w, y)], colour, INK, 0.55 * opacity)
        side = [(x + w, y), (x + w + dx, y + dy), (x + w + dx, y + h + dy), (x + w, y + h)]
        fig.polygon(side, colour, INK, 0.8 * opacity)
        fig.polygon([(x, y), (x + w, y), (x + w, y + h), (x, y + h)], colour, INK, opacity)

    panels = [
        ("K1: a strip of lines along k", "one line for each thread", 3, 1, 8, 0),
        ("K2: the same, k in pieces", "a piece of c in shared memory", 3, 1, 8, 2),
        ("K3: two strips in i", "one read of c for 2 lines", 6, 1, 8, 2),
        ("K4: strips of four columns", "one load of b for 4 lines", 3, 4, 8, 2),
        ("K3+K4: two strips of four", "8 lines for each thread", 6, 4, 8, 2),
        ("K5: a square of lines", "tiles of b and c in shared memory", 4, 4, 8, 2),
    ]
    for n, (title, words, i, j, k, piece) in enumerate(panels):
        x, y = 40.0 + n % 3 * 228, 120.0 + n // 3 * 220
        block(x, y, 8, 6, 8, SILVER, 0.55)
        block(x + s, y + s, i, j, k, A_SOFT, 0.95)
        if piece:
            block(x + s, y + s, i, j, piece, C_SOFT)
        for line in range(1, i):
            bold = line == 3 and i == 6
            ends = (x + s + line * s, y + s), (x + s + line * s, y + s + j * s)
            fig.line(*ends, INK if bold else MUTED, 2 if bold else 0.8)
        for line in range(1, j):
            fig.line((x + s, y + s + line * s), (x + s + i * s, y + s + line * s), MUTED, 0.8)
        fig.text(x - 10, y - 88, title, bold=True, size=13.5)
        fig.text(x - 10, y - 70, words, MUTED, size=13)
    x, y = 40.0, 120.0
    fig.line((x, y + 6 * s + 12), (x + 54, y + 6 * s + 12), tip=True)
    fig.text(x + 60, y + 6 * s + 17, "i", code=True)
    fig.line((x - 12, y), (x - 12, y + 54), tip=True)
    fig.text(x - 16, y + 72, "j", code=True)
    fig.line((x - 4, y - 5), (x + 38, y - 35.3), tip=True)
    fig.text(x + 14, y - 32, "k", code=True)
    fig.legend(30, 446, [(A_SOFT, "lines of a block")])
    fig.legend(190, 446, [(C_SOFT, "steps of k between two barriers")])
    words = "Front face: the matrix a. Points of one j share a column of c, points of one i a row of b."
    fig.text(30, 478, words, MUTED, size=13)
    return fig


def warp() -> Figure:
    """Draw the addresses that a warp reads in one step of k: K1 and Ks."""
    fig = Figure(
        "warp", 720, 286,
        "What a warp reads in one step of k: neighbours in K1, far apart in Ks",
        "Memory as columns. In K1, the lanes of a warp read 32 neighbours of a column of b. In Ks, each "
        "lane reads from another column of c, p elements away from the previous one.",
    )  # fmt: skip
    cell, lanes = 17.0, 8
    for panel, (name, header) in enumerate((("K1", "--block 32 (or more)"), ("Ks", "--block 1 32"))):
        x, y = 28.0 + panel * 352, 76.0
        fig.text(x, 32, name, bold=True, size=16)
        fig.text(x + 34, 32, header, MUTED, size=13, code=True)
        fig.text(x, 56, "lanes of a warp", MUTED, size=12.5)
        for lane in range(lanes):
            fig.rect(x + 112 + lane * (cell + 4), 42, cell, cell, THREADS, stroke=MUTED, rx=3)
        fig.text(x + 112 + lanes * (cell + 4) + 4, 55, "… 32", MUTED, size=12.5)
        fig.text(x, y + 30, "b", B, bold=True, code=True)
        for i in range(16):
            used = i in range(4, 4 + lanes) if panel == 0 else i == 4
            fig.rect(x + 26 + i * cell, y + 16, cell, 20, B if used else EMPTY)
        fig.text(
            x + 26, y + 54, "a column of b: neighbours" if panel == 0 else "one value for all lanes", size=13
        )
        for column in range(4):
            top = y + 82 + column * 24
            for k in range(16):
                used = k == 6 and (panel == 1 or column == 1)
                fig.rect(x + 26 + k * cell, top, cell, 18, C if used else EMPTY)
        fig.text(x, y + 96, "c", C, bold=True, code=True)
        words = "one value for all lanes" if panel == 0 else "a column of c for each lane: 32 sectors"
        fig.text(x + 26, y + 196, words, size=13)
    fig.line((362, 24), (362, 264), LINE, 1)
    return fig


def strip() -> Figure:
    """Draw K2: the loop over k in strips, and the strip in shared memory."""
    fig = Figure(
        "strip", 740, 290,
        "K2: a strip of a column of c is loaded into shared memory, then read from there",
        "K2: the loop over ks loads a strip of a column of c into shared memory, one value per thread. "
        "The loop over k inside it reads the strip from there.",
    )  # fmt: skip
    loops = [
        ("parallel is", GRID),
        ("parallel j", GRID),
        ("SIMD i in the strip", THREADS),
        ("for ks, step BLOCK_X", LOOP),
    ]
    nest(
        fig,
        24,
        28,
        350,
        loops,
        [
            "strip[...] = c[ks ...]",
            "barrier",
            "for k in the strip:",
            "  sum += b[i + n*k] * strip[k]",
            "barrier",
        ],
    )
    cell, x = 19.0, 424.0
    fig.text(x, 40, "column j of c", C, bold=True, size=13)
    for k in range(14):
        fig.rect(x + k * cell, 50, cell, 22, C_SOFT if 4 <= k < 8 else EMPTY)
    for k in range(0, 14, 4):
        fig.line((x + k * cell, 46), (x + k * cell, 76), INK, 2)
    fig.text(x + 4 * cell, 92, "ks", MUTED, code=True, size=13, anchor="middle")
    for lane in range(4):
        at = x + (4 + lane) * cell + cell / 2
        fig.line((at, 100), (at - 30, 136), C, 1.4, tip=True)
        fig.rect(x + (4 + lane) * cell - 30, 140, cell, 22, C_SOFT, stroke=C, width=1.6)
    fig.text(x + 8 * cell - 12, 156, "strip, in shared memory", size=13)
    fig.text(x + 8 * cell - 12, 118, "each thread loads one", MUTED, size=12.5)
    for lane in range(4):
        at = x + (4 + lane) * cell - 30 + cell / 2
        fig.rect(at - cell / 2, 208, cell, cell, THREADS, stroke=MUTED, rx=3)
        for other in range(4):
            source = x + (4 + other) * cell - 30 + cell / 2
            fig.line((source, 164), (at, 206), LINE, 1)
    fig.text(x + 8 * cell - 12, 222, "threads: each reads all", MUTED, size=12.5)
    fig.text(x, 262, "c: BLOCK_X words for BLOCK_X threads,", size=13)
    fig.text(x, 279, "no longer one for each multiply-add", size=13)
    return fig


def unroll() -> Figure:
    """Draw the values that a block computes in the plane of i and j, from K2 to K3+K4."""
    fig = Figure(
        "unroll", 720, 276,
        "What a block computes: one strip, two in i, four in j, or both",
        "The values that a block computes in the plane of i and j: K2 one strip of a column; K3 two "
        "strips of one column, BLOCK_X apart; K4 one strip in each of four columns; K3 and K4 together "
        "both.",
    )  # fmt: skip
    s = 13.0
    panels = [
        ("K2", "--tile 1 1", 1, 1),
        ("K3", "--tile 2 1", 2, 1),
        ("K4", "--tile 1 4", 1, 4),
        ("K3+K4", "--tile 2 4", 2, 4),
    ]
    for n, (name, tile, along_i, along_j) in enumerate(panels):
        x, y = 30.0 + n * 174, 74.0
        fig.text(x, 32, name, bold=True)
        fig.text(x, 52, tile, MUTED, size=13, code=True)
        fills: dict[tuple[int, int], str] = {}
        for u in range(along_i):
            for v in range(along_j):
                for lane in range(4):
                    fills[1 + v, 1 + 4 * u + lane] = A_SOFT if (u + v) % 2 == 0 else THREADS
                fills[1 + v, 1 + 4 * u + 1] = A
        fig.cells(x, y, 8, 10, s, fills)
        words = {1: "b: 1 load for 1", 4: "b: 1 load for 4"}[along_j]
        fig.text(x, y + 10 * s + 22, words, size=12.5)
        fig.text(x, y + 10 * s + 40, f"strip: 1 read for {along_i}", size=12.5)
    fig.line((22, 74), (22, 118), MUTED, tip=True)
    fig.text(12, 92, "i", MUTED, size=13, code=True, anchor="middle")
    fig.line((30, 68), (74, 68), MUTED, tip=True)
    fig.text(82, 70, "j", MUTED, size=13, code=True)
    fig.text(
        30,
        262,
        "Strong colour: the values of one thread. Pale: those of the other threads of its block.",
        MUTED,
        size=12.5,
    )
    return fig


def tiles() -> Figure:
    """Draw K5: tiles of b along its rows, and of c down its columns."""
    fig = Figure(
        "tiles", 740, 330,
        "K5: for every tile of k, a tile of b and a tile of c in shared memory",
        "A block's 16 by 16 tile of a. Tiles of b move along the rows and tiles of c down the columns, in "
        "steps of 16 along k. Both are in shared memory.",
    )  # fmt: skip
    s, k_tile = 15.0, 3
    bx, by, cx, cy, ax, ay = 40.0, 148.0, 252.0, 28.0, 252.0, 148.0
    rows, columns, deep = 9, 9, 12
    fig.cells(
        bx,
        by,
        deep,
        rows,
        s,
        {(k, i): (B if 3 <= k < 6 else B_SOFT) for k in range(deep) for i in range(3, 6)},
    )
    fills = {(j, k): (C if 3 <= k < 6 else C_SOFT) for k in range(7) for j in range(3, 6)}
    fig.cells(cx, cy, columns, 7, s, fills)
    fig.cells(ax, ay, columns, rows, s, {(j, i): A_SOFT for j in range(3, 6) for i in range(3, 6)})
    fig.rect(bx + 3 * s, by + 3 * s, k_tile * s, 3 * s, stroke=INK, width=2.4)
    fig.rect(cx + 3 * s, cy + 3 * s, 3 * s, k_tile * s, stroke=INK, width=2.4)
    fig.rect(ax + 3 * s, ay + 3 * s, 3 * s, 3 * s, stroke=INK, width=2.4)
    fig.text(bx, by - 10, "b", B, bold=True, code=True, size=17)
    fig.text(cx - 18, cy + 14, "c", C, bold=True, code=True, size=17)
    fig.text(ax + columns * s + 8, ay + 16, "a", A, bold=True, code=True, size=17)
    fig.line((bx + 3 * s, by + 2.5 * s), (bx + 6 * s, by + 2.5 * s), INK, 1.8, tip=True)
    fig.line((cx + 6.5 * s, cy + 3 * s), (cx + 6.5 * s, cy + 6 * s), INK, 1.8, tip=True)
    x = 424
    fig.text(x, 52, "A block of 16 × 16 threads", bold=True)
    fig.text(x, 72, "computes one tile of a.")
    fig.text(x, 108, "For every 16 values of k:", bold=True)
    fig.text(x, 128, "each thread loads one value of b")
    fig.text(x, 146, "and one of c into shared memory;")
    fig.text(x, 164, "barrier;")
    fig.text(x, 182, "each makes 16 multiply-adds from there;")
    fig.text(x, 200, "barrier.")
    fig.text(x, 236, "Loads from global memory:", bold=True)
    fig.text(x, 256, "2 for 16 multiply-adds, not 2 for 1.")
    fig.text(bx, by + rows * s + 24, "k runs to the right in b, down in c", MUTED, size=13)
    return fig


def row_major() -> Figure:
    """Draw the same bytes in column-major and in row-major order."""
    fig = Figure(
        "row_major", 720, 250,
        "Read by rows, the memory of c, b and a is A, B and C of a row-major product",
        "The memory of c, read row by row, is A, that of b is B, and that of a is C. A column-major "
        "product a = b c is the row-major product C = A B with the factors exchanged.",
    )  # fmt: skip
    s = 15.0
    triples = [
        ("c", "p × m", "A", "m × p", C_SOFT, 3, 5),
        ("b", "n × p", "B", "p × n", B_SOFT, 5, 4),
        ("a", "n × m", "C", "m × n", A_SOFT, 3, 4),
    ]
    for n, (ours, shape, theirs, turned, colour, columns, rows) in enumerate(triples):
        x = 40.0 + n * 230
        fig.text(x, 34, f"{ours}: {shape}", bold=True, code=True)
        fig.cells(x, 62, columns, rows, s, fill=colour)
        for column in range(columns):
            at = x + (column + 0.5) * s
            fig.line((at, 66), (at, 58 + rows * s), INK, 1.1, tip=True)
        fig.text(x + 104, 34, f"{theirs}: {turned}", bold=True, code=True)
        fig.cells(x + 104, 62, rows, columns, s, fill=colour)
        for row in range(columns):
            at = 62 + (row + 0.5) * s
            fig.line((x + 108, at), (x + 100 + rows * s, at), INK, 1.1, tip=True)
        fig.text(x + 90, 92, "=", anchor="middle", size=18)
    fig.text(40, 178, "by columns: the arrow is the order in memory", MUTED, size=13)
    fig.text(40, 198, "by rows: the same arrows, the same bytes", MUTED, size=13)
    fig.text(380, 180, "a = b · c, column-major", size=15, code=True)
    fig.text(380, 206, "C = A · B, row-major: A = c, B = b, C = a", size=13, code=True)
    return fig


def k6() -> Figure:
    """Draw K6: slices in shared memory, registers of a thread, and concurrent steps."""
    fig = Figure(
        "k6", 740, 330,
        "K6: double-buffered slices of b and c, 8 by 8 values in the registers of a thread",
        "A block of K6: slices of b and c, two of each in shared memory, and a thread's 8 by 8 values in "
        "registers. While one slice is used, the next one is loaded.",
    )  # fmt: skip
    fig.text(26, 32, "a block", bold=True)
    fig.rect(104, 96, 128, 128, A_SOFT, stroke=MUTED, width=1.6)
    fig.rect(46, 96, 34, 128, B_SOFT, stroke=B, width=1.6)
    fig.rect(104, 48, 128, 30, C_SOFT, stroke=C, width=1.6)
    fig.text(63, 240, "slice of b", B, anchor="middle", size=13)
    fig.text(240, 66, "slice of c", C, size=13)
    fig.text(168, 242, "128 × 128 of a", A, anchor="middle", size=13)
    for u in (0, 1):
        for v in (0, 1):
            fig.rect(120 + u * 64, 112 + v * 64, 16, 16, A, stroke=INK)
    fig.text(46, 268, "small squares: 8 × 8 values of one thread,", MUTED, size=12.5)
    fig.text(46, 285, "four groups of 4 × 4, in registers", MUTED, size=12.5)
    x = 330
    fig.text(x, 32, "in time", bold=True)
    rows = [
        ("use", "shared memory, one half", A_SOFT, 0),
        ("load", "global memory to registers", B_SOFT, 1),
        ("store", "registers to the other half", SHARED, 1),
    ]
    for n, (what, where, colour, ahead) in enumerate(rows):
        y = 62 + n * 66
        fig.text(x, y - 6, f"{what}: {where}", MUTED, size=12.5)
        for step in range(3):
            left = x + step * 128 + (88 if n == 2 else 0)
            width = 34 if n == 2 else 122
            fig.rect(left, y, width, 30, colour, stroke=MUTED, rx=5)
            if n < 2:
                fig.text(left + width / 2, y + 20, f"slice {step + ahead}", anchor="middle", size=13)
            else:
                fig.text(left + width / 2, y + 20, str(step + ahead), anchor="middle", size=13)
    for step in range(1, 4):
        for y in (62, 128, 194):
            fig.line((x + step * 128 - 3, y - 2), (x + step * 128 - 3, y + 32), INK, 2.4)
    fig.text(x, 256, "vertical lines: the one barrier of a slice", size=13)
    fig.text(x, 282, "A thread reads 8 + 8 words for 64 multiply-adds:", size=13)
    fig.text(x, 300, "a quarter of a word each, in K5 two.", size=13)
    return fig


FIGURES = (matrices, derive, space, warp, strip, unroll, tiles, row_major, k6)
