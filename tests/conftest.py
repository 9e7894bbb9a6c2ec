"""For all tests: a cache of compiled kernels of their own, so that they neither use nor fill a person's.

Processes that run tests side by side share it, and processes that tests start inherit it.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

if "PYTEST_XDIST_WORKER" not in os.environ:  # else the process that started this one made it
    _folder = tempfile.mkdtemp(prefix="gpulab-tests-")
    atexit.register(shutil.rmtree, _folder, ignore_errors=True)
    os.environ["GPULAB_CACHE"] = _folder  # before gpulab looks at it
    os.environ["GPULAB_CACHE_MB"] = "2048"  # all of them: what was left out would be compiled again
