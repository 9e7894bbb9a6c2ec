"""The demo on one sample submission: the real lab, a real gradebook, the report with its picture."""

from __future__ import annotations

import hashlib
import io
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")
from bs4 import BeautifulSoup
from rich.console import Console

from gpulab.grading.pipeline.course import open_course
from gpulab.grading.pipeline.gradebook import read_grades
from gpulab.grading.release import demo
from gpulab.grading.release.assignments import points_of
from tests.grading.conftest import REPOSITORY

STUDENT = "halo_forgotten"


@dataclass(frozen=True)
class Run:
    """How the demo ended: exit code, what it printed, its folder, and whether the sources are as before."""

    code: int
    said: str
    config: Path
    work: Path
    untouched: bool


def fingerprint(root: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        digest.update(str(path).encode() + path.read_bytes())
    return digest.hexdigest()


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Run:
    root = tmp_path_factory.mktemp("course")
    no_caches = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
    shutil.copytree(REPOSITORY / "labs" / "01_stencil", root / "labs" / "01_stencil", ignore=no_caches)
    samples = Path("sample_class") / "01_stencil" / STUDENT
    shutil.copytree(REPOSITORY / "grading" / samples, root / "grading" / samples)
    for name in ("nbgrader_config.py", "rubric.toml"):
        shutil.copy(REPOSITORY / "grading" / name, root / "grading" / name)
    before = fingerprint(root / "labs") + fingerprint(root / "grading" / "sample_class")
    stale = root / "demo" / "submitted" / "someone_of_an_earlier_run"
    stale.mkdir(parents=True)
    (root / "demo" / demo.MARK).touch()

    console = Console(file=io.StringIO(), width=100)
    config = root / "grading" / "nbgrader_config.py"
    code = demo.run(config, root / "demo", console, device="sim")
    after = fingerprint(root / "labs") + fingerprint(root / "grading" / "sample_class")
    said = console.file.getvalue() if isinstance(console.file, io.StringIO) else ""
    return Run(code, said, config, root / "demo", before == after)


def test_it_ends_well_when_every_point_is_as_expected(ran: Run) -> None:
    assert ran.code == 0, ran.said


def test_the_points_are_in_nbgraders_gradebook(ran: Run) -> None:
    grades = read_grades(open_course(ran.config, ran.work), demo.ASSIGNMENT)
    assert grades.points[STUDENT]["opt_1_test"] == 0
    assert grades.most == sum(points_of(REPOSITORY / "labs" / "01_stencil" / "stencil.ipynb").values())


def test_an_earlier_runs_class_is_gone(ran: Run) -> None:
    assert [path.name for path in (ran.work / "submitted").iterdir()] == [STUDENT]


def test_it_shows_the_gradebook_and_where_the_report_is(ran: Run) -> None:
    assert STUDENT in ran.said
    assert "report.html" in ran.said.replace("\n", "")
    assert "make lab" in ran.said


def test_the_report_has_the_picture_of_the_missing_halo(ran: Run) -> None:
    page = BeautifulSoup((ran.work / "report.html").read_text(encoding="utf-8"), "html.parser")
    assert page.select(f"h3#{STUDENT}")
    assert page.select("svg.gp-plane .gp-wrong-fill, svg.gp-plane .gp-unwritten-fill")


def test_the_report_links_feedback_that_is_there(ran: Run) -> None:
    page = BeautifulSoup((ran.work / "report.html").read_text(encoding="utf-8"), "html.parser")
    (link,) = page.select("table.gradebook a")
    assert (ran.work / str(link["href"])).is_file()


def test_the_feedback_has_the_roofline_as_a_still_picture(ran: Run) -> None:
    """Of the kernels that are right; nothing in it needs a script or another host."""
    text = (ran.work / "feedback" / STUDENT / demo.ASSIGNMENT / "stencil.html").read_text(encoding="utf-8")
    pictures = BeautifulSoup(text, "html.parser").select('svg[aria-label^="Roofline"]')
    assert len(pictures) == 2
    for picture in pictures:
        assert "times modelled" in str(picture["aria-label"])
        assert "naive" in str(picture["aria-label"])
        assert "opt_1 is left out" in picture.get_text()
        assert len(str(picture)) < 20_000
        assert not picture.select("script, image, foreignObject")


def test_the_lab_and_the_sample_class_are_as_before(ran: Run) -> None:
    assert ran.untouched
