"""Kernels that hide loads from the counters or shrink what is counted, and unusual kernels that do not.

Every kernel that hides loads computes the right values with the loads of the step before; a comment or the
name of its test says what it hides.
"""

from __future__ import annotations

from functools import cache

import pytest

import gpulab
from gpulab.cell import parse_cell
from gpulab.devices.base import Device
from gpulab.verification.check import CheckResult, check_cell

STENCIL = """// %%cuda stencil.{header}
{before}
extern "C" __global__ void block2D_{variant}(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{{
    const int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int frame = nx * ny;
    {body}
}}"""
GUARD = "if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1)"
NAIVE = f"""{GUARD} for (int k = 1; k < nz - 1; ++k) {{
        const int c = i + nx * j + frame * k;
        Anext[c] = LOAD(c - 1) + LOAD(c + 1) + LOAD(c - nx) + LOAD(c + nx) + LOAD(c - frame) + LOAD(c + frame)
                 - 6.0f * LOAD(c) / (fac * fac);
    }}"""
MATMUL = """// %%cuda matmul.{header}
{before}
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{{
    {body}
}}"""


@cache
def simulator() -> Device:
    return gpulab.device("sim")


def stencil(header: str, body: str, before: str = "") -> CheckResult:
    variant = header.split(maxsplit=1)[0]
    return checked(STENCIL.format(header=header, variant=variant, body=body, before=before))


def matmul(header: str, body: str, before: str = "") -> CheckResult:
    return checked(MATMUL.format(header=header, body=body, before=before))


def checked(text: str) -> CheckResult:
    return check_cell(parse_cell(text, "kernel.cu"), simulator())


# -- hidden loads -----------------------------------------------------------------------------------

LOADS = {
    # An atomic addition of zero returns the value and keeps the input's bits.
    "atomic addition": "#define LOAD(n) atomicAdd((float*)&A0[n], 0.0f)",
    "atomic compare and swap": "#define LOAD(n) __int_as_float(atomicCAS((int*)&A0[n], 7, 7))",
    "atomic or": "#define LOAD(n) __uint_as_float(atomicOr((unsigned*)&A0[n], 0u))",
    "inline PTX": "__device__ float load(const float* x) { float v; "
    'asm volatile("ld.relaxed.gpu.global.f32 %0, [%1];" : "=f"(v) : "l"(x)); return v; }\n'
    "#define LOAD(n) load(&A0[n])",
    "generic address": "__device__ float load(const float* x) { float v; "
    'asm volatile("ld.f32 %0, [%1];" : "=f"(v) : "l"(x)); return v; }\n'
    "#define LOAD(n) load(&A0[n])",
    "bytes": "#define LOAD(n) __int_as_float((((const unsigned short*)A0)[2 * (n) + 1] << 16) "
    "| ((const unsigned short*)A0)[2 * (n)])",
}


@pytest.mark.parametrize("load", LOADS.values(), ids=LOADS)
@pytest.mark.parametrize("variant", ["opt_1", "opt_2"])
def test_seven_loads_of_any_kind_are_counted(load: str, variant: str) -> None:
    result = stencil(f"{variant} --block 32 8", NAIVE, load)
    assert not result.correct


# All loads are one instruction, whose first request goes to another array.
ONE_LOAD = """__device__ float dummies[32];
#define LOAD(n) load(A0, (n))
__device__ __noinline__ float load(const float* x, int n) { return *(volatile const float*)(x + n); }"""


def test_loads_of_an_instruction_that_first_loads_from_a_dummy_are_counted() -> None:
    body = "float zero = load(dummies, threadIdx.x & 31); if (zero != 0.0f) return;\n    " + NAIVE
    result = stencil("opt_1 --block 32 8", body, ONE_LOAD)
    assert result.verdict is not None
    assert result.verdict.correct
    assert not result.correct
    assert result.technique is not None
    assert result.technique.results[0].value > 7


