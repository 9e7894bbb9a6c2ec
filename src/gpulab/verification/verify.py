"""Are the values right? A kernel on fresh random inputs, against a float64 reference, point by point."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.config import KernelConfig, LaunchConfig
from gpulab.devices.base import Device, Kernel
from gpulab.errors import LaunchError, UsageError
from gpulab.finding import Finding
from gpulab.problems.base import Argument, Case, Problem, Shape
from gpulab.verification.compare import POISON, compare
from gpulab.verification.inputs import place_arguments
from gpulab.verification.sanitize import sanitize
from gpulab.verification.verdict import Mismatch, Plane, ShapeResult, State, Verdict

__all__ = ["Mismatch", "Plane", "ShapeResult", "State", "Verdict", "signature_reason", "verify"]

# Host memory per element of the largest array: float32 in, out and copies, float64 reference, tolerance,
# error and what NumPy needs between them.
BYTES_PER_ELEMENT = 64

WATCHED_THREADS = 1 << 20  # of the largest launch that is watched for races and uninitialised reads

# Instructions that a warp may execute on the simulator: more than one takes that does all of the problem's
# work by itself, lane after lane, and as many again for waiting.
FEWEST_INSTRUCTIONS, INSTRUCTIONS_FOR_WORK = 1 << 24, 16

Progress = Callable[[int, int, str], None]  # steps done, steps in all, what comes next


def verify(
    kernel: Kernel,
    config: KernelConfig,
    *,
    device: Device,
    shapes: Sequence[Shape] | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
    watch: bool = True,
) -> Verdict:
    """Run `kernel` on the problem's check shapes (or `shapes`) and compare every point.

    The output is filled with a nan of a known payload before the launch, so that a point that nobody
    wrote is told from a wrong one, and a written shell is seen. Inputs must come back bit for bit.
    A shape that ends in a fault ends the check: on a GPU nothing after it would mean anything.

    seed: makes the inputs of an earlier verdict again; None draws new ones.
    watch: on the simulator, look for races and uninitialised reads too. Without it values and bounds are
    checked, by code that is made in a fraction of the time.

    Raises `UsageError` when the block, the tile or a shape cannot be launched at all.
    """
    problem = config.problem
    seed = secrets.randbits(63) if seed is None else seed
    rng = np.random.default_rng(seed)
    shapes = config.check_shapes if shapes is None else shapes
    launches = [config.at(shape, device.spec) for shape in shapes]
    for shape in shapes:
        _require_memory(problem, shape)

    results: list[ShapeResult] = []
    findings: list[Finding] = []
    printed = ""
    for number, launch in enumerate(launches):
        if progress:
            progress(number, len(shapes), problem.format_shape(launch.shape))
        case = problem.make_case(launch.shape, rng)
        try:
            result, found = _run(kernel, case, launch, device, watch)
            results.append(result)
            findings += found
        except LaunchError as fault:
            findings += fault.findings
            results.append(_faulted(problem, case, fault))
        printed = printed or getattr(kernel, "printed", "")
        if results[-1].fault:
            break
    if progress:
        progress(len(shapes), len(shapes), "")
    causes = _each_once(findings)
    said = [str(cause) for cause in causes if cause.tool in ("racecheck", "initcheck")]  # others have a fault
    return Verdict(
        correct=all(result.correct for result in results) and not causes,
        problem=problem.name,
        variant=config.variant,
        results=tuple(results),
        findings=causes,
        reasons=(*said, *(reason for result in results for reason in result.reasons)),
        printed=printed,
        seed=seed,
    )


def signature_reason(kernel: Kernel, config: KernelConfig) -> str:
    """Return a sentence that says how the kernel's parameters differ from the problem's; "" if they agree."""
    declared = kernel.program.signatures.get(kernel.name)
    if declared is None:
        return ""
    problem = config.problem
    smallest = (problem.smallest,) * len(problem.axes)
    arguments = problem.arguments(smallest, np.random.default_rng(0))
    should = f"it must be {problem.declaration.replace('<variant>', config.variant)}"
    if len(declared) != len(arguments):
        return f"`{kernel.name}` takes {len(declared)} parameters: {should}."
    for number, (parameter, argument) in enumerate(zip(declared, arguments, strict=True), 1):
        if not _takes(parameter.kind, parameter.size, argument):
            kind = {"pointer": "a pointer", "float": "a float", "int": "an int"}[argument.kind]
            return f"parameter {number} of `{kernel.name}` must be {kind} ({argument.name}): {should}."
    return ""


def _require_memory(problem: Problem, shape: Shape) -> None:
    """`UsageError` for a shape whose reference this machine cannot hold: better than to be killed halfway."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not told on this system
        return
    needed = BYTES_PER_ELEMENT * problem.largest_array(shape)
    if needed > memory:
        raise UsageError(
            f"checking {problem.format_shape(shape)} takes about {needed / 1e9:.0f} GB, and this machine has "
            f"{memory / 1e9:.0f} GB; take a smaller size."
        )


