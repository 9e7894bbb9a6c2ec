"""`gpulab report`: the class report as HTML, and the points as CSV, for Moodle and for Canvas."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpulab.cli.course_options import add_course_command, course_of
from gpulab.views.terminal import say

__all__ = ["add_commands"]


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of the command."""
    report = add_course_command(
        subparsers,
        "report",
        "write the class report as one HTML file, and the points as CSV",
        run_report,
        "Prints the paths of the files that it wrote.",
    )
    report.add_argument(
        "assignment", nargs="?", metavar="ASSIGNMENT", help="default: every graded assignment"
    )
    report.add_argument(
        "--output", type=Path, metavar="FILE", help="default: report.html in the course's work folder"
    )
    report.add_argument(
        "--csv", type=Path, metavar="FILE", help="also write a row per student with a column per test cell"
    )
    report.add_argument(
        "--moodle", type=Path, metavar="FILE", help="also write a file for Moodle's grade import"
    )
    report.add_argument(
        "--canvas", type=Path, metavar="FILE", help="also write a file for Canvas's gradebook"
    )


def run_report(args: argparse.Namespace) -> int:
    """Write the report and the files that the options name."""
    from gpulab.grading.pipeline.submissions import assignment_report, report_path
    from gpulab.grading.pipeline.verdict_store import judged_assignments
    from gpulab.grading.reports.grade_files import canvas_rows, csv_rows, incomplete, moodle_rows, write_rows
    from gpulab.grading.reports.html_report import write_report

    course = course_of(args)
    assignments = course.select(
        args.assignment,
        among=judged_assignments(course),
        otherwise="no submission has been graded: run `gpulab grade` first.",
    )
    reports = [assignment_report(course, name) for name in assignments]
    for report in reports:
        say(report.outdated_remark, "yellow", error=True)
    print(write_report(reports, args.output or report_path(course)))

    for path, rows in ((args.csv, csv_rows), (args.moodle, moodle_rows), (args.canvas, canvas_rows)):
        if path is not None:
            print(write_rows(rows(reports), path))
    if args.moodle is not None or args.canvas is not None:
        for report in reports:
            _say_incomplete(report.grades.assignment, incomplete(report))
    return 0


def _say_incomplete(assignment: str, students: list[str]) -> None:
    if students:
        say(
            f"{assignment}: the grade is empty for {', '.join(students)}: not graded, or an answer is not "
            "read yet. Read the answers in formgrader and write the file again.",
            "yellow",
            error=True,
        )
