"""Comparison of one output with its reference: wrong points, the first and the worst, and a picture."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.config import LaunchConfig
from gpulab.problems.base import Case
from gpulab.verification.hints import hint_for
from gpulab.verification.inputs import bits_of, poison_of
from gpulab.verification.verdict import Mismatch, Plane, ShapeResult, State
from gpulab.verification.wrong_places import WrongOutput, written_boundary

__all__ = ["QUIETED_POISON", "compare", "compare_outputs"]

FEW_BYTES = 16  # wrong bytes that may equal the poison by chance, besides one in 16 of them
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
        boundary_written=sum(result.boundary_written for result in results),
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
    got = case.in_order(got)
    found, forbidden = _wrong_elements(case, launch, got)
    has_places = got.size > 1 and case.unordered is None
    wrong, never, total = map(_count, (found.wrong, found.never, case.written))
    non_finite = _count(case.written & ~np.isfinite(got) & ~found.never)
    touched = _count(forbidden)

    first = worst = None
    hint = ""
    reasons: list[str] = []
    if wrong:
        first, worst = _first_and_worst(found)
        added = not case.output.initialized and _added_to_poison(case, got)
        hint = hint_for(found, added=added, raced=raced)
        reasons.append(_wrong_values(found, non_finite, first, worst, hint))
    if touched:
        faces = written_boundary(case, found.problem.index_names_of(got.ndim), forbidden)
        hint = hint or faces
        reasons.append(_written_boundary(found, forbidden, faces))
    reasons += [f"{_title(found)}: the kernel changed its input array {name}" for name in input_changed]

    return ShapeResult(
        shape=case.shape,
        correct=not reasons,
        wrong=wrong,
        total=total,
        first=first,
        worst=worst,
        non_finite=non_finite,
        never_written=never,
        boundary_written=touched,
        input_changed=input_changed,
        hint=hint,
        reasons=tuple(reasons),
        plane=_plane(found, forbidden) if has_places and (wrong or touched) else None,
    )


def _wrong_elements(
    case: Case, launch: LaunchConfig, got: npt.NDArray[Any]
) -> tuple[WrongOutput, npt.NDArray[np.bool_]]:
    """Return the output with its wrong points, and the elements that the kernel must not have written."""
    untouched = _untouched(case, got)
    # `error > tolerance` would be False for a NaN, which would then pass.
    wrong = ~(_errors(case, got) <= case.tolerance) & case.written

    never = untouched & wrong & (not case.output.initialized)
    # A wrong byte may be that of the poison by chance, but not many of them.
    if got.dtype.itemsize == 1:
        never &= _count(never) > FEW_BYTES + _count(wrong) // FEW_BYTES
    return WrongOutput(case, launch, got, wrong, never), ~untouched & ~case.written


def _errors(case: Case, got: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the absolute error of each element."""
    return np.asarray(np.abs(got - case.expected))