def _takes(kind: str, size: int, argument: Argument) -> bool:
    if argument.kind == "int":
        return kind in {"int", "uint"} and size == 4
    return kind == argument.kind and size == (8 if kind == "pointer" else 4)


def _run(
    kernel: Kernel, case: Case, launch: LaunchConfig, device: Device, watch: bool
) -> tuple[ShapeResult, list[Finding]]:
    """One launch on a poisoned output, its comparison, and what was seen on the way.

    On the simulator a launch that is not too big is watched. Raises `LaunchError` for a fault.
    """
    problem = launch.config.problem
    on_device = list(place_arguments(device, case.arguments, _poison).values())
    watched = watch and device.can_record and launch.threads <= WATCHED_THREADS
    findings: list[Finding] = []
    if watched:
        budget = FEWEST_INSTRUCTIONS + INSTRUCTIONS_FOR_WORK * problem.work(case.shape)
        findings = sanitize(kernel, launch.grid, launch.block, on_device, budget=budget)
        faults = [f for f in findings if f.tool in ("memcheck", "synccheck")]
        if faults:
            raise LaunchError(str(faults[0]), findings)
    else:
        kernel(launch.grid, launch.block, on_device)
    device.synchronize()
    output = next(x for x, a in zip(on_device, case.arguments, strict=True) if a.role == "output")
    changed = tuple(_changed_inputs(device, case.arguments, on_device))
    return compare(case, launch, np.asarray(device.asnumpy(output)), changed), findings


def _each_once(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """What several sizes show is one finding, counted over all of them."""
    causes: dict[tuple[str, str, int], Finding] = {}
    for finding in findings:
        key = finding.tool, finding.kind, finding.line
        first = causes.get(key)
        causes[key] = replace(first, count=first.count + finding.count) if first else finding
    return tuple(causes.values())


def _poison(output: npt.NDArray[Any]) -> npt.NDArray[Any]:
    # Made from bits and copied: a fill on the way through Python's float would quiet the nan.
    return np.full(output.shape, POISON, np.uint32).view(np.float32)


def _changed_inputs(device: Device, arguments: Sequence[Argument], on_device: Sequence[Any]) -> Iterator[str]:
    for argument, array in zip(arguments, on_device, strict=True):
        if argument.role == "input":
            after = np.asarray(device.asnumpy(array))
            if not np.array_equal(after.view(np.uint32), argument.value.view(np.uint32)):
                yield argument.name


def _faulted(problem: Problem, case: Case, fault: LaunchError) -> ShapeResult:
    """The result of a launch that did not end well."""
    words = str(fault).strip() or type(fault).__name__
    name = problem.format_shape(case.shape)
    total = int(np.count_nonzero(case.written))
    return ShapeResult(case.shape, correct=False, total=total, fault=words, reasons=(f"{name}: {words}",))
