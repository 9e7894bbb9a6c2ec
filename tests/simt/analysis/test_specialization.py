"""Code that kernels with different constants share, against code that is compiled for each kernel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gpulab.cache import DiskCache
from gpulab.devices.simulator.simulated_device import SimulatedDevice, SimulatedKernel
from gpulab.errors import MemoryFault
from gpulab.simt.codegen import jit, native
from gpulab.simt.instrument.trace.trace_code import TraceInstrumentation
from gpulab.simt.instrument.trace.trace_recorder import Requests, TraceRecorder, Wave
from gpulab.simt.ptx.parser import parse
from tests.simt.programs import simulator

Block = tuple[int, int, int]
SIZE = 1 << 13
HEAD = """
    const int tx = threadIdx.x, ty = threadIdx.y, tz = threadIdx.z, t = tx + BX * (ty + BY * tz);
    const int i = (t + BX * BY * BZ * blockIdx.x) % n;
"""
BODIES = {
    "a constant through a register": """
        int s = 1; asm volatile("mov.u32 %0, %1;" : "=r"(s) : "n"(NUMBER)); b[i] = a[tx * s % n];""",
    "a tile": """
        __shared__ float s[BY + 2][BX + 2]; s[ty + 1][tx + 1] = a[i]; __syncthreads();
        b[i] = s[ty][tx + 1] + s[ty + 2][tx + 1] + s[ty + 1][tx];""",
    "two arrays": """
        __shared__ int s[BX * BY * BZ]; __shared__ double d[2 * BX * BY * BZ];
        s[t] = k[i] + NUMBER; d[BX + t] = 1; __syncthreads(); b[i] = a[s[BX * BY * BZ - 1 - t]] + d[t];""",
    "a bound": "if (tx > NUMBER / 8 && k[i] < 3 * NUMBER) b[i] = a[(i + NUMBER) % n];",
    "a loop": """
        float v = 0;
        for (int j = 0; j < k[i] % 7; ++j) v += a[(i + (j + NUMBER) * BX) % n];
        b[i] = v;""",
    "shifts and masks": "b[(i ^ NUMBER & 31) % n] = a[((k[i] << NUMBER % 7) & 4095 | NUMBER % 8) % n];",
    "shifts by too much": """
        int x; asm("shl.b32 %0, %1, %2;" : "=r"(x) : "r"(k[i]), "n"(NUMBER));
        long long y; asm("shl.b64 %0, %1, %2;" : "=l"(y) : "l"((long long)k[i]), "n"(NUMBER));
        b[i] = a[(unsigned)(x + y) % n];""",
    "a stride of lanes": "b[i] = a[(tx * (NUMBER % 5) + ty * NUMBER) % n];",
    "numbers of 64 bits": """
        long long j = k[i] * (long long)(NUMBER * 1000003) - NUMBER; b[i] = a[(unsigned long long)j % n];""",
    "negative numbers": """
        int j = k[i] - 2 * NUMBER; b[max(j, -NUMBER) + NUMBER] = a[min(j + 4000, n - NUMBER)];""",
    "a float that decides": "if (a[i] * 2 + 0.001f * NUMBER > 1.0f) b[i] = a[n - 1 - i];",
    "a double that decides": "if (fma((double)a[i], 2.5, NUMBER / 1e3) > 1.0) b[i] = a[n - 1 - i];",
    "sizes of the block": "b[i] = a[(i + blockDim.x * blockDim.y * 3 + blockDim.z) % n];",
    "dynamic shared memory": """
        extern __shared__ float d[]; __shared__ float s[BX]; s[tx] = d[t] = a[i]; __syncthreads();
        b[i] = a[(unsigned)(d[t ^ 1] * 100 + s[BX - 1 - tx]) % n];""",
    "an array of local memory": """
        int v[8]; for (int j = 0; j < 8; ++j) v[j] = i * j + NUMBER; b[i] = a[v[k[i] & 7] % n];""",
    "a function": "b[i] = a[far(k[i], NUMBER) % n];",
    "warps and votes": """
        unsigned m = __ballot_sync(__activemask(), k[i] < NUMBER); b[(i + __popc(m)) % n] = a[t / 32];""",
    "a tile with padding behind a branch": """
        __shared__ float s[BX * (NUMBER / 8 + 2)]; if (k[i] & 1) s[tx * 3 + NUMBER / 8] = a[i];
        __syncthreads(); b[i] = s[0];""",
}
NOT_SHARED = ("a stride of lanes", "a constant through a register", "a function")
# Blocks in one row belong to one class.
BLOCKS: tuple[tuple[Block, ...], ...] = (
    ((32, 4, 1), (64, 8, 1), (128, 2, 1)),
    ((16, 4, 2), (16, 2, 2)),
    ((256, 1, 1), (64, 1, 1)),
    ((5, 3, 2), (7, 5, 2)),
    ((1, 40, 1), (1, 72, 1)),
)
NUMBERS = (9, 34, 69)


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(native, "kernel_cache", lambda: DiskCache(tmp_path, 1 << 28))


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the LLVM IR of every compilation for a first launch.

    The code of a kernel that has run for long enough is compiled again, with optimisation.
    """
    texts: list[str] = []
    compile_text = jit.compile_text

    def recording_compile(text: str, *, quickly: bool = False) -> bytes:
        if quickly:
            texts.append(text)
        return compile_text(text, quickly=quickly)

    monkeypatch.setattr(jit, "compile_text", recording_compile)
    return texts


