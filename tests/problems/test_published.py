"""Published figures: each has a source, a kernel of ours or none, and a geometry that can be launched."""

from __future__ import annotations

from math import prod

import pytest

from gpulab.config import launch_geometry
from gpulab.errors import UsageError
from gpulab.gpus.catalogue import gpu, names
from gpulab.problems import problem
from gpulab.problems.published import rows, source, sources

ROWS = rows()
LAUNCHED = [row for row in ROWS if row.variant and row.block and row.tile and row.shape and row.gpu]


def in_words(row):
    return f"{row.source_key}: {row.label} {row.block}"


@pytest.mark.parametrize("row", ROWS, ids=in_words)
def test_every_row_names_its_source(row):
    assert row.source == source(row.source_key).citation


@pytest.mark.parametrize("row", ROWS, ids=in_words)
def test_every_row_has_a_figure(row):
    assert any((row.overall_gflops, row.kernel_gflops, row.speedup))


@pytest.mark.parametrize("row", [r for r in ROWS if r.overall_gflops and r.kernel_gflops], ids=in_words)
def test_a_kernel_alone_is_at_least_as_fast_as_with_its_copies(row):
    assert row.kernel_gflops >= row.overall_gflops


@pytest.mark.parametrize("row", [r for r in ROWS if r.bound_gflops], ids=in_words)
def test_nothing_is_faster_than_the_documents_own_bound(row):
    assert row.kernel_gflops < row.bound_gflops


@pytest.mark.parametrize("row", [r for r in ROWS if r.gpu], ids=in_words)
def test_nothing_is_faster_than_the_gpu(row):
    assert max(row.kernel_gflops or 0, row.overall_gflops or 0) < gpu(row.gpu).peak_fp32_gflops


@pytest.mark.parametrize("row", [r for r in ROWS if r.variant], ids=in_words)
def test_every_variant_is_a_rung_of_our_ladder(row):
    assert row.variant in problem(row.problem).variants


@pytest.mark.parametrize("row", LAUNCHED, ids=in_words)
def test_every_geometry_can_be_launched_on_the_gpu_it_was_measured_on(row):
    launch_geometry(problem(row.problem), row.shape, row.block, row.tile, gpu(row.gpu))


@pytest.mark.parametrize("row", LAUNCHED, ids=in_words)
def test_a_kernels_tile_is_of_its_kind(row):
    along_i, along_j, _ = row.tile
    assert (along_i > 1, along_j > 1) == (row.variant in {"K3", "K34"}, row.variant in {"K4", "K34"})


def test_the_lectures_bounds_are_its_own_arithmetic():
    figures = source("gtx280_lecture").figures
    floats, tile = figures["dram_gfloats_s"], figures["tile"]
    assert floats == pytest.approx(figures["dram_gb_s"] / 4)
    first, second = rows("gtx280_lecture")
    assert first.bound_gflops == pytest.approx(floats * 2 * tile / (1 + tile), abs=0.05)
    assert second.bound_gflops == pytest.approx(floats * tile)


@pytest.mark.parametrize("key", ["t10", "gtx280"])
def test_the_documents_agree_with_the_catalogue(key):
    figures, spec = source(key).figures, gpu(key)
    assert (figures["sms"], figures["cores_per_sm"]) == (spec.sms, spec.cores_per_sm)


def test_the_lecture_and_the_catalogue_agree_on_the_gtx_280():
    figures, spec = source("gtx280_lecture").figures, gpu("gtx280")
    assert figures["matmul_peak_gflops"] == pytest.approx(spec.peak_fp32_gflops, abs=0.5)
    assert figures["dram_gb_s"] == pytest.approx(spec.dram_gb_s, abs=0.5)


def test_a_source_names_a_gpu_of_the_catalogue_or_none():
    assert {where.gpu for where in sources().values()} - {""} <= set(names())


def test_rows_can_be_asked_for_by_table_gpu_and_variant():
    assert {row.variant for row in rows("t10", variant="K4")} == {"K4"}
    assert {row.source_key for row in rows(gpu="GTX 280")} == {"gtx280", "gtx280_lecture"}
    assert rows("cpu", variant="K4") == ()


def test_the_column_of_blocks_and_tiles_is_complete_for_the_t10():
    assert all(prod(row.block) == row.threads and row.tile for row in rows("t10"))


def test_an_unknown_table_is_told_what_there_is():
    with pytest.raises(UsageError, match=r"`t11`.*t10.*blog"):
        rows("t11")
