"""`gpulab.explore` without a page: text, static picture, and moved sliders."""

from __future__ import annotations

import asyncio
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import gpulab
from gpulab import session
from gpulab.cell import parse_cell, require_kernel_cell
from gpulab.devices import open_device
from gpulab.exploration.search_space import Candidate
from gpulab.gpus.catalogue import gpu
from gpulab.notebook import session_timings
from gpulab.notebook.sliders.explore_curve import curve_of
from gpulab.notebook.sliders.explore_figure import SELECTED, ExplorerFigure
from gpulab.notebook.sliders.explore_still import still_view
from gpulab.profiling.benchmark import Benchmark
from gpulab.profiling.point import Point
from gpulab.profiling.speedup import VariantTiming
from gpulab.provenance import Provenance
from tests.kernel_configs import config

LONG_S = 120  # on a busy machine
K1 = """%%cuda matmul.K1 --block 64
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < p; ++k) sum += b[i + n * k] * c[k + p * j];
    a[i + n * j] = sum;
}
"""
CELL = require_kernel_cell(parse_cell(K1))
SHAPE = (4096, 4096, 4096)


def point(candidate: Candidate, ms: float, **more: Any) -> Point:
    timing = Benchmark.from_samples([ms], Provenance("modelled", "a GPU"))
    return Point(
        candidate.config, candidate.shape, timing=timing, occupancy=0.5, bottleneck="latency", **more
    )


@pytest.fixture
def correct_kernel(empty_session: None) -> None:
    """A session in which K1 was correct and timed."""
    session.keep_cell(CELL)
    timing = Benchmark.from_samples([1.0], Provenance("modelled", "a GPU"))
    session_timings.keep_timing("matmul", VariantTiming(config("matmul.K1", (64, 1, 1)), SHAPE, timing))


# -- without sliders --------------------------------------------------------------------------------


@pytest.mark.usefixtures("empty_session")
def test_session_without_a_correct_kernel_gives_a_line_of_text() -> None:
    text = gpulab.explore("matmul").text
    assert "%%cuda matmul" in text
    assert "ships with gpulab" in text


@pytest.mark.usefixtures("correct_kernel")
def test_non_interactive_kernel_gives_a_static_picture() -> None:
    view = gpulab.explore("matmul")
    assert "<svg" in view.html
    assert "K1, block 64" in view.text
    assert "128 " in view.text
    assert "Modelled, H200" in view.text


# -- the static picture -----------------------------------------------------------------------------


def curve(device: str = "sim:t10", **ms: float) -> Any:
    here = Candidate(CELL, SHAPE, device)
    candidates = {name: here.at(block=(int(name[1:]), 1, 1)) for name in ms}
    points = {candidates[name]: point(candidates[name], value) for name, value in ms.items()}
    spec = gpu(device.partition(":")[2])
    return curve_of(here, spec, here.block, points, set())


def elements(view: Any, tag: str) -> list[ET.Element]:
    html = view.html
    svg = html[html.index("<svg") : html.index("</svg>") + 6]
    return list(ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}" + tag))


def test_faster_blocks_are_drawn_higher() -> None:
    circles = elements(still_view(curve(b32=2000.0, b64=1800.0, b128=1900.0)), "circle")
    heights = {float(one.get("cx", "")): float(one.get("cy", "")) for one in circles}
    narrow, own, wide = (heights[x] for x in sorted(heights))
    assert own < wide < narrow


def test_problem_without_operations_has_one_axis_in_gb_s(monkeypatch: pytest.MonkeyPatch) -> None:
    def axes(shown: Any) -> list[str]:
        return [
            text for each in elements(still_view(shown), "text") if (text := each.text) in ("GFLOPS", "GB/s")
        ]

    def second_axis_is_visible(shown: Any) -> bool:
        figure = ExplorerFigure()
        figure.show(shown)
        return bool(figure.widget.layout.yaxis2.visible)

    assert axes(curve(b32=2000.0)) == ["GFLOPS", "GB/s"]
    assert second_axis_is_visible(curve(b32=2000.0))
    monkeypatch.setattr(CELL.config.problem, "flops", lambda _: 0)
    assert axes(curve(b32=2000.0)) == ["GB/s"]
    assert not second_axis_is_visible(curve(b32=2000.0))


