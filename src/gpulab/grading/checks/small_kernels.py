"""`require_kernel`: the check of a small kernel that belongs to no problem."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpulab.devices.device_process import run_in_process
from gpulab.errors import LaunchError, UsageError, WrongResult, first_sentence
from gpulab.grading.checks.draws import random_generator
from gpulab.grading.checks.points_line import record_points, show_points
from gpulab.grading.checks.recheck import last_cell

if TYPE_CHECKING:
    from gpulab.cell import Cell
    from gpulab.compiler.program import Parameter
    from gpulab.devices.base import Device, Kernel
    from gpulab.exercises.kernel_exercise import KernelCase, KernelExercise
    from gpulab.finding import Finding

__all__ = ["require_kernel"]

MAX_FINDINGS = 2
BUDGET = 1 << 20  # instructions that a warp may execute; right kernels take less than a hundredth
OLDER = "On a GPU before Volta: "
WAITS_FOR_ITS_WARP = "Lanes that left the loop wait behind it: do in the loop what the others wait for."

BARRIER = re.compile(r"^\s*(?:@!?%\w+\s+)?(?:bar|barrier)\.[^;]*;", re.MULTILINE)  # in PTX
OTHER_ORDER = ("mbarrier", "atom.shared")  # in PTX; these order accesses, too, and cannot be removed
NO_EXCHANGE = (
    "the values are right, but no thread reads what another one stores in shared memory, so barriers have "
    "no effect: repair the kernel, do not replace it."
)


class CaseFailure(WrongResult):
    """A launch with an error. label: its size. findings, reasons: what is wrong; at least one of them."""

    def __init__(self, label: str, findings: Sequence[Finding] = (), reasons: Sequence[str] = ()) -> None:
        self.label, self.findings, self.reasons = label, tuple(findings), tuple(reasons)
        super().__init__("\n".join(f"{label}: {each}" for each in (*self.findings, *self.reasons)))


def require_kernel(name: str, points: float, *, next: str = "") -> None:  # noqa: A002  (the name in a notebook)
    """Check a small kernel on new sizes and inputs, and give its points.

    The kernel runs on the simulator with the sanitizer first, and on a GPU afterwards.

    Parameters
    ----------
    name : str
        The name in the header of the kernel's cell, such as ``"axpy"``.
    points : float
        The points of the cell.
    next : str, optional
        The next task, shown when the kernel is right.

    Raises
    ------
    UsageError
        The cell of the kernel has not run, or there is no such exercise.
    CompileError
        The source does not compile, or parts of it are not written yet.
    LaunchError, MemoryFault
        The launch fails.
    WrongResult
        The sanitizer finds an error, a value is wrong, or the kernel does not do what is asked for. A card
        in the output of the cell names the lines.

    Examples
    --------
    The last line of a test cell:

    >>> from gpulab.grading.checks import require_kernel
    >>> require_kernel("axpy", points=3, next="latency")  # doctest: +SKIP
    """
    from gpulab.devices import open_device
    from gpulab.exercises import kernel_exercises
    from gpulab.notebook import failure
    from gpulab.verification.check import compile_cell

    failure.install_if_missing()
    record_points(name, 0)
    known = kernel_exercises()
    if name not in known:
        raise UsageError(f"there is no exercise with a kernel `{name}`; choose from {', '.join(known)}.")
    exercise, cell = known[name], last_cell(name)
    cases = tuple(exercise.cases(random_generator(name)))
    _check_blocks(cell, cases[0])
    kernel = compile_cell(cell, open_device())
    _check_parameters(kernel, cases[0])
    try:
        _check(exercise, kernel, cases)
    except CaseFailure as wrong:
        raise _shown(name, kernel.program.source, wrong) from None
    show_points(name, points, points, next, f"✓ {name} is correct: ")


def _shown(name: str, source: str, wrong: CaseFailure) -> WrongResult:
    """Show what is wrong with a kernel, with the lines of its source, and return the error to raise."""
    from gpulab.notebook.failure import mark_shown
    from gpulab.notebook.screen import show
    from gpulab.views.cell_view import failed_case_view

    show(failed_case_view(f"{name} is not correct for {wrong.label}", source, wrong.findings, wrong.reasons))
    first = str((*wrong.findings, *wrong.reasons)[0])
    error = WrongResult(f"{name} is not correct.\n{wrong}")
    mark_shown(error, f"{name} is not correct for {wrong.label}: {first_sentence(first)}")
    return error


def _check(exercise: KernelExercise, kernel: Kernel, cases: tuple[KernelCase, ...]) -> None:
    """Raise `CaseFailure` unless a kernel is right in all cases."""
    simulated = kernel.on_simulator
    for case in cases:
        _check_on_simulator(exercise, simulated, case)
    if exercise.lockstep:
        _check_lockstep(exercise, simulated, cases)
    if exercise.requirement is not None:
        _check_requirement(exercise, simulated.silent, cases[-1])
    if exercise.exchange:
        _check_exchange(simulated.silent, cases[-1])
    if simulated is not kernel:
        for case in cases:
            _compare(exercise, kernel, case, run_in_process(kernel.device, _launched, kernel, case))


def _launched(kernel: Kernel, case: KernelCase) -> list[Any]:
    """Launch a kernel in a case and return its arguments, with copies of the arrays on the host."""
    arguments = _placed(case, kernel.device)
    kernel(case.grid, case.block, arguments)
    return [
        kernel.device.asnumpy(argument) if isinstance(value, np.ndarray) else value
        for argument, value in zip(arguments, case.args, strict=True)
    ]


def _check_blocks(cell: Cell, case: KernelCase) -> None:
    """Raise `UsageError` if the header names another block than the test launches."""
    if cell.header.block in (None, case.block_extents):
        return
    x, y, z = case.block_extents
    extents = f"{x} {y} {z}" if z > 1 else f"{x} {y}" if y > 1 else str(x)
    raise UsageError(
        f"the test launches blocks of {extents.replace(' ', ' x ')} threads: keep `--block {extents}` in the "
        "header."
    )


def _check_parameters(kernel: Kernel, case: KernelCase) -> None:
    """Raise `UsageError` if the kernel does not take the arguments of the test."""
    found = kernel.program.signatures[kernel.name]
    if len(found) == len(case.args) and all(map(_takes, found, case.args)):
        return
    types = ", ".join(map(_c_type, case.args))
    raise UsageError(
        f"the test calls {kernel.name} with ({types}), in this order: use the parameters that the cell had "
        "at the beginning."
    )


def _takes(parameter: Parameter, value: Any) -> bool:
    """Return True if a parameter takes an argument of the test."""
    if isinstance(value, np.ndarray):
        return parameter.kind == "pointer" and parameter.element in ("", str(value.dtype))
    return parameter.kind.removeprefix("u") == _c_type(value)


def _c_type(value: Any) -> str:
    """Return the type of an argument in C."""
    name = "float" if np.asarray(value).dtype.kind == "f" else "int"
    return f"{name}*" if isinstance(value, np.ndarray) else name


def _check_on_simulator(exercise: KernelExercise, kernel: Any, case: KernelCase) -> None:
    from gpulab.verification.sanitize import sanitize

    arguments = _placed(case, kernel.device)
    findings = [
        replace(finding, message=exercise.race) if exercise.race and finding.tool == "racecheck" else finding
        for finding in sanitize(kernel, case.grid, case.block, arguments, budget=BUDGET)
    ]
    # A launch with an error may have stopped early, so its values do not show another cause.
    if findings:
        raise CaseFailure(case.label, findings[:MAX_FINDINGS])
    _compare(exercise, kernel, case, arguments)


def _check_lockstep(exercise: KernelExercise, kernel: Any, cases: tuple[KernelCase, ...]) -> None:
    from gpulab.devices.simulator.simulated_device import SimulatedModule

    module = SimulatedModule(kernel.device, kernel.program, independent_threads=False)
    older = module.get_function(kernel.name)
    for case in cases:
        arguments = _placed(case, older.device)
        try:
            older.record(None, case.grid, case.block, arguments, budget=BUDGET)
        except LaunchError as error:
            findings = [
                replace(f, message=f"{f.message} {WAITS_FOR_ITS_WARP}")
                if f.kind == "deadlock"
                else replace(f, message=OLDER + f.message)
                for f in error.findings
            ]
            raise CaseFailure(case.label, findings, () if findings else (f"{OLDER}{error}",)) from None
        _compare(exercise, older, case, arguments, OLDER)


def _check_requirement(exercise: KernelExercise, kernel: Any, case: KernelCase) -> None:
    """Count one launch, and compare the values of the same launch."""
    from gpulab.profiling.counts.counters import counters

    assert exercise.requirement is not None
    arguments = _placed(case, kernel.device)
    counted = counters(kernel, case.grid, case.block, arguments)
    _compare(exercise, kernel, case, arguments)
    if missed := exercise.requirement(counted, case):
        raise CaseFailure(
            case.label, reasons=(f"the values are right, but {missed} (Counted by the simulator.)",)
        )


def _check_exchange(kernel: Any, case: KernelCase) -> None:
    """Raise `CaseFailure` unless the kernel has races without its barriers: its threads exchange values.

    A kernel that also orders its accesses by other means than barriers is not checked.
    """
    from gpulab.verification.sanitize import sanitize

    ptx = kernel.program.ptx
    if any(operation in ptx for operation in OTHER_ORDER):
        return
    unordered = kernel.device.load_ptx(BARRIER.sub("", ptx), kernel.name)
    findings = sanitize(unordered, case.grid, case.block, _placed(case, kernel.device), budget=BUDGET)
    if not any(finding.tool == "racecheck" for finding in findings):
        raise CaseFailure(case.label, reasons=(NO_EXCHANGE,))


def _placed(case: KernelCase, device: Device) -> list[Any]:
    """Return the arguments of a launch on a device."""
    return [device.asarray(value) if isinstance(value, np.ndarray) else value for value in case.args]


def _compare(
    exercise: KernelExercise, kernel: Kernel, case: KernelCase, arguments: list[Any], where: str = ""
) -> None:
    """Raise `CaseFailure` if an array has wrong values. where: begins each sentence."""
    if reasons := [f"{where}{reason}" for reason in _wrong_values(exercise, kernel, case, arguments)]:
        raise CaseFailure(case.label, reasons=reasons)


def _wrong_values(
    exercise: KernelExercise, kernel: Kernel, case: KernelCase, arguments: list[Any]
) -> Iterator[str]:
    """Yield a sentence for each array with wrong values."""
    names = [parameter.name for parameter in kernel.program.signatures[kernel.name]]
    for position, value in enumerate(case.args):
        if not isinstance(value, np.ndarray):
            continue
        found = kernel.device.asnumpy(arguments[position])
        wrong, first = case.first_wrong(position, found)
        if not wrong:
            continue
        got, right = found.ravel()[first], case.expected.get(position, value).ravel()[first]
        digits = "d" if value.dtype.kind in "iu" else "g"
        if position not in case.expected:
            hint = (
                f"The kernel must not write to {names[position]}. It is parameter {position + 1} of the "
                "kernel, and an input of the test."
            )
        else:
            hint = exercise.hint(case, position, first, got) if exercise.hint else ""
        element = f"{names[position]}[{first}]"
        if found.size == 1:
            yield f"{element} is {got:{digits}}, not {right:{digits}}. {hint}".strip()
            continue
        yield (
            f"{wrong:,} of {found.size:,} values of {names[position]} are wrong; {element} is "
            f"{got:{digits}}, not {right:{digits}}. {hint}"
        ).strip()
