"""`gpulab demo`: release a lab, grade the sample class, and compare every score with the expected points."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

from rich.console import Console

from gpulab.errors import UsageError
from gpulab.grading.pipeline.course import Course, open_course
from gpulab.grading.pipeline.grading_run import GradeOptions
from gpulab.grading.pipeline.judge_workers import worker_count
from gpulab.grading.pipeline.submissions import assignment_report, grade_submissions, report_path
from gpulab.grading.release.assignments import release
from gpulab.grading.release.sample_class import (
    SampleSubmission,
    read_samples,
    score_differences,
    submit_sample,
)
from gpulab.grading.reports.html_report import write_report
from gpulab.grading.reports.terminal_report import gradebook, speedup
from gpulab.views.terminal import Bar, say

__all__ = ["demo_assignment", "run_demo", "set_up_class"]

START_S = 8.0  # imports, release and reports, on a laptop
SUBMISSION_S = 3.0  # processor time to judge a submission with an empty cache of kernels
MARKER = ".made-by-gpulab-demo"  # a file in a folder that the demo created and may delete


def run_demo(config_file: Path, work: Path, console: Console, options: GradeOptions | None = None) -> int:
    """Run the demo; return 0 if every sample submission gets exactly its expected points, else 1.

    work: a folder that is emptied first. Nothing is written outside of it.
    """
    options = options or GradeOptions()
    clear_folder(work)
    course = open_course(config_file, work)
    assignment = demo_assignment(course.config_folder)
    seconds = estimated_seconds(config_file, options.jobs)
    say(f"Releasing {assignment} and grading the sample class; this takes about {seconds} s.")
    samples = set_up_class(course)
    results = grade_submissions(course, assignment, options)
    report = assignment_report(course, assignment, {sample.student: sample.about for sample in samples})
    console.print(gradebook(report))
    console.print(speedup(report))
    page = write_report([report], report_path(course))

    errors = [f"{result.student} was not graded: {result.error}" for result in results if not result.graded]
    for sample in samples:
        inspection = report.inspections.get(sample.student)
        scores = report.grades.scores.get(sample.student, {})
        errors += score_differences(sample, scores, inspection.kind if inspection else "sim")

    for line in errors:
        console.print(f"NOT AS EXPECTED  {line}", markup=False, highlight=False)
    if not errors:
        console.print(f"All {len(samples)} sample submissions have exactly their expected points.")
    console.print(f"Report:        {page}", markup=False, highlight=False, soft_wrap=True)
    console.print("Open the lab:  make lab", markup=False, highlight=False)
    return 1 if errors else 0


def demo_assignment(config_folder: Path) -> str:
    """Return the first assignment with a sample class that submits kernels of a problem."""
    return sample_class(config_folder).name


def sample_class(config_folder: Path) -> Path:
    folders = sorted(path for path in (config_folder / "sample_class").glob("*") if path.is_dir())
    for folder in folders:
        if any("." in name for sample in read_samples(folder) for name in sample.kernels):
            return folder
    raise UsageError(f"{config_folder / 'sample_class'} has no class with kernels of a problem.")


def estimated_seconds(config_file: Path, jobs: int | None) -> int:
    """Return the time of the demo on an idle machine, rounded up to 10 s."""
    samples = read_samples(sample_class(config_file.parent))
    cores = max(1, min(jobs or worker_count(), worker_count(), len(samples)))
    seconds = START_S + SUBMISSION_S * len(samples) / cores
    return 10 * math.ceil(seconds / 10)


def set_up_class(course: Course) -> list[SampleSubmission]:
    """Release the lab and submit the notebooks of the sample class."""
    assignment = demo_assignment(course.config_folder)
    samples = read_samples(sample_class(course.config_folder))
    with Bar(f"releasing {assignment}"):
        released = release(course, assignment)
    for sample in samples:
        submit_sample(sample, released.notebooks[0], course.submitted)
    return samples


def clear_folder(work: Path) -> None:
    """Empty the demo's folder; raise `UsageError` if it holds files that the demo did not create."""
    marker = work / MARKER
    if work.exists() and any(work.iterdir()):
        if not marker.is_file():
            raise UsageError(
                f"{work} contains files that the demo did not create: choose another folder with --work."
            )
        shutil.rmtree(work)
    work.mkdir(parents=True, exist_ok=True)
    marker.touch()
