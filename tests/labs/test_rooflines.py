"""Each lab's roofline from the kernels of its notebook, written as PNG and SVG to build/rooflines/.

Nothing here needs a browser or a network. Three, six and twelve kernels: those of the ladder, then the same
ones with other blocks. Somebody should look at the pictures when the drawing changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations

import pytest

import gpulab
from gpulab.cell import parse_cell
from gpulab.notebook.roofline_figure import roofline_figure
from gpulab.problems import problem as problem_named
from gpulab.profiling.roofline import Roofline
from gpulab.profiling.roofline_points import Rung, roofline_of, roofs_of
from gpulab.verification.check import compile_cell
from gpulab.views.roofline.label_places import Box
from gpulab.views.roofline.roofline_layout import MARK, scene_of
from gpulab.views.roofline.roofline_static import matplotlib_figure
from gpulab.views.theme import LIGHT
from tests.labs.lab import REPOSITORY, Lab, kernel_cells, read

PICTURES = REPOSITORY / "build" / "rooflines"
LABS = {"stencil": Lab("01_stencil", "stencil"), "matmul": Lab("02_matmul", "matmul")}
GPUS = {"stencil": "gtx280", "matmul": "t10"}  # without caches, whose simulation takes most of the time
SHAPES = {"stencil": (256, 256, 256), "matmul": (1024, 1024, 1024)}
# Kernels that take other blocks too, so that there are twelve in all.
MORE = {
    "stencil": [("naive", "64 4"), ("naive", "16 16"), ("opt_1", "64 4"), ("opt_1", "16 16"),
                ("opt_2", "64 4"), ("opt_2", "16 16"), ("opt_3", "64 4"), ("opt_3", "16 16")],
    "matmul": [("K1", "128"), ("K2", "128"), ("K4", "64")],
}  # fmt: skip
CASES = [(lab, count) for lab in LABS for count in (3, 6, 12)]


def rungs(lab: str) -> Iterator[Rung]:
    """The kernels of the lab's notebook, in the order of the ladder, then with other blocks."""
    cells = kernel_cells(read(LABS[lab].notebook))
    # A grid of these GPUs has no z axis, so an opt_4 that splits z is left out.
    names = [variant for variant in problem_named(lab).variants if variant != "opt_4"]
    ladder = [(variant, "") for variant in names if f"{lab}.{variant}" in cells]
    for variant, block in [*ladder, *MORE[lab]]:
        text = cells[f"{lab}.{variant}"].source
        if block:
            text = re.sub(r"--block [\d ]+\d", f"--block {block}", text, count=1)
        cell = parse_cell(text)
        kernel = compile_cell(cell, gpulab.device("sim"), keep=False)
        assert cell.header.block is not None
        assert cell.header.tile is not None
        yield Rung(variant, kernel, cell.header.block, cell.header.tile)


@cache
def twelve(lab: str) -> Roofline:
    """All of a lab's points; what stands beside the ladder is called by its block too."""
    problem, device = problem_named(lab), gpulab.device("sim")
    found = roofline_of(problem, list(rungs(lab)), device=device, gpu=GPUS[lab], shape=SHAPES[lab])
    seen: set[str] = set()
    points = []
    for point in found.points:
        block = "x".join(str(extent) for extent in point.block if extent > 1)
        points.append(replace(point, variant=f"{point.variant} {block}") if point.variant in seen else point)
        seen.add(point.variant)
    return replace(found, points=tuple(points))


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}, {case[1]} points")
def roofline(request: pytest.FixtureRequest) -> Roofline:
    lab, count = request.param
    whole, order = twelve(lab), list(problem_named(lab).variants)
    points = sorted(whole.points[:count], key=lambda point: order.index(point.variant.split()[0]))
    assert len(points) == count
    return replace(whole, points=tuple(points))


def test_the_labels_of_a_labs_kernels_do_not_collide(roofline: Roofline) -> None:
    scene = scene_of(roofline)
    marks = [Box(mark.x, mark.y, 2 * MARK, 2 * MARK) for mark in scene.marks]
    assert [(a.text, b.text) for a, b in combinations(scene.labels, 2) if a.box.overlaps(b.box)] == []
    assert [label.text for label in scene.labels if any(label.box.overlaps(mark) for mark in marks)] == []
    assert {label.text for label in scene.labels if label.kind == "point"} == {
        point.variant for point in roofline.points
    }


def test_the_drawn_letters_do_not_collide_either(roofline: Roofline) -> None:
    """Matplotlib's own measure of the labels, where they are drawn."""
    scene = scene_of(roofline)
    figure = matplotlib_figure(scene, LIGHT)
    figure.canvas.draw()
    upright = {label.text for label in scene.labels if label.box.angle == 0}
    drawn = [(t.get_text(), t.get_window_extent()) for t in figure.axes[0].texts if t.get_text() in upright]
    assert len(drawn) >= len(upright)
    overlapping = [
        (a, b) for (a, one), (b, two) in combinations(drawn, 2) if one.shrunk(0.98, 0.6).overlaps(two)
    ]
    assert overlapping == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_each_picture_is_written(roofline: Roofline, theme: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    figure = roofline_figure(roofline, scene_of(roofline), theme)
    for kind in ("png", "svg"):
        file = figure.save(PICTURES / f"{roofline.problem}-{len(roofline.points)}-{theme}.{kind}", theme)
        assert 4_000 < file.stat().st_size < 300_000


def test_the_roofs_of_lab_0_are_written_too() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    roofs = roofs_of(device=gpulab.device("sim"))
    scene = scene_of(roofs)
    assert not any(a.box.overlaps(b.box) for a, b in combinations(scene.labels, 2))
    for kind in ("png", "svg"):
        assert (
            roofline_figure(roofs, scene).save(PICTURES / f"devicequery-roofs.{kind}").stat().st_size > 2_000
        )
