"""Reduced kernels for which the fuzzer once found a wrong result."""

from __future__ import annotations

import platform
import re
import threading

import numpy as np
import pytest

from gpulab.compiler import compile_program
from gpulab.errors import LaunchError
from gpulab.simt.codegen import jit
from gpulab.simt.codegen.llvm_module import module_text
from gpulab.simt.codegen.native import Specialization, compile_kernel, lower
from gpulab.simt.ptx.parser import parse
from gpulab.simt.runtime.host_threads import HostThreads
from tests.simt import ptx_harness
from tests.simt.programs import simulator

Size = int | tuple[int, ...]


def run(source: str, grid: Size, block: Size, *arrays: np.ndarray) -> list[np.ndarray]:
    device = simulator()
    on_device = [device.asarray(a) for a in arrays]
    device.compile(source)(grid, block, on_device)
    return [device.asnumpy(a) for a in on_device]


@pytest.mark.parametrize("block", [(2, 16, 1), (7, 1, 1), (3, 3, 3), (5, 1, 9), (31, 2, 1), (1, 7, 2)])
def test_thread_indices_in_blocks_with_narrow_rows(block: tuple[int, int, int]) -> None:
    x, y, z = block
    source = """__global__ void k(int* out) {
        int t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
        out[t] = threadIdx.x * threadIdx.y * 1000000 + threadIdx.z * 10000 + threadIdx.y * 100 + threadIdx.x;
    }"""
    (out,) = run(source, 1, block, np.zeros(x * y * z, np.int32))
    k, j, i = np.indices((z, y, x))
    np.testing.assert_array_equal(out, (i * j * 1000000 + k * 10000 + j * 100 + i).ravel())


def test_constant_factor_in_another_basic_block() -> None:
    source = """__global__ void k(int* out, const int* in) {
        int tx = threadIdx.x, ty = threadIdx.y;
        if (in[tx] > 3) out[tx] = in[(tx * ty + tx) & 31];
    }"""
    x = np.arange(32, dtype=np.int32)
    out, _ = run(source, 1, 32, np.zeros(32, np.int32), x)
    np.testing.assert_array_equal(out, np.where(x > 3, x, 0))


@pytest.mark.parametrize("row", [0, 1, 2])
def test_index_that_wraps_in_a_row_without_active_lanes(row: int) -> None:
    source = """__global__ void k(const float2* in, float* out, int n, int row) {
        if (threadIdx.y != row || threadIdx.x > 4) return;
        out[threadIdx.y * 8 + threadIdx.x] = in[(threadIdx.x + n * 255) & 63].x;
    }"""
    device = simulator()
    x, out = np.arange(128, dtype=np.float32), device.zeros(24, np.float32)
    device.compile(source)(1, (8, 3), (device.asarray(x), out, 5, row))
    expected = np.zeros((3, 8), np.float32)
    expected[row, :5] = x[2 * ((np.arange(5) - 5) % 64)]
    np.testing.assert_array_equal(device.asnumpy(out), expected.ravel())


def test_barrier_is_shared_by_both_codes_after_an_index_wraps() -> None:
    source = """__global__ void k(const double* in, double* out) {
        double d = in[(threadIdx.y - 2u) & 127];
        int any = __syncthreads_or(d > 1e9);
        out[threadIdx.y * 40 + threadIdx.x] = d + any;
    }"""
    x = np.arange(128.0)
    _, out = run(source, 1, (40, 2), x, np.zeros(80))
    np.testing.assert_array_equal(out, np.repeat([126.0, 127.0], 40))


def test_nan_converted_to_an_integer() -> None:
    source = """
        __global__ void k(const double* d, const float* f, int* i, unsigned* u, long long* l, int* n) {
            i[threadIdx.x] = (int)d[0]; u[threadIdx.x] = (unsigned)d[0];
            l[threadIdx.x] = (long long)f[0]; n[threadIdx.x] = (int)f[0]; }"""
    nans = np.array([np.nan]), np.array([np.nan], np.float32)
    results = (np.zeros(1, kind) for kind in (np.int32, np.uint32, np.int64, np.int32))
    _, _, *integers = run(source, 1, 1, *nans, *results)
    assert [int(a[0]) for a in integers] == [-(2**31), 2**31, -(2**63), 0]


