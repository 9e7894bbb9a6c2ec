"""One test case of the fuzzer: a kernel and a launch, executed by the simulator and the interpreter."""

from __future__ import annotations

import traceback
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.compiler import compile_program
from gpulab.compiler.program import Program
from gpulab.devices import open_device
from gpulab.devices.simulator.simulated_device import SimulatedDevice, SimulatedModule
from gpulab.errors import CompileError, LaunchError, UnsupportedInstruction
from gpulab.simt.ptx.parser import parse
from tests.fuzz.instructions import NotInterpreted, Unspecified
from tests.fuzz.interpreter import InstructionLimitExceeded, Interpreter, ThreadFault
from tests.fuzz.memory import Memory, Race

__all__ = ["FAILURES", "KERNEL", "Case", "Result", "array_sizes", "check", "make_arguments"]

KERNEL = "k"
Array = npt.NDArray[Any]

# The kinds of results of `check`. `FAILURES` are errors of the simulator (or of the interpreter). In the
# others, both agree, or the case proves nothing: the kernel has no unique result, or one of the two does
# not implement an instruction.
FAILURES = ("difference", "fault", "crash", "hang", "error")
OTHERS = ("same", "same fault", "refused", "not interpreted", "unspecified", "too long", "does not compile")


@dataclass(frozen=True)
class Case:
    """A kernel, its launch and its inputs; enough to repeat the case.

    Attributes
    ----------
    dynamic : int
        Bytes of dynamic shared memory.
    independent : bool
        The simulator schedules lanes independently, as GPUs since Volta do.
    planted : int
        Line of the planted fault, or 0.
    data : int
        Seed of the inputs.
    """

    source: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arch: int = 90
    options: tuple[str, ...] = ()
    dynamic: int = 0
    independent: bool = True
    planted: int = 0
    data: int = 0
    seed: int = 0

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(values: dict[str, Any]) -> Case:
        """Return the case that `as_dict` describes; JSON may have turned its tuples into lists."""
        return Case(**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})

    @property
    def threads(self) -> int:
        """The number of threads of the grid."""
        x, y, z = (g * b for g, b in zip(self.grid, self.block, strict=True))
        return x * y * z


@dataclass
class Result:
    """The outcome of a case.

    Attributes
    ----------
    kind : str
        One of `FAILURES` or `OTHERS`.
    signature : str
        A property of the failure that a reduced program must share.
    seconds : dict
        Duration of each step.
    """

    kind: str
    detail: str = ""
    signature: str = ""
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        return self.kind in FAILURES


# -- arguments ----------------------------------------------------------------------------------

SPECIAL_INTS = (0, 1, -1, 2, 31, 32, 33, 255, 256, -128, 32767, -32768, 2**31 - 1, -(2**31), 2**30, -7)
SPECIAL_FLOATS = (0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e-45, -1e-40, 3.4e38, -3.4e38, 0.5, 1.5, 2.5,
                  2147483648.0, 4294967296.0, 1e-30, 16777217.0)  # fmt: skip
INPUT_LENGTHS = {"in_i": 256, "in_f": 256, "in_l": 128, "in_d": 128}  # elements
OUTPUT_CELLS = {"out_i": 4, "out_f": 4, "out_l": 2, "out_d": 2, "out_b": 8}  # elements of each thread
TYPES = {"in_i": "i4", "in_f": "f4", "in_l": "i8", "in_d": "f8", "out_i": "i4", "out_f": "f4", "out_l": "i8",
         "out_d": "f8", "out_b": "u1", "acc": "u4", "accl": "u8"}  # fmt: skip
ACCUMULATORS = 16  # elements of `acc` and `accl` for each atomic operation
LOCK = 112  # index of a lock in `acc`; the elements that it guards follow
SCALARS = ("n", "m", "w", "q")


