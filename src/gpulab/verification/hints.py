"""Hints on the likely cause of wrong values. A hint is given only if the values prove it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np

from gpulab.errors import ProblemError, as_sentence
from gpulab.problems import Mistake
from gpulab.verification.wrong_places import WrongOutput, place_of

__all__ = ["hint_for"]

NOT_FINITE = (
    "all wrong values are NaN or infinite, and the inputs are not: does an operation overflow or divide by "
    "zero, or is a variable or an array read before it is written? An array without `__shared__` belongs to "
    "one thread."
)

MOST_COMPARED, MOST_LINES = 1 << 20, 200  # elements and lines of an array that lines are compared in
SHARE_OF_MOVED = 0.9  # share of the wrong points with moved values; the others lie at the end of an axis
# Share of the wrong points that a misread input must explain. Values of random inputs agree by chance at less
# than one point in 10,000, so a small share is a proof; a smaller one would name an effect, not the cause.
SHARE_OF_MISREAD = 0.25
DISTINCT_VALUES = 32  # fewest different values of a reference that is compared with values of other points
FEWEST_WHOLE_FITS = 5  # points; whole numbers agree by chance more often than others
MOST_MISREADS = 2  # sentences about misread inputs in a hint


def hint_for(output: WrongOutput, *, added: bool, raced: bool = False) -> str:
    """Return a sentence that names the likely cause, or "" if the values do not prove one.

    added: True if a value was computed from the output's initial contents. raced: True if the launch has a
    race, which may be the cause of any wrong value, but not of points that were never written.
    """
    if np.array_equal(output.never, output.written):
        return "the kernel wrote no value; check its conditions and the array that it writes."
    if raced:
        return place_of(replace(output, wrong=output.never)) if np.any(output.never) else ""
    values = output.values[output.written]
    if added:
        return "a value was added to the output's initial contents, which are undefined; assign it instead."

    fractions = not np.array_equal(output.case.expected, np.rint(output.case.expected))
    if not np.any(values):
        return "every value is 0; is a sum or a factor an int?" if fractions else "every value is 0."
    # NaN and infinity spread: the finite values beside them, such as 1 / inf, are no proof either.
    finite = bool(np.all(np.isfinite(output.values[output.computed])))
    if fractions and finite and not np.any(output.never) and np.array_equal(values, np.rint(values)):
        return "every value is a whole number; is a sum or a factor an int?"

    cause = _known_mistake(output)
    if output.case.unordered is not None:  # the place of a value says nothing
        return cause
    # Values that repeat, such as zeros and ones, agree with those of other points by chance.
    comparable = finite and len(np.unique(output.case.expected.ravel()[:MOST_COMPARED])) >= DISTINCT_VALUES
    if comparable and not cause:
        cause = _moved(output) or _stored_elsewhere(output)
    if cause:
        return cause

    place, computed = place_of(output), output.computed
    sentences = [place] * bool(place) + (_misread(output) if comparable else [])
    if not sentences and np.any(computed) and not np.any(np.isfinite(output.values[computed])):
        return NOT_FINITE
    return " ".join([*sentences[:1], *map(as_sentence, sentences[1:])])


def _known_mistake(output: WrongOutput) -> str:
    """Return the description of the problem's common mistake that gives the wrong values, or ""."""
    case, got, computed = output.case, output.values, output.computed
    # Few wrong points may agree with a mistake that changes more of them, which then is not the cause.
    few = 2 * np.count_nonzero(computed) < np.count_nonzero(case.written)
    if few and np.any(output.never):
        return ""
    compared = case.written if few else computed
    for mistake in _mistakes(output):
        if mistake.values.shape != got.shape:
            continue
        # The tolerance belongs to the correct expression, so a few points of a mistake may exceed it.
        finite = np.isfinite(mistake.values) & np.isfinite(got)
        room = 4 * case.tolerance + 1e-6 * np.abs(mistake.values)
        with np.errstate(invalid="ignore"):  # infinity less infinity
            near = finite & (np.abs(got - mistake.values) <= room)
        # A mistake of which a sum overflows has NaN or infinity itself.
        fits = near | (got == mistake.values) | (np.isnan(got) & np.isnan(mistake.values))
        if np.count_nonzero(fits & compared) >= mistake.share * np.count_nonzero(compared):
            return mistake.description + ("" if mistake.description.endswith("?") else ".")
    return ""


def _mistakes(output: WrongOutput) -> Iterator[Mistake]:
    """Yield the problem's common mistakes until one cannot be computed, which `gpulab lint` reports."""
    with suppress(ProblemError):
        yield from output.problem.mistakes(output.case)


