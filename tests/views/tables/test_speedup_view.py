"""The speed-up table of the variants so far, with the provenance of each time."""

from __future__ import annotations

import pytest

from gpulab.profiling.benchmark import Benchmark
from gpulab.profiling.speedup import SpeedupTable, VariantTiming
from gpulab.provenance import Provenance
from gpulab.views.tables.speedup_view import milliseconds, speedup_view
from tests.kernel_configs import config

WALL = Provenance("simulator wall time", "simulator (H200)")
GPU = Provenance("measured", "NVIDIA H200", "driver 580")


def timed(**times):
    table = SpeedupTable("stencil")
    for variant, (ms, provenance) in times.items():
        timing = Benchmark.from_samples([ms], provenance)
        table.add(VariantTiming(config(f"stencil.{variant}"), (128, 128, 64), timing))
    return table


def test_an_empty_table_says_what_to_do():
    assert "run its kernel cells" in speedup_view(timed()).text


def test_before_after_and_speedup_stand_side_by_side():
    text = speedup_view(timed(naive=(6.0, GPU), opt_1=(3.0, GPU))).text
    row = next(line for line in text.splitlines() if line.startswith("opt_1"))
    assert "6 (naive)" in row
    assert row.split()[-2:] == ["3", "2.00"]


def test_a_measured_table_names_its_gpu_and_says_nothing_of_the_simulator():
    text = speedup_view(timed(naive=(6.0, GPU))).text
    assert "measured, NVIDIA H200, driver 580" in text
    assert "simulator" not in text


def test_the_simulators_wall_time_is_never_shown_without_its_name():
    table = timed(naive=(6.0, WALL), opt_1=(3.0, WALL))
    words = "simulator's own wall time"
    assert words in speedup_view(table).text
    assert words in speedup_view(table).html.replace("&#x27;", "'")


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.01234, "0.0123"), (3.14159, "3.14"), (99.94, "99.9"), (1234.5, "1,234"), (None, "-")],
)
def test_times_have_three_figures(value, shown):
    assert milliseconds(value) == shown
