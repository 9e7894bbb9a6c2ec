"""`gpulab release`, `grade`, `report` and `demo`: the instructor's commands.

nbgrader and Jupyter are imported when one of these commands runs, so that `gpulab` works without them.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gpulab.cli.options import add_command, add_device, positive_int
from gpulab.errors import UsageError

if TYPE_CHECKING:
    from gpulab.grading.pipeline.course import Course

__all__ = ["add_commands"]

DEVICES = "sim, cuda or cuda:N"  # not sim:GPU, because a notebook opens the default simulator


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parsers of the instructor's commands."""
    release = _add_command(
        subparsers,
        "release",
        "create the student version of assignments",
        run_release,
        "Solutions are replaced by stubs, and the points of the test cells are compared with the rubric.",
    )
    release.add_argument(
        "assignment", nargs="?", metavar="ASSIGNMENT", help="a folder of labs/; default: all of them"
    )

    grade = _add_command(
        subparsers,
        "grade",
        "autograde submissions and write feedback",
        run_grade,
        "Exit code 1 if a submission could not be graded.",
    )
    grade.add_argument(
        "assignment", nargs="?", metavar="ASSIGNMENT", help="default: every assignment with submissions"
    )
    grade.add_argument(
        "--student", action="append", metavar="NAME", help="grade this student only; may be repeated"
    )
    _add_jobs(grade)
    add_device(grade, DEVICES)

    report = _add_command(
        subparsers, "report", "write the grading report as one HTML file", run_report, "Prints its path."
    )
    report.add_argument(
        "assignment", nargs="?", metavar="ASSIGNMENT", help="default: every graded assignment"
    )
    report.add_argument(
        "--output", type=Path, metavar="FILE", help="default: report.html in the course's work folder"
    )

    demo = _add_command(
        subparsers,
        "demo",
        "release lab 1, grade a sample class and write the report",
        run_demo,
        "Exit code 1 if a sample submission does not get exactly its expected points.",
    )
    demo.add_argument(
        "--work", type=Path, metavar="FOLDER", help="folder for the files; default: demo/ next to grading/"
    )
    _add_jobs(demo)
    add_device(demo, DEVICES)


def _add_command(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    summary: str,
    run: Callable[[argparse.Namespace], int],
    details: str,
) -> argparse.ArgumentParser:
    parser = add_command(subparsers, name, summary, run, details)
    parser.add_argument(
        "--course",
        type=Path,
        metavar="FOLDER",
        help="folder with nbgrader_config.py; default: the nearest one above the current folder",
    )
    return parser


def _add_jobs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--jobs",
        type=positive_int,
        metavar="N",
        help="submissions to grade in parallel; default: up to 4",
    )


def _course(args: argparse.Namespace) -> Course:
    """Return the course; raise `UsageError` if there is none or nbgrader is not installed."""
    from gpulab.grading.pipeline.course import open_course

    return open_course(_config_file(args))


def _config_file(args: argparse.Namespace) -> Path:
    if importlib.util.find_spec("nbgrader") is None:
        raise UsageError("nbgrader is not installed; install it with: pip install 'gpulab[lab]'.")
    from gpulab.grading.pipeline.course import find_course

    return find_course(args.course)


def run_release(args: argparse.Namespace) -> int:
    from gpulab.grading.release.assignments import release
    from gpulab.views.terminal import Bar, say

    course = _course(args)
    assignments = course.select(
        args.assignment,
        among=course.assignments(),
        otherwise=f"there is no lab with a notebook in {course.source}.",
    )
    with Bar("releasing") as bar:
        releases = []
        for number, assignment in enumerate(assignments):
            bar(number, len(assignments), assignment)
            releases.append(release(course, assignment))
    for released in releases:
        say(f"{released.assignment}: {released.folder}")
    return 0


def run_grade(args: argparse.Namespace) -> int:
    """Grade submissions and print the gradebook; return 1 if a submission could not be graded."""
    from rich.console import Console

    from gpulab.grading.pipeline.submissions import assignment_report, grade_submissions
    from gpulab.grading.reports.terminal_report import gradebook, speedup
    from gpulab.views.terminal import say

    course, console = _course(args), Console()
    assignments = course.select(
        args.assignment,
        among=[name for name in course.assignments() if course.students(name)],
        otherwise=f"there are no submissions; they belong in {course.submitted}/STUDENT/ASSIGNMENT/.",
    )

    failed = False
    for assignment in assignments:
        results = grade_submissions(
            course, assignment, students=args.student, device=args.device, jobs=args.jobs
        )
        report = assignment_report(course, assignment)
        console.print(gradebook(report))
        console.print(speedup(report))
        for result in results:
            if not result.graded:
                failed = True
                say(f"{result.student} was not graded: {result.error}", "red")
    return 1 if failed else 0


def run_report(args: argparse.Namespace) -> int:
    from gpulab.grading.pipeline.submissions import assignment_report, graded_assignments, report_path
    from gpulab.grading.reports.html_report import write_report

    course = _course(args)
    assignments = course.select(
        args.assignment,
        among=graded_assignments(course),
        otherwise="no submission has been graded: run `gpulab grade` first.",
    )
    reports = [assignment_report(course, name) for name in assignments]
    print(write_report(reports, args.output or report_path(course)))
    return 0


def run_demo(args: argparse.Namespace) -> int:
    from rich.console import Console

    config_file = _config_file(args)
    from gpulab.grading.release import demo

    work = args.work or config_file.parent.parent / "demo"
    return demo.run_demo(config_file, work, Console(), device=args.device, jobs=args.jobs)
