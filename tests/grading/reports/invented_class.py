"""An invented class of 30 students and 15 test cells for the reports, with every kind of incident."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpulab.errors import Diagnostic
from gpulab.grading.judge.records import Incident, JudgedSubmission, KernelInspection
from gpulab.grading.pipeline.gradebook import Grades, Lateness, Person
from gpulab.grading.release.rubric import Criterion
from gpulab.grading.reports.assignment_report import AssignmentReport
from gpulab.profiling.benchmark import Benchmark
from gpulab.profiling.speedup import VariantTiming
from gpulab.provenance import Provenance
from gpulab.verification.verdict import Plane, State
from tests.kernel_configs import config

KERNELS = ("opt_1", "opt_2", "opt_3", "opt_4")
CELLS = {
    "idle_test": 5.0,
    "copy_bound_test": 6.0,
    "occupancy_test": 6.0,
    "sectors_test": 6.0,
    **{f"{name}_test": 10.0 for name in KERNELS},
    **{f"answer_{number}": 5.0 for number in range(1, 8)},
}
BARRIER = (
    "line {0}: thread (1,1) of block (0,0) reads tile[{1}], which thread (1,0) of block (0,0) writes in line "
    "14, without synchronization between the two accesses. Add a __syncthreads() after line {0}."
)
HALO = (
    "65x47x9: {} of 19,845 values are wrong; first at (z=1, y=1, x=15): expected -2.68889, got nan. Hint: "
    "all wrong points lie on the edges of blocks along x and y; is the halo loaded there?"
)
ENDLESS = (
    "line 16: thread (0,0) of block (0,0) does not leave this loop: its warp was stopped after 134,217,728 "
    "instructions."
)
TEXT = """\
%%cuda stencil.opt_1 --block 32 8
__global__ void f(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float TILE[BLOCK_Y][BLOCK_X];
    int x = blockIdx.x * BLOCK_X + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y;
    for (int z = 1; z < nz - 1; ++z) {
        TILE[threadIdx.y][threadIdx.x] = A0[x + nx * (y + ny * z)];
        __syncthreads();
        Anext[x + nx * (y + ny * z)] = TILE[threadIdx.y][threadIdx.x] * FACTOR;
        __syncthreads();
    }
}
"""


def timed(variant: str, milliseconds: float) -> VariantTiming:
    modelled = Provenance("modelled", "H200", "calibrated")
    return VariantTiming(
        config(f"stencil.{variant}"), (128, 128, 64), Benchmark.from_samples([milliseconds], modelled)
    )


def kernel_text(name: str, factor: int) -> str:
    """Return a kernel whose tile has this name; kernels with one factor differ in the name only."""
    return TEXT.replace("TILE", name).replace("FACTOR", str(factor))


def wrong_plane() -> Plane:
    state = np.full((24, 32), State.RIGHT, np.uint8)
    state[::8, :] = State.WRONG
    return Plane("65x47x9, z = 2: 96 points wrong", ("x", "y"), state, (8, 8))


def student_name(number: int) -> str:
    return f"student_{number:02d}"


def invented_class(students: int = 30) -> AssignmentReport:
    """Return the report of a class in which a student's number decides the outcome of each step."""
    names = [student_name(number) for number in range(students)]
    return AssignmentReport(
        Grades(
            "01_stencil",
            CELLS,
            {name: _scores(number) for number, name in enumerate(names)},
            late={names[3]: Lateness(7200, 4.0), names[8]: Lateness(200_000, 12.5)},
            people={name: Person("First", f"Last {name[-2:]}", f"{name}@example.org") for name in names},
        ),
        {name: _inspection(number, name) for number, name in enumerate(names)},
        ungraded={names[29]: "the submitted file is not a notebook: it is not JSON."}
        if students > 29
        else {},
        rubric={
            f"{name}_test": Criterion(f"{name}_test", 10.0, "Correct values.", f"stencil.{name}", 0.0)
            for name in KERNELS[:1]
        },
        feedback={name: f"feedback/{name}/01_stencil/stencil.html" for name in names},
    )


def _scores(number: int) -> dict[str, float | None]:
    if number == 29:
        return dict.fromkeys(CELLS)
    scores: dict[str, float | None] = {}
    for position, (cell, points) in enumerate(CELLS.items()):
        share = ((number * 7 + position * 3) % 5) / 4
        scores[cell] = points * share
        if cell.startswith("answer") and number % 6 == 5:
            scores[cell] = None
    if number % 3 == 1:
        scores["opt_1_test"] = 0.0
    return scores


def judged(
    student: str,
    device: str = "",
    kernels: Sequence[KernelInspection] = (),
    error: str = "",
    **fields: Any,
) -> JudgedSubmission:
    """Return a verdict of the stencil lab."""
    return JudgedSubmission(
        student, "01_stencil", "stencil", device=device, kernels=tuple(kernels), error=error, **fields
    )


def _inspection(number: int, name: str) -> JudgedSubmission:
    kernels = [KernelInspection("stencil.naive", "right", timing=timed("naive", 0.617))]
    source = kernel_text(f"tile_{number}", 4 if number in {2, 5, 11} else 100 + number)
    if number % 3 == 1:
        reasons = (BARRIER.format(20 + number, number), HALO.format(number))
        kernels.append(
            KernelInspection("stencil.opt_1", "wrong", reasons, plane=wrong_plane(), source=source)
        )
    else:
        timing = timed("opt_1", 0.4 + number / 100)
        kernels.append(KernelInspection("stencil.opt_1", "right", timing=timing, source=source))

    if number % 5 == 0:
        error = Diagnostic(7, 5, "error", f'identifier "n{number}" is undefined', "int i = n;")
        kernels.append(KernelInspection("stencil.opt_2", "does not compile", diagnostics=(error,)))
    elif number % 7 == 1:
        kernels.append(KernelInspection("stencil.opt_2", "wrong", (ENDLESS,)))
    else:
        kernels.append(KernelInspection("stencil.opt_2", "right", timing=timed("opt_2", 0.35)))
    kernels.append(KernelInspection("stencil.opt_3", "not written"))
    kernels.append(KernelInspection("stencil.opt_4", "right", timing=timed("opt_4", 0.2 + number / 500)))

    incidents = {
        4: (Incident("hung", "cell 7", "it did not end in time and was stopped."),),
        9: (Incident("crashed", "cell 3", "the Python process of this notebook ended in this cell."),),
        14: (Incident("flooded", "cell 12", "it wrote more than 8 MB of output."),),
        19: (
            Incident(
                "claims differ", "opt_1_test", "the notebook claims 10 of 10 points, the judge gives 0."
            ),
        ),
    }.get(number, ())
    return judged(
        name,
        "simulator (H200)",
        tuple(kernels) if number != 29 else (),
        kind="sim",
        level=2 if number == 12 else 1,
        incidents=incidents,
        leaderboard=f"racer {number}" if number % 10 == 0 else None,
    )
