"""Graded loop nests of the matrix product: their values, and the order in which they run."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gpulab.errors import GpulabError, UsageError, WrongResult
from gpulab.grading.checks.draws import random_generator
from gpulab.grading.checks.loop_trace import (
    Access,
    Array,
    Iterations,
    LoopTrace,
    ParallelLoop,
    TooManySteps,
    trace_loops,
)
from gpulab.grading.checks.loops import compile_loops, text_of_loops
from gpulab.grading.checks.points_line import record_points, show_points

__all__ = ["endless_loops", "parallel_race", "require_loops"]

STRIP = 32  # values of i in a strip, as many as a warp has lanes
ARRAYS = ("a", "b", "c")
TRACED = {"n": 2 * STRIP + 6, "m": 3, "p": 2}  # sizes whose last strip is short
LONG_J = {"n": 3, "m": 70, "p": 2}
LONG_K = {"n": 3, "m": 2, "p": 70}
MAX_ERROR = 1e-3  # absolute, for a sum of at most 90 products of numbers below 1

LINE = "Is the innermost line a[i + n*j] += b[i + n*k] * c[k + p*j]?"

Index = tuple[int, int, int]  # i, j, k


def require_loops(
    name: str,
    function: Callable[..., Any] | None,
    *,
    order: str = "",
    parallel: str = "",
    points: float,
    next: str = "",  # noqa: A002  (the name in a notebook)
) -> None:
    """Check the loops of a matrix product and show their points.

    Parameters
    ----------
    name : str
        The name of the function, such as ``"jki_loops"``.
    function : callable or None
        Takes ``a, b, c, n, m, p`` and adds the product of the column-major matrices `b` and `c` to `a`. None
        if the cell that defines it has not run.
    order : str, optional
        The loops from the outermost to the innermost, such as ``"is j i k"``: `is` runs over strips of 32
        values of i. If omitted, every order is accepted.
    parallel : {"", "i", "j", "k"}
        The index whose loop must be parallel, with `prange`. If given, the text may hold factors and sums in
        variables, and call functions of its own; otherwise an `order` asks for a nest around one line.
    points : float
        Maximum of the cell.
    next : str, optional
        The next task, shown with the points.

    Raises
    ------
    UsageError
        The function is missing, or its text is more than loops.
    WrongResult
        A value is wrong, iterations of `prange` race, another loop is parallel, or the loops run in another
        order.

    Examples
    --------
    The last line of a test cell:

    >>> from gpulab.grading.checks import require_loops
    >>> require_loops("jki_loops", globals().get("jki_loops"), points=2)  # doctest: +SKIP
    """
    from gpulab.notebook import failure

    failure.install_if_missing()
    record_points(name, 0)
    if not callable(function):
        raise UsageError(f"there is no function `{name}` yet: run the cell above that defines it.")
    text = text_of_loops(function)
    if "NotImplementedError" in text:  # the stub
        raise UsageError(f"{name} is not written yet: write the loops in place of the `raise` line.")
    run = compile_loops(function)
    called = getattr(function, "__name__", name)
    if endless := endless_loops(text, called):
        raise WrongResult(f"{name}: {endless}")
    if wrong := _wrong_values(run, text):
        raise WrongResult(f"{name}: {_wrong_update(text) or wrong}")
    if race := parallel_race(text, called):
        raise WrongResult(f"{name}: {race}")
    if parallel:
        _require_parallel(name, LoopTrace(text, ARRAYS, LONG_J, called), "ijk".index(parallel))
    if order:
        trace = LoopTrace(text, ARRAYS, TRACED, called, nest_only=not parallel, while_loops=bool(parallel))
        _require_order(name, trace, order.split())
    show_points(name, points, points, next)


def endless_loops(text: str, function: str) -> str:
    """Return a sentence about loops that do not end, or "": compiled code could not be interrupted."""
    try:
        LoopTrace(text, ARRAYS, TRACED, function)
    except TooManySteps as error:
        return str(error)
    except UsageError:  # the text has more than can be followed
        pass
    return ""


def parallel_race(text: str, function: str) -> str:
    """Return a sentence about two iterations of a `prange` loop that access one element, or ""."""
    try:
        for sizes in (TRACED, LONG_J, LONG_K):  # pieces of a loop show only if the loop is long
            if race := _first_race(LoopTrace(text, ARRAYS, sizes, function)):
                return race
    except UsageError:  # the text has more than can be followed
        pass
    return ""


def _first_race(trace: LoopTrace) -> str:
    touched: dict[tuple[ParallelLoop, Array, int], dict[int, bool]] = defaultdict(dict)
    for access in trace.accesses:
        for loop, number in access.iterations:
            stores = touched[loop, access.array, access.index]  # by iteration: does it store the element?
            stores[number] = stores.get(number, False) or access.stores
            if len(stores) > 1 and any(stores.values()):
                first, second = list(stores)[:2]
                element = f"{access.array.name or 'an array of the loops'}[{access.index}]"
                return (
                    f"line {loop.line}: a race. The iterations {loop.index} = {first} and {loop.index} = "
                    f"{second} of `prange` run at the same time, access {element}, and one of them stores it."
                )
    return ""


def _wrong_values(loops: Callable[..., Any], text: str) -> str:
    """Return what is wrong at a random size with n, m and p all different; "" if all values are right.

    No size is a multiple of `STRIP`: the last strip is short.
    """
    rng = random_generator("loops")
    n, m, p = (int(size) for size in rng.permutation([size for size in range(40, 90) if size % STRIP])[:3])
    b, c = rng.random(n * p, dtype=np.float32), rng.random(m * p, dtype=np.float32)
    a = np.zeros(n * m, np.float32)
    expected = c.reshape(m, p) @ b.reshape(p, n)  # before the loops, which could change b and c
    size = f"for n = {n}, m = {m} and p = {p}"

    try:
        loops(a, b, c, n, m, p)
    except IndexError:
        return f"an index is outside its array {size}. Look at the ends of the ranges and at the indices."
    except GpulabError:
        raise
    except Exception as error:  # noqa: BLE001  (Numba's, or of the student's Python)
        raise UsageError(_python_reason(error, text)) from None

    off = np.abs(a.reshape(m, n) - expected)
    if float(off.max()) < MAX_ERROR:  # False for NaN
        return ""
    j, i = (int(index[0]) for index in np.nonzero(~(off < MAX_ERROR)))
    return (
        f"{size}, the value of a with i = {i}, j = {j} is {a[i + n * j]:.4g} and must be "
        f"{expected[j, i]:.4g}. {LINE}"
    )


def _python_reason(error: Exception, text: str) -> str:
    """Return the reason of an error with its line in `text`; Numba's messages have a page of lines."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if re.match(r"\w+Error: ", line)]
    reason = (named or lines or [type(error).__name__])[0]

    if unknown := re.match(r"NameError: name '(\w+)' is not defined", reason):
        name = unknown[1]
        line = _first_line(text, lambda node: isinstance(node, ast.Name) and node.id == name)
        return f"{line}the name `{name}` is not defined: correct its spelling, or define it in the same cell."
    if re.search(r"cannot index array\(.*\) with \d+ indices", reason):
        line = _first_line(text, _has_several_indices)
        return f"{line}the matrices are stored by columns in arrays of one dimension, with one index. {LINE}"
    return f"the loops do not run: {reason}"


