"""Tests of the trace tier, which runs a slice of a kernel and must count and trace as the kernel does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from gpulab.devices.simulator.simulated_device import SimulatedDevice, SimulatedKernel
from gpulab.errors import MemoryFault
from gpulab.simt.analysis.basic_blocks import ControlFlow, reads, writes
from gpulab.simt.analysis.slicing import without_values
from gpulab.simt.codegen import native
from gpulab.simt.instrument.trace.trace_code import TraceInstrumentation
from gpulab.simt.instrument.trace.trace_recorder import Requests, TraceRecorder, Wave
from tests.simt.programs import simulator

GRID, BLOCK = (6, 2, 1), (48, 2, 1)
THREADS = 12 * 96
HEAD = """
    const int tx = threadIdx.x, ty = threadIdx.y, t = tx + 48 * ty;
    const int i = t + 96 * (blockIdx.x + 6 * blockIdx.y);
"""
BODIES = {
    "values only": "float v = a[i] * 2 + a[(i + 7) % n]; b[i] = sqrtf(v);",
    "a loaded index": "b[i] = a[k[i] % n];",
    "an index stored by another thread": "k[i ^ 1] = (i * 7) % n; __syncthreads(); b[i] = a[k[i]];",
    "an index through shared memory": """
        __shared__ int s[96]; s[t] = (t * 5) % 96; __syncthreads(); b[i] = a[s[95 - t]];""",
    "an index from an asynchronous copy": """
        __shared__ int s[96]; k[i] = (i * 3) % n;
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
            :: "r"((unsigned)__cvta_generic_to_shared(&s[t])), "l"(k + i));
        asm volatile("cp.async.wait_all;"); __syncthreads(); b[i] = a[s[95 - t] % n];""",
    "a loop bound from memory": "float v = 0; for (int j = 0; j < k[i] % 9; ++j) v += a[j]; b[i] = v;",
    "a branch by a float": "if (a[i] > 0.5f) b[i] = a[n - 1 - i]; else b[i / 2] = 1.0f;",
    "a float in shared memory": """
        __shared__ float s[96]; s[t] = a[i]; __syncthreads();
        float v = 0; for (int j = 0; j < 96; ++j) v += s[j] * s[(j + t) % 96]; b[i] = v;""",
    "an index from an exchange": """
        atomicExch(&k[i ^ 1], (i * 7) % n); __syncthreads(); b[i] = a[k[i]];""",
    "a carry": """
        unsigned low, high; asm("add.cc.u32 %0, %2, %3; addc.u32 %1, 0, 0;"
            : "=r"(low), "=r"(high) : "r"(k[i] * 4000000u), "r"(3000000000u)); b[i] = a[high];""",
    "a spin loop before a shuffle": """
        unsigned m = n > 5 ? ~0u : 1u; while (atomicCAS(k, -1, -2) == -1) {} float v = a[i];
        if (tx < 32) v += __shfl_down_sync(m, v, 1); b[i] = v;""",
    "a ticket": "if (t == 0) { int w = atomicAdd(k, 1); b[w % n] = a[w % n]; }",
    "atomics without a result": "atomicAdd(&b[k[i] % 64], a[i]); atomicMax(&k[i % 32], i);",
    "a loop on an atomic minimum": """
        int old = k[0]; while (old > i && old > 900) { atomicMin(k, old - 1); old = k[0]; } b[i] = old;""",
    "a sum over the warp": """
        float v = a[i]; for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
        if (tx % 32 == 0) b[i / 32] = v;""",
    "an index from another lane": "int m = __shfl_xor_sync(~0u, i, 1); b[i] = a[m];",
    "a vote": "unsigned m = __ballot_sync(~0u, k[i] & 1); b[i] = a[__popc(m)];",
    "local memory": """
        float v[8]; for (int j = 0; j < 8; ++j) v[j] = a[(i + j) % n]; b[i] = v[k[i] & 7];""",
    "an index from local memory": """
        int v[8]; for (int j = 0; j < 8; ++j) v[j] = (i * j) % n; b[i] = a[v[k[i] & 7]];""",
    "a pointer chosen by a value": "const float* p = k[i] & 1 ? a : b; b[i] = p[i / 2];",
    "an early return": "if (k[i] % 3 == 0) return; __syncwarp(__activemask()); b[i] = a[i];",
    "64 bits from two words": """
        unsigned long long w = (unsigned long long)k[i] * 4294967297ull + i; b[i] = a[w % n];""",
    "float4": "float4 v = ((const float4*)a)[i / 4]; ((float4*)b)[i / 4] = make_float4(v.x, 1, v.z, 2);",
    "a tile": "__shared__ float s[33 * 48]; s[33 * tx + ty] = a[i]; __syncthreads(); b[i] = s[33 * ty + tx];",
    "printing": 'if (i == 5) printf("%d\\n", k[i]); b[i] = a[i];',
}


@dataclass
class Traced:
    """The recorders of one launch in both modes; `start` is the address of the first array."""

    counted: TraceRecorder
    wave: TraceRecorder
    start: int
    printed: str


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the cache, in which the sliced and the complete code have the same key."""
    monkeypatch.setattr(native, "kernel_cache", lambda: None)


