"""Rates of loops on the CPU, and their table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit, prange

import gpulab
from gpulab.notebook.tables import host_loops
from gpulab.notebook.tables.host_loops import host_rates


def jki(a: Any, b: Any, c: Any, n: int, m: int, p: int) -> None:
    for j in prange(m):
        for k in range(p):
            for i in range(n):
                a[i + n * j] += b[i + n * k] * c[k + p * j]


def unwritten(a: Any, b: Any, c: Any, n: int, m: int, p: int) -> None:
    raise NotImplementedError


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_loops, "SIDE", 16)


def test_loops_with_prange_run_in_parallel_too() -> None:
    names = [rate.name for rate in host_rates([jki])]
    assert names == [
        "jki",
        "jki, parallel by prange",
        "jki, threads by hand",
        "NumPy's product (BLAS)",
    ]


def test_threads_by_hand_give_the_product() -> None:
    n, m, p = 5, 7, 3
    rng = np.random.default_rng(1)
    b, c, a = rng.random(n * p), rng.random(m * p), np.zeros(n * m)
    host_loops._in_threads(njit(nogil=True)(jki))(a, b, c, n, m, p)
    np.testing.assert_allclose(a.reshape(m, n), c.reshape(m, p) @ b.reshape(p, n))


def race(a: Any, b: Any, c: Any, n: int, m: int, p: int) -> None:
    for k in prange(p):
        for j in range(m):
            for i in range(n):
                a[i + n * j] += b[i + n * k] * c[k + p * j]


def endless(a: Any, b: Any, c: Any, n: int, m: int, p: int) -> None:
    i = 0
    while i < n:
        a[i] += b[i] * c[i]


def test_loops_with_a_race_are_not_run_in_parallel() -> None:
    serial, parallel, by_hand, _ = host_rates([race])
    assert serial.gflops
    assert by_hand.gflops
    assert parallel.gflops is None
    assert "a race" in parallel.note
    assert "a race" in gpulab.loops_table(race).text


def test_loops_that_do_not_end_are_not_run() -> None:
    row, _ = host_rates([endless])
    assert row.gflops is None
    assert "too many steps" in row.note


def test_slow_loops_are_measured_at_a_smaller_size(monkeypatch: pytest.MonkeyPatch) -> None:
    sides: list[int] = []

    def seconds(loops: Any, side: int) -> float:
        sides.append(side)
        return side**3 / 1000

    monkeypatch.setattr(host_loops, "_seconds", seconds)
    row = host_loops._rate("slow", jki)
    assert max(sides) == 8  # 16 would take 4 s
    assert "8x8x8" in row.note


def test_unwritten_loops_have_no_rate() -> None:
    text = gpulab.loops_table(unwritten, None).text
    assert "unwritten (not written yet)" in text
