"""Values that pass between the judge and a student's process."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulab.errors import UsageError
from gpulab.grading.judge.plain_values import NotPlain, decode, encode

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False)
    | st.text(max_size=50),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=12,
)


def sent(value: Any) -> Any:
    return decode(json.loads(json.dumps(encode(value))))


@given(PLAIN)
def test_plain_values_arrive_unchanged(value: Any) -> None:
    assert sent(value) == value


def test_nan_arrives_as_nan() -> None:
    assert math.isnan(sent(float("nan")))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1", "?"])
def test_arrays_arrive_unchanged(dtype: str) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype)
    received = sent(array)
    assert received.dtype == array.dtype
    assert (received == array).all()


def test_missing_answers_arrive_as_none() -> None:
    assert sent({"a": ..., "b": None}) == {"a": None, "b": None}


def test_number_types_of_other_libraries_arrive_as_floats() -> None:
    assert sent(Fraction(1, 4)) == 0.25
    assert sent(np.float32(0.5)) == 0.5


class Evil:
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = object.__hash__

    def __float__(self) -> float:
        return 1.0


def test_objects_arrive_as_the_name_of_their_type() -> None:
    assert sent(Evil()) == NotPlain("Evil")


class EqualToAll(int):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


def test_subclass_of_a_number_arrives_as_the_number() -> None:
    assert type(sent(EqualToAll(3))) is int


@pytest.mark.parametrize(
    "data",
    [
        {"array": "no base64", "dtype": "<f8", "shape": [1]},
        {"array": "AAAAAAAAAAA=", "dtype": "<f8", "shape": [10**12]},
        {"array": "", "dtype": "<f8", "shape": [0, 10**30]},
        {"array": "AAAAAAAAAAA=", "dtype": "<f8", "shape": ["1"]},
        {"array": "AAAAAAAAAAA=", "dtype": "O8", "shape": [1]},
        {"array": ""},
        {"pickle": "gASVAAAAAAAAAA=="},
        {"items": 3},
        {"number": "1e400"},
        {},
    ],
)
def test_data_that_is_not_an_encoded_value_raises(data: Any) -> None:
    with pytest.raises(UsageError):
        decode(data)


def test_nesting_has_a_limit() -> None:
    data: Any = 1
    for _ in range(100):
        data = [data]
    with pytest.raises(UsageError):
        decode(data)
