"""Tensor cores of a GPU against the reference that the simulator agrees with, bit for bit.

The PTX manual leaves the order and the rounding of sums of f16, bf16 and tf32 open, so these tests also check
the rule that the simulator follows on GPUs (docs/simulator.md).
"""

from __future__ import annotations

import pytest

from gpulab.devices.base import Device
from tests.simt import ptx_harness
from tests.simt.instructions import test_tensor_cores
from tests.simt.instructions.test_tensor_cores import MMA, WMMA, Types, assert_same_bits, multiplied, warps_of
from tests.simt.tensor_reference import matrix_product


@pytest.fixture
def architecture(gpu: Device, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run programs on the GPU; return the number of its compute capability."""
    for module in (ptx_harness, test_tensor_cores):
        monkeypatch.setattr(module, "simulator", lambda: gpu)
    major, minor = gpu.spec.compute_capability
    return 10 * major + minor


@pytest.mark.parametrize(("shape", "types"), MMA, ids=lambda x: x if isinstance(x, str) else ".".join(x))
def test_mma(shape: str, types: Types, architecture: int) -> None:
    for seed in range(20):
        warps = warps_of(shape, types, seed)
        head = ptx_harness.HEAD.replace("sm_90", f"sm_{architecture}")
        found = multiplied(shape, types, ".".join(types), warps, head)
        for actual, warp in zip(found, warps, strict=True):
            assert_same_bits(actual, matrix_product(*warp, types, architecture))


@pytest.mark.parametrize(("shape", "types"), WMMA, ids=lambda x: x if isinstance(x, str) else ".".join(x))
def test_wmma(shape: str, types: Types, architecture: int) -> None:
    test_tensor_cores.check_wmma(shape, types, "", architecture)
