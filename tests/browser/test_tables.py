"""Tables fit next to JupyterLab's file browser on a screen that is 1280 pixels wide."""

from __future__ import annotations

from dataclasses import replace

import pytest

import gpulab
from gpulab.gpus.catalogue import gpu
from gpulab.problems import problem
from gpulab.profiling.benchmark import Benchmark
from gpulab.profiling.point import Point
from gpulab.profiling.speedup import SpeedupTable, baseline_timing
from gpulab.provenance import Provenance
from gpulab.views.object_views import profile_object_view
from gpulab.views.tables.point_view import points_view
from gpulab.views.tables.speedup_view import speedup_view
from tests.kernel_configs import config, run_in_session
from tests.notebook.tables.test_ladder_view import COPY

OUTPUT = 820  # pixels that JupyterLab leaves for the output of a cell


def speedups():
    baseline = baseline_timing(problem("stencil"), gpu("h200"))
    return speedup_view(SpeedupTable("stencil", baseline=baseline))


def ladder():
    run_in_session(COPY.format(variant="naive", tile=""))
    run_in_session(COPY.format(variant="opt_1", tile=""))
    return gpulab.ladder_table("stencil", gpus=("gtx280", "h200"), size=64)


def sweep():
    stencil = config("stencil.naive")
    time = Benchmark.from_samples([1234.5], Provenance("modelled", "NVIDIA H200"))
    points = [
        Point(
            replace(stencil, block=(threads, 8, 1)),
            (512, 512, 512),
            timing=time,
            copies=time,
            occupancy=1.0,
            bottleneck="instruction issue",
        )
        for threads in (32, 128)
    ]
    return points_view(points, frozenset({0}))


def profile():
    dev = gpulab.device("sim")
    kernel = dev.compile("__global__ void fill(float* x) { x[blockIdx.x * 128 + threadIdx.x] = 1; }")
    return profile_object_view(gpulab.profile(kernel, 1 << 13, 128, (dev.empty(1 << 20),)))


TABLES = {
    "speedups": speedups,
    "ladder": ladder,
    "catalogue": gpulab.catalogue_table,
    "published": lambda: gpulab.published_table("t10"),
    "memory": gpulab.memory_table,
    "measured": lambda: gpulab.measured_table("stencil.steps"),
    "ablation": lambda: gpulab.measured_table("stencil.ablation"),
    "sweep": sweep,
    "profile": profile,
}


@pytest.fixture(scope="module")
def page(browser_window):
    page = browser_window.new_page(viewport={"width": OUTPUT, "height": 600})
    yield page
    page.close()


@pytest.mark.parametrize("name", TABLES)
def test_table_fits(page, empty_session, monkeypatch, name):
    monkeypatch.setenv("GPULAB_DEVICE", "sim")
    page.set_content(f'<body style="margin:0">{TABLES[name]()._repr_html_()}</body>')
    widths = page.locator(".gp-scroll").evaluate_all("all => all.map(e => [e.scrollWidth, e.clientWidth])")
    assert widths
    assert all(needed <= given for needed, given in widths), widths


def test_word_that_is_longer_than_the_page_is_wrapped(page):
    view = gpulab.html.table(("students", "finding"), [("12", f'identifier "{"y" * 300}" is undefined')])
    page.set_content(f'<body style="margin:0">{view._repr_html_()}</body>')
    needed, given = page.locator(".gp-scroll").evaluate("e => [e.scrollWidth, e.clientWidth]")
    assert needed <= given
