"""The sample class: its overlays change one cell each, and its kernels are as right or wrong as promised."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.cell import parse_cell
from gpulab.errors import CompileError, UsageError
from gpulab.grading.pipeline.course import find_course, open_course
from gpulab.grading.release.assignments import points_of, texts_of
from gpulab.grading.release.rubric import check_points, read_rubric
from gpulab.grading.release.sample_class import Sample, differences, hand_in, read_sample, read_samples
from tests.grading.conftest import REPOSITORY

LAB = REPOSITORY / "labs" / "01_stencil" / "stencil.ipynb"
CLASS = REPOSITORY / "grading" / "sample_class" / "01_stencil"
RUBRIC = REPOSITORY / "grading" / "rubric.toml"
SAMPLES = {sample.student: sample for sample in read_samples(CLASS)}
# Each text once: some submissions share one.
KERNELS = list(
    {
        text: (student, name) for student, sample in SAMPLES.items() for name, text in sample.kernels.items()
    }.values()
)


def judged_by(name: str) -> str:
    """The test cell that judges a kernel."""
    rubric = read_rubric(RUBRIC, "01_stencil").values()
    return next(row.cell for row in rubric if row.variant == name)


def test_the_class_has_every_case_of_the_course() -> None:
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


def test_rubric_and_notebook_give_the_same_points() -> None:
    check_points(read_rubric(RUBRIC, "01_stencil"), points_of(LAB), LAB, texts_of(LAB))


@pytest.mark.parametrize("student", SAMPLES)
def test_no_sample_expects_more_points_than_there_are(student: str) -> None:
    most = points_of(LAB)
    assert all(0 <= points <= most[cell] for cell, points in SAMPLES[student].points.items())


@pytest.mark.parametrize(("student", "name"), KERNELS)
def test_a_sample_kernel_is_as_right_or_wrong_as_its_points_say(student: str, name: str) -> None:
    from gpulab.devices import open_device
    from gpulab.verification.check import check_cell

    sample = SAMPLES[student]
    try:
        correct = check_cell(parse_cell(sample.kernels[name]), open_device("sim")).correct
    except CompileError:
        correct = False
    assert correct == (sample.points.get(judged_by(name), 0) > 0)


@pytest.fixture
def handed_in(tmp_path: Path) -> tuple[nbformat.NotebookNode, nbformat.NotebookNode]:
    """The lab's notebook, and what `only_opt_1` hands in of it."""
    path = hand_in(SAMPLES["only_opt_1"], LAB, tmp_path)
    assert path == tmp_path / "only_opt_1" / "01_stencil" / "stencil.ipynb"
    return nbformat.read(LAB, as_version=4), nbformat.read(path, as_version=4)


def test_an_overlay_replaces_its_kernel_cell_and_nothing_else(
    handed_in: tuple[nbformat.NotebookNode, nbformat.NotebookNode],
) -> None:
    before, after = handed_in
    changed = [old.id for old, new in zip(before.cells, after.cells, strict=True) if old != new]
    assert changed == ["opt-1"]


def test_a_chosen_level_is_written_into_the_notebook(tmp_path: Path) -> None:
    before, after = (
        nbformat.read(LAB, as_version=4),
        nbformat.read(hand_in(SAMPLES["level_2"], LAB, tmp_path), as_version=4),
    )
    changed = [old.id for old, new in zip(before.cells, after.cells, strict=True) if old != new]
    assert changed == ["level", "opt-2", "opt-3"]
    assert ["LEVEL = 2" in cell.source.splitlines()[2] for cell in after.cells if cell.id == "level"] == [
        True
    ]


def test_a_level_for_a_notebook_without_levels_is_refused(tmp_path: Path) -> None:
    bare = tmp_path / "bare.ipynb"
    nbformat.write(nbformat.v4.new_notebook(), bare)
    with pytest.raises(UsageError, match="LEVEL = 1"):
        hand_in(Sample("eve", "", {}, {}, level=2), bare, tmp_path)


def test_an_overlays_header_is_a_magic_and_its_lines_keep_their_numbers(
    handed_in: tuple[nbformat.NotebookNode, nbformat.NotebookNode],
) -> None:
    (cell,) = (cell for cell in handed_in[1].cells if cell.id == "opt-1")
    text = SAMPLES["only_opt_1"].kernels["stencil.opt_1"].splitlines()
    assert cell.source.splitlines() == [text[0].removeprefix("// "), *text[1:]]


def test_an_overlay_for_a_cell_that_is_not_there_is_refused(tmp_path: Path) -> None:
    sample = Sample("eve", "", {"matmul.K1": "// %%cuda matmul.K1\n"}, {})
    with pytest.raises(UsageError, match=r"matmul\.K1"):
        hand_in(sample, LAB, tmp_path)


def test_a_given_kernel_is_not_overlaid(tmp_path: Path) -> None:
    sample = Sample("eve", "", {"stencil.naive": "// %%cuda stencil.naive\n"}, {})
    with pytest.raises(UsageError, match=r"stencil\.naive"):
        hand_in(sample, LAB, tmp_path)


@pytest.mark.parametrize("text", ["", "about = 'x'\n", "about = 'x'\npoints = 3\n", "about ="])
def test_expected_points_that_are_none_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "expected.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"expected\.toml"):
        read_sample(tmp_path)


def test_a_class_without_submissions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no sample submissions"):
        read_samples(tmp_path)


@pytest.mark.parametrize(
    ("points", "lines"),
    [
        ({"a": 10.0, "b": 0.0}, 0),
        ({"a": 10.0, "b": 5.0}, 1),
        ({"a": 0.0, "b": 5.0}, 2),
        ({"a": None, "b": 0.0}, 1),
        ({"b": 0.0}, 1),
    ],
    ids=["as expected", "too many", "both wrong", "not graded", "no such cell"],
)
def test_every_difference_from_the_expected_points_is_a_line(
    points: dict[str, float | None], lines: int
) -> None:
    assert len(differences(Sample("ada", "", {}, {"a": 10.0}), points)) == lines


def test_the_course_of_this_repository_has_the_lab() -> None:
    assert "01_stencil" in open_course(find_course(LAB.parent)).assignments()


def test_a_race_that_a_gpu_may_win_is_held_to_its_points_on_the_simulator_only() -> None:
    racing = Sample("ada", "", {}, {}, frozenset({"a"}))
    assert differences(racing, {"a": 10.0}, "sim")
    assert not differences(racing, {"a": 10.0}, "cuda")