def kernel_of(body: str, block: Block, number: int) -> SimulatedKernel:
    device = simulator()
    assert isinstance(device, SimulatedDevice)
    text = f"""
        __device__ __noinline__ unsigned far(int i, int j) {{ return i * 7 + 3 * j; }}
        extern "C" __global__ void k(const float* a, float* b, int* k, int n) {{{HEAD}{body}}}"""
    sizes = dict(zip(("BX", "BY", "BZ"), block, strict=True))
    return device.compile(text, "k", defines={**sizes, "NUMBER": number})


def traced(body: str, block: Block, number: int) -> tuple[TraceRecorder, TraceRecorder, int]:
    """Return the counts of a launch, the trace of a wave of it, and the address of the first array."""
    kernel, rng = kernel_of(body, block, number), np.random.default_rng(1)
    device = kernel.device
    arrays = [
        device.asarray(rng.random(SIZE, np.float32)),
        device.zeros(SIZE),
        device.asarray(rng.integers(0, 1000, SIZE, np.int32)),
    ]
    recorders = TraceRecorder(), TraceRecorder(Wave(np.arange(1, 3), 400, 100_000))
    shared = 4 * int(np.prod(block)) if "extern" in body else 0
    for recorder, order in zip(recorders, (None, np.arange(1, 3)), strict=True):
        recorder.cores = 1
        kernel.record(recorder, (4, 1, 1), block, (*arrays, np.int32(SIZE)), shared, order=order)
    return *recorders, arrays[0].allocation.address


def recorded(body: str, block: Block, number: int) -> list[object]:
    """Return all that is recorded of a launch, with addresses relative to the first array."""
    counted, wave, start = traced(body, block, number)
    base = np.uint64((start >> 7 << 22) & ((1 << 64) - 1))
    words = [wave.words[warp, : int(n)] - base for warp, n in enumerate(wave.used)]
    return [
        counted.blocks().tolist(),
        wave.blocks().tolist(),
        [word.tolist() for word in words],
        wave.states.tolist(),
        [relative(requests, start) for requests in counted.requests()],
    ]


def relative(requests: Requests, start: int) -> tuple[object, ...]:
    base = 0 if requests.access.space == "shared" else start
    active = (requests.masks[:, None] >> np.arange(32)) & 1
    addresses = ((requests.addresses - base) * active).tolist()
    return requests.access, requests.reached, requests.made, requests.masks.tolist(), addresses


