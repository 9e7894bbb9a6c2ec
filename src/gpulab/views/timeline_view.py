"""`gpulab.show_timeline`: when copies and kernels ran, drawn with one row for each stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gpulab.errors import UsageError
from gpulab.views.html import View
from gpulab.views.svg import SvgPen
from gpulab.views.tables.builder import Column, table_view
from gpulab.views.tables.number_format import milliseconds

if TYPE_CHECKING:
    from gpulab.profiling.timeline import Timeline, TimelineSpan

__all__ = ["show_timeline"]

# All lengths are in pixels.
_WIDTH, _LEFT = 900, 110  # width of the drawing; left edge of the bars, which follows the names of the rows
_ROW, _BAR = 28, 20  # height of a row, and of its bars
_TITLE = 24  # height of a timeline's title
_LETTER = 6.2  # estimated width of a character at the size of a bar's text

# Kind of operation: fill, edge and short text of its bars. The fills differ in lightness too.
_STYLES = {
    "copy to device": ("requested", "plain", "in"),
    "kernel": ("heat-3", "edge", "kernel"),
    "copy to host": ("paper", "plain", "out"),
}
_COLUMNS = (
    Column("program", "title"),
    Column("elapsed (ms)", "elapsed_ms", milliseconds, "provenance"),
    Column("sum of all operations (ms)", "busy_ms", milliseconds, "provenance"),
    Column("saved by overlap (ms)", "overlap_ms", milliseconds, "provenance"),
)


def show_timeline(*timelines: Timeline) -> View:
    """Draw timelines below each other on one axis of time, with a table of their times.

    Parameters
    ----------
    *timelines : Timeline
        Recordings that `gpulab.timeline` made.

    Returns
    -------
    View
        A drawing with one row for each stream, and a table in milliseconds.

    Raises
    ------
    UsageError
        If no timeline is given.

    Examples
    --------
    >>> import gpulab
    >>> dev = gpulab.device("sim:h200")
    >>> with gpulab.timeline(dev, "one copy") as times:
    ...     x = dev.asarray(dev.pinned_empty(1 << 20))
    >>> for line in gpulab.show_timeline(times).text.splitlines()[:3]:
    ...     print(line[:30])
    program   elapsed (ms)  sum of
    --------  ------------  ------
    one copy        0.0887
    """
    if not timelines:
        raise UsageError("show_timeline needs a timeline: `with gpulab.timeline(dev) as times: ...`.")
    sources = dict.fromkeys(str(each.provenance) for each in timelines)
    table = table_view(_COLUMNS, timelines, f"Times: {'; '.join(sources)}.")
    if not any(each.spans for each in timelines):
        return table
    return View(f'<div class="gp-scroll">{_drawing(timelines)}</div>{table.html}', table.text)


def _drawing(timelines: Sequence[Timeline]) -> str:
    pen = SvgPen()
    end_ms = max(span.stop_ms for each in timelines for span in each.spans)
    scale = (_WIDTH - _LEFT - 20) / end_ms
    y = _legend(pen)
    for each in timelines:
        y = _rows(pen, each, y, scale)
    _axis(pen, y, end_ms, scale)
    return pen.element(_WIDTH, y + 24, " ".join(_description(timelines)), narrowest=640)


def _legend(pen: SvgPen) -> float:
    """Draw the legend; return the y below it."""
    x = float(_LEFT)
    for kind, (fill, edge, text) in _STYLES.items():
        pen.path(_bar(x, 4, 34, 16), fill=fill, edge=edge, width=1)
        pen.text(text, x + 17, 15.5, _ink(kind), 10, "middle")
        pen.text(kind, x + 40, 16.5)
        x += 160
    return 28


def _rows(pen: SvgPen, timeline: Timeline, y: float, scale: float) -> float:
    """Draw the title and the streams of a timeline; return the y below them."""
    if timeline.title:
        pen.text(timeline.title, 0, y + 16, bold=True)
        y += _TITLE
    for stream in sorted({span.stream for span in timeline.spans}):
        pen.line(_LEFT, y + _ROW, _WIDTH - 20, y + _ROW, "line")
        pen.text(_stream_name(stream), 0, y + 18, "dim")
        for span in timeline.spans:
            if span.stream == stream:
                _draw(pen, span, y + (_ROW - _BAR) / 2, scale)
        y += _ROW
    return y + 6


def _draw(pen: SvgPen, span: TimelineSpan, y: float, scale: float) -> None:
    x, width = _LEFT + span.start_ms * scale, max(span.duration_ms * scale, 1.5)
    fill, edge, text = _STYLES[span.kind]
    memory = "" if span.kind == "kernel" else ", page-locked" if span.pinned else ", pageable"
    interval = f"{milliseconds(span.start_ms)} to {milliseconds(span.stop_ms)} ms"
    title = f"{span.kind}: {span.label}{memory}; {interval}"
    pen.path(_bar(x, y, width, _BAR), fill=fill, edge=edge, width=1, title=title)
    if width > _LETTER * len(text):
        pen.text(text, x + width / 2, y + 14, _ink(span.kind), 10, "middle")


def _axis(pen: SvgPen, y: float, end_ms: float, scale: float) -> None:
    """Write the times below the rows, in steps of 1, 2 or 5 of a power of ten."""
    step = 10.0 ** len(str(int(end_ms)))
    while end_ms / step < 5:
        step /= 2 if f"{step:e}"[0] != "5" else 2.5
    for number in range(int(end_ms / step) + 1):
        x = _LEFT + number * step * scale
        pen.line(x, y - 6, x, y - 1, "dim")
        pen.text(f"{number * step:g}", x, y + 12, "dim", 11, "middle")
    pen.text("time (ms)", 0, y + 12, "dim", 11)


def _description(timelines: Sequence[Timeline]) -> Iterator[str]:
    """Describe the timelines for screen readers."""
    for each in timelines:
        streams = len({span.stream for span in each.spans})
        yield (
            f"{each.title or 'Timeline'}: {len(each.spans)} operations in {streams} streams, "
            f"{milliseconds(each.elapsed_ms)} ms elapsed, "
            f"{milliseconds(each.overlap_ms)} ms saved by overlap."
        )


def _stream_name(number: int) -> str:
    return f"stream {number}" if number else "without stream"


def _ink(kind: str) -> str:
    return "heat-3-ink" if kind == "kernel" else "ink"


def _bar(x: float, y: float, width: float, height: float) -> str:
    return f"M{x:.1f} {y:.1f}h{width:.1f}v{height:g}h{-width:.1f}z"
