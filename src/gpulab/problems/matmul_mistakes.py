"""Common mistakes of a matrix product: the values that they give, and the sentences that name them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from gpulab.problems import Mistake

__all__ = ["product_mistakes"]

STRIPS = (16, 32, 64, 128)  # values of k in a strip or a tile
COLUMNS = (2, 4, 8)  # columns that a thread computes
ROWS = ((32, 2), (64, 2), (128, 2), (32, 4), (64, 4), (128, 4))  # threads along i, and rows of a thread
MOST_POINTS = 0.9  # share of the wrong points that proves a mistake, of which others are written twice

Matrix = npt.NDArray[np.float64]


def product_mistakes(b: Matrix, c: Matrix) -> Iterator[Mistake]:
    """Yield mistakes of a = c b, in NumPy's shapes: b is (p, n) and c is (m, p)."""
    p, n = b.shape
    m = len(c)
    yield Mistake((c @ b).T.reshape(m, n), "the result is stored transposed: column-major means a[i + n*j]")
    if p > 1:
        yield Mistake(c[:, :-1] @ b[:-1], "the last k is left out of the sums")
        yield Mistake(c[:, 1:] @ b[1:], "the first k (k = 0) is left out of the sums")
        yield Mistake(c[:, -1:] @ b[-1:], "only the last k is in the sums: add to the sum, do not assign it")
    if n < p:
        yield Mistake(c[:, :n] @ b[:n], "the loop over k ends at n, not at p")
    yield from _layout_mistakes(b, c)
    yield Mistake(2 * (c @ b), "every product is added twice")
    yield Mistake(-(c @ b), "the products are subtracted but must be added")
    yield from _square_mistakes(b, c)
    for width in STRIPS:
        if width < p:
            yield from _strip_mistakes(b, c, width)
    for width in COLUMNS:
        first = np.arange(m) // width * width
        yield Mistake(c[first] @ b, "all columns of a thread are computed with its first column of c")
    for threads, rows in ROWS:
        first = np.arange(n) // (threads * rows) * threads * rows + np.arange(n) % threads
        yield Mistake(c @ b[:, first], "all rows of a thread are computed with its first row of b")


def _layout_mistakes(b: Matrix, c: Matrix) -> Iterator[Mistake]:
    """Yield reads of b and c with a wrong stride, with exchanged indices, or with both."""
    (p, n), m = b.shape, len(c)
    i, j, k = np.arange(n), np.arange(m), np.arange(p)
    for name, stride in (("p", p), ("n", n), ("m", m)):
        of_b = {f"i + {name}*k": i + stride * k[:, None], f"k + {name}*i": k[:, None] + stride * i}
        of_c = {f"k + {name}*j": k + stride * j[:, None], f"j + {name}*k": j[:, None] + stride * k}
        for text, places in of_b.items():
            if places.max() < b.size and not np.array_equal(places, i + n * k[:, None]):
                yield Mistake(c @ b.ravel()[places], f"b is read as b[{text}]: column-major means b[i + n*k]")
        for text, places in of_c.items():
            if places.max() < c.size and not np.array_equal(places, k + p * j[:, None]):
                yield Mistake(c.ravel()[places] @ b, f"c is read as c[{text}]: column-major means c[k + p*j]")


def _strip_mistakes(b: Matrix, c: Matrix, width: int) -> Iterator[Mistake]:
    """Yield mistakes in a loop over strips of `width` values of k."""
    k = np.arange(len(b))
    last = (len(b) - 1) // width * width
    yield Mistake(
        c[:, last:] @ b[last:],
        "only the last strip of k is in the sums: the sum must not start again in every strip",
    )
    yield Mistake(c[:, :width] @ b[:width], "only the first strip of k is in the sums")
    yield Mistake(
        c[:, k % width] @ b, "every strip has the first values of c: its index does not move along k"
    )
    yield Mistake(
        c @ b[k % width], "every strip uses the first columns of b: its index does not move along k"
    )
    yield Mistake(c[:, k // width * width] @ b, "every strip has its first value of c only")
    if len(b) % width == 0 and b.shape[1] % width == 0:
        yield from _index_mistakes(b, c, width)
    if last + width > len(b):
        yield Mistake(
            c[:, :last] @ b[:last], f"the values of k after the last whole strip of {width} are left out"
        )
    used = k % width < width - 1
    yield Mistake(c[:, used] @ b[used], "the last value of every strip is left out of the sums")
    used = k % width < width // 2
    yield Mistake(c[:, used] @ b[used], "only the first half of every strip is in the sums")


def _square_mistakes(b: Matrix, c: Matrix) -> Iterator[Mistake]:
    """Yield mistakes that take n, m and p as one number."""
    (p, n), m = b.shape, len(c)
    for side in {n, m, p}:
        i, j, k = (np.arange(min(side, extent)) for extent in (n, m, p))
        of_a, of_b, of_c = i + side * j[:, None], i + side * k[:, None], k + side * j[:, None]
        if of_a.max() < n * m and of_b.max() < b.size and of_c.max() < c.size:
            values = np.full(n * m, np.nan)  # NaN: not written
            values[of_a] = c.ravel()[of_c] @ b.ravel()[of_b]
            yield Mistake(
                values.reshape(m, n),
                "the values are those of square matrices: n, m and p are three numbers",
                MOST_POINTS,
            )


def _index_mistakes(b: Matrix, c: Matrix, width: int) -> Iterator[Mistake]:
    """Yield mistakes in the index of a strip, or of a square tile, in shared memory."""
    p, n = b.shape
    m, strips = len(c), p // width
    sums = b.reshape(strips, width, n).sum(axis=1)
    lanes = c.reshape(m, strips, width)[:, :, np.arange(n) % width]
    yield Mistake(
        np.einsum("sn,msn->mn", sums, lanes), "the strip is read at the thread's own number, not at k"
    )
    turned_b = b.reshape(strips, width, n // width, width).transpose(0, 3, 2, 1).reshape(p, n)
    yield Mistake(c @ turned_b, "the tile of b is read with its two indices exchanged")
    own_row = b.reshape(strips, width, n)[:, np.arange(n) % width, np.arange(n)]
    yield Mistake(
        c.reshape(m, strips, width).sum(axis=2) @ own_row,
        "a thread uses one value of b in a whole tile: in its load, let tx run along i and ty along k",
    )
    if m % width == 0:
        turned_c = c.reshape(m // width, width, strips, width).transpose(0, 3, 2, 1).reshape(m, p)
        yield Mistake(turned_c @ b, "the tile of c is read with its two indices exchanged")
        yield Mistake(turned_c @ turned_b, "both tiles are read with their two indices exchanged")
        own_column = c.reshape(m, strips, width)[np.arange(m), :, np.arange(m) % width]
        yield Mistake(
            own_column @ sums,
            "a thread uses one value of c in a whole tile: in its load, let ty run along j and tx along k",
        )
