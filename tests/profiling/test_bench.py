"""The bench: what it times, what it leaves out and why, and what it keeps."""

from __future__ import annotations

from typing import Any

import pytest

from gpulab import session
from gpulab.errors import LaunchError, MemoryFault, UsageError
from gpulab.profiling.bench import Bench
from gpulab.profiling.point import Point
from tests.kernels.corpus import FOLDER
from tests.tiled_device import TiledDevice, cell, set_clock

SHAPE = (64, 64, 64)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    set_clock(monkeypatch)


def point(header: str = "matmul.K4 --block 32 --tile 1 2", device: Any = None, **options: Any) -> Point:
    with Bench(device or TiledDevice(), **options) as bench:
        return bench.point(cell(header), SHAPE)


def test_a_right_kernel_has_a_time() -> None:
    one = point()
    assert one.error == ""
    assert (one.kernel_ms, one.overall_ms) == (2.0, 3.0)
    assert one.grid == (2, 32, 1)
    assert one.occupancy


def test_as_many_launches_are_timed_as_asked_for() -> None:
    assert len(point(iterations=7).iterations) == 7


def test_a_wrong_kernel_is_not_timed() -> None:
    one = point("matmul.K4 --block 32 --tile 1 4")
    assert one.timing is None
    assert one.wrong
    assert "wrong with this block and tile" in one.error


def test_it_is_when_nobody_asks_for_the_check() -> None:
    assert point("matmul.K4 --block 32 --tile 1 4", check=False).kernel_ms == 2.0


def test_a_text_that_does_not_compile_says_where() -> None:
    one = point("matmul.K4 --block 32 --tile 1 8")
    assert one.wrong
    assert "line 3: no such register" in one.error


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("matmul.K4 --block 2048 --tile 1 2", "at most 1024"),
        ("matmul.K4 --block 128 --tile 1 2", "128x64x128"),
    ],
)
def test_what_cannot_be_launched_says_why(header: str, said: str) -> None:
    one = point(header)
    assert said in one.error
    assert not one.wrong


@pytest.mark.parametrize(
    ("error", "wrong"), [(MemoryFault("faults"), True), (LaunchError("no memory"), False)]
)
def test_a_launch_that_fails_is_a_point_without_a_time(
    monkeypatch: pytest.MonkeyPatch, error: LaunchError, wrong: bool
) -> None:
    def fails(*args: Any, **options: Any) -> Any:
        raise error

    monkeypatch.setattr("gpulab.profiling.bench.time_variant", fails)
    one = point()
    assert (one.error, one.wrong) == (str(error), wrong)


def test_a_bus_that_nobody_knows_leaves_the_copies_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: Any) -> Any:
        raise UsageError("no bus")

    monkeypatch.setattr("gpulab.profiling.bench.time_copies", unknown)
    one = point()
    assert one.kernel_ms == 2.0
    assert one.overall_ms is None


def test_a_text_is_compiled_once_for_each_block_and_tile() -> None:
    device = TiledDevice()
    with Bench(device) as bench:
        for shape in (SHAPE, (128, 128, 128)):
            for header in ("matmul.K4 --block 32 --tile 1 2", "matmul.K4 --block 64 --tile 1 2"):
                assert bench.point(cell(header), shape).timing
    assert len(device.compiled) == 2


def test_the_kernel_of_the_session_stays_what_it_is() -> None:
    mine = cell("matmul.K4 --block 64 --tile 1 2", "// mine")
    session.keep_cell(mine)
    point("matmul.K4 --block 32 --tile 1 1")
    assert session.cell("matmul.K4") is mine


def test_a_cell_of_no_problem_cannot_be_timed() -> None:
    with pytest.raises(UsageError, match="belongs to no problem"):
        point("mine")


def test_on_the_simulator_the_time_is_modelled() -> None:
    from gpulab.cell import read_cells
    from gpulab.devices import open_device

    (text,) = read_cells(FOLDER / "matmul" / "right" / "K4_two_columns.cu")
    with Bench(open_device("sim:t10"), iterations=2) as bench:
        one = bench.point(text, SHAPE)
    assert one.provenance is not None
    assert one.provenance.kind == "modelled"
    assert len(one.iterations) == 2
    assert one.bottleneck
    assert one.overall_ms
