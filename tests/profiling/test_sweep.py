"""Sweeps: what is run in which order, which blocks are legal, and which point is the fastest."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest

from gpulab.errors import UsageError
from gpulab.gpus.catalogue import gpu
from gpulab.problems import problem
from gpulab.profiling.sweep import Sweep, default_blocks, fastest
from tests.tiled_device import TiledDevice, cell, set_clock

MATMUL, STENCIL = problem("matmul"), problem("stencil")


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wider the block, the shorter the time."""
    set_clock(monkeypatch, kernel_ms=lambda block, tile: 64.0 / prod(block))


def sweep(*cells: Any, **options: Any) -> Sweep:
    options = {"blocks": [(32,), (64,)], "sizes": ["64", "128"]} | options
    return Sweep(cells or (cell(),), TiledDevice(), **options)


def test_points_come_by_kernel_size_tile_and_block_as_given() -> None:
    points = list(sweep(tiles=[(1, 2), (1, 1)]))
    assert [(p.shape[0], p.tile[1], p.block[0]) for p in points] == [
        (64, 2, 32),
        (64, 2, 64),
        (64, 1, 32),
        (64, 1, 64),
        (128, 2, 32),
        (128, 2, 64),
        (128, 1, 32),
        (128, 1, 64),
    ]


def test_its_length_is_known_before_it_runs() -> None:
    two = sweep(cell(), cell("matmul.K2"), tiles=[(1, 2), (1, 1)])
    assert len(two) == 16
    assert len(list(two)) == 16


def test_what_is_left_out_is_the_headers_tile_and_the_labs_size() -> None:
    (planned, shape), *_ = sweep(sizes=()).plan()
    assert planned.header.tile == (1, 2, 1)
    assert shape == MATMUL.timing_shape("K4", (32, 1, 1), (1, 2, 1))


def test_a_point_is_there_before_the_next_one_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(block: Any, tile: Any) -> float:
        if block[0] == 64:
            raise KeyboardInterrupt
        return 1.0

    set_clock(monkeypatch, kernel_ms=interrupted)
    points = iter(sweep())
    assert next(points).kernel_ms == 1.0
    with pytest.raises(KeyboardInterrupt):
        next(points)


def test_a_combination_that_cannot_be_launched_does_not_end_it() -> None:
    points = list(sweep(blocks=[(32,), (2048,), (64,)], sizes=["64"]))
    assert [bool(point.timing) for point in points] == [True, False, True]
    assert "at most 1024" in points[1].error


@pytest.mark.parametrize("sizes", [["many"], ["64", "0"]])
def test_a_size_that_is_none_is_said_before_anything_runs(sizes: list[str]) -> None:
    with pytest.raises(UsageError):
        sweep(sizes=sizes)


def test_a_cell_of_no_problem_is_said_before_anything_runs() -> None:
    with pytest.raises(UsageError, match="belongs to no problem"):
        sweep(cell("mine"))


def test_the_fastest_is_found_for_each_size() -> None:
    points = list(sweep(blocks=[(32,), (64,), (2048,)]))
    assert fastest(points) == {1, 4}


def test_where_nothing_was_timed_nothing_is_the_fastest() -> None:
    assert fastest(list(sweep(blocks=[(2048,)]))) == frozenset()


@pytest.mark.parametrize(
    ("variant", "blocks"),
    [
        ("K4", [(32, 1, 1), (64, 1, 1), (128, 1, 1), (256, 1, 1), (512, 1, 1)]),
        ("Ks", [(1, 32, 1), (1, 64, 1), (1, 128, 1), (1, 256, 1), (1, 512, 1)]),
        ("K5", [(8, 8, 1), (16, 16, 1)]),
    ],
)
def test_blocks_keep_the_shape_of_the_variants_own(variant: str, blocks: list[Any]) -> None:
    assert list(default_blocks(MATMUL, variant, gpu("t10"))) == blocks


@pytest.mark.parametrize("key", ["t10", "h200"])
def test_every_default_block_is_legal(key: str) -> None:
    limits = gpu(key)
    for known in (MATMUL, STENCIL):
        for variant in known.variants:
            blocks = default_blocks(known, variant, limits)
            assert blocks
            assert max(map(prod, blocks)) <= limits.max_threads_per_block


def test_a_sweep_without_blocks_takes_the_default_ones() -> None:
    device = TiledDevice()
    points = list(Sweep([cell()], device, sizes=["1024"]))
    assert [point.block for point in points] == list(default_blocks(MATMUL, "K4", device.spec))
