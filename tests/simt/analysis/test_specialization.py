"""Kernels that differ in numbers share code: it must do for each of them what code of its own would."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gpulab.cache import DiskCache
from gpulab.devices.simulated import SimulatedDevice, SimulatedKernel
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
    "a constant that decides": """
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
DECIDED = ("a stride of lanes", "a constant that decides", "a function")
# Those of one row are of one kind.
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
    """The texts that LLVM compiles."""
    texts: list[str] = []
    plain = jit.compile_text

    def counted(text: str, *, quickly: bool = False) -> bytes:
        texts.append(text)
        return plain(text, quickly=quickly)

    monkeypatch.setattr(jit, "compile_text", counted)
    return texts


def made(body: str, block: Block, number: int) -> SimulatedKernel:
    device = simulator()
    assert isinstance(device, SimulatedDevice)
    text = f"""
        __device__ __noinline__ unsigned far(int i, int j) {{ return i * 7 + 3 * j; }}
        extern "C" __global__ void k(const float* a, float* b, int* k, int n) {{{HEAD}{body}}}"""
    sizes = dict(zip(("BX", "BY", "BZ"), block, strict=True))
    return device.compile(text, "k", defines={**sizes, "NUMBER": number})


def traced(body: str, block: Block, number: int) -> tuple[TraceRecorder, TraceRecorder, int]:
    """A launch counted, and a wave of it traced; and where its arrays lie."""
    kernel, rng = made(body, block, number), np.random.default_rng(1)
    device = kernel.device
    arrays = [
        device.asarray(rng.random(SIZE, np.float32)),
        device.zeros(SIZE),
        device.asarray(rng.integers(0, 1000, SIZE, np.int32)),
    ]
    recordings = TraceRecorder(), TraceRecorder(Wave(1, 2, 400, 100_000))
    shared = 4 * int(np.prod(block)) if "extern" in body else 0
    for recording, order in zip(recordings, (None, np.arange(1, 3)), strict=True):
        recording.cores = 1
        kernel.record(recording, (4, 1, 1), block, (*arrays, np.int32(SIZE)), shared, order=order)
    return *recordings, arrays[0].allocation.address


def told(body: str, block: Block, number: int) -> list[object]:
    """All that is asked of a launch, from the first array's address on."""
    counted, wave, start = traced(body, block, number)
    base = np.uint64((start >> 7 << 22) & ((1 << 64) - 1))
    words = [wave.words[warp, : int(n)] - base for warp, n in enumerate(wave.used)]
    return [
        counted.blocks().tolist(),
        wave.blocks().tolist(),
        [word.tolist() for word in words],
        wave.states.tolist(),
        [shown(one, start) for one in counted.requests()],
    ]


def shown(one: Requests, start: int) -> tuple[object, ...]:
    base = 0 if one.access.space == "shared" else start
    active = (one.masks[:, None] >> np.arange(32)) & 1
    return one.access, one.reached, one.made, one.masks.tolist(), ((one.addresses - base) * active).tolist()


@pytest.mark.parametrize("name", BODIES)
def test_shared_code_does_what_code_of_its_own_does(
    name: str, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    body = BODIES[name]
    launches = [(kind[n % len(kind)], number) for kind in BLOCKS for n, number in enumerate(NUMBERS)]
    shared = [told(body, *launch) for launch in launches]
    assert name in DECIDED or len(compiled) == len(BLOCKS)
    monkeypatch.setattr(TraceInstrumentation, "shared", False)
    for launch, found in zip(launches, shared, strict=True):
        assert found == told(body, *launch), launch


def test_blocks_of_another_kind_have_code_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """One text, whatever the block."""
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
    shared = [told(body, block, 5) for block in blocks]
    monkeypatch.setattr(TraceInstrumentation, "shared", False)
    for block, found in zip(blocks, shared, strict=True):
        assert found == told(body, block, 5), block


def test_blocks_of_one_kind_share_code(compiled: list[str]) -> None:
    for kind in BLOCKS:
        compiled.clear()
        for block in kind:
            traced(BODIES["a tile"], block, 9)
        assert len(compiled) == 1, kind


def test_a_number_that_makes_no_difference_is_not_in_the_code(compiled: list[str]) -> None:
    for number in NUMBERS:
        traced(BODIES["a bound"], (64, 2, 1), number)
    assert len(compiled) == 1


@pytest.mark.parametrize(
    "body",
    [
        "b[i] = a[tx * NUMBER];",
        'int s = 1; asm volatile("mov.u32 %0, %1;" : "=r"(s) : "n"(NUMBER)); b[i] = a[tx * s];',
    ],
    ids=["at once", "through a register"],
)
def test_a_step_from_lane_to_lane_is_in_the_code(body: str, compiled: list[str]) -> None:
    for number in (6, 10, 6):
        traced(body, (64, 2, 1), number)
    assert len(compiled) == 2


def places() -> Iterator[tuple[str, str]]:
    yield "the first", "s[tx + 4 * BX] = 1;"
    yield "of a lane", "s[k[i] & 1 ? 4 * BX : tx] = 1;"
    yield "far behind", "s[tx + (1 << 20)] = 1;"


@pytest.mark.parametrize("store_to", dict(places()).values(), ids=dict(places()))
def test_an_array_ends_where_it_does_in_each_kernel(store_to: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shared memory ends where the array of this kernel does, not where that of the code's first one did."""
    body = (
        f"__shared__ volatile float s[4 * BX]; s[tx] = a[i]; if (NUMBER == 33) {{ {store_to} }} b[i] = s[tx];"
    )

    def fault(block: Block) -> str:
        with pytest.raises(MemoryFault) as found:
            traced(body, block, 33)
        return str(found.value)

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
    ("one", "other"),
    [
        ("64, 1, 1", "32, 4, 1"),
        ("[256]", "[128]"),
        ("r1, 7", "r1, 9"),
        ("%r1, 5", "%r1, 6"),
        ("r2, 2", "r2, 3"),
        ("+8", "+16"),
    ],
)
def test_the_form_says_nothing_of_a_number_that_stands_apart(one: str, other: str) -> None:
    first, second = parse(PTX), parse(PTX.replace(one, other))
    assert first.template_digest == second.template_digest
    assert first.digest != second.digest


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("[16]", "[32]"),
        ("+0]", "+4]"),
        ("r1, 7", "r1, -7"),
        ("add.s32", "sub.s32"),
        ("align 4 .b8 tile", "align 8 .b8 tile"),
    ],
)
def test_the_form_says_everything_else(one: str, other: str) -> None:
    assert parse(PTX).template_digest != parse(PTX.replace(one, other)).template_digest
