"""`gpulab start`: a student's own copy of the labs."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpulab.cli.course_options import add_course_command, course_of
from gpulab.views.terminal import Bar, say

__all__ = ["add_commands"]


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of the command."""
    start = add_course_command(
        subparsers,
        "start",
        "make your own copy of the labs, without solutions",
        run_start,
        "Files that the copy already has are kept: your notebooks are never overwritten.",
    )
    start.add_argument("lab", nargs="?", metavar="LAB", help="such as 03_puzzles; default: all labs")
    start.add_argument(
        "--folder",
        type=Path,
        default=Path("my-labs"),
        metavar="FOLDER",
        help="the folder of the copy; default: my-labs in the current folder",
    )


def run_start(args: argparse.Namespace) -> int:
    """Copy the labs, and print the notebooks and the command that opens them."""
    course = course_of(args)
    from gpulab.grading.release.student_copy import copy_labs

    labs = course.select(
        args.lab, among=course.assignments(), otherwise=f"there is no lab with a notebook in {course.source}."
    )
    with Bar("copying") as bar:
        notebooks = copy_labs(course, labs, args.folder, bar)
    for notebook in notebooks:
        say(str(notebook))
    say(f"Open them with `jupyter lab {args.folder}`.")
    return 0
