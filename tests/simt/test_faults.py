"""Faults: an invalid kernel ends its launch with one finding and has no other effect."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from gpulab.errors import LaunchError, MemoryFault
from tests.simt.programs import simulator

N = 100


def fault(body: str, threads: int = 64, grid: int = 1) -> gpulab.Finding:
    """Launch `k(float* a, const float* b)` on arrays of N floats and return its finding."""
    device = simulator()
    kernel = device.compile(f"__global__ void k(float* a, const float* b)\n{{\n{body}\n}}")
    a, b = device.zeros(N), device.asarray(np.arange(N, dtype=np.float32))
    with pytest.raises(LaunchError) as error:
        kernel(grid, threads, (a, b))
    (finding,) = error.value.findings
    assert isinstance(error.value, MemoryFault) == (
        finding.tool == "memcheck" and finding.kind not in ("assert", "trap")
    )
    assert (device.asnumpy(b) == np.arange(N)).all()
    return finding


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
def test_invalid_access_is_reported_with_line_and_thread(body: str, kind: str, thread: int) -> None:
    finding = fault(body)
    assert (finding.tool, finding.kind, finding.line) == ("memcheck", kind, 3)
    assert (finding.block, finding.thread) == ((0, 0, 0), (thread, 0, 0))


def test_message_names_parameter_and_index() -> None:
    assert "b[101]" in fault("int i = threadIdx.x; a[i] = b[i + 71 + (i == 30 ? 0 : -40)];").message


def test_message_about_a_vector_names_its_first_and_last_element() -> None:
    assert (
        "writes a[100] to a[103]: just past the end"
        in fault("int i = threadIdx.x; ((float4*)a)[i] = make_float4(1, 2, 3, 4);").message
    )


@pytest.mark.parametrize(
    "body",
    [
        "__shared__ float s[32]; s[threadIdx.x] = 1; __syncthreads(); a[0] = s[3];",
        "__shared__ volatile float s[8]; int i = 9 - threadIdx.x; s[i] = 1; a[0] = s[3];",
        "extern __shared__ volatile float s[]; s[threadIdx.x] = 1; a[0] = s[3];",
    ],
    ids=["past the end", "negative index", "no shared memory"],
)
def test_access_outside_shared_memory_is_reported(body: str) -> None:
    finding = fault(body)
    assert (finding.tool, finding.kind) == ("memcheck", "out_of_bounds_write")


def test_access_outside_a_local_array_is_reported() -> None:
    finding = fault(
        "float t[6]; int n = (int)b[7];\nfor (int i = 0; i < 6; ++i) t[i] = b[i];\na[0] = t[n - 1];"
    )
    assert (finding.kind, finding.line) == ("out_of_bounds_read", 5)


def test_misaligned_access_to_a_local_array_is_reported() -> None:
    finding = fault(
        "char t[32]; int n = (int)b[5];\nfor (int i = 0; i < 32; ++i) t[i] = i * n;\na[0] = *(int*)(t + n);"
    )
    assert (finding.kind, finding.line) == ("misaligned", 5)
    assert "4 bytes at byte 5 of its local arrays" in finding.message


def test_index_that_wraps_around_is_shown_as_a_signed_integer() -> None:
    finding = fault("unsigned i = threadIdx.x; a[i] = b[i - 3];")
    assert "b[4294967293]" in finding.message
    assert "this index is -3" in finding.message


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("c[threadIdx.x % 4] += 1; x[0] = c[0];", 2),  # the PTX gives no line
        ("x[0] = c[0];\n    c[threadIdx.x % 4] = 1;", 3),  # the PTX gives the line before it
        ("if (x[0] == 0)\n    c[threadIdx.x % 4] = 1;\n    x[1] = c[1];", 3),
    ],
)
def test_store_to_constant_memory_has_its_line(body: str, line: int) -> None:
    device = simulator()
    kernel = device.compile(
        f"__constant__ int c[4] = {{1, 2, 3, 4}};\n__global__ void k(int* x) {{ {body} }}"
    )
    with pytest.raises(LaunchError, match="replaced a store to `c`: it is in constant memory") as raised:
        kernel(1, 4, (device.zeros(4, np.int32),))
    assert raised.value.findings[0].line == line


def test_trap_of_the_compiler_is_explained() -> None:
    device = simulator()
    kernel = device.compile(
        "__constant__ int c[4] = {1, 2, 3, 4};\n"
        "__global__ void k(int* x) { int* p = c; p[threadIdx.x % 4] += 1; x[0] = c[0]; }"
    )
    with pytest.raises(LaunchError, match="such as an assignment to an element of a `__constant__` array"):
        kernel(1, 4, (device.zeros(4, np.int32),))


def test_stack_overflow_is_reported() -> None:
    device = simulator()
    kernel = device.compile("""
        __device__ __noinline__ float down(int n, const float* b) {
            return n < 0 ? 0 : b[n % 7] + down(n - (n > 0), b) * 0.5f; }
        __global__ void k(float* a, const float* b) { a[threadIdx.x] = down((int)b[5], b); }""")
    a, b = device.zeros(N), device.asarray(np.arange(N, dtype=np.float32))
    with pytest.raises(LaunchError):
        kernel(1, 32, (a, b))


def test_access_to_a_freed_array_is_reported() -> None:
    device = simulator()
    kernel = device.compile("__global__ void k(float** box) { box[0][threadIdx.x] = 1; }")
    freed = device.zeros(N)
    box = device.asarray(np.array([freed.allocation.address], np.uint64))
    del freed
    with pytest.raises(MemoryFault) as error:
        kernel(1, 32, (box,))
    assert error.value.findings[0].kind == "out_of_bounds_write"


def test_misaligned_access_names_the_byte_of_the_whole_array() -> None:
    device = simulator()
    kernel = device.compile("__global__ void k(float4* x) { x[threadIdx.x] = make_float4(1, 2, 3, 4); }")
    array = device.zeros(N)
    kernel(1, 4, (array[4:],))
    with pytest.raises(MemoryFault, match="byte 12 of the array that x is a part of"):
        kernel(1, 4, (array[3:],))


def test_misaligned_access_to_shared_memory_names_the_element() -> None:
    device = gpulab.device("sim")
    kernel = device.compile("""__global__ void k(float4* x) {
        __shared__ float tile[4][9];
        tile[threadIdx.x / 9][threadIdx.x % 9] = 0.0f;
        x[threadIdx.x] = *(float4*) &tile[1][0];
    }""")
    with pytest.raises(gpulab.MemoryFault, match=r"16 bytes at tile\[1\]\[0\], byte 36 of shared memory"):
        kernel(1, 32, (device.zeros(128),))


def test_failed_assertion_is_reported_with_line_and_thread() -> None:
    finding = fault("\nassert(threadIdx.x < 40);")
    assert (finding.kind, finding.line, finding.thread) == ("assert", 4, (40, 0, 0))
    assert "threadIdx.x < 40" in finding.message


def test_call_through_a_pointer_to_no_function_is_reported() -> None:
    pointer = "typedef float (*F)(float); F f = *(F*)b; int i = threadIdx.x;"
    assert fault(f"{pointer}\n a[i] = i < 5 ? b[i] : f(b[i]);").thread == (5, 0, 0)
    kernel = simulator().compile(f"__global__ void k(float* b) {{ {pointer} b[i] = i < 70 ? i : f(i); }}")
    kernel(1, 64, (x := simulator().zeros(64),))
    assert (simulator().asnumpy(x) == np.arange(64)).all()


def test_fault_of_the_lowest_block_is_reported() -> None:
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
def test_launch_beyond_the_limits_of_gpus_is_rejected(grid: int, block: int, shared: int) -> None:
    device = simulator()
    kernel = device.compile("__global__ void k(float* a) { a[0] = 1; }")
    with pytest.raises(LaunchError):
        kernel(grid, block, (device.zeros(N),), shared_mem=shared)


def test_unwritten_memory_does_not_expose_host_memory() -> None:
    device = simulator()
    source = """__global__ void k(unsigned* out) {
        __shared__ unsigned s[64]; unsigned t[16];
        out[threadIdx.x] = s[threadIdx.x];
        for (int i = 0; i < 15; ++i) if (out[i] == 7) t[i] = i;
        out[64 + threadIdx.x] = t[out[3] % 16]; }"""
    out = device.zeros(128, np.uint32)
    device.compile(source)(1, 64, (out,))
    assert set(device.asnumpy(out)) <= {0xFFFFFFFF, 0}


class TestWrappingIndex:
    """32-bit arithmetic is modulo 2**32 even if only some lanes of a warp wrap around."""

    def test_guarded_wrapping_index_is_valid(self) -> None:
        device = simulator()
        kernel = device.compile(
            "__global__ void k(float* a) { unsigned i = threadIdx.x - 1u; if (i < 20u) a[i] = i; }"
        )
        a = device.zeros(N)
        kernel(1, 64, (a,))
        np.testing.assert_array_equal(device.asnumpy(a)[:20], np.arange(20))

    def test_message_has_the_wrapped_index(self) -> None:
        assert "a[4294967295]" in fault("unsigned i = threadIdx.x - 1u; a[i] = 1;").message

    def test_values_are_computed_modulo_2_to_the_32(self) -> None:
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
