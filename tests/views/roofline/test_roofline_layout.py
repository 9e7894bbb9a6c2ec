"""Layout of a roofline: nothing overlaps, and ceilings are drawn where they belong."""

from __future__ import annotations

from itertools import combinations
from math import hypot

import pytest

from gpulab.views.roofline.roofline_layout import BADGE_RADIUS, MARK_RADIUS, Scene, scene_of
from gpulab.views.roofline.roofline_static import matplotlib_figure
from tests.notebook.tables.roofline_cases import roofline_case

COUNTS = (3, 6, 12)


def crowded_scene(count: int, decades: float, measured: bool) -> Scene:
    key = "h200" if measured else "gtx280"
    return scene_of(roofline_case(count, decades, measured=measured, key=key), "512x512x512")


@pytest.mark.parametrize("measured", [True, False])
@pytest.mark.parametrize("decades", [0.0, 0.01, 0.8])
@pytest.mark.parametrize("count", COUNTS)
def test_numbers_overlap_neither_each_other_nor_the_points(
    count: int, decades: float, measured: bool
) -> None:
    scene = crowded_scene(count, decades, measured)
    badges = [(mark.badge_x, mark.y) for mark in scene.marks]
    assert [mark.number for mark in scene.marks] == list(range(1, count + 1))
    for (x, y), (u, v) in combinations(badges, 2):
        assert hypot(x - u, y - v) >= 2 * BADGE_RADIUS
    for x, y in badges:
        assert all(hypot(x - m.x, y - m.y) >= BADGE_RADIUS + MARK_RADIUS for m in scene.marks)
        assert scene.frame.contains(x, y)


@pytest.mark.parametrize("measured", [True, False])
@pytest.mark.parametrize("count", COUNTS)
def test_rendered_texts_do_not_overlap(count: int, measured: bool) -> None:
    scene = crowded_scene(count, 0.01, measured)
    figure = matplotlib_figure(scene)
    figure.canvas.draw()
    extents = [(text.get_text(), text.get_window_extent()) for text in figure.axes[0].texts]
    variants = {point.variant for point in scene.roofline.points}
    assert variants <= {text for text, _ in extents}
    assert [(a, b) for (a, one), (b, two) in combinations(extents, 2) if one.overlaps(two)] == []
    for text, extent in extents:
        assert extent.x0 >= 0, text
        assert extent.x1 <= figure.bbox.x1, text


@pytest.mark.parametrize("centre", [0.01, 1.0, 32.0, 683.0])
@pytest.mark.parametrize("measured", [True, False])
def test_flat_ceiling_starts_at_a_visible_slope(centre: float, measured: bool) -> None:
    scene = scene_of(roofline_case(3, 0.3, centre=centre, measured=measured))
    highest = max(line.ceiling.rate for line in scene.ceilings if line.ceiling.is_memory)
    flat = [line for line in scene.ceilings if not line.ceiling.is_memory]
    assert len(flat) == 1 + measured
    for line in flat:
        assert line.start >= 0.999 * line.ceiling.rate / highest


@pytest.mark.parametrize("centre", [1.0, 32.0, 683.0])
def test_dram_ceilings_end_at_their_ridge_points(centre: float) -> None:
    scene = scene_of(roofline_case(3, 0.01, centre=centre))
    slopes = [line for line in scene.ceilings if line.ceiling.level == "DRAM"]
    assert len(slopes) == 3
    for line in slopes:
        assert line.end == line.ridge


def test_every_point_lies_inside_the_plot() -> None:
    scene = scene_of(roofline_case(12, 2.0))
    assert all(scene.frame.contains(mark.x, mark.y) for mark in scene.marks)


def test_point_above_its_ceiling_is_flagged() -> None:
    scene = scene_of(roofline_case(3, above=1))
    assert [mark.above for mark in scene.marks] == [False, True, False]
    assert scene.mistakes
