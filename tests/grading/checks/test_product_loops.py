"""Graded loop nests of the matrix product: values and order."""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpulab.errors import UsageError, WrongResult
from gpulab.grading.checks import product_loops, require_loops
from gpulab.grading.checks.loop_trace import trace_loops
from gpulab.grading.checks.loops import text_of_loops

Loops = Callable[..., None]
UPDATE = "a[i + n * j] += b[i + n * k] * c[k + p * j]"
SIZES = {"n": 4, "m": 3, "p": 2}
N_OF_64 = [68, 82, 107]  # seeds whose first size from 40 to 89 is 64, where no strip is short


class Written:
    """A function with its text, as the grader has it; it runs as Python."""

    __name__ = "loops"

    def __init__(self, *lines: str, before: str = "") -> None:
        body = "".join(f"\n    {line}" for line in lines)
        self.text = f"{before}def loops(a, b, c, n, m, p):{body}\n"

    def compiled(self) -> Loops:
        names: dict[str, Any] = {"prange": range, "np": np, "numba": SimpleNamespace(prange=range)}
        exec(self.text, names)
        return names["loops"]  # type: ignore[no-any-return]

    def __call__(self, *args: Any) -> None:
        raise AssertionError("the compiled function runs")


def nest(*loops: str, update: str = UPDATE, before: str = "") -> Written:
    lines = [f"{'    ' * depth}for {loop}:" for depth, loop in enumerate(loops)]
    return Written(*lines, "    " * len(loops) + update, before=before)


STRIPS, LANES = "is_ in range(0, n, 32)", "i in range(is_, min(is_ + 32, n))"
J, K = "j in range(m)", "k in range(p)"


@pytest.mark.parametrize(
    ("order", "loops"),
    [
        ("j k i", nest("j in prange(m)", K, "i in range(n)")),
        ("is i j k", nest(STRIPS, LANES, J, K)),
        ("is j i k", nest(STRIPS, J, LANES, K)),
        ("is j i k", nest("s in range((n + 31) // 32)", J, "i in range(32 * s, min(32 * s + 32, n))", K)),
    ],
)
def test_loops_in_the_order_pass(order: str, loops: Written) -> None:
    assert require_loops("loops", loops, order=order, points=2) is None


def test_lane_index_with_a_guard_passes() -> None:
    loops = Written(
        "for is_ in range(0, n, 32):",
        "    for j in range(m):",
        "        for lane in range(32):",
        "            i = is_ + lane",
        "            if i < n:",
        "                for k in range(p):",
        f"                    {UPDATE}",
    )
    assert require_loops("loops", loops, order="is j i k", points=2) is None


@pytest.mark.parametrize(
    ("loops", "position"),
    [
        (
            nest(STRIPS, LANES, J, K),
            r"after \(i, j, k\) = \(0, 0, 1\) to \(1, 0, 0\); yours comes to \(0, 1, 0\)",
        ),
        (nest(STRIPS, J, K, LANES), r"yours comes to \(1, 0, 0\)"),
        (nest("i in range(n)", J, K), "the order is not is, j, i, k"),
    ],
)
def test_other_order_is_refused_with_the_first_difference(loops: Written, position: str) -> None:
    with pytest.raises(WrongResult, match=position):
        require_loops("loops", loops, order="is j i k", points=2)


@pytest.mark.parametrize(
    "loops",
    [
        nest("is_ in range(0, n - 31, 32)", J, "i in range(is_, is_ + 32)", K),  # without the last strip
        nest(STRIPS, J, LANES, "k in range(n)"),
        nest(STRIPS, J, LANES, K, update="a[i + n * j] = b[i + n * k] * c[k + p * j]"),
    ],
)
def test_wrong_values_are_refused(loops: Written) -> None:
    with pytest.raises((WrongResult, IndexError)):
        require_loops("loops", loops, order="is j i k", points=2)


def too_long_strips(a: Any, b: Any, c: Any, n: int, m: int, p: int) -> None:
    for first in range(0, n, 32):
        for i in range(first, first + 32):
            for j in range(m):
                for k in range(p):
                    a[i + n * j] += b[i + n * k] * c[k + p * j]


