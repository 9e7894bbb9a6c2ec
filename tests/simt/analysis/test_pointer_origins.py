"""The pointers through which a kernel writes, from which the race detector predicts the arrays it writes."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from gpulab.compiler import compile_program
from gpulab.simt.analysis.pointer_origins import stored_parameters
from gpulab.simt.codegen.native import control_flow_of
from gpulab.simt.ptx.inlining import flatten
from gpulab.simt.ptx.parser import parse
from tests.simt.programs import simulator

HEAD = """
struct Pair { float* in; float* out; };
__device__ float total;
__device__ float* place(float* x, int i) { return x + i; }
extern "C" __global__ void k(const float* a, float* b, int* c, long n, Pair p, float** rows) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
"""
A, B, C, N, OUT = 0, 8, 16, 24, 40


@pytest.mark.parametrize(
    ("body", "stored"),
    [
        ("b[i] = a[i];", [B]),
        ("b[c[i]] = a[i];", [B]),
        ("if (b) *place(b, i) = a[i]; atomicAdd(c, 1);", [B, C]),
        ("for (float* x = b; x < b + n; x += 32) *x = a[i];", [B]),
        ("p.out[i] = p.in[i];", [OUT]),
        ("float* x = i % 2 ? b : p.out; x[i] = a[i];", [B, OUT]),
        ("if (a[i] > 3) __trap();", []),
        ("__shared__ float s[32]; s[i] = a[i]; __syncthreads(); b[i] = s[31 - i];", [B]),
        ("*(float*)((char*)b + n) = a[i];", [B, N]),
        ("rows[0][i] = a[i];", None),
        ("b[i] = a[i]; atomicAdd(&total, 1.0f);", None),
        ("b[i] = a[i]; *(float*)malloc(4) = 1;", None),
    ],
)
def test_stored_parameters(body: str, stored: list[int] | None) -> None:
    ptx = compile_program(HEAD + body + "}").ptx
    module = parse(ptx)
    flat = flatten(module, "k")
    offsets = dict(zip((p.name for p in flat.entry.params), (A, B, C, N, 32, 48), strict=True))
    found = stored_parameters(control_flow_of(flat), offsets)
    assert found is None if stored is None else found is not None and set(found) == set(stored)


def test_race_in_an_array_that_is_written_through_the_pointer_of_another_one() -> None:
    dev = simulator()
    kernel = dev.compile("""
        extern "C" __global__ void k(const float* a, float* b, long distance) {
            float* x = (float*)((char*)b + distance);
            x[threadIdx.x] = a[(threadIdx.x + 1) % 64] + 1; }""")
    a, b = dev.asarray(np.arange(64, dtype=np.float32)), dev.zeros(64)
    distance = np.int64(a.allocation.address - b.allocation.address)

    findings = gpulab.sanitize(kernel, 1, 64, (a, b, distance))

    assert {finding.kind for finding in findings} <= {"read_after_write", "write_after_read"}
    assert findings
    assert dev.asnumpy(a)[:32].tolist() == list(range(2, 34))