def test_lanes_in_different_functions_reach_the_barrier_after_the_calls() -> None:
    source = """
    __device__ __noinline__ int add(int a, int b) { return a + b; }
    __device__ __noinline__ int sub(int a, int b) { return a - b; }
    __device__ __noinline__ int mul(int a, int b) { return a * b; }
    __device__ int (*const table[3])(int, int) = { add, sub, mul };
    __global__ void k(const int* in, int* out) {
        __shared__ int s[32];
        int t = threadIdx.x, v = 0;
        #pragma unroll 1
        for (int i = 0; i < in[0]; ++i) v += table[in[t] % 3](t, i);
        s[31 - t] = v;
        __syncthreads();
        v = s[t];
        __syncthreads();
        out[t] = table[(in[t] + 1) % 3](v, 2);
    }"""
    x = np.random.default_rng(0).integers(2, 9, 32, np.int32)
    t = np.arange(32)
    v = sum(np.choose(x % 3, [t + i, t - i, t * i]) for i in range(x[0]))[::-1]
    _, out = run(source, 1, 32, x, np.zeros(32, np.int32))
    np.testing.assert_array_equal(out, np.choose((x + 1) % 3, [v + 2, v - 2, v * 2]))


def test_generic_address_of_local_memory_is_private_to_a_thread() -> None:
    device = simulator()
    kernel = device.compile("""
        __device__ __noinline__ int sum(const int* p, int from) {
            int found = 0;
            for (int j = 0; j < 3; ++j) found = found * 3 + p[(from + j * 5) & 7];
            return found; }
        extern "C" __global__ void k(const int* in, int* out, int from) {
            int own[8], t = threadIdx.x;
            for (int j = 0; j < 8; ++j) own[j] = t + j;
            out[t] = sum(own, from) + (from > 100 ? sum(in + t, from) : 0); }""")
    out = device.zeros(64, np.int32)
    kernel(1, 64, (device.zeros(64, np.int32), out, 2))
    t = np.arange(64)
    np.testing.assert_array_equal(device.asnumpy(out), ((t + 2) * 3 + t + 7) * 3 + t + 4)


def test_narrow_members_of_a_passed_structure_are_sign_extended() -> None:
    source = """
    struct Pair { int a; short b; signed char c; };
    __device__ __noinline__ int sum(Pair p) { return p.a + p.b * 1000 + p.c * 1000000; }
    __global__ void k(const int* in, int* out) {
        Pair p = { in[threadIdx.x], (short)in[threadIdx.x], (signed char)in[threadIdx.x] };
        out[threadIdx.x] = sum(p);
    }"""
    x = np.arange(-40, 24, dtype=np.int32)
    _, out = run(source, 1, 64, x, np.zeros(64, np.int32))
    np.testing.assert_array_equal(out, x * 1001001)


@pytest.mark.parametrize(
    "leaves", ["other[t] = 7; return;", "if (t > 3) other[t] = 7; else other[t] = 8; return;"]
)
def test_threads_that_write_and_exit_before_a_barrier_are_reported(leaves: str) -> None:
    source = f"""__global__ void k(const int* in, int* out, int* other) {{
        __shared__ int s[64];
        int t = threadIdx.x;
        if (in[t] > 20) {{ {leaves} }}
        s[t] = t;
        __syncthreads();
        out[t] = s[t ^ 1];
    }}"""
    x = np.repeat(np.random.default_rng(1).integers(0, 40, 32, np.int32), 2)
    with pytest.raises(LaunchError, match=rf"thread \({np.flatnonzero(x > 20)[0]},0\).* has returned"):
        run(source, 1, 64, x, np.zeros(64, np.int32), np.zeros(64, np.int32))


