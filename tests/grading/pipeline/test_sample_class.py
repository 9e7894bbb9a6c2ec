"""The sample class: its files, its notebooks, and the verdicts of its kernels."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.cell import parse_cell
from gpulab.errors import CompileError, UsageError
from gpulab.grading.pipeline.course import find_course, open_course
from gpulab.grading.release.assignments import graded_sources, max_points
from gpulab.grading.release.rubric import check_points, read_rubric
from gpulab.grading.release.sample_class import (
    SampleSubmission,
    read_sample,
    read_samples,
    score_differences,
    submit_sample,
)
from tests.grading.conftest import REPOSITORY

LAB = REPOSITORY / "labs" / "01_stencil" / "stencil.ipynb"
CLASS = REPOSITORY / "grading" / "sample_class" / "01_stencil"
RUBRIC = REPOSITORY / "grading" / "rubric.toml"
SAMPLES = {sample.student: sample for sample in read_samples(CLASS)}
# Each source of the lab's problem once: some submissions share one.
KERNELS = list(
    {
        source: (student, name)
        for student, sample in SAMPLES.items()
        for name, source in sample.kernels.items()
        if name.startswith("stencil.")
    }.values()
)


def check_of(name: str) -> str:
    """Return the test cell that checks a kernel."""
    rubric = read_rubric(RUBRIC, "01_stencil").values()
    return next(criterion.cell for criterion in rubric if criterion.variant == name)


def test_class_has_a_submission_of_every_kind() -> None:
    assert {
        "all_right",
        "missing_second_barrier",
        "halo_forgotten",
        "only_opt_1",
        "does_not_compile",
        "out_of_bounds",
        "never_ends",
        "level_2",
    } <= SAMPLES.keys()


def test_rubric_and_notebook_have_the_same_points() -> None:
    check_points(read_rubric(RUBRIC, "01_stencil"), max_points(LAB), LAB, graded_sources(LAB))


@pytest.mark.parametrize("student", SAMPLES)
def test_sample_expects_at_most_the_maximum(student: str) -> None:
    maximum = max_points(LAB)
    assert all(0 <= points <= maximum[cell] for cell, points in SAMPLES[student].points.items())


@pytest.mark.parametrize(("student", "name"), KERNELS)
def test_verdict_of_a_sample_kernel_agrees_with_its_points(student: str, name: str) -> None:
    from gpulab.devices import open_device
    from gpulab.verification.check import check_cell

    sample = SAMPLES[student]
    try:
        correct = check_cell(parse_cell(sample.kernels[name]), open_device("sim")).correct
    except CompileError:
        correct = False
    assert correct == (sample.points.get(check_of(name), 0) > 0)


@pytest.fixture
def submitted(tmp_path: Path) -> tuple[nbformat.NotebookNode, nbformat.NotebookNode]:
    """Return the lab's notebook and the one that `only_opt_1` submits."""
    path = submit_sample(SAMPLES["only_opt_1"], LAB, tmp_path)
    assert path == tmp_path / "only_opt_1" / "01_stencil" / "stencil.ipynb"
    return nbformat.read(LAB, as_version=4), nbformat.read(path, as_version=4)


def test_sample_changes_only_its_kernel_cell(
    submitted: tuple[nbformat.NotebookNode, nbformat.NotebookNode],
) -> None:
    before, after = submitted
    changed = [old.id for old, new in zip(before.cells, after.cells, strict=True) if old != new]
    assert changed == ["student", "naive", "opt-1"]


def test_level_of_a_sample_is_written_into_the_notebook(tmp_path: Path) -> None:
    before, after = (
        nbformat.read(LAB, as_version=4),
        nbformat.read(submit_sample(SAMPLES["level_2"], LAB, tmp_path), as_version=4),
    )
    changed = [old.id for old, new in zip(before.cells, after.cells, strict=True) if old != new]
    assert changed == ["student", "level", "opt-2", "opt-3"]
    assert ["LEVEL = 2" in cell.source.splitlines()[2] for cell in after.cells if cell.id == "level"] == [
        True
    ]


@pytest.mark.parametrize("source", ['gpulab.student("")  # your id', "import gpulab\ngpulab.student('')"])
def test_students_name_is_written_into_the_notebook(source: str, tmp_path: Path) -> None:
    bare = tmp_path / "bare.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)]), bare)
    (cell,) = nbformat.read(
        submit_sample(SampleSubmission("eve", "", {}, {}), bare, tmp_path), as_version=4
    ).cells
    assert 'gpulab.student("eve")' in cell.source
    assert cell.source.partition("#")[2] == source.partition("#")[2]


def test_level_is_refused_for_a_notebook_without_levels(tmp_path: Path) -> None:
    bare = tmp_path / "bare.ipynb"
    nbformat.write(nbformat.v4.new_notebook(), bare)
    with pytest.raises(UsageError, match="LEVEL = 1"):
        submit_sample(SampleSubmission("eve", "", {}, {}, level=2), bare, tmp_path)


def test_sample_cell_has_a_magic_and_keeps_its_line_numbers(
    submitted: tuple[nbformat.NotebookNode, nbformat.NotebookNode],
) -> None:
    (cell,) = (cell for cell in submitted[1].cells if cell.id == "opt-1")
    lines = SAMPLES["only_opt_1"].kernels["stencil.opt_1"].splitlines()
    assert cell.source.splitlines() == [lines[0].removeprefix("// "), *lines[1:]]


def test_kernel_without_a_solution_cell_is_refused(tmp_path: Path) -> None:
    sample = SampleSubmission("eve", "", {"matmul.K1": "// %%cuda matmul.K1\n"}, {})
    with pytest.raises(UsageError, match=r"matmul\.K1"):
        submit_sample(sample, LAB, tmp_path)


def test_kernel_of_a_locked_cell_is_refused(tmp_path: Path) -> None:
    given = tmp_path / "given.ipynb"
    cell = nbformat.v4.new_code_cell("%%cuda stencil.naive\n// A given kernel.")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), given)
    sample = SampleSubmission("eve", "", {"stencil.naive": "// %%cuda stencil.naive\n"}, {})
    with pytest.raises(UsageError, match=r"stencil\.naive"):
        submit_sample(sample, given, tmp_path)


@pytest.mark.parametrize("text", ["", "about = 'x'\n", "about = 'x'\npoints = 3\n", "about ="])
def test_invalid_expected_points_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "expected.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"expected\.toml"):
        read_sample(tmp_path)


def test_empty_class_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="test_empty_class"):
        read_samples(tmp_path)


@pytest.mark.parametrize(
    ("scores", "lines"),
    [
        ({"a": 10.0, "b": 0.0}, 0),
        ({"a": 10.0, "b": 5.0}, 1),
        ({"a": 0.0, "b": 5.0}, 2),
        ({"a": None, "b": 0.0}, 1),
        ({"b": 0.0}, 1),
    ],
    ids=["as expected", "too many", "both wrong", "not graded", "no such cell"],
)
def test_each_score_difference_is_one_line(scores: dict[str, float | None], lines: int) -> None:
    assert len(score_differences(SampleSubmission("ada", "", {}, {"a": 10.0}), scores)) == lines


def test_course_of_this_repository_has_the_lab() -> None:
    assert "01_stencil" in open_course(find_course(LAB.parent)).assignments()


def test_race_is_compared_on_the_simulator_only() -> None:
    racing = SampleSubmission("ada", "", {}, {}, frozenset({"a"}))
    assert score_differences(racing, {"a": 10.0}, "sim")
    assert not score_differences(racing, {"a": 10.0}, "cuda")
