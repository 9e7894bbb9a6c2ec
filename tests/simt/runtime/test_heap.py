"""The heap of device code: malloc, free, new and delete, virtual destructors, and what the checks find."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from gpulab.devices.base import Kernel
from gpulab.devices.simulator.simulated_device import SimulatedDevice

SHAPES = """struct Shape {
    __device__ virtual ~Shape() {}
    __device__ virtual float area() = 0;
};
struct Square : Shape {
    float side;
    __device__ Square(float side) : side(side) {}
    __device__ float area() override { return side * side; }
};
struct Strip : Shape {
    float* width;
    __device__ Strip(float width) : width(new float(width)) {}
    __device__ ~Strip() { delete width; }
    __device__ float area() override { return 3 * *width; }
};
__global__ void k(float* out) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    Shape* shape = t % 3 ? (Shape*)new Square(t) : (Shape*)new Strip(t);
    out[t] = shape->area();
    delete shape;
}"""


@pytest.fixture
def device() -> SimulatedDevice:
    return SimulatedDevice("h200")


def kernel_of(device: SimulatedDevice, body: str) -> Kernel:
    return device.compile(f"__global__ void k(float* out) {{\n{body}\n}}")


def test_objects_with_virtual_destructors(device: SimulatedDevice) -> None:
    out = device.zeros(320)
    kernel = device.compile(SHAPES)
    kernel(5, 64, (out,))
    t = np.arange(320)
    np.testing.assert_array_equal(device.asnumpy(out), np.where(t % 3, t * t, 3 * t))
    assert (device.heap.used, device.heap.blocks) == (0, {})
    assert gpulab.sanitize(kernel, 5, 64, (out,)) == []


def test_memory_that_a_plain_launch_wrote_is_initialized(device: SimulatedDevice) -> None:
    source = """extern "C" __global__ void create(int** p) { *p = new int[2]; (*p)[1] = 5; }
        extern "C" __global__ void move(int** p) { (*p)[0] = (*p)[1]; delete[] *p; }"""
    module = device.module(source)
    pointer = device.zeros(1, np.uint64)
    module.get_function("create")(1, 1, (pointer,))
    assert gpulab.sanitize(module.get_function("move"), 1, 1, (pointer,)) == []


def test_blocks_are_distinct_and_aligned(device: SimulatedDevice) -> None:
    source = """__global__ void k(unsigned long long* out) {
        char* p = (char*)malloc(1 + threadIdx.x);
        p[threadIdx.x] = 1;
        out[threadIdx.x] = (unsigned long long)p;
    }"""
    out = device.zeros(64, np.uint64)
    device.compile(source)(1, 64, (out,))
    addresses = device.asnumpy(out)
    assert len(set(addresses.tolist())) == 64
    assert not (addresses % 16).any()


def test_exhausted_heap_returns_a_null_pointer(device: SimulatedDevice) -> None:
    out = device.zeros(2)
    kernel_of(device, "out[0] = malloc(9 << 20) == 0; out[1] = malloc(8 << 20) == 0;")(1, 1, (out,))
    assert device.asnumpy(out).tolist() == [1, 0]
    kernel_of(device, "out[0] = malloc(16) != 0; out[1] = malloc(0) != 0;")(1, 1, (out,))
    assert device.asnumpy(out).tolist() == [0, 0]


def test_blocks_outlive_the_launch(device: SimulatedDevice) -> None:
    make = "__global__ void make(int** at) { *at = new int[4]; (*at)[3] = 7; }"
    use = "__global__ void use(int** at, int* out) { *out = (*at)[3]; delete[] *at; }"
    at, out = device.zeros(1, np.uint64), device.zeros(1, np.int32)
    device.compile(make)(1, 1, (at,))
    assert device.heap.used == 16
    device.compile(use)(1, 1, (at, out))
    assert (device.asnumpy(out)[0], device.heap.used) == (7, 0)


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        ("int* p = new int[4];\np[4] = 1;", "out_of_bounds_write", "past the end of the 16 bytes"),
        ("int* p = new int[4];\np[-1] = 1;", "out_of_bounds_write", "4 bytes before the 16 bytes"),
        ("int* p = new int[4]; p[0] = 1; delete[] p;\nout[0] = p[0];", "out_of_bounds_read", "was freed"),
        ("int* p = new int[4]; delete[] p;\ndelete[] p;", "invalid_free", "freed before"),
        ("\nfree(out);", "invalid_free", "did not return"),
    ],
)
def test_wrong_use_is_found_in_the_plain_and_in_the_checked_run(
    body: str, kind: str, words: str, device: SimulatedDevice
) -> None:
    kernel, out = kernel_of(device, body), device.zeros(1)
    with pytest.raises(gpulab.LaunchError) as error:
        kernel(1, 1, (out,))
    for finding in (*error.value.findings, *gpulab.sanitize(kernel, 1, 1, (out,))):
        assert (finding.tool, finding.kind, finding.line) == ("memcheck", kind, 3)
        assert words in finding.message


def test_use_of_new_memory_before_it_is_written_is_found(device: SimulatedDevice) -> None:
    (finding,) = gpulab.sanitize(
        kernel_of(device, "int* p = new int;\nout[0] = *p;"), 1, 1, (device.zeros(1),)
    )
    assert (finding.tool, finding.line) == ("initcheck", 3)


def test_leak_and_null_pointer_are_no_errors(device: SimulatedDevice) -> None:
    kernel = kernel_of(device, "free(0); int* p = new int; *p = 1; out[0] = *p;")
    assert gpulab.sanitize(kernel, 1, 1, (device.zeros(1),)) == []


def test_race_for_a_block_is_found(device: SimulatedDevice) -> None:
    source = """__global__ void k(int* out) {
        __shared__ int* p;
        if (threadIdx.x == 0) p = new int[64];
        __syncthreads();
        p[threadIdx.x] = threadIdx.x;
        out[threadIdx.x] = p[63 - threadIdx.x];
    }"""
    findings = gpulab.sanitize(device.compile(source), 1, 64, (device.zeros(64, np.int32),))
    assert [(finding.tool, finding.line) for finding in findings] == [("racecheck", 5)]


def test_kernels_that_allocate_are_counted_and_modelled(device: SimulatedDevice) -> None:
    kernel = kernel_of(device, "float* p = new float; *p = 2; out[threadIdx.x] = *p; delete p;")
    out = device.zeros(64)
    counts = gpulab.counters(kernel, 1, 64, (out,))
    assert counts.total("requests", "global", "store") >= 2
    assert device.asnumpy(out).tolist() == [2] * 64
    assert (
        gpulab.profile(gpulab.device("sim").compile(SHAPES), 1, 64, (gpulab.device("sim").zeros(64),)).time_ms
        > 0
    )


def test_blocks_that_other_cores_have_freed_are_counted(device: SimulatedDevice) -> None:
    kernel = kernel_of(
        device,
        "float* p = new float[8]; p[3] = 2; out[blockIdx.x * 32 + threadIdx.x] = p[3]; delete[] p;",
    )
    out = device.zeros(256 * 32)
    counted = gpulab.counters(kernel, 256, 32, (out,))
    assert np.all(device.asnumpy(out) == 2)
    assert counted.total("threads", "global", "store") == 2 * 256 * 32