def test_loads_of_a_copy_in_the_output_are_counted() -> None:
    # Each thread copies its next point into Anext and its neighbours in the block load the copy.
    body = """const int tx = threadIdx.x, ty = threadIdx.y;
    const bool inner = i > 0 && i < nx - 1 && j > 0 && j < ny - 1;
    for (int k = 1; k < nz - 1; ++k) {
        const int c = i + nx * j + frame * k;
        if (inner) Anext[c] = A0[c];
        __syncthreads();
        float sum = 0.0f;
        if (inner) {
            sum += tx > 0 && i > 1 ? Anext[c - 1] : A0[c - 1];
            sum += tx < BLOCK_X - 1 && i < nx - 2 ? Anext[c + 1] : A0[c + 1];
            sum += ty > 0 && j > 1 ? Anext[c - nx] : A0[c - nx];
            sum += ty < BLOCK_Y - 1 && j < ny - 2 ? Anext[c + nx] : A0[c + nx];
            sum += A0[c - frame] + A0[c + frame] - 6.0f * Anext[c] / (fac * fac);
        }
        __syncthreads();
        if (inner) Anext[c] = sum;
    }"""
    result = stencil("opt_1 --block 32 8", body)
    assert result.verdict is not None
    assert result.verdict.correct
    assert not result.correct


def test_loads_of_a_copy_of_c_in_the_output_are_counted() -> None:
    # The only load of c fills a's column; the multiply-adds load the copy from a.
    body = """const int t = threadIdx.x, i = blockIdx.x * 32 + t, j = blockIdx.y;
    float sum = 0.0f;
    for (int k0 = 0; k0 < p; k0 += 32) {
        a[i + n * j] = c[k0 + t + p * j];
        __syncthreads();
        for (int k = 0; k < 32; ++k)
            sum += b[i + n * (k0 + k)] * ((volatile float*)a)[blockIdx.x * 32 + k + n * j];
        __syncthreads();
    }
    a[i + n * j] = sum;"""
    result = matmul("K2 --block 32", body)
    assert result.verdict is not None
    assert result.verdict.correct
    assert not result.correct


def test_input_that_is_written_with_its_own_value_is_wrong() -> None:
    body = "if (i == 0 && j == 0) *(volatile float*)A0 = A0[0];\n    " + OPT_1
    result = stencil("opt_1 --block 32 8", body)
    assert not result.correct
    assert any("input A0" in reason for reason in result.reasons)


def test_store_to_constant_memory_is_wrong() -> None:
    # Loads from constant memory are not counted.
    body = """float* writable = (float*)kept;
    asm volatile("" : "+l"(writable));
    if (i == 0 && j == 0) *writable = A0[0];
    """
    result = stencil("opt_1 --block 32 8", body + OPT_1, "__constant__ float kept[32];")
    assert not result.correct
    assert any("constant memory" in reason for reason in result.reasons)


def test_atomic_loads_from_shared_memory_are_counted() -> None:
    # K3 whose strip is read by atomics, once for each product.
    body = """__shared__ float strip[32];
    const int t = threadIdx.x, i = blockIdx.x * 128 + t, j = blockIdx.y;
    float sum[4] = {};
    for (int k0 = 0; k0 < p; k0 += 32) {
        strip[t] = c[k0 + t + p * j];
        __syncthreads();
        for (int k = 0; k < 32; ++k)
            for (int q = 0; q < 4; ++q) sum[q] += b[i + 32 * q + n * (k0 + k)] * atomicAdd(&strip[k], 0.0f);
        __syncthreads();
    }
    for (int q = 0; q < 4; ++q) a[i + 32 * q + n * j] = sum[q];"""
    result = matmul("K3 --block 32 --tile 4", body)
    assert result.verdict is not None
    assert result.verdict.correct
    assert not result.correct


def test_register_reuse_alone_is_not_a_strip_in_shared_memory() -> None:
    body = """const int i = blockIdx.x * 256 + threadIdx.x, j = blockIdx.y;
    float sum[8] = {};
    for (int k = 0; k < p; ++k) {
        const float x = c[k + p * j];
        for (int q = 0; q < 8; ++q) sum[q] += b[i + 32 * q + n * k] * x;
    }
    for (int q = 0; q < 8; ++q) a[i + 32 * q + n * j] = sum[q];"""
    result = matmul("K3 --block 32 --tile 8", body)
    assert result.verdict is not None
    assert result.verdict.correct
    assert not result.correct


# -- small blocks -----------------------------------------------------------------------------------

