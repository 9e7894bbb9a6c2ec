"""Verification of a kernel's values: random inputs, a float64 reference, every point compared."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpulab.compiler.program import Parameter
from gpulab.config import KernelConfig, LaunchConfig
from gpulab.devices.base import Device, Kernel
from gpulab.devices.device_process import run_in_process
from gpulab.errors import LaunchError, UsageError
from gpulab.finding import Finding
from gpulab.problems.base import Argument, Case, Problem, Shape
from gpulab.verification.compare import compare_outputs
from gpulab.verification.conversions import implicit_truncation
from gpulab.verification.fault_hints import exchanged_axes, place_of_access
from gpulab.verification.fault_place import with_place
from gpulab.verification.inputs import bits_of, place_arguments, poisoned
from gpulab.verification.sanitize import sanitize
from gpulab.verification.verdict import ShapeResult, Verdict

if TYPE_CHECKING:
    from gpulab.devices.base import RecordableKernel

__all__ = [
    "Progress",
    "changed_inputs",
    "compare_launch",
    "require_memory",
    "signature_reason",
    "verify",
]

# Host memory in bytes per element of the largest array: float32 input, output and copies, float64 reference,
# tolerance and error, and NumPy's temporary arrays.
BYTES_PER_ELEMENT = 64

FEW_WRONG = 8  # points of a launch for each wrong one
LARGEST_RERUN = 1 << 22  # elements of an array of a launch that is repeated on another size for a hint

SANITIZED_THREADS = 1 << 20  # threads of the largest launch that is sanitized; shadow memory limits it

FAULT_TOOLS = ("memcheck", "synccheck")  # the tools whose errors end a launch

Progress = Callable[[int, int, str], None]  # (steps done, steps, name of the next step)


def verify(
    kernel: Kernel,
    config: KernelConfig,
    *,
    device: Device | None = None,
    shapes: Sequence[Shape] | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
    sanitized: bool = True,
) -> Verdict:
    """Run a kernel on several sizes of its problem and compare every point with the reference.

    The output is filled with a NaN of a known payload before the launch. This distinguishes points that the
    kernel did not write from wrong ones, and detects writes to the boundary. Inputs must be unchanged, bit
    for bit. The first size that ends in a fault ends the check, because a fault invalidates a GPU's context.

    Parameters
    ----------
    kernel : Kernel
        The kernel, compiled with the block and tile of `config`.
    config : KernelConfig
        Problem, variant, block and tile.
    device : Device, optional
        The device that runs the kernel; by default `kernel.device`.
    shapes : sequence of tuples of int, optional
        The sizes; by default the problem's check sizes.
    seed : int, optional
        Seed of the inputs, from an earlier verdict; by default a random one.
    progress : callable, optional
        Called with (steps done, steps, name of the next step); not on a GPU, where a worker process launches.
    sanitized : bool
        On the simulator, also report races and uninitialized reads. Without it only values and bounds are
        checked, by code that compiles several times faster.

    Returns
    -------
    Verdict
        `correct`, and if it is False, `reasons`: one sentence for each error.

    Raises
    ------
    UsageError
        If the block, the tile or a size cannot be launched, or the reference does not fit into memory.

    Examples
    --------
    In a notebook, `gpulab.kernel` and `gpulab.kernel_cell(name).config` give both arguments of a cell.

    >>> import gpulab
    >>> from gpulab.config import KernelConfig
    >>> source = '''
    ... extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p) {
    ...     int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
    ...     float sum = 0;
    ...     for (int k = 0; k < p; ++k) sum += b[i + n * k] * c[k + p * j];
    ...     a[i + n * j] = sum;
    ... }'''
    >>> kernel = gpulab.device("sim:h200").compile(source, "mmkernel")
    >>> config = KernelConfig(gpulab.problem("matmul"), "K1", block=(64, 1, 1), tile=(1, 1, 1))
    >>> gpulab.verify(kernel, config).correct
    True
    """
    device = device or kernel.device
    seed = secrets.randbits(63) if seed is None else seed
    shapes = config.check_shapes if shapes is None else shapes
    launches = [config.at(shape, device.spec) for shape in shapes]
    for shape in shapes:
        require_memory(config.problem, shape)
    reported = None if device.needs_own_process else progress  # another process cannot call it
    return run_in_process(device, _verify, kernel, config, device, launches, seed, sanitized, reported)


def _verify(
    kernel: Kernel,
    config: KernelConfig,
    device: Device,
    launches: Sequence[LaunchConfig],
    seed: int,
    sanitized: bool,
    progress: Progress | None,
) -> Verdict:
    """Run the launches and compare their values, in this process; see `verify`."""
    problem, rng = config.problem, np.random.default_rng(seed)
    results: list[ShapeResult] = []
    findings: list[Finding] = []
    printed = ""
    for number, launch in enumerate(launches):
        if progress:
            progress(number, len(launches), problem.format_shape(launch.shape))
        case = problem.make_case(launch.shape, rng)
        try:
            result, launch_findings = _run(kernel, case, launch, device, sanitized)
        except LaunchError as error:
            fault = _with_place(error, kernel, case, launch) if device.needs_own_process else error
            result, launch_findings = _faulted(problem, case, fault), fault.findings
        printed = printed or getattr(kernel, "printed", "")
        if (
            sanitized
            and device.can_record
            and not result.correct
            and (result.fault or not any(each.hint for each in results))
        ):
            result = _explained(result, launch_findings, kernel, launch, device)
        results.append(result)
        findings += launch_findings
        if result.fault:
            break
    if progress:
        progress(len(launches), len(launches), "")

    causes = _merged(finding for finding in findings if finding.severity == "error")
    warnings = _merged(finding for finding in findings if finding.severity == "warning")
    # Findings of memcheck and synccheck are the fault of a size, whose reasons name them already.
    hazards = [str(cause) for cause in causes if cause.tool in ("racecheck", "initcheck")]
    faults = [reason for result in results if result.fault for reason in result.reasons]
    others = [reason for result in results if not result.fault for reason in result.reasons]
    return Verdict(
        correct=all(result.correct for result in results) and not causes,
        problem=problem.name,
        variant=config.variant,
        results=tuple(results),
        findings=causes,
        warnings=tuple(map(str, warnings)),
        reasons=(*faults, *hazards, *others),
        printed=printed,
        seed=seed,
    )


def _with_place(error: LaunchError, kernel: Kernel, case: Case, launch: LaunchConfig) -> LaunchError:
    """Return the error of a launch on a GPU, with its place if the launch faults on the simulator, too."""

    def repeat(simulated: RecordableKernel) -> None:
        _run(simulated, case, launch, simulated.device, sanitized=False)

    return with_place(error, kernel, repeat)


def signature_reason(kernel: Kernel, config: KernelConfig) -> str:
    """Return a sentence that says how the kernel's parameters differ from the problem's; "" if they agree."""
    declared = kernel.program.signatures.get(kernel.name)
    if declared is None:
        return ""
    problem = config.problem
    arguments = problem.arguments(problem.smallest_shape, np.random.default_rng(0))
    should = f"it must be {problem.declaration.replace('<variant>', config.variant)}"
    if len(declared) != len(arguments):
        return f"`{kernel.name}` takes {len(declared)} parameters: {should}."
    types = _declared_types(problem.declaration)
    for number, (parameter, argument) in enumerate(zip(declared, arguments, strict=True), 1):
        if not _takes(parameter, argument):
            return f"parameter {number} must be {types[number - 1]} ({argument.name}): {should}."
    names = [parameter.name for parameter in declared], [argument.name for argument in arguments]
    if names[0] != names[1] and sorted(names[0]) == sorted(names[1]):
        return f"the parameters are in another order: {should}."
    return ""


def require_memory(problem: Problem, shape: Shape) -> None:
    """Raise `UsageError` for a size whose reference does not fit into the host's memory."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # this system does not report its memory
        return
    needed = BYTES_PER_ELEMENT * problem.largest_array(shape)
    if needed > memory:
        raise UsageError(
            f"checking {problem.format_shape(shape)} needs about {needed / 1e9:.0f} GB of memory, and this "
            f"computer has {memory / 1e9:.0f} GB. Choose a smaller size."
        )


