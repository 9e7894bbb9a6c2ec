"""The kernel of lab 2's case, which students repair."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpulab.exercises.kernel_exercise import KernelCase, KernelExercise

__all__ = ["KERNELS"]

SIDE = 16  # threads of a block on each axis; all sizes are multiples
SQUARE = (2, 2, 2)  # rows, columns and depth, in blocks


def _row_major_cases(rng: np.random.Generator) -> Iterator[KernelCase]:
    # B has the fewest columns in one case and the most in the other, so that each extent is both larger and
    # smaller than each other one: a kernel that takes one for another is wrong in one of them.
    rows, depth = (int(blocks) for blocks in rng.permutation((2, 3)))
    for extents in (SQUARE, (rows, 1, depth), (4 - rows, 3, 4 - depth)):
        rows, columns, depth = (SIDE * blocks for blocks in extents)
        a, b = rng.random((rows, depth), np.float32), rng.random((depth, columns), np.float32)
        yield KernelCase(
            f"rows = {rows}, columns = {columns}, depth = {depth}",
            (columns // SIDE, rows // SIDE),
            (SIDE, SIDE),
            (np.full((rows, columns), np.nan, np.float32), a, b, rows, columns, depth),
            {0: a @ b},
        )


def _row_major_hint(case: KernelCase, position: int, index: int, found: float) -> str:
    row, column = np.unravel_index(index, case.expected[position].shape)
    place = f"This is row {row}, column {column}."
    return f"{place} No thread stored it." if np.isnan(found) else place


KERNELS = (KernelExercise("row_major", _row_major_cases, hint=_row_major_hint),)
