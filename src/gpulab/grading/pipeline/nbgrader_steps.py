"""nbgrader's converters, run in this process: no step starts another Python interpreter."""

from __future__ import annotations

import logging
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from gpulab.grading.pipeline.course import Course, GradingError

__all__ = [
    "StepLog",
    "create_gradebook",
    "make_converter",
    "recorded_step",
    "run_converter",
    "shared_engine",
]


class StepLog(logging.Handler):
    """The messages of one step of nbgrader, as lines of text."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"[{record.levelname}] {record.getMessage()}")

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


@contextmanager
def recorded_step(name: str) -> Iterator[StepLog]:
    """Collect nbgrader's log, and raise its errors as `GradingError`.

    name: a phrase for the message, such as "01_stencil was not released".
    """
    from nbgrader.converters.base import NbGraderException

    log = StepLog()
    logger = _logger()
    logger.addHandler(log)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield log
    except Exception as error:
        reason = " ".join(str(error).split())
        if not isinstance(error, NbGraderException):
            reason = database_problem(error) or f"{type(error).__name__}: {reason}"
        elif "traceback" in reason:  # nbgrader has only logged the exception
            reason = _last_exception(log.lines) or reason
        log.lines.append(traceback.format_exc())
        raise GradingError(f"{name}: {reason}") from error
    finally:
        logger.removeHandler(log)


def make_converter(course: Course, converter: Any, assignment: str, student: str = "*") -> Any:
    """Return one of nbgrader's converters, for an assignment of this course."""
    from nbgrader.coursedir import CourseDirectory

    config = course.settings()
    folders = CourseDirectory(config=config, assignment_id=assignment, student_id=student)
    made = converter(coursedir=folders, config=config, log=_logger())
    made.force = True
    return made


@contextmanager
def shared_engine() -> Iterator[None]:
    """Let the gradebooks that nbgrader opens use one SQLAlchemy engine for each database.

    Each step of nbgrader opens a gradebook of its own, and a new engine compiles every statement again. The
    connections are closed with each gradebook, as usual.
    """
    from nbgrader import api

    create_engine = api.create_engine
    api.create_engine = cache(create_engine)
    try:
        yield
    finally:
        api.create_engine = create_engine


def run_converter(course: Course, converter: Any, assignment: str, failure: str) -> None:
    """Run a converter of nbgrader on an assignment; raise `GradingError` if it fails.

    failure: a phrase for the message, such as "01_stencil was not released".
    """
    create_gradebook(course)
    with recorded_step(failure):
        make_converter(course, converter, assignment, ".").start()


def create_gradebook(course: Course) -> None:
    """Create the tables of the gradebook if it has none.

    nbgrader would start `alembic` by its bare name to ask for the version of its tables, which takes seconds
    and fails in an environment that is not activated.
    """
    from pathlib import Path

    import nbgrader
    from alembic.script import ScriptDirectory
    from nbgrader.api import Base
    from sqlalchemy import create_engine, inspect, text

    if course.database is not None:
        if course.database.is_file() and course.database.stat().st_size:
            return
        course.database.parent.mkdir(parents=True, exist_ok=True)
    with recorded_step("the gradebook could not be created"):
        engine = create_engine(course.database_url)
        try:
            if inspect(engine).has_table("alembic_version"):
                return
            folder = Path(nbgrader.__file__).parent / "alembic"
            version = ScriptDirectory(str(folder)).get_current_head()
            with engine.begin() as connection:
                Base.metadata.create_all(bind=connection)
                connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)"))
                connection.execute(
                    text("INSERT INTO alembic_version VALUES (:version)"), {"version": version}
                )
                # Assignments refer to the course with the configured name, which is empty by default, and
                # nbgrader adds only courses with a name. SQLite does not check the reference.
                connection.execute(text("INSERT INTO course (id) VALUES ('')"))
        finally:
            engine.dispose()


def database_problem(error: BaseException | None) -> str:
    """Return a sentence about a database that cannot be used, or "" for another error."""
    from sqlalchemy.exc import OperationalError

    while error is not None:
        if isinstance(error, OperationalError):
            text = str(error.orig)
            if "locked" in text:
                return (
                    "the gradebook is locked by another process. Close the program that writes it and run "
                    "the command again; no verdict is lost."
                )
            if "full" in text:
                return (
                    "the disk is full. Free some space and run the command again; no stored verdict is lost."
                )
            return f"the gradebook cannot be used: {' '.join(text.split())}"
        error = error.__cause__ or error.__context__
    return ""


def _last_exception(lines: list[str]) -> str:
    """Return the message of the last exception in a log, or ""."""
    tracebacks = [line.strip().splitlines() for line in lines if "Traceback (most recent call last)" in line]
    messages = (
        [line for line in tracebacks[-1] if not line.startswith((" ", "[", "Traceback"))]
        if tracebacks
        else []
    )
    return messages[0] if messages else ""


def _logger() -> logging.Logger:
    logger = logging.getLogger("gpulab.nbgrader")
    logger.propagate = False
    logger.setLevel(logging.INFO)
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())  # without a handler, warnings would go to stderr
    return logger
