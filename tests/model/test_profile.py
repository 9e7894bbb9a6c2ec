"""Tests of profiles on the simulator."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import numpy as np
import pytest

import gpulab
from gpulab.cell import parse_cell
from gpulab.config import defines
from gpulab.gpus.architectures import architecture
from gpulab.model.profile import profile_variant, variant_launch
from gpulab.model.sampling import record_launch
from gpulab.model.unrolling import without_unrolling
from gpulab.profiling.speedup import time_variant
from gpulab.verification.check import compile_cell
from tests.kernel_configs import config

K1 = """
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < p; ++k) sum += b[i + n * k] * c[k + p * j];
    a[i + n * j] = sum;
}
"""
COPY = """
extern "C" __global__ void copy(float* to, const float* from, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[i];
}
"""
TILE = (1, 1, 1)
KERNELS = Path(__file__).parents[1] / "kernels"


@pytest.fixture(scope="module")
def device():
    return gpulab.device("sim:h200")


@pytest.fixture(scope="module")
def k1(device):
    return device.compile(K1, "mmkernel", defines((32, 1, 1), TILE))


@pytest.fixture(scope="module")
def profile(device, k1):
    return profile_variant(k1, config("matmul.K1", (32, 1, 1), TILE), device=device)


def test_provenance_names_the_modelled_gpu(profile):
    assert (profile.provenance.kind, profile.provenance.device) == ("modelled", "H200")


def test_bottleneck_is_the_largest_term(profile):
    assert profile.terms[profile.bottleneck] == max(profile.terms.values())


def test_sampled_names_the_size_of_the_grid(profile):
    assert "524,288" in profile.sampled


def test_counters_are_scaled_to_the_whole_launch(profile):
    assert profile.counters.global_load_requests == 2 * 4096**3 // 32


@pytest.mark.parametrize("gpu", ["a100", "gtx280", "k40"])
def test_gpu_without_measurements_is_marked_uncalibrated(device, k1, gpu):
    small = (256, 256, 256)
    uncalibrated = profile_variant(
        k1, config("matmul.K1", (32, 1, 1), TILE), device=device, shape=small, gpu=gpu
    )
    assert "uncalibrated" in str(uncalibrated.provenance)


def test_launches_of_different_seeds_have_different_inputs(device, k1):
    settings = config("matmul.K1", (32, 1, 1), TILE)
    launches = [variant_launch(k1, settings, device.spec, seed=seed) for seed in (0, 0, 1)]
    first, again, other = (device.asnumpy(launch.args[1])[:8, :64] for launch in launches)
    assert np.array_equal(first, again)
    assert not np.isin(other, first).any()


def test_launch_is_modelled_once_for_each_seed_size_and_gpu(device, k1, profile, monkeypatch):
    modelled = []

    def record(launch, spec):
        modelled.append(launch)
        return record_launch(launch, spec)

    monkeypatch.setattr("gpulab.model.profile.record_launch", record)
    variant = config("matmul.K1", (32, 1, 1), TILE)
    assert profile_variant(k1, variant, device=device) == profile
    assert modelled == []
    for options in ({"seed": 1}, {"shape": (256, 64, 64)}, {"gpu": "t10"}):
        first, second = (profile_variant(k1, variant, device=device, **options) for _ in range(2))
        assert first == second
    assert len(modelled) == 3


def test_kernel_that_was_profiled_can_be_deleted(device):
    kernel = device.compile(K1, "mmkernel", defines((32, 1, 1), TILE))
    alive = weakref.ref(kernel)
    profile_variant(kernel, config("matmul.K1", (32, 1, 1), TILE), device=device, shape=(64, 4, 4))
    del kernel
    gc.collect()
    assert alive() is None


def test_profile_follows_the_variables_of_the_module(device):
    text = K1.replace("extern", "__device__ int limit;\nextern", 1).replace("k < p", "k < limit")
    kernel = device.compile(text, "mmkernel", defines((32, 1, 1), TILE))
    times = []
    for limit in (4, 64):
        kernel.module.get_global("limit").set(np.array(limit, np.int32))
        variant = config("matmul.K1", (32, 1, 1), TILE)
        times.append(profile_variant(kernel, variant, device=device, shape=(256, 64, 64)).time_ms)
    assert times[0] < times[1]


def test_time_variant_on_the_simulator_is_the_modelled_time(device, k1, profile):
    timed = time_variant(k1, config("matmul.K1", (32, 1, 1), TILE))
    assert timed.timing.samples_ms == (profile.time_ms,)
    assert timed.timing.provenance == profile.provenance


def test_large_problem_takes_little_memory(device, k1, profile):
    used = device.memory.used
    time_variant(k1, config("matmul.K1", (32, 1, 1), TILE))
    assert device.memory.used - used < 1 << 29


def test_profile_of_a_launch_with_python_numbers_on_a_gpu_without_a_cache():
    old = gpulab.device("sim:gtx280")
    kernel = old.compile(COPY, "copy")
    arrays = [old.empty(1 << 16) for _ in range(2)]
    assert old.profile(kernel, 256, 256, [*arrays, 1 << 16]).time_ms > 0


def test_profile_of_a_launch_keeps_its_arrays(device):
    kernel = device.compile(COPY, "copy")
    source = device.asarray(np.arange(1 << 16, dtype=np.float32))
    target = device.asarray(np.full(1 << 16, 7, np.float32))
    assert device.profile(kernel, 256, 256, [target, source, 1 << 16]).time_ms > 0
    assert (device.asnumpy(target) == 7).all()


def test_copy_kernel_moves_each_byte_once(device):
    n = 1 << 25
    kernel = device.compile(COPY, "copy")
    profile_of_copy = device.profile(kernel, n // 256, 256, [device.zeros(n), device.zeros(n), n])
    assert profile_of_copy.dram_bytes == pytest.approx(8 * n, rel=0.1)


def test_short_blocks_with_wide_loads_move_the_compulsory_bytes(device):
    """Each of its requests has several lines, which fill the trace early."""
    cell = parse_cell((KERNELS / "stencil/right/opt_4_float4.cu").read_text())
    shape = (512, 512, 512)
    profile = profile_variant(compile_cell(cell, device), cell.config, device=device, shape=shape)
    assert profile.dram_bytes / cell.config.problem.compulsory_bytes(shape) == pytest.approx(1.05, abs=0.1)


def test_l2_of_a_gpu_without_l1_serves_the_repeated_loads_of_a_stencil(device):
    cell = parse_cell((KERNELS / "stencil/right/naive_guard_as_if.cu").read_text())
    shape = (512, 512, 512)
    kernel = compile_cell(cell, device)
    profile = profile_variant(kernel, cell.config, device=device, shape=shape, gpu="k40")
    assert profile.dram_bytes / cell.config.problem.compulsory_bytes(shape) == pytest.approx(1.05, abs=0.1)


@pytest.mark.parametrize("call", ["atomicAdd(sum, 1.0f)", "sink[i] = atomicAdd(sum, 1.0f)"])
def test_atomic_operation_takes_time_whether_its_result_is_used_or_not(device, call):
    source = f"""
    extern "C" __global__ void count(float* sum, float* sink)
    {{
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        {call};
    }}
    """
    arrays = device.zeros(1, np.float32), device.zeros(1 << 16, np.float32)
    profile = gpulab.profile(device.compile(source, "count"), 256, 256, arrays)
    assert profile.bottleneck == "atomics"


def test_atomic_addition_of_a_floating_point_number_takes_longer(device):
    """Per addition 3.49 instead of 1.46 cycles, measured. Two elements, so that lanes are not combined."""
    times = {}
    for name, dtype in (("float", np.float32), ("int", np.int32)):
        source = f"__global__ void k({name}* x) {{ atomicAdd(x + threadIdx.x % 2, ({name})1); }}"
        kernel = device.compile(source)
        times[name] = gpulab.profile(kernel, 4096, 256, (device.zeros(2, dtype),)).terms["atomics"]
    assert times["float"] / times["int"] == pytest.approx(3.49 / 1.46)


def test_scattered_requests_of_several_sms_do_not_join(device):
    source = """
    extern "C" __global__ void gather(const float* from, float* to)
    {
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
        to[i] = from[(i * 2654435761u) >> 14];
    }
    """
    n, spec = 1 << 20, gpulab.gpu("h200")
    arrays = device.zeros(1 << 18, np.float32), device.zeros(n, np.float32)
    profile = gpulab.profile(device.compile(source, "gather"), n // 256, 256, arrays)
    lookups_ms = 64 * n / (architecture(spec).l2_bytes_per_cycle * spec.boost_clock_mhz * 1e3)
    assert profile.terms["L2"] > 0.7 * lookups_ms


def test_block_size_with_lower_occupancy_is_not_faster(device):
    times = {}
    for threads in (32, 128):
        kernel = device.compile(K1, "mmkernel", defines((threads, 1, 1), TILE))
        times[threads] = profile_variant(
            kernel, config("matmul.K1", (threads, 1, 1), TILE), device=device, shape=(1024, 1024, 1024)
        ).time_ms
    assert times[32] >= times[128]


@pytest.mark.parametrize(
    ("loop", "changed"),
    [
        ("for (int k = 0; k < p; ++k) x += k;", True),
        ("for (int k = 0; k < 8; ++k) x += k;", False),
        ("#pragma unroll 4\nfor (int k = 0; k < p; ++k) x += k;", False),
        ("while (k < p) ++k;", True),
    ],
)
def test_unrolling_is_disabled_for_long_loops_without_a_pragma(loop, changed):
    assert ("#pragma unroll 1" in without_unrolling(f"int x = 0;\n{loop}\n")) is changed


def test_loads_from_constant_memory_take_a_turn_for_each_address(device):
    source = """__constant__ float table[64];
    extern "C" __global__ void look_up(float* out, int mask)
    {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        out[i] = table[i & mask];
    }"""
    kernel = device.compile(source, "look_up")
    out = device.zeros(64 * 128, np.float32)
    same, different = (gpulab.profile(kernel, 64, 128, (out, mask)).terms["constant"] for mask in (0, 31))
    assert different > 5 * same
