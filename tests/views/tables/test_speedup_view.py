"""The speed-up table: times, speed-ups and provenance."""

from __future__ import annotations

from gpulab.profiling.benchmark import Benchmark
from gpulab.profiling.speedup import SpeedupTable, VariantTiming
from gpulab.provenance import Provenance
from gpulab.views.tables.speedup_view import speedup_view
from tests.kernel_configs import config

WALL = Provenance("simulator wall time", "simulator (H200)")
GPU = Provenance("measured", "NVIDIA H200", "driver 580")


def timed(**times):
    table = SpeedupTable("stencil")
    for variant, (ms, provenance) in times.items():
        timing = Benchmark.from_samples([ms], provenance)
        table.add(VariantTiming(config(f"stencil.{variant}"), (128, 128, 64), timing))
    return table


def test_empty_table_is_a_line_of_text():
    assert "table" not in speedup_view(timed()).html


def test_row_has_before_after_and_speedup():
    text = speedup_view(timed(naive=(6.0, GPU), opt_1=(3.0, GPU))).text
    row = next(line for line in text.splitlines() if line.startswith("opt_1"))
    assert "6 (naive)" in row
    assert row.split()[-2:] == ["3", "2.00"]


def test_caption_names_the_gpu_of_measured_times():
    text = speedup_view(timed(naive=(6.0, GPU))).text
    assert "measured, NVIDIA H200, driver 580" in text
    assert "simulator" not in text


def test_caption_names_the_simulators_wall_time():
    table = timed(naive=(6.0, WALL), opt_1=(3.0, WALL))
    words = "simulator's own wall time"
    assert words in speedup_view(table).text
    assert words in speedup_view(table).html.replace("&#x27;", "'")
