"""Points of launches that belong to no problem: counted operations, and the ceiling of their arithmetic."""

from __future__ import annotations

import pytest

import gpulab
from gpulab.errors import UsageError
from gpulab.profiling.roofline import Roofline
from gpulab.profiling.roofline_points import KernelLaunch, roofline_of
from tests.model.test_tensor_model import PRODUCTS

SCALE = """
__global__ void k(float* x, float f)
{
    x[blockIdx.x * blockDim.x + threadIdx.x] *= f;
}
"""
ROUNDS, BLOCKS, THREADS = 16, 264, 256


def roofline(gpu: str, source: str, *scalars: float) -> Roofline:
    device = gpulab.device(f"sim:{gpu}")
    args = (device.empty(BLOCKS * THREADS * 8), *scalars)
    launch = KernelLaunch("mine", device.compile(source, "k"), (BLOCKS,), (THREADS,), args)
    return roofline_of(None, (), [launch], device=device)


def test_operations_of_tensor_cores_are_bounded_by_their_peak() -> None:
    both = roofline("h200", PRODUCTS, ROUNDS)
    (point,) = both.points
    products = 2 * 16**3 * 4 * ROUNDS * BLOCKS * THREADS // 32
    assert products <= point.flops < 1.01 * products  # and the sums of four fragments
    assert point.arithmetic == "tensor fp16"
    (ceiling,) = [each for each in both.ceilings if each.level == "tensor fp16"]
    assert ceiling.rate == pytest.approx(989_400, rel=0.001)
    assert both.binding(point) == ceiling or both.binding(point).level == "DRAM"
    assert both.mistakes == both.notes == ()


def test_kernel_without_tensor_cores_has_no_tensor_ceiling() -> None:
    both = roofline("h200", SCALE, 2.0)
    (point,) = both.points
    assert (point.arithmetic, point.flops) == ("fp32", BLOCKS * THREADS)
    assert not any(each.level.startswith("tensor") for each in both.ceilings)


def test_launch_without_operations_is_left_out_with_a_note() -> None:
    both = roofline("h200", SCALE.replace("*= f", "= f"), 2.0)
    assert both.points == ()
    assert both.notes[0].startswith("mine is left out")


def test_launches_are_not_modelled_for_another_gpu() -> None:
    device = gpulab.device("sim:h200")
    launch = KernelLaunch("mine", device.compile(SCALE, "k"), (1,), (32,), (device.empty(32), 2.0))
    with pytest.raises(UsageError):
        roofline_of(None, (), [launch], device=device, gpu="a100")
