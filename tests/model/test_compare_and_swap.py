"""Tries of atomic operations that are loops in machine code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpulab.devices import open_device
from gpulab.gpus.architectures import architecture
from gpulab.gpus.catalogue import gpu
from gpulab.model.compare_and_swap import loop_rows, tries
from gpulab.model.sampling import SampledLaunch, launch_sample, record_launch

SPEC = gpu("h100")
LANES = np.arange(32)
ADD = """
extern "C" __global__ void add(float* out, int n, int elements)
{
    __shared__ TYPE sum[256];
    sum[threadIdx.x] = 0;
    __syncthreads();
    for (int i = 0; i < n; ++i)
        atomicAdd(sum + threadIdx.x % elements, (TYPE)1);
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum[threadIdx.x];
}
"""


def tries_of(addresses: list[np.ndarray], warps: list[int], warps_of_block: int) -> float:
    masks = np.full(len(addresses), 0xFFFFFFFF, np.uint32)
    return tries(masks, np.array(addresses), np.array(warps), warps_of_block)


def test_lanes_of_one_warp_that_update_one_element_succeed_one_after_the_other() -> None:
    assert tries_of([4 * LANES], [0], 1) == 1
    assert tries_of([0 * LANES], [0], 1) == pytest.approx(32)
    assert tries_of([4 * (LANES // 4)], [0], 1) == pytest.approx(4)


def test_warps_disturb_each_other_only_at_the_same_element() -> None:
    apart = tries_of([0 * LANES, 0 * LANES + 4], [0, 1], 2)
    together = tries_of([0 * LANES, 0 * LANES], [0, 1], 2)
    assert apart == pytest.approx(32)
    assert together > 1.5 * apart


def test_warps_without_a_sampled_request_are_like_the_others() -> None:
    assert tries_of(2 * [0 * LANES], [0, 1], 8) == pytest.approx(tries_of(8 * [0 * LANES], list(range(8)), 8))


def test_eight_warps_at_one_element_try_as_often_as_on_an_h100() -> None:
    assert tries_of(2 * [0 * LANES], [0, 1], 8) == pytest.approx(138, rel=0.01)


@pytest.mark.parametrize(("number", "loops"), [("float", True), ("int", False)])
def test_only_additions_without_an_instruction_are_loops(number: str, loops: bool) -> None:
    device: Any = open_device("sim:h100")

    def recorded(elements: int) -> Any:
        args = device.zeros(4 * 256), np.int32(8), np.int32(elements)
        kernel = device.compile(ADD, defines={"TYPE": number})
        return record_launch(SampledLaunch(kernel, (4, 1, 1), (256, 1, 1), args), SPEC)

    one, many = recorded(1), recorded(256)
    assert bool(loop_rows(one.machine_code)) == loops
    slots = [
        sum(block.runs * block.issue_slots for block in launch_sample(each, SPEC, architecture(SPEC)).code)
        for each in (one, many)
    ]
    assert (slots[0] > 20 * slots[1]) == loops
