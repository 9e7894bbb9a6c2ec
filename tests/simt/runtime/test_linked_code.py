"""Linked code, which runs before code is optimised, against optimised code: values, findings and counts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpulab
from gpulab.cache import DiskCache
from gpulab.devices.simulator.simulated_device import SimulatedDevice
from gpulab.simt.codegen import jit, native
from gpulab.simt.ptx.syntax import Module

N = 1000  # elements that the kernels may use; no multiple of a block's threads

BODIES = {
    "rows past the end": "if (i < n) y[i] = x[i] + x[n - 1 - i];",
    "misaligned rows": "y[i] = ((float*) ((char*) x + 2))[i];",
    "far outside": "if (i < n) y[i] = x[i + (i == 500) * (1 << 24)];",
    "missing barrier": "s[t] = x[i]; y[i] = s[t ^ 1] + s[t ^ 64];",
    "write after reads of other warps": "s[t] = x[i]; __syncthreads(); y[i] = s[127 - t]; s[t] = 1;",
    "repeated reads, then a write": """
        float v = 0;
        for (int k = 0; k < 3; k++) v += x[i];
        y[i] = v;
        if (t == 70) x[3] = v;""",
    "one address": "y[i] = x[5] + s[7]; if (i == 40) x[5] = 2;",
    "one address in shared memory": "s[3] = t; __syncthreads(); y[i] = s[3]; if (t == 1) s[3] = 0;",
    "unrolled reads": """
        s[t] = x[i];
        __syncthreads();
        float v = 0;
        for (int k = 0; k < 16; k++) v += s[k];
        s[5] = v;
        y[i] = v;""",
    "some lanes of rows": """
        if (t % 3) s[t] = x[i];
        __syncthreads();
        if (t % 5 < 3) s[t] = x[i] + 1;
        y[i] = s[t ^ 3];""",
    "rows of the same elements": """
        if (t < 48) s[threadIdx.x] = x[i];
        __syncthreads();
        y[i] = s[threadIdx.x];
        s[64 + threadIdx.x] = t;""",
    "vectors": """
        if (t < 32) ((float4*) s)[t] = ((float4*) x)[t];
        __syncthreads();
        y[i] = s[t];
        x[4 * t] = 0;""",
    "bytes": "char* b = (char*) s; b[t] = t; y[i] = b[t ^ 3] + ((char*) x)[i];",
    "strides": "y[2 * t + 1] = x[3 * t]; y[300 - t] = s[4 * t % 128];",
    "predicates": "if (x[i] > 0.5f) s[t] = x[i]; y[i] = t & 1 ? s[t] : 0; if (t == 9) y[8] = 1;",
    "atomics": "atomicAdd(&y[t & 7], 1.0f); if (t == 3) y[4] = x[t]; atomicAdd(&s[t / 2], x[i]);",
    "equal values": "y[t / 2] = 1; s[0] = t; y[N + t] = s[0];",
    "equal and different values": """
        y[t / 2] = x[i];
        y[600 + t / 2] = 1;
        s[t / 2] = t;
        s[64 + t / 2] = 3;""",
    "elements of other sizes": """
        ((double*) y)[t / 2] = ((double*) x)[t];
        ((short*) s)[t / 2] = t;
        ((short*) s)[128 + t] = ((short*) s)[t + 1];""",
    "warps": """
        s[t] = x[i];
        if (t < 32) {
            s[t] += s[t + 16];
            __syncwarp();
            s[t] += s[t + 8];
        }
        y[i] = s[t];""",
    "lanes of a mask": """
        unsigned mask = __ballot_sync(~0u, t % 3);
        if (t % 3) y[i] = __shfl_sync(mask, x[i], 1);""",
}
CASES = [(name, (16, 8)) for name in BODIES]  # a warp has two rows of 16 threads
CASES += [(name, (128, 1)) for name in ("rows past the end", "repeated reads, then a write", "vectors")]


def outcome(body: str, block: tuple[int, int]) -> tuple[list[float], list[str], list[str], object]:
    """Return the values of a sanitized launch, its findings, and the counts of its lines and the kernel."""
    device = gpulab.device("sim")
    assert isinstance(device, SimulatedDevice)
    source = f"""__global__ void k(float* x, float* y, int n)
{{
    const int N = {N};
    __shared__ float s[192];
    int t = threadIdx.y * blockDim.x + threadIdx.x, i = blockIdx.x * 128 + t;
    {body}
}}"""
    kernel = device.compile(source)
    x = device.asarray(np.random.default_rng(0).random(2 * N, np.float32))
    y = device.empty(2 * N)
    found = gpulab.sanitize(kernel, 4, block, (x, y, N))
    findings = [re.sub("0x[0-9a-f]+", "", f"{finding} {finding.count}") for finding in found]
    values = np.nan_to_num(device.asnumpy(y), nan=-1).tolist()
    if any(finding.tool == "memcheck" for finding in found):  # the launch cannot be counted
        return values, findings, [], None
    counts = gpulab.counters(kernel, 4, block, (x, y, N))
    lines = [f"{number} {line.opcodes} {line.accesses != ()}" for number, line in counts.lines.items()]
    return values, findings, lines, counts.metrics


@pytest.mark.parametrize(("name", "block"), CASES, ids=[f"{name}, {x}x{y}" for name, (x, y) in CASES])
def test_linked_code_finds_and_counts_what_optimised_code_does(
    monkeypatch: pytest.MonkeyPatch, name: str, block: tuple[int, int]
) -> None:
    monkeypatch.setattr(native, "kernel_cache", lambda: None)
    outcomes = []
    for seconds in (1e9, 0.0):  # never optimised, and optimised before the launch
        monkeypatch.setattr(native, "OPTIMIZATION_S", seconds)
        outcomes.append(outcome(BODIES[name], block))
    assert outcomes[0] == outcomes[1]


def test_a_kernel_that_has_run_is_sanitized_and_counted_without_lowering_it_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(native, "kernel_cache", lambda: DiskCache(tmp_path, 1 << 28))
    lowered: list[str] = []
    lower = native.lower

    def recorded(module: Module, name: str, *args: Any, **options: Any) -> Any:
        lowered.append(name)
        return lower(module, name, *args, **options)

    monkeypatch.setattr(native, "lower", recorded)
    device = gpulab.device("sim")
    kernel = device.compile("__global__ void k(float* x) { x[threadIdx.x] += 1; }")
    arguments = (1, 32, (device.zeros(32),))
    kernel(*arguments)
    gpulab.sanitize(kernel, *arguments)
    gpulab.counters(kernel, *arguments)
    assert len(lowered) == 1


TILES = """
__global__ void k(float* c, const float* a, const float* b, int n)
{
    __shared__ float s[16][16], t[16][16];
    int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        s[y][x] = a[row * n + k + x];
        t[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int i = 0; i < 16; i++) sum += s[y][i] * t[i][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}"""


@pytest.mark.parametrize("tier", ["values", "racecheck", "counters"])
def test_optimised_code_has_the_sites_and_the_saved_registers_of_linked_code(
    monkeypatch: pytest.MonkeyPatch, tier: str
) -> None:
    monkeypatch.setattr(native, "kernel_cache", lambda: None)
    module = gpulab.device("sim").compile(TILES).module.ptx
    (name,) = module.functions
    code = native.compile_kernel(module, name, native.Specialization((16, 16, 1), 2048, tier=tier))
    before = code.warp
    code.optimize()
    assert code.warp != before


@pytest.mark.parametrize("name", ["missing barrier", "atomics", "equal values"])
def test_platforms_without_linking_find_and_count_the_same(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(native, "kernel_cache", lambda: None)
    linked = outcome(BODIES[name], (128, 1))
    monkeypatch.setattr(jit, "_supports_near_calls", lambda: False)
    assert outcome(BODIES[name], (128, 1)) == linked