def _first_line(text: str, wanted: Callable[[ast.AST], bool]) -> str:
    """Return "line N: " for the first node of a text that is wanted, or "" if there is none."""
    numbers = [getattr(node, "lineno", 0) for node in ast.walk(ast.parse(text)) if wanted(node)]
    return f"line {min(numbers)}: " if numbers else ""


def _has_several_indices(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple)


def _wrong_update(text: str) -> str:
    """Return a sentence about the first iteration that is wrong, missing or repeated; "" if there is none."""
    try:
        updates = trace_loops(text, ARRAYS, TRACED, while_loops=True)
    except UsageError:  # the values are wrong, and the text is more than a nest
        return ""
    size = f"for n = {TRACED['n']}, m = {TRACED['m']} and p = {TRACED['p']}"
    if wrong := next(filter(None, map(_wrong_access, updates)), ""):
        return f"{size}, {wrong}"

    n, p = TRACED["n"], TRACED["p"]
    times = Counter((a % n, a // n, c % p) for a, _, c in updates)
    for index in _nest(["i", "j", "k"]):
        if times[index] != 1:
            how = f"{times[index]} times, not once" if times[index] else "never"
            return f"{size}, the iteration (i, j, k) = {index} runs {how}. Look at the ranges."
    return ""


def _wrong_access(access: Access) -> str:
    """Return what is wrong with the elements that one update names, or ""."""
    n, m, p = (TRACED[name] for name in "nmp")
    a, b, c = access
    j, k = divmod(c, p)
    i = a - n * j
    if i == b - n * k and i >= n:
        return f"i reaches {i} and must stay below n = {n}: the last strip is shorter than the others."
    for name, index, size in zip("abc", access, (n * m, n * p, p * m), strict=True):
        if not 0 <= index < size:
            return f"an index is outside its array: {name}[{index}], and {name} has {size} elements. {LINE}"
    if (a // n, b) == (j, a % n + n * k):
        return ""
    return f"the update of a[{a}] (i = {a % n}, j = {a // n}) takes b[{b}] and c[{c}]. {LINE}"


def _products(trace: LoopTrace) -> Iterator[tuple[Index, Iterations]]:
    """Yield the indices of each product of elements of `b` and `c`, and the parallel loops around it."""
    n, p = trace.sizes["n"], trace.sizes["p"]
    for product in trace.products:
        if {"b", "c"} <= product.indices.keys():
            b, c = product.indices["b"], product.indices["c"]
            yield (b % n, c // p, c % p), product.iterations


def _require_parallel(name: str, trace: LoopTrace, axis: int) -> None:
    """Raise `WrongResult` unless the outermost parallel loop runs over this axis, 0 to 2 for i, j and k.

    It may run over pieces of the axis: every value belongs to one iteration, and all to one loop.
    """
    iterations: dict[int, set[Iterations]] = defaultdict(set)
    loops: dict[ParallelLoop | None, None] = {}
    for index, parallel in _products(trace):
        iterations[index[axis]].add(parallel[:1])
        loops[parallel[0][0] if parallel else None] = None
    loop = next(filter(None, loops), None)
    axis_name = "ijk"[axis]
    right = f"{name}: the values are right, but"
    if loop is None or len({found for values in iterations.values() for found in values}) == 1:
        raise WrongResult(f"{right} no loop is parallel. Write `prange` for the loop over {axis_name}.")
    if len(loops) > 1 or any(len(found) > 1 for found in iterations.values()):
        raise WrongResult(
            f"{right} line {loop.line} has `prange` for the loop over {loop.index}. Write it for the loop "
            f"over {axis_name}, with all other loops inside."
        )


def _require_order(name: str, trace: LoopTrace, order: list[str]) -> None:
    """Raise `WrongResult` unless the loops run in this order, with the first difference."""
    n, p = TRACED["n"], TRACED["p"]
    expected = list(_nest(order))
    found = [index for index, _ in _products(trace)]
    for number, (right, own) in enumerate(zip(expected, found, strict=False)):
        if right != own:
            before = f"after (i, j, k) = {expected[number - 1]}" if number else "first"
            raise WrongResult(
                f"{name}: the values are right, but the order is not {', '.join(order)}. For n = {n}, "
                f"m = {TRACED['m']} and p = {p} the nest comes {before} to {right}; yours comes to {own}."
            )
    if len(found) != len(expected):
        raise WrongResult(f"{name}: {len(found)} updates of a, not {len(expected)}.")


def _nest(order: list[str], index: dict[str, int] | None = None) -> Iterator[Index]:
    """Yield the indices of a nest, in its order."""
    index = index or {}
    if not order:
        yield index["i"], index["j"], index["k"]
        return
    loop, *inner = order
    extent = TRACED[{"is": "n", "i": "n", "j": "m", "k": "p"}[loop]]
    values = range(0, extent, STRIP) if loop == "is" else range(extent)
    if loop == "i" and "is" in index:
        values = range(index["is"], min(index["is"] + STRIP, extent))
    for value in values:
        yield from _nest(inner, {**index, loop: value})