PLAIN = "#define LOAD(n) A0[n]"
# Naive, but the frames roll through registers: five loads for each point.
ROLLING_NAIVE = f"""{GUARD} {{
        int c = i + nx * j + frame;
        float below = A0[c - frame], here = A0[c];
        for (int k = 1; k < nz - 1; ++k, c += frame) {{
            const float above = A0[c + frame];
            Anext[c] = A0[c - 1] + A0[c + 1] + A0[c - nx] + A0[c + nx] + below + above
                     - 6.0f * here / (fac * fac);
            below = here;
            here = above;
        }}
    }}"""


@pytest.mark.parametrize("variant", ["opt_1", "opt_2"])
@pytest.mark.parametrize("block", ["1 1", "2 2", "4 1", "1 8", "4 4", "16 1"])
def test_small_block_does_not_excuse_the_loads_of_the_naive_kernel(variant: str, block: str) -> None:
    result = stencil(f"{variant} --block {block}", ROLLING_NAIVE)
    assert result.verdict is not None
    assert result.verdict.correct
    assert not result.correct
    assert any("--block" in reason for reason in result.reasons)


def test_column_of_threads_is_not_coalesced_because_the_block_is_small() -> None:
    body = """const int i = blockIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < p; ++k) sum += b[i + n * k] * c[k + p * j];
    a[i + n * j] = sum;"""
    result = matmul("K1 --block 1 4", body)
    assert result.verdict is not None
    assert result.verdict.correct
    assert not result.correct


def test_uncoalesced_loads_of_four_lanes_at_a_time_are_not_coalesced() -> None:
    # The warp's threads run along j; a loop lets only four of them load at a time.
    body = """const int i = blockIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y;
    float sum = 0.0f;
    for (int turn = 0; turn < 8; ++turn)
        if (threadIdx.y / 4 % 8 == turn)
            for (int k = 0; k < p; ++k)
                sum += ((volatile const float*)b)[i + n * k] * ((volatile const float*)c)[k + p * j];
    a[i + n * j] = sum;"""
    result = matmul("K1 --block 1 32", body)
    assert result.verdict is not None
    assert result.verdict.correct
    assert not result.correct


# -- the counted launch -----------------------------------------------------------------------------

OPT_1 = f"""__shared__ float tile[BLOCK_Y + 2][BLOCK_X + 2];
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    const bool inside = i < nx && j < ny;
    for (int k = 1; k < nz - 1; ++k) {{
        const int c = i + nx * j + frame * k;
        if (inside) {{
            tile[ty][tx] = A0[c];
            if (tx == 1 && i > 0) tile[ty][0] = A0[c - 1];
            if (tx == BLOCK_X && i < nx - 1) tile[ty][tx + 1] = A0[c + 1];
            if (ty == 1 && j > 0) tile[0][tx] = A0[c - nx];
            if (ty == BLOCK_Y && j < ny - 1) tile[ty + 1][tx] = A0[c + nx];
        }}
        __syncthreads();
        {GUARD}
            Anext[c] = tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx]
                     + A0[c - frame] + A0[c + frame] - 6.0f * tile[ty][tx] / (fac * fac);
        __syncthreads();
    }}"""


def test_kernel_that_does_nothing_on_the_counted_size_is_wrong() -> None:
    cell = parse_cell(STENCIL.format(header="opt_1 --block 32 8", variant="opt_1", before=PLAIN, body=NAIVE))
    assert hasattr(cell, "config")
    nx, ny, nz = cell.config.counted_shape
    body = f"if (nx == {nx} && ny == {ny} && nz == {nz}) return;\n    {NAIVE}"
    result = stencil("opt_1 --block 32 8", body, PLAIN)
    assert not result.correct
    assert any("counted launch" in reason for reason in result.reasons)


def test_result_of_an_earlier_launch_is_not_accepted() -> None:
    # Values are kept in a __device__ array by their index and returned by the next launch.
    before = "__device__ float kept[1 << 20];\n" + PLAIN
    body = f"""{GUARD} for (int k = 1; k < nz - 1; ++k) {{
        const int c = i + nx * j + frame * k;
        if (kept[c] != 0.0f) {{ Anext[c] = kept[c]; continue; }}
        kept[c] = Anext[c] = A0[c - 1] + A0[c + 1] + A0[c - nx] + A0[c + nx] + A0[c - frame] + A0[c + frame]
                           - 6.0f * A0[c] / (fac * fac);
    }}"""
    assert not stencil("opt_1 --block 32 8", body, before).correct


