"""Tests of sweeps over blocks, tiles and sizes: their order, the legal blocks and the fastest point."""

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
    """Let a kernel's time be inversely proportional to its threads per block."""
    set_clock(monkeypatch, kernel_ms=lambda block, tile: 64.0 / prod(block))


def sweep(*cells: Any, **options: Any) -> Sweep:
    options = {"blocks": [(32,), (64,)], "sizes": ["64", "128"]} | options
    return Sweep(cells or (cell(),), TiledDevice(), **options)


def test_points_are_ordered_by_size_tile_and_block() -> None:
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


def test_size_may_be_a_number() -> None:
    assert sweep(sizes=[64, "128"]).plan() == sweep().plan()


def test_length_is_the_number_of_points() -> None:
    both_kernels = sweep(cell(), cell("matmul.K2"), tiles=[(1, 2), (1, 1)])
    assert len(both_kernels) == 16
    assert len(list(both_kernels)) == 16


def test_default_tile_and_size_are_those_of_the_cell() -> None:
    (kernel_cell, shape), *_ = sweep(sizes=()).plan()
    assert kernel_cell.header.tile == (1, 2, 1)
    assert shape == MATMUL.timing_shape("K4", (32, 1, 1), (1, 2, 1))


def test_points_are_yielded_as_they_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(block: Any, tile: Any) -> float:
        if block[0] == 64:
            raise KeyboardInterrupt
        return 1.0

    set_clock(monkeypatch, kernel_ms=interrupted)
    points = iter(sweep())
    assert next(points).kernel_ms == 1.0
    with pytest.raises(KeyboardInterrupt):
        next(points)


def test_illegal_block_does_not_end_the_sweep() -> None:
    points = list(sweep(blocks=[(32,), (2048,), (64,)], sizes=["64"]))
    assert [bool(point.timing) for point in points] == [True, False, True]
    assert "1,024" in points[1].error


@pytest.mark.parametrize("sizes", [["many"], ["64", "0"]])
def test_invalid_size_raises_before_the_first_launch(sizes: list[str]) -> None:
    with pytest.raises(UsageError):
        sweep(sizes=sizes)


@pytest.mark.parametrize("blocks", [(32, 8), [(32,), 64], ["32x8"], [()], [(1, 2, 3, 4)], [(32.0,)]])
def test_invalid_block_raises_before_the_first_launch(blocks: Any) -> None:
    with pytest.raises(UsageError, match=r"a list of tuples .* as in blocks=\[\(32, 8\), \(64,\)\]"):
        sweep(blocks=blocks)


def test_plain_cell_raises_before_the_first_launch() -> None:
    with pytest.raises(UsageError):
        sweep(cell("plain"))


def test_fastest_point_is_selected_per_size() -> None:
    points = list(sweep(blocks=[(32,), (64,), (2048,)]))
    assert fastest(points) == {1, 4}


def test_points_without_times_have_no_fastest() -> None:
    assert fastest(list(sweep(blocks=[(2048,)]))) == frozenset()


@pytest.mark.parametrize(
    ("variant", "blocks"),
    [
        ("K4", [(32, 1, 1), (64, 1, 1), (128, 1, 1), (256, 1, 1), (512, 1, 1)]),
        ("Ks", [(1, 32, 1), (1, 64, 1), (1, 128, 1), (1, 256, 1), (1, 512, 1)]),
        ("K5", [(8, 8, 1), (16, 16, 1)]),
    ],
)
def test_default_blocks_have_the_shape_of_the_variants_block(variant: str, blocks: list[Any]) -> None:
    assert list(default_blocks(MATMUL, variant, gpu("t10"))) == blocks


@pytest.mark.parametrize("key", ["t10", "h200"])
def test_default_blocks_are_legal(key: str) -> None:
    limits = gpu(key)
    for problem_ in (MATMUL, STENCIL):
        for variant in problem_.variants:
            blocks = default_blocks(problem_, variant, limits)
            assert blocks
            assert max(map(prod, blocks)) <= limits.max_threads_per_block


def test_sweep_without_blocks_uses_the_default_blocks() -> None:
    device = TiledDevice()
    points = list(Sweep([cell()], device, sizes=["1024"]))
    assert [point.block for point in points] == list(default_blocks(MATMUL, "K4", device.spec))