def _untouched(case: Case, got: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return the elements that have the bits from before the launch."""
    if case.output.initialized:
        return np.asarray(bits_of(got) == bits_of(case.output.value))
    return np.asarray(bits_of(got) == poison_of(got.dtype))


def _added_to_poison(case: Case, got: npt.NDArray[Any]) -> bool:
    """Return True if a value was computed from an element that no kernel had written."""
    if np.issubdtype(got.dtype, np.floating):
        quieted = QUIETED_POISON.get(got.dtype.itemsize, 0)
        return bool(quieted and np.any((bits_of(got) == quieted) & case.written))
    added = (bits_of(got) - poison_of(got.dtype)).view(got.dtype)  # integers wrap around
    return bool(np.any(added) and np.array_equal(added[case.written], case.expected[case.written]))


def _first_and_worst(found: WrongOutput) -> tuple[Mismatch, Mismatch]:
    """Return the first wrong point, and the one with the largest error.

    A finite value with a large error is more informative than another NaN.
    """
    errors = np.where(found.computed & np.isfinite(found.values), _errors(found.case, found.values), -1.0)
    first = int(np.argmax(found.wrong))
    worst = int(np.argmax(errors)) if errors.max() >= 0 else first
    return _mismatch(found, first), _mismatch(found, worst)


def _mismatch(found: WrongOutput, flat: int) -> Mismatch:
    index = tuple(int(i) for i in np.unravel_index(flat, found.values.shape))
    case = found.case
    return Mismatch(index, float(case.expected[index]), float(found.values[index]), case.output_name)


def _wrong_values(found: WrongOutput, non_finite: int, first: Mismatch, worst: Mismatch, hint: str) -> str:
    """Return the sentence about wrong values: how many, the first, the worst, and a hint."""
    wrong, total = _count(found.wrong), _count(found.case.written)
    expected, got = first.texts
    got = "but no thread writes it" if found.never[first.index] else f"got {got}"
    order = " in sorted order" if found.case.unordered is not None else ""
    where = found.problem.format_index(first.index, first.output) + order
    text = f"{_title(found)}: {wrong:,} of {total:,} values are wrong; first at {where}: "
    text += f"expected {expected}, {got}"
    if worst != first and math.isfinite(worst.got):
        expected, got = worst.texts
        where = found.problem.format_index(worst.index, worst.output)
        text += f"; worst at {where}: expected {expected}, got {got}"
    if non_finite:
        text += f"; {non_finite:,} of the values {'is' if non_finite == 1 else 'are'} NaN or infinite"
    return f"{text}. Hint: {hint}" if hint else text


def _written_boundary(found: WrongOutput, forbidden: npt.NDArray[np.bool_], faces: str) -> str:
    """Return the sentence about elements that must stay unchanged. faces: a hint that names them, or ""."""
    index, number = np.unravel_index(int(np.argmax(forbidden)), forbidden.shape), _count(forbidden)
    text = (
        f"{_title(found)}: the kernel wrote {number:,} point{'s' * (number > 1)} of the boundary, first at "
        f"{found.problem.format_index(index, found.case.output.name)}; the boundary must stay unchanged"
    )
    return f"{text}. Hint: {faces}" if faces else text


def _title(found: WrongOutput) -> str:
    """Return the size, and the name of the output if there are several."""
    case = found.case
    return ", ".join(filter(None, (found.problem.format_shape(case.shape), case.output_name)))


def _count(mask: npt.NDArray[np.bool_]) -> int:
    """Return the number of true elements."""
    return int(np.count_nonzero(mask))


def _wrong(number: int) -> str:
    return f"{number:,} value{'' if number == 1 else 's'} wrong"


def _plane(found: WrongOutput, forbidden: npt.NDArray[np.bool_]) -> Plane:
    """Return the plane of the two fastest axes with the most wrong points.

    An output with one axis is drawn in rows: of the points of a block, if blocks have a part of it.
    """
    state = np.zeros(found.values.shape, np.uint8)
    state[found.case.written] = State.RIGHT
    state[found.wrong] = State.WRONG
    state[found.never] = State.NEVER_WRITTEN
    state[forbidden] = State.FORBIDDEN

    title, pitch = _title(found), _pitch(found)
    names = found.problem.index_names_of(state.ndim)
    if state.ndim == 1:
        return _rows_of_blocks(names[0], title, state, pitch[0])

    planes = state.reshape(-1, *state.shape[-2:])
    bad = np.count_nonzero(planes >= State.WRONG, axis=(1, 2))
    chosen = int(np.argmax(bad))
    if state.ndim > 2:
        title += f", {names[0]} = {chosen}"
    rows, columns = names[-2:]
    return Plane(f"{title}: {_wrong(int(bad[chosen]))}", (columns, rows), planes[chosen].copy(), pitch)


def _rows_of_blocks(axis: str, name: str, state: npt.NDArray[np.uint8], length: int) -> Plane:
    """Return the plane of an output with one axis of this name, in rows of one length."""
    width = length if 1 < length < state.size else min(LINE, state.size)
    rows = np.full((-(-state.size // width), width), State.OUTSIDE, np.uint8)
    rows.ravel()[: state.size] = state
    bad = _count(state >= State.WRONG)
    return Plane(f"{name}: {_wrong(bad)}", (f"{axis} mod {width}", f"{axis} / {width}"), rows, (0, 0))


def _pitch(found: WrongOutput) -> tuple[int, int]:
    """Return the points between block edges along x and y; the whole axis if one block loops over it.

    0 if the output has no block edges.
    """
    problem, launch = found.problem, found.launch
    extents = problem.extents(found.case.shape)
    output = found.values.shape[::-1]
    if not problem.follows_formula or extents[: len(output)] != output:
        return 0, 0  # blocks have no boxes of the output
    x, y, _ = (
        threads * points or extent
        for threads, points, extent in zip(launch.block, launch.config.tile, extents, strict=True)
    )
    return x, y
