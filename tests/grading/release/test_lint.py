"""`gpulab new-lab` and `gpulab lint`: a new lab has no faults, and planted ones are found."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.cli import main
from gpulab.errors import UsageError
from gpulab.grading.pipeline.course import Course, open_course
from gpulab.grading.release.assignments import release
from gpulab.grading.release.lint import lint
from gpulab.grading.release.new_lab import write_lab
from tests.grading.conftest import REPOSITORY, UNSANDBOXED
from tests.grading.small_class import cells_of

LAB = "04_scale"


@pytest.fixture
def new_lab(tmp_path: Path, no_labs: None) -> Course:
    """A course with a new lab, and two of its sample submissions, because each takes seconds to grade."""
    config = tmp_path / "grading" / "nbgrader_config.py"
    config.parent.mkdir()
    (tmp_path / "labs").mkdir()
    shutil.copy(REPOSITORY / "grading" / "nbgrader_config.py", config)
    course = open_course(config)
    write_lab(course, LAB)
    for name in ("no_guard", "added"):
        shutil.rmtree(config.parent / "sample_class" / LAB / name)
    return course


def notebook_of(course: Course) -> nbformat.NotebookNode:
    return nbformat.read(course.notebook(LAB), as_version=4)


def change(course: Course, cell: str, edit: Callable[[nbformat.NotebookNode], None]) -> None:
    """Edit one cell of the notebook."""
    notebook = notebook_of(course)
    edit(cells_of(notebook)[cell])
    nbformat.write(notebook, course.notebook(LAB))


def replace_text(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def faults_of(course: Course) -> list[str]:
    return lint(course, LAB, UNSANDBOXED)


def test_new_lab_has_no_faults(new_lab: Course) -> None:
    assert faults_of(new_lab) == []


def test_new_lab_does_not_replace_files(new_lab: Course) -> None:
    with pytest.raises(UsageError, match="exists already"):
        write_lab(new_lab, LAB)


@pytest.mark.parametrize("name", ["my lab", "../labs", "04-scale", "04_"])
def test_name_that_no_problem_can_have_is_refused(new_lab: Course, name: str) -> None:
    with pytest.raises(UsageError, match="cannot name a lab"):
        write_lab(new_lab, name)


def test_name_of_an_installed_problem_is_refused(new_lab: Course) -> None:
    with pytest.raises(UsageError, match="a problem `matmul` already"):
        write_lab(new_lab, "05_matmul")
    assert not (new_lab.source / "05_matmul").exists()


@pytest.mark.parametrize(
    ("cell", "old", "new", "message"),
    [
        ("runs", "scale.runs", "scale.rums", "cell 4: scale has no variant `rums`; it has: runs, coalesced"),
        ("runs", "--tile 4", "--tile four", "cell 4: `four` is not valid for --tile"),
        ("runs", "%%cuda scale.runs", "", "cell 4: line 1 is not Python"),
        ("runs", "// END SOLUTION", "", "cell 4: it has 1 of `BEGIN SOLUTION` but 0 of `END SOLUTION`"),
        ("setup", "import gpulab", "import gpulab as", "cell 2: line 2 is not Python"),
    ],
)
def test_cell_that_cannot_be_read_is_found(
    new_lab: Course, cell: str, old: str, new: str, message: str
) -> None:
    change(new_lab, cell, lambda found: found.update(source=found.source.replace(old, new)))
    (fault,) = faults_of(new_lab)
    assert message in fault


@pytest.mark.parametrize(
    "edit",
    [
        lambda cell: cell.metadata.nbgrader.pop("points"),
        lambda cell: cell.metadata.nbgrader.update(points="five"),
        lambda cell: cell.metadata.nbgrader.pop("grade_id"),
        lambda cell: cell.metadata.update(nbgrader="yes"),
    ],
)
def test_metadata_that_lack_a_fact_are_found(
    new_lab: Course, edit: Callable[[nbformat.NotebookNode], None]
) -> None:
    change(new_lab, "runs_test", edit)
    (fault,) = faults_of(new_lab)
    assert "scale.ipynb, cell 5: its nbgrader metadata needs a `grade_id`" in fault
    with pytest.raises(UsageError, match="cell 5: its nbgrader metadata"):
        release(new_lab, LAB)


def test_notebook_that_does_not_load_gpulab_is_found(new_lab: Course) -> None:
    change(new_lab, "setup", lambda cell: cell.update(source="import gpulab"))
    (fault,) = faults_of(new_lab)
    assert "cell 4: no cell before it has the line `%load_ext gpulab`" in fault


def test_cell_with_the_name_of_another_is_found(new_lab: Course) -> None:
    change(new_lab, "coalesced", lambda cell: cell.metadata.nbgrader.update(grade_id="runs"))
    (fault,) = faults_of(new_lab)
    assert "cell 7: scale.ipynb, cell 4 has the same grade_id, `runs`" in fault


def test_test_before_its_kernel_is_found(new_lab: Course) -> None:
    notebook = notebook_of(new_lab)
    notebook.cells.insert(2, notebook.cells.pop(4))
    nbformat.write(notebook, new_lab.notebook(LAB))
    (fault,) = faults_of(new_lab)
    assert "cell 3: it checks scale.runs, which scale.ipynb, cell 5 defines" in fault


@pytest.mark.parametrize(
    ("new", "message"),
    [("factor + x[i]", "values are wrong"), ("factor * x[j]", 'line 7: identifier "j" is undefined')],
)
def test_wrong_solution_of_the_notebook_is_found(new_lab: Course, new: str, message: str) -> None:
    change(new_lab, "runs", lambda cell: cell.update(source=cell.source.replace("factor * x[i]", new)))
    (fault,) = faults_of(new_lab)
    assert "cell 4: the solution is wrong. Its kernel scale.runs" in fault
    assert message in fault


def test_step_without_a_test_is_found(new_lab: Course) -> None:
    change(new_lab, "coalesced_test", lambda cell: cell.update(source="assert True"))
    assert any("no test cell checks scale.coalesced" in fault for fault in faults_of(new_lab))


def test_step_without_a_cell_is_found_with_its_line(new_lab: Course) -> None:
    step = 'Step("runs", "each thread computes a run of neighbouring elements"),'
    path = new_lab.source / LAB / "problem.py"
    replace_text(path, step, f'{step}\n        Step("third", "more"),')
    (fault,) = faults_of(new_lab)
    line = path.read_text(encoding="utf-8").split('Step("third"')[0].count("\n") + 1
    assert f"problem.py, line {line}: the step third has neither a kernel cell nor a test" in fault


def test_points_that_differ_from_the_rubric_are_found(new_lab: Course) -> None:
    replace_text(new_lab.config_folder / "rubric.toml", "points = 10", "points = 9")
    (fault,) = faults_of(new_lab)
    assert "`coalesced_test` has 10 points, but the rubric has 9" in fault


def test_solution_outside_the_markers_is_found(new_lab: Course) -> None:
    def without_markers(cell: nbformat.NotebookNode) -> None:
        cell.source = cell.source.replace("// BEGIN SOLUTION", "").replace("// END SOLUTION", "")

    change(new_lab, "runs", without_markers)
    (fault,) = faults_of(new_lab)
    assert "cell 4: the solution of scale.runs is not between BEGIN SOLUTION" in fault


def test_graded_kernel_that_students_see_is_found(new_lab: Course) -> None:
    change(new_lab, "runs", lambda cell: cell.metadata.nbgrader.update(solution=False))
    assert any("scale.runs is graded, but its cell is no solution cell" in f for f in faults_of(new_lab))


def test_cell_that_fails_out_of_order_is_found(new_lab: Course) -> None:
    change(new_lab, "runs_test", lambda cell: cell.update(source=f"print(limit)\n{cell.source}"))
    change(new_lab, "coalesced_test", lambda cell: cell.update(source=f"limit = 3\n{cell.source}"))
    (fault,) = faults_of(new_lab)
    assert "cell 5: it fails before scale.ipynb, cell 8 has run, which defines `limit`" in fault


def test_declaration_that_cannot_work_is_found_with_its_line(new_lab: Course) -> None:
    replace_text(
        new_lab.source / LAB / "problem.py", "reference=lambda x, factor: factor * x", "reference=min"
    )
    (fault,) = faults_of(new_lab)
    assert fault.startswith("problem.py, line ")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"sectors_per_request"', '"sectors_per_requests"', "do you mean `sectors_per_request`?"),
        ('"n": 1 << 24', '"n": Size(1 << 30, smallest=1 << 30)', "needs about"),
        (
            "factor * x,",
            "factor * x / (len(x) > 1),",
            "This is so for the size n = 1. Declare `smallest` of a size",
        ),
        ("x + factor}", "x[1:] + factor}", "the mistake `the factor is added but must be multiplied`"),
        ("x + factor}", "missing}", "failed: NameError"),
        ("x + factor}", "x * factor}", "must be multiplied` has the values of the reference"),
        ('    "scale"', '    "stencil"', "an installed package has a problem with the name stencil"),
        ('"y", ("n",)', '"y", ("n",), initial=lambda rng, shape, x, factor: factor * x', "that does nothing"),
    ],
)
def test_declaration_that_fails_in_some_launch_is_found_with_its_line(
    new_lab: Course, old: str, new: str, message: str
) -> None:
    path = new_lab.source / LAB / "problem.py"
    replace_text(path, "Step, gamma", "Size, Step, gamma")
    replace_text(path, old, new)
    (fault,) = faults_of(new_lab)
    assert re.match(r"problem\.py, line \d+: ", fault)
    assert message in fault


def test_missed_requirement_is_reported_with_the_line_of_the_sample(new_lab: Course) -> None:
    expected = new_lab.config_folder / "sample_class" / LAB / "previous_step" / "expected.toml"
    with expected.open("a", encoding="utf-8") as file:
        file.write("coalesced_test = 10\n")
    fault, _ = faults_of(new_lab)
    assert "Its kernel scale.coalesced has right values, but misses a requirement: 32-byte sectors" in fault
    assert re.search(r"\(line 6\)", fault)
    assert "the reference" not in fault


def test_kernel_of_no_problem_is_found_with_its_sample(new_lab: Course) -> None:
    path = new_lab.config_folder / "sample_class" / LAB / "all_right" / "runs.cu"
    replace_text(path, "scale.runs", "scales.runs")
    (fault,) = faults_of(new_lab)
    assert fault.startswith("sample all_right: runs.cu: there is no problem `scales`")


def test_missing_sample_class_is_found(new_lab: Course) -> None:
    shutil.rmtree(new_lab.config_folder / "sample_class")
    (fault,) = faults_of(new_lab)
    assert "right and wrong" in fault


def test_reference_that_disagrees_with_the_right_sample_and_wrong_sample_that_passes(new_lab: Course) -> None:
    path = new_lab.source / LAB / "problem.py"
    replace_text(path, "reference=lambda x, factor: factor * x", "reference=lambda x, factor: -factor * x")
    samples = new_lab.config_folder / "sample_class" / LAB
    replace_text(samples / "previous_step" / "runs.cu", "factor * x[i]", "-factor * x[i]")
    replace_text(samples / "previous_step" / "expected.toml", "runs_test = 5", "runs_test = 0")

    *solutions, disagrees, _, passes = faults_of(new_lab)
    assert len(solutions) == 2
    line = path.read_text(encoding="utf-8").split("reference=")[0].count("\n") + 1
    assert disagrees.startswith("sample all_right: runs_test got 0 points, expected 5.")
    assert f"compared with the reference in problem.py, line {line}:" in disagrees
    assert passes == "sample previous_step: runs_test got 5 points, expected 0: a wrong answer passes."


def test_command_exits_with_1_for_a_fault(new_lab: Course, capsys: pytest.CaptureFixture[str]) -> None:
    replace_text(new_lab.config_folder / "rubric.toml", "points = 10", "points = 9")
    assert main(["lint", LAB, "--course", str(new_lab.config_folder), "--unsandboxed"]) == 1
    assert "the rubric has 9" in capsys.readouterr().out


def test_command_writes_a_lab(new_lab: Course, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new-lab", "05_sum", "--course", str(new_lab.config_folder)]) == 0
    assert "gpulab lint 05_sum" in capsys.readouterr().out
    assert '"sum",' in (new_lab.source / "05_sum" / "problem.py").read_text(encoding="utf-8")
