"""The demo with one sample submission: gradebook, report and feedback."""

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
from gpulab.grading.release.assignments import max_points
from tests.grading.conftest import REPOSITORY, UNSANDBOXED

STUDENT = "halo_forgotten"


@dataclass(frozen=True)
class DemoRun:
    """One run of the demo. unchanged: whether the lab and the sample class are as before."""

    code: int
    output: str
    config: Path
    work: Path
    unchanged: bool


def fingerprint(root: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        digest.update(str(path).encode() + path.read_bytes())
    return digest.hexdigest()


@pytest.fixture(scope="module")
def demo_run(tmp_path_factory: pytest.TempPathFactory) -> DemoRun:
    root = tmp_path_factory.mktemp("course")
    no_caches = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
    shutil.copytree(REPOSITORY / "labs" / "01_stencil", root / "labs" / "01_stencil", ignore=no_caches)
    samples = Path("sample_class") / "01_stencil" / STUDENT
    shutil.copytree(REPOSITORY / "grading" / samples, root / "grading" / samples)
    for name in ("nbgrader_config.py", "rubric.toml"):
        shutil.copy(REPOSITORY / "grading" / name, root / "grading" / name)
    before = fingerprint(root / "labs") + fingerprint(root / "grading" / "sample_class")
    stale = root / "demo" / "submitted" / "student_of_an_earlier_run"
    stale.mkdir(parents=True)
    (root / "demo" / demo.MARKER).touch()

    console = Console(file=io.StringIO(), width=100)
    config = root / "grading" / "nbgrader_config.py"
    code = demo.run_demo(config, root / "demo", console, UNSANDBOXED)
    after = fingerprint(root / "labs") + fingerprint(root / "grading" / "sample_class")
    output = console.file.getvalue() if isinstance(console.file, io.StringIO) else ""
    return DemoRun(code, output, config, root / "demo", before == after)


def test_exit_code_is_0_if_every_score_is_as_expected(demo_run: DemoRun) -> None:
    assert demo_run.code == 0, demo_run.output


def test_scores_are_in_the_gradebook(demo_run: DemoRun) -> None:
    grades = read_grades(open_course(demo_run.config, demo_run.work), "01_stencil")
    assert grades.scores[STUDENT]["opt_1_test"] == 0
    assert grades.max_total == sum(max_points(REPOSITORY / "labs" / "01_stencil" / "stencil.ipynb").values())


def test_submissions_of_an_earlier_run_are_removed(demo_run: DemoRun) -> None:
    assert [path.name for path in (demo_run.work / "submitted").iterdir()] == [STUDENT]


def test_gradebook_and_report_path_are_printed(demo_run: DemoRun) -> None:
    assert STUDENT in demo_run.output
    assert "report.html" in demo_run.output.replace("\n", "")
    assert "make lab" in demo_run.output


def test_report_draws_the_missing_halo(demo_run: DemoRun) -> None:
    page = BeautifulSoup((demo_run.work / "report.html").read_text(encoding="utf-8"), "html.parser")
    assert page.select(f"h3#{STUDENT}")
    assert page.select("svg.gp-plane .gp-wrong-fill, svg.gp-plane .gp-unwritten-fill")


def test_report_links_existing_feedback(demo_run: DemoRun) -> None:
    page = BeautifulSoup((demo_run.work / "report.html").read_text(encoding="utf-8"), "html.parser")
    (link,) = page.select("a[href^=feedback]")
    assert (demo_run.work / str(link["href"])).is_file()


def test_lab_and_sample_class_are_unchanged(demo_run: DemoRun) -> None:
    assert demo_run.unchanged
