"""One cell, from its text to a verdict."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from gpulab import session
from gpulab.cell import parse_cell
from gpulab.compiler.program import Resources
from gpulab.errors import CompileError, Diagnostic, UnsupportedInstruction, UsageError
from gpulab.verification.check import check_cell
from gpulab.verification.outcome import outcome_of
from tests.python_device import PythonDevice
from tests.verification.test_verify import right

TEXT = "%%cuda stencil.naive --block 16 4\n__global__ void block2D_naive() {}\n"
CELL = parse_cell(TEXT, "lab.ipynb, cell 2")


def device_with(function: Any = right) -> PythonDevice:
    return PythonDevice({"block2D_naive": function, "mine": function})


class Refusing(PythonDevice):
    """A device whose compiler raises."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def compile(self, *args: Any, **options: Any) -> Any:
        raise self.error


def test_a_right_cell_is_correct_without_reasons() -> None:
    result = check_cell(CELL, device_with())
    assert result.correct
    assert result.reasons == ()
    assert result.technique is None
    assert result.resources == Resources(registers=16)


def test_the_compiler_gets_the_cells_lines_its_kernels_name_and_the_macros() -> None:
    device = device_with()
    check_cell(CELL, device)
    ((source, name, defines),) = device.compiled
    assert source == CELL.source
    assert name == "block2D_naive"
    assert defines is not None
    assert (defines["BLOCK_X"], defines["BLOCK_Y"], defines["TILE_Z"]) == (16, 4, 0)


def test_a_kernel_that_was_never_compiled_is_refused_with_what_there_is() -> None:
    with pytest.raises(UsageError, match="no kernel `nobody`"):
        session.kernel("nobody")


def test_a_plain_cell_is_compiled_and_has_no_verdict() -> None:
    result = check_cell(parse_cell("%%cuda mine\n__global__ void f() {}"), device_with())
    assert (result.correct, result.verdict) == (True, None)


def test_shapes_in_place_of_the_problems_own() -> None:
    result = check_cell(CELL, device_with(), shapes=[(20, 9, 4)])
    assert result.verdict is not None
    assert [r.shape for r in result.verdict.results] == [(20, 9, 4)]


def test_a_size_that_cannot_be_is_refused_before_compiling() -> None:
    device = device_with()
    with pytest.raises(UsageError):
        check_cell(CELL, device, shapes=[(2, 9, 4)])
    assert device.compiled == []


def test_a_block_of_too_many_threads_is_refused_before_compiling() -> None:
    device = device_with()
    with pytest.raises(UsageError, match="1024"):
        check_cell(parse_cell("%%cuda stencil.naive --block 64 32\n"), device)
    assert device.compiled == []


def test_more_shared_memory_than_a_block_can_have_is_refused() -> None:
    device = device_with()
    device.resources = Resources(shared_bytes=50_000)
    with pytest.raises(UsageError, match="48 KB"):
        check_cell(CELL, device)


@pytest.mark.parametrize(
    "said",
    [
        "Entry function 'f' uses too much shared data (0x20000 bytes, 0xc000 max)",
        "`f` declares 131,072 bytes of shared memory; the most that can be declared is 49,152.",
    ],
)
def test_the_assemblers_refusal_of_shared_memory_is_no_fault_in_the_text(said: str) -> None:
    with pytest.raises(UsageError, match="line 3: "):
        check_cell(CELL, Refusing(CompileError([Diagnostic(3, 0, "error", said)])))


def test_other_parameters_than_the_problems_are_wrong_and_never_launched() -> None:
    device = device_with()
    device.signature = ()
    result = check_cell(CELL, device)
    assert not result.correct
    assert "float fac" in result.reasons[0]


def test_an_outcome_of_a_right_cell_is_exit_0_with_a_time() -> None:
    outcome = outcome_of(CELL, device_with(), timed=True, time_at=(20, 9, 4))
    assert outcome.exit_code == 0
    assert outcome.timing is not None
    assert outcome.timing.shape == (20, 9, 4)


def test_an_outcome_of_a_wrong_cell_is_exit_1_without_a_time() -> None:
    outcome = outcome_of(CELL, device_with(lambda *args: None), timed=True)
    assert outcome.exit_code == 1
    assert outcome.timing is None


def test_a_compile_error_is_exit_1_with_its_diagnostics() -> None:
    outcome = outcome_of(CELL, Refusing(CompileError([Diagnostic(2, 5, "error", "expected a `;`")])))
    assert outcome.exit_code == 1
    assert outcome.as_dict()["diagnostics"][0]["line"] == 2
    assert outcome.reasons == ("line 2: error: expected a `;`",)


@pytest.mark.parametrize("error", [UsageError("no such kernel"), UnsupportedInstruction("wmma.mma", 4)])
def test_what_cannot_be_used_as_asked_is_exit_2(error: Exception) -> None:
    outcome = outcome_of(CELL, Refusing(error))
    assert outcome.exit_code == 2
    assert outcome.as_dict()["error"]


def test_an_outcome_is_data_that_another_process_can_send() -> None:
    outcome = outcome_of(CELL, device_with(lambda *args: None))
    again = pickle.loads(pickle.dumps(outcome))
    assert json.dumps(again.as_dict(), allow_nan=False) == json.dumps(outcome.as_dict(), allow_nan=False)


def test_an_outcomes_json_has_what_a_grader_reads() -> None:
    data = outcome_of(CELL, device_with()).as_dict()
    assert {"correct", "findings", "technique", "reasons", "problem", "variant", "device", "shapes"} <= set(
        data
    )
