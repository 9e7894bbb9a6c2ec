"""Tests of the accesses of `wmma` loads and stores, against the machine code of ptxas 13.5 for sm_90."""

from __future__ import annotations

import pytest

from gpulab.simt.instructions.matrix_fragments import Shape, wmma_fragment_of

SHAPES = {
    "m16n16k16": (16, 16, 16), "m32n8k16": (32, 8, 16), "m8n32k16": (8, 32, 16), "m16n16k8": (16, 16, 8),
    "m8n8k4": (8, 8, 4),
}  # fmt: skip
# Shape, type, matrix; then number of accesses and bytes per lane for "row" and for "col" in global memory.
MACHINE_CODE = [
    ("m16n16k16", "f16", "a", (4, 4), (4, 4)),
    ("m32n8k16", "f16", "a", (8, 4), (8, 4)),
    ("m8n32k16", "f16", "a", (2, 4), (2, 4)),
    ("m16n16k16", "s8", "a", (2, 4), (8, 1)),
    ("m16n16k8", "tf32", "a", (4, 4), (4, 4)),
    ("m8n8k4", "f64", "a", (1, 8), (1, 8)),
    ("m16n16k16", "f16", "b", (4, 4), (4, 4)),
    ("m32n8k16", "f16", "b", (2, 4), (2, 4)),
    ("m8n32k16", "f16", "b", (8, 4), (8, 4)),
    ("m16n16k16", "s8", "b", (8, 1), (2, 4)),
    ("m16n16k8", "tf32", "b", (4, 4), (4, 4)),
    ("m16n16k16", "f32", "c", (4, 8), (8, 4)),
    ("m16n16k16", "f16", "c", (4, 4), (4, 4)),
    ("m16n16k16", "s32", "c", (4, 8), (8, 4)),
    ("m8n32k16", "f32", "c", (8, 4), (4, 8)),
    ("m32n8k16", "f32", "c", (4, 8), (8, 4)),
    ("m8n8k4", "f64", "c", (1, 16), (2, 8)),
]


@pytest.mark.parametrize(("shape", "ty", "use", "by_rows", "by_columns"), MACHINE_CODE)
def test_accesses_are_those_of_the_machine_code(
    shape: str, ty: str, use: str, by_rows: tuple[int, int], by_columns: tuple[int, int]
) -> None:
    sizes = Shape(*SHAPES[shape])
    fragment = wmma_fragment_of(use, ty, sizes)
    for layout, (count, size) in (("row", by_rows), ("col", by_columns)):
        flipped = {"row": "col", "col": "row"}[layout] if sizes.is_transposed else layout
        accesses = fragment.accesses(flipped)
        assert (len(accesses), {access.size for access in accesses}) == (count, {size})
