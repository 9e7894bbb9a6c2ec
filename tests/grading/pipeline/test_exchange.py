"""Feedback through nbgrader's exchange, for a class of which a part submits through a learning platform."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell

pytest.importorskip("nbgrader", reason="grading needs the lab extra")
from nbgrader.auth import Authenticator
from nbgrader.converters import GenerateFeedback
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeFactory

from gpulab.grading.pipeline.course import Course
from gpulab.grading.pipeline.gradebook import open_gradebook
from gpulab.grading.pipeline.nbgrader_steps import make_converter
from gpulab.grading.pipeline.submissions import grade_submissions
from gpulab.grading.release.assignments import release
from tests.grading.conftest import UNSANDBOXED, make_course
from tests.grading.small_class import solved, submit

# nbgrader does not close the file of a time.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

FIGURE = '<img alt="A figure." src="figures/plane.svg">'


class Exchange:
    """The exchange of one course, as its teacher and its students use it."""

    def __init__(self, course: Course, root: Path) -> None:
        self.course, self.root = course, root
        self.config = course.settings()
        self.config.Exchange.root = str(root / "exchange")
        self.config.Exchange.cache = str(root / "cache")
        (root / "exchange").mkdir()
        (root / "exchange").chmod(0o777)

    def call(self, step: str, student: str = "") -> None:
        """Run a step of nbgrader's exchange; student: who runs it, "" for the teacher."""
        config = self.config.copy()
        config.Exchange.cache = str(self.root / "cache" / student)
        config.Exchange.assignment_dir = str(self.home(student))
        factory = ExchangeFactory(config=config)
        folders = CourseDirectory(
            config=config, assignment_id="tiny", course_id="c", student_id=student or "*"
        )
        getattr(factory, step)(
            coursedir=folders, authenticator=Authenticator(config=config), config=config
        ).start()

    def home(self, student: str) -> Path:
        folder = self.root / "home" / student
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def submit(self, student: str, *, name: str = "tiny.ipynb", text: str = "") -> None:
        """Fetch the lab, solve it, and submit it; text: in place of the solution."""
        self.call("FetchAssignment", student)
        fetched = self.home(student) / "tiny" / "tiny.ipynb"
        notebook = solved(nbformat.read(fetched, as_version=4))
        fetched.unlink()
        (fetched.parent / name).write_text(text or nbformat.writes(notebook), encoding="utf-8")
        self.call("Submit", student)

    def fetched_feedback(self, student: str) -> dict[str, str]:
        """Return the pages that a student fetches, by name."""
        self.call("FetchFeedback", student)
        pages = self.home(student).glob("tiny/feedback/*/*.html")
        return {page.stem: page.read_text(encoding="utf-8") for page in pages}


@pytest.fixture(scope="module")
def exchange(tmp_path_factory: pytest.TempPathFactory) -> Exchange:
    """Grade two students of the exchange with a readable notebook, two without, and two others."""
    root = tmp_path_factory.mktemp("class")
    (root / "course").mkdir()
    course = make_course(root / "course")
    source = course.source / "tiny" / "tiny.ipynb"
    notebook = nbformat.read(source, as_version=4)
    notebook.cells.insert(1, new_markdown_cell(FIGURE, id="figure"))
    nbformat.write(notebook, source)
    (source.parent / "figures").mkdir()
    (source.parent / "figures" / "plane.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (released,) = release(course, "tiny").notebooks

    exchange = Exchange(course, root)
    exchange.call("ReleaseAssignment")
    exchange.submit("zoe")
    exchange.submit("bob")
    exchange.submit("renamed", name="mine.ipynb")
    exchange.submit("damaged", text="not a notebook")
    exchange.call("Collect")
    lms = nbformat.writes(solved(nbformat.read(released, as_version=4)))
    submit(course, "ada", lms)  # without the files of the exchange
    submit(course, "Jo, O'Brien [2]", lms)
    (course.submitted / "damaged" / "tiny" / "timestamp.txt").write_text("never")
    grade_submissions(course, "tiny", UNSANDBOXED)
    exchange.call("ReleaseFeedback")
    return exchange


@pytest.mark.parametrize("student", ["zoe", "bob"])
def test_feedback_is_fetched_as_one_file_with_its_figures(exchange: Exchange, student: str) -> None:
    (page,) = exchange.fetched_feedback(student).values()
    assert "5 of 5 points" in page
    sources = re.findall(r'<img[^>]* src="([^"]{0,40})', page)
    assert sources
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)


def test_page_of_manual_grading_replaces_the_first_one(exchange: Exchange) -> None:
    with open_gradebook(exchange.course) as gradebook:
        grade = gradebook.find_grade("test_half", "tiny", "tiny", "bob")
        grade.manual_score, grade.needs_manual_grade = 1.5, False
        gradebook.db.commit()
    make_converter(exchange.course, GenerateFeedback, "tiny").start()  # with --force
    exchange.call("ReleaseFeedback")
    (page,) = exchange.fetched_feedback("bob").values()
    assert "3.5 of 5 points" in page
    assert "data:image/svg+xml;base64," in page


@pytest.mark.parametrize(
    ("student", "name", "said"),
    [("renamed", "mine", "tiny.ipynb is missing; there is mine.ipynb"), ("damaged", "tiny", "Your teacher")],
)
def test_submission_that_was_not_graded_has_a_page_that_says_why(
    exchange: Exchange, student: str, name: str, said: str
) -> None:
    assert said in exchange.fetched_feedback(student)[name]


def test_time_that_cannot_be_read_does_not_stop_nbgrader(exchange: Exchange) -> None:
    from nbgrader.apps.api import NbGraderAPI

    api: Any = NbGraderAPI(config=exchange.course.settings())
    listed = {submission["student"] for submission in api.get_submissions("tiny")}
    assert {"damaged", "zoe", "ada"} <= listed
