"""Counters of launches: by Nsight Compute's names, by source line and by access."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpulab
from gpulab.compiler.sass.disassembly import find_nvdisasm
from gpulab.devices.simulator.simulated_device import SimulatedDevice
from gpulab.errors import MemoryFault
from gpulab.profiling.counts.metrics import Counters
from gpulab.simt.codegen import native
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
    device = gpulab.device("sim:h200")
    assert isinstance(device, SimulatedDevice)
    return device


def transposed(device: SimulatedDevice, pad: int) -> tuple[Counters, Any, np.ndarray]:
    host = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    out = device.zeros((64, 64))
    kernel = device.compile(TRANSPOSE, defines={"PAD": pad})
    return gpulab.counters(kernel, (2, 2), (32, 32), (out, device.asarray(host), 64)), out, host


def test_counted_kernel_runs_once(device: SimulatedDevice) -> None:
    _, out, host = transposed(device, 1)
    np.testing.assert_array_equal(device.asnumpy(out), host.T)


@pytest.mark.parametrize(("pad", "wavefronts"), [(0, 32), (1, 1)])
def test_bank_conflicts_of_a_transposition(device: SimulatedDevice, pad: int, wavefronts: int) -> None:
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


def test_counts_by_source_line(device: SimulatedDevice) -> None:
    counts, _, _ = transposed(device, 0)
    assert {line for line, c in counts.lines.items() if c.global_load_requests} == {5}
    assert {line for line, c in counts.lines.items() if c.global_store_requests} == {7}
    assert counts.lines[7].shared_load_wavefronts == counts.shared_load_wavefronts
    assert counts.warp_instructions >= sum(c.warp_instructions for c in counts.lines.values()) > 0


def test_addresses_of_the_worst_request(device: SimulatedDevice) -> None:
    counts, _, _ = transposed(device, 0)
    (load,) = [a for a in counts.accesses if (a.space, a.kind) == ("shared", "load")]
    assert load.wavefronts_per_request == 32
    assert load.worst is not None
    assert load.worst.addresses == tuple(128 * lane + 4 * load.worst.warp for lane in range(32))
    assert (load.line, load.width, load.worst.mask) == (7, 4, 2**32 - 1)


def test_threads_past_the_end_are_not_counted(device: SimulatedDevice) -> None:
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


def test_counters_are_a_mapping_of_metrics(device: SimulatedDevice) -> None:
    counts, _, _ = transposed(device, 1)
    assert dict(counts) == {name: counts[name] for name in counts}
    assert len(counts) == len(list(counts))
    with pytest.raises(KeyError):
        counts["no__such_metric.sum"]


def test_provenance_is_the_simulator(device: SimulatedDevice) -> None:
    counts, _, _ = transposed(device, 1)
    assert (counts.provenance.kind, counts.provenance.device) == ("counted", device.name)
    assert counts.sampled_blocks is None
    assert counts.blocks == 4


def test_kernel_from_ptx_counts_ptx_instructions(device: SimulatedDevice) -> None:
    ptx = device.compile(SCALE).program.ptx
    array = device.asarray(np.ones(64, np.float32))
    counts = gpulab.counters(device.load_ptx(ptx), 1, 64, (array, 64, 2.0))
    assert counts.instruction_set == "PTX"
    assert counts.caveats
    assert counts[LOAD.format("requests")] == 2
    assert counts.opcodes["fma"] == 2
    assert counts["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"] == 64


def test_atomics_with_unused_result_are_reductions(device: SimulatedDevice) -> None:
    kernel = device.compile(
        'extern "C" __global__ void k(int* a) { atomicAdd(a, 1);\n'
        " if (atomicAdd(a + 1 + threadIdx.x, 1) > 5) a[200] = 1; }"
    )
    counts = gpulab.counters(kernel, 3, 64, (device.zeros(256, np.int32),))
    assert counts["l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"] == 6
    assert counts["l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum"] == 6
    assert counts["l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"] == 6
    assert counts["l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum"] == 3 * (5 + 5)


@pytest.mark.parametrize(
    ("update", "sectors"),
    [
        ("atomicAdd(a + threadIdx.x, 1)", 4 + 4),
        ("atomicAdd(a + threadIdx.x / 2, 1)", 2 * (2 + 2)),  # pairs of lanes
        ("atomicAdd(a + (threadIdx.x < 48 ? 0 : threadIdx.x), 1)", 32 + 16 + 2),
        ("atomicAdd((float*)a, 1.0f)", 32 + 32),
        ("atomicAdd(a, 1)", 1 + 1),  # the assembler joins the lanes of a warp
        ("atomicMax(a, (int)threadIdx.x)", 1 + 1),
        ("if (threadIdx.x % 2) atomicAdd((float*)a, 1.0f)", 16 + 16),
    ],
)
def test_reductions_access_a_sector_again_for_lanes_with_one_element(
    update: str, sectors: int, device: SimulatedDevice
) -> None:
    """As Nsight Compute counts on an H100."""
    kernel = device.compile(f"__global__ void k(int* a) {{ {update}; }}")
    counts = gpulab.counters(kernel, 1, 64, (device.zeros(256, np.int32),))
    assert counts["l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"] == 2
    assert counts["l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum"] == sectors
    assert not counts.caveats


def test_caveats_name_lines_that_machine_code_executes_more_often(device: SimulatedDevice) -> None:
    kernel = device.compile(
        "__global__ void k(float* a) { __shared__ float s[2];\n"
        "s[0] = 0; __syncthreads();\n"
        "atomicAdd(s, 1.0f);\n"
        'if (threadIdx.x == 0) printf("%f", s[0]);\n'
        "atomicAdd(a, 1.0f); }"
    )
    counts = gpulab.counters(kernel, 1, 32, (device.zeros(1),))
    assert [caveat.partition(" in line ")[2][:1] for caveat in counts.caveats if "printf" in caveat] == ["4"]
    assert ["line 3 is a loop" in caveat for caveat in counts.caveats if "atomic" in caveat] == [True]


@pytest.mark.parametrize("optimized", [False, True])
@pytest.mark.parametrize(
    ("formula", "values", "slow"),
    [
        ("x[1] / x[0]", (3.0, -1.0), False),
        ("x[1] / x[0]", (3.0, 0.0), True),
        ("x[1] / x[0]", (0.0, 1.0), True),
        ("x[1] / x[0]", (1e20, 1e-20), True),  # the quotient is subnormal
        ("x[1] / x[0]", (1e-20, 1e-15), False),
        ("x[1] / x[0]", (2.0**125, 1.0), True),
        # The next ones are limits for which Nsight Compute counted the instructions on an H100.
        ("x[1] / x[0]", (1.0, 2.0**-102), False),
        ("x[1] / x[0]", (1.0, 2.0**-102 * (1 - 2.0**-24)), True),
        ("x[1] / x[0]", (2.0**125 * (1 - 2.0**-24), 2.0**100), False),
        ("x[1] / x[0]", (2.0**125, 2.0**100), True),
        ("x[1] / x[0]", (2.0**-125, 2.0**-80), False),
        ("x[1] / x[0]", (2.0**-125 * (1 - 2.0**-24), 2.0**-80), True),
        ("x[1] / x[0]", (2.0**-66, 2.0**60), False),
        ("x[1] / x[0]", (2.0**-66 * (1 - 2.0**-24), 2.0**60), True),
        ("x[1] / x[0]", (2.0**65 * (1 - 2.0**-24), 2.0**-60), False),
        ("x[1] / x[0]", (2.0**65, 2.0**-60 * (2 - 2.0**-23)), True),
        ("1.0f / x[0]", (1e-38, 1.0), True),
        ("1.0f / x[0]", (2e-38, 1.0), False),
        ("1.0f / x[0]", (8e37, 1.0), False),
        ("1.0f / x[0]", (9e37, 1.0), True),
        ("sqrtf(x[0])", (0.0, 1.0), True),
        ("sqrtf(x[0])", (2.0, 1.0), False),
        ("sqrtf(x[0])", (3.8e-31, 1.0), True),
        ("sqrtf(x[0])", (4.0e-31, 1.0), False),
        ("sqrtf(x[0])", (-1.0, 1.0), True),
        ("(double)x[1] / x[0]", (3.0, -1.0), False),
        ("(double)x[1] / x[0]", (3.0, 0.0), True),
        ("(double)x[1] / x[0]", (1e30, 1e-30), False),
        ("1.0 / x[0]", (1e-38, 1.0), False),
        ("1.0 / x[0]", (0.0, 1.0), True),
        ("sqrt((double)x[0])", (1.0, 1.0), False),
        ("sqrt((double)x[0])", (0.0, 1.0), True),
        ("rsqrt((double)x[0])", (-1.0, 1.0), True),
        ("__fdividef(x[1], x[0])", (1.0, 0.0), False),
    ],
)
def test_caveat_names_divisions_and_roots_on_the_slow_path(
    formula: str,
    values: tuple[float, float],
    slow: bool,
    optimized: bool,
    device: SimulatedDevice,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if optimized:
        monkeypatch.setattr(native, "OPTIMIZATION_S", 0.0)
    kernel = device.compile(
        "__global__ void k(double* out, const float* all, int n)\n"
        "{ const float* x = all + 2 * threadIdx.x;\n"
        f"if (threadIdx.x < n) out[threadIdx.x] =\n{formula}; }}"
    )
    pairs = np.ones((32, 2), np.float32)
    pairs[30] = values  # lane 31 has operands for the slow path, but does not take part
    pairs[31] = 0.0
    counts = gpulab.counters(kernel, 1, 32, (device.zeros(32, np.float64), device.asarray(pairs), 31))
    assert ["of line 4 " in caveat for caveat in counts.caveats] == [True] * slow


@pytest.mark.parametrize("optimized", [False, True])
@pytest.mark.parametrize(
    ("lines", "opcode", "threads"),
    [
        ("float v = x[t]; float w = v < 10.0f ? v * 3.0f : v; y[t] = w;", "fmul", 10),
        ("float v = x[t]; float w = v < 10.0f ? v : v + 3.0f; y[t] = w;", "fadd", 22),
        ("float v = x[t]; float w = v * 3.0f; y[t] = v < 10.0f ? w : v; y[t + 32] = w;", "fmul", 32),
    ],
)
def test_lanes_that_select_another_value_do_not_compute_a_result(
    lines: str,
    opcode: str,
    threads: int,
    optimized: bool,
    device: SimulatedDevice,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The assembler makes a predicate of the condition."""
    if optimized:
        monkeypatch.setattr(native, "OPTIMIZATION_S", 0.0)
    kernel = device.compile(f"__global__ void k(float* y, const float* x) {{ int t = threadIdx.x; {lines} }}")
    values = device.asarray(np.arange(32, dtype=np.float32))
    counts = gpulab.counters(kernel, 1, 32, (device.zeros(64), values))
    assert counts[f"smsp__sass_thread_inst_executed_op_{opcode}_pred_on.sum"] == threads


