"""Tests of the check of a cell, and of its outcome."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

import gpulab
from gpulab import session
from gpulab.cell import parse_cell
from gpulab.compiler.program import Resources
from gpulab.errors import CompileError, Diagnostic, KernelNotWritten, UnsupportedInstruction, UsageError
from gpulab.grading.release.stub import kernel_stub
from gpulab.verification.check import check_cell, compile_cell
from gpulab.verification.outcome import outcome_of
from tests.python_device import PythonDevice
from tests.verification.test_verify import correct_stencil

TEXT = "%%cuda stencil.naive --block 16 4\n__global__ void block2D_naive() {}\n"
CELL = parse_cell(TEXT, "lab.ipynb, cell 2")


def device_with(function: Any = correct_stencil) -> PythonDevice:
    return PythonDevice({"block2D_naive": function, "plain": function})


class FailingCompiler(PythonDevice):
    """A device whose compiler raises."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def compile(self, *args: Any, **options: Any) -> Any:
        raise self.error


def test_cell_with_several_kernels_must_say_which_one_it_means() -> None:
    source = "\n__global__ void a() { }\n__global__ void b() { }\n"
    device = gpulab.device("sim")
    with pytest.raises(UsageError, match="--kernel a"):
        compile_cell(parse_cell(f"%%cuda both{source}"), device)
    assert compile_cell(parse_cell(f"%%cuda b{source}"), device).name == "b"
    assert compile_cell(parse_cell(f"%%cuda both --kernel b{source}"), device).name == "b"
    assert check_cell(parse_cell(f"%%cuda both{source}"), device).correct  # compiled, and nothing to verify


def test_correct_cell_has_no_reasons() -> None:
    result = check_cell(CELL, device_with())
    assert result.correct
    assert result.reasons == ()
    assert result.technique is None
    assert result.resources == Resources(registers=16)


def test_compiler_receives_source_kernel_name_and_macros() -> None:
    device = device_with()
    check_cell(CELL, device)
    ((source, name, defines),) = device.compiled
    assert source == CELL.source
    assert name == "block2D_naive"
    assert defines is not None
    assert (defines["BLOCK_X"], defines["BLOCK_Y"], defines["TILE_Z"]) == (16, 4, 0)


def test_stubs_are_named_before_the_compiler_runs() -> None:
    stub = kernel_stub("stencil.naive")
    cell = parse_cell(TEXT.replace("{}", f"{{\n{stub}\nint x;\n{stub}\n}}"))
    with pytest.raises(KernelNotWritten, match=r"stencil.naive is not written yet: .* lines 4 and 7 by"):
        check_cell(cell, FailingCompiler(AssertionError()))


def test_unknown_kernel_raises() -> None:
    with pytest.raises(UsageError, match="absent"):
        session.kernel("absent")


def test_plain_cell_has_no_verdict() -> None:
    result = check_cell(parse_cell("%%cuda plain\n__global__ void f() {}"), device_with())
    assert (result.correct, result.verdict) == (True, None)


def test_given_shapes_replace_the_problems_check_shapes() -> None:
    result = check_cell(CELL, device_with(), shapes=[(20, 9, 4)])
    assert result.verdict is not None
    assert [r.shape for r in result.verdict.results] == [(20, 9, 4)]


def test_invalid_size_raises_before_compilation() -> None:
    device = device_with()
    with pytest.raises(UsageError):
        check_cell(CELL, device, shapes=[(2, 9, 4)])
    assert device.compiled == []


def test_block_of_too_many_threads_raises_before_compilation() -> None:
    device = device_with()
    with pytest.raises(UsageError, match="1,024"):
        check_cell(parse_cell("%%cuda stencil.naive --block 64 32\n"), device)
    assert device.compiled == []


def test_too_much_shared_memory_raises() -> None:
    device = device_with()
    device.resources = Resources(shared_bytes=50_000)
    with pytest.raises(UsageError, match="48"):
        check_cell(CELL, device)


@pytest.mark.parametrize(
    "message",
    [
        "Entry function 'f' uses too much shared data (0x20000 bytes, 0xc000 max)",
        "`f` declares 131,072 bytes of shared memory; the most that can be declared is 49,152.",
    ],
)
def test_shared_memory_error_of_ptxas_is_a_usage_error(message: str) -> None:
    with pytest.raises(UsageError, match="line 3: "):
        check_cell(CELL, FailingCompiler(CompileError([Diagnostic(3, 0, "error", message)])))


def test_kernel_with_wrong_parameters_is_not_launched() -> None:
    device = device_with()
    device.signature = ()
    result = check_cell(CELL, device)
    assert not result.correct
    assert "float fac" in result.reasons[0]


def test_memory_traffic_is_a_step_of_its_own_after_the_sizes() -> None:
    steps: list[tuple[int, int, str]] = []
    result = check_cell(CELL, device_with(), progress=lambda *step: steps.append(step))
    assert result.verdict is not None
    sizes = len(result.verdict.results)
    assert steps[0][:2] == (0, sizes + 1)
    assert steps[-1] == (sizes, sizes + 1, "memory traffic")


def test_outcome_of_a_correct_cell_has_exit_code_0_and_a_time() -> None:
    outcome = outcome_of(CELL, device_with(), timed=True, time_at=(20, 9, 4))
    assert outcome.exit_code == 0
    assert outcome.timing is not None
    assert outcome.timing.shape == (20, 9, 4)


def test_outcome_of_a_wrong_cell_has_exit_code_1_and_no_time() -> None:
    outcome = outcome_of(CELL, device_with(lambda *args: None), timed=True)
    assert outcome.exit_code == 1
    assert outcome.timing is None


def test_outcome_of_a_compile_error_has_exit_code_1_and_diagnostics() -> None:
    outcome = outcome_of(CELL, FailingCompiler(CompileError([Diagnostic(2, 5, "error", "expected a `;`")])))
    assert outcome.exit_code == 1
    assert outcome.as_dict()["diagnostics"][0]["line"] == 2
    assert outcome.reasons == ("line 2: error: expected a `;`",)


@pytest.mark.parametrize("error", [UsageError("no such kernel"), UnsupportedInstruction("wmma.mma", 4)])
def test_outcome_of_a_usage_error_has_exit_code_2(error: Exception) -> None:
    outcome = outcome_of(CELL, FailingCompiler(error))
    assert outcome.exit_code == 2
    assert outcome.as_dict()["error"]


def test_outcome_round_trips_through_pickle() -> None:
    outcome = outcome_of(CELL, device_with(lambda *args: None))
    copy = pickle.loads(pickle.dumps(outcome))
    assert json.dumps(copy.as_dict(), allow_nan=False) == json.dumps(outcome.as_dict(), allow_nan=False)


def test_outcome_as_dict_has_the_documented_keys() -> None:
    data = outcome_of(CELL, device_with()).as_dict()
    assert {"correct", "findings", "technique", "reasons", "problem", "variant", "device", "shapes"} <= set(
        data
    )