def _declared_types(declaration: str) -> list[str]:
    """Return the types of the parameters of a declaration, such as `const float*`."""
    parameters = declaration.partition("(")[2].rpartition(")")[0].split(",")
    return [parameter.strip().rpartition(" ")[0] for parameter in parameters]


def _takes(parameter: Parameter, argument: Argument) -> bool:
    """Return True if a parameter accepts the argument."""
    kind, size, dtype = parameter.kind, parameter.size, argument.value.dtype
    if argument.kind == "int":
        return kind in {"int", "uint"} and size == dtype.itemsize
    if argument.kind == "pointer":
        # The element types of the compiler's signature do not say whether an integer has a sign.
        return kind == "pointer" and parameter.element in ("", dtype.name, dtype.name.removeprefix("u"))
    return kind == argument.kind and size == dtype.itemsize


def _run(
    kernel: Kernel, case: Case, launch: LaunchConfig, device: Device, sanitized: bool
) -> tuple[ShapeResult, list[Finding]]:
    """Launch with a poisoned output and return the comparison and the findings; `LaunchError` for a fault."""
    on_device = list(place_arguments(device, case.arguments, poisoned).values())

    findings: list[Finding] = []
    if sanitized and device.can_record and launch.threads <= SANITIZED_THREADS:
        findings = sanitize(
            kernel, launch.grid, launch.block, on_device, launch.shared_mem, budget=launch.budget
        )
        faults = [f for f in findings if f.tool in FAULT_TOOLS and f.severity == "error"]
        if faults:
            raise LaunchError(str(faults[0]), findings)
    elif device.can_record:
        kernel.on_simulator.record(
            None, launch.grid, launch.block, on_device, launch.shared_mem, budget=launch.budget
        )
    else:
        kernel(launch.grid, launch.block, on_device, launch.shared_mem)
    device.synchronize()

    placed = zip(on_device, case.arguments, strict=True)
    outputs = {a.name: np.asarray(device.asnumpy(x)) for x, a in placed if a.role == "output"}
    changed = tuple(changed_inputs(device, case.arguments, on_device))
    raced = any(f.tool == "racecheck" and f.severity == "error" for f in findings)
    return compare_outputs(case, launch, outputs, changed, raced=raced), findings