def array_sizes(threads: int) -> dict[str, int]:
    """Return the number of elements of every array, in the order of the parameters."""
    result = dict(INPUT_LENGTHS)
    result |= {name: threads * cells for name, cells in OUTPUT_CELLS.items()}
    return result | {"acc": 8 * ACCUMULATORS, "accl": 4 * ACCUMULATORS}


def make_arguments(seed: int, threads: int) -> dict[str, Array | np.generic]:
    """Return the kernel's arguments in order: inputs, a third of them special values, and random outputs."""
    rng = np.random.default_rng(seed)
    result: dict[str, Array | np.generic] = {}
    for name, size in array_sizes(threads).items():
        dtype = np.dtype(TYPES[name])
        raw = rng.integers(0, 256, size * dtype.itemsize, np.uint8).view(dtype).copy()
        if name in INPUT_LENGTHS:
            chosen = rng.random(size)
            if dtype.kind == "f":
                raw = np.where(chosen < 0.8, np.round(rng.normal(0, 40, size), 2), 0).astype(dtype)
                special = rng.choice(SPECIAL_FLOATS, size).astype(dtype)
                raw = np.where(chosen > 0.7, special, raw)
            else:
                raw = np.where(chosen < 0.7, raw % 97, raw).astype(dtype)
                raw = np.where(chosen > 0.85, rng.choice(SPECIAL_INTS, size).astype(dtype), raw)
        elif name in ("acc", "accl"):
            raw[:] = rng.integers(0, 100, size)
            raw[LOCK % size] = 0  # the lock is open
        elif dtype.kind == "f":
            raw = rng.normal(0, 1, size).astype(dtype)
        result[name] = raw
    result["n"] = np.int32(rng.integers(1, 40))
    result["m"] = np.int32(rng.integers(-9, 9))
    result["w"] = np.uint32(rng.integers(0, 2**32))
    result["q"] = np.float32(rng.normal(0, 3))
    return result


# -- running ------------------------------------------------------------------------------------


def check(case: Case) -> Result:
    """Compile the kernel, run it on the interpreter and the simulator, and compare the results."""
    seconds: dict[str, float] = {}
    start = perf_counter()

    def lap(name: str) -> None:
        nonlocal start
        now = perf_counter()
        seconds[name] = now - start
        start = now

    try:
        program = compile_program(case.source, arch=case.arch, options=case.options)
    except CompileError as error:
        return Result("does not compile", str(error))
    lap("compile")
    arguments = make_arguments(case.data, case.threads)
    try:
        expected, faults, cut_off = _interpret(case, program, arguments)
    except NotInterpreted as error:
        return Result("not interpreted", str(error))
    except (Unspecified, Race) as error:
        return Result("unspecified", f"{type(error).__name__}: {error}")
    except InstructionLimitExceeded:
        return Result("too long")
    lap("interpret")
    try:
        got, finding = _simulate(case, program, arguments)
    except UnsupportedInstruction as error:
        if error.__cause__ is None:
            return Result("refused", str(error))
        # The compiler's PTX is well formed, so the exception comes from the instruction's handler.
        return Result("error", f"{error.__cause__!r} in: {error}", repr(error.__cause__).split("(")[0])
    except Exception as error:  # noqa: BLE001 - any other error is a failure that the fuzzer reports
        where = traceback.extract_tb(error.__traceback__)[-1]
        return Result("error", f"{type(error).__name__}: {error}", f"{where.name} {where.line}")
    lap("simulate")
    result = _compare(case, expected, faults, got, finding)
    if cut_off and result.failed and finding is not None:
        result = Result("too long", f"threads were cut off after a fault: {result.detail}")
    result.seconds = seconds
    return result


