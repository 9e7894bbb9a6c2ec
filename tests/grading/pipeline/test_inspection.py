"""What is kept of an inspection is what was found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.kernel_configs import config

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.errors import Diagnostic
from gpulab.grading.pipeline.course import Course
from gpulab.grading.pipeline.inspection import Inspection, KernelNote, kept_at, load, save, speedups
from gpulab.profiling.benchmark import Benchmark
from gpulab.profiling.speedup import VariantTiming
from gpulab.provenance import Provenance
from gpulab.verification.verdict import Plane


def timed(variant: str, milliseconds: float) -> VariantTiming:
    timing = Benchmark.from_samples([milliseconds], Provenance("simulator wall time", "simulator", "median"))
    return VariantTiming(config(f"stencil.{variant}"), (128, 128, 64), timing)


@pytest.fixture
def kept(course: Course) -> tuple[Inspection, Inspection]:
    plane = Plane("a title", ("y", "x"), np.array([[0, 1], [2, 3]], np.uint8), (32, 8))
    made = Inspection(
        "ada",
        "simulator",
        (
            KernelNote("stencil.opt_1", "wrong", ("why",), ("line 3: reads outside",), plane=plane),
            KernelNote("stencil.opt_2", "does not compile", diagnostics=(Diagnostic(1, 2, "error", "no"),)),
            KernelNote("stencil.opt_3", "right", timing=timed("opt_3", 1.5)),
        ),
        "some trouble",
    )
    path: Path = kept_at(course, "tiny", "ada")
    path.parent.mkdir(parents=True)
    save(made, path)
    return made, load(course, "tiny", "ada")


def test_words_and_diagnostics_come_back(kept: tuple[Inspection, Inspection]) -> None:
    made, back = kept
    assert (back.student, back.device, back.trouble) == (made.student, made.device, made.trouble)
    assert [note.reasons for note in back.kernels] == [note.reasons for note in made.kernels]
    assert [note.findings for note in back.kernels] == [note.findings for note in made.kernels]
    assert back.kernels[1].diagnostics == made.kernels[1].diagnostics


def test_the_picture_comes_back(kept: tuple[Inspection, Inspection]) -> None:
    made, back = (inspection.kernels[0].plane for inspection in kept)
    assert made is not None
    assert back is not None
    assert (back.title, back.axes, back.pitch) == (made.title, made.axes, made.pitch)
    np.testing.assert_array_equal(back.state, made.state)
    assert back.state.dtype == np.uint8


def test_times_come_back_with_their_provenance(kept: tuple[Inspection, Inspection]) -> None:
    assert kept[1].kernels[2].timing == kept[0].kernels[2].timing


def test_only_right_kernels_are_in_the_speedup_table(kept: tuple[Inspection, Inspection]) -> None:
    (table,) = speedups(kept[1])
    assert [row.variant for row in table] == ["opt_3"]


def test_a_submission_nobody_looked_at_says_what_to_do(course: Course) -> None:
    assert "gpulab grade" in load(course, "tiny", "nobody").trouble
