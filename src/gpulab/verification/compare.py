"""Comparison of one output with its reference: wrong points, the first and the worst, and a picture."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.config import LaunchConfig
from gpulab.problems.base import Case, Problem
from gpulab.verification.hints import hint_for
from gpulab.verification.inputs import POISON, bits_of, poison_of
from gpulab.verification.verdict import Mismatch, Plane, ShapeResult, State
from gpulab.verification.wrong_places import WrongOutput, written_boundary

__all__ = ["POISON", "QUIETED_POISON", "compare", "compare_outputs", "format_index"]

FEW_BYTES = 16  # so many wrong bytes, and one in so many, may have the value of the poison by chance
LINE = 64  # elements of a row of the picture of an output with one axis
# Poison after arithmetic, by the bytes of a floating-point element: the quiet bit is set.
QUIETED_POISON = {2: 0x7FAD, 4: 0x7FEDBEEF, 8: 0x7FFDBEEF7FADBEEF}


def compare_outputs(
    case: Case,
    launch: LaunchConfig,
    outputs: Mapping[str, npt.NDArray[Any]],
    input_changed: tuple[str, ...] = (),
    *,
    raced: bool = False,
) -> ShapeResult:
    """Return the result of a launch without faults, over all of its outputs; see `compare`.

    outputs: the arrays by name.
    """
    results = [
        compare(each, launch, outputs[each.output.name], () if number else input_changed, raced=raced)
        for number, each in enumerate((case, *case.others))
    ]
    shown = next((result for result in results if not result.correct), results[0])
    return replace(
        shown,
        wrong=sum(result.wrong for result in results),
        total=sum(result.total for result in results),
        non_finite=sum(result.non_finite for result in results),
        never_written=sum(result.never_written for result in results),
        shell_touched=sum(result.shell_touched for result in results),
        input_changed=input_changed,
        reasons=tuple(reason for result in results for reason in result.reasons),
    )


@np.errstate(invalid="ignore", over="ignore")  # NaN and infinity are expected values here
def compare(
    case: Case,
    launch: LaunchConfig,
    got: npt.NDArray[Any],
    input_changed: tuple[str, ...] = (),
    *,
    raced: bool = False,
) -> ShapeResult:
    """Return the result of one output of a launch without faults.

    got: the output array, which held poison or the problem's initial values before the launch.
    input_changed: names of the inputs that the kernel changed. raced: True if the launch has a race.
    """
    problem = launch.config.problem
    untouched = _untouched(case, got)
    error = np.abs(got - case.expected)
    # `error > tolerance` would be False for a NaN, which would then pass.
    wrong = ~(error <= case.tolerance) & case.written
    forbidden = ~untouched & ~case.written
    never = untouched & wrong & (not case.output.initialized)
    # A wrong byte may be that of the poison by chance, but not many of them.
    if got.dtype.itemsize == 1:
        never &= np.count_nonzero(never) > FEW_BYTES + np.count_nonzero(wrong) // FEW_BYTES
    non_finite = case.written & ~np.isfinite(got) & ~never
    state = np.zeros(got.shape, np.uint8)
    state[case.written] = State.RIGHT
    state[wrong] = State.WRONG
    state[never] = State.NEVER_WRITTEN
    state[forbidden] = State.FORBIDDEN

    n_wrong = int(np.count_nonzero(wrong))
    n_forbidden = int(np.count_nonzero(forbidden))
    correct = not (n_wrong or n_forbidden or input_changed)
    first = worst = None
    hint = ""
    if n_wrong:
        first = _mismatch(case, got, int(np.argmax(wrong)))
        # A finite value with a large error is more informative than another NaN.
        finite = np.where(wrong & np.isfinite(got), error, -1.0)
        worst = _mismatch(case, got, int(np.argmax(finite))) if finite.max() >= 0 else first
        added = not case.output.initialized and _added_to_poison(got, case.written)
        hint = hint_for(WrongOutput(case, launch, got, wrong, never), added=added, raced=raced)
    reasons: list[str] = []
    name = ", ".join(filter(None, (problem.format_shape(case.shape), case.output_name)))
    if first is not None and worst is not None:
        total = int(np.count_nonzero(case.written))
        n_odd = int(np.count_nonzero(non_finite))
        reasons.append(_wrong_values(problem, name, n_wrong, total, n_odd, first, worst, never, hint))
    if n_forbidden:
        where = format_index(problem, np.unravel_index(int(np.argmax(forbidden)), got.shape))
        faces = written_boundary(case, problem.index_names_of(got.ndim), forbidden)
        hint = hint or faces
        advice = f". Hint: {faces}" if faces else ""
        reasons.append(
            f"{name}: the kernel wrote {_points(n_forbidden)} of the boundary, first at {where}; "
            f"the boundary must stay unchanged{advice}"
        )
    reasons += [f"{name}: the kernel changed its input array {changed}" for changed in input_changed]
    return ShapeResult(
        shape=case.shape,
        correct=correct,
        wrong=n_wrong,
        total=int(np.count_nonzero(case.written)),
        first=first,
        worst=worst,
        non_finite=int(np.count_nonzero(non_finite)),
        never_written=int(np.count_nonzero(never)),
        shell_touched=n_forbidden,
        input_changed=input_changed,
        hint=hint,
        reasons=tuple(reasons),
        plane=_plane(problem, case, launch, state) if got.size > 1 and (n_wrong or n_forbidden) else None,
    )


def _untouched(case: Case, got: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return the elements that have the bits from before the launch."""
    if case.output.initialized:
        return np.asarray(bits_of(got) == bits_of(case.output.value))
    return np.asarray(bits_of(got) == poison_of(got.dtype))


