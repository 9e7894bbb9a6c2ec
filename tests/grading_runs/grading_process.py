"""Runs of `gpulab grade` in processes of their own, which tests kill."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil

from gpulab.grading.pipeline.course import Course, open_course
from gpulab.grading.pipeline.gradebook import open_gradebook

__all__ = ["copy_of", "gradebook_content", "judge_servers", "start_grading"]

OPTIONS = ("--unsandboxed", "--device", "sim", "--jobs", "2")  # the sandbox has tests of its own


def start_grading(course: Course, *options: str) -> subprocess.Popen[str]:
    """Start `gpulab grade tiny` in a session of its own."""
    command = [sys.executable, "-m", "gpulab", "grade", "tiny", "--course", str(course.root), *OPTIONS]
    return subprocess.Popen(
        [*command, *options],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )


def copy_of(course: Course, root: Path) -> Course:
    """Return a copy of a course with its release and submissions."""
    shutil.copytree(course.root, root)
    return open_course(root / course.config_file.relative_to(course.root))


def judge_servers(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Return the server that starts the judge processes of a run; none before it runs."""
    try:
        children = psutil.Process(process.pid).children()
        return [child for child in children if "forkserver" in " ".join(child.cmdline())]
    except psutil.Error:
        return []


def gradebook_content(course: Course) -> dict[tuple[str, str], tuple[Any, ...]]:
    """Return the points and flags of each cell, by student and cell, and each student's penalty."""
    content: dict[tuple[str, str], tuple[Any, ...]] = {}
    with open_gradebook(course) as gradebook:
        for submission in gradebook.assignment_submissions("tiny"):
            student = submission.student.id
            content[student, ""] = (submission.score, submission.late_submission_penalty)
            for notebook in submission.notebooks:
                for grade in notebook.grades:
                    marks = (grade.auto_score, grade.manual_score, grade.needs_manual_grade)
                    content[student, grade.name] = marks
                for comment in notebook.comments:
                    content[student, f"comment on {comment.name}"] = (comment.auto_comment,)
    return content
