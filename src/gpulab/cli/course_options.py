"""Options and the course of the instructor's commands."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gpulab.cli.options import add_command
from gpulab.errors import UsageError
from gpulab.installation import install_command

if TYPE_CHECKING:
    from gpulab.grading.pipeline.course import Course

__all__ = ["add_course_command", "course_of"]


def add_course_command(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    summary: str,
    run: Callable[[argparse.Namespace], int],
    details: str,
) -> argparse.ArgumentParser:
    """Add the parser of a command that works on a course, with the option `--course`.

    run: imports nbgrader when it is called.
    """

    def run_with_nbgrader(args: argparse.Namespace) -> int:
        prepare_imports()
        return run(args)

    parser = add_command(subparsers, name, summary, run_with_nbgrader, details)
    parser.add_argument(
        "--course",
        type=Path,
        metavar="FOLDER",
        help="folder with nbgrader_config.py; default: the nearest one above the current folder",
    )
    return parser


def course_of(args: argparse.Namespace) -> Course:
    """Return the course; raise `UsageError` if there is none."""
    from gpulab.grading.pipeline.course import find_course, open_course

    return open_course(find_course(args.course))


def prepare_imports() -> None:
    """Prepare the import of nbgrader; raise `UsageError` if it is not installed."""
    if importlib.util.find_spec("nbgrader") is None:
        raise UsageError(f"nbgrader is not installed; install it with: {install_command('lab')}")
    # nbformat imports jsonschema, which compiles 38 grammars for a check of addresses in 0.8 s. No notebook
    # has such a field.
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # None: it cannot be imported
