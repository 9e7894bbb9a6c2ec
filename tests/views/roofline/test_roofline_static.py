"""A roofline as SVG and PNG."""

from __future__ import annotations

import struct
import xml.etree.ElementTree as ET
from typing import Literal

import pytest

from gpulab.views.roofline.roofline_layout import WIDTH, scene_of
from gpulab.views.roofline.roofline_static import png, svg
from gpulab.views.theme import DARK, LIGHT
from tests.notebook.tables.roofline_cases import roofline_case

Theme = Literal["light", "dark"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_png_has_two_dots_per_pixel_of_the_scene(theme: Theme) -> None:
    scene = scene_of(roofline_case(3))
    content = png(scene, theme)
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", content[16:24]) == (2 * WIDTH, 2 * scene.height)


@pytest.mark.parametrize(("theme", "colours"), [("light", LIGHT), ("dark", DARK)])
def test_svg_file_paints_its_own_background(theme: Theme, colours: dict[str, str]) -> None:
    root = ET.fromstring(svg(scene_of(roofline_case(3)), theme))
    assert next(iter(root)).get("fill") == colours["paper"]


def test_svg_without_a_theme_follows_the_page() -> None:
    assert "var(--gp-ink," in svg(scene_of(roofline_case(3)))


def test_published_ceilings_are_dashed_and_measured_ones_solid() -> None:
    scene = scene_of(roofline_case(3))
    root = ET.fromstring(svg(scene, "light"))
    dashed = [path for path in root if path.get("stroke-dasharray")]
    published = [line for line in scene.ceilings if not line.ceiling.measured]
    assert len(dashed) == 2 * len(published)  # one line in the plot, one in the legend


def test_legend_names_every_ceiling_and_every_kernel() -> None:
    scene = scene_of(roofline_case(6))
    texts = {element.text for element in ET.fromstring(svg(scene, "light"))}
    assert {str(line.ceiling) for line in scene.ceilings} <= texts
    assert {point.variant for point in scene.roofline.points} <= texts


def test_point_above_its_ceiling_is_drawn_in_another_colour_and_shape() -> None:
    normal, wrong = (svg(scene_of(roofline_case(3, above=above)), "light") for above in (-1, 1))
    assert LIGHT["bad"] not in normal
    assert LIGHT["bad"] in wrong