def _moved(output: WrongOutput) -> str:
    """Return a hint if the wrong values are the right ones of points at one distance along an axis."""
    case, got, computed, block = output.case, output.values, output.computed, output.launch.block
    count = np.count_nonzero(computed)
    if 10 * count < np.count_nonzero(case.written):
        return ""
    for axis, name in enumerate(output.index_names[::-1]):
        along = got.ndim - 1 - axis
        threads = block[axis] if axis < len(block) else 1
        for distance in dict.fromkeys((1, -1, threads, -threads)):
            moved = np.roll(case.expected, -distance, axis=along)
            fits = np.abs(got - moved) <= 4 * np.roll(case.tolerance, -distance, axis=along)
            fits &= np.roll(case.written, -distance, axis=along)
            if np.count_nonzero(fits & computed) >= SHARE_OF_MOVED * count:
                sign = "+" if distance > 0 else "-"
                return (
                    f"the values are those of {name} {sign} {abs(distance)}: do the loads and the store use "
                    "the index of the same point?"
                )
    return ""


def _stored_elsewhere(output: WrongOutput) -> str:
    """Return a hint if whole lines of values are right but are stored at another index of an axis."""
    case, got, computed = output.case, output.values, output.computed
    if got.size > MOST_COMPARED or 10 * np.count_nonzero(computed) < np.count_nonzero(case.written):
        return ""
    for axis, name in enumerate(output.index_names):
        lines = np.moveaxis(got, axis, 0).reshape(got.shape[axis], -1)
        right = np.moveaxis(case.expected, axis, 0).reshape(lines.shape)
        room = 4 * np.moveaxis(case.tolerance, axis, 0).reshape(lines.shape)
        wrong = np.flatnonzero(np.moveaxis(computed, axis, 0).reshape(lines.shape).any(axis=1))
        found = {}
        for line in wrong[:MOST_LINES]:
            matches = np.mean(np.abs(lines[line] - right) <= room, axis=1) > SHARE_OF_MOVED
            # Values that several lines have, such as small integers, agree by chance.
            if np.count_nonzero(matches) == 1 and not matches[line]:
                found[int(line)] = int(matches.argmax())
        different = len(set(found.values())) == len(found)  # all lines of one value agree with the same one
        if found and different and len(found) >= SHARE_OF_MOVED * len(wrong[:MOST_LINES]):
            line, other = next(iter(found.items()))
            return (
                f"the values are right but at another {name}: {name} = {line} has those of {name} = {other}; "
                "do loads, sums and stores use the same index?"
            )
    return ""


def _misread(output: WrongOutput) -> list[str]:
    """Return hints if wrong values are those of an input that is read at a wrong index of one axis."""
    case, got, block = output.case, output.values, output.launch.block
    wrong = np.flatnonzero(output.computed)
    if got.size > MOST_COMPARED or not len(wrong):
        return []

    values, room = got.ravel()[wrong], 4 * case.tolerance.ravel()[wrong]
    whole = np.array_equal(values, np.rint(values))
    fewest = FEWEST_WHOLE_FITS if whole else 1
    distances = dict.fromkeys((1, 2, *(threads for threads in block if threads > 1)))

    found = []
    for read in output.problem.reads(case):
        for axis, name in enumerate(read.axes):
            for distance in (sign * steps for steps in distances for sign in (1, -1)):
                if 2 * abs(distance) >= read.values.shape[axis]:
                    continue  # the same as a shorter distance in the other direction
                try:
                    moved = read.output(np.roll(read.values, -distance, axis=axis)).ravel()[wrong]
                except ProblemError:
                    continue  # the reference refuses such values, for example falling offsets
                fits = np.flatnonzero(np.abs(values - moved) <= room)
                if len(fits) >= max(fewest, SHARE_OF_MISREAD * len(wrong)):
                    direction = "high" if distance > 0 else "low"
                    index = f"an index {name}" if len(read.axes) > 1 else "an index"
                    text = f"{read.name} read with {index} that is {abs(distance)} too {direction}"
                    found.append((len(fits), fits[0], text))

    largest = sorted(found, key=lambda each: -each[0])[:MOST_MISREADS]
    # The first wrong point is nearest to the cause: later values may follow from it.
    return [
        f"at {'all' if number == len(wrong) else f'{number:,} of the {len(wrong):,}'} wrong points, {text}."
        for number, _, text in sorted(largest, key=lambda each: each[1])
    ]
