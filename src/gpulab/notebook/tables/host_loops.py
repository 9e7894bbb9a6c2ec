"""`gpulab.loops_table`: rates of loops over matrices on the CPU, next to those that were published."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpulab.views.html import View, stack
from gpulab.views.tables.builder import Column, table_view
from gpulab.views.tables.number_format import rate
from gpulab.views.tables.published_view import published_table

__all__ = ["SIDE", "HostRate", "host_rates", "loops_table"]

SIDE = 384  # rows of the square matrices, which fit in a cache
REPEATS = 3

Loops = Callable[..., Any]


@dataclass(frozen=True)
class HostRate:
    """The rate of one version of the loops. gflops: None if they are not written yet."""

    name: str
    gflops: float | None


_COLUMNS = (
    Column("loops", lambda own: own.name + " (not written yet)" * (own.gflops is None)),
    Column("GFLOPS", "gflops", rate),
)


def loops_table(*functions: Callable[..., Any] | None) -> View:
    """Measure loops of a matrix product on the CPU of this machine.

    Parameters
    ----------
    *functions : callable or None
        Python functions that take ``a, b, c, n, m, p`` and add the product of the column-major matrices `b`
        and `c` to `a`. Numba compiles them. One with `prange` also runs in parallel, by Numba and in threads
        that are started by hand. A function that raises `NotImplementedError` is not written yet; None is
        left out.

    Returns
    -------
    View
        Rates in GFLOPS, with that of NumPy's product, and the published rates of the course documents.

    Examples
    --------
    >>> import gpulab
    >>> def ijk(a, b, c, n, m, p):
    ...     for i in range(n):
    ...         for j in range(m):
    ...             for k in range(p):
    ...                 a[i + n * j] += b[i + n * k] * c[k + p * j]
    >>> gpulab.loops_table(ijk)
    loops                   GFLOPS
    ...
    """
    rows: list[HostRate] = host_rates([function for function in functions if function is not None])
    caption = f"Measured on this machine's CPU: best of 3 runs at {SIDE}x{SIDE}x{SIDE}, compiled by Numba."
    return stack(table_view(_COLUMNS, rows, caption), published_table("cpu"))


def host_rates(functions: Sequence[Loops]) -> list[HostRate]:
    """Return the rates of loops and of NumPy's product.

    Loops with `prange` also run in parallel: by Numba, which splits the `prange` loop, and on parts of the
    columns in threads that are started by hand.
    """
    from numba import njit

    rates = []
    for function in functions:
        name, serial = function.__name__, njit(nogil=True)(function)
        rates.append(HostRate(name, _rate(serial)))
        if rates[-1].gflops is not None and "prange" in function.__code__.co_names:
            rates.append(HostRate(f"{name}, parallel by prange", _rate(njit(parallel=True)(function))))
            rates.append(HostRate(f"{name}, threads by hand", _rate(_in_threads(serial))))
    return [*rates, HostRate("NumPy's product (BLAS)", _rate(_blas))]


def _rate(loops: Loops) -> float | None:
    """Return the best rate of a few runs in GFLOPS, after one that compiles; None if they are not written."""
    rng = np.random.default_rng(1)
    b, c = (rng.random(SIDE * SIDE, dtype=np.float32) for _ in range(2))
    best = float("inf")
    for _ in range(1 + REPEATS):
        a = np.zeros(SIDE * SIDE, np.float32)
        begin = time.perf_counter()
        try:
            loops(a, b, c, SIDE, SIDE, SIDE)
        except NotImplementedError:
            return None
        best = min(best, time.perf_counter() - begin)
    return 2 * SIDE**3 / best / 1e9


def _in_threads(loops: Loops) -> Loops:
    """Return loops that run on parts of the columns, one thread for each core."""

    def parts(a: Any, b: Any, c: Any, n: int, m: int, p: int) -> None:
        cores = os.cpu_count() or 1
        ends = [m * part // cores for part in range(cores + 1)]

        def columns(first: int, last: int) -> None:
            loops(a[n * first : n * last], b, c[p * first : p * last], n, last - first, p)

        with ThreadPoolExecutor(cores) as pool:
            list(pool.map(columns, ends, ends[1:]))

    return parts


def _blas(a: Any, b: Any, c: Any, n: int, m: int, p: int) -> None:
    np.matmul(c.reshape(m, p), b.reshape(p, n), out=a.reshape(m, n))