@pytest.mark.parametrize("name", BODIES)
def test_shared_code_behaves_like_specialized_code(
    name: str, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    body = BODIES[name]
    # Two launches with each group of blocks, with two of the three numbers in turn.
    launches = [
        (group[n % len(group)], NUMBERS[(row + n) % 3]) for row, group in enumerate(BLOCKS) for n in range(2)
    ]
    shared = [recorded(body, *launch) for launch in launches]
    assert name in NOT_SHARED or len(compiled) == len(BLOCKS)
    monkeypatch.setattr(TraceInstrumentation, "shared", False)
    for launch, expected in zip(launches, shared, strict=True):
        assert expected == recorded(body, *launch), launch


def test_block_sizes_behave_as_in_specialized_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's text does not depend on the block."""
    body = """extern __shared__ float unused[];
        unsigned d; asm volatile("mov.u32 %0, %dynamic_smem_size;" : "=r"(d)); d += blockDim.y + NUMBER;
        const int j = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
        b[j] = a[(j + d) % n] + a[threadIdx.x * 5 % n] + a[threadIdx.y * 5 % n] + a[threadIdx.z * 5 % n];
        """
    monkeypatch.setattr(f"{__name__}.HEAD", "")
    blocks: list[Block] = [
        (64, 1, 1), (96, 1, 1), (1, 64, 1), (1, 1, 64), (16, 4, 1), (8, 4, 2), (33, 1, 1), (50, 1, 1),
        (5, 7, 1), (32, 2, 1), (32, 1, 2), (64, 2, 1), (1, 32, 2), (1, 8, 8), (16, 3, 1), (16, 1, 4),
        (1, 16, 4),
    ]  # fmt: skip
    shared = [recorded(body, block, 5) for block in blocks]
    monkeypatch.setattr(TraceInstrumentation, "shared", False)
    for block, expected in zip(blocks, shared, strict=True):
        assert expected == recorded(body, block, 5), block


def test_blocks_of_one_class_share_code(compiled: list[str]) -> None:
    for group in BLOCKS:
        compiled.clear()
        for block in group:
            traced(BODIES["a tile"], block, 9)
        assert len(compiled) == 1, group


def test_hoisted_constant_does_not_change_the_code(compiled: list[str]) -> None:
    for number in NUMBERS:
        traced(BODIES["a bound"], (64, 2, 1), number)
    assert len(compiled) == 1


@pytest.mark.parametrize(
    "body",
    [
        "b[i] = a[tx * NUMBER];",
        'int s = 1; asm volatile("mov.u32 %0, %1;" : "=r"(s) : "n"(NUMBER)); b[i] = a[tx * s];',
    ],
    ids=["literal", "through a register"],
)
def test_stride_between_lanes_is_a_literal(body: str, compiled: list[str]) -> None:
    for number in (6, 10, 6):
        traced(body, (64, 2, 1), number)
    assert len(compiled) == 2


def places() -> Iterator[tuple[str, str]]:
    yield "all lanes", "s[tx + 4 * BX] = 1;"
    yield "one lane", "s[k[i] & 1 ? 4 * BX : tx] = 1;"
    yield "far past the end", "s[tx + (1 << 20)] = 1;"


@pytest.mark.parametrize("store_to", dict(places()).values(), ids=dict(places()))
def test_shared_memory_ends_at_the_size_of_each_kernel(
    store_to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is that of the launched kernel and not that of the kernel that was compiled."""
    body = (
        f"__shared__ volatile float s[4 * BX]; s[tx] = a[i]; if (NUMBER == 33) {{ {store_to} }} b[i] = s[tx];"
    )

    def fault(block: Block) -> str:
        with pytest.raises(MemoryFault) as error:
            traced(body, block, 33)
        return str(error.value)

    blocks: tuple[Block, ...] = ((128, 1, 1), (32, 1, 1), (64, 1, 1))
    shared = [fault(block) for block in blocks]
    monkeypatch.setattr(TraceInstrumentation, "shared", False)
    assert shared == [fault(block) for block in blocks]


PTX = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 k_param_0) .maxntid 64, 1, 1 {
    .reg .b32 %r<4>; .reg .b64 %rd<3>; .shared .align 4 .b8 tile[256]; .local .align 4 .b8 own[16];
    ld.param.u64 %rd1, [k_param_0+0];
    mov.u32 %r1, 5;
    add.s32 %r2, %r1, 7;
    shl.b32 %r3, %r2, 2;
    st.global.u32 [%rd1+8], %r3;
    ret;
}
"""


@pytest.mark.parametrize(
    ("text", "replacement"),
    [
        ("64, 1, 1", "32, 4, 1"),
        ("[256]", "[128]"),
        ("r1, 7", "r1, 9"),
        ("%r1, 5", "%r1, 6"),
        ("r2, 2", "r2, 3"),
        ("+8", "+16"),
    ],
)
def test_template_excludes_hoistable_constants(text: str, replacement: str) -> None:
    first, second = parse(PTX), parse(PTX.replace(text, replacement))
    assert first.template_digest == second.template_digest
    assert first.digest != second.digest


@pytest.mark.parametrize(
    ("text", "replacement"),
    [
        ("[16]", "[32]"),
        ("+0]", "+4]"),
        ("r1, 7", "r1, -7"),
        ("add.s32", "sub.s32"),
        ("align 4 .b8 tile", "align 8 .b8 tile"),
    ],
)
def test_template_contains_everything_else(text: str, replacement: str) -> None:
    assert parse(PTX).template_digest != parse(PTX.replace(text, replacement)).template_digest
