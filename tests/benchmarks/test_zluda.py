"""The reader of `benchmarks.zluda`, and its verdicts on programs of the suite's form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gpulab
from benchmarks.zluda import run_program, table
from benchmarks.zluda_suite import SuiteProgram, read_suite, read_table
from gpulab.errors import UsageError

ADD_ONE = """.version 6.5
.target sm_30
.address_size 64
.visible .entry add(.param .u64 input, .param .u64 output)
{
    .reg .u64 source, target, index;
    .reg .u32 lane, value;
    ld.param.u64 source, [input];
    ld.param.u64 target, [output];
    mov.u32 lane, %tid.x;
    mul.wide.u32 index, lane, 4;
    add.u64 source, source, index;
    add.u64 target, target, index;
    ld.u32 value, [source];
    add.u32 value, value, 1;
    st.u32 [target], value;
    ret;
}
"""


def entry(text: str) -> SuiteProgram:
    (program,) = read_table(f"test_ptx!(name, {text});", Path())
    return program


@pytest.mark.parametrize(
    ("literals", "expected"),
    [
        ("1u64, 0x01_00__00i64", None),
        ("-2, 0xDEAD", np.array([-2, 0xDEAD], np.int32)),
        ("0.5, 3.0", np.array([0.5, 3.0])),
        ("-0b101i16", np.array([-5], np.int16)),
        ("0x477FFF80u32, 1", np.array([0x477FFF80, 1], np.uint32)),
        ("i32::MIN, -1", np.array([-(2**31), -1], np.int32)),
        ("u64::max_value()", np.array([2**64 - 1], np.uint64)),
        ("1.0000001, 1.0f32 // one\n", np.array([1.0000001, 1.0], np.float32)),
        ("std::f32::consts::PI / 2f32", np.array([np.pi / 2], np.float32)),
        ("f32::from_bits(0x33800000), f32::INFINITY", np.array([2.0**-24, np.inf], np.float32)),
        ("half::f16::from_f32(-0.5), half::f16::from_bits(0x38d3)", np.array([0xB800, 0x38D3], np.uint16)),
        ("0u16, half::f16::NAN.to_bits()", np.array([0, 0x7E00], np.uint16)),
    ],
)
def test_literals_of_an_array(literals: str, expected: np.ndarray | None) -> None:
    if expected is None:
        with pytest.raises(UsageError):
            entry(f"[0u8], [{literals}]")
        return
    values = entry(f"[0u8], [{literals}]").expected
    is_half = values.dtype == np.float16
    assert is_half or values.dtype == expected.dtype
    assert (values.view(np.uint16) if is_half else values).tolist() == expected.tolist()


def test_entries_state_threads_and_arrays() -> None:
    text = """
macro_rules! test_ptx { ($fn_name:ident, $input:expr) => { test_ptx!($fn_name); }; }
test_ptx!(first, [1u8], [2u8]);
// test_ptx!(left_out, [1u8], [2u8]);
test_ptx!(compiled_only);
test_ptx_warp!(
    second,
    [3u8, 4u8,]
);
"""
    first, second = read_table(text, Path())
    assert (first.name, first.threads, first.source is None) == ("first", 1, False)
    assert (second.name, second.threads, second.source is None) == ("second", 64, True)


@pytest.mark.parametrize("text", ["[1u8], [x]", "[1u8], [f32::EPSILON]", "[1u8], [1u8", "[1u8], [1u8, 2u16]"])
def test_entry_that_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        entry(text)


def test_folder_without_the_suite_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        read_suite(tmp_path)


@pytest.mark.parametrize(
    ("expected", "threads", "elements", "result"),
    [
        (2, 1, 1, "right"),
        (3, 1, 1, "wrong"),
        (2, 64, 32, "fault"),
    ],
)
def test_result_of_a_program(expected: int, threads: int, elements: int, result: str, tmp_path: Path) -> None:
    path = tmp_path / "add.ptx"
    path.write_text(ADD_ONE, encoding="utf-8")
    program = SuiteProgram(
        path, threads, np.ones(elements, np.uint32), np.full(elements, expected, np.uint32)
    )
    outcome = run_program(gpulab.device("sim"), program)
    assert outcome.result == result
    assert outcome.reason.endswith("With 32 threads: right.") == (result == "fault")
    counts = [int(result == one) for one in ("right", "wrong", "fault", "refused")]
    assert f"| all | 1 | {' | '.join(map(str, counts))} |" in table([outcome])
