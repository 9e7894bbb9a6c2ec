"""Run the PTX programs of ZLUDA's tests on the simulator and compare their output with the expected one.

python -m benchmarks.zluda FOLDER [--programs TEXT]

FOLDER is the repository of ZLUDA, https://github.com/vosen/ZLUDA, which is not part of gpulab, or its folder
`ptx/src/test/spirv_run`. docs/simulator.md has the result. With --programs, only the programs whose names
contain TEXT are run.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import gpulab
from benchmarks.zluda_suite import SuiteProgram, read_suite
from gpulab.errors import GpulabError, MemoryFault

__all__ = ["Outcome", "main", "run_program"]

WARP = 32
SHARED_BYTES = 1024  # dynamic shared memory of each launch, as in the suite


@dataclass(frozen=True)
class Outcome:
    """The result of one program: right, wrong, fault (an access outside an array) or refused."""

    program: SuiteProgram
    result: str
    reason: str = ""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.zluda")
    parser.add_argument("folder", type=Path, help="the repository of ZLUDA")
    parser.add_argument(
        "--programs", metavar="TEXT", default="", help="only programs with this in their name"
    )
    options = parser.parse_args(arguments)
    programs = [program for program in read_suite(options.folder) if options.programs in program.name]
    device = gpulab.device("sim")
    print("\n".join(table([run_program(device, program) for program in programs])))


def run_program(device: gpulab.Device, program: SuiteProgram) -> Outcome:
    """Launch one program with one block, as the suite does.

    If threads access memory outside the arrays, the first warp is launched alone, because some programs are
    written for one warp and the suite launches two.
    """
    try:
        difference = _difference(device, program, program.threads)
        return Outcome(program, "wrong" if difference else "right", difference)
    except MemoryFault as fault:
        reason = _first_line(fault)
        if program.threads > WARP:
            reason += f" With {WARP} threads: {_difference(device, program, WARP) or 'right'}."
        return Outcome(program, "fault", reason)
    except GpulabError as error:
        return Outcome(program, "refused", _first_line(error))


def _difference(device: gpulab.Device, program: SuiteProgram, threads: int) -> str:
    """Return the first element that differs from the expected one, or an empty text."""
    expected = program.expected
    output = device.zeros(expected.shape, expected.dtype)
    source = output if program.source is None else device.asarray(program.source)
    ptx = program.path.read_text(encoding="utf-8")
    kernel = device.load_ptx(ptx, program.name)
    kernel(1, threads, (source, output)[-_parameters(ptx, program.name) :], SHARED_BYTES)

    values = device.asnumpy(output)
    if np.array_equal(values, expected):
        return ""
    first = int(np.flatnonzero(values != expected)[0])
    return f"[{first}] is {values[first]}, expected {expected[first]}"


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _parameters(ptx: str, kernel: str) -> int:
    """Return the number of parameters of a kernel; the suite passes two, and CUDA ignores those beyond."""
    heading = re.search(rf"\.entry\s+{kernel}\s*\(([^)]*)\)", ptx)
    return heading[1].count(".param") if heading else 0


def table(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the numbers of programs by threads and result, and the programs that are not right."""
    results = ("right", "wrong", "fault", "refused")
    lines = [f"| threads | programs | {' | '.join(results)} |", f"|---|---|{'---|' * len(results)}"]
    counts = Counter((outcome.program.threads, outcome.result) for outcome in outcomes)
    for threads in sorted({outcome.program.threads for outcome in outcomes}):
        numbers = [counts[threads, result] for result in results]
        lines.append(f"| {threads} | {sum(numbers)} | {' | '.join(map(str, numbers))} |")
    totals = [sum(outcome.result == result for outcome in outcomes) for result in results]
    lines.append(f"| all | {len(outcomes)} | {' | '.join(map(str, totals))} |")

    rest = [outcome for outcome in outcomes if outcome.result != "right"]
    return lines + [f"- {each.program.name}: {each.result}: {each.reason}" for each in rest]


if __name__ == "__main__":
    main()