def _added_to_poison(got: npt.NDArray[Any], written: npt.NDArray[np.bool_]) -> bool:
    """Return True if a value was computed from an element that no kernel had written."""
    quieted = QUIETED_POISON.get(got.dtype.itemsize, 0) if np.issubdtype(got.dtype, np.floating) else 0
    return bool(quieted and np.any((bits_of(got) == quieted) & written))


def _mismatch(case: Case, got: npt.NDArray[Any], flat: int) -> Mismatch:
    index = tuple(int(i) for i in np.unravel_index(flat, got.shape))
    return Mismatch(index, float(case.expected[index]), float(got[index]), case.output_name)


def _wrong_values(
    problem: Problem,
    name: str,
    wrong: int,
    total: int,
    non_finite: int,
    first: Mismatch,
    worst: Mismatch,
    never: npt.NDArray[np.bool_],
    hint: str,
) -> str:
    """Return the sentence about wrong values: how many, the first, the worst, and a hint."""
    note = " (never written)" if never[first.index] else ""
    expected, got = first.texts
    text = (
        f"{name}: {wrong} of {total} points are wrong; first at {format_index(problem, first.index)}: "
        f"expected {expected}, got {got}{note}"
    )
    if worst != first and math.isfinite(worst.got):
        expected, got = worst.texts
        text += f"; worst at {format_index(problem, worst.index)}: expected {expected}, got {got}"
    if non_finite:
        text += f"; {non_finite} of the values {'is' if non_finite == 1 else 'are'} NaN or infinite"
    return f"{text}. Hint: {hint}" if hint else text


def format_index(problem: Problem, index: tuple[np.intp | int, ...]) -> str:
    """Return an index as text, such as `(z=1, y=2, x=3)`."""
    names = problem.index_names_of(len(index))
    return "(" + ", ".join(f"{n}={int(i)}" for n, i in zip(names, index, strict=True)) + ")"


def _points(number: int) -> str:
    return f"{number} point{'' if number == 1 else 's'}"


def _plane(problem: Problem, case: Case, launch: LaunchConfig, state: npt.NDArray[np.uint8]) -> Plane:
    """Return the plane of the two fastest axes with the most wrong points.

    An output with one axis is drawn in rows: of the points of a block, if blocks have a part of it.
    """
    pitch = _pitch(problem, case, launch)
    name = ", ".join(filter(None, (problem.format_shape(case.shape), case.output_name)))
    names = problem.index_names_of(state.ndim)
    if state.ndim == 1:
        return _rows_of_blocks(names[0], name, state, pitch[0])
    planes = state.reshape(-1, *state.shape[-2:])
    bad = np.count_nonzero(planes >= State.WRONG, axis=(1, 2))
    chosen = int(np.argmax(bad))
    if state.ndim > 2:
        name += f", {names[0]} = {chosen}"
    title = f"{name}: {_points(int(bad[chosen]))} wrong"
    rows, columns = names[-2:]
    return Plane(title, (columns, rows), planes[chosen].copy(), pitch)


def _rows_of_blocks(axis: str, name: str, state: npt.NDArray[np.uint8], length: int) -> Plane:
    """Return the plane of an output with one axis of this name, in rows of one length."""
    width = length if 1 < length < state.size else min(LINE, state.size)
    rows = np.full((-(-state.size // width), width), State.OUTSIDE, np.uint8)
    rows.ravel()[: state.size] = state
    bad = int(np.count_nonzero(state >= State.WRONG))
    return Plane(f"{name}: {_points(bad)} wrong", (f"{axis} mod {width}", f"{axis} / {width}"), rows, (0, 0))


def _pitch(problem: Problem, case: Case, launch: LaunchConfig) -> tuple[int, int]:
    """Return the points between block edges along x and y; the whole axis if one block loops over it.

    0 if the output has no block edges.
    """
    extents = problem.extents(case.shape)
    output = case.expected.shape[::-1]
    if not problem.follows_formula or extents[: len(output)] != output:
        return 0, 0  # blocks have no boxes of the output
    x, y, _ = (
        threads * points or extent
        for threads, points, extent in zip(launch.block, launch.config.tile, extents, strict=True)
    )
    return x, y
