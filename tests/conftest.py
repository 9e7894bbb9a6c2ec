"""Settings of every test run: caches, property tests, order of the modules, closing summary."""

from __future__ import annotations

import os
import random
import secrets
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpulab import cache
from tests.ipython_shell import close_shell

TESTS = Path(__file__).parent

# Whole notebooks, nbgrader, browsers, Jupyter kernels, worker processes, whole programs, the corpora and the
# fuzzer, the longest first. `-m "not slow"` leaves them out, and other tests that are marked `slow`.
SLOW = (
    "labs/test_matmul_lab.py",
    "browser",
    "mutations",
    "labs",
    "grading/release",
    "grading/pipeline",
    "verification/test_corpus.py",
    "verification/test_hidden_traffic.py",
    "simt/instrument/test_racecheck.py",
    "verification/test_timed_launch.py",
    "verification/test_findings_corpus.py",
    "simt/analysis/test_specialization.py",
    "simt/runtime/test_linked_code.py",
    "fuzz",
    "notebook",
    "grading/checks/test_product_loops.py",
    "exploration/test_scheduler.py",
    "kernels",
    "simt/test_teaching_kernels.py",
    "simt/test_fuzz_regressions.py",
    "simt/test_algorithm_kernels.py",
    "simt/test_block_programs.py",
    "simt/test_numeric_kernels.py",
    "simt/test_programs.py",
    "simt/runtime/test_worker.py",
    "devices/test_device_process.py",
    "benchmarks/test_pages.py",
    "test_doctests.py",
    "test_import_cost.py",
    "test_labextension.py",
    "test_worker_process.py",
)

# Submissions in the sandbox, the judge, whole classes, and planted mistakes: `make test-grading`.
GRADING = (
    "cheats",
    "grading_runs",
    "grading/judge/test_exercises_judged.py",
    "grading/judge/test_missing_parts.py",
    "grading/judge/test_supervisor.py",
    "grading/pipeline/test_changed_settings.py",
    "grading/pipeline/test_exchange.py",
    "grading/pipeline/test_foreign_lab_graded.py",
    "grading/pipeline/test_grading_run.py",
    "grading/pipeline/test_levels_graded.py",
    "grading/release/test_demo.py",
    "grading/release/test_lint.py",
    "grading/sandbox",
    "grading/test_sample_classes.py",
    "mutations",
)

KEPT_FOLDERS = 4  # of compiled kernels, so that a change of branch and back finds its own


def kernel_folder() -> Path:
    """Return the folder of compiled kernels, which runs of the same compiler and simulator share."""
    package = Path(cache.__file__).parent
    installed = sorted(f"{package.name} {package.version}" for package in distributions())
    compilers = [name for name in installed if name.startswith(("cuda", "llvmlite", "nvidia"))]
    sources = cache.source_fingerprint([package / "compiler", package / "simt"])
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    root = Path(os.environ.get("GPULAB_TEST_CACHE") or home / "gpulab-tests")
    folder = root / cache.fingerprint(sys.version, compilers, sources)[:16]
    folder.mkdir(parents=True, exist_ok=True)
    folder.touch()

    by_last_use = sorted(root.iterdir(), key=lambda path: path.stat().st_mtime)
    for old in by_last_use[:-KEPT_FOLDERS]:
        shutil.rmtree(old, ignore_errors=True)
    return folder


if "PYTEST_XDIST_WORKER" not in os.environ:  # the controller sets these for its workers
    os.environ["GPULAB_CACHE"] = str(kernel_folder())
    os.environ["GPULAB_CACHE_MB"] = "512"  # a run of all tests leaves about 200
    # Processes that tests start leave out what pyproject.toml leaves out of this one.
    _paths = [str(TESTS / "quick_start"), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in _paths if path)

try:
    from hypothesis import settings
except ImportError:  # tests/gpu also runs on nodes without the dev extra
    pass
else:
    # `make test` tries the same examples in every run, `make fuzz` other ones (--hypothesis-profile=fuzz).
    # Without a deadline, because a busy machine must not fail a test.
    settings.register_profile("repeatable", max_examples=50, derandomize=True, deadline=None)
    settings.register_profile("fuzz", max_examples=1000, deadline=None)
    settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def repeatable_inputs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the inputs of checks from the test's name, so that a test that fails once fails again.

    `make fuzz` and the grader's own secret draw other inputs.
    """
    draws, default_rng = random.Random(request.node.nodeid), np.random.default_rng

    def repeatable_rng(seed: Any = None) -> np.random.Generator:
        return default_rng(draws.getrandbits(64) if seed is None else seed)

    monkeypatch.setattr(secrets, "randbits", draws.getrandbits)
    monkeypatch.setattr(np.random, "default_rng", repeatable_rng)


@pytest.fixture(autouse=True)
def shell_closed() -> Iterator[None]:
    yield
    close_shell()


@pytest.fixture(autouse=True, scope="module")
def labs_as_before() -> Iterator[None]:
    """Forget the labs that a module opens, whose problems kernels of other modules may be named like."""
    from gpulab.problems import registry

    lists = registry._LABS, registry._closed
    before = [list(each) for each in lists]
    yield
    for each, items in zip(lists, before, strict=True):
        each[:] = items  # type: ignore[index]


@pytest.fixture
def no_labs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let kernel cells name only the problems of installed packages, and forget others after the test."""
    from gpulab.problems import registry

    for name, empty in (("_LABS", []), ("_FILES", {}), ("_closed", [])):
        monkeypatch.setattr(registry, name, empty)


@pytest.fixture
def empty_session() -> Iterator[None]:
    """Remove the session's cells, kernels and times before and after a test."""
    from gpulab import session
    from gpulab.notebook import session_timings

    session.clear()
    session_timings.clear()
    yield
    session.clear()
    session_timings.clear()


@pytest.fixture
def new_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a test a lab session of its own: no student, no points, seed 0."""
    from gpulab.exercises import lab_session

    monkeypatch.setattr(lab_session, "STATE", lab_session.LabSession())


def _rank(path: Path, places: tuple[str, ...]) -> int | None:
    """Return the position in `places` of a file or of a folder above it, or None."""
    name = path.relative_to(TESTS).as_posix() if path.is_relative_to(TESTS) else ""
    return next((rank for rank, place in enumerate(places) if f"{name}/".startswith(f"{place}/")), None)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import modules that `-m "not slow and not grading"` leaves out, which saves seconds."""
    expression = config.option.markexpr
    left_out = (SLOW if "not slow" in expression else ()) + (GRADING if "not grading" in expression else ())
    return True if _rank(collection_path, left_out) is not None else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark slow tests; for workers side by side, start with those that take longest."""
    ranks = {item: _rank(item.path, SLOW) for item in items}
    for item, rank in ranks.items():
        if rank is not None:
            item.add_marker(pytest.mark.slow)
        if _rank(item.path, GRADING) is not None:
            item.add_marker(pytest.mark.grading)

    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: len(SLOW) if ranks[item] is None else ranks[item])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write one line for each reason that tests were skipped for, with their number."""
    reports = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in reports)

    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count} test{'s' * (count > 1)} skipped: {reason}")