def compile_body(body: str) -> SimulatedKernel:
    device = simulator()
    assert isinstance(device, SimulatedDevice)
    text = f'extern "C" __global__ void k(const float* a, float* b, int* k, int n) {{{HEAD}{body}}}'
    return device.compile(text, "k")


def traced(body: str) -> Traced:
    """Count a launch on new arrays, and trace a wave of it."""
    kernel, rng = compile_body(body), np.random.default_rng(1)
    device = kernel.device
    arrays = [
        device.asarray(rng.random(THREADS, np.float32)),
        device.asarray(rng.random(THREADS, np.float32)),
        device.asarray(rng.integers(0, 1000, THREADS, np.int32)),
    ]
    recorders = TraceRecorder(), TraceRecorder(Wave(np.arange(2, 6), 1000, 100_000))
    printed = ""
    wave = np.arange(2, 6)
    for recorder, order in zip(recorders, (None, wave), strict=True):
        recorder.cores = 1  # so that blocks that wait for other blocks take the same path each time
        kernel.record(recorder, GRID, BLOCK, (*arrays, np.int32(THREADS)), order=order)
        printed += kernel.printed
    return Traced(*recorders, start=arrays[0].allocation.address, printed=printed)


def relative(requests: list[Requests], start: int) -> list[tuple[int, int, list[int], list[list[int]]]]:
    """Return the samples of each site; global addresses are relative to the first array."""
    found = []
    for request in requests:
        base = start if request.access.space != "shared" else 0
        lanes = [
            [int(a) - base if a >= base else int(a) for lane, a in enumerate(row) if mask >> lane & 1]
            for mask, row in zip(request.masks.tolist(), request.addresses, strict=True)
        ]
        found.append((request.reached, request.made, request.masks.tolist(), lanes))
    return found


