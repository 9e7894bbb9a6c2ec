"""`gpulab lint` and `gpulab new-lab`: the commands of a teacher who writes a lab."""

from __future__ import annotations

import argparse

from gpulab.cli.course_options import add_course_command, course_of
from gpulab.cli.options import add_device

__all__ = ["add_commands"]


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parsers of `gpulab lint` and `gpulab new-lab`."""
    lint = add_course_command(
        subparsers,
        "lint",
        "find faults of a lab before its students do",
        run_lint,
        "The declaration of the problem, the notebook and the rubric are read, and the notebook's solutions "
        "and the sample class are graded. Faults are a step without a test, other points than in the rubric, "
        "a solution that is wrong or that students see, a cell that fails out of order, a reference that "
        "disagrees with a right sample, and a wrong sample that passes. Exit code 1 if there is a fault.",
    )
    lint.add_argument("lab", metavar="LAB", help="a folder of labs/")
    add_device(lint, "sim, cuda or cuda:N")
    lint.add_argument(
        "--unsandboxed",
        action="store_true",
        help="run the Python of the sample class with your permissions, where no sandbox starts",
    )

    new = add_course_command(
        subparsers,
        "new-lab",
        "write a lab that runs, to begin with",
        run_new_lab,
        "Writes a notebook with nbgrader's cells, a problem, its rubric, and sample submissions that are "
        "right and wrong.",
    )
    new.add_argument("name", metavar="NAME", help="folder of the lab in labs/, such as 04_scale")


def run_lint(args: argparse.Namespace) -> int:
    from gpulab.grading.pipeline.grading_run import GradeOptions
    from gpulab.grading.release.lint import lint
    from gpulab.views.terminal import Bar, say

    course = course_of(args)
    (lab,) = course.select(
        args.lab,
        among=course.assignments(),
        otherwise=f"there is no lab with a notebook in {course.source}.",
    )
    with Bar(f"checking {lab}"):
        faults = lint(course, lab, GradeOptions(device=args.device, sandboxed=not args.unsandboxed))
    for fault in faults:
        say(fault)
    if not faults:
        say(f"{lab} has no faults.")
    return int(bool(faults))


def run_new_lab(args: argparse.Namespace) -> int:
    from gpulab.grading.release.new_lab import write_lab
    from gpulab.views.terminal import say

    course = course_of(args)
    for path in write_lab(course, args.name):
        say(str(path))
    say(f"Next: edit them, and run gpulab lint {args.name}.")
    return 0
