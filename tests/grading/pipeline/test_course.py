"""Finding a course, reading its configuration, and selecting assignments."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.cli import main
from gpulab.errors import UsageError
from gpulab.grading.pipeline.course import Course, find_course, open_course
from tests.grading.conftest import REPOSITORY


def test_course_is_found_from_folders_below_it(course: Course) -> None:
    assert find_course(course.source / "tiny") == course.config_file
    assert find_course(course.config_folder) == course.config_file


def test_missing_course_is_reported_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--course") as caught:
        find_course(tmp_path)
    assert "\n" not in str(caught.value)


def test_root_is_the_folder_above_the_configuration(course: Course) -> None:
    assert course.root == course.config_folder.parent
    assert course.source == course.root / "labs"


def test_empty_folder_with_a_configuration_is_a_course(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_labs: None
) -> None:
    folder = tmp_path / "c1"
    folder.mkdir()
    shutil.copy(REPOSITORY / "grading" / "nbgrader_config.py", folder)
    monkeypatch.chdir(folder)
    assert main(["new-lab", "05_warmth"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["c1"]
    written = {path.name for path in folder.iterdir()}
    assert written == {"labs", "nbgrader_config.py", "rubric.toml", "sample_class", "work"}
    assert main(["release", "05_warmth"]) == 0
    assert (folder / "work" / "release" / "05_warmth" / "warmth.ipynb").is_file()


def test_generated_folders_are_in_the_work_folder(course: Course) -> None:
    generated = [course.release, course.submitted, course.autograded, course.feedback, course.work]
    assert all(path.is_relative_to(course.config_folder / "work") for path in generated)


def test_another_work_folder_holds_all_generated_folders(course: Course, tmp_path: Path) -> None:
    moved = open_course(course.config_file, tmp_path / "other")
    generated = [moved.release, moved.submitted, moved.autograded, moved.feedback, moved.work]
    assert all(path.is_relative_to(tmp_path / "other") for path in generated)
    assert moved.source == course.source


def test_configuration_that_raises_is_a_usage_error(course: Course) -> None:
    course.config_file.write_text("1 / 0\n", encoding="utf-8")
    with pytest.raises(UsageError, match="ZeroDivisionError"):
        open_course(course.config_file)


def test_unknown_assignment_is_refused_with_the_known_ones(course: Course) -> None:
    with pytest.raises(UsageError, match="tiny"):
        course.select("nonesuch", among=course.assignments(), otherwise="")


def test_assignment_can_be_named_by_its_folder(course: Course) -> None:
    assert course.select("labs/tiny/", among=course.assignments(), otherwise="") == ["tiny"]


def test_work_folder_of_this_repository_is_ignored_by_git() -> None:
    ignored = (REPOSITORY / ".gitignore").read_text(encoding="utf-8").splitlines()
    work = open_course(REPOSITORY / "grading" / "nbgrader_config.py").work
    assert f"/{work.relative_to(REPOSITORY).as_posix()}/" in ignored


@pytest.mark.parametrize(
    ("file", "student"),
    [
        ("ada_stencil.ipynb", "ada"),
        ("da_vinci_stencil.ipynb", "da_vinci"),
        ("José O'Brien_stencil.ipynb", "José O'Brien"),
        ("class/ada_stencil.ipynb", "ada"),
        (".._stencil.ipynb", None),
        ("class/.._stencil.ipynb", None),
    ],
)
def test_collected_names_stay_in_the_folder_of_submissions(
    course: Course, file: str, student: str | None
) -> None:
    pattern = course.settings().FileNameCollectorPlugin.named_regexp
    match = re.match(pattern, f"work/downloaded/tiny/extracted/{file}")
    assert (match and match["student_id"]) == student