def _interpret(
    case: Case, program: Program, arguments: dict[str, Array | np.generic]
) -> tuple[dict[str, Array], list[ThreadFault], bool]:
    """Return the arrays after the launch, the threads' faults, and whether further faults are possible."""
    memory = Memory()
    addresses: dict[str, int] = {}
    launch_arguments = []
    for name, value in arguments.items():
        if isinstance(value, np.ndarray):
            addresses[name] = memory.allocate(value.tobytes(), constant=name in INPUT_LENGTHS)
            launch_arguments.append(addresses[name].to_bytes(8, "little"))
        else:
            launch_arguments.append(value.tobytes())
    interpreter = Interpreter(parse(program.ptx), KERNEL, memory, case.dynamic)
    faults = interpreter.run(case.grid, case.block, launch_arguments)
    after = {
        name: np.frombuffer(bytes(memory.arrays[address >> 40].data), TYPES[name])
        for name, address in addresses.items()
    }
    return after, faults, interpreter.cut_off


def _simulate(
    case: Case, program: Program, arguments: dict[str, Array | np.generic]
) -> tuple[dict[str, Array], Any]:
    device = open_device("sim")
    assert isinstance(device, SimulatedDevice)
    kernel = SimulatedModule(device, program, independent_threads=case.independent).get_function(KERNEL)
    launch_arguments = {
        n: device.asarray(v) if isinstance(v, np.ndarray) else v for n, v in arguments.items()
    }
    finding = None
    try:
        kernel(case.grid, case.block, list(launch_arguments.values()), case.dynamic)
    except LaunchError as error:
        finding = error.findings[0] if error.findings else str(error)
    after = {
        n: device.asnumpy(v) for n, v in launch_arguments.items() if isinstance(arguments[n], np.ndarray)
    }
    return after, finding


# -- comparing ----------------------------------------------------------------------------------


def _compare(
    case: Case, expected: dict[str, Array], faults: list[ThreadFault], got: dict[str, Array], finding: Any
) -> Result:
    if finding is None and not faults:
        return _compare_values(expected, got)
    if finding is None:
        return Result(
            "fault",
            f"the simulator reports no fault; the interpreter {faults[:3]}",
            f"none, {faults[0].kind}",
        )
    if isinstance(finding, str) or not faults:
        other = faults[0].kind if faults else "none"
        signature = f"{getattr(finding, 'kind', finding)}, {other}"
        return Result("fault", f"the simulator: {finding}; the interpreter: {other}", signature)
    kind = finding.kind
    if kind.startswith("out_of_bounds"):
        kind = "out_of_bounds"
    kind_and_line = (kind, finding.line)
    if kind == "divergent_barrier":
        agrees = kind_and_line in {(fault.kind, fault.line) for fault in faults}
    else:
        agrees = ThreadFault(*kind_and_line, finding.block, finding.thread) in faults
    if not agrees:
        signature = f"{finding.kind}, {faults[0].kind}, {finding.line == faults[0].line}"
        return Result(
            "fault", f"the simulator: {finding} ({finding.kind}); the interpreter: {faults[:3]}", signature
        )
    # A divergent barrier is reported either in its own line or in that of the barrier where others wait.
    if case.planted and finding.line != case.planted and kind != "divergent_barrier":
        return Result(
            "fault",
            f"both report {finding.kind} in line {finding.line}; it was planted in line {case.planted}",
        )
    return Result("same fault", kind)


def _compare_values(expected: dict[str, Array], got: dict[str, Array]) -> Result:
    for name, wanted in expected.items():
        have = got[name]
        same = wanted == have
        if wanted.dtype.kind == "f":
            bits = f"u{wanted.dtype.itemsize}"
            both = np.isnan(wanted) & np.isnan(have)  # PTX does not specify the bits of a NaN
            same = (wanted.view(bits) == have.view(bits)) | both
        if not same.all():
            wrong = np.flatnonzero(~same)
            first = int(wrong[0])
            return Result(
                "difference",
                f"{name}: {len(wrong)} of {len(wanted)} differ, the first at [{first}]: the interpreter has "
                f"{wanted[first]!r}, the simulator {have[first]!r}",
                name,
            )
    return Result("same")
