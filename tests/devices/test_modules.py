"""Modules on the simulator: kernels of one text share its variables, which Python reads and writes."""

from __future__ import annotations

import gc
import re

import numpy as np
import pytest

import gpulab
from gpulab.devices.simulator.simulated_device import SimulatedDevice
from gpulab.errors import MemoryFault, UnsupportedInstruction, UsageError

SHARED = """
__device__ int g[4];
__global__ void put() { g[threadIdx.x] = threadIdx.x + 1; }
__global__ void get(int* x) { x[threadIdx.x] = g[threadIdx.x]; }
"""
COUNTER = """
__device__ int hits = 5;
__constant__ float weights[2][2] = {{1, 2}, {3, 4}};
__global__ void k(float* x)
{
    atomicAdd(&hits, 1);
    x[threadIdx.x] = weights[threadIdx.x / 2][threadIdx.x % 2];
}
"""


@pytest.fixture
def device() -> SimulatedDevice:
    return SimulatedDevice("h200")


def test_kernels_of_one_text_share_their_variables(device: SimulatedDevice) -> None:
    device.compile(SHARED, name="put")(1, 4, ())
    gc.collect()
    x = device.zeros(4, np.int32)
    device.compile(SHARED, name="get")(1, 4, (x,))
    np.testing.assert_array_equal(device.asnumpy(x), [1, 2, 3, 4])


def test_other_macros_make_another_module(device: SimulatedDevice) -> None:
    device.compile(SHARED, name="put")(1, 4, ())
    other = device.compile(SHARED, name="get", defines={"N": 1})
    np.testing.assert_array_equal(device.asnumpy(other.module.get_global("g")), [0, 0, 0, 0])


def test_loading_a_text_again_gives_initial_values_to_later_kernels(device: SimulatedDevice) -> None:
    device.compile(SHARED, name="put")(1, 4, ())
    module = device.module(SHARED)
    assert device.compile(SHARED, name="get").module is module
    np.testing.assert_array_equal(device.asnumpy(module.get_global("g")), [0, 0, 0, 0])


def test_instances_of_a_module_share_its_variables(device: SimulatedDevice) -> None:
    text = "__device__ int sum; template <int N> __global__ void add() { atomicAdd(&sum, N); }"
    module = device.module(text, name_expressions=("add<1>", "add<10>"))
    for name in ("add<1>", "add<10>"):
        module.get_function(name)(1, 2, ())
    assert device.asnumpy(module.get_global("sum")) == 22


def test_compile_returns_an_instance_of_a_template(device: SimulatedDevice) -> None:
    text = "template <int N> __global__ void k(int* x) { x[threadIdx.x] = N; }"
    kernel = device.compile(text, "k<8>")
    x = device.zeros(2, np.int32)
    kernel(1, 2, (x,))
    assert kernel.name == "k<8>"
    np.testing.assert_array_equal(device.asnumpy(x), [8, 8])


def test_initial_values_are_read_and_changed(device: SimulatedDevice) -> None:
    module = device.module(COUNTER)
    assert device.asnumpy(module.get_global("hits")) == 5
    np.testing.assert_array_equal(device.asnumpy(module.get_global("weights")), [[1, 2], [3, 4]])

    module.get_global("weights").set(np.array([[5, 6], [7, 8]], np.float32))
    module.set_global("hits", 100)
    x = device.zeros(4)
    module.get_function()(1, 4, (x,))
    np.testing.assert_array_equal(device.asnumpy(x), [5, 6, 7, 8])
    assert device.asnumpy(module.get_global("hits")) == 104


def test_axes_of_one_element_may_be_missing_or_added(device: SimulatedDevice) -> None:
    module = device.module(COUNTER)
    module.set_global("hits", [100])
    assert device.asnumpy(module.get_global("hits")) == 100
    module.set_global("weights", [[[5, 6], [7, 8]]])
    np.testing.assert_array_equal(device.asnumpy(module.get_global("weights")), [[5, 6], [7, 8]])
    with pytest.raises(UsageError, match="has the shape"):
        module.set_global("weights", [5, 6, 7, 8])


def test_variable_that_no_kernel_uses_can_be_read(device: SimulatedDevice) -> None:
    module = device.module("__device__ int unused[2] = {3, 4}; __global__ void k() { }")
    np.testing.assert_array_equal(device.asnumpy(module.get_global("unused")), [3, 4])


def test_struct_takes_an_array_with_as_many_bytes(device: SimulatedDevice) -> None:
    module = device.module(
        "struct S { float a; int b; }; __constant__ S s;\n__global__ void k(float* x) { x[0] = s.a + s.b; }"
    )
    module.set_global("s", np.array([(1.5, 2)], [("a", np.float32), ("b", np.int32)]))
    x = device.zeros(1)
    module.get_function()(1, 1, (x,))
    assert device.asnumpy(x)[0] == 3.5


def test_variable_is_an_argument_for_a_pointer(device: SimulatedDevice) -> None:
    module = device.module(
        "__device__ float data[4];\n__global__ void fill(float* x) { x[threadIdx.x] = 7; data[0] += 1; }"
    )
    module.get_function()(1, 4, (module.get_global("data"),))
    np.testing.assert_array_equal(device.asnumpy(module.get_global("data")), [8, 7, 7, 7])


