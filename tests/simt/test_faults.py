"""What a stranger's kernel may try: each fault ends the launch with a finding, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from gpulab.errors import LaunchError, MemoryFault
from tests.simt.programs import simulator

N = 100


def fault(body: str, threads: int = 64, grid: int = 1) -> gpulab.Finding:
    """Launch `k(float* a, const float* b)` on arrays of N floats; its one finding."""
    device = simulator()
    kernel = device.compile(f"__global__ void k(float* a, const float* b)\n{{\n{body}\n}}")
    a, b = device.zeros(N), device.asarray(np.arange(N, dtype=np.float32))
    with pytest.raises(LaunchError) as error:
        kernel(grid, threads, (a, b))
    (found,) = error.value.findings
    assert isinstance(error.value, MemoryFault) == (
        found.tool == "memcheck" and found.kind not in ("assert", "trap")
    )
    assert (device.asnumpy(b) == np.arange(N)).all()
    return found


@pytest.mark.parametrize(
    ("body", "kind", "thread"),
    [
        ("int i = threadIdx.x; a[i - 1] = 1;", "out_of_bounds_write", 0),
        ("int i = threadIdx.x; a[i] = b[i + 70];", "out_of_bounds_read", 30),
        ("int i = threadIdx.x; if (i > 5) a[i + 70] = 1;", "out_of_bounds_write", 30),
        ("int i = threadIdx.x; a[i * 3] = 1;", "out_of_bounds_write", 34),
        ("int i = threadIdx.x; atomicAdd(a + 50 + i, 1.0f);", "out_of_bounds_atomic", 50),
        ("a[(int)b[threadIdx.x] * 2] = 1;", "out_of_bounds_write", 50),
        ("*(float4*)(a + threadIdx.x) = make_float4(1, 2, 3, 4);", "misaligned", 1),
        ("*(volatile double*)((char*)a + 4) = 1;", "misaligned", 0),
        ("volatile float* p = (float*)0x10; p[threadIdx.x] = 1;", "out_of_bounds_write", 0),
        ("volatile int* p = (int*)((size_t)a ^ 1ull << 45); p[threadIdx.x] = 1;", "out_of_bounds_write", 0),
        ("volatile float* p = (float*)~(size_t)3; a[0] = p[threadIdx.x];", "out_of_bounds_read", 0),
        ("volatile char* p = (char*)a; p[4ull << 30] = 1;", "out_of_bounds_write", 0),
    ],
)  # fmt: skip
def test_an_access_outside_the_arrays_names_the_line_and_the_thread(
    body: str, kind: str, thread: int
) -> None:
    found = fault(body)
    assert (found.tool, found.kind, found.line) == ("memcheck", kind, 3)
    assert (found.block, found.thread) == ((0, 0, 0), (thread, 0, 0))


def test_an_array_is_named_by_its_parameter_and_its_index() -> None:
    assert "b[101]" in fault("int i = threadIdx.x; a[i] = b[i + 71 + (i == 30 ? 0 : -40)];").message


@pytest.mark.parametrize(
    "body",
    [
        "__shared__ float s[32]; s[threadIdx.x] = 1; __syncthreads(); a[0] = s[3];",
        "__shared__ volatile float s[8]; int i = 9 - threadIdx.x; s[i] = 1; a[0] = s[3];",
        "extern __shared__ volatile float s[]; s[threadIdx.x] = 1; a[0] = s[3];",
    ],
    ids=["past the end", "at a wild index", "where there is none"],
)
def test_shared_memory_has_bounds(body: str) -> None:
    assert "shared memory" in fault(body).message


def test_a_local_array_has_bounds() -> None:
    found = fault(
        "float t[6]; int n = (int)b[7];\nfor (int i = 0; i < 6; ++i) t[i] = b[i];\na[0] = t[n - 1];"
    )
    assert (found.kind, found.line) == ("out_of_bounds_read", 5)


def test_a_stack_has_bounds() -> None:
    device = simulator()
    kernel = device.compile("""
        __device__ __noinline__ float down(int n, const float* b) {
            return n < 0 ? 0 : b[n % 7] + down(n - (n > 0), b) * 0.5f; }
        __global__ void k(float* a, const float* b) { a[threadIdx.x] = down((int)b[5], b); }""")
    a, b = device.zeros(N), device.asarray(np.arange(N, dtype=np.float32))
    with pytest.raises(LaunchError):
        kernel(1, 32, (a, b))


def test_an_array_that_was_freed_is_told_as_such() -> None:
    device = simulator()
    kernel = device.compile("__global__ void k(float** box) { box[0][threadIdx.x] = 1; }")
    gone = device.zeros(N)
    box = device.asarray(np.array([gone.allocation.address], np.uint64))
    del gone
    with pytest.raises(MemoryFault, match="freed"):
        kernel(1, 32, (box,))


def test_an_assertion_is_a_finding_in_its_line() -> None:
    found = fault("\nassert(threadIdx.x < 40);")
    assert (found.kind, found.line, found.thread) == ("assert", 4, (40, 0, 0))
    assert "threadIdx.x < 40" in found.message


def test_the_same_fault_is_told_whichever_core_is_faster() -> None:
    body = "int i = blockIdx.x * 64 + threadIdx.x; if (i >= 1000) a[i] = 1;"
    assert {fault(body, grid=64).block for _ in range(5)} == {(15, 0, 0)}


@pytest.mark.parametrize(
    ("grid", "block", "shared"),
    [
        (1, 1025, 0),
        (1, (32, 33), 0),
        (0, 32, 0),
        (1, 0, 0),
        (1, 32, 1 << 20),
        (1, (1, 1, 65), 0),
        ((1, 70000), 32, 0),
    ],
)
def test_a_launch_that_no_gpu_takes_is_refused(grid: int, block: int, shared: int) -> None:
    device = simulator()
    kernel = device.compile("__global__ void k(float* a) { a[0] = 1; }")
    with pytest.raises(LaunchError):
        kernel(grid, block, (device.zeros(N),), shared_mem=shared)


def test_what_nothing_wrote_is_not_the_hosts_memory() -> None:
    device = simulator()
    source = """__global__ void k(unsigned* out) {
        __shared__ unsigned s[64]; unsigned t[16];
        out[threadIdx.x] = s[threadIdx.x];
        for (int i = 0; i < 15; ++i) if (out[i] == 7) t[i] = i;
        out[64 + threadIdx.x] = t[out[3] % 16]; }"""
    out = device.zeros(128, np.uint32)
    device.compile(source)(1, 64, (out,))
    assert set(device.asnumpy(out)) <= {0xFFFFFFFF, 0}


class TestAnIndexThatWrapsAround:
    """32-bit arithmetic is modulo 2^32, also where the lanes of a warp lie on both sides of the wrap."""

    def test_below_a_guard_is_harmless(self) -> None:
        device = simulator()
        kernel = device.compile(
            "__global__ void k(float* a) { unsigned i = threadIdx.x - 1u; if (i < 20u) a[i] = i; }"
        )
        a = device.zeros(N)
        kernel(1, 64, (a,))
        np.testing.assert_array_equal(device.asnumpy(a)[:20], np.arange(20))

    def test_is_told_with_the_index_that_c_computes(self) -> None:
        assert "a[4294967295]" in fault("unsigned i = threadIdx.x - 1u; a[i] = 1;").message

    def test_gives_the_values_that_c_gives(self) -> None:
        device = simulator()
        kernel = device.compile("""
            __global__ void k(long long* out) {
                __shared__ long long box[64];
                unsigned t = threadIdx.x; long long v = 0;
                for (int i = 0; i < 5; ++i) {
                    if (t % 3 != i % 3) v += (long long)(t - 3u - i);
                    box[t] = v; __syncthreads();
                    v ^= box[(7 * t + i) % 64]; __syncthreads();
                }
                out[t] = v; }""")
        out = device.zeros(64, np.int64)
        kernel(1, 64, (out,))
        t, v = np.arange(64), np.zeros(64, np.int64)
        for i in range(5):
            v = np.where(t % 3 != i % 3, v + (t - 3 - i) % 2**32, v)
            v = v ^ v[(7 * t + i) % 64]
        np.testing.assert_array_equal(device.asnumpy(out), v)
