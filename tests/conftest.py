"""For all tests: a cache of compiled kernels of their own, so that they neither use nor fill a person's."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

_folder = tempfile.mkdtemp(prefix="gpulab-tests-")
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
os.environ["GPULAB_CACHE"] = _folder  # before gpulab looks at it; processes that tests start inherit it
