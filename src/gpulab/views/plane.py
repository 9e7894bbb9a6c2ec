"""A picture of one plane of the output: which points are correct, and what is wrong with the others.

It is drawn as inline SVG, which needs no JavaScript in feedback pages and exports, and in characters. A
square of a large plane represents several points and shows the worst of them, so that a single wrong point
is visible.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gpulab.views.html import View, escape
from gpulab.views.theme import LIGHT

if TYPE_CHECKING:
    from gpulab.verification.verdict import Plane

__all__ = ["plane_view", "reduced"]

States = npt.NDArray[np.uint8]
Stroke = tuple[float, float, float, float]
Box = tuple[int, int, int, int]  # x, y, width, height, in squares


@dataclass(frozen=True)
class _StateStyle:
    """The style of a point's state: colour, letter, strokes in a unit square, and name."""

    colour: str
    letter: str
    mark: tuple[Stroke, ...]
    name: str


# In the order of `gpulab.verification.verdict.State`.
_STYLES = (
    _StateStyle("outside", " ", (), "boundary (must stay untouched)"),
    _StateStyle("right", ".", (), "correct"),
    _StateStyle("wrong", "X", ((0.25, 0.25, 0.75, 0.75), (0.75, 0.25, 0.25, 0.75)), "wrong"),
    _StateStyle("unwritten", "?", ((0.3, 0.5, 0.7, 0.5),), "never written"),
    _StateStyle(
        "stray",
        "!",
        ((0.25, 0.5, 0.75, 0.5), (0.5, 0.25, 0.5, 0.75)),
        "boundary that was written",
    ),
    _StateStyle("outside", " ", (), ""),
)
# The state of a square is the first of these that one of its points has.
_WORST_FIRST = (2, 4, 3, 1, 0, 5)

_SQUARES = 96  # upper bound of the squares on an axis of the SVG
_COLUMNS, _ROWS = 80, 50  # upper bounds of the picture in characters
_SIDE = 520  # pixels; approximate length of the longer side
_RECTANGLES = 200  # if a state has more rectangles, they share one tooltip
_MARKS = 1200  # if a state has more marks, none is drawn
_SMALLEST_MARK = 6  # pixels; side of a square in which a mark can be recognized


