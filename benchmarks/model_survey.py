"""Compare the performance model with an H100 on micro-kernels and small programs.

python -m benchmarks.model_survey [GROUP...]
python -m benchmarks.model_survey --measure

Models every launch of benchmarks/figures/survey-h100.json.xz, or those of some groups, and prints the errors
of each group against the measured times, and the launches with the largest ones. The launches are recorded on
the simulator once (see `benchmarks.recordings`). `--measure` times them again, which needs a CUDA GPU, and
writes the file. They were used to find errors of the model, so they do not show how well it predicts other
kernels.
"""

from __future__ import annotations

import argparse
import json
import lzma
import statistics
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.recordings import recorded
from gpulab.devices import open_device
from gpulab.gpus.catalogue import gpu
from gpulab.model.profile import estimate_recording
from gpulab.model.sampling import SampledLaunch

__all__ = ["array", "main"]

FILE = Path(__file__).parent / "figures" / "survey-h100.json.xz"
SAMPLES = 9
SHOWN = 12  # launches with the largest errors


def array(dtype: str, length: int, values: str) -> npt.NDArray[Any]:
    """Return the values of an argument.

    Parameters
    ----------
    dtype : str
        Of NumPy, such as "float32"; "4 float32" for an array of shape (length, 4).
    length : int
    values : str
        "zeros", "counting" for 0, 1, ..., "cycle" for indices that visit all elements in turn, "random" for
        numbers below 1 or 2**30, "below n" for integers, "lanes s" and "warps s" for ones and zeros of which
        ones have the share s, chosen for each element or for 32 together.
    """
    rng = np.random.default_rng(length)
    kind, _, number = values.partition(" ")
    width, _, name = dtype.rpartition(" ")
    shape = (length, int(width)) if width else (length,)
    if kind == "zeros":
        return np.zeros(shape, name)
    if kind == "counting":
        return np.arange(length, dtype=name)
    if kind == "cycle":
        order = rng.permutation(length)
        following = np.empty(length, name)
        following[order] = np.roll(order, -1)
        return following
    if kind in ("lanes", "warps"):
        size = 32 if kind == "warps" else 1
        return np.repeat(rng.random(length // size) < float(number), size).astype(name)
    if np.dtype(name).kind == "f":
        return rng.random(shape).astype(name)
    return rng.integers(0, int(number or 2**30), length).astype(name)


def prepared(launch: Mapping[str, Any], device: Any) -> SampledLaunch:
    """Return the kernel of a launch on a device, with its grid, block and arguments."""
    args = [
        device.asarray(array(*argument)) if len(argument) == 3 else np.dtype(argument[0]).type(argument[1])
        for argument in launch["arguments"]
    ]
    grid, block = (tuple(launch[name]) for name in ("grid", "block"))
    return SampledLaunch(device.compile(launch["source"], "f"), grid, block, args, launch["shared"])


def measure(figures: dict[str, Any]) -> None:
    """Time every launch on the first GPU."""
    from gpulab.compiler.nvrtc import version

    device: Any = open_device("cuda:0")
    for launch in figures["launches"]:
        made = prepared(launch, device)

        def run(made: SampledLaunch = made) -> None:
            made.kernel(made.grid, made.block, made.args, made.shared_mem)

        device.time(run)
        launch["ms"] = round(statistics.median(device.time(run) for _ in range(SAMPLES)), 6)
        device.free_unused_memory()
    figures |= {
        "gpu": device.name,
        "nvrtc": ".".join(map(str, version())),
        "date": datetime.now(UTC).date().isoformat(),
    }


def error_of(launch: Mapping[str, Any]) -> float:
    """Return the relative error of the modelled time of a launch: 0.1 if it is 10 % too long."""
    spec = gpu("h100")
    identity = {key: value for key, value in launch.items() if key != "ms"}
    recording = recorded(spec, lambda: prepared(launch, open_device("sim:h100")), identity)
    _, estimated = estimate_recording(recording, spec)
    return estimated.time_ms / float(launch["ms"]) - 1


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.model_survey", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help="words in the names of groups")
    parser.add_argument("--measure", action="store_true", help="time the launches on a GPU")
    options = parser.parse_args(arguments)
    figures = json.loads(lzma.decompress(FILE.read_bytes()))
    if options.measure:
        measure(figures)
        FILE.write_bytes(lzma.compress(json.dumps(figures).encode()))
        return

    chosen = [
        launch
        for launch in figures["launches"]
        if not options.groups or any(word in launch["group"] for word in options.groups)
    ]
    print(f"{figures['gpu']}, NVRTC {figures['nvrtc']}, {figures['date']}")
    found: dict[str, float] = {}
    for group in dict.fromkeys(launch["group"] for launch in chosen):
        rows = {launch["name"]: error_of(launch) for launch in chosen if launch["group"] == group}
        sizes = [abs(error) for error in rows.values()]
        print(
            f"{group:24} {len(rows):4} launches, mean {statistics.fmean(sizes):.1%}, "
            f"median {statistics.median(sizes):.1%}, largest {max(sizes):.0%}",
            flush=True,
        )
        found |= rows
    for name in sorted(found, key=lambda name: -abs(found[name]))[:SHOWN]:
        print(f"  {found[name]:+.0%}  {name}")


if __name__ == "__main__":
    main()
