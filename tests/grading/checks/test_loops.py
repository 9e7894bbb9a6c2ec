"""The rule for the text of graded loops."""

from __future__ import annotations

import numpy as np
import pytest

from gpulab.errors import UsageError
from gpulab.grading.checks import compile_loops
from gpulab.grading.checks.loops import forbidden_in_loops

LOOPS = """\
from numba import njit, prange
import numpy as np

T = 64


@njit
def rest(i, n):
    return min(n, i + T)


def tiled(a, b, n):
    "Tile by tile."
    sums = np.zeros(n, np.float32)
    for t in prange((n + T - 1) // T):
        for i in range(t * T, rest(t * T, n)):
            sums[i] += a[i] * b[i] if i < len(a) else 0
    a[:n] = sums
"""


def test_loops_are_accepted() -> None:
    assert forbidden_in_loops(LOOPS) == ""


@pytest.mark.parametrize(
    "line",
    [
        "a[:] = np.dot(a, b)",
        "a[:] = a @ b",
        "a[:] = a.dot(b)",
        "exec('a[0] = 1')",
        "getattr(np, 'dot')(a, b)",
        "import os",
        "from numba import objmode",
        "from numpy import dot",
        "f = np.dot",
        "(lambda: 1)()",
        "range = np.dot",
        "__import__('numpy')",
        "class A: pass",
        "for abs in [eval]: abs('1')",
        "njit('__import__(1)')",
        "njit(locals={'a': eval})",
        "match a:\n        case abs: abs('1')",
    ],
)
def test_other_code_is_refused_with_its_line(line: str) -> None:
    assert forbidden_in_loops(f"def f(a, b):\n    {line}").startswith("line 2: ")


@pytest.mark.parametrize(
    "text",
    [
        "def helper(text, abs=eval): return abs(text)",
        "if 0:\n    def eval(text): pass\neval('1')",
        "@exec\ndef f(): pass",
        "def f(): pass\nf = eval",
        "import numpy as f\ndef f(): pass",
        "[f('1') for f in [eval]]\ndef f(): pass",
        "(f := eval)\ndef f(): pass",
        "@njit('__import__(1)')\ndef f(): pass",
    ],
)
def test_name_that_is_called_has_no_other_meaning(text: str) -> None:
    assert forbidden_in_loops(text).startswith("line ")


def test_switches_of_numba_are_accepted() -> None:
    text = (
        "import numba\n@numba.njit(parallel=True, fastmath=True)\ndef f(a, n):\n    sum = 0\n    a[0] = sum"
    )
    assert forbidden_in_loops(text) == ""


def test_text_that_is_not_python_is_refused() -> None:
    assert forbidden_in_loops("def f(:")


def test_refused_function_raises_before_it_runs() -> None:
    def product(a: np.ndarray, b: np.ndarray) -> None:
        a[:] = np.dot(a, b)

    with pytest.raises(UsageError, match="dot"):
        compile_loops(product)
