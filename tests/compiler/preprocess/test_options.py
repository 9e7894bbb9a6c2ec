"""The allow-list of compiler options and macros."""

from __future__ import annotations

import numpy as np
import pytest

from gpulab.compiler.preprocess.options import check_options
from gpulab.errors import UsageError


@pytest.mark.parametrize(
    ("options", "flags"),
    [
        ([], ("--std=c++17",)),
        (["--use_fast_math"], ("--use_fast_math", "--std=c++17")),
        (["-use_fast_math", "-restrict"], ("--use_fast_math", "--restrict", "--std=c++17")),
        (["--fmad=false", "-ftz=true"], ("--fmad=false", "--ftz=true", "--std=c++17")),
        (["--maxrregcount", "32"], ("--maxrregcount=32", "--std=c++17")),
        (["-std=c++14"], ("--std=c++14",)),
        (
            ["-DA=3", "-D", "B", "-D=C=x", "--define-macro=E=1"],
            ("-DA=3", "-DB=1", "-DC=x", "-DE=1", "--std=c++17"),
        ),
        (["-UA", "--undefine-macro", "B"], ("-UA", "-UB", "--std=c++17")),
        (["-lineinfo", "-w"], ("--disable-warnings", "--std=c++17")),
    ],
)
def test_allowed_options_become_flags(options: list[str], flags: tuple[str, ...]) -> None:
    assert check_options(options, None).flags == flags


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (32, "32"),
        (-1, "-1"),
        (True, "1"),
        (np.int64(7), "7"),
        (np.float32(0.5), "0.5"),
        (1e-3, "0.001"),
        (None, ""),
        ("unsigned int", "unsigned int"),
        ('"a \\" b"', '"a \\" b"'),
    ],
)
def test_macro_value_is_a_number_or_one_line_of_c(value: object, text: str) -> None:
    assert check_options((), {"X": value}).flags[0] == f"-DX={text}"


@pytest.mark.parametrize(
    "name", ["", "3X", "X Y", "X(a)", "X=1", "defined", "__FILE__", "__has_include", "X\n"]
)
def test_macro_name_must_be_a_plain_identifier(name: str) -> None:
    with pytest.raises(UsageError):
        check_options((), {name: 1})


@pytest.mark.parametrize("value", [[1], object(), float("nan"), float("inf"), "a\nb", "'", '"\\"', "a // b"])
def test_macro_value_of_another_kind_is_refused(value: object) -> None:
    with pytest.raises(UsageError):
        check_options((), {"X": value})


@pytest.mark.parametrize(
    "options",
    [
        "-DX",
        ["-G"],
        ["--device-debug"],
        ["-arch=sm_90"],
        ["--gpu-architecture", "sm_90"],
        ["--std=c++20"],
        ["--maxrregcount=many"],
        ["--maxrregcount"],
        ["--maxrregcount=0"],
        ["--fmad"],
        ["--fmad=maybe"],
        ["--use_fast_math=true"],
        ["-rdc=true"],
        ["-D"],
        [""],
        ["use_fast_math"],
        [3],
    ],
    ids=str,
)
def test_option_outside_the_allow_list_is_refused(options: list[str]) -> None:
    with pytest.raises(UsageError):
        check_options(options, None)
