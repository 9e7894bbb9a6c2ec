"""Published figures: their sources, variants, geometries and bounds."""

from __future__ import annotations

from math import prod
from pathlib import Path

import pytest

from gpulab.errors import UsageError
from gpulab.gpus.catalogue import gpu, names
from gpulab.problems import load_problems, problem, published
from gpulab.problems.published import rows, source, sources
from tests.foreign_problems import PROBLEMS, write_problems
from tests.kernel_configs import config

ROWS = rows()
LAUNCHABLE = [row for row in ROWS if row.variant and row.block and row.tile and row.shape and row.gpu]


def row_id(row):
    return f"{row.source_key}: {row.label} {row.block}"


@pytest.mark.parametrize("row", ROWS, ids=row_id)
def test_row_has_the_citation_of_its_source(row):
    assert row.source == source(row.source_key).citation


@pytest.mark.parametrize("row", ROWS, ids=row_id)
def test_row_has_a_figure(row):
    assert any((row.overall_gflops, row.kernel_gflops, row.speedup))


@pytest.mark.parametrize("row", [r for r in ROWS if r.overall_gflops and r.kernel_gflops], ids=row_id)
def test_kernel_gflops_are_not_below_overall_gflops(row):
    assert row.kernel_gflops >= row.overall_gflops


@pytest.mark.parametrize("row", [r for r in ROWS if r.bound_gflops], ids=row_id)
def test_kernel_gflops_are_below_the_bound_of_the_document(row):
    assert row.kernel_gflops < row.bound_gflops


@pytest.mark.parametrize("row", [r for r in ROWS if r.gpu], ids=row_id)
def test_figures_are_below_the_peak_of_the_gpu(row):
    assert max(row.kernel_gflops or 0, row.overall_gflops or 0) < gpu(row.gpu).peak_fp32_gflops


@pytest.mark.parametrize("row", [r for r in ROWS if r.variant], ids=row_id)
def test_variant_of_a_row_is_a_variant_of_the_problem(row):
    assert row.variant in problem(row.problem).variants


@pytest.mark.parametrize("row", LAUNCHABLE, ids=row_id)
def test_geometry_of_a_row_can_be_launched_on_its_gpu(row):
    config(f"{row.problem}.{row.variant}", row.block, row.tile).at(row.shape, gpu(row.gpu))


@pytest.mark.parametrize("row", LAUNCHABLE, ids=row_id)
def test_tile_of_a_row_matches_its_variant(row):
    along_i, along_j, _ = row.tile
    assert (along_i > 1, along_j > 1) == (row.variant in {"K3", "K34"}, row.variant in {"K4", "K34"})


def test_bounds_of_the_lecture_follow_from_its_figures():
    figures = source("gtx280_lecture").figures
    floats, tile = figures["dram_gfloats_s"], figures["tile"]
    assert floats == pytest.approx(figures["dram_gb_s"] / 4)
    first, second = rows("gtx280_lecture")
    assert first.bound_gflops == pytest.approx(floats * 2 * tile / (1 + tile), abs=0.05)
    assert second.bound_gflops == pytest.approx(floats * tile)


@pytest.mark.parametrize("key", ["t10", "gtx280"])
def test_figures_of_a_document_agree_with_the_catalogue(key):
    figures, spec = source(key).figures, gpu(key)
    assert (figures["sms"], figures["cores_per_sm"]) == (spec.sms, spec.cores_per_sm)


def test_figures_of_the_lecture_agree_with_the_catalogue():
    figures, spec = source("gtx280_lecture").figures, gpu("gtx280")
    assert figures["matmul_peak_gflops"] == pytest.approx(spec.peak_fp32_gflops, abs=0.5)
    assert figures["dram_gb_s"] == pytest.approx(spec.dram_gb_s, abs=0.5)


def test_gpu_of_a_source_is_in_the_catalogue_or_empty():
    assert {table.gpu for table in sources().values()} - {""} <= set(names())


def test_rows_filter_by_table_gpu_and_variant():
    assert {row.variant for row in rows("t10", variant="K4")} == {"K4"}
    assert {row.source_key for row in rows(gpu="GTX 280")} == {"gtx280", "gtx280_lecture"}
    assert rows("cpu", variant="K4") == ()


def test_t10_rows_have_a_block_and_a_tile():
    assert all(prod(row.block) == row.threads and row.tile for row in rows("t10"))


def test_unknown_table_raises_with_the_list_of_tables():
    with pytest.raises(UsageError, match=r"`t11`.*t10.*blog"):
        rows("t11")


def test_declared_figures_are_listed_with_the_problem(no_labs: None, tmp_path: Path) -> None:
    table = """published={"notes": {
        "authors": "A. Teacher", "title": "Notes", "year": "2026", "place": "a course", "gpu": "h200",
        "shape": [4096, 4096], "rows": [{"variant": "naive", "block": [32, 8, 1], "kernel": 250}]}},
    """
    problems = write_problems(tmp_path, PROBLEMS.replace('extents=("columns"', f'{table}extents=("columns"'))
    before = len(published.rows())
    load_problems(problems)
    assert len(published.rows()) == before + 1
    (row,) = published.rows("notes")
    assert (row.problem, row.variant, row.label, row.shape) == ("transpose", "naive", "naive", (4096, 4096))
    assert row.source == 'A. Teacher, "Notes" (2026), a course'


def test_declared_table_without_a_citation_is_refused(no_labs: None, tmp_path: Path) -> None:
    text = PROBLEMS.replace('extents=("columns"', 'published={"notes": {}}, extents=("columns"')
    load_problems(write_problems(tmp_path, text))
    with pytest.raises(UsageError, match="the published table `notes` is not complete"):
        published.sources()
