"""Tests of `Bench`, the timer of kernel cells."""

from __future__ import annotations

import multiprocessing
from typing import Any

import pytest

from gpulab import session
from gpulab.cell import read_cells
from gpulab.errors import LaunchError, MemoryFault, UsageError
from gpulab.profiling.bench import Bench
from gpulab.profiling.point import Point
from tests.kernels.corpus import FOLDER
from tests.tiled_device import TiledDevice, cell, set_clock

SHAPE = (64, 64, 64)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    set_clock(monkeypatch)


def timed_point(header: str = "matmul.K4 --block 32 --tile 1 2", device: Any = None, **options: Any) -> Point:
    with Bench(device or TiledDevice(), **options) as bench:
        return bench.point(cell(header), SHAPE)


def test_correct_kernel_is_timed() -> None:
    point = timed_point()
    assert point.error == ""
    assert (point.kernel_ms, point.overall_ms) == (2.0, 3.0)
    assert point.grid == (2, 32, 1)
    assert point.occupancy


def test_iterations_is_the_number_of_timed_launches() -> None:
    assert len(timed_point(iterations=7).iterations) == 7


def test_wrong_kernel_is_not_timed() -> None:
    point = timed_point("matmul.K4 --block 32 --tile 1 4")
    assert point.timing is None
    assert point.wrong
    assert point.error


def test_wrong_kernel_is_timed_without_the_check() -> None:
    assert timed_point("matmul.K4 --block 32 --tile 1 4", check=False).kernel_ms == 2.0


def test_compile_error_names_its_line() -> None:
    point = timed_point("matmul.K4 --block 32 --tile 1 8")
    assert point.wrong
    assert "line 3" in point.error


@pytest.mark.parametrize(
    ("header", "figure"),
    [
        ("matmul.K4 --block 2048 --tile 1 2", "1,024"),
        ("matmul.K4 --block 128 --tile 1 2", "128x64x128"),
    ],
)
def test_illegal_geometry_is_an_error_that_names_the_limit(header: str, figure: str) -> None:
    point = timed_point(header)
    assert figure in point.error
    assert not point.wrong


@pytest.mark.parametrize(
    ("error", "wrong"), [(MemoryFault("faults"), True), (LaunchError("no memory"), False)]
)
def test_failed_launch_is_a_point_with_an_error(
    monkeypatch: pytest.MonkeyPatch, error: LaunchError, wrong: bool
) -> None:
    def fails(*args: Any, **options: Any) -> Any:
        raise error

    monkeypatch.setattr("gpulab.profiling.bench.time_variant", fails)
    point = timed_point()
    assert (point.error, point.wrong) == (str(error), wrong)


def test_gpu_with_unknown_bus_has_no_overall_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: Any) -> Any:
        raise UsageError("no bus")

    monkeypatch.setattr("gpulab.profiling.bench.time_copies", unknown)
    point = timed_point()
    assert point.kernel_ms == 2.0
    assert point.overall_ms is None


def test_source_is_compiled_once_per_block_and_tile() -> None:
    device = TiledDevice()
    with Bench(device) as bench:
        for shape in (SHAPE, (128, 128, 128)):
            for header in ("matmul.K4 --block 32 --tile 1 2", "matmul.K4 --block 64 --tile 1 2"):
                assert bench.point(cell(header), shape).timing
    assert len(device.compiled) == 2


def test_worker_process_ends_with_the_bench() -> None:
    device = TiledDevice()
    device.needs_own_process = True
    with Bench(device, "sim:t10", iterations=1) as bench:
        (kernel_cell,) = read_cells(FOLDER / "matmul" / "right" / "K4_two_columns.cu")
        assert bench.point(kernel_cell, SHAPE).timing
        assert "gpulab bench" in [process.name for process in multiprocessing.active_children()]
    assert "gpulab bench" not in [process.name for process in multiprocessing.active_children()]


def test_bench_does_not_change_the_session(empty_session: None) -> None:
    own_cell = cell("matmul.K4 --block 64 --tile 1 2", "// own")
    session.keep_cell(own_cell)
    timed_point("matmul.K4 --block 32 --tile 1 1")
    assert session.cell("matmul.K4") is own_cell


def test_plain_cell_raises() -> None:
    with pytest.raises(UsageError):
        timed_point("plain")


def test_time_on_the_simulator_is_modelled() -> None:
    from gpulab.devices import open_device

    (kernel_cell,) = read_cells(FOLDER / "matmul" / "right" / "K4_two_columns.cu")
    with Bench(open_device("sim:t10"), iterations=2) as bench:
        point = bench.point(kernel_cell, SHAPE)
    assert point.provenance is not None
    assert point.provenance.kind == "modelled"
    assert len(point.iterations) == 2
    assert point.bottleneck
    assert point.overall_ms
