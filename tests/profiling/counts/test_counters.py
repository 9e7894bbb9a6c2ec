"""Counts of whole launches, by Nsight Compute's names, by line and by access."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpulab
from gpulab.devices.simulated import SimulatedDevice
from gpulab.errors import MemoryFault
from gpulab.profiling.counts import counters as room
from gpulab.profiling.counts.counters import Counters
from tests.python_device import PythonDevice

LOAD = "l1tex__t_{}_pipe_lsu_mem_global_op_ld.sum"
STORE = "l1tex__t_{}_pipe_lsu_mem_global_op_st.sum"

TRANSPOSE = """extern "C" __global__ void transpose(float* out, const float* in, int n)
{
    __shared__ float tile[32][32 + PAD];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    out[(blockIdx.x * 32 + threadIdx.y) * n + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}"""
SCALE = """extern "C" __global__ void scale(float* a, int n, float f)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = f * a[i] + 1.0f;
}"""


@pytest.fixture
def device() -> SimulatedDevice:
    found = gpulab.device("sim:h200")
    assert isinstance(found, SimulatedDevice)
    return found


def transposed(device: SimulatedDevice, pad: int) -> tuple[Counters, Any, np.ndarray]:
    host = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    out = device.zeros((64, 64))
    kernel = device.compile(TRANSPOSE, defines={"PAD": pad})
    return gpulab.counters(kernel, (2, 2), (32, 32), (out, device.asarray(host), 64)), out, host


def test_the_kernel_has_run_once(device: SimulatedDevice) -> None:
    _, out, host = transposed(device, 1)
    np.testing.assert_array_equal(device.asnumpy(out), host.T)


@pytest.mark.parametrize(("pad", "wavefronts"), [(0, 32), (1, 1)])
def test_bank_conflicts_of_a_transpose(device: SimulatedDevice, pad: int, wavefronts: int) -> None:
    counts, _, _ = transposed(device, pad)
    warps = 4 * 32
    assert counts["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"] == wavefronts * warps
    assert counts["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"] == (wavefronts - 1) * warps
    assert counts["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"] == warps
    assert counts["smsp__sass_inst_executed_op_shared_ld.sum"] == warps
    assert counts.shared_load_bank_conflicts == (wavefronts - 1) * warps
    assert counts[LOAD.format("requests")] == counts[STORE.format("requests")] == warps
    assert counts[LOAD.format("sectors")] == counts[STORE.format("sectors")] == 4 * warps
    assert counts.sectors_per_load_request == 4
    assert counts.compulsory_bytes_read == counts.compulsory_bytes_written == 4 * 64 * 64


def test_counts_of_each_line(device: SimulatedDevice) -> None:
    counts, _, _ = transposed(device, 0)
    assert {line for line, c in counts.lines.items() if c.global_load_requests} == {5}
    assert {line for line, c in counts.lines.items() if c.global_store_requests} == {7}
    assert counts.lines[7].shared_load_wavefronts == counts.shared_load_wavefronts
    assert counts.warp_instructions >= sum(c.warp_instructions for c in counts.lines.values()) > 0


def test_the_picture_of_one_warp(device: SimulatedDevice) -> None:
    counts, _, _ = transposed(device, 0)
    (load,) = [a for a in counts.accesses if (a.space, a.kind) == ("shared", "load")]
    assert load.wavefronts_per_request == 32
    assert load.worst is not None
    assert load.worst.addresses == tuple(128 * lane + 4 * load.worst.warp for lane in range(32))
    assert (load.line, load.width, load.worst.mask) == (7, 4, 2**32 - 1)


def test_threads_behind_the_end_are_not_counted(device: SimulatedDevice) -> None:
    array = device.asarray(np.ones(1000, np.float32))
    counts = gpulab.counters(device.compile(SCALE), 4, 256, (array, 1000, 2.0))
    assert counts[LOAD.format("requests")] == 32
    assert counts[LOAD.format("sectors")] == 125
    (load,) = [a for a in counts.accesses if a.kind == "load"]
    assert load.threads == 1000
    assert counts["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"] == 1000
    assert counts.flops == 2000
    assert counts.compulsory_bytes_written == 4000
    assert counts["smsp__thread_inst_executed_per_inst_executed.ratio"] == counts.active_threads_per_warp > 31
    assert counts["launch__registers_per_thread"] == device.compile(SCALE).resources.registers


def test_it_is_a_mapping_of_metrics(device: SimulatedDevice) -> None:
    counts, _, _ = transposed(device, 1)
    assert dict(counts) == {name: counts[name] for name in counts}
    assert len(counts) == len(list(counts))
    with pytest.raises(KeyError):
        counts["no__such_metric.sum"]


def test_where_the_numbers_come_from(device: SimulatedDevice) -> None:
    counts, _, _ = transposed(device, 1)
    assert (counts.provenance.kind, counts.provenance.device) == ("counted", device.name)
    assert counts.sampled_blocks is None
    assert counts.blocks == 4


def test_ptx_alone_counts_ptx(device: SimulatedDevice) -> None:
    ptx = device.compile(SCALE).program.ptx
    array = device.asarray(np.ones(64, np.float32))
    counts = gpulab.counters(device.load_ptx(ptx), 1, 64, (array, 64, 2.0))
    assert counts.instruction_set == "PTX"
    assert counts.doubts
    assert counts[LOAD.format("requests")] == 2
    assert counts.opcodes["fma"] == 2
    assert counts["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"] == 64


def test_atomics_whose_result_nobody_uses_are_reductions(device: SimulatedDevice) -> None:
    kernel = device.compile(
        'extern "C" __global__ void k(int* a) { atomicAdd(a, 1);\n'
        " if (atomicAdd(a + 1 + threadIdx.x, 1) > 5) a[200] = 1; }"
    )
    counts = gpulab.counters(kernel, 3, 64, (device.zeros(256, np.int32),))
    assert counts["l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"] == 6
    assert counts["l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum"] == 6
    assert counts["l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"] == 6
    assert counts["l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum"] == 3 * (5 + 5)


def test_a_sample_of_a_large_grid_is_scaled(device: SimulatedDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks at the edges differ from those inside; the sample knows both, and the whole is the same."""
    source = """extern "C" __global__ void k(float* out, const float* a, int n) {
        int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
        if (x > 0 && y > 0 && x < n - 5 && y < n - 9) out[x + n * y] = a[x - 1 + n * y] + a[x + n * y + n];
    }"""
    n = 20 * 16
    kernel = device.compile(source)
    a, out = device.zeros((n, n)), device.zeros((n, n))
    whole = gpulab.counters(kernel, (20, 20), (16, 16), (out, a, n))
    monkeypatch.setattr(room, "COUNTED_THREADS", 1000)
    monkeypatch.setattr(room, "SAMPLED_THREADS", 16 * 16 * 40)
    ones = np.ones((n, n), np.float32)
    out = device.asarray(ones)
    part = gpulab.counters(kernel, (20, 20), (16, 16), (out, a, n))
    assert part.sampled_blocks is not None
    assert part.sampled_blocks < 20 * 20 / 2
    assert part.blocks == 20 * 20
    assert any("400 blocks" in doubt for doubt in part.doubts)
    for name in (LOAD, STORE):
        for what in ("requests", "sectors"):
            assert part[name.format(what)] == pytest.approx(whole[name.format(what)], rel=1e-6)
    assert part.warp_instructions == pytest.approx(whole.warp_instructions, rel=1e-6)
    assert part.compulsory_bytes_written == pytest.approx(whole.compulsory_bytes_written, rel=0.05)
    np.testing.assert_array_equal(device.asnumpy(out), ones)  # it ran on copies


def test_a_fault_is_raised_as_by_a_launch(device: SimulatedDevice) -> None:
    with pytest.raises(MemoryFault):
        gpulab.counters(device.compile(SCALE), 4, 256, (device.zeros(1000), 1001, 2.0))


def test_on_another_device_the_simulator_works_on_copies(device: SimulatedDevice) -> None:
    """What a GPU's kernel would do: its arrays get what the simulator computed."""
    kernel = PythonDevice({"scale": print}).compile("", "scale")
    kernel.program = device.compile(SCALE).program
    kernel.device = PythonDevice()
    kernel.on_simulator = device.kernel_of(kernel.program, "scale")
    array = np.ones(64, np.float32)
    counts = gpulab.counters(kernel, 1, 64, (array, 60, 2.0))
    assert counts.global_load_requests == 2
    assert kernel.launches == []
    np.testing.assert_array_equal(array, np.where(np.arange(64) < 60, 3, 1))
