"""The folders of a course and its gradebook, as its nbgrader_config.py names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpulab.errors import GpulabError, UsageError
from gpulab.problems.registry import open_lab

__all__ = ["CONFIG_NAME", "Course", "GradingError", "find_course", "open_course"]

CONFIG_NAME = "nbgrader_config.py"
STEPS = ("release", "submitted", "autograded", "feedback")  # nbgrader's folders below the work folder
SQLITE = "sqlite:///"
POSTGRESQL = ("postgresql://", "postgresql+")
PSYCOPG = "postgresql+psycopg://"


class GradingError(GpulabError):
    """A step of grading failed; the message names the step and the reason."""


@dataclass(frozen=True)
class Course:
    """The folders and the gradebook of one course.

    Attributes
    ----------
    config_file, root : Path
        The configuration, and nbgrader's root of the course.
    source, release, submitted, autograded, feedback : Path
        nbgrader's folders.
    database_url : str
        The gradebook: `sqlite:///FILE` or `postgresql://...`.
    work : Path
        Holds the gradebook file, logs, verdicts, the secret and reports.
    options : mapping of str to str
        Settings of nbgrader's CourseDirectory in place of those of the configuration.
    """

    config_file: Path
    root: Path
    source: Path
    release: Path
    submitted: Path
    autograded: Path
    feedback: Path
    database_url: str
    work: Path
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def database(self) -> Path | None:
        """The file of an SQLite gradebook; None for a database server."""
        return Path(self.database_url.removeprefix(SQLITE)) if self.database_url.startswith(SQLITE) else None

    @property
    def config_folder(self) -> Path:
        """The instructor's folder, with the configuration, the rubric and the sample class."""
        return self.config_file.parent

    def assignments(self) -> list[str]:
        """Return the names of the assignments that have a notebook, sorted."""
        return sorted({path.parent.name for path in self.source.glob("*/*.ipynb")})

    def students(self, assignment: str) -> list[str]:
        """Return the students with a folder of submissions for this assignment, sorted."""
        folders = self.submitted.glob(f"*/{assignment}")
        return sorted(
            path.parent.name for path in folders if path.is_dir() and not path.parent.name.startswith(".")
        )

    def select(self, assignment: str | None, *, among: Sequence[str], otherwise: str) -> list[str]:
        """Return the assignment in a list, or all of `among` if `assignment` is None.

        Raises `UsageError` for an assignment that is not in `among`, and with the message `otherwise` if
        `among` is empty.
        """
        if not among:
            raise UsageError(otherwise)
        if assignment is None:
            return list(among)
        name = Path(assignment).name
        if name not in among:
            raise UsageError(f"there is no assignment `{assignment}`; choose from {', '.join(among)}.")
        return [name]

    def notebook(self, assignment: str) -> Path:
        """Return the instructor's notebook of an assignment.

        Raises
        ------
        UsageError
            If the folder of the assignment does not hold exactly one notebook.
        """
        notebooks = sorted((self.source / assignment).glob("*.ipynb"))
        if len(notebooks) != 1:
            names = ", ".join(path.name for path in notebooks) or "none"
            raise UsageError(
                f"{self.source / assignment} must hold one notebook, the assignment; it has {names}."
            )
        return notebooks[0]

    def settings(self) -> Any:
        """Return nbgrader's configuration of this course."""
        config = read_settings(self.config_file)
        config.CourseDirectory.root = str(self.root)
        config.CourseDirectory.update(self.options)
        return config


def find_course(start: Path | None = None) -> Path:
    """Return the nearest grading/nbgrader_config.py or nbgrader_config.py, from `start` upwards."""
    folder = (start or Path.cwd()).resolve()
    for parent in (folder, *folder.parents):
        for candidate in (parent / "grading" / CONFIG_NAME, parent / CONFIG_NAME):
            if candidate.is_file():
                return candidate
    raise UsageError(
        f"there is no grading/{CONFIG_NAME} in {folder} or a folder above it: run the command in the folder "
        "of the course, or name it with --course FOLDER."
    )


def read_settings(config_file: Path) -> Any:
    """Return nbgrader's configuration in a file; raise `UsageError` if the file cannot be run."""
    from traitlets.config.loader import PyFileConfigLoader

    try:
        return PyFileConfigLoader(config_file.name, path=str(config_file.parent)).load_config()
    except Exception as error:  # noqa: BLE001  (the configuration is Python and may raise anything)
        raise UsageError(f"{config_file} cannot be read: {type(error).__name__}: {error}") from None


def open_course(config_file: Path, work: Path | None = None) -> Course:
    """Read the configuration of a course as nbgrader does.

    work: a folder for all files that grading creates, in place of the folders of the configuration.
    """
    from nbgrader.coursedir import CourseDirectory

    config_file = config_file.resolve()
    config = read_settings(config_file)
    options: dict[str, str] = {}
    root = Path(str(config.CourseDirectory.get("root") or config_file.parent)).resolve()
    if work is not None:
        work = work.resolve()
        base = work.relative_to(root) if work.is_relative_to(root) else work
        options = {f"{step}_directory": str(base / step) for step in STEPS}
        options["db_url"] = f"{SQLITE}{work / 'gradebook.db'}"
        config.CourseDirectory.update(options)
    config.CourseDirectory.root = str(root)
    folders = CourseDirectory(config=config)
    url: str = folders.db_url
    if url.startswith(POSTGRESQL[0]):  # the driver of this form depends on the version of SQLAlchemy
        url = options["db_url"] = url.replace(POSTGRESQL[0], PSYCOPG, 1)
    if not url.startswith((SQLITE, *POSTGRESQL)):
        raise UsageError(
            f"{config_file}: the gradebook must be sqlite:///FILE or postgresql://..., not {url}."
        )

    release = root / folders.release_directory
    if work is None:
        work = Path(url.removeprefix(SQLITE)).parent if url.startswith(SQLITE) else release.parent
    source = root / folders.source_directory
    for assignment in sorted(source.glob("*/")):
        open_lab(assignment)
    return Course(
        config_file=config_file,
        root=root,
        source=source,
        release=release,
        submitted=root / folders.submitted_directory,
        autograded=root / folders.autograded_directory,
        feedback=root / folders.feedback_directory,
        database_url=url,
        work=work,
        options=options,
    )
