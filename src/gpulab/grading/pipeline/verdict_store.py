"""Verdicts on disk: one JSON file per submission, with the key of everything that it depends on.

A file is written under another name and renamed, so that a killed run leaves a complete verdict or none.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import gpulab
from gpulab.grading.judge.plan import NotebookPlan
from gpulab.grading.judge.records import JudgedSubmission
from gpulab.grading.pipeline.course import Course, GradingError
from gpulab.profiling.speedup import VariantTiming

__all__ = [
    "VerdictStore",
    "grading_key",
    "judged_assignments",
    "load_baselines",
    "load_judged",
    "read_secret",
    "save_baselines",
]

SECRET_BYTES = 32


@dataclass(frozen=True)
class VerdictStore:
    """The stored verdicts of one assignment. A verdict is found by the key with which it was stored."""

    course: Course
    assignment: str

    def path(self, student: str) -> Path:
        return self.course.work / "results" / self.assignment / f"{student}.json"

    def load(self, student: str, key: str) -> JudgedSubmission | None:
        """Return the verdict that was stored with this key, or None."""
        entry = _read_json(self.path(student))
        if entry.get("key") != key:
            return None
        return _verdict(entry)

    def save(self, verdict: JudgedSubmission, key: str) -> None:
        _write_json(self.path(verdict.student), {"key": key, "verdict": verdict.as_dict()})

    def is_written(self, student: str, key: str, basis: str) -> bool:
        """Return True if the verdict with this key was entered in the gradebook completely, on this basis."""
        return _read_json(self._written_path(student)) == {"key": key, "basis": basis}

    def mark_written(self, student: str, key: str, basis: str) -> None:
        _write_json(self._written_path(student), {"key": key, "basis": basis})

    def written_basis(self, student: str) -> str | None:
        """Return the basis on which a verdict was entered in the gradebook; None if it was not."""
        return _read_json(self._written_path(student)).get("basis")

    def mark_unwritten(self, student: str) -> None:
        self._written_path(student).unlink(missing_ok=True)

    def _written_path(self, student: str) -> Path:
        return self.course.work / "written" / self.assignment / f"{student}.json"


def load_judged(course: Course, assignment: str, student: str) -> JudgedSubmission:
    """Return the stored verdict on a submission; one with an error if there is none to read."""
    path = VerdictStore(course, assignment).path(student)
    if not path.is_file():
        reason = "it has not been judged: run `gpulab grade`."
    else:
        verdict = _verdict(_read_json(path))
        if verdict is not None:
            return verdict
        reason = "it was judged by another version of gpulab: run `gpulab grade` again."
    return JudgedSubmission(student, assignment, "", error=reason)


def judged_assignments(course: Course) -> list[str]:
    """Return the names of the assignments with a verdict, sorted."""
    folders = (course.work / "results").glob("*")
    return sorted(path.name for path in folders if any(path.glob("*.json")))


def load_baselines(course: Course, assignment: str, key: str | None = None) -> list[VariantTiming] | None:
    """Return the times of the kernels that the lab shows; None if they were not stored with this key.

    key: None accepts any.
    """
    entry = _read_json(_baselines_path(course, assignment))
    if key is not None and entry.get("key") != key:
        return None
    try:
        return [VariantTiming.from_dict(timing) for timing in entry["timings"]]
    except (KeyError, TypeError, ValueError):
        return None


def save_baselines(course: Course, assignment: str, timings: Sequence[VariantTiming], key: str) -> None:
    """Store the times of the kernels that the lab shows."""
    data = {"key": key, "timings": [timing.as_dict() for timing in timings]}
    _write_json(_baselines_path(course, assignment), data)


def read_secret(course: Course) -> bytes:
    """Return the secret from which sizes and inputs are drawn; create it at the first call."""
    path = course.work / "secret"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file():
            draft = path.with_name(f"secret.{os.getpid()}")
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(SECRET_BYTES))
            try:
                os.link(draft, path)  # fails if another process was faster
            except FileExistsError:
                pass
            finally:
                draft.unlink()
        secret = path.read_bytes()
    except OSError as error:
        raise GradingError(f"{path} cannot be used: {error.strerror}.") from None
    if len(secret) < SECRET_BYTES:
        raise GradingError(f"{path} is damaged: delete it, and all submissions are judged again.")
    return secret


def grading_key(plan: NotebookPlan, secret: bytes, device: str, digest: str = "") -> str:
    """Return a hash of everything that a verdict depends on.

    digest: of the submission; "" for a key of the whole assignment.
    """
    parts = (digest, repr(plan), hashlib.sha256(secret).hexdigest(), device, package_digest())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@cache
def package_digest() -> str:
    """Return a hash of gpulab's own files, which change a verdict as its version does."""
    root = Path(gpulab.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.suffix in {".py", ".ll", ".toml"}:
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _baselines_path(course: Course, assignment: str) -> Path:
    return course.work / "baselines" / f"{assignment}.json"


def _verdict(entry: Mapping[str, Any]) -> JudgedSubmission | None:
    try:
        return JudgedSubmission.from_dict(entry["verdict"])
    except (KeyError, TypeError, ValueError):  # the file has other fields than this version writes
        return None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _write_json(path: Path, data: Mapping[str, Any]) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(data), encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise GradingError(
            f"{path} cannot be written: {error.strerror}. What is stored so far is kept: run the command "
            "again once this is solved."
        ) from None
