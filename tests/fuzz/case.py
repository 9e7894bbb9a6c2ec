"""One kernel with one launch: run on the simulator and on the interpreter, and what differs."""

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
from gpulab.devices.simulated import SimulatedDevice, SimulatedKernel
from gpulab.errors import CompileError, LaunchError, UnsupportedInstruction
from gpulab.simt.ptx.parser import parse
from tests.fuzz.instructions import NotInterpreted, Unspecified
from tests.fuzz.interpreter import Interpreter, Seen, TooLong
from tests.fuzz.memory import Memory, Race

__all__ = ["FAILURES", "KERNEL", "Case", "Result", "check", "inputs", "sizes"]

KERNEL = "k"
Array = npt.NDArray[Any]

# What `check` can find. The first four are failures of the simulator (or of the interpreter); the others
# say that the case tells nothing: the kernel has no one result, or somebody does not know an instruction.
FAILURES = ("difference", "fault", "crash", "hang", "error")
OTHERS = ("same", "same fault", "refused", "not interpreted", "unspecified", "too long", "does not compile")


@dataclass(frozen=True)
class Case:
    """Everything needed to run it again.

    planted: the line of an access that goes wrong on purpose, or 0. data: seed of the inputs.
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
    def of(values: dict[str, Any]) -> Case:
        """A case from `as_dict`, also after JSON made lists of its tuples."""
        return Case(**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})

    @property
    def threads(self) -> int:
        """Of the whole grid."""
        x, y, z = (g * b for g, b in zip(self.grid, self.block, strict=True))
        return x * y * z


@dataclass
class Result:
    """kind: one of `FAILURES` or `OTHERS`. sign: what a smaller program must have in common with this one."""

    kind: str
    detail: str = ""
    sign: str = ""
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        return self.kind in FAILURES


# -- arguments ----------------------------------------------------------------------------------

SPECIAL_INTS = (0, 1, -1, 2, 31, 32, 33, 255, 256, -128, 32767, -32768, 2**31 - 1, -(2**31), 2**30, -7)
SPECIAL_FLOATS = (0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e-45, -1e-40, 3.4e38, -3.4e38, 0.5, 1.5, 2.5,
                  2147483648.0, 4294967296.0, 1e-30, 16777217.0)  # fmt: skip
LENGTH = {"in_i": 256, "in_f": 256, "in_l": 128, "in_d": 128}
CELLS = {"out_i": 4, "out_f": 4, "out_l": 2, "out_d": 2, "out_b": 8}  # of each thread
TYPES = {"in_i": "i4", "in_f": "f4", "in_l": "i8", "in_d": "f8", "out_i": "i4", "out_f": "f4", "out_l": "i8",
         "out_d": "f8", "out_b": "u1", "acc": "u4", "accl": "u8"}  # fmt: skip
ACCUMULATORS = 16  # cells of each operation
LOCK = 112  # in `acc`; what it guards follows it
SCALARS = ("n", "m", "w", "q")


def sizes(threads: int) -> dict[str, int]:
    """Elements of every array, in the order of the parameters."""
    found = dict(LENGTH)
    found |= {name: threads * cells for name, cells in CELLS.items()}
    return found | {"acc": 8 * ACCUMULATORS, "accl": 4 * ACCUMULATORS}


def inputs(seed: int, threads: int) -> dict[str, Array | np.generic]:
    """The kernel's arguments in order: what goes in is a third special values; what comes out is noise."""
    rng = np.random.default_rng(seed)
    found: dict[str, Array | np.generic] = {}
    for name, size in sizes(threads).items():
        dtype = np.dtype(TYPES[name])
        raw = rng.integers(0, 256, size * dtype.itemsize, np.uint8).view(dtype).copy()
        if name in LENGTH:
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
            raw[LOCK % size] = 0  # it is open
        elif dtype.kind == "f":
            raw = rng.normal(0, 1, size).astype(dtype)
        found[name] = raw
    found["n"] = np.int32(rng.integers(1, 40))
    found["m"] = np.int32(rng.integers(-9, 9))
    found["w"] = np.uint32(rng.integers(0, 2**32))
    found["q"] = np.float32(rng.normal(0, 3))
    return found


# -- running ------------------------------------------------------------------------------------


