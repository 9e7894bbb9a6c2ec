"""Occupancy, compared with cases computed by hand from NVIDIA's published formulas."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulab.errors import UsageError
from gpulab.gpus.catalogue import gpu, names
from gpulab.gpus.occupancy import NextStep, occupancy

# GPU, threads, registers, shared bytes -> blocks, warps, limiting resource; with the computation above each.
CASES = [
    # 1.3: 8 warps * 32 * 10 = 2560 registers = 5 * 512: 16384 / 2560 = 6; warps 32 / 8 = 4
    ("gtx280", 256, 10, 0, 4, 32, "warps"),
    # 8 * 32 * 17 = 4352 -> 4608 = 9 * 512: 16384 / 4608 = 3
    ("gtx280", 256, 17, 0, 3, 24, "registers"),
    # registers are allocated for the block and 3 warps round up to 4: 4 * 32 * 30 = 3840 -> 4096: 4 blocks
    ("gtx280", 96, 30, 0, 4, 12, "registers"),
    # 2100 bytes -> 2560 = 5 * 512: 16384 / 2560 = 6
    ("gtx280", 64, 8, 2100, 6, 12, "shared memory"),
    # 32 warps would allow 32 blocks of one warp; the limit is 8 blocks
    ("t10", 32, 10, 0, 8, 8, "blocks"),
    # 2.0: 20 * 32 = 640 per warp; 16384 / 640 = 25 per partition, 50 warps: 6 blocks of 8; 48 / 8 = 6
    ("gtx480", 256, 20, 0, 6, 48, "registers"),
    # 21 registers are rounded to 128: 672 -> 768; 16384 / 768 = 21 per partition, 42 warps: 5 blocks
    ("gtx480", 256, 21, 0, 5, 40, "registers"),
    # 63 * 32 = 2016 -> 2048: 8 per partition, 16 warps: 2 blocks of 6 warps
    ("gtx480", 192, 63, 0, 2, 12, "registers"),
    # 12288 is a multiple of 128: 49152 / 12288 = 4
    ("gtx480", 128, 20, 12288, 4, 16, "shared memory"),
    # 3.5: 32 * 32 = 1024: 16384 / 1024 = 16 per partition, 64 warps: 8 blocks of 8; 64 / 8 = 8
    ("k40", 256, 32, 0, 8, 64, "registers"),
    # 64 threads: 64 / 2 = 32, but the limit is 16 blocks
    ("k40", 64, 16, 0, 16, 32, "blocks"),
    # 6.1: 5000 -> 5120: 98304 / 5120 = 19; 64 warps / 2 = 32; 32 blocks
    ("gtx1080", 64, 16, 5000, 19, 38, "shared memory"),
    # 7.0: 65 * 32 = 2080 -> 2304: 16384 / 2304 = 7 per partition, 28 warps: 3 blocks of 8
    ("v100", 256, 65, 0, 3, 24, "registers"),
    # opt-in: one block uses all shared memory of the SM
    ("v100", 1024, 32, 98304, 1, 32, "shared memory"),
    # 7.5: 1024 threads per SM: 32 / 8 = 4 blocks
    ("t4", 256, 32, 0, 4, 32, "warps"),
    # 8.0: 16 KiB + 1 KiB reserved = 17408 = 136 * 128: 167936 / 17408 = 9; 64 warps / 4 = 16
    ("a100", 128, 32, 16384, 9, 36, "shared memory"),
    # 8.6: 48 warps / 8 = 6
    ("rtx3090", 256, 40, 0, 6, 48, "registers"),
    # 8.9: 24 blocks; 48 warps / 1 = 48
    ("rtx4090", 32, 16, 0, 24, 24, "blocks"),
    # 9.0: 255 * 32 = 8160 -> 8192: 16384 / 8192 = 2 per partition, 8 warps: 1 block of 8
    ("h200", 256, 255, 0, 1, 8, "registers"),
    # the maximum per block: 232448 + 1024 = 233472, all of the SM
    ("h200", 256, 32, 232448, 1, 8, "shared memory"),
    # 48 KiB + 1 KiB = 50176: 233472 / 50176 = 4
    ("h200", 256, 32, 49152, 4, 32, "shared memory"),
    # 24 x 5 threads are 4 warps, the last one incomplete: 64 / 4 = 16
    ("h200", 120, 32, 0, 16, 64, "registers"),
    # unknown registers are ignored
    ("h200", 256, 0, 0, 8, 64, "warps"),
    # blocks that cannot be launched
    ("gtx280", 513, 4, 0, 0, 0, "warps"),
    ("h200", 1024, 65, 0, 0, 0, "registers"),
    ("gtx480", 32, 64, 0, 0, 0, "registers"),
    ("k40", 32, 16, 49153, 0, 0, "shared memory"),
]


@pytest.mark.parametrize(("name", "threads", "registers", "shared", "blocks", "warps", "by"), CASES)
def test_occupancy_equals_the_manual_computation(name, threads, registers, shared, blocks, warps, by):
    result = occupancy(gpu(name), threads, registers, shared)
    assert (result.blocks_per_sm, result.warps_per_sm, result.limited_by) == (blocks, warps, by)


def test_fraction_is_relative_to_the_maximum_of_resident_warps():
    result = occupancy(gpu("gtx280"), 256, 17, 0)
    assert (result.max_warps, result.fraction) == (32, 0.75)


def test_limiters_are_all_resources_with_the_lowest_limit():
    # 256 threads with 32 registers exhaust the registers and the warp limit of an H200.
    assert occupancy(gpu("h200"), 256, 32, 0).limiters == ("registers", "warps")


def test_next_step_reduces_registers():
    # 16 registers per thread are 4096 per block: 4 blocks. 17 allow 3.
    steps = occupancy(gpu("gtx280"), 256, 17, 0).needed_for_next_step
    assert steps == (NextStep("registers", 17, 16, 4),)


def test_next_step_reduces_shared_memory():
    # five blocks: 233472 / 5 = 46694 -> 46592 = 364 * 128, minus the reserved 1024
    steps = occupancy(gpu("h200"), 256, 32, 49152).needed_for_next_step
    assert steps == (NextStep("shared memory", 49152, 45568, 5),)


def test_next_step_lists_every_resource_to_reduce():
    # nine blocks: 64 / 9 = 7 warps (224 threads); or 72 warps, 18 per partition: 24 registers
    steps = occupancy(gpu("h200"), 256, 32, 0).needed_for_next_step
    assert [(step.resource, step.needed) for step in steps] == [("registers", 24), ("threads", 224)]


def test_block_limit_has_no_next_step():
    assert occupancy(gpu("t10"), 32, 10, 0).needed_for_next_step == ()


def test_block_without_threads_is_refused():
    with pytest.raises(UsageError):
        occupancy(gpu("h200"), 0, 32, 0)


@given(
    st.sampled_from(names()),
    st.integers(1, 1024),
    st.integers(0, 255),
    st.integers(0, 232448),
)
def test_next_step_allows_one_more_block(name, threads, registers, shared):
    spec = gpu(name)
    result = occupancy(spec, threads, registers, shared)
    values = {"threads": threads, "registers": registers, "shared memory": shared}
    for step in result.needed_for_next_step:
        assert step.needed < step.now == values[step.resource]
        values[step.resource] = step.needed
    if result.needed_for_next_step:
        after = occupancy(spec, values["threads"], values["registers"], values["shared memory"])
        assert after.blocks_per_sm > result.blocks_per_sm


@given(st.sampled_from(names()), st.integers(1, 512), st.integers(1, 62), st.integers(0, 16383))
def test_more_resources_never_allow_more_blocks(name, threads, registers, shared):
    spec = gpu(name)
    blocks = occupancy(spec, threads, registers, shared).blocks_per_sm
    assert occupancy(spec, threads, registers + 1, shared).blocks_per_sm <= blocks
    assert occupancy(spec, threads, registers, shared + 1).blocks_per_sm <= blocks
