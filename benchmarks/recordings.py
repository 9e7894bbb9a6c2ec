"""Recordings of launches on the simulator, cached on disk so that a changed model is compared at once.

An entry is found by the kernel's text, the launch, the compiler's version and the text of the modules that
record. The environment variable GPULAB_RECORDINGS names the folder (by default `gpulab/recordings` in
XDG_CACHE_HOME or ~/.cache); 500 launches take about 5 GB.
"""

from __future__ import annotations

import inspect
import os
import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path

from gpulab.cache import DiskCache, fingerprint
from gpulab.compiler.nvrtc import version
from gpulab.compiler.sass import machine_counts, machine_flow, ptx_matching
from gpulab.gpus.catalogue import GpuSpec
from gpulab.model import compare_and_swap, sampling
from gpulab.model.recording import LaunchRecording
from gpulab.model.sampling import SampledLaunch, record_launch
from gpulab.simt.instrument.trace import trace_code

__all__ = ["recorded"]

LIMIT_BYTES = 16 << 30


def recorded(spec: GpuSpec, make: Callable[[], SampledLaunch], *parts: object) -> LaunchRecording:
    """Return the recording of a launch on a GPU; `parts` identify the launch, which `make` prepares."""
    key = fingerprint(spec, version(), _texts(), *parts)
    content = _cache().get(key)
    if content is not None:
        found: LaunchRecording = pickle.loads(content)  # noqa: S301  (an entry of this cache)
        return found
    recording = record_launch(make(), spec)
    _cache().put(key, pickle.dumps(recording, protocol=5))
    return recording


@cache
def _cache() -> DiskCache:
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return DiskCache(Path(os.environ.get("GPULAB_RECORDINGS") or home / "gpulab/recordings"), LIMIT_BYTES)


@cache
def _texts() -> str:
    modules = (compare_and_swap, sampling, trace_code, machine_counts, machine_flow, ptx_matching)
    return fingerprint(*map(inspect.getsource, modules))