def test_half_precision_arithmetic_exceeds_the_tolerance() -> None:
    before = "#include <cuda_fp16.h>\n#define LOAD(n) __half2float(__float2half(A0[n]))"
    result = stencil("opt_1 --block 32 8", NAIVE, before)
    assert result.verdict is not None
    assert not result.verdict.correct


# -- unusual kernels that satisfy the requirements ----------------------------------------------------


@pytest.mark.parametrize("block", ["24 5", "96 2", "64 2", "16 4", "8 4", "7 9", "32 32", "128 1", "33 3"])
def test_tile_in_shared_memory_passes_with_any_block(block: str) -> None:
    assert stencil(f"opt_1 --block {block}", OPT_1).reasons == ()


def test_tile_in_shared_memory_passes_with_a_split_z_axis() -> None:
    chunk = "int k = max(8 * (int)blockIdx.z, 1); k < min(8 * (int)blockIdx.z + 8, nz - 1)"
    body = OPT_1.replace("int k = 1; k < nz - 1", chunk)
    assert stencil("opt_1 --block 8 8 --tile 1 1 8", body).reasons == ()


SHUFFLES = f"""const int lane = (threadIdx.x + BLOCK_X * threadIdx.y) & 31;
    const int row = min(j, ny - 1), column = min(i, nx - 1);
    for (int k = 1; k < nz - 1; ++k) {{
        const int c = i + nx * j + frame * k;
        const float here = LOAD(column + nx * row + frame * k);
        float left = __shfl_up_sync(-1u, here, 1), right = __shfl_down_sync(-1u, here, 1);
        float below = __shfl_up_sync(-1u, here, BLOCK_X), above = __shfl_down_sync(-1u, here, BLOCK_X);
        {GUARD} {{
            if (threadIdx.x == 0) left = LOAD(c - 1);
            if (threadIdx.x == BLOCK_X - 1) right = LOAD(c + 1);
            if (lane < BLOCK_X) below = LOAD(c - nx);
            if (lane >= 32 - BLOCK_X) above = LOAD(c + nx);
            Anext[c] = left + right + below + above + LOAD(c - frame) + LOAD(c + frame)
                     - 6.0f * here / (fac * fac);
        }}
    }}"""


@pytest.mark.parametrize(
    "load", ["A0[n]", "__ldg(&A0[n])", "((const volatile float*)A0)[n]", "__ldcs(&A0[n])"]
)
def test_shuffles_pass_in_place_of_shared_memory(load: str) -> None:
    assert stencil("opt_1 --block 8 4", SHUFFLES, f"#define LOAD(n) {load}").reasons == ()


ROLLING = """__shared__ float tile[BLOCK_Y + 2][BLOCK_X + 2 + PAD];
    const int t = threadIdx.x + BLOCK_X * threadIdx.y;
    const int i0 = blockIdx.x * BLOCK_X - 1, j0 = blockIdx.y * BLOCK_Y - 1;
    const bool inner = i > 0 && i < nx - 1 && j > 0 && j < ny - 1;
    const int first = FIRST, last = LAST;
    if (first >= last) return;
    float below = inner ? A0[i + nx * j + frame * (first - 1)] : 0.0f;
    float here = inner ? A0[i + nx * j + frame * first] : 0.0f;
    for (int k = first; k < last; ++k) {
        for (int q = t; q < (BLOCK_X + 2) * (BLOCK_Y + 2); q += BLOCK_X * BLOCK_Y) {
            const int x = q % (BLOCK_X + 2), y = q / (BLOCK_X + 2);
            const bool edge = x == 0 || y == 0 || x == BLOCK_X + 1 || y == BLOCK_Y + 1;
            if (edge && i0 + x >= 0 && i0 + x < nx && j0 + y >= 0 && j0 + y < ny)
                tile[y][x] = A0[i0 + x + nx * (j0 + y) + frame * k];
        }
        if (i < nx && j < ny)
            tile[threadIdx.y + 1][threadIdx.x + 1] = inner ? here : A0[i + nx * j + frame * k];
        __syncthreads();
        const int c = i + nx * j + frame * k, x = threadIdx.x + 1, y = threadIdx.y + 1;
        if (inner) {
            const float above = A0[c + frame];
            Anext[c] = tile[y][x - 1] + tile[y][x + 1] + tile[y - 1][x] + tile[y + 1][x] + below + above
                     - 6.0f * here / (fac * fac);
            below = here;
            here = above;
        }
        __syncthreads();
    }"""