@pytest.mark.parametrize("name", BODIES)
def test_slice_counts_and_traces_as_the_complete_kernel(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sliced = traced(BODIES[name])
    monkeypatch.setattr(TraceInstrumentation, "values", True)
    whole = traced(BODIES[name])
    np.testing.assert_array_equal(sliced.counted.blocks(), whole.counted.blocks())
    assert relative(sliced.counted.requests(), sliced.start) == relative(
        whole.counted.requests(), whole.start
    )
    assert sliced.printed == whole.printed
    np.testing.assert_array_equal(sliced.wave.states, whole.wave.states)


def flow(body: str) -> tuple[ControlFlow, ControlFlow]:
    kernel = compile_body(body)
    registers = {name for block in kernel.flow.blocks for item in block.code for name in writes(item)}
    return kernel.flow, without_values(kernel.flow, registers)


def operations(flow: ControlFlow) -> list[str]:
    return [item.op for block in flow.blocks for item in block.code]


def test_slice_omits_values_that_affect_no_address() -> None:
    _, sliced = flow(BODIES["a float in shared memory"])
    left = [item for block in sliced.blocks for item in block.code if item.op not in ("skip", "touch")]
    assert not [item for item in left if "f32" in item.parts]
    assert operations(sliced).count("touch") > 3


def test_slice_preserves_blocks_and_positions() -> None:
    whole, sliced = flow(BODIES["a branch by a float"])
    assert [len(block.code) for block in sliced.blocks] == [len(block.code) for block in whole.blocks]
    assert [block.targets for block in sliced.blocks] == [block.targets for block in whole.blocks]


def test_slice_keeps_values_that_decide_branches() -> None:
    whole, sliced = flow(BODIES["a branch by a float"])
    deciding = {block.condition.name for block in whole.blocks if block.condition is not None}
    kept = {name for block in sliced.blocks for item in block.code for name in writes(item)}
    assert deciding <= kept


def test_slice_reads_no_omitted_register() -> None:
    for body in BODIES.values():
        whole, sliced = flow(body)
        before = {name for block in whole.blocks for item in block.code for name in writes(item)}
        after = {name for block in sliced.blocks for item in block.code for name in writes(item)}
        read = {name for block in sliced.blocks for item in block.code for name in reads(item)}
        assert not read & (before - after)


@pytest.mark.parametrize("body", ["float v = a[i + n]; b[i] = v;", "b[i - 1] = 1.0f;"])
def test_out_of_bounds_address_is_reported_although_the_access_is_omitted(body: str) -> None:
    with pytest.raises(MemoryFault):
        traced(body)


LINES = 1 << 42  # a traced line has 42 bits for the address
ROW = """
extern "C" __global__ void k(const unsigned char* a, unsigned char* out, int lanes)
{
    const int t = threadIdx.x;
    if (t < lanes)
        out[t * 256] = a[OFFSET + STRIDE * t];
}
"""


@pytest.mark.parametrize("stride", [0, 1, 4, 8, 16, 24, 32, 33, 64, 128, 200])
@pytest.mark.parametrize("offset", [0, 20, 127])
@pytest.mark.parametrize("lanes", [64, 40])
def test_traced_request_has_its_lines_and_sectors(stride: int, offset: int, lanes: int) -> None:
    device = simulator()
    assert isinstance(device, SimulatedDevice)
    kernel = device.compile(ROW.replace("OFFSET", str(offset)).replace("STRIDE", str(stride)), "k")
    a, out = device.zeros(1 << 14, np.uint8), device.zeros(1 << 14, np.uint8)
    tracing = TraceRecorder(Wave(np.arange(1), 100, 10_000))
    kernel.record(tracing, (1, 1, 1), (64, 1, 1), (a, out, np.int32(lanes)))
    for warp in range(2):
        threads = range(32 * warp, min(32 * warp + 32, lanes))
        wanted: list[tuple[int, int, bool]] = []
        for array, place in ((a, lambda t: offset + stride * t), (out, lambda t: 256 * t)):
            lines: dict[int, int] = {}
            for thread in threads:
                at = array.allocation.address + place(thread)
                line = at // 128 % LINES
                lines[line] = lines.get(line, 0) | 1 << at % 128 // 32
            wanted += [(line, sectors, array is out) for line, sectors in lines.items()]
        words = [int(word) for word in tracing.words[warp, : tracing.used[warp]]]
        assert [(word >> 22, word & 15, bool(word & 16)) for word in words] == wanted
        assert sum(word >> 5 & 1 for word in words) == 2


def test_addresses_beyond_the_bits_of_a_traced_line() -> None:
    """Addresses are never reused, so that after many allocations they exceed 42 bits of line number."""
    device = SimulatedDevice("h200")
    kernel = device.compile(ROW.replace("OFFSET", "0").replace("STRIDE", "1"), "k")
    while (a := device.zeros(64, np.uint8)).allocation.address < 128 * LINES:
        pass
    out = device.zeros(1 << 14, np.uint8)
    tracing = TraceRecorder(Wave(np.arange(1), 100, 10_000))
    kernel.record(tracing, (1, 1, 1), (64, 1, 1), (a, out, np.int32(40)))
    assert tracing.used.tolist() == [1 + 32, 1 + 8]
