"""Shapes of values across the rows of a warp."""

from __future__ import annotations

import pytest

from gpulab.simt.analysis.divergence import rows_agree
from gpulab.simt.analysis.lane_shapes import UNIFORM, add, affine, join, multiply, scale

COLUMN, ROW = affine(1, common=True), affine(0)  # threadIdx.x and threadIdx.y of a block that is 16 wide


@pytest.mark.parametrize(
    ("block", "agree"),
    [
        ((16, 16, 1), True),
        ((8, 8, 1), True),
        ((1, 16, 4), True),
        ((32, 4, 1), False),
        ((48, 2, 1), False),
        ((24, 5, 1), False),
    ],
)
def test_rows_agree_if_a_row_of_lanes_is_a_row_of_threads(block: tuple[int, int, int], agree: bool) -> None:
    assert rows_agree(block) == agree


def test_rows_agree_after_operations_on_values_whose_rows_agree() -> None:
    for shape in (add(COLUMN, UNIFORM), add(COLUMN, COLUMN), scale(COLUMN, 4), join(COLUMN, COLUMN)):
        assert shape is not None
        assert shape.rows_agree


def test_rows_differ_if_those_of_an_operand_differ() -> None:
    for shape in (add(COLUMN, ROW), scale(ROW, 4), multiply(ROW, UNIFORM), join(COLUMN, affine(1))):
        assert shape is None or not shape.rows_agree