def test_published_figures_of_the_same_kernel_are_drawn() -> None:
    published = curve(b64=1800.0).published
    assert {figure.block[0] for figure in published} >= {32, 64, 128}
    paths = elements(still_view(curve(b64=1800.0)), "path")
    assert sum(path.find("{*}title") is not None for path in paths) == len(published)
    assert not curve("sim:h200", b64=20.0).published


def test_figure_of_an_unrolled_loop_needs_a_cell_that_unrolls_it() -> None:
    without_unrolling = K1.replace("K1 --block 64", "K4 --block 128 --tile 1 4 1")
    unrolled = without_unrolling.replace("--tile 1 4 1", "--tile 1 4 4")
    unrolled = unrolled.replace("    for (", "    #pragma unroll TILE_Z\n    for (")
    spec = gpu("gtx280")

    def sources(text: str) -> list[str]:
        here = Candidate(require_kernel_cell(parse_cell(text)), SHAPE, "sim:gtx280")
        return [figure.source for figure in curve_of(here, spec, here.block, {}, set()).published]

    assert sources(unrolled)
    assert all("k unrolled 4 times" in source for source in sources(unrolled))
    assert sources(without_unrolling)
    assert not any("unrolled" in source for source in sources(without_unrolling))


def test_still_picture_counts_the_blocks_without_a_time() -> None:
    assert "4 of 5 blocks" in still_view(curve(b64=1800.0)).text


# -- the sliders ------------------------------------------------------------------------------------


def in_explorer(steps: Callable[[Any], Any]) -> None:
    """Run a coroutine with an explorer of K1 on a new event loop, then end the explorer."""
    from gpulab.notebook.sliders.explorer import Explorer

    async def run() -> None:
        loop = asyncio.get_running_loop()

        def later(work: Callable[[], None]) -> None:
            loop.call_soon_threadsafe(work)

        explorer = Explorer(
            {"K1": CELL},
            open_device("sim"),
            current_cells=lambda: {"K1": CELL},
            call=later,
        )
        try:
            await asyncio.wait_for(steps(explorer), LONG_S)
        finally:
            explorer.end()

    asyncio.run(run())


async def until(true: Callable[[], Any]) -> None:
    while not true():  # noqa: ASYNC110  (the condition has no event)
        await asyncio.sleep(0.02)


def test_chart_without_points_says_that_they_are_computed() -> None:
    async def steps(explorer: Any) -> None:
        await until(lambda: explorer.curve.selected)
        assert not explorer.figure.widget.layout.annotations[0].visible

        explorer.control("GPU").value = "sim:gtx280"
        explorer.figure.show(replace(explorer.curve, points=dict.fromkeys(explorer.curve.points)))
        assert explorer.figure.widget.layout.annotations[0].visible

    in_explorer(steps)


def test_moved_block_slider_times_and_draws_another_point() -> None:
    async def steps(explorer: Any) -> None:
        await until(lambda: explorer.curve.selected)
        before = explorer.text
        explorer.control("block").value = (256, 1, 1)
        await until(lambda: explorer.curve.selected)
        assert explorer.candidate.block == (256, 1, 1)
        assert explorer.text != before
        assert list(explorer.figure.widget.data[SELECTED].x) == [explorer.curve.blocks.index((256, 1, 1))]

    in_explorer(steps)


def test_illegal_block_is_replaced_by_the_nearest_legal_one() -> None:
    async def steps(explorer: Any) -> None:
        explorer.control("block").value = (1024, 1, 1)
        explorer.control("GPU").value = "sim:t10"
        assert explorer.candidate.block == (512, 1, 1)
        assert (1024, 1, 1) not in [block for _, block in explorer.control("block").options]
        await until(lambda: explorer.curve.selected)
        assert "Tesla T10" in explorer.text

    in_explorer(steps)


def test_cancel_stops_the_curve() -> None:
    async def steps(explorer: Any) -> None:
        await until(lambda: explorer.curve.selected)
        explorer.cancel()
        known = len(explorer.curve.timed)
        await asyncio.sleep(1.0)
        assert len(explorer.curve.timed) == known

    in_explorer(steps)


def test_ended_explorer_keeps_no_widget_open() -> None:
    used: list[Any] = []

    async def steps(explorer: Any) -> None:
        await until(lambda: explorer.curve.selected)
        used.extend([explorer.box, explorer.figure.widget, explorer.control("block")])
        assert all(widget.comm is not None for widget in used)

    in_explorer(steps)
    assert [widget.comm for widget in used] == [None] * 3