WHOLE = "#define PAD {pad}\n#define FIRST 1\n#define LAST (nz - 1)"


@pytest.mark.parametrize(
    ("block", "pad"), [("24 5", 0), ("96 2", 1), ("16 4", 7), ("128 1", 0), ("11 13", 2)]
)
def test_rolling_registers_pass_with_any_block(block: str, pad: int) -> None:
    assert stencil(f"opt_2 --block {block}", ROLLING, WHOLE.format(pad=pad)).reasons == ()


@pytest.mark.parametrize("frames", [4, 8, 16])
def test_rolling_registers_pass_with_a_split_z_axis(frames: int) -> None:
    before = f"""#define PAD 0
#define FIRST max(1, {frames} * (int)blockIdx.z)
#define LAST min(nz - 1, {frames} * ((int)blockIdx.z + 1))"""
    assert stencil(f"opt_2 --block 32 8 --tile 1 1 {frames}", ROLLING, before).reasons == ()


@pytest.mark.parametrize(("side", "pad"), [(16, 0), (16, 1), (8, 1), (32, 1)])
def test_padded_tiles_of_matrices_pass(side: int, pad: int) -> None:
    body = f"""__shared__ float bs[{side}][{side} + {pad}], cs[{side}][{side} + {pad}];
    const int x = threadIdx.x, y = threadIdx.y, i = blockIdx.x * {side} + x, j = blockIdx.y * {side} + y;
    float sum = 0.0f;
    for (int k0 = 0; k0 < p; k0 += {side}) {{
        bs[y][x] = b[i + n * (k0 + y)];
        cs[y][x] = c[k0 + x + p * j];
        __syncthreads();
        for (int k = 0; k < {side}; ++k) sum += bs[k][x] * cs[y][k];
        __syncthreads();
    }}
    a[i + n * j] = sum;"""
    assert matmul(f"K5 --block {side} {side}", body).reasons == ()


@pytest.mark.parametrize(("threads", "strip"), [(32, 16), (64, 32), (128, 8), (96, 32)])
def test_strips_of_other_widths_pass(threads: int, strip: int) -> None:
    body = f"""__shared__ float cs[{strip}];
    const int t = threadIdx.x, i = blockIdx.x * {threads} + t, j = blockIdx.y;
    float sum = 0.0f;
    for (int k0 = 0; k0 < p; k0 += {strip}) {{
        if (t < {strip}) cs[t] = c[k0 + t + p * j];
        __syncthreads();
        for (int k = 0; k < {strip}; ++k) sum += b[i + n * (k0 + k)] * cs[k];
        __syncthreads();
    }}
    a[i + n * j] = sum;"""
    assert matmul(f"K2 --block {threads}", body).reasons == ()


def test_two_by_two_values_of_a_thread_pass() -> None:
    body = """__shared__ float cs[2][32];
    const int t = threadIdx.x, i = blockIdx.x * 64 + t, j = 2 * blockIdx.y;
    float s00 = 0, s01 = 0, s10 = 0, s11 = 0;
    for (int k0 = 0; k0 < p; k0 += 32) {
        cs[0][t] = c[k0 + t + p * j];
        cs[1][t] = c[k0 + t + p * (j + 1)];
        __syncthreads();
        for (int k = 0; k < 32; ++k) {
            const float b0 = b[i + n * (k0 + k)], b1 = b[i + 32 + n * (k0 + k)], c0 = cs[0][k], c1 = cs[1][k];
            s00 += b0 * c0; s01 += b0 * c1; s10 += b1 * c0; s11 += b1 * c1;
        }
        __syncthreads();
    }
    a[i + n * j] = s00; a[i + 32 + n * j] = s10; a[i + n * (j + 1)] = s01; a[i + 32 + n * (j + 1)] = s11;"""
    assert matmul("K34 --block 32 --tile 2 2", body).reasons == ()