def test_sample_of_a_large_grid_is_scaled(device: SimulatedDevice) -> None:
    """The last blocks on each axis have fewer active threads than those inside; both are sampled."""
    source = """extern "C" __global__ void k(float* out, const float* a, int n) {
        int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
        if (x < n - 16 && y < n - 4) out[x + n * y] = a[x + n * y];
    }"""
    grid, n = (48, 192), 48 * 32
    ones = np.ones((n, n), np.float32)
    out = device.asarray(ones)
    counts = gpulab.counters(device.compile(source), grid, (32, 8), (out, device.zeros((n, n)), n))

    assert counts.blocks == 48 * 192
    assert counts.sampled_blocks is not None
    assert counts.sampled_blocks < counts.blocks / 2
    assert any(str(counts.sampled_blocks) in caveat for caveat in counts.caveats)
    warps, full_sectors = 48 * (n - 4), 47 * (n - 4) * 4
    for name in (LOAD, STORE):
        assert counts[name.format("requests")] == pytest.approx(warps, rel=1e-6)
        assert counts[name.format("sectors")] == pytest.approx(full_sectors + 2 * (n - 4), rel=1e-6)
    assert counts.compulsory_bytes_written == pytest.approx(4 * (n - 16) * (n - 4), rel=0.05)
    np.testing.assert_array_equal(device.asnumpy(out), ones)  # the sampled blocks worked on copies


