"""Finding a course, reading its configuration, and what nbgrader is started with."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.errors import UsageError
from gpulab.grading.pipeline.course import Course, environment, find_course, open_course, visible_gpus
from tests.grading.conftest import REPOSITORY


def test_a_course_is_found_from_any_folder_in_it(course: Course) -> None:
    assert find_course(course.source / "tiny") == course.config_file
    assert find_course(course.desk) == course.config_file


def test_no_course_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--course") as caught:
        find_course(tmp_path)
    assert "\n" not in str(caught.value)


def test_the_root_is_the_folder_above_the_desk_wherever_it_is_called(course: Course) -> None:
    assert course.root == course.desk.parent
    assert course.source == course.root / "labs"


def test_what_is_made_lies_in_the_work_folder(course: Course) -> None:
    made = [course.release, course.submitted, course.autograded, course.feedback, course.database]
    assert all(path.is_relative_to(course.desk / "work") for path in made)


def test_another_work_folder_takes_everything(course: Course, tmp_path: Path) -> None:
    moved = open_course(course.config_file, tmp_path / "other")
    made = [moved.release, moved.submitted, moved.autograded, moved.feedback, moved.database, moved.work]
    assert all(path.is_relative_to(tmp_path / "other") for path in made)
    assert moved.source == course.source


def test_a_configuration_that_breaks_is_said_in_one_line(course: Course) -> None:
    course.config_file.write_text("1 / 0\n", encoding="utf-8")
    with pytest.raises(UsageError, match="ZeroDivisionError"):
        open_course(course.config_file)


def test_an_unknown_assignment_is_answered_with_those_there_are(course: Course) -> None:
    with pytest.raises(UsageError, match="tiny"):
        course.pick("nonesuch", among=course.assignments(), what="nothing")


def test_an_assignment_may_be_named_by_its_folder(course: Course) -> None:
    assert course.pick("labs/tiny/", among=course.assignments(), what="nothing") == ["tiny"]


def test_this_environments_scripts_come_first_on_the_path(tmp_path: Path) -> None:
    # nbgrader calls `alembic` by its bare name.
    first = environment(tmp_path)["PATH"].split(os.pathsep)[0]
    assert first == sysconfig.get_path("scripts")


def test_no_python_path_is_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["src", str(tmp_path)]))
    entries = environment(tmp_path)["PYTHONPATH"].split(os.pathsep)
    assert all(Path(entry).is_absolute() for entry in entries)


def test_what_the_course_of_this_repository_makes_is_ignored_by_git() -> None:
    ignored = (REPOSITORY / ".gitignore").read_text(encoding="utf-8").splitlines()
    work = open_course(REPOSITORY / "grading" / "nbgrader_config.py").work
    assert f"/{work.relative_to(REPOSITORY).as_posix()}/" in ignored


@pytest.mark.parametrize(
    ("device", "variables"),
    [
        (None, {}),
        ("sim", {"CUDA_VISIBLE_DEVICES": ""}),
        ("cuda", {"CUDA_VISIBLE_DEVICES": "0"}),
        ("cuda:3", {"CUDA_VISIBLE_DEVICES": "3"}),
    ],
)
def test_gpus_that_a_notebook_must_not_take_are_hidden(device: str | None, variables: dict[str, str]) -> None:
    assert visible_gpus(device) == variables


@pytest.mark.parametrize("device", ["sim:gtx280", "cuda:x", "tpu", ""])
def test_a_device_that_a_class_cannot_be_graded_on_is_refused(device: str) -> None:
    with pytest.raises(UsageError, match="cuda:NUMBER"):
        visible_gpus(device)
