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


def test_unwritten_loops_have_no_rate() -> None:
    text = gpulab.loops_table(unwritten, None).text
    assert "unwritten (not written yet)" in text
