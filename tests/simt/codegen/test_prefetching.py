"""Prefetches of the rows that the next iteration of a loop loads or stores."""

from __future__ import annotations

import pytest

from gpulab.simt.codegen.native import Specialization, lower
from tests.simt.programs import simulator


def prefetches(body: str, block: tuple[int, int, int]) -> int:
    """Return the number of prefetches in the code of a kernel."""
    source = f"""extern "C" __global__ void k(float* out, const float* x, int n) {{
        __shared__ float s[1024];
        const int t = threadIdx.x + blockDim.x * threadIdx.y;
        float sum = 0;
        {body}
        out[t] = sum;
    }}"""
    kernel = simulator().compile(source)
    _, code = lower(kernel.module.ptx, kernel.entry, Specialization(block, 4096))
    return code.count("call void @llvm.prefetch")


SUM = "__syncthreads(); sum += s[1023 - t]; __syncthreads();"


@pytest.mark.parametrize(("block", "count"), [((16, 16, 1), 2), ((32, 8, 1), 2), ((64, 1, 1), 2)])
def test_rows_of_a_loop_with_a_barrier(block: tuple[int, int, int], count: int) -> None:
    """Two rows of 16 lanes have one cache line each, and a row of 32 lanes has two."""
    body = f"""#pragma unroll 1
        for (int i = 0; i < n; ++i) {{ s[t] = x[threadIdx.x + n * (threadIdx.y + i)]; {SUM} }}"""
    assert prefetches(body, block) == count


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("sum += x[threadIdx.x + n * i];", 2),
        ("out[threadIdx.x + n * i] = sum;", 2),
        ("const float* row = x + threadIdx.x + n * i; sum += row[0] + row[1] + row[2];", 3),
        ("const float* row = x + threadIdx.x + n * i; sum += row[0] + row[100];", 5),
        ("out[threadIdx.x + n * i] = x[threadIdx.x + n * i];", 4),
    ],
    ids=["a load", "a store", "loads of neighbours", "loads of distant rows", "a load and a store"],
)
def test_rows_of_a_loop_without_a_barrier(body: str, count: int) -> None:
    assert prefetches(f"#pragma unroll 1\nfor (int i = 0; i < n; ++i) {{ {body} }}", (32, 8, 1)) == count


@pytest.mark.parametrize(
    "body",
    [
        "#pragma unroll 1\nfor (int i = 0; i < n; ++i) sum += x[t + i];",
        f"s[t] = x[t]; {SUM}",
        f"#pragma unroll 1\nfor (int i = 0; i < n; ++i) {{ s[t] = x[t]; {SUM} }}",
        f"#pragma unroll 1\nfor (int i = 0; i < n; ++i) {{ s[t] = x[t + i * i]; {SUM} }}",
    ],
    ids=["a step within a cache line", "no loop", "the same row each time", "other steps"],
)
def test_other_loads_are_not_prefetched(body: str) -> None:
    assert prefetches(body, (16, 16, 1)) == 0
