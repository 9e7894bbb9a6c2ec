"""Tests of verification: correct kernels, wrong values, faults and illegal sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpulab
from gpulab.compiler.program import Parameter, Program
from gpulab.errors import LaunchError, MemoryFault, UsageError
from gpulab.finding import Finding
from gpulab.problems import problem
from gpulab.verification.inputs import POISON
from gpulab.verification.verdict import ShapeResult, State, Verdict
from gpulab.verification.verify import signature_reason, verify
from tests.kernel_configs import config
from tests.python_device import PythonDevice, PythonKernel

STENCIL = problem("stencil")
MATMUL = problem("matmul")
BLOCK, TILE = (32, 8, 1), (1, 1, 0)
SHAPE = (65, 47, 9)

Function = Callable[..., None]


def correct_stencil(fac: Any, A0: Any, Anext: Any, nx: Any, ny: Any, nz: Any) -> None:
    inner = (slice(1, -1),) * 3
    Anext[inner] = (
        A0[1:-1, 1:-1, :-2]
        + A0[1:-1, 1:-1, 2:]
        + A0[1:-1, :-2, 1:-1]
        + A0[1:-1, 2:, 1:-1]
        + A0[:-2, 1:-1, 1:-1]
        + A0[2:, 1:-1, 1:-1]
        - np.float32(6) * A0[inner] / (fac * fac)
    )


def followed_by(change: Callable[[Any, Any], None]) -> Function:
    """Return a kernel that is correct and then calls `change(A0, Anext)`."""

    def function(fac: Any, A0: Any, Anext: Any, nx: Any, ny: Any, nz: Any) -> None:
        correct_stencil(fac, A0, Anext, nx, ny, nz)
        change(A0, Anext)

    return function


def verdict_of(function: Function, **options: Any) -> Verdict:
    device = PythonDevice()
    options = {"shapes": [SHAPE], "seed": 5} | options
    return verify(device.kernel(function), config("stencil.naive", BLOCK, TILE), **options)


def with_point(index: Any, value: float) -> Function:
    def change(A0: Any, Anext: Any) -> None:
        Anext[index] = value

    return followed_by(change)


def test_correct_kernel_is_checked_on_all_check_shapes() -> None:
    verdict = verdict_of(correct_stencil, shapes=None)
    assert verdict.correct
    assert verdict.reasons == ()
    assert [r.shape for r in verdict.results] == list(STENCIL.check_shapes("naive", BLOCK, TILE))
    assert all(r.plane is None and r.wrong == 0 for r in verdict.results)


def test_grid_is_rounded_up_and_has_one_block_in_z() -> None:
    device = PythonDevice()
    kernel = device.kernel(correct_stencil)
    verify(kernel, config("stencil.naive", BLOCK, TILE), shapes=[SHAPE])
    assert kernel.launches == [((3, 6, 1), (32, 8, 1))]


def test_device_defaults_to_that_of_the_kernel() -> None:
    class CountingDevice(PythonDevice):
        uploads = 0

        def asarray(self, host: Any) -> Any:
            self.uploads += 1
            return super().asarray(host)

    own, other = CountingDevice(), CountingDevice()
    kernel = own.kernel(correct_stencil)

    assert verify(kernel, config("stencil.naive", BLOCK, TILE), shapes=[SHAPE]).correct
    assert own.uploads > 0
    assert other.uploads == 0

    uploads = own.uploads
    assert verify(kernel, config("stencil.naive", BLOCK, TILE), device=other, shapes=[SHAPE]).correct
    assert own.uploads == uploads
    assert other.uploads > 0


def test_inputs_differ_between_runs_unless_the_seed_is_given() -> None:
    inputs: list[float] = []

    def kernel(fac: Any, A0: Any, *rest: Any) -> None:
        inputs.append(float(A0[0, 0, 0]))
        correct_stencil(fac, A0, *rest)

    first = verdict_of(kernel, seed=None)
    verdict_of(kernel, seed=None)
    verdict_of(kernel, seed=first.seed)
    assert inputs[0] != inputs[1]
    assert inputs[0] == inputs[2]


def test_single_wrong_point_is_first_and_worst() -> None:
    (result,) = verdict_of(with_point((4, 5, 6), 99.0)).results
    assert not result.correct
    assert (result.wrong, result.total) == (1, 63 * 45 * 7)
    assert result.first == result.worst
    assert result.first is not None
    assert result.first.index == (4, 5, 6)
    assert result.first.got == 99.0


def test_first_is_in_memory_order_and_worst_has_the_largest_error() -> None:
    def change(A0: Any, Anext: Any) -> None:
        Anext[5, 1, 1] = 50.0
        Anext[3, 9, 9] = 10.0

    (result,) = verdict_of(followed_by(change)).results
    assert result.first is not None
    assert result.worst is not None
    assert result.first.index == (3, 9, 9)
    assert result.worst.index == (5, 1, 1)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_non_finite_value_fails(value: float) -> None:
    (result,) = verdict_of(with_point((4, 5, 6), value)).results
    assert (result.correct, result.wrong, result.non_finite) == (False, 1, 1)


def test_unwritten_point_is_distinguished_from_a_nan() -> None:
    def change(A0: Any, Anext: Any) -> None:
        Anext.view(np.uint32)[4, 5, 6] = POISON

    verdict = verdict_of(followed_by(change))
    (result,) = verdict.results
    assert (result.never_written, result.non_finite) == (1, 0)


def test_write_to_the_boundary_fails() -> None:
    verdict = verdict_of(with_point((0, 5, 6), 0.0))
    (result,) = verdict.results
    assert (result.correct, result.wrong, result.boundary_written) == (False, 0, 1)
    assert "(z=0, y=5, x=6)" in verdict.reasons[0]


def test_changed_input_fails() -> None:
    def change(A0: Any, Anext: Any) -> None:
        A0[3, 3, 3] = 0.0

    verdict = verdict_of(followed_by(change))
    assert not verdict.correct
    assert verdict.results[0].input_changed == ("A0",)
    assert "A0" in verdict.reasons[0]


def test_inputs_are_compared_bitwise() -> None:
    def change(A0: Any, Anext: Any) -> None:
        A0.view(np.uint32)[3, 3, 3] ^= np.uint32(1 << 31)

    assert verdict_of(followed_by(change)).results[0].input_changed == ("A0",)


def test_plane_is_the_one_with_the_most_wrong_points() -> None:
    def change(A0: Any, Anext: Any) -> None:
        Anext[3, 9, 9] = 10.0
        Anext[6, 1, 1:4] = 10.0
        Anext.view(np.uint32)[6, 2, 2] = POISON
        Anext[6, 0, 7] = 0.0

    plane = verdict_of(followed_by(change)).plane
    assert plane is not None
    assert "z = 6" in plane.title
    assert plane.axes == ("x", "y")
    assert plane.state.shape == (47, 65)
    assert plane.state.dtype == np.uint8
    assert plane.pitch == (32, 8)
    assert list(plane.state[1, :5]) == [State.UNTOUCHED, *[State.WRONG] * 3, State.RIGHT]
    assert plane.state[2, 2] == State.NEVER_WRITTEN
    assert plane.state[0, 7] == State.FORBIDDEN


def test_fault_ends_the_check_with_a_finding() -> None:
    finding = Finding("memcheck", "out_of_bounds_read", 7, (2, 0, 0), (0, 3, 0), "reads A0[-1]")

    def fault(*args: Any) -> None:
        raise MemoryFault("line 7: reads A0[-1]", [finding])

    verdict = verdict_of(fault, shapes=[SHAPE, (33, 70, 3)])
    assert not verdict.correct
    assert verdict.findings == (finding,)
    assert verdict.reasons == ("65x47x9: line 7: reads A0[-1]",)
    assert len(verdict.results) == 1


def test_fault_is_listed_before_the_findings_of_earlier_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    hazard = Finding("initcheck", "uninitialized_read", 5, None, None, "reads tile before it is written")
    fault = Finding("memcheck", "out_of_bounds_read", 7, None, None, "reads A0[-1]")
    launches = iter([[hazard], [fault, hazard]])

    def scripted(*args: Any, **options: Any) -> list[Finding]:
        return next(launches)

    monkeypatch.setattr(PythonDevice, "can_record", True)
    monkeypatch.setattr("gpulab.verification.verify.sanitize", scripted)
    verdict = verdict_of(correct_stencil, shapes=[SHAPE, (33, 70, 3)])
    assert [(finding.tool, finding.count) for finding in verdict.findings] == [
        ("memcheck", 1),
        ("initcheck", 2),
    ]


def test_launch_error_fails_the_kernel() -> None:
    def endless(*args: Any) -> None:
        raise LaunchError("the kernel did not end")

    assert not verdict_of(endless).correct


def test_printed_output_is_returned() -> None:
    device = PythonDevice()
    kernel = device.kernel(correct_stencil)
    kernel.printed = "hello\n"
    assert verify(kernel, config("stencil.naive", BLOCK, TILE), shapes=[SHAPE]).printed == "hello\n"


def test_progress_is_called_for_each_shape_and_at_the_end() -> None:
    steps: list[tuple[int, int, str]] = []
    verdict_of(correct_stencil, shapes=[SHAPE, (33, 70, 3)], progress=lambda *step: steps.append(step))
    assert steps == [(0, 2, "65x47x9"), (1, 2, "33x70x3"), (2, 2, "")]


@pytest.mark.parametrize(
    ("block", "figure"),
    [((64, 32, 1), "1,024"), ((1, 1, 128), "64"), ((0, 8, 1), "0 x 8 x 1")],
)
def test_illegal_block_raises(block: tuple[int, int, int], figure: str) -> None:
    device = PythonDevice()
    with pytest.raises(UsageError, match=figure):
        verify(device.kernel(correct_stencil), config("stencil.naive", block, TILE))


def test_size_larger_than_memory_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sysconf", lambda name: 1000)
    with pytest.raises(UsageError, match="GB"):
        verdict_of(correct_stencil, shapes=[(128, 128, 128)])


def test_result_as_dict_has_the_fixed_keys_of_a_shape() -> None:
    result = ShapeResult((4, 4, 4), correct=False, boundary_written=3)
    assert result.as_dict().keys() >= {
        "shape", "correct", "wrong", "total", "non_finite", "never_written", "shell_touched",
        "input_changed", "hint", "fault", "first", "worst",
    }  # fmt: skip
    assert result.as_dict()["shell_touched"] == 3


def test_verdict_as_dict_is_valid_json() -> None:
    import json

    data = verdict_of(with_point((4, 5, 6), np.nan)).as_dict()
    assert json.loads(json.dumps(data, allow_nan=False))["results"][0]["first"]["got"] == "nan"


P, F, I = Parameter("p", "pointer", 8), Parameter("f", "float", 4), Parameter("i", "int", 4)


@pytest.mark.parametrize(
    ("parameters", "valid"),
    [
        ((F, P, P, I, I, I), True),
        ((P, F, P, I, I, I), False),
        ((F, P, P, I, I), False),
        ((F, P, P, I, I, Parameter("n", "int", 8)), False),
        ((Parameter("d", "float", 8), P, P, I, I, I), False),
        ((F, P, P, I, I, Parameter("n", "uint", 4)), True),
    ],
)
def test_parameters_must_match_the_declaration(parameters: tuple[Parameter, ...], valid: bool) -> None:
    program = Program("", "", 90, signatures={"block2D_naive": parameters})
    kernel = PythonKernel("block2D_naive", correct_stencil, program)
    assert (signature_reason(kernel, config("stencil.naive")) == "") is valid


@pytest.mark.parametrize(
    ("A0", "reason"),
    [
        ("const float* A0", ""),
        ("float* A0", ""),
        ("double* A0", "parameter 2 must be const float* (A0)"),
        ("const int* A0", "parameter 2 must be const float* (A0)"),
        ("float A0", "parameter 2 must be const float* (A0)"),
    ],
)
def test_parameter_of_a_wrong_type_is_named_with_the_right_one(A0: str, reason: str) -> None:
    source = f"__global__ void block2D_naive(float fac, {A0}, float* Anext, int nx, int ny, int nz) {{ }}"
    kernel = gpulab.device("sim").compile(source)
    assert signature_reason(kernel, config("stencil.naive")).startswith(reason)
    assert bool(signature_reason(kernel, config("stencil.naive"))) == bool(reason)


def test_parameters_in_another_order_are_refused() -> None:
    source = (
        "__global__ void block2D_naive(float fac, float* Anext, const float* A0, int nx, int ny, int nz) {}"
    )
    kernel = gpulab.device("sim").compile(source)
    assert signature_reason(kernel, config("stencil.naive")).startswith("the parameters are in another order")
