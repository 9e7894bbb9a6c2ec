"""`gpulab release`, `grade` and `demo`: the instructor's commands.

nbgrader and Jupyter are imported when one of these commands runs, so that `gpulab` works without them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gpulab.cli.course_options import add_course_command, course_of
from gpulab.cli.options import add_device, positive_int

if TYPE_CHECKING:
    from gpulab.grading.pipeline.grading_run import GradeOptions

__all__ = ["add_commands", "not_graded"]

DEVICES = "sim, cuda or cuda:N"  # not sim:GPU, because a notebook opens the default simulator


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parsers of the instructor's commands."""
    release = add_course_command(
        subparsers,
        "release",
        "create the student version of assignments",
        run_release,
        "Solutions are replaced by stubs, and the points of the test cells are compared with the rubric.",
    )
    release.add_argument(
        "assignment", nargs="?", metavar="ASSIGNMENT", help="a folder of labs/; default: all of them"
    )
    release.add_argument(
        "--level",
        type=int,
        choices=(1, 2),
        default=2,
        help="the highest level that students may choose; 1 leaves out the kernels that are given at level 2",
    )

    grade = add_course_command(
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
    grade.add_argument(
        "--all", action="store_true", help="judge every submission again, also those that did not change"
    )
    grade.add_argument(
        "--scheduler", metavar="ADDRESS", help="use the workers of a running Dask scheduler (tcp://HOST:PORT)"
    )
    _add_judging(grade)

    demo = add_course_command(
        subparsers,
        "demo",
        "release lab 1, grade a sample class and write the report",
        run_demo,
        "Exit code 1 if a sample submission does not get exactly its expected points.",
    )
    demo.add_argument(
        "--work",
        type=Path,
        metavar="FOLDER",
        help="folder for the files; default: demo/ in the course",
    )
    _add_judging(demo)


def _add_judging(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--jobs",
        type=positive_int,
        metavar="N",
        help="submissions to judge in parallel on this machine; default: one per core",
    )
    add_device(parser, DEVICES)
    parser.add_argument(
        "--unsandboxed",
        action="store_true",
        help="run students' Python with your permissions, where no sandbox starts",
    )


def _options(args: argparse.Namespace) -> GradeOptions:
    """Return the options that `grade` and `demo` share, and those that only `grade` has."""
    from gpulab.grading.pipeline.grading_run import GradeOptions

    return GradeOptions(
        students=getattr(args, "student", None),
        device=args.device,
        jobs=args.jobs,
        scheduler=getattr(args, "scheduler", None),
        again=getattr(args, "all", False),
        sandboxed=not args.unsandboxed,
    )


def run_release(args: argparse.Namespace) -> int:
    from gpulab.grading.release.assignments import release
    from gpulab.views.terminal import Bar, say

    course = course_of(args)
    assignments = course.select(
        args.assignment,
        among=course.assignments(),
        otherwise=f"there is no lab with a notebook in {course.source}.",
    )
    with Bar("releasing") as bar:
        releases = []
        for number, assignment in enumerate(assignments):
            bar(number, len(assignments), assignment)
            releases.append(release(course, assignment, level=args.level))
    for released in releases:
        say(f"{released.assignment}: {released.folder}")
    return 0


def run_grade(args: argparse.Namespace) -> int:
    """Grade submissions and print the gradebook; return 1 if a submission could not be graded."""
    from rich.console import Console

    from gpulab.grading.pipeline.submissions import assignment_report, grade_submissions
    from gpulab.grading.reports.terminal_report import gradebook, speedup, visible
    from gpulab.views.terminal import say

    course, console = course_of(args), Console()
    assignments = course.select(
        args.assignment,
        among=[name for name in course.assignments() if course.students(name)],
        otherwise=f"there are no submissions; they belong in {course.submitted}/STUDENT/ASSIGNMENT/.",
    )

    failed = False
    for assignment in assignments:
        results = grade_submissions(course, assignment, _options(args))
        report = assignment_report(course, assignment)
        if args.student:
            report = report.of(args.student)
        console.print(gradebook(report))
        console.print(speedup(report))
        ungraded = [(visible(result.student), result.error) for result in results if not result.graded]
        failed = failed or bool(ungraded)
        for line in not_graded(ungraded):
            say(line, "red")
    return 1 if failed else 0


def not_graded(results: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield a line for each reason, with the students to whom it applies.

    results: the names and the reasons of submissions that were not graded. A mistake of the lab itself is the
    reason of all of them.
    """
    students: dict[str, list[str]] = {}
    for student, reason in results:
        students.setdefault(reason, []).append(student)
    for reason, names in students.items():
        yield f"{', '.join(names)} {'was' if len(names) == 1 else 'were'} not graded: {reason}"


def run_demo(args: argparse.Namespace) -> int:
    from rich.console import Console

    from gpulab.grading.release import demo

    course = course_of(args)
    return demo.run_demo(course.config_file, args.work or course.root / "demo", Console(), _options(args))
