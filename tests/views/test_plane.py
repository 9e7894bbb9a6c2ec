"""The picture of a plane in SVG and in characters."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulab.verification.verdict import Plane, State
from gpulab.views.plane import plane_view, reduced


def plane(state, pitch=(32, 8)):
    return Plane("9x7x3, z = 1", ("x", "y"), np.asarray(state, np.uint8), pitch)


def correct_plane(rows, columns):
    state = np.full((rows, columns), State.RIGHT, np.uint8)
    state[[0, -1], :] = state[:, [0, -1]] = State.UNTOUCHED
    return state


def svg_of(view):
    return ET.fromstring(view.html[view.html.index("<svg") : view.html.index("</svg>") + len("</svg>")])


def titles(view):
    return [element.text for element in svg_of(view).iter() if element.tag.endswith("title")]


def test_svg_is_well_formed_and_labelled():
    svg = svg_of(plane_view(plane(correct_plane(47, 65))))
    assert svg.get("role") == "img"
    assert svg.get("aria-label") == "9x7x3, z = 1"


@pytest.mark.parametrize(
    ("state", "letter", "colour"),
    [
        (State.WRONG, "X", "wrong"),
        (State.NEVER_WRITTEN, "?", "unwritten"),
        (State.FORBIDDEN, "!", "stray"),
    ],
)
def test_each_state_has_its_letter_and_colour(state, letter, colour):
    picture = correct_plane(20, 30)
    picture[5, 7] = state
    view = plane_view(plane(picture))
    assert letter in view.text.split("\n", 2)[2].split("+\n  ")[0]
    assert f"gp-{colour}-fill" in view.html


def test_long_names_of_axes_end_before_the_first_index():
    state = np.full((2, 64), State.WRONG, np.uint8)
    view = plane_view(Plane("128: 128 points wrong", ("x mod 64", "x / 64"), state, (0, 0)))
    label, first, *_ = (element for element in svg_of(view).iter() if element.tag.endswith("text"))
    assert first.text == "0"
    assert float(label.get("x")) + 6.5 * len(label.text) < float(first.get("x"))  # 6.5: pixels of a character


def test_tooltip_has_the_indices_of_wrong_points():
    picture = correct_plane(20, 30)
    picture[5:7, 7:10] = State.WRONG
    assert "wrong: x 7-9, y 5-6" in titles(plane_view(plane(picture)))


def test_block_edges_are_at_multiples_of_the_pitch():
    text = plane_view(plane(correct_plane(20, 40), pitch=(16, 8))).text
    frames = [line for line in text.splitlines() if line.startswith("+")]
    assert len(frames) == 2 + 2
    assert frames[0] == "+" + "-" * 16 + "+" + "-" * 16 + "+" + "-" * 8 + "+"


def test_legend_counts_points_not_squares():
    picture = correct_plane(300, 1000)
    picture[100:110, 500:510] = State.WRONG
    view = plane_view(plane(picture))
    assert "wrong: 100" in view.text
    assert "wrong: 100" in view.html


def test_legend_separates_thousands():
    view = plane_view(plane(np.full((40, 50), State.WRONG)))
    assert "wrong: 2,000" in view.text
    assert "wrong: 2,000" in view.html


@given(rows=st.integers(1, 700), columns=st.integers(1, 700), data=st.data())
def test_single_wrong_point_is_visible_at_any_size(rows, columns, data):
    picture = np.full((rows, columns), State.RIGHT, np.uint8)
    row, column = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, columns - 1))
    picture[row, column] = State.WRONG
    squares, wide, high = reduced(picture, 96, 96)
    assert max(squares.shape) <= 96
    assert squares[row // high, column // wide] == State.WRONG
    assert np.count_nonzero(squares == State.WRONG) == 1


def test_small_plane_is_not_reduced():
    picture = correct_plane(47, 65)
    assert reduced(picture, 96, 96)[0] is picture


def test_picture_of_a_large_plane_is_small():
    picture = np.random.default_rng(1).integers(0, 5, (2000, 3000)).astype(np.uint8)
    assert len(plane_view(plane(picture)).html) < 300_000


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (40, 1), (3, 2049)])
def test_thin_planes_are_drawn(shape):
    assert "<svg" in plane_view(plane(np.full(shape, State.WRONG))).html