def compare_launch(kernel: Kernel, launch: LaunchConfig, rng: np.random.Generator) -> ShapeResult:
    """Run a whole launch on random inputs, without the sanitizer, and compare it with the reference."""
    case = launch.config.problem.make_case(launch.shape, rng)
    try:
        return _run(kernel, case, launch, kernel.device, sanitized=False)[0]
    except LaunchError as fault:
        return _faulted(launch.config.problem, case, fault)


def _explained(
    result: ShapeResult, findings: Sequence[Finding], kernel: Kernel, launch: LaunchConfig, device: Device
) -> ShapeResult:
    """Return a wrong result with the hint that launches on other sizes prove, if it has no hint yet."""
    errors = [finding for finding in findings if finding.severity == "error"]
    if result.hint or any(finding.space != "global" for finding in errors):
        return result

    def is_correct(shape: Shape) -> bool:
        if launch.config.problem.largest_array(shape) > LARGEST_RERUN:
            return False
        try:
            case = launch.config.problem.make_case(shape, np.random.default_rng(0))
            other, found = _run(kernel, case, launch.config.at(shape, device.spec), device, True)
        except (LaunchError, UsageError):
            return False
        return other.correct and not any(finding.severity == "error" for finding in found)

    # Few wrong points may be right on another size by chance.
    few = not result.fault and FEW_WRONG * result.wrong < result.total
    hint = "" if few else exchanged_axes(launch, is_correct)
    if not hint and errors:
        hint = place_of_access(launch, errors[0])
    if not hint and not errors and _computes_fractions(launch):
        hint = implicit_truncation(kernel.program)
    if not hint:
        return result
    first, *others = result.reasons
    return replace(result, hint=hint, reasons=(f"{first.rstrip('.')}. Hint: {hint}", *others))


def _computes_fractions(launch: LaunchConfig) -> bool:
    """Return True if no output of the problem is an array of integers."""
    problem = launch.config.problem
    arguments = problem.arguments(problem.smallest_shape, np.random.default_rng(0))
    return all(each.value.dtype.kind == "f" for each in arguments if each.role == "output")


def _merged(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings of all sizes, faults first; those of one tool, kind and line are merged."""
    causes: dict[tuple[str, str, int], Finding] = {}
    # A fault ended the check, so it is more important than the hazards of the sizes before.
    for finding in sorted(findings, key=lambda finding: finding.tool not in FAULT_TOOLS):
        key = finding.tool, finding.kind, finding.line
        first = causes.get(key)
        causes[key] = replace(first, count=first.count + finding.count) if first else finding
    return tuple(causes.values())


def changed_inputs(device: Device, arguments: Sequence[Argument], on_device: Sequence[Any]) -> Iterator[str]:
    """Yield the names of the input arrays whose bits differ from those before the launch."""
    for argument, array in zip(arguments, on_device, strict=True):
        if argument.role == "input":
            after = np.asarray(device.asnumpy(array))
            if not np.array_equal(bits_of(after), bits_of(argument.value)):
                yield argument.name


def _faulted(problem: Problem, case: Case, fault: LaunchError) -> ShapeResult:
    """Return the result of a launch that ended in a fault."""
    message = str(fault).strip() or type(fault).__name__
    name = problem.format_shape(case.shape)
    total = sum(int(np.count_nonzero(each.written)) for each in (case, *case.others))
    too_long = any(finding.kind == "too_long" for finding in fault.findings)
    reasons = (f"{name}: {message}",)
    return ShapeResult(
        case.shape, correct=False, total=total, fault=message, too_long=too_long, reasons=reasons
    )
