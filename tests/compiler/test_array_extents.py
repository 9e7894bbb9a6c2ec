"""Extents of shared arrays as the source declares them."""

from __future__ import annotations

import pytest

from gpulab.compiler.array_extents import declared_extents
from gpulab.compiler.preprocess.phases import read_source


@pytest.mark.parametrize(
    ("declaration", "extents"),
    [
        ("__shared__ float tile[10][34];", (10, 34)),
        ("__shared__ float tile[BLOCK_Y + 2][BLOCK_X + 2];", (10, 34)),
        ("#define PAD (2 * 1)\n__shared__ float tile[(8 + PAD)][BLOCK_X+PAD];", (10, 34)),
        ("const int rows = BLOCK_Y + 2, columns = 34;\n__shared__ float tile[rows][columns];", (10, 34)),
        ("constexpr unsigned n = 1u << 4;\nstatic __shared__ float4 other[4], tile[n / 3];", (5,)),
        ("__shared__ float tile[sizeof(int)];", None),
        ("template <int N> __device__ void f() { __shared__ float tile[N]; }", None),
        ("extern __shared__ float tile[];", None),
        ("{ __shared__ float tile[4]; } { __shared__ float tile[5]; }", None),
        ("#define A B\n#define B A\n__shared__ float tile[A];", None),
    ],
)
def test_extents_of_a_declaration(declaration: str, extents: tuple[int, ...] | None) -> None:
    found = declared_extents(read_source(declaration), {"BLOCK_X": 32, "BLOCK_Y": 8})
    assert found.get("tile") == extents