def test_lanes_that_continue_a_loop_reach_its_barrier() -> None:
    source = """__global__ void k(const int* in, int* out) {
        int t = threadIdx.x, n = 0, sum = 0;
        while (true) {
            __syncthreads();
            if (n++ == in[64]) break;
            if ((t + n) % 3 == 0) continue;
            sum += in[(t + n) & 63];
        }
        out[t] = sum;
    }"""
    x = np.append(np.arange(64, dtype=np.int32), np.int32(7))
    t = np.arange(64)
    _, out = run(source, 1, 64, x, np.zeros(64, np.int32))
    np.testing.assert_array_equal(out, sum(np.where((t + n) % 3, (t + n) & 63, 0) for n in range(1, 8)))


def test_recursion_of_some_lanes_between_barriers() -> None:
    source = """
    __device__ __noinline__ int down(int n, int x) {
        return n <= 0 ? 1 : down(n - 1, x) - down(n - 2, x) * x; }
    __global__ void k(const int* in, int* out) {
        __shared__ int s[64];
        int t = threadIdx.x;
        s[t] = t % 7 ? down(in[t], 3) : t;
        __syncthreads();
        int v = s[63 - t];
        __syncthreads();
        out[t] = v + down(in[63 - t], 2);
    }"""
    x = np.random.default_rng(2).integers(0, 6, 64, np.int32)

    def down(n: int, x: int) -> int:
        return 1 if n <= 0 else down(n - 1, x) - down(n - 2, x) * x

    first = [down(v, 3) if t % 7 else t for t, v in enumerate(x.tolist())][::-1]
    _, out = run(source, 1, 64, x, np.zeros(64, np.int32))
    assert out.tolist() == [a + down(v, 2) for a, v in zip(first, x[::-1].tolist(), strict=True)]


def test_lanes_in_two_spin_loops_yield_to_the_lock_holder() -> None:
    source = """__global__ void k(unsigned* lock, const int* in) {
        if (in[threadIdx.x]) {
            while (atomicCAS(lock, 0u, 1u) != 0u) ;
            lock[1] += 1; __threadfence(); atomicExch(lock, 0u);
        }
        while (atomicCAS(lock, 0u, 1u) != 0u) ;
        lock[1] += 100; __threadfence(); atomicExch(lock, 0u);
    }"""
    x = (np.arange(192) % 2).astype(np.int32)
    lock, _ = run(source, 1, 192, np.zeros(2, np.uint32), x)
    assert lock.tolist() == [0, 19200 + 96]


def test_branch_on_a_register_that_is_never_written() -> None:
    text = ptx_harness.entry(
        1,
        """
        setp.eq.s32 %p1, %r20, 0;
        @%p1 bra COUNT;
        add.s32 %r22, %r22, 1000;
    COUNT:
        add.s32 %r21, %r21, 1;
        setp.lt.s32 %p2, %r21, 5;
        @%p2 bra COUNT;
        add.s32 %r22, %r22, %r21;
        mul.wide.s32 %rd5, %r0, 4;
        add.s64 %rd6, %rd0, %rd5;
        st.global.s32 [%rd6], %r22;""",
    )
    (out,) = ptx_harness.launch(text, 1, 32, np.zeros(32, np.int32))
    np.testing.assert_array_equal(out, -1 + 1000 + 5)  # a register that is never written is -1


def test_factor_is_a_constant_computed_before() -> None:
    text = ptx_harness.entry(
        1,
        """
        mov.u32 %r3, %tid.y;
        add.s32 %r4, %r3, 31;
        mul.lo.s32 %r5, %r2, %r4;
        mul.wide.s32 %rd5, %r0, 4;
        add.s64 %rd6, %rd0, %rd5;
        st.global.s32 [%rd6], %r5;""",
    )
    (out,) = ptx_harness.launch(text, 1, 32, np.zeros(32, np.int32))
    np.testing.assert_array_equal(out, 31 * np.arange(32))