def test_variable_lives_as_long_as_its_array(device: SimulatedDevice) -> None:
    array = device.module("__device__ int v[2] = {1, 2}; __global__ void k() { v[0]++; }").get_global("v")
    device._modules._recent.clear()
    gc.collect()
    np.testing.assert_array_equal(device.asnumpy(array), [1, 2])


def test_memory_of_a_large_variable_is_freed_with_its_kernel(device: SimulatedDevice) -> None:
    text = f"__device__ float big[{1 << 25}]; __global__ void k() {{ big[threadIdx.x] = 1; }}"
    kernel = device.compile(text)
    assert device.memory.used >= 4 << 25
    del kernel
    gc.collect()
    assert device.memory.used < 4 << 25


def test_modules_without_kernels_are_kept_up_to_a_limit(device: SimulatedDevice) -> None:
    for number in range(6):
        text = f"__device__ float v[{1 << 22}]; __global__ void k() {{ v[threadIdx.x] = {number}; }}"
        device.compile(text)(1, 1, ())
    gc.collect()
    assert 3 * 4 << 22 < device.memory.used <= 4 * 4 << 22
    assert device.asnumpy(device.compile(text).module.get_global("v")[:1]).tolist() == [5]


@pytest.mark.parametrize(
    ("name", "values", "match"),
    [
        ("hit", 1, "hits, weights"),
        ("hits", 1.5, "int32"),
        ("hits", 1 << 40, "int32"),
        ("weights", [1, 2], r"\(2, 2\)"),
    ],
)
def test_values_that_do_not_fit_are_refused(
    device: SimulatedDevice, name: str, values: object, match: str
) -> None:
    with pytest.raises(UsageError, match=match):
        device.module(COUNTER).set_global(name, values)


def test_set_refuses_another_type(device: SimulatedDevice) -> None:
    with pytest.raises(UsageError, match="float32"):
        device.module(COUNTER).get_global("weights").set(np.zeros((2, 2)))


def test_only_launches_in_place_change_the_variables() -> None:
    device = gpulab.device("sim")
    module = device.module(COUNTER)
    kernel, x = module.get_function(), device.zeros(4)

    def hits() -> int:
        return int(device.asnumpy(module.get_global("hits")))

    assert gpulab.sanitize(kernel, 1, 4, (x,)) == []
    assert hits() == 9  # the launch has its usual effect
    gpulab.counters(kernel, 1, 4, (x,))
    assert hits() == 13
    device.profile(kernel, 1, 4, (x,)).counters  # noqa: B018
    gpulab.benchmark(kernel, 1, 4, (x,))
    gpulab.show_counts(kernel, 1, 4, (x,))
    assert hits() == 13  # these run on copies


def test_counts_of_a_sample_keep_the_variables(device: SimulatedDevice) -> None:
    module = device.module("__device__ int n; __global__ void k() { atomicAdd(&n, 1); }")
    gpulab.counters(module.get_function(), 1 << 12, 1024, ())
    assert device.asnumpy(module.get_global("n")) == 0


def test_uninitialized_read_is_repeated_with_the_same_variables(device: SimulatedDevice) -> None:
    text = """__device__ int ticket;
__global__ void k(float* x, float* y)
{
    int t = atomicAdd(&ticket, 1);
    if (x[0] > -1e38f) y[t] = 1;
    y[t] = 2;
}"""
    kernel = device.compile(text)
    y = device.zeros(1)
    assert gpulab.sanitize(kernel, 1, 1, (device.empty(1), y)) == []
    assert device.asnumpy(kernel.module.get_global("ticket")) == 1


def test_fault_and_race_name_the_variable(device: SimulatedDevice) -> None:
    reads = device.compile("__device__ float v[4]; __global__ void k(float* x) { x[0] = v[threadIdx.x]; }")
    with pytest.raises(MemoryFault, match=re.escape("v[4]: just past the end of v (shape 4")):
        reads(1, 5, (device.zeros(1),))
    races = device.compile("__device__ int n[2]; __global__ void k() { n[0] = threadIdx.x; }")
    (race,) = gpulab.sanitize(races, 1, 32, ())
    assert "writes n[0]" in race.message


@pytest.mark.parametrize("load", ["compile", "module", "load_ptx"])
def test_kernel_that_cannot_be_executed_is_refused_before_the_launch(
    device: SimulatedDevice, load: str
) -> None:
    text = "\n__global__ void k(float* x) { x[0] = tex2Dgather<float4>(0ull, 0, 0).x; }"
    source = device.module(text).program.ptx if load == "load_ptx" else text
    with pytest.raises(UnsupportedInstruction) as caught:
        getattr(device, load)(source).get_function() if load == "module" else getattr(device, load)(source)
    assert (caught.value.instruction, caught.value.line) == ("tld4.r.2d.v4.f32.f32", 2)


def test_kernel_beside_one_that_cannot_be_executed_runs(device: SimulatedDevice) -> None:
    text = """__global__ void texture(float* x) { x[0] = tex2Dgather<float4>(0ull, 0, 0).x; }
__global__ void copy(float* x) { x[0] = 3; }"""
    x = device.zeros(1)
    device.compile(text, "copy")(1, 1, (x,))
    assert device.asnumpy(x)[0] == 3


def test_representation_lists_kernels_and_variables(device: SimulatedDevice) -> None:
    assert repr(device.module(COUNTER)) == (
        "<module for simulator (H200): kernels k; variables hits, weights>"
    )
