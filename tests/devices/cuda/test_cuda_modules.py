"""Modules of a CUDA device with a replacement of CuPy: variables in GPU memory and on the simulator."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import numpy as np
import pytest

from gpulab.devices import open_device
from gpulab.devices.argument_copies import simulated_variables
from gpulab.devices.cuda import cuda_context, cuda_device
from gpulab.errors import MemoryFault, UsageError
from gpulab.model.profile import profile_launch
from tests.devices.cuda.fake_cupy import CudaError, FakeCupy

SOURCE = """
__device__ int hits = 5;
__constant__ float4 weights[2];
static __device__ int hidden;
__global__ void hit(float* x) { x[0] = weights[1].y; atomicAdd(&hits, 1); hidden++; }
__global__ void other() { hits = 0; }
"""


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> FakeCupy:
    fake = FakeCupy()
    monkeypatch.setitem(sys.modules, "cupy", fake)
    monkeypatch.setattr(cuda_context, "has_driver", lambda: True)
    monkeypatch.setattr(cuda_context, "_gpu_count", [])
    monkeypatch.setattr(cuda_device, "_opened", {})
    return fake


@pytest.fixture
def device(cupy: FakeCupy) -> Any:
    return open_device("cuda")


def loads(cupy: FakeCupy) -> int:
    return sum(call[0] == "load" for call in cupy.calls)


def test_kernels_of_one_text_are_loaded_once(cupy: FakeCupy, device: Any) -> None:
    first, second = device.compile(SOURCE, "hit"), device.compile(SOURCE, "other")
    assert first.module is second.module
    assert loads(cupy) == 1
    assert device.module(SOURCE) is not first.module
    assert loads(cupy) == 2


def test_kernel_without_references_leaves_its_module_loaded(cupy: FakeCupy, device: Any) -> None:
    for name in ("hit", "other"):
        device.compile(SOURCE, name)
    assert loads(cupy) == 1


def test_variable_is_an_array_of_its_shape_and_type(cupy: FakeCupy, device: Any) -> None:
    module = device.module(SOURCE)
    module.set_global("weights", np.arange(8).reshape(2, 4))
    array = module.get_global("weights")
    assert isinstance(array, cupy.ndarray)
    np.testing.assert_array_equal(device.asnumpy(array), np.arange(8, dtype=np.float32).reshape(2, 4))
    with pytest.raises(UsageError, match="hits"):
        module.get_global("hit")


def test_sanitizer_works_on_copies_of_the_variables(device: Any) -> None:
    module = device.module(SOURCE)
    module.set_global("hits", 41)
    module.set_global("weights", np.full((2, 4), 2.5))
    kernel = module.get_function("hit")
    simulated = kernel.on_simulator
    assert simulated.module is module.on_simulator

    copy = simulated.device.zeros(1)
    with simulated_variables(kernel, keep=False):
        simulated(1, 1, (copy,))
    assert simulated.device.asnumpy(copy)[0] == 2.5
    assert device.asnumpy(module.get_global("hits")) == 42


def test_profile_keeps_the_variables(device: Any) -> None:
    module = device.module(SOURCE)
    module.set_global("hits", 41)
    profile = profile_launch(module.get_function("hit"), 1, 1, (device.zeros(1),), device=device)
    assert profile.counters.global_store_requests == 2  # to x and hidden
    assert device.asnumpy(module.get_global("hits")) == 41


def test_variable_that_cuda_does_not_find_is_left_out_of_the_copies(device: Any) -> None:
    module = device.module(SOURCE)
    assert set(module.variables) == {"hits", "weights", "hidden"}
    assert set(module.read_variables()) == {"hits", "weights"}


def test_write_waits_for_kernels_before_and_after(cupy: FakeCupy, device: Any) -> None:
    module = device.module(SOURCE)
    cupy.calls.clear()
    module.set_global("hits", 1)
    assert cupy.calls == ["wait", "wait"]


def test_failure_of_an_earlier_kernel_is_explained_by_the_write(cupy: FakeCupy, device: Any) -> None:
    module = device.module(SOURCE)
    cupy.fail_next = CudaError(700, "cudaErrorIllegalAddress: words")
    with pytest.raises(MemoryFault):
        module.set_global("hits", 1)


def test_pickled_kernel_is_loaded_again_with_the_values_of_the_variables(cupy: FakeCupy, device: Any) -> None:
    kernel = device.module(SOURCE).get_function("hit")
    kernel.module.set_global("hits", 41)
    other = pickle.loads(pickle.dumps(kernel))
    assert (other.name, other.device, loads(cupy)) == ("hit", device, 2)
    kernel.module.set_global("hits", 7)
    assert device.asnumpy(other.module.get_global("hits")) == 41
