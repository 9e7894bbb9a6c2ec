"""`gpulab release`, `gpulab grade`, `gpulab report` and `gpulab demo`: the instructor's commands.

Nothing of nbgrader or Jupyter is imported before one of them runs, so that `gpulab` itself works
without them.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gpulab.errors import UsageError

if TYPE_CHECKING:
    from gpulab.grading.pipeline.course import Course

__all__ = ["add_commands"]

Command = Callable[[argparse.Namespace], int]


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the instructor's commands to the parser of `gpulab`; each sets `run(args) -> exit code`."""
    release = command(subparsers, "release", "make the students' version of a lab", run_release)
    release.add_argument(
        "assignment", nargs="?", metavar="ASSIGNMENT", help="a folder in labs/; all of them if left out"
    )

    grade = command(subparsers, "grade", "grade what was handed in", run_grade)
    grade.add_argument(
        "assignment", nargs="?", metavar="ASSIGNMENT", help="all that were handed in if left out"
    )
    grade.add_argument("--student", action="append", metavar="NAME", help="only this one; may be repeated")
    grade.add_argument("--jobs", type=at_least_one, metavar="N", help="submissions graded side by side")
    add_device(grade)

    report = command(subparsers, "report", "write the grading report as one HTML file", run_report)
    report.add_argument(
        "assignment", nargs="?", metavar="ASSIGNMENT", help="all that were graded if left out"
    )
    report.add_argument("--output", type=Path, metavar="FILE", help="where to write it")

    demo = command(subparsers, "demo", "release lab 1, grade the sample class and show the result", run_demo)
    demo.add_argument(
        "--work", type=Path, metavar="FOLDER", help="where to work; demo/ beside grading/ if left out"
    )
    demo.add_argument("--jobs", type=at_least_one, metavar="N", help="submissions graded side by side")
    add_device(demo)


def command(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], name: str, words: str, run: Command
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = subparsers.add_parser(name, help=words, description=words)
    parser.add_argument("--course", type=Path, metavar="FOLDER", help="the folder with nbgrader_config.py")
    parser.set_defaults(run=run)
    return parser


def add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device", metavar="NAME", help="sim, cuda or cuda:N; a GPU if one answers, else the simulator"
    )


def at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"`{text}` is not a number of submissions, at least 1")
    return int(text)


def course_of(args: argparse.Namespace) -> Course:
    """The course that is meant; `UsageError` when there is none, or no nbgrader."""
    from gpulab.grading.pipeline.course import open_course

    return open_course(configuration(args))


def configuration(args: argparse.Namespace) -> Path:
    if importlib.util.find_spec("nbgrader") is None:
        raise UsageError("nbgrader is not installed here: pip install 'gpulab[lab]'.")
    from gpulab.grading.pipeline.course import find_course

    return find_course(args.course)


def run_release(args: argparse.Namespace) -> int:
    from gpulab.grading.release.assignments import release
    from gpulab.views.terminal import Bar, say

    course = course_of(args)
    chosen = course.pick(args.assignment, among=course.assignments(), what="no lab with a notebook")
    with Bar("releasing") as bar:
        made = []
        for number, assignment in enumerate(chosen):
            bar(number, len(chosen), assignment)
            made.append(release(course, assignment))
    for each in made:
        say(f"{each.assignment}: {each.folder}")
    return 0


def run_grade(args: argparse.Namespace) -> int:
    """Exit code 1 when a submission could not be graded."""
    from rich.console import Console

    from gpulab.grading.pipeline.classroom import class_report, grade_class
    from gpulab.grading.reports.terminal_report import gradebook, speedup
    from gpulab.views.terminal import say

    course, console = course_of(args), Console()
    handed_in = [name for name in course.assignments() if course.students(name)]
    if not handed_in:
        raise UsageError(f"nothing was handed in: submissions go to {course.submitted}/STUDENT/ASSIGNMENT/.")
    failed = False
    for assignment in course.pick(args.assignment, among=handed_in, what="no submission"):
        outcomes = grade_class(
            course, assignment, students=args.student, device=args.device, at_once=args.jobs
        )
        report = class_report(course, assignment)
        console.print(gradebook(report))
        console.print(speedup(report))
        for outcome in outcomes:
            if not outcome.graded:
                failed = True
                say(f"{outcome.student} was not graded: {outcome.why}", "red")
    return 1 if failed else 0


def run_report(args: argparse.Namespace) -> int:
    from gpulab.grading.pipeline.classroom import class_report, graded, report_path
    from gpulab.grading.reports.report import write_report

    course = course_of(args)
    chosen = course.pick(
        args.assignment, among=graded(course), what="nothing graded yet (run `gpulab grade`)"
    )
    path = write_report([class_report(course, name) for name in chosen], args.output or report_path(course))
    print(path)
    return 0


def run_demo(args: argparse.Namespace) -> int:
    from rich.console import Console

    config = configuration(args)
    from gpulab.grading.release.demo import run

    work = args.work or config.parent.parent / "demo"
    return run(config, work, Console(), device=args.device, at_once=args.jobs)
