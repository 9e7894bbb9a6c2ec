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
LIMIT_S = 2.0  # for one run; loops that would take longer are measured at a smaller size

Loops = Callable[..., Any]


@dataclass(frozen=True)
class HostRate:
    """The rate of one version of the loops; None if they were not run. note: why not, or at which size."""

    name: str
    gflops: float | None
    note: str = ""


_COLUMNS = (Column("loops", "name"), Column("GFLOPS", "gflops", rate))


def loops_table(*functions: Callable[..., Any] | None) -> View:
    """Measure loops of a matrix product on the CPU of this machine.

    Parameters
    ----------
    *functions : callable or None
        Python functions that take ``a, b, c, n, m, p`` and add the product of the column-major matrices `b`
        and `c` to `a`. Numba compiles them. One with `prange` also runs in parallel, by Numba and in threads
        that are started by hand. A function that raises `NotImplementedError` is not written yet; None is
        left out. Loops that do not end, or whose parallel iterations race, are not run in this form, and slow
        ones are measured at a smaller size; a line below the table says so.

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
    notes = [f"{row.name}: {row.note}" for row in rows if row.note]
    return stack(table_view(_COLUMNS, rows, caption, notes=notes), published_table("cpu"))


def host_rates(functions: Sequence[Loops]) -> list[HostRate]:
    """Return the rates of loops and of NumPy's product.

    Loops with `prange` also run in parallel: by Numba, which splits the `prange` loop, and on parts of the
    columns in threads that are started by hand.
    """
    from numba import njit

    rates = []
    for function in functions:
        name, serial = function.__name__, njit(nogil=True)(function)
        endless, race = _faults(function)
        rates.append(HostRate(name, None, endless) if endless else _rate(name, serial))
        if rates[-1].gflops is not None and "prange" in function.__code__.co_names:
            parallel = f"{name}, parallel by prange"
            compiled = njit(parallel=True)(function)
            rates.append(HostRate(parallel, None, f"not run: {race}") if race else _rate(parallel, compiled))
            rates.append(_rate(f"{name}, threads by hand", _in_threads(serial)))
    return [*rates, _rate("NumPy's product (BLAS)", _blas)]


def _faults(function: Loops) -> tuple[str, str]:
    """Return a sentence about loops that do not end, and one about a race between parallel iterations."""
    from gpulab.grading.checks.loops import text_of_loops
    from gpulab.grading.checks.product_loops import endless_loops, parallel_race

    try:
        text = text_of_loops(function)
    except (OSError, TypeError):  # of a function that has no text
        return "", ""
    return endless_loops(text, function.__name__), parallel_race(text, function.__name__)


def _rate(name: str, loops: Loops) -> HostRate:
    """Return the best rate of a few runs, at a smaller size if one would take longer than `LIMIT_S`."""
    side = SIDE // 8
    try:
        _seconds(loops, side)  # compiles
    except NotImplementedError:
        return HostRate(f"{name} (not written yet)", None)
    while (seconds := _seconds(loops, side)) * 8 < LIMIT_S and side < SIDE:
        side *= 2
    if side < SIDE:
        note = f"measured at {side}x{side}x{side}, because a larger size would take more than {LIMIT_S:g} s."
        return HostRate(name, _gflops(side, seconds), note)
    best = min(seconds, *(_seconds(loops, SIDE) for _ in range(REPEATS - 1)))
    return HostRate(name, _gflops(SIDE, best))


def _seconds(loops: Loops, side: int) -> float:
    """Return the time of one run at a size."""
    rng = np.random.default_rng(1)
    b, c = (rng.random(side * side, dtype=np.float32) for _ in range(2))
    a = np.zeros(side * side, np.float32)
    begin = time.perf_counter()
    loops(a, b, c, side, side, side)
    return time.perf_counter() - begin


def _gflops(side: int, seconds: float) -> float:
    return 2 * side**3 / seconds / 1e9


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
