"""A notebook with two levels, released and graded by nbgrader; given kernels earn no points."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.errors import UsageError
from gpulab.grading.pipeline.course import Course
from gpulab.grading.pipeline.gradebook import Grades, read_grades
from gpulab.grading.pipeline.submissions import grade_submissions
from gpulab.grading.pipeline.verdict_store import load_judged
from gpulab.grading.release.assignments import release
from gpulab.grading.release.sample_class import SampleSubmission, read_sample, submit_sample
from tests.grading.conftest import REPOSITORY, UNSANDBOXED, make_course, nbgrader_cell

RIGHT = read_sample(REPOSITORY / "grading" / "sample_class" / "01_stencil" / "all_right").kernels
GIVEN = read_sample(REPOSITORY / "grading/sample_class/01_stencil/only_opt_1").kernels["stencil.opt_1"]
OPT_1, OPT_2 = "stencil.opt_1", "stencil.opt_2"

SETUP = """\
%load_ext gpulab
import gpulab"""
LEVEL = 'LEVEL = 1  # or 2\ngpulab.choose_level(LEVEL, given={"stencil.opt_1": "given/opt_1.cu"})'
TEST = """\
from gpulab.grading.checks import require_correct

require_correct("stencil.{variant}", points={{1: 10, 2: {level_2}}})"""
RUBRIC = """
[tiny.opt_1_test]
points = 10
level_2 = 0
variant = "stencil.opt_1"
earns = "It is right."
[tiny.opt_2_test]
points = 10
level_2 = {level_2}
variant = "stencil.opt_2"
earns = "It is right."
"""


def kernel_cell(variant: str) -> nbformat.NotebookNode:
    text = (
        f"%%cuda stencil.{variant}\n// What it changes.\n__global__ void block2D_{variant}(float fac)\n{{\n"
        "    // BEGIN SOLUTION\n    int secret;\n    // END SOLUTION\n}"
    )
    return nbgrader_cell(variant, text, solution=True)


def levelled_course(root: Path, level_2: str = "8", test: str = TEST) -> Course:
    """Return a course whose lab gives opt_1 at level 2, and 8 of 10 points for opt_2."""
    course = make_course(root)
    (course.config_folder / "rubric.toml").write_text(RUBRIC.format(level_2=level_2), encoding="utf-8")
    lab = course.source / "tiny"
    (lab / "given").mkdir()
    (lab / "given" / "opt_1.cu").write_text(GIVEN, encoding="utf-8")
    setup = nbgrader_cell("setup", SETUP)
    cells = [setup, new_code_cell(LEVEL, id="level")]
    for variant, points in (("opt_1", "0"), ("opt_2", "8")):
        cells.append(kernel_cell(variant))
        cells.append(
            nbgrader_cell(f"{variant}_test", test.format(variant=variant, level_2=points), points=10)
        )
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": kernelspec}), lab / "tiny.ipynb")
    return course


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    return levelled_course(tmp_path_factory.mktemp("course"))


@pytest.fixture(scope="module")
def grades(course: Course) -> Grades:
    """Grade level 1, level 2 with a deleted test cell, and a switch from level 2 to 1 before the test."""
    (released,) = release(course, "tiny").notebooks
    assert "secret" not in released.read_text(encoding="utf-8")
    both = {OPT_1: RIGHT[OPT_1], OPT_2: RIGHT[OPT_2]}
    submit_sample(SampleSubmission("level_1", "", both, {}), released, course.submitted)
    path = submit_sample(
        SampleSubmission("level_2", "", {OPT_2: RIGHT[OPT_2]}, {}, level=2), released, course.submitted
    )
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if cell.id != "opt-1-test"]
    nbformat.write(notebook, path)
    path = submit_sample(
        SampleSubmission("switches", "", {OPT_2: RIGHT[OPT_2]}, {}, level=2), released, course.submitted
    )
    notebook = nbformat.read(path, as_version=4)
    test = next(number for number, cell in enumerate(notebook.cells) if cell.id == "opt-1-test")
    notebook.cells.insert(test, new_code_cell("gpulab.choose_level(1)", id="switch"))
    nbformat.write(notebook, path)
    results = grade_submissions(course, "tiny", UNSANDBOXED)
    assert all(result.graded for result in results), results
    return read_grades(course, "tiny")


@pytest.mark.parametrize(
    ("student", "opt_1", "opt_2"), [("level_1", 10, 10), ("level_2", 0, 8), ("switches", 0, 10)]
)
def test_each_level_earns_its_points(grades: Grades, student: str, opt_1: float, opt_2: float) -> None:
    assert grades.scores[student] == {"opt_1_test": opt_1, "opt_2_test": opt_2}


def executed(course: Course, student: str, cell: str) -> nbformat.NotebookNode:
    path = course.autograded / student / "tiny" / "tiny.ipynb"
    cells = nbformat.read(path, as_version=4).cells
    return next(c for c in cells if c.metadata.get("nbgrader", {}).get("grade_id") == cell)


@pytest.mark.usefixtures("grades")
def test_given_file_ran_in_place_of_the_stub(course: Course) -> None:
    cell = executed(course, "level_2", "opt_1")
    assert "#error" in cell.source
    assert not any(output.output_type == "error" for output in cell.outputs)
    assert "given/opt_1.cu" in str(cell.outputs)


@pytest.mark.usefixtures("grades")
def test_deleted_test_cell_is_restored_and_its_value_is_the_score(course: Course) -> None:
    cell = executed(course, "level_2", "opt_1_test")
    (value,) = (output for output in cell.outputs if output.output_type == "execute_result")
    assert value.data["text/plain"] == "0"


@pytest.mark.parametrize(
    ("level_2", "test", "named"),
    [
        ("9", TEST, "level 2"),
        ("11", TEST, "level_2 = 11"),
        ("8", TEST + "\nprint()", "opt_1_test"),
        ("8", TEST + ";", "opt_1_test"),
        ("8", 'require_correct("stencil.{variant}")', "level 2"),
        ("8", TEST.replace("{{1: 10", "{{1: 9"), "level 1"),
        ("8", TEST.replace('"stencil.{variant}"', '"stencil.opt_3"'), r"stencil\.opt_3"),
        ("8", TEST.replace("{{1: 10, 2: {level_2}}}", "POINTS"), "opt_1_test"),
    ],
)
def test_test_cell_that_differs_from_the_rubric_is_refused(
    tmp_path: Path, level_2: str, test: str, named: str
) -> None:
    with pytest.raises(UsageError, match=named):
        release(levelled_course(tmp_path, level_2, test), "tiny")


@pytest.mark.usefixtures("grades")
def test_stub_is_given_at_level_2(course: Course) -> None:
    verdict = load_judged(course, "tiny", "level_2")
    assert (verdict.level, [kernel.state for kernel in verdict.kernels]) == (2, ["given", "right"])


def test_release_has_the_given_files_unless_level_2_is_forbidden(tmp_path: Path) -> None:
    course = levelled_course(tmp_path)
    assert (release(course, "tiny").folder / "given" / "opt_1.cu").is_file()
    assert not (release(course, "tiny", level=1).folder / "given").exists()
