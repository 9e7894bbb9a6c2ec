"""The comparison of times with Nsight Compute and CuPy, from figures that are made up."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.timers import FIGURES as FIGURES_FILES
from benchmarks.timers import PAGE, difference, page, read_figures, timed_launches, within_cupyx
from gpulab.devices import open_device


def launch(name: str, own: float, ncu: float, cupyx: tuple[float, float]) -> dict[str, Any]:
    timing = {"median": own, "p20": own, "p80": own, "clock_mhz": 1980, "launches_per_sample": 1}
    profiled = {"median": ncu, "clock_mhz": 1980.0}
    return {
        "name": name,
        "gpulab_warm": timing,
        "gpulab_cold": timing | {"launches_per_sample": 50, "clock_mhz": None},
        "ncu_warm": profiled,
        "ncu_cold": profiled,
        "cupyx": {"median": cupyx[0], "low": cupyx[0], "high": cupyx[1]},
        "cupyx_added": {"median": cupyx[0], "low": cupyx[0], "high": cupyx[1], "row": 5},
    }


FIGURES = {
    "device": "NVIDIA H200",
    "driver": "580",
    "nvrtc": "13.0",
    "date": "2026-11-23",
    "launches": [
        launch("long", 101.0, 100.0, (99.0, 102.0)),
        launch("longer", 1030.0, 1000.0, (1031.0, 1040.0)),
        launch("short", 12.0, 10.0, (10.0, 20.0)),
    ],
}


def test_difference_is_a_fraction_of_nsight_computes_time() -> None:
    assert difference(FIGURES["launches"][1], "warm") == pytest.approx(0.03)


def test_time_is_within_the_spread_of_cupy() -> None:
    assert [within_cupyx(row) for row in FIGURES["launches"]] == [True, False, True]


def test_page_counts_long_launches_only() -> None:
    text = page([FIGURES])
    assert (
        "L2 warm: 1 of 2 launches of 100 us or more agree within 2%; the largest difference is 3.0%." in text
    )
    assert "| short | cold (graph) | 12.0 |" in text
    assert "For 1 of 2 launches of 100 us or more, gpulab's time is between" in text


def test_launches_can_be_prepared_and_have_names_of_their_own() -> None:
    launches = timed_launches()
    assert len({launch.name for launch in launches}) == len(launches)
    kernel, grid, block, args = launches[0].prepare(open_device("sim"))
    kernel(grid, block, args)


def test_page_is_that_of_the_committed_figures() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(map(read_figures, FIGURES_FILES))
