"""Both levels of one notebook, graded by nbgrader: what is given earns nothing, whatever was switched."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.errors import UsageError
from gpulab.grading.pipeline.autograde import autograde
from gpulab.grading.pipeline.course import Course
from gpulab.grading.pipeline.gradebook import Grades, read_grades
from gpulab.grading.pipeline.inspection import Inspection, inspect
from gpulab.grading.release.assignments import release
from gpulab.grading.release.sample_class import Sample, hand_in, read_sample
from tests.grading.conftest import REPOSITORY, make_course, nbgrader_cell

RIGHT = read_sample(REPOSITORY / "grading" / "sample_class" / "01_stencil" / "all_right").kernels
OPT_1, OPT_2 = "stencil.opt_1", "stencil.opt_2"

# Nothing here asks for counts or times.
SETUP = """\
%load_ext gpulab
%env GPULAB_COUNTERS=off
import gpulab
import gpulab.notebook.magic; gpulab.notebook.magic.time_cell = lambda *_: None"""
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
    """A course whose lab gives opt_1 at level 2, and 8 of 10 points for opt_2."""
    course = make_course(root)
    (course.desk / "rubric.toml").write_text(RUBRIC.format(level_2=level_2), encoding="utf-8")
    lab = course.source / "tiny"
    (lab / "given").mkdir()
    (lab / "given" / "opt_1.cu").write_text(RIGHT[OPT_1], encoding="utf-8")
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
    """Points of: level 1 and level 2 done as meant (a test cell deleted), and a switch before the test."""
    (released,) = release(course, "tiny").notebooks
    assert "secret" not in released.read_text(encoding="utf-8")
    all_of_it = {OPT_1: RIGHT[OPT_1], OPT_2: RIGHT[OPT_2]}
    hand_in(Sample("level_1", "", all_of_it, {}), released, course.submitted)
    path = hand_in(Sample("level_2", "", {OPT_2: RIGHT[OPT_2]}, {}, level=2), released, course.submitted)
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if cell.id != "opt-1-test"]
    nbformat.write(notebook, path)
    path = hand_in(Sample("switches", "", {OPT_2: RIGHT[OPT_2]}, {}, level=2), released, course.submitted)
    notebook = nbformat.read(path, as_version=4)
    test = next(number for number, cell in enumerate(notebook.cells) if cell.id == "opt-1-test")
    notebook.cells.insert(test, new_code_cell("gpulab.choose_level(1)", id="switch"))
    nbformat.write(notebook, path)
    outcomes = list(autograde(course, "tiny", course.students("tiny"), at_once=2))
    assert all(outcome.graded for outcome in outcomes), outcomes
    return read_grades(course, "tiny")


@pytest.mark.parametrize(
    ("student", "opt_1", "opt_2"), [("level_1", 10, 10), ("level_2", 0, 8), ("switches", 0, 10)]
)
def test_each_level_gives_its_points(grades: Grades, student: str, opt_1: float, opt_2: float) -> None:
    assert grades.points[student] == {"opt_1_test": opt_1, "opt_2_test": opt_2}


def executed(course: Course, student: str, cell: str) -> nbformat.NotebookNode:
    path = course.autograded / student / "tiny" / "tiny.ipynb"
    cells = nbformat.read(path, as_version=4).cells
    return next(each for each in cells if each.metadata.get("nbgrader", {}).get("grade_id") == cell)


@pytest.mark.usefixtures("grades")
def test_the_given_text_ran_in_the_place_of_the_stub(course: Course) -> None:
    cell = executed(course, "level_2", "opt_1")
    assert "#error" in cell.source
    assert not any(output.output_type == "error" for output in cell.outputs)
    assert "given/opt_1.cu" in str(cell.outputs)


@pytest.mark.usefixtures("grades")
def test_a_deleted_test_cell_is_put_back_and_its_value_are_its_points(course: Course) -> None:
    cell = executed(course, "level_2", "opt_1_test")
    (value,) = (output for output in cell.outputs if output.output_type == "execute_result")
    assert value.data["text/plain"] == "0"


@pytest.mark.usefixtures("grades")
def test_the_switch_says_why_it_earns_nothing(course: Course) -> None:
    cell = executed(course, "switches", "opt_1_test")
    (error,) = (output for output in cell.outputs if output.output_type == "error")
    assert "given" in error.evalue


@pytest.mark.parametrize(
    ("level_2", "test", "why"),
    [
        ("9", TEST, "8 points at level 2"),
        ("11", TEST, "level_2 = 11"),
        ("8", TEST + "\nprint()", "last line"),
        ("8", TEST + ";", "semicolon"),
        ("8", 'require_correct("stencil.{variant}")', "says nothing of level 2"),
        ("8", TEST.replace("{{1: 10", "{{1: 9"), "9 points at level 1"),
        ("8", TEST.replace('"stencil.{variant}"', '"stencil.opt_3"'), "judges stencil.opt_3"),
        ("8", TEST.replace("{{1: 10, 2: {level_2}}}", "POINTS"), "written as numbers"),
    ],
)
def test_a_test_cell_that_says_otherwise_than_the_rubric_is_not_released(
    tmp_path: Path, level_2: str, test: str, why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        release(levelled_course(tmp_path, level_2, test), "tiny")


class TestTheInspection:
    """Of notebooks with nothing in them that would run."""

    def inspected(self, folder: Path, level: str, given: str = "given/opt_1.cu") -> Inspection:
        from gpulab.grading.release.stub import kernel_stub

        stub = f"%%cuda stencil.opt_1\n__global__ void block2D_opt_1()\n{{\n{kernel_stub('it')}\n}}"
        chosen = f"gpulab.choose_level({level}, given={{'stencil.opt_1': '{given}'}})"
        path = folder / "tiny.ipynb"
        nbformat.write(new_notebook(cells=[new_code_cell(chosen), new_code_cell(stub)]), path)
        return inspect(path, "ada")

    def test_calls_a_stub_given_at_level_2(self, tmp_path: Path) -> None:
        found = self.inspected(tmp_path, "2")
        assert (found.level, [note.state for note in found.kernels]) == (2, ["given"])

    @pytest.mark.parametrize(("level", "chosen"), [("1", 1), ("int('2')", None)])
    def test_calls_it_not_written_otherwise(self, tmp_path: Path, level: str, chosen: int | None) -> None:
        found = self.inspected(tmp_path, level)
        assert (found.level, [note.state for note in found.kernels]) == (chosen, ["not written"])
