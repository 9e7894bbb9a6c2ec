"""Kernel arguments: conversion to the types of the parameters, and refusal of others."""

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
