"""`gpulab.show_timeline`: the drawing of timelines and their table."""

from __future__ import annotations

import pytest

import gpulab
from gpulab.errors import UsageError
from gpulab.profiling.timeline import Timeline, TimelineSpan


def recorded(title: str, *spans: TimelineSpan) -> Timeline:
    times = Timeline(gpulab.device("sim"), title)
    times.spans = spans
    return times


COPY = TimelineSpan("copy to device", "4 bytes", 1, True, 0.0, 1.0)
KERNEL = TimelineSpan("kernel", "add", 1, False, 1.0, 3.0)
OTHER = TimelineSpan("copy to host", "4 bytes", 2, False, 2.0, 4.0)


def test_table_has_elapsed_time_sum_and_overlap() -> None:
    view = gpulab.show_timeline(recorded("two", COPY, KERNEL, OTHER))
    assert view.text.splitlines()[2].split() == ["two", "4.00", "5.00", "1.00"]


def test_drawing_has_a_row_for_each_stream_and_a_tooltip_for_each_operation() -> None:
    html = gpulab.show_timeline(recorded("two", COPY, KERNEL, OTHER)).html
    assert html.count(">stream 1<") == html.count(">stream 2<") == 1
    assert "copy to device: 4 bytes, page-locked; 0.00 to 1.00 ms" in html
    assert "copy to host: 4 bytes, pageable; 2.00 to 4.00 ms" in html
    assert "kernel: add; 1.00 to 3.00 ms" in html


def test_drawing_has_a_description_for_screen_readers() -> None:
    html = gpulab.show_timeline(recorded("two", COPY, OTHER)).html
    assert 'aria-label="two: 2 operations in 2 streams, 4.00 ms elapsed, 0.00 ms saved by overlap."' in html


def test_timeline_without_operations_has_a_table_only() -> None:
    view = gpulab.show_timeline(recorded("none"))
    assert "<svg" not in view.html
    assert "none" in view.text


def test_no_timeline_is_refused() -> None:
    with pytest.raises(UsageError, match="needs a timeline"):
        gpulab.show_timeline()


@pytest.mark.parametrize("end_ms", [0.003, 0.4, 7.0, 96.0, 1234.0])
def test_axis_has_five_to_fifteen_ticks(end_ms: float) -> None:
    html = gpulab.show_timeline(recorded("", TimelineSpan("kernel", "k", 0, False, 0.0, end_ms))).html
    assert 5 <= html.count('font-size="11" text-anchor="middle"') <= 15