@pytest.mark.parametrize("seed", [*range(5), *N_OF_64])
def test_index_past_the_end_is_refused_without_harm(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(product_loops, "random_generator", lambda *_: np.random.default_rng(seed))
    with pytest.raises(WrongResult, match="i reaches 70 and must stay below n"):
        require_loops("too_long_strips", too_long_strips, order="is i j k", points=2)


def test_missing_function_is_refused() -> None:
    with pytest.raises(UsageError, match="no function `strip_mined` yet"):
        require_loops("strip_mined", None, points=2)


def test_unwritten_function_is_refused() -> None:
    with pytest.raises(UsageError, match="not written yet"):
        require_loops("loops", Written("raise NotImplementedError()"), points=2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("while n: pass", "line 2: `while n:` is more than a loop nest"),
        ("n = a.size", r"line 2: `a.size` is more than a loop nest"),
        ("for i in range(10 ** 9): pass", "more than a loop nest"),
        ("for i in range(9999999): pass", "too many steps"),
        ("for i in range(0, n, 0): pass", "must not be zero"),
        ("for i in range(n): n = n * n * n * n * n * n", "too large"),
        ("a[0] += b[0]", "no element of `c`"),
        ("a[0] = a[1] + b[0] * c[0]", "two elements of `a`"),
    ],
)
def test_text_that_cannot_be_traced_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        trace_loops(f"def f(a, b, c, n, m, p):\n    {text}", "abc", SIZES)


def test_trace_has_the_index_of_each_array() -> None:
    loops = nest(J, K, "i in range(n)")
    trace = trace_loops(loops.text, "abc", SIZES)
    assert trace == [(i + 4 * j, i + 4 * k, k + 2 * j) for j in range(3) for k in range(2) for i in range(4)]


@pytest.mark.parametrize(
    ("loops", "reason"),
    [
        (nest(STRIPS, "i in range(is_, min(is_ + 32, n) - 1)", J, K), r"\(31, 0, 0\) runs never"),
        (nest("is_ in range(n)", LANES, J, K), r"\(1, 0, 0\) runs 2 times, not once"),
        (nest(STRIPS, "i in range(is_, is_ + 32)", J, K), "i reaches 70 and must stay below n = 70"),
        (nest(STRIPS, LANES, J, K, update=UPDATE.replace("n * k", "p * k")), r"takes b\[2\] and c\[1\]"),
        (nest(STRIPS, LANES, J, K, update=UPDATE.replace("+=", "=")), r"Is the innermost line .* \+= "),
    ],
)
def test_wrong_values_name_the_first_wrong_iteration(loops: Written, reason: str) -> None:
    with pytest.raises(WrongResult, match=reason):
        require_loops("loops", loops, order="is i j k", points=2)


def undefined_name(a: Any, b: Any, c: Any, n: int, m: int, p: int) -> None:
    for i in range(0, n, STRIP):  # type: ignore[name-defined]  # noqa: F821
        a[i] += b[i] * c[i]


def test_error_of_the_compiler_is_one_line() -> None:
    line = inspect.getsourcelines(undefined_name)[1] + 1
    with pytest.raises(UsageError, match=f"^line {line}: the name `STRIP` is not defined: [^\n]*$"):
        require_loops("undefined_name", undefined_name, points=2)


def two_indices(a: Any, b: Any, c: Any, n: int, m: int, p: int) -> None:
    for i in range(n):
        a[i, 0] += b[i] * c[i]


def test_two_indices_are_refused_with_their_line() -> None:
    line = inspect.getsourcelines(two_indices)[1] + 2
    with pytest.raises(UsageError, match=f"^line {line}: .* in arrays of one dimension"):
        require_loops("two_indices", two_indices, points=2)


@pytest.mark.parametrize("condition", ["True", "i < n", "p"])
def test_loops_that_do_not_end_are_refused_before_they_run(condition: str) -> None:
    loops = Written("i = 0", f"while {condition}:", "    for k in range(p):", "        i = 0")
    with pytest.raises(WrongResult, match=r"line [45]: the loops take too many steps"):
        require_loops("loops", loops, points=2)


def test_while_loops_that_end_are_refused_only_where_an_order_is_asked_for() -> None:
    loops = Written(
        "is_ = 0",
        "while is_ < n:",
        "    for i in range(is_, min(is_ + 32, n)):",
        "        for j in range(m):",
        "            for k in range(p):",
        f"                {UPDATE}",
        "    is_ += 32",
    )
    assert require_loops("loops", loops, points=2) is None
    with pytest.raises(UsageError, match="`while is_ < n:` is more than a loop nest"):
        require_loops("loops", loops, order="is i j k", points=2)


def test_text_of_a_notebook_cell_has_its_constants_and_lines() -> None:
    text = "from numba import prange\n\nSTRIP = 32\n\ndef loops(a, n):\n    a[0] += STRIP\n"
    file = "/tmp/ipykernel_1/1.py"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text.replace("from numba import prange", ""), file, "exec"), names)
    try:
        assert text_of_loops(names["loops"]) == text
    finally:
        del linecache.cache[file]


