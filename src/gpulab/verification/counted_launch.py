"""The values of the launch whose memory traffic is counted, and its races.

Traffic and values must be those of the same launch: a kernel could recognise the counted launch by its size
and do less work there. It could also leave out its barriers there. The code that counts finds no races, and
its warps may happen to run in an order that gives the right values. The launch is therefore repeated with the
race check, from the same inputs and the same contents of the module's variables.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gpulab.errors import LaunchError
from gpulab.finding import Finding
from gpulab.problems import Shape, problem
from gpulab.profiling.counts.cell_counts import CellCount
from gpulab.simt.ptx.symbols import variable_name
from gpulab.verification.compare import compare_outputs
from gpulab.verification.inputs import place_arguments, poisoned
from gpulab.verification.sanitize import sanitize
from gpulab.verification.verdict import ShapeResult, Verdict
from gpulab.verification.verify import SANITIZED_THREADS, changed_inputs

__all__ = [
    "ForbiddenStores",
    "compare_counted_launch",
    "errors_of_counted_launch",
    "forbidden_stores",
    "with_counted_launch",
    "with_fault",
]


@dataclass(frozen=True)
class ForbiddenStores:
    """Stores to memory that a kernel may only read: the names of inputs, and a sentence for each store."""

    inputs: tuple[str, ...]
    reasons: tuple[str, ...]


def with_counted_launch(verdict: Verdict, count: CellCount) -> Verdict:
    """Return the verdict, or a wrong one if the counted launch has wrong values, stores or races."""
    result = compare_counted_launch(count)
    errors = errors_of_counted_launch(count) if result.correct else ()
    if result.correct and not errors:
        return verdict
    reasons = tuple(f"on the counted launch, {reason}" for reason in (*result.reasons, *errors))
    return replace(
        verdict,
        correct=False,
        results=(*verdict.results, replace(result, correct=False, reasons=reasons)),
        findings=(*verdict.findings, *errors),
        reasons=(*verdict.reasons, *reasons),
    )


def with_fault(verdict: Verdict, shape: Shape, error: LaunchError) -> Verdict:
    """Return a wrong verdict for a kernel whose counted launch faults."""
    size = problem(verdict.problem).format_shape(shape)
    reasons = (f"on the counted launch, {size}: {error}",)
    result = ShapeResult(shape, correct=False, fault=str(error), reasons=reasons)
    return replace(
        verdict,
        correct=False,
        results=(*verdict.results, result),
        findings=(*verdict.findings, *error.findings),
        reasons=(*verdict.reasons, *reasons),
    )


def errors_of_counted_launch(count: CellCount) -> tuple[Finding, ...]:
    """Repeat a counted launch with the sanitizer and return its errors; none if it has too many threads."""
    launch, kernel = count.launch, count.recorded.kernel
    if launch.threads > SANITIZED_THREADS:
        return ()
    for memory, before in count.variables:
        memory[:] = before
    problem = launch.config.problem
    inputs = problem.arguments(launch.shape, np.random.default_rng(count.seed))
    arguments = list(place_arguments(kernel.device, inputs, poisoned).values())
    findings = sanitize(kernel, launch.grid, launch.block, arguments, launch.shared_mem, budget=launch.budget)
    return tuple(finding for finding in findings if finding.severity == "error")


def compare_counted_launch(count: CellCount) -> ShapeResult:
    """Compare the output of a counted launch, of which every block ran, with the reference."""
    launch, problem = count.launch, count.launch.config.problem
    case = problem.make_case(launch.shape, np.random.default_rng(count.seed))
    device = count.recorded.kernel.device
    arrays = [count.arguments[argument.name] for argument in case.arguments]
    outputs = {
        argument.name: np.asarray(device.asnumpy(array))
        for argument, array in zip(case.arguments, arrays, strict=True)
        if argument.role == "output"
    }
    changed_arrays = tuple(changed_inputs(device, case.arguments, arrays))
    result = compare_outputs(case, launch, outputs, changed_arrays)

    stores = forbidden_stores(count)
    changed = tuple(dict.fromkeys((*result.input_changed, *stores.inputs)))
    return replace(
        result,
        correct=result.correct and not stores.reasons,
        input_changed=changed,
        reasons=(*result.reasons, *stores.reasons),
    )


def forbidden_stores(count: CellCount) -> ForbiddenStores:
    """Return the stores of a counted launch that no kernel may make.

    A store or an atomic operation on an input is wrong even if it leaves the values as they were. So is one
    to constant memory, which a GPU cannot write: loads from there are not counted.
    """
    launch, problem = count.launch, count.launch.config.problem
    inputs = {a.name for a in problem.arguments(launch.shape, None) if a.role == "input"}
    constants = count.recorded.kernel.constants
    written: dict[str, set[int]] = {}
    to_constants: set[tuple[int, str]] = set()
    for site in count.recorded.sites:
        if site.access.action in ("writes", "updates"):
            for name in inputs.intersection(count.arrays_of(site)):
                written.setdefault(name, set()).add(site.access.line)
            for address in constants.keys() & site.arrays.keys():
                to_constants.add((site.access.line, variable_name(constants[address])))

    size = problem.format_shape(launch.shape)
    reasons = [
        f"{size}: line {line} stores to {name} in constant memory, which a kernel can only read"
        for line, name in sorted(to_constants)
    ]
    reasons += [
        f"{size}: line {', '.join(map(str, sorted(lines)))} stores to the input {name} or updates it "
        "atomically; inputs may only be read"
        for name, lines in written.items()
    ]
    return ForbiddenStores(tuple(written), tuple(reasons))