def test_umulhi_of_small_numbers_truncated_to_8_bits() -> None:
    source = """__global__ void k(const int* in, unsigned char* out) {
        int t = threadIdx.y * 2 + threadIdx.x;
        unsigned char c = 1;
        if ((t & 15) == 2) c = __umulhi((unsigned)t, (unsigned)(in[0] & 7));
        out[t] = c;
    }"""
    t = np.arange(32)
    _, out = run(source, 1, (2, 16), np.full(1, 5, np.int32), np.zeros(32, np.uint8))
    np.testing.assert_array_equal(out, t & 15 != 2)


@pytest.mark.parametrize("count", [15, 16, 17, 20, 31, 32, 35, 48])
@pytest.mark.parametrize("kind", ["short", "unsigned short"])
def test_shifted_product_of_16_bit_numbers_truncated_to_16_bits(kind: str, count: int) -> None:
    source = f"""__global__ void k(const {kind}* a, const {kind}* b, {kind}* out) {{
        int t = threadIdx.y * 2 + threadIdx.x;
        {kind} c = 7;
        if (t % 3) c = ((long long)a[t] * b[t]) >> {count};
        out[t] = c;
    }}"""
    dtype = np.int16 if kind == "short" else np.uint16
    a, b = np.random.default_rng(0).integers(0, 1 << 16, (2, 32)).astype(dtype)
    _, _, out = run(source, 1, (2, 16), a, b, np.zeros(32, dtype))
    expected = (a.astype(np.int64) * b >> count).astype(dtype)
    np.testing.assert_array_equal(out, np.where(np.arange(32) % 3, expected, 7))


def test_upper_half_of_a_product_of_small_numbers() -> None:
    text = ptx_harness.entry(
        1,
        """
        ld.global.u16 %h3, [%rd0];
        cvt.s64.s16 %rd7, %h3;
        and.b32 %r3, %r0, 15;
        cvt.u64.u32 %rd8, %r3;
        mul.lo.s64 %rd9, %rd7, %rd8;
        mov.b64 {%r4, %r5}, %rd9;
        cvt.u16.u32 %h1, %r5;
        mul.wide.s32 %rd5, %r0, 2;
        add.s64 %rd6, %rd0, %rd5;
        st.global.u16 [%rd6], %h1;""",
    )
    (out,) = ptx_harness.launch(text, 1, 32, np.full(32, -9, np.int16))
    np.testing.assert_array_equal(out, np.where(np.arange(32) % 16, -1, 0))