def test_order_may_be_written_with_division_and_int() -> None:
    loops = nest("s in range(int(n / 32) + 1)", "i in range(32 * s, min(32 * s + 32, n))", J, K)
    assert require_loops("loops", loops, order="is i j k", points=2) is None


PJ, I = "j in prange(m)", "i in range(n)"
TO_4 = "range(4 * t, min(4 * t + 4, {}))"  # a piece of four values
AXPY = """
def axpy(a, b, factor, to, start, n):
    for i in range(n):
        a[to + i] += factor * b[start + i]
"""
CALL = "axpy(a, b, c[k + p * j], n * j, n * k, n)"


def hoisted(j: str) -> Written:
    update = (
        f"factor = c[k + p * j]\n            for {I}:\n                a[i + n * j] += factor * b[i + n * k]"
    )
    return nest(j, K, update=update)


# How the first exercise of lab 2 may be written, which asks for the order j, k, i with prange over j: the
# loops, and a part of the message, or "" for full points.
PARALLEL = {
    "as asked for": (nest(PJ, K, I), ""),
    "prange of the module": (nest("j in numba.prange(m)", K, I), ""),
    "also prange inside": (nest(PJ, K, "i in prange(n)"), ""),
    "pieces of j": (nest("t in prange((m + 3) // 4)", f"j in {TO_4.format('m')}", K, I), ""),
    "a piece for each core": (nest("t in prange(4)", "j in range(t * m // 4, (t + 1) * m // 4)", K, I), ""),
    "hoisted factor": (hoisted(PJ), ""),
    "helper function": (nest(PJ, K, update=CALL, before=AXPY), ""),
    "a loop with while": (
        nest(
            PJ,
            update=f"k = 0\n        while k < p:\n            for {I}:\n"
            f"                {UPDATE}\n            k += 1",
        ),
        "",
    ),
    "plain range": (nest(J, K, I), "no loop is parallel"),
    "plain range, hoisted factor": (hoisted(J), "no loop is parallel"),
    "one iteration for all": (nest("t in prange(1)", J, K, I), "no loop is parallel"),
    "prange over k": (nest(J, "k in prange(p)", I), "race"),
    "prange over k, outside": (nest("k in prange(p)", J, I), "race"),
    "prange over j and k": (nest(PJ, "k in prange(p)", I), "race"),
    "pieces of k": (nest(J, "t in prange((p + 3) // 4)", f"k in {TO_4.format('p')}", I), "race"),
    "race in a helper": (nest(J, "k in prange(p)", update=CALL, before=AXPY), "race"),
    "race on a local array": (
        Written(
            "column = np.zeros(n)",
            "for j in prange(m):",
            "    for i in range(n):",
            "        column[i] = 0",
            "    for k in range(p):",
            "        for i in range(n):",
            "            column[i] += b[i + n * k] * c[k + p * j]",
            "    for i in range(n):",
            "        a[i + n * j] += column[i]",
        ),
        "race",
    ),
    "prange over i": (nest(J, K, "i in prange(n)"), "prange` for the loop over i"),
    "prange over i, outside": (nest("i in prange(n)", J, K), "prange` for the loop over i"),
    "columns backwards": (
        nest("t in prange(m)", "j in range(m - 1 - t, m - t)", K, I),
        "order is not j, k, i",
    ),
    "other order": (nest(PJ, I, K), "order is not j, k, i"),
    "sum in a variable": (
        nest(
            PJ,
            I,
            update=f"s = 0.0\n            for {K}:\n                s += b[i + n * k] * c[k + p * j]\n"
            "            a[i + n * j] += s",
        ),
        "order is not j, k, i",
    ),
    "slices": (
        nest(PJ, K, update="a[n * j : n * j + n] += b[n * k : n * k + n] * c[k + p * j]"),
        "more than a loop nest",
    ),
}


def test_verdicts_on_parallel_loops() -> None:
    found = {}
    for name, (loops, _) in PARALLEL.items():
        try:
            require_loops("loops", loops, order="j k i", parallel="j", points=2)
            found[name] = ""
        except (UsageError, WrongResult) as error:
            found[name] = str(error)
    wrong = {
        name: found[name]
        for name, (_, message) in PARALLEL.items()
        if (message not in found[name]) or bool(message) != bool(found[name])
    }
    assert wrong == {}


def test_race_is_found_where_nothing_is_asked_of_the_loops() -> None:
    with pytest.raises(WrongResult, match=r"line 3: a race\. The iterations k = 0 and k = 1"):
        require_loops("loops", nest(J, "k in prange(p)", "i in range(n)"), points=2)
