"""Settings and fixtures of all tests.

The tests have a kernel cache of their own and do not touch the user's. All test processes of a run share it,
and processes that tests start inherit it.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

if "PYTEST_XDIST_WORKER" not in os.environ:  # otherwise the parent process created it
    _folder = tempfile.mkdtemp(prefix="gpulab-tests-")
    atexit.register(shutil.rmtree, _folder, ignore_errors=True)
    os.environ["GPULAB_CACHE"] = _folder  # must be set before gpulab is imported
    os.environ["GPULAB_CACHE_MB"] = "2048"  # large enough for the kernels of all tests


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


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Assign whole modules to processes, so that module fixtures are created once.

    Fuzz tests have no fixtures: each is assigned on its own. All browser tests use one JupyterLab and run in
    one process.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            module = nodeid.partition("::")[0]
            folder = Path(module).parent.name
            return {"browser": folder, "fuzz": nodeid}.get(folder, module)

    return Scheduling(config, log)
