"""The micro-kernels and small programs of `benchmarks.model_survey`."""

from __future__ import annotations

import json
import lzma
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from benchmarks import model_survey
from gpulab.cache import DiskCache
from gpulab.devices import open_device

LAUNCHES = {
    launch["name"]: launch
    for launch in json.loads(lzma.decompress(model_survey.FILE.read_bytes()))["launches"]
}


def test_every_launch_has_a_time() -> None:
    assert all(launch["ms"] > 0 for launch in LAUNCHES.values())
    assert min(Counter(launch["group"] for launch in LAUNCHES.values()).values()) > 10


@pytest.mark.parametrize("name", ["warp shfl_down 256", "gather 4096", "atomic add_i one used"])
def test_launch_runs_on_the_simulator(name: str) -> None:
    launch = model_survey.prepared(LAUNCHES[name], open_device("sim:h100"))
    launch.kernel((1, 1, 1), launch.block, launch.args)  # type: ignore[operator]


def test_arguments_have_the_values_that_they_name() -> None:
    assert model_survey.array("int32", 4, "counting").tolist() == [0, 1, 2, 3]
    assert model_survey.array("4 float32", 8, "zeros").shape == (8, 4)
    assert 0 <= model_survey.array("float32", 1000, "random").min() < 0.1
    assert model_survey.array("int32", 1000, "below 10").max() == 9
    assert model_survey.array("uint8", 3200, "lanes 0.25").mean() == pytest.approx(0.25, abs=0.05)

    warps = model_survey.array("uint8", 32 * 1000, "warps 0.5").reshape(-1, 32)
    assert (warps == warps[:, :1]).all()
    assert warps.mean() == pytest.approx(0.5, abs=0.1)

    following, seen, at = model_survey.array("int32", 64, "cycle"), set(), 0
    for _ in range(64):
        at = int(following[at])
        seen.add(at)
    assert seen == set(range(64))


def test_errors_are_relative_to_the_measured_times(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("benchmarks.recordings._cache", lambda: DiskCache(tmp_path, 1 << 30))
    launch = LAUNCHES["warp shfl_down 256"]
    error = model_survey.error_of(launch)
    doubled = model_survey.error_of({**launch, "ms": 2 * launch["ms"]})
    assert len(list(tmp_path.iterdir())) == 1  # recorded once
    assert 1 + doubled == pytest.approx((1 + error) / 2)
    assert np.isfinite(error)