def test_large_kernel_compiled_without_optimization(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPULAB_CACHE", "off")
    monkeypatch.setattr(jit, "LARGE", 0)
    source = """__global__ void k(const float* in, float* out) {
        __shared__ float s[64];
        int t = threadIdx.x;
        s[t] = in[t] * 0.5f;
        __syncthreads();
        for (int n = 0; n < t % 5; ++n) s[t] += n;
        __syncthreads();
        out[t] = s[63 - t];
    }"""
    x, t = np.arange(64, dtype=np.float32), np.arange(64)
    _, out = run(source, 1, 64, x, np.zeros(64, np.float32))
    np.testing.assert_array_equal(out, (x / 2 + t % 5 * (t % 5 - 1) // 2)[::-1])


def long_kernel(loops: int) -> str:
    """Return a kernel with consecutive loops that keep values live."""
    body = "".join(
        f"for (int j = in[{k}]; j < t; ++j) v ^= in[(v + j * {k}) & 63] + j;\n" for k in range(loops)
    )
    return f"""extern "C" __global__ void k(const int* in, int* out) {{
        int t = threadIdx.x, v = t;
        {body}
        out[t] = v;
    }}"""


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="decodes x86 instructions")
@pytest.mark.parametrize("large", [0, jit.LARGE])
def test_stack_frame_is_within_its_bound(monkeypatch: pytest.MonkeyPatch, large: int) -> None:
    monkeypatch.setattr(jit, "LARGE", large)
    module = parse(compile_program(long_kernel(30)).ptx)
    text = module_text(*lower(module, "k", Specialization((64, 1, 1), 0), fallback=True))
    frames = re.findall(rb"\x48\x81\xec(....)", jit.compile_text(text), re.DOTALL)  # sub rsp, ...
    largest = max(int.from_bytes(f, "little") for f in frames)
    # Optimized code needs far less; how much unoptimized code needs depends on the host.
    assert largest < jit.max_stack_bytes(text) / (12 if large else 1)


def test_fallback_code_that_needs_too_much_stack_is_not_compiled() -> None:
    module = parse(compile_program(long_kernel(1)).ptx)
    kernel = compile_kernel(module, "k", Specialization((64, 1, 1), 0))
    kernel.stack_bytes = 1000
    assert kernel.compile_fallback() == 0
    kernel.stack_bytes = 1 << 24
    assert kernel.compile_fallback() != 0


def test_host_without_enough_stack_raises_launch_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def reject(size: int = 0) -> int:
        if size:
            raise ValueError("size not valid")
        return 0

    monkeypatch.setattr(threading, "stack_size", reject)
    with pytest.raises(LaunchError):
        HostThreads(2, 1 << 21)


def test_lanes_delayed_by_a_lock_reach_the_next_barrier() -> None:
    source = """__global__ void k(unsigned* lock, int* out, int n) {
        __shared__ int s[64];
        int t = threadIdx.x, sum = 0;
        for (int i = 0; i < n; ++i) {
            s[t] = t + i;
            __syncthreads();
            sum += s[63 - t];
            __syncthreads();
            if (t < 40) {
                while (atomicCAS(lock, 0u, 1u) != 0u) ;
                lock[1] += 1; __threadfence(); atomicExch(lock, 0u);
                if (sum == 12345) out[t] = 7;
            }
        }
        out[t] = sum;
    }"""
    device = simulator()
    lock, out = device.zeros(2, np.uint32), device.zeros(64, np.int32)
    device.compile(source)(1, 64, (lock, out, 3))
    assert device.asnumpy(lock).tolist() == [0, 120]
    np.testing.assert_array_equal(device.asnumpy(out), 3 * (63 - np.arange(64)) + 3)


def test_shared_variable_of_a_function_exists_once() -> None:
    source = """
    __device__ __noinline__ int swapped(int t, int v, bool put) {
        __shared__ int s[32];
        if (put) s[t] = v;
        __syncthreads();
        int found = s[31 - t];
        __syncthreads();
        return found;
    }
    __global__ void k(const int* in, int* out) {
        int t = threadIdx.x, a = swapped(t, in[t], true);
        out[t] = swapped(t, a * 3, t % 2) + a;
    }"""
    x = np.random.default_rng(3).integers(0, 99, 32, np.int32)
    t = np.arange(32)
    second = np.where(t % 2, x[::-1] * 3, x)
    _, out = run(source, 1, 32, x, np.zeros(32, np.int32))
    np.testing.assert_array_equal(out, second[::-1] + x[::-1])


def test_halves_of_a_constant() -> None:
    text = ptx_harness.entry(
        1,
        """
        mov.u64 %rd7, 1234567890122;
        mov.b64 {%r3, %r4}, %rd7;
        mov.b32 {%h1, %h2}, %r3;
        cvt.u32.u16 %r5, %h2;
        add.s32 %r4, %r4, %r5;
        mul.wide.s32 %rd5, %r0, 4;
        add.s64 %rd6, %rd0, %rd5;
        st.global.s32 [%rd6], %r4;""",
    )
    (out,) = ptx_harness.launch(text, 1, 32, np.zeros(32, np.int32))
    np.testing.assert_array_equal(out, (1234567890122 >> 32) + (1234567890122 >> 16 & 0xFFFF))