def test_fault_of_the_launch_is_raised(device: SimulatedDevice) -> None:
    with pytest.raises(MemoryFault):
        gpulab.counters(device.compile(SCALE), 4, 256, (device.zeros(1000), 1001, 2.0))


def test_results_are_copied_back_to_the_arrays_of_another_device(device: SimulatedDevice) -> None:
    kernel = PythonDevice({"scale": print}).compile("", "scale")
    kernel.program = device.compile(SCALE).program
    kernel.device = PythonDevice()
    kernel.on_simulator = device.module_of(kernel.program).get_function("scale")
    kernel.module = kernel.on_simulator.module
    array = np.ones(64, np.float32)
    counts = gpulab.counters(kernel, 1, 64, (array, 60, 2.0))
    assert counts.global_load_requests == 2
    assert kernel.launches == []
    np.testing.assert_array_equal(array, np.where(np.arange(64) < 60, 3, 1))


@pytest.mark.skipif(find_nvdisasm() is None, reason="needs nvdisasm")
def test_exit_after_a_loop_of_atomics_is_counted(device: SimulatedDevice) -> None:
    kernel = device.compile("""__global__ void k(int* x) {
        for (int i = 0; i < 50; i++) {
            atomicAdd(&x[0], 1);
            atomicMax(&x[1], i);
        }
    }""")
    counts = gpulab.counters(kernel, 1, 256, (device.zeros(2, np.int32),))
    assert counts.opcodes["EXIT"] == 8
    assert counts["smsp__thread_inst_executed_per_inst_executed.ratio"] == 32
