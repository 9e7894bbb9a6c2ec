"""Kernel arguments: conversion to the types of the parameters, and refusal of others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpulab
from gpulab.compiler.program import Parameter
from gpulab.devices.arguments import convert
from gpulab.devices.simulator.simulated_device import SimulatedDevice
from gpulab.errors import LaunchError

POINTER = Parameter("A0", "pointer", 8)
INT = Parameter("n", "int", 4)
UINT = Parameter("m", "uint", 4)
LONG = Parameter("big", "int", 8)
FLOAT = Parameter("fac", "float", 4)
DOUBLE = Parameter("d", "float", 8)
PAIR = Parameter("pair", "bytes", 8)


class DeviceArray:
    """A replacement of an array on a device."""

    shape = (4,)
    dtype = np.dtype(np.float32)


def convert_one(parameter, value, **kwargs):
    return convert((parameter,), (value,), **kwargs)[0]


@pytest.mark.parametrize(
    ("parameter", "value", "expected"),
    [
        (FLOAT, 3, np.float32(3)),
        (FLOAT, 0.1, np.float32(0.1)),
        (FLOAT, np.float64(0.1), np.float32(0.1)),
        (FLOAT, np.int64(2), np.float32(2)),
        (DOUBLE, 0.1, np.float64(0.1)),
        (INT, 7, np.int32(7)),
        (INT, True, np.int32(1)),
        (INT, 8.0, np.int32(8)),
        (INT, np.int64(-5), np.int32(-5)),
        (INT, np.array(9), np.int32(9)),
        (UINT, 2**32 - 1, np.uint32(2**32 - 1)),
        (LONG, -(2**63), np.int64(-(2**63))),
        (PAIR, np.complex64(1 + 2j), np.complex64(1 + 2j)),
    ],
)
def test_number_is_converted_to_the_type_of_the_parameter(parameter, value, expected):
    converted = convert_one(parameter, value)
    assert (type(converted), converted) == (type(expected), expected)


def test_integer_of_either_sign_is_accepted():
    assert convert_one(UINT, -1) == np.uint32(2**32 - 1)
    assert convert_one(INT, 2**32 - 1) == np.int32(-1)


def test_bytes_are_accepted_for_a_struct():
    assert bytes(convert_one(PAIR, b"12345678")) == b"12345678"


def test_infinity_and_nan_are_accepted():
    assert np.isinf(convert_one(FLOAT, float("inf")))
    assert np.isnan(convert_one(FLOAT, float("nan")))


def test_device_array_is_unchanged():
    array = DeviceArray()
    assert convert_one(POINTER, array) is array


@given(st.integers(-(2**31), 2**32 - 1))
def test_integer_keeps_its_lower_bits(number):
    assert int(convert_one(INT, number)) % 2**32 == number % 2**32


@pytest.mark.parametrize(
    ("parameter", "value", "named"),
    [
        (POINTER, np.zeros(3), "NumPy array.*dev.asarray"),
        (POINTER, [1.0, 2.0], "list"),
        (POINTER, 0, "not 0"),
        (POINTER, np.float32(1), "float32|1.0"),
        (INT, 2.5, "32-bit.*2.5"),
        (INT, "7", "str"),
        (INT, None, "None"),
        (INT, 2**32, "4294967296"),
        (INT, DeviceArray(), "array"),
        (FLOAT, 1j, "32-bit.*1j"),
        (FLOAT, 1e39, "32-bit"),
        pytest.param(FLOAT, 10**400, "32-bit", id="10**400"),
        (FLOAT, np.zeros(1), "array"),
        (PAIR, 3, "8 bytes"),
        (PAIR, b"123", "3 bytes"),
    ],
)
def test_refusal_names_the_position_and_the_parameter(parameter, value, named):
    with pytest.raises(LaunchError, match=rf"^argument 1 \(`{parameter.name}`\) .*{named}"):
        convert_one(parameter, value)


def test_wrong_number_of_arguments_lists_the_parameters():
    with pytest.raises(LaunchError, match=r"2 arguments \(A0: a pointer, n: .*\), not 1"):
        convert((POINTER, INT), (DeviceArray(),))


def test_arguments_that_are_not_a_sequence_are_refused():
    with pytest.raises(LaunchError, match="tuple"):
        convert((INT,), 5)


def test_array_of_another_device_is_refused():
    with pytest.raises(LaunchError, match="DeviceArray"):
        convert_one(POINTER, DeviceArray(), accepts=lambda value: False)


@pytest.mark.parametrize(
    ("element", "dtype", "fits"),
    [
        ("float32", np.float64, False),
        ("float32", np.int32, False),
        ("int32", np.float32, False),
        ("int32", np.int64, False),
        ("float32", np.float32, True),
        ("int32", np.uint32, True),
        ("float32", np.uint8, True),
        ("", np.float64, True),
    ],
)
def test_dtype_of_an_array_must_fit_the_pointer(element: str, dtype: type, fits: bool) -> None:
    device = gpulab.device("sim")
    parameter, array = Parameter("x", "pointer", 8, element), device.zeros(4, dtype)
    if fits:
        assert convert([parameter], [array]) == [array]
        return
    with pytest.raises(LaunchError, match=rf"argument 1 \(`x`\).*elements are {np.dtype(dtype)}"):
        convert([parameter], [array])


def test_float64_array_is_refused_in_a_call() -> None:
    device = gpulab.device("sim")
    kernel = device.compile("__global__ void k(const float* A0, float* out) { out[0] = A0[0]; }")
    with pytest.raises(LaunchError, match=r"pointer to float, and the array's elements are float64"):
        kernel(1, 1, (device.asarray(np.ones(4)), device.zeros(4)))


# -- arguments on the simulator ---------------------------------------------------------------------

COPY = """__global__ void copy(int* out, const int* x)
{
    out[threadIdx.x] = x ? x[threadIdx.x] : -1;
}"""


def test_none_is_a_null_pointer() -> None:
    device = gpulab.device("sim")
    out = device.zeros(4, np.int32)
    device.compile(COPY)(1, 4, (out, None))
    assert device.asnumpy(out).tolist() == [-1] * 4


def test_slice_is_passed_as_its_first_address_and_shares_memory() -> None:
    device = gpulab.device("sim")
    out, x = device.zeros(8, np.int32), device.asarray(np.arange(16, dtype=np.int32))
    kernel = device.compile(COPY)
    kernel(1, 4, (out[2:6], x[8:][1:]))
    assert device.asnumpy(out).tolist() == [0, 0, 9, 10, 11, 12, 0, 0]
    assert list(gpulab.sanitize(kernel, 1, 4, (out[2:6], x[8:]))) == []
    assert gpulab.counters(kernel, 1, 4, (out[2:6], x[8:])).global_load_requests == 1
    with pytest.raises(
        gpulab.MemoryFault, match=r"x\[2\]: just past the end of the array that x is a part of"
    ):
        kernel(1, 4, (out, x[14:]))


def test_array_is_freed_with_its_last_part() -> None:
    device = SimulatedDevice("h200")
    part = device.zeros(16)[8:]
    assert device.memory.used == 64
    del part
    assert device.memory.used == 0  # at once, not when Python searches for cycles


@pytest.mark.parametrize("index", [3, [1, 2], slice(0, 8, 2)])
def test_other_parts_of_a_device_array_are_refused(index: object) -> None:
    with pytest.raises(gpulab.UsageError, match=r"dev\.asnumpy"):
        gpulab.device("sim").zeros(16)[index]


def test_array_is_passed_for_a_vector_and_numbers_for_half() -> None:
    device = gpulab.device("sim")
    out = device.zeros(1)
    source = "__global__ void f(float* out, float4 v) { out[0] = v.x + v.w; }"
    device.compile(source)(1, 1, (out, np.array([1, 2, 3, 4], np.float32)))
    assert device.asnumpy(out).tolist() == [5.0]
    source = "#include <cuda_fp16.h>\n__global__ void f(float* out, half v) { out[0] = __half2float(v); }"
    device.compile(source)(1, 1, (out, 1.5))
    assert device.asnumpy(out).tolist() == [1.5]


def test_array_is_passed_for_a_word_of_foreign_ptx() -> None:
    device = gpulab.device("sim")
    kernel = device.load_ptx(
        """.version 7.0
.target sm_75
.address_size 64
.visible .entry f(.param .u64 p, .param .u64 n) {
    .reg .b64 %a<3>; .reg .b32 %r<2>;
    ld.param.u64 %a1, [p]; ld.param.u64 %a2, [n];
    cvt.u32.u64 %r1, %a2; add.s64 %a1, %a1, 4;
    st.global.u32 [%a1], %r1; ret;
}"""
    )
    out = device.zeros(2, np.int32)
    kernel(1, 1, (out, 77))
    assert device.asnumpy(out).tolist() == [0, 77]