def check(case: Case) -> Result:
    """Compile, run on both, compare."""
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
    arguments = inputs(case.data, case.threads)
    try:
        expected, seen, cut_off = _interpret(case, program, arguments)
    except NotInterpreted as error:
        return Result("not interpreted", str(error))
    except (Unspecified, Race) as error:
        return Result("unspecified", f"{type(error).__name__}: {error}")
    except TooLong:
        return Result("too long")
    lap("interpret")
    try:
        got, finding = _simulate(case, program, arguments)
    except UnsupportedInstruction as error:
        if error.__cause__ is None:
            return Result("refused", str(error))
        # What a compiler wrote is well formed: something went wrong in the handler.
        return Result("error", f"{error.__cause__!r} in: {error}", repr(error.__cause__).split("(")[0])
    except Exception as error:  # noqa: BLE001 - any other error is what the fuzzer looks for
        where = traceback.extract_tb(error.__traceback__)[-1]
        return Result("error", f"{type(error).__name__}: {error}", f"{where.name} {where.line}")
    lap("simulate")
    found = _compare(case, expected, seen, got, finding)
    if cut_off and found.failed and finding is not None:
        found = Result("too long", f"behind a fault: {found.detail}")
    found.seconds = seconds
    return found


def _interpret(
    case: Case, program: Program, arguments: dict[str, Array | np.generic]
) -> tuple[dict[str, Array], list[Seen], bool]:
    """The arrays afterwards, what threads did wrong, and whether there may be more of that."""
    memory = Memory()
    places: dict[str, int] = {}
    given = []
    for name, value in arguments.items():
        if isinstance(value, np.ndarray):
            places[name] = memory.allocate(value.tobytes(), constant=name in LENGTH)
            given.append(places[name].to_bytes(8, "little"))
        else:
            given.append(value.tobytes())
    interpreter = Interpreter(parse(program.ptx), KERNEL, memory, case.dynamic)
    seen = interpreter.run(case.grid, case.block, given)
    after = {
        name: np.frombuffer(bytes(memory.arrays[place >> 40].data), TYPES[name])
        for name, place in places.items()
    }
    return after, seen, interpreter.cut_off


def _simulate(
    case: Case, program: Program, arguments: dict[str, Array | np.generic]
) -> tuple[dict[str, Array], Any]:
    device = open_device("sim")
    assert isinstance(device, SimulatedDevice)
    kernel = SimulatedKernel(device, program, KERNEL, case.independent)
    given = {n: device.asarray(v) if isinstance(v, np.ndarray) else v for n, v in arguments.items()}
    finding = None
    try:
        kernel(case.grid, case.block, list(given.values()), case.dynamic)
    except LaunchError as error:
        finding = error.findings[0] if error.findings else str(error)
    after = {n: device.asnumpy(v) for n, v in given.items() if isinstance(arguments[n], np.ndarray)}
    return after, finding


# -- comparing ----------------------------------------------------------------------------------


def _compare(
    case: Case, expected: dict[str, Array], seen: list[Seen], got: dict[str, Array], finding: Any
) -> Result:
    if finding is None and not seen:
        return _compare_values(expected, got)
    if finding is None:
        return Result(
            "fault", f"the simulator sees no fault; the interpreter {seen[:3]}", f"none, {seen[0].kind}"
        )
    if isinstance(finding, str) or not seen:
        other = seen[0].kind if seen else "none"
        sign = f"{getattr(finding, 'kind', finding)}, {other}"
        return Result("fault", f"the simulator: {finding}; the interpreter sees {other}", sign)
    kind = finding.kind
    if kind.startswith("out_of_bounds"):
        kind = "out_of_bounds"
    where = (kind, finding.line)
    if kind == "divergent_barrier":
        fits = where in {(s.kind, s.line) for s in seen}
    else:
        fits = Seen(*where, finding.block, finding.thread) in seen
    if not fits:
        sign = f"{finding.kind}, {seen[0].kind}, {finding.line == seen[0].line}"
        return Result(
            "fault", f"the simulator: {finding} ({finding.kind}); the interpreter: {seen[:3]}", sign
        )
    # A barrier that stands wrong is told at itself or at the one where the others are.
    if case.planted and finding.line != case.planted and kind != "divergent_barrier":
        return Result(
            "fault", f"both see {finding.kind} in line {finding.line}; it stands in line {case.planted}"
        )
    return Result("same fault", kind)


def _compare_values(expected: dict[str, Array], got: dict[str, Array]) -> Result:
    for name, wanted in expected.items():
        have = got[name]
        same = wanted == have
        if wanted.dtype.kind == "f":
            bits = f"u{wanted.dtype.itemsize}"
            both = np.isnan(wanted) & np.isnan(have)  # PTX leaves a NaN's bits open
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
