"""`gpulab.explore` without a page: what it says, the still picture, and what moving a handle does."""

from __future__ import annotations

import asyncio
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import pytest

import gpulab
from gpulab import session
from gpulab.cell import parse_cell
from gpulab.devices import open_device
from gpulab.exploration.search_space import Setting
from gpulab.gpus.catalogue import gpu
from gpulab.notebook import session_timings
from gpulab.notebook.explore_curve import curve_of
from gpulab.notebook.explore_still import still_view
from gpulab.profiling.benchmark import Benchmark
from gpulab.profiling.point import Point
from gpulab.profiling.speedup import VariantTiming
from gpulab.provenance import Provenance
from tests.kernel_configs import config

LONG_S = 120  # a busy machine
K1 = """%%cuda matmul.K1 --block 64
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < p; ++k) sum += b[i + n * k] * c[k + p * j];
    a[i + n * j] = sum;
}
"""
CELL = parse_cell(K1)
SHAPE = (4096, 4096, 4096)


def point(setting: Setting, ms: float, **more: Any) -> Point:
    timing = Benchmark.from_samples([ms], Provenance("modelled", "a GPU"))
    return Point(
        setting.cell.config, setting.shape, timing=timing, occupancy=0.5, bottleneck="latency", **more
    )


@pytest.fixture
def right_kernel(empty_session: None) -> None:
    """A session in which K1 was right and timed."""
    session.keep_cell(CELL)
    timing = Benchmark.from_samples([1.0], Provenance("modelled", "a GPU"))
    session_timings.keep_timing("matmul", VariantTiming(config("matmul.K1", (64, 1, 1)), SHAPE, timing))


# -- what it says where nobody can move a slider ------------------------------------------------------


@pytest.mark.usefixtures("empty_session")
def test_without_a_right_kernel_it_says_what_to_do() -> None:
    assert "run a %%cuda matmul cell" in gpulab.explore("matmul").text


@pytest.mark.usefixtures("right_kernel")
def test_without_a_person_it_is_a_picture_of_the_cells_block_and_some_others() -> None:
    view = gpulab.explore("matmul")
    assert "<svg" in view.html
    assert "K1, block 64" in view.text
    assert "128 " in view.text
    assert "Modelled, H200" in view.text


# -- the still picture --------------------------------------------------------------------------------


def curve(device: str = "sim:t10", **ms: float) -> Any:
    here = Setting(CELL, SHAPE, device)
    settings = {name: here.at(block=(int(name[1:]), 1, 1)) for name in ms}
    points = {settings[name]: point(settings[name], value) for name, value in ms.items()}
    spec = gpu(device.partition(":")[2])
    return curve_of(here, spec, here.block, points, set())


def elements(view: Any, tag: str) -> list[ET.Element]:
    html = view.html
    svg = html[html.index("<svg") : html.index("</svg>") + 6]
    return list(ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}" + tag))


def test_faster_blocks_stand_higher() -> None:
    circles = elements(still_view(curve(b32=2000.0, b64=1800.0, b128=1900.0)), "circle")
    heights = {float(one.get("cx", "")): float(one.get("cy", "")) for one in circles}
    narrow, own, wide = (heights[x] for x in sorted(heights))
    assert own < wide < narrow


def test_published_figures_of_the_same_kernel_stand_beside_it() -> None:
    found = curve(b64=1800.0)
    assert {one.block[0] for one in found.printed} >= {32, 64, 128}
    diamonds = [one for one in elements(still_view(found), "path") if one.find("{*}title") is not None]
    assert len(diamonds) == len(found.printed)
    assert not curve("sim:h200", b64=20.0).printed


def test_a_figure_of_an_unrolled_loop_stands_beside_a_cell_that_unrolls_it() -> None:
    without_unrolling = K1.replace("K1 --block 64", "K4 --block 128 --tile 1 4 1")
    unrolled = without_unrolling.replace("--tile 1 4 1", "--tile 1 4 4")
    unrolled = unrolled.replace("    for (", "    #pragma unroll TILE_Z\n    for (")
    spec = gpu("gtx280")

    def words(text: str) -> list[str]:
        here = Setting(parse_cell(text), SHAPE, "sim:gtx280")
        return [one.words for one in curve_of(here, spec, here.block, {}, set()).printed]

    assert words(unrolled)
    assert all("k unrolled 4 times" in one for one in words(unrolled))
    assert words(without_unrolling)
    assert not any("unrolled" in one for one in words(without_unrolling))


def test_still_picture_counts_the_blocks_without_a_time() -> None:
    assert "4 of 5 blocks" in still_view(curve(b64=1800.0)).text


# -- the handles --------------------------------------------------------------------------------------


def in_explorer(steps: Callable[[Any], Any]) -> None:
    """Run a coroutine with an explorer of K1 on a loop of its own, and end it."""
    from gpulab.notebook.explorer import Explorer

    async def run() -> None:
        loop = asyncio.get_running_loop()

        def later(work: Callable[[], None]) -> None:
            loop.call_soon_threadsafe(work)

        explorer = Explorer(
            {"K1": CELL},
            open_device("sim"),
            cells_now=lambda: {"K1": CELL},
            call=later,
        )
        try:
            await asyncio.wait_for(steps(explorer), LONG_S)
        finally:
            explorer.end()

    asyncio.run(run())


async def until(true: Callable[[], Any]) -> None:
    while not true():  # noqa: ASYNC110  (what is waited for has no event)
        await asyncio.sleep(0.02)


def test_moving_the_block_asks_for_another_point_and_draws_it() -> None:
    async def steps(explorer: Any) -> None:
        await until(lambda: explorer.curve.now)
        before = explorer.words
        explorer.handle("block").value = (256, 1, 1)
        await until(lambda: explorer.curve.now)
        assert explorer.setting.block == (256, 1, 1)
        assert explorer.words != before
        assert list(explorer.figure.widget.data[6].x) == [explorer.curve.blocks.index((256, 1, 1))]

    in_explorer(steps)


def test_a_gpu_with_smaller_blocks_takes_the_nearest_legal_one() -> None:
    async def steps(explorer: Any) -> None:
        explorer.handle("block").value = (1024, 1, 1)
        explorer.handle("GPU").value = "sim:t10"
        assert explorer.setting.block == (512, 1, 1)
        assert (1024, 1, 1) not in [block for _, block in explorer.handle("block").options]
        await until(lambda: explorer.curve.now)
        assert "Tesla T10" in explorer.words

    in_explorer(steps)


def test_cancel_leaves_the_curve_as_it_is() -> None:
    async def steps(explorer: Any) -> None:
        await until(lambda: explorer.curve.now)
        explorer.cancel()
        known = len(explorer.curve.known)
        await asyncio.sleep(1.0)
        assert len(explorer.curve.known) == known

    in_explorer(steps)
