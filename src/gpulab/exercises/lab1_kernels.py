"""The kernels of lab 1's detective cases, which students repair."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gpulab.exercises.kernel_exercise import KernelCase, KernelExercise

if TYPE_CHECKING:
    from gpulab.profiling.counts.metrics import Counters

__all__ = ["KERNELS"]

THREADS = 64  # threads of the block and elements of a row: two warps, so that a missing barrier is a race
Rows = npt.NDArray[np.float32]


def _reversed(rows: Rows) -> Rows:
    return rows[:, ::-1].copy()


def _reversed_plus_next(rows: Rows) -> Rows:
    expected = np.zeros_like(rows)
    expected[:-1] = rows[:-1, ::-1] + rows[1:]
    return expected


def _detective_case(
    name: str, expected: Callable[[Rows], Rows], kind: str = "store", words: str = "stores to shared memory"
) -> KernelExercise:
    """Return the exercise of a repair.

    expected: returns the output; rows that the kernel must leave alone are 0. kind, words: the kind of access
    to shared memory that the kernel must keep, and its name in a message.
    """

    def cases(rng: np.random.Generator) -> Iterator[KernelCase]:
        for number in (1, 2, int(rng.integers(5, 9))):
            rows = rng.random((number, THREADS), np.float32)
            label = f"{number} row{'s' * (number > 1)} of {THREADS}"
            yield KernelCase(label, 1, THREADS, (rows, np.zeros_like(rows), number), {1: expected(rows)})

    def hint(case: KernelCase, position: int, index: int, found: float) -> str:
        del case, position, index, found
        return "Change only the order of the lines, a barrier or a wait."

    def requirement(counters: Counters, case: KernelCase) -> str:
        del case
        if any(access.space == "shared" and access.kind == kind for access in counters.accesses):
            return ""
        return f"there are no {words} any more: repair the kernel, do not replace it."

    return KernelExercise(name, cases, hint=hint, requirement=requirement, exchange=True)


KERNELS = (
    _detective_case("case_1", _reversed),
    _detective_case("case_2", _reversed_plus_next),
    _detective_case("case_3", _reversed, "copy", "asynchronous copies to shared memory"),
)
