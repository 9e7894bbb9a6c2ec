"""A stored inspection is loaded without loss."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.errors import Diagnostic
from gpulab.grading.pipeline.course import Course
from gpulab.grading.pipeline.inspection import (
    KernelInspection,
    SubmissionInspection,
    inspection_path,
    load_inspection,
    save_inspection,
)
from gpulab.grading.reports.assignment_report import speedup_tables
from gpulab.profiling.benchmark import Benchmark
from gpulab.profiling.speedup import VariantTiming
from gpulab.provenance import Provenance
from gpulab.verification.verdict import Plane
from tests.kernel_configs import config


def timed(variant: str, milliseconds: float) -> VariantTiming:
    timing = Benchmark.from_samples([milliseconds], Provenance("simulator wall time", "simulator", "median"))
    return VariantTiming(config(f"stencil.{variant}"), (128, 128, 64), timing)


@pytest.fixture
def stored(course: Course) -> tuple[SubmissionInspection, SubmissionInspection]:
    plane = Plane("a title", ("y", "x"), np.array([[0, 1], [2, 3]], np.uint8), (32, 8))
    saved = SubmissionInspection(
        "ada",
        "simulator",
        (
            KernelInspection("stencil.opt_1", "wrong", ("why",), ("line 3: reads outside",), plane=plane),
            KernelInspection(
                "stencil.opt_2", "does not compile", diagnostics=(Diagnostic(1, 2, "error", "no"),)
            ),
            KernelInspection("stencil.opt_3", "right", timing=timed("opt_3", 1.5)),
        ),
        "some error",
    )
    path: Path = inspection_path(course, "tiny", "ada")
    path.parent.mkdir(parents=True)
    save_inspection(saved, path)
    return saved, load_inspection(course, "tiny", "ada")


def test_reasons_findings_and_diagnostics_are_loaded(
    stored: tuple[SubmissionInspection, SubmissionInspection],
) -> None:
    saved, loaded = stored
    assert (loaded.student, loaded.device, loaded.error) == (saved.student, saved.device, saved.error)
    assert [kernel.reasons for kernel in loaded.kernels] == [kernel.reasons for kernel in saved.kernels]
    assert [kernel.findings for kernel in loaded.kernels] == [kernel.findings for kernel in saved.kernels]
    assert loaded.kernels[1].diagnostics == saved.kernels[1].diagnostics


def test_plane_is_loaded(stored: tuple[SubmissionInspection, SubmissionInspection]) -> None:
    saved, loaded = (inspection.kernels[0].plane for inspection in stored)
    assert saved is not None
    assert loaded is not None
    assert (loaded.title, loaded.axes, loaded.pitch) == (saved.title, saved.axes, saved.pitch)
    np.testing.assert_array_equal(loaded.state, saved.state)
    assert loaded.state.dtype == np.uint8


def test_timing_is_loaded_with_its_provenance(
    stored: tuple[SubmissionInspection, SubmissionInspection],
) -> None:
    assert stored[1].kernels[2].timing == stored[0].kernels[2].timing


def test_speedup_table_has_only_timed_kernels(
    stored: tuple[SubmissionInspection, SubmissionInspection],
) -> None:
    (table,) = speedup_tables(stored[1].kernels)
    assert [row.variant for row in table] == ["opt_3"]


def test_missing_inspection_has_an_error_that_names_the_command(course: Course) -> None:
    assert "gpulab grade" in load_inspection(course, "tiny", "nobody").error


def test_inspection_of_another_version_has_an_error_that_names_the_command(course: Course) -> None:
    path = inspection_path(course, "tiny", "ada")
    path.parent.mkdir(parents=True)
    path.write_text('{"student": "ada", "kernels": [{"name": "stencil.opt_1"}]}', encoding="utf-8")
    loaded = load_inspection(course, "tiny", "ada")
    assert loaded.kernels == ()
    assert "gpulab grade" in loaded.error
