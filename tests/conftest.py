"""For all tests: a cache of compiled kernels of their own, so that they neither use nor fill a person's.

Processes that run tests side by side share it, and processes that tests start inherit it. Where they run
side by side, the tests of a module run in one of them.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import pytest

if "PYTEST_XDIST_WORKER" not in os.environ:  # else the process that started this one made it
    _folder = tempfile.mkdtemp(prefix="gpulab-tests-")
    atexit.register(shutil.rmtree, _folder, ignore_errors=True)
    os.environ["GPULAB_CACHE"] = _folder  # before gpulab looks at it
    os.environ["GPULAB_CACHE_MB"] = "2048"  # all of them: what was left out would be compiled again


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Hand out whole modules, so that what the tests of one share is made once.

    Random kernels share nothing: they are handed out one by one, at the end, so that no process waits. All
    browser tests look at one JupyterLab, one after the other, since they wait for seconds.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            module = nodeid.partition("::")[0]
            folder = Path(module).parent.name
            return {"browser": folder, "fuzz": nodeid}.get(folder, module)

    return Scheduling(config, log)
