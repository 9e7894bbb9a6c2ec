"""Boxes that overlap or do not, and labels that find a free place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulab.views.roofline.label_places import Box, first_free, label_place, text_size

FRAME = Box(200, 100, 400, 200)
lengths, places, angles = st.floats(1, 60), st.floats(0, 100), st.floats(-90, 90)
boxes = st.builds(Box, places, places, lengths, lengths, angles)


@given(one=boxes, two=boxes)
def test_overlap_is_the_same_from_both_sides(one: Box, two: Box) -> None:
    assert one.overlaps(two) == two.overlaps(one)


@given(box=boxes)
def test_a_box_overlaps_itself_and_not_one_far_away(box: Box) -> None:
    assert box.overlaps(box)
    assert not box.overlaps(Box(box.x + 200, box.y, box.width, box.height, box.angle))


def test_boxes_that_touch_do_not_overlap() -> None:
    assert not Box(0, 0, 10, 10).overlaps(Box(10, 0, 10, 10))
    assert Box(0, 0, 10, 10).overlaps(Box(9, 0, 10, 10))


def test_a_turned_box_passes_where_an_upright_one_would_not() -> None:
    slope = Box(50, 50, 100, 4, 45)
    assert not slope.overlaps(Box(80, 20, 10, 10))
    assert slope.overlaps(Box(80, 80, 10, 10))


@pytest.mark.parametrize(
    ("segment", "pixels"),
    [((-20, 0, 20, 0), 10), ((-20, 9, 20, 9), 0), ((0, 0, 20, 0), 5), ((0, 3, 0, -3), 4), ((1, 1, 2, 1), 1)],
)
def test_how_much_of_a_segment_runs_through_a_box(
    segment: tuple[float, float, float, float], pixels: float
) -> None:
    assert Box(0, 0, 10, 4).crossed_by(segment) == pytest.approx(pixels)


def test_the_first_free_candidate_is_inside_and_overlaps_nothing() -> None:
    taken = [Box(50, 50, 20, 20)]
    outside, covered, free = Box(395, 50, 20, 10), Box(55, 50, 20, 10), Box(90, 50, 20, 10)
    assert first_free([outside, covered, free], taken, FRAME) == free
    assert first_free([outside, covered], taken, FRAME) is None


def test_a_label_stands_to_the_right_of_its_mark_when_nothing_is_in_its_way() -> None:
    box = label_place((100, 100), (30, 12), taken=[], lines=[], leaders=[], frame=FRAME, gap=8)
    assert box == Box(100 + 8 + 15, 100, 30, 12)


def test_at_the_right_edge_it_stands_elsewhere() -> None:
    box = label_place((395, 100), (30, 12), taken=[], lines=[], leaders=[], frame=FRAME, gap=8)
    assert box is not None
    assert box.inside(FRAME)


def test_in_a_full_frame_there_is_no_place() -> None:
    assert label_place((9, 9), (30, 12), taken=[FRAME], lines=[], leaders=[], frame=FRAME, gap=8) is None


@given(count=st.integers(1, 12), seed=st.randoms(use_true_random=False))
def test_labels_of_marks_in_a_heap_never_overlap(count: int, seed: object) -> None:
    marks = [(200 + seed.random() * 6, 100 + seed.random() * 6) for _ in range(count)]  # type: ignore[attr-defined]
    taken = [Box(x, y, 10, 10) for x, y in marks]
    found: list[Box] = []
    for mark in marks:
        box = label_place(mark, (40, 14), taken=taken, lines=[], leaders=[], frame=FRAME, gap=8)
        assert box is not None
        assert box.inside(FRAME)
        assert not any(box.overlaps(other) for other in found)
        found.append(box)
        taken.append(box)


@pytest.mark.parametrize("weight", ["normal", "bold"])
@pytest.mark.parametrize(
    "text",
    ["opt_4: above its roof", "DRAM triad 4,228, copy 4,130 GB/s, measured", "K34", "ridge 13.6", "WMQ%@"],
)
def test_a_text_has_the_room_that_it_needs_in_the_type_of_the_png(text: str, weight: str) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(dpi=100)
    renderer = FigureCanvasAgg(figure).get_renderer()
    drawn = figure.text(0, 0, text, fontsize=0.72 * 12, fontweight=weight).get_window_extent(renderer)
    width, height = text_size(text, 12, bold=weight == "bold")
    assert drawn.width <= width
    assert drawn.height <= 1.35 * height