def reduced(state: States, squares_x: int, squares_y: int) -> tuple[States, int, int]:
    """Return the states of at most so many squares, and the width and height of a square in points."""
    rows, columns = state.shape
    fx, fy = -(-columns // squares_x), -(-rows // squares_y)
    if fx == fy == 1:
        return state, 1, 1
    rank = np.zeros(len(_STYLES), np.uint8)
    rank[list(_WORST_FIRST)] = range(len(_STYLES))
    padded = np.full((-(-rows // fy) * fy, -(-columns // fx) * fx), len(_STYLES) - 1, np.uint8)
    padded[:rows, :columns] = rank[state]
    worst = padded.reshape(padded.shape[0] // fy, fy, padded.shape[1] // fx, fx).min(axis=(1, 3))
    return np.asarray(_WORST_FIRST, np.uint8)[worst], fx, fy


def plane_view(plane: Plane) -> View:
    """Return the picture with its title and legend."""
    state = np.asarray(plane.state, np.uint8)
    counts = np.bincount(state.ravel(), minlength=len(_STYLES))
    return View(
        f'<div class="gp-line"><b>{escape(plane.title)}</b></div>'
        + _svg(plane, state)
        + _legend(plane, state, counts),
        f"{plane.title}\n{_characters(plane, state)}\n{_legend_text(counts)}",
    )


# --- SVG ---------------------------------------------------------------------------------------


def _svg(plane: Plane, state: States) -> str:
    squares, fx, fy = reduced(state, _SQUARES, _SQUARES)
    rows, columns = squares.shape
    side = max(4, min(18, _SIDE // max(rows, columns)))
    width, height = columns * side, rows * side
    left, top = max(50, 7 * len(_axes_label(plane)) + 8), 22  # pixels; 7 for a character of the label

    parts = [f'<g transform="translate({left},{top})">']
    parts += [
        _painted(squares, value, side, plane, (fx, fy), state.shape)
        for value, style in enumerate(_STYLES)
        if style.name
    ]
    parts.append(_block_edges(plane, state.shape, side / fx, side / fy))
    parts.append("</g>")
    parts.append(_ticks(plane, state.shape, side / fx, side / fy, left, top))

    wide, high = left + width + 26, top + height + 4
    return (
        f'<svg class="gp-plane" role="img" xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" '
        f'viewBox="0 0 {wide} {high}" aria-label="{escape(plane.title)}">' + "".join(parts) + "</svg>"
    )


def _painted(
    squares: States, value: int, side: int, plane: Plane, points: tuple[int, int], shape: tuple[int, ...]
) -> str:
    """Draw all squares of one state: one path, or for errors one path with a tooltip for each rectangle."""
    style = _STYLES[value]
    rectangles = list(_rectangles(squares == value))
    if not rectangles:
        return ""
    paths = [f"M{x * side} {y * side}h{w * side}v{h * side}h{-w * side}z" for x, y, w, h in rectangles]
    start = f'class="gp-{style.colour}-fill" fill="{LIGHT[style.colour]}"'
    if value < 2 or len(rectangles) > _RECTANGLES:
        inner = f'<path {start} d="{"".join(paths)}"><title>{escape(style.name)}</title></path>'
    else:
        tips = [f"{escape(style.name)}: {_place(plane, box, points, shape)}" for box in rectangles]
        inner = "".join(
            f'<path d="{path}"><title>{tip}</title></path>' for path, tip in zip(paths, tips, strict=True)
        )
        inner = f"<g {start}>{inner}</g>"
    where = np.argwhere(squares == value)
    if style.mark and side >= _SMALLEST_MARK and len(where) <= _MARKS:
        d = "".join(_mark(style.mark, int(x), int(y), side) for y, x in where)
        stroke = f'class="gp-mark-line" stroke="{LIGHT["mark"]}"'
        inner += f'<path {stroke} fill="none" pointer-events="none" d="{d}"/>'
    return inner


def _rectangles(mask: npt.NDArray[np.bool_]) -> Iterator[Box]:
    """Cover a mask with rectangles: equal runs of consecutive rows form one rectangle."""
    open_runs: dict[tuple[int, int], int] = {}
    for y, row in enumerate(np.vstack([mask, np.zeros_like(mask[:1])])):
        steps = np.flatnonzero(np.diff(np.concatenate(([0], row.astype(np.int8), [0]))))
        runs = {(int(a), int(b)) for a, b in zip(steps[::2], steps[1::2], strict=True)}
        for run in [run for run in open_runs if run not in runs]:
            first = open_runs.pop(run)
            yield run[0], first, run[1] - run[0], y - first
        for run in runs:
            open_runs.setdefault(run, y)


def _place(plane: Plane, box: Box, points: tuple[int, int], shape: tuple[int, ...]) -> str:
    """Format the points of a rectangle in the plane's indices: `x 0-31, y 8`."""
    ranges = []
    across = zip(plane.axes, box[:2], box[2:], points, shape[::-1], strict=True)
    for name, first, count, step, extent in across:
        low, high = first * step, min((first + count) * step, extent) - 1
        ranges.append(f"{name} {low}" if low == high else f"{name} {low}-{high}")
    return escape(", ".join(ranges))


def _mark(mark: tuple[Stroke, ...], x: int, y: int, side: int) -> str:
    """Return the strokes (x1, y1, x2, y2) of a mark as a path in square (x, y).

    Relative coordinates keep the path short.
    """
    path, end = "", None
    for a, b, c, d in mark:
        start = f"M{(x + a) * side:g} {(y + b) * side:g}"
        if end is not None:
            start = f"m{(a - end[0]) * side:g} {(b - end[1]) * side:g}"
        path += f"{start}l{(c - a) * side:g} {(d - b) * side:g}"
        end = c, d
    return path


def _block_edges(plane: Plane, shape: tuple[int, ...], px: float, py: float) -> str:
    """Draw lines between the blocks, unless the blocks are too small to be distinguished."""
    rows, columns = shape
    (bx, by), d = plane.pitch, ""
    if bx and bx * px >= 6:
        d += "".join(f"M{x * px:g} 0V{rows * py:g}" for x in range(bx, columns, bx))
    if by and by * py >= 6:
        d += "".join(f"M0 {y * py:g}H{columns * px:g}" for y in range(by, rows, by))
    d += f"M0 0H{columns * px:g}V{rows * py:g}H0z"
    return f'<path class="gp-edge-line" stroke="{LIGHT["edge"]}" stroke-width="1" fill="none" d="{d}"/>'


def _axes_label(plane: Plane) -> str:
    return f"{plane.axes[1]}↓ {plane.axes[0]}→"


def _ticks(plane: Plane, shape: tuple[int, ...], px: float, py: float, left: int, top: int) -> str:
    """Write the names of the axes, and the index at block edges as far as there is room."""
    out = [f'<text x="0" y="{top - 8}" font-size="11">{escape(_axes_label(plane))}</text>']
    axes = ((shape[1], plane.pitch[0], px, True), (shape[0], plane.pitch[1], py, False))
    for extent, pitch, pixels, across in axes:
        room = 30 if across else 13
        step = pitch or extent
        step *= max(1, -(-room // max(1, int(step * pixels))))
        places = [i for i in range(0, extent, step) if (extent - 1 - i) * pixels >= room or i == 0]
        for i in [*places, extent - 1] if (extent - 1) * pixels >= room else places:
            at = (i + 0.5) * pixels
            x, y, anchor = (left + at, top - 8, "middle") if across else (left - 6, top + at + 4, "end")
            out.append(f'<text x="{x:g}" y="{y:g}" font-size="11" text-anchor="{anchor}">{i}</text>')
    return "".join(out)


def _legend(plane: Plane, state: States, counts: npt.NDArray[np.intp]) -> str:
    _, fx, fy = reduced(state, _SQUARES, _SQUARES)
    items = []
    for style, count in zip(_STYLES, counts, strict=True):
        if count and style.name:
            colour = f'class="gp-{style.colour}-fill" fill="{LIGHT[style.colour]}"'
            swatch = (
                '<svg width="12" height="12" style="vertical-align:-1px" aria-hidden="true">'
                f'<rect {colour} width="12" height="12"/>'
                f'<path class="gp-mark-line" fill="none" d="{_mark(style.mark, 0, 0, 12)}"/></svg>'
            )
            label = f"{escape(style.name)}: {count:,}"
            items.append(f'<span style="white-space:nowrap;margin-right:14px">{swatch} {label}</span>')
    bx, by = plane.pitch
    if bx or by:
        items.append(f"<span>Lines: edges of blocks of {bx or '-'} x {by or '-'} points.</span>")
    if fx * fy > 1:
        items.append(f"<span>Each square shows the worst of {fx} x {fy} points.</span>")
    return f'<div class="gp-line gp-dim">{" ".join(items)}</div>'


# --- characters --------------------------------------------------------------------------------


def _characters(plane: Plane, state: States) -> str:
    squares, fx, fy = reduced(state, _COLUMNS, _ROWS)
    rows, columns = squares.shape
    letters = np.array([style.letter for style in _STYLES])[squares]
    # Edges of blocks are drawn if each character is one point; otherwise they would fall inside characters.
    bx = plane.pitch[0] if fx == 1 and plane.pitch[0] >= 4 else 0
    by = plane.pitch[1] if fy == 1 and plane.pitch[1] >= 4 else 0

    def spaced(cells: list[str], pitch: int, edge: str) -> str:
        if not pitch:
            return "".join(cells)
        return edge.join("".join(cells[i : i + pitch]) for i in range(0, len(cells), pitch))

    frame = "+" + spaced(["-"] * columns, bx, "+") + "+"
    lines = [f"{plane.axes[0]} to the right, {plane.axes[1]} downwards", frame]
    for y in range(rows):
        if by and y and y % by == 0:
            lines.append(frame)
        lines.append("|" + spaced(list(letters[y]), bx, "|") + "|")
    lines.append(frame)
    if fx > 1 or fy > 1:
        lines.append(f"(each character shows the worst of {fx} x {fy} points)")
    return "\n".join(lines)


def _legend_text(counts: npt.NDArray[np.intp]) -> str:
    return "\n".join(
        f"  {f'{style.letter}' if style.letter.strip() else 'blank'}  {style.name}: {count:,}"
        for style, count in zip(_STYLES, counts, strict=True)
        if count and style.name
    )
