"""Recordings of the launches on the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compatibility.launches import New, Part
from benchmarks.foreign_model.bundle import compiled, source_of
from benchmarks.foreign_model.figures import measured
from benchmarks.foreign_model.launch_list import ForeignLaunch
from benchmarks.recordings import recorded
from gpulab.devices import open_device
from gpulab.devices.launch_limits import dim3
from gpulab.gpus.catalogue import gpu
from gpulab.model.recording import LaunchRecording
from gpulab.model.sampling import SampledLaunch

__all__ = ["recording_of"]


def recording_of(each: ForeignLaunch, folders: Mapping[str, Path]) -> LaunchRecording:
    """Return the recording of a launch on an H200; `folders` has the copies of the repositories."""
    folder = folders[each.suite]
    recording = recorded(gpu("h200"), lambda: _sampled(folder, each), each, source_of(folder, each))
    # The copies that restore the arrays before each launch pass through L2, too.
    restored = measured()["launches"].get(each.label, {}).get("restored_bytes", 0)
    return replace(recording, other_bytes=restored)


def _sampled(folder: Path, each: ForeignLaunch) -> SampledLaunch:
    launch = each.launch()
    device: Any = open_device("sim:h200")
    program, name = compiled(folder, each, launch)
    module = device.module_of(program)
    for variable, values in launch.variables.items():
        module.set_global(variable, values)
    copies: dict[int, Any] = {}

    def argument(value: Any) -> Any:
        if isinstance(value, New):
            return device.empty(value.shape, value.dtype)
        if isinstance(value, np.ndarray):
            return copies.setdefault(id(value), device.asarray(value))
        if isinstance(value, Part):
            return device.asarray(value.array)[value.start :]
        return value

    args = [argument(value) for value in launch.args]
    kernel = module.get_function(name)
    grid, block = dim3(launch.grid, "grid"), dim3(launch.block, "block")
    return SampledLaunch(kernel, grid, block, args, launch.shared)
