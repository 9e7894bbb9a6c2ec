"""A gradebook on a PostgreSQL server: the same points as with SQLite, and a killed run is resumed."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")
pytest.importorskip("psycopg", reason="a PostgreSQL gradebook needs the extra postgresql")

from gpulab.grading.pipeline.course import Course, open_course
from gpulab.grading.pipeline.gradebook import open_gradebook, read_grades
from gpulab.grading.pipeline.submissions import assignment_report, grade_submissions
from tests.grading.conftest import UNSANDBOXED, make_course
from tests.grading.small_class import EXPECTED, difficult_course
from tests.grading_runs.grading_process import gradebook_content, start_grading

USER = "postgres"  # PostgreSQL refuses to run as root


def server_program(name: str) -> str | None:
    """Return the path of a program of Debian's PostgreSQL, which is not on PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(found[-1]) if found else shutil.which(name)


pytestmark = [
    pytest.mark.skipif(server_program("initdb") is None, reason="PostgreSQL is not installed"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a server that listens on a socket in a temporary folder only; return the URL of a database."""
    folder = Path(subprocess.check_output(["mktemp", "-d", "/tmp/gpulab-pg-XXXXXX"], text=True).strip())
    as_root = os.geteuid() == 0
    prefix = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"] if as_root else []
    if as_root:
        shutil.chown(folder, USER, USER)
    data = folder / "data"

    def call(name: str, *arguments: str) -> None:
        program = server_program(name)
        assert program is not None
        subprocess.run([*prefix, program, *arguments], check=True, cwd=folder, stdout=subprocess.DEVNULL)

    call("initdb", "-D", str(data), "-A", "trust", "-U", USER, "--no-sync")
    options = f"-k {folder} -c listen_addresses='' -c fsync=off"
    call("pg_ctl", "-D", str(data), "-o", options, "-l", str(folder / "log"), "-w", "start")
    try:
        call("createdb", "-h", str(folder), "-U", USER, "gradebook")
        yield f"postgresql://{USER}@/gradebook?host={folder}"
    finally:
        call("pg_ctl", "-D", str(data), "-m", "immediate", "stop")
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def course(server: str, tmp_path_factory: pytest.TempPathFactory) -> Course:
    course = make_course(tmp_path_factory.mktemp("course"))
    with course.config_file.open("a", encoding="utf-8") as file:
        file.write(f"\nc.CourseDirectory.db_url = {server!r}\n")
    return difficult_course(open_course(course.config_file))


def test_work_folder_is_that_of_the_releases(course: Course) -> None:
    assert course.database is None
    assert course.work == course.release.parent


def test_points_are_those_of_the_judge_after_a_killed_run(course: Course) -> None:
    process = start_grading(course)
    written = course.work / "written" / "tiny"
    while process.poll() is None and not list(written.glob("*.json")):
        time.sleep(0.02)
    process.kill()
    process.communicate(timeout=60)

    grade_submissions(course, "tiny", UNSANDBOXED)
    scores = read_grades(course, "tiny").scores
    assert {student: scores[student] for student in EXPECTED} == EXPECTED
    assert assignment_report(course, "tiny").ungraded.keys() == {"misnamed", "nothing", "unreadable"}


def test_repeated_run_changes_nothing(course: Course) -> None:
    grade_submissions(course, "tiny", UNSANDBOXED)
    before = gradebook_content(course)
    grade_submissions(course, "tiny", replace(UNSANDBOXED, again=True))
    assert gradebook_content(course) == before


def test_server_has_the_version_of_the_tables(course: Course) -> None:
    from sqlalchemy import text

    with open_gradebook(course) as gradebook:
        assert gradebook.db.execute(text("SELECT count(*) FROM alembic_version")).scalar() == 1
