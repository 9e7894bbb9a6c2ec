"""`gpulab demo`: a lab released, a made-up class graded, and every grade compared with what it must be."""

from __future__ import annotations

import shutil
from pathlib import Path

from rich.console import Console

from gpulab.errors import UsageError
from gpulab.grading.pipeline.classroom import class_report, grade_class, report_path
from gpulab.grading.pipeline.course import Course, open_course
from gpulab.grading.release.assignments import release
from gpulab.grading.release.sample_class import Sample, differences, hand_in, read_samples
from gpulab.grading.reports.report import write_report
from gpulab.grading.reports.terminal_report import gradebook, speedup
from gpulab.views.terminal import Bar, say

__all__ = ["run", "set_up_class"]

ASSIGNMENT = "01_stencil"
MARK = ".made-by-gpulab-demo"


def run(
    config: Path, work: Path, console: Console, *, device: str | None = None, at_once: int | None = None
) -> int:
    """The whole demo; 0 when each sample submission has exactly its expected points, else 1.

    work: emptied first and filled anew; nothing outside of it is written.
    """
    empty(work)
    course = open_course(config, work)
    say(f"Releasing {ASSIGNMENT} and grading the sample class; this takes about a minute.")
    samples = set_up_class(course)
    outcomes = grade_class(course, ASSIGNMENT, device=device, at_once=at_once)
    report = class_report(course, ASSIGNMENT, {sample.student: sample.about for sample in samples})
    console.print(gradebook(report))
    console.print(speedup(report))
    page = write_report([report], report_path(course))

    wrong = [f"{outcome.student} was not graded: {outcome.why}" for outcome in outcomes if not outcome.graded]
    for sample in samples:
        kind = report.inspections[sample.student].kind if sample.student in report.inspections else "sim"
        wrong += differences(sample, report.grades.points.get(sample.student, {}), kind)
    for line in wrong:
        console.print(f"NOT AS EXPECTED  {line}", markup=False, highlight=False)
    if not wrong:
        console.print(f"All {len(samples)} sample submissions have exactly the points they must have.")
    console.print(f"The report:  {page}", markup=False, highlight=False, soft_wrap=True)
    console.print("The lab:     make lab", markup=False, highlight=False)
    return 1 if wrong else 0


def set_up_class(course: Course) -> list[Sample]:
    """Release the lab and hand in the sample class."""
    samples = read_samples(course.desk / "sample_class" / ASSIGNMENT)
    with Bar(f"releasing {ASSIGNMENT}"):
        released = release(course, ASSIGNMENT)
    for sample in samples:
        hand_in(sample, released.notebooks[0], course.submitted)
    return samples


def empty(work: Path) -> None:
    """Empty the demo's folder; a folder with anything else in it is left alone."""
    mark = work / MARK
    if work.exists() and any(work.iterdir()):
        if not mark.is_file():
            raise UsageError(
                f"{work} holds something that the demo did not make: name another folder with --work."
            )
        shutil.rmtree(work)
    work.mkdir(parents=True, exist_ok=True)
    mark.touch()
