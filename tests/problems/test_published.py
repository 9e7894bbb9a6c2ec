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


def row_ids(row_list):
    return [f"{row.source_key}: {row.label} {row.block}" for row in row_list]


def test_rows_have_the_citations_of_their_sources():
    assert row_ids(row for row in ROWS if row.source != source(row.source_key).citation) == []


def test_rows_have_a_figure():
    figures = {row: (row.overall_gflops, row.kernel_gflops, row.speedup) for row in ROWS}
    assert row_ids(row for row in ROWS if not any(figures[row])) == []


def test_kernel_gflops_are_not_below_overall_gflops():
    both = [row for row in ROWS if row.overall_gflops and row.kernel_gflops]
    assert row_ids(row for row in both if row.kernel_gflops < row.overall_gflops) == []


def test_kernel_gflops_are_below_the_bounds_of_the_documents():
    bounded = [row for row in ROWS if row.bound_gflops]
    assert row_ids(row for row in bounded if row.kernel_gflops >= row.bound_gflops) == []


def test_figures_are_below_the_peaks_of_the_gpus():
    largest = {row: max(row.kernel_gflops or 0, row.overall_gflops or 0) for row in ROWS if row.gpu}
    assert row_ids(row for row in largest if largest[row] >= gpu(row.gpu).peak_fp32_gflops) == []


def test_variants_of_rows_are_variants_of_their_problems():
    named = [row for row in ROWS if row.variant]
    assert row_ids(row for row in named if row.variant not in problem(row.problem).variants) == []


def test_geometries_of_rows_can_be_launched_on_their_gpus():
    def refusal(row):
        try:
            config(f"{row.problem}.{row.variant}", row.block, row.tile).at(row.shape, gpu(row.gpu))
        except UsageError as error:
            return str(error)
        return None

    assert LAUNCHABLE
    assert [reason for row in LAUNCHABLE if (reason := refusal(row))] == []


def test_tiles_of_rows_match_their_variants():
    along = {row: (row.tile[0] > 1, row.tile[1] > 1) for row in LAUNCHABLE}
    expected = {row: (row.variant in {"K3", "K34"}, row.variant in {"K4", "K34"}) for row in LAUNCHABLE}
    assert row_ids(row for row in LAUNCHABLE if along[row] != expected[row]) == []


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
