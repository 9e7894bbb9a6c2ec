"""Verification: what passes, what fails, and what is said about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpulab.compiler.program import Parameter, Program
from gpulab.errors import LaunchError, MemoryFault, UsageError
from gpulab.finding import Finding
from gpulab.problems import problem
from gpulab.verification.compare import POISON
from gpulab.verification.verify import State, Verdict, signature_reason, verify
from tests.kernel_configs import config
from tests.python_device import PythonDevice, PythonKernel

STENCIL = problem("stencil")
MATMUL = problem("matmul")
BLOCK, TILE = (32, 8, 1), (1, 1, 0)
SHAPE = (65, 47, 9)

Function = Callable[..., None]


def right(fac: Any, A0: Any, Anext: Any, nx: Any, ny: Any, nz: Any) -> None:
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


def then(change: Callable[[Any, Any], None]) -> Function:
    """The right kernel, and after it `change(A0, Anext)`."""

    def function(fac: Any, A0: Any, Anext: Any, nx: Any, ny: Any, nz: Any) -> None:
        right(fac, A0, Anext, nx, ny, nz)
        change(A0, Anext)

    return function


def judged(function: Function, **options: Any) -> Verdict:
    device = PythonDevice()
    options = {"shapes": [SHAPE], "seed": 5} | options
    return verify(device.kernel(function), config("stencil.naive", BLOCK, TILE), **options)


def set_(index: Any, value: float) -> Function:
    def change(A0: Any, Anext: Any) -> None:
        Anext[index] = value

    return then(change)


def test_a_right_kernel_is_correct_on_all_check_shapes() -> None:
    verdict = judged(right, shapes=None)
    assert verdict.correct
    assert verdict.reasons == ()
    assert [r.shape for r in verdict.results] == list(STENCIL.check_shapes("naive", BLOCK, TILE))
    assert all(r.plane is None and r.wrong == 0 for r in verdict.results)


def test_the_grid_is_rounded_up_and_loops_over_z() -> None:
    device = PythonDevice()
    kernel = device.kernel(right)
    verify(kernel, config("stencil.naive", BLOCK, TILE), shapes=[SHAPE])
    assert kernel.launches == [((3, 6, 1), (32, 8, 1))]


def test_every_run_has_other_inputs_unless_a_seed_asks_for_the_same() -> None:
    seen: list[float] = []

    def spy(fac: Any, A0: Any, *rest: Any) -> None:
        seen.append(float(A0[0, 0, 0]))
        right(fac, A0, *rest)

    first = judged(spy, seed=None)
    judged(spy, seed=None)
    judged(spy, seed=first.seed)
    assert seen[0] != seen[1]
    assert seen[0] == seen[2]


def test_one_wrong_point_is_first_and_worst() -> None:
    (result,) = judged(set_((4, 5, 6), 99.0)).results
    assert not result.correct
    assert (result.wrong, result.total) == (1, 63 * 45 * 7)
    assert result.first == result.worst
    assert result.first is not None
    assert result.first.index == (4, 5, 6)
    assert result.first.got == 99.0


def test_the_first_is_in_memory_order_and_the_worst_is_the_farthest_off() -> None:
    def change(A0: Any, Anext: Any) -> None:
        Anext[5, 1, 1] = 50.0
        Anext[3, 9, 9] = 10.0

    (result,) = judged(then(change)).results
    assert result.first is not None
    assert result.worst is not None
    assert result.first.index == (3, 9, 9)
    assert result.worst.index == (5, 1, 1)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_fails(value: float) -> None:
    (result,) = judged(set_((4, 5, 6), value)).results
    assert (result.correct, result.wrong, result.non_finite) == (False, 1, 1)


def test_a_point_that_nobody_wrote_is_told_from_a_nan() -> None:
    def change(A0: Any, Anext: Any) -> None:
        Anext.view(np.uint32)[4, 5, 6] = POISON

    verdict = judged(then(change))
    (result,) = verdict.results
    assert (result.never_written, result.non_finite) == (1, 0)
    assert "never written" in verdict.reasons[0]


def test_a_written_shell_fails_although_every_inner_point_is_right() -> None:
    verdict = judged(set_((0, 5, 6), 0.0))
    (result,) = verdict.results
    assert (result.correct, result.wrong, result.shell_touched) == (False, 0, 1)
    assert "(z=0, y=5, x=6)" in verdict.reasons[0]


def test_a_changed_input_fails_although_the_output_is_right() -> None:
    def change(A0: Any, Anext: Any) -> None:
        A0[3, 3, 3] = 0.0

    verdict = judged(then(change))
    assert not verdict.correct
    assert verdict.results[0].input_changed == ("A0",)
    assert "A0" in verdict.reasons[0]


def test_a_negative_zero_in_place_of_a_zero_is_a_changed_input() -> None:
    def change(A0: Any, Anext: Any) -> None:
        A0.view(np.uint32)[3, 3, 3] ^= np.uint32(1 << 31)

    assert judged(then(change)).results[0].input_changed == ("A0",)


def test_the_picture_is_the_plane_with_the_most_wrong_points() -> None:
    def change(A0: Any, Anext: Any) -> None:
        Anext[3, 9, 9] = 10.0
        Anext[6, 1, 1:4] = 10.0
        Anext.view(np.uint32)[6, 2, 2] = POISON
        Anext[6, 0, 7] = 0.0

    plane = judged(then(change)).plane
    assert plane is not None
    assert "z = 6" in plane.title
    assert plane.axes == ("x", "y")
    assert plane.state.shape == (47, 65)
    assert plane.state.dtype == np.uint8
    assert plane.pitch == (32, 8)
    assert list(plane.state[1, :5]) == [State.UNTOUCHED, *[State.WRONG] * 3, State.RIGHT]
    assert plane.state[2, 2] == State.NEVER_WRITTEN
    assert plane.state[0, 7] == State.FORBIDDEN


def test_a_fault_is_a_reason_a_finding_and_the_end_of_the_check() -> None:
    finding = Finding("memcheck", "out_of_bounds_read", 7, (2, 0, 0), (0, 3, 0), "reads A0[-1]")

    def fault(*args: Any) -> None:
        raise MemoryFault("line 7: reads A0[-1]", [finding])

    verdict = judged(fault, shapes=[SHAPE, (33, 70, 3)])
    assert not verdict.correct
    assert verdict.findings == (finding,)
    assert verdict.reasons == ("65x47x9: line 7: reads A0[-1]",)
    assert len(verdict.results) == 1


def test_a_launch_that_never_ends_is_a_wrong_kernel_not_an_error() -> None:
    def endless(*args: Any) -> None:
        raise LaunchError("the kernel did not end")

    assert not judged(endless).correct


def test_what_a_kernel_printed_is_kept() -> None:
    device = PythonDevice()
    kernel = device.kernel(right)
    kernel.printed = "hello\n"
    assert verify(kernel, config("stencil.naive", BLOCK, TILE), shapes=[SHAPE]).printed == "hello\n"


def test_progress_tells_each_shape_and_the_end() -> None:
    told: list[tuple[int, int, str]] = []
    judged(right, shapes=[SHAPE, (33, 70, 3)], progress=lambda *step: told.append(step))
    assert told == [(0, 2, "65x47x9"), (1, 2, "33x70x3"), (2, 2, "")]


@pytest.mark.parametrize(
    ("block", "said"),
    [((64, 32, 1), "1024"), ((1, 1, 128), "64"), ((0, 8, 1), "no threads")],
)
def test_a_block_that_no_gpu_can_run_is_refused(block: tuple[int, int, int], said: str) -> None:
    device = PythonDevice()
    with pytest.raises(UsageError, match=said):
        verify(device.kernel(right), config("stencil.naive", block, TILE))


def test_a_size_that_does_not_fit_into_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sysconf", lambda name: 1000)
    with pytest.raises(UsageError, match="GB"):
        judged(right, shapes=[(128, 128, 128)])


def test_a_verdict_is_plain_data_for_json() -> None:
    import json

    data = judged(set_((4, 5, 6), np.nan)).as_dict()
    assert json.loads(json.dumps(data, allow_nan=False))["results"][0]["first"]["got"] == "nan"


P, F, I = Parameter("p", "pointer", 8), Parameter("f", "float", 4), Parameter("i", "int", 4)


@pytest.mark.parametrize(
    ("parameters", "fits"),
    [
        ((F, P, P, I, I, I), True),
        ((P, F, P, I, I, I), False),
        ((F, P, P, I, I), False),
        ((F, P, P, I, I, Parameter("n", "int", 8)), False),
        ((Parameter("d", "float", 8), P, P, I, I, I), False),
        ((F, P, P, I, I, Parameter("n", "uint", 4)), True),
    ],
)
def test_parameters_are_compared_with_the_problems(parameters: tuple[Parameter, ...], fits: bool) -> None:
    program = Program("", "", 90, signatures={"block2D_naive": parameters})
    kernel = PythonKernel("block2D_naive", right, program)
    assert (signature_reason(kernel, config("stencil.naive")) == "") is fits
