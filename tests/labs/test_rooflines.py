"""Rooflines of the labs' own kernels, written as PNG and SVG to build/rooflines/ for inspection.

Three, six and twelve points: the versions of a lab, then the same kernels with other blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations

import pytest

import gpulab
from gpulab.cell import parse_cell, require_kernel_cell
from gpulab.notebook.tables.roofline_figure import roofline_figure
from gpulab.problems import problem as problem_named
from gpulab.profiling.roofline import Roofline
from gpulab.profiling.roofline_points import KernelVersion, roofline_of
from gpulab.verification.check import compile_cell
from gpulab.views.roofline.roofline_layout import scene_of
from gpulab.views.roofline.roofline_static import matplotlib_figure
from tests.labs.lab import REPOSITORY, Lab, kernel_cells, read

PICTURES = REPOSITORY / "build" / "rooflines"
LABS = {"stencil": Lab("01_stencil", "stencil"), "matmul": Lab("02_matmul", "matmul")}
GPUS = {"stencil": "gtx280", "matmul": "t10"}  # GPUs without caches, whose simulation is slow
SHAPES = {"stencil": (256, 256, 256), "matmul": (1024, 1024, 1024)}
# Kernels with a second block, to make twelve points.
MORE = {
    "stencil": [("naive", "64 4"), ("naive", "16 16"), ("opt_1", "64 4"), ("opt_1", "16 16"),
                ("opt_2", "64 4"), ("opt_2", "16 16"), ("opt_3", "64 4"), ("opt_3", "16 16")],
    "matmul": [("K1", "128"), ("K2", "128"), ("K4", "64")],
}  # fmt: skip
CASES = [(lab, count) for lab in LABS for count in (3, 6, 12)]


def kernel_versions(lab: str) -> Iterator[KernelVersion]:
    """Yield the kernels of the lab's notebook in the order of their versions, then with other blocks."""
    cells = kernel_cells(read(LABS[lab].notebook))
    # A grid of these GPUs has no z axis, so an opt_4 that splits z cannot run.
    names = [variant for variant in problem_named(lab).variants if variant != "opt_4"]
    versions = [(variant, "") for variant in names if f"{lab}.{variant}" in cells]
    for variant, block in [*versions, *MORE[lab]]:
        text = cells[f"{lab}.{variant}"].source
        if block:
            text = re.sub(r"--block [\d ]+\d", f"--block {block}", text, count=1)
        cell = require_kernel_cell(parse_cell(text))
        yield KernelVersion(cell.config, compile_cell(cell, gpulab.device("sim")))


@cache
def all_points(lab: str) -> Roofline:
    """Return a roofline with twelve points of a lab; a second point of a variant is named with its block."""
    problem, device = problem_named(lab), gpulab.device("sim")
    roofline = roofline_of(
        problem, list(kernel_versions(lab)), device=device, gpu=GPUS[lab], shape=SHAPES[lab]
    )
    seen: set[str] = set()
    points = []
    for point in roofline.points:
        block = "x".join(str(extent) for extent in point.block if extent > 1)
        points.append(replace(point, variant=f"{point.variant} {block}") if point.variant in seen else point)
        seen.add(point.variant)
    return replace(roofline, points=tuple(points))


@pytest.mark.parametrize("extent", [256, 512])
def test_opt_4_does_not_move_fewer_bytes_than_any_kernel_must(extent: int) -> None:
    cell = require_kernel_cell(
        parse_cell(kernel_cells(read(LABS["stencil"].notebook))["stencil.opt_4"].source)
    )
    version = KernelVersion(cell.config, compile_cell(cell, gpulab.device("sim:h200")))
    problem, shape = problem_named("stencil"), (extent, extent, extent)
    roofline = roofline_of(problem, [version], device=gpulab.device("sim:h200"), shape=shape)
    (point,) = roofline.points
    assert point.nbytes >= problem.compulsory_bytes(shape)
    assert roofline.mistakes == ()
    assert 50 < roofline.percent(point) < 100


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}, {case[1]} points")
def roofline(request: pytest.FixtureRequest) -> Roofline:
    lab, count = request.param
    whole, order = all_points(lab), list(problem_named(lab).variants)
    points = sorted(whole.points[:count], key=lambda point: order.index(point.variant.split()[0]))
    assert len(points) == count
    return replace(whole, points=tuple(points))


def test_rendered_texts_do_not_overlap(roofline: Roofline) -> None:
    figure = matplotlib_figure(scene_of(roofline))
    figure.canvas.draw()
    extents = [(text.get_text(), text.get_window_extent()) for text in figure.axes[0].texts]
    assert {point.variant for point in roofline.points} <= {text for text, _ in extents}
    assert [(a, b) for (a, one), (b, two) in combinations(extents, 2) if one.overlaps(two)] == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_are_written(roofline: Roofline, theme: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    figure = roofline_figure(scene_of(roofline), theme)
    for kind in ("png", "svg"):
        file = figure.save(PICTURES / f"{roofline.problem}-{len(roofline.points)}-{theme}.{kind}", theme)
        assert 4_000 < file.stat().st_size < 300_000


def test_picture_of_the_ceilings_alone_is_written() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    figure = roofline_figure(scene_of(roofline_of(None, (), device=gpulab.device("sim"))))
    for kind in ("png", "svg"):
        assert figure.save(PICTURES / f"devicequery-ceilings.{kind}").stat().st_size > 2_000
