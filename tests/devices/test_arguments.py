"""Kernel arguments: what goes in, as what, and what is refused in words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulab.compiler.program import Parameter
from gpulab.devices.arguments import convert
from gpulab.errors import LaunchError

POINTER = Parameter("A0", "pointer", 8)
INT = Parameter("n", "int", 4)
UINT = Parameter("m", "uint", 4)
LONG = Parameter("big", "int", 8)
FLOAT = Parameter("fac", "float", 4)
DOUBLE = Parameter("d", "float", 8)
PAIR = Parameter("pair", "bytes", 8)


class DeviceArray:
    """Stands in for an array on a device."""

    shape = (4,)
    dtype = np.dtype(np.float32)


def one(parameter, value, **kwargs):
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
def test_a_number_becomes_the_parameters_own_type(parameter, value, expected):
    got = one(parameter, value)
    assert (type(got), got) == (type(expected), expected)


def test_a_negative_number_goes_into_a_parameter_whose_sign_ptx_did_not_record():
    assert one(UINT, -1) == np.uint32(2**32 - 1)
    assert one(INT, 2**32 - 1) == np.int32(-1)


def test_bytes_go_into_a_struct_as_they_are():
    assert bytes(one(PAIR, b"12345678")) == b"12345678"


def test_infinity_and_nan_are_numbers():
    assert np.isinf(one(FLOAT, float("inf")))
    assert np.isnan(one(FLOAT, float("nan")))


def test_a_device_array_goes_through_untouched():
    array = DeviceArray()
    assert one(POINTER, array) is array


@given(st.integers(-(2**31), 2**32 - 1))
def test_an_int_keeps_its_lower_bits(number):
    assert int(one(INT, number)) % 2**32 == number % 2**32


@pytest.mark.parametrize(
    ("parameter", "value", "words"),
    [
        (POINTER, np.zeros(3), "NumPy array.*dev.asarray"),
        (POINTER, [1.0, 2.0], "takes an array on the device, not a list"),
        (POINTER, 0, "takes an array on the device, not 0"),
        (POINTER, np.float32(1), "takes an array on the device"),
        (INT, 2.5, "whole number of 32 bits, not 2.5"),
        (INT, "7", "not a str"),
        (INT, None, "not None"),
        (INT, 2**32, "does not fit in 32 bits"),
        (INT, DeviceArray(), "not an array"),
        (FLOAT, 1j, "floating-point number of 32 bits"),
        (FLOAT, 1e39, "beyond the largest"),
        pytest.param(FLOAT, 10**400, "beyond the largest", id="beyond every float"),
        (FLOAT, np.zeros(1), "not an array"),
        (PAIR, 3, "struct of 8 bytes by value"),
        (PAIR, b"123", "3 bytes were given"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_position_and_name(parameter, value, words):
    with pytest.raises(LaunchError, match=rf"^argument 1 \(`{parameter.name}`\) .*{words}"):
        one(parameter, value)


def test_a_wrong_count_lists_what_the_kernel_takes():
    with pytest.raises(LaunchError, match=r"takes 2 arguments \(A0: a pointer, n: .*\); 1 were given"):
        convert((POINTER, INT), (DeviceArray(),))


def test_arguments_that_are_not_a_sequence_are_refused():
    with pytest.raises(LaunchError, match="as a tuple"):
        convert((INT,), 5)


def test_an_array_of_another_device_is_refused():
    with pytest.raises(LaunchError, match="array of another device"):
        one(POINTER, DeviceArray(), accepts=lambda value: False)
