"""The speed-up table: times, speed-ups and provenance."""

from __future__ import annotations

from dataclasses import replace

from gpulab.gpus.catalogue import gpu
from gpulab.problems import problem
from gpulab.profiling.benchmark import Benchmark
from gpulab.profiling.speedup import SpeedupTable, VariantTiming, baseline_timing
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
    assert row.split()[1:5] == ["6.00", "(naive)", "3.00", "2.00"]


def test_baseline_has_registers_resident_blocks_and_waves():
    text = speedup_view(with_baseline(modelled(opt_1=0.5))).text
    header, _, naive, opt_1, *_ = text.splitlines()
    assert header.split()[-6:] == ["registers", "warps/SM", "blocks/SM", "waves", "block", "change"]
    assert " 48        40          5   1.55 " in naive
    before = float(naive.split()[2])
    assert opt_1.split()[4:9] == [f"{before / 0.5:.2f}", "-", "-", "-", "-"]
    assert "Compiler: NVRTC" in text


def test_columns_without_figures_are_left_out():
    assert "waves" not in speedup_view(timed(naive=(6.0, GPU))).text.lower()


def test_caption_names_the_gpu_of_measured_times():
    text = speedup_view(timed(naive=(6.0, GPU))).text
    assert "measured, NVIDIA H200, driver 580" in text
    assert "simulator" not in text


def test_caption_names_the_simulators_wall_time():
    table = timed(naive=(6.0, WALL), opt_1=(3.0, WALL))
    words = "simulator's own wall time"
    assert words in speedup_view(table).text
    assert words in speedup_view(table).html.replace("&#x27;", "'")


def with_baseline(table):
    table.baseline = baseline_timing(problem("stencil"), gpu("h200"))
    return table


def modelled(**times):
    table = SpeedupTable("stencil")
    for variant, ms in times.items():
        timing = Benchmark.from_samples([ms], Provenance("modelled", "H200"))
        table.add(VariantTiming(config(f"stencil.{variant}"), (512, 512, 512), timing))
    return table


def test_baseline_stands_in_for_a_kernel_without_a_time():
    first, second = with_baseline(modelled(opt_1=0.5))
    assert (first.variant, first.speedup) == ("naive", None)
    assert first.changes == first.provenance.detail == "baseline that ships with gpulab (modelled)"
    assert second.before == "naive"
    assert second.speedup == first.after_ms / 0.5


def test_own_kernel_replaces_the_baseline():
    first, second = with_baseline(modelled(naive=1.0, opt_1=0.5))
    assert first.changes != first.provenance.detail
    assert second.speedup == 2


def test_measured_time_is_not_compared_with_the_modelled_baseline():
    _, second = with_baseline(timed(opt_1=(0.5, GPU)))
    assert second.speedup is None


def test_gpu_outside_the_catalogue_has_no_baseline():
    assert baseline_timing(problem("stencil"), replace(gpu("h200"), key="")) is None
