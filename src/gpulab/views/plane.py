"""The picture of a plane of the output: which points are right, and how the others are wrong.

As inline SVG (it needs no JavaScript, so it survives feedback pages and exports) and in characters.
A big plane is drawn with several points in one square; a square shows the worst of its points, so
that a single wrong one stays visible.
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
class _Look:
    """How one state of a point is shown: its colour, its letter, its mark in a unit square, its name."""

    colour: str
    letter: str
    mark: tuple[Stroke, ...]
    name: str


# In the order of `evidence.verdict.State`.
_LOOKS = (
    _Look("outside", " ", (), "not the kernel's to write"),
    _Look("right", ".", (), "right"),
    _Look("wrong", "X", ((0.25, 0.25, 0.75, 0.75), (0.75, 0.25, 0.25, 0.75)), "wrong"),
    _Look("unwritten", "?", ((0.3, 0.5, 0.7, 0.5),), "never written"),
    _Look(
        "stray",
        "!",
        ((0.25, 0.5, 0.75, 0.5), (0.5, 0.25, 0.5, 0.75)),
        "written, but not the kernel's to write",
    ),
)
# What a square shows when its points differ: the first of these that occurs in it.
_WORST_FIRST = (2, 4, 3, 1, 0)

_SQUARES = 96  # at most so many squares on an axis of the SVG
_COLUMNS, _ROWS = 80, 50  # … and so many characters
_SIDE = 520  # pixels that the longer side should take
_RECTANGLES = 200  # more than that of one state share one tooltip


def reduced(state: States, squares_x: int, squares_y: int) -> tuple[States, int, int]:
    """The plane with at most so many squares on each axis, and how many points a square is wide and high."""
    rows, columns = state.shape
    fx, fy = -(-columns // squares_x), -(-rows // squares_y)
    if fx == fy == 1:
        return state, 1, 1
    rank = np.zeros(len(_LOOKS), np.uint8)
    rank[list(_WORST_FIRST)] = range(len(_LOOKS))
    padded = np.full((-(-rows // fy) * fy, -(-columns // fx) * fx), len(_LOOKS) - 1, np.uint8)
    padded[:rows, :columns] = rank[state]
    worst = padded.reshape(padded.shape[0] // fy, fy, padded.shape[1] // fx, fx).min(axis=(1, 3))
    return np.asarray(_WORST_FIRST, np.uint8)[worst], fx, fy


def plane_view(plane: Plane) -> View:
    """The picture with its title and legend."""
    state = np.asarray(plane.state, np.uint8)
    counts = np.bincount(state.ravel(), minlength=len(_LOOKS))
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
    left, top = 50, 22
    parts = [f'<g transform="translate({left},{top})">']
    parts += [_painted(squares, value, side, plane, (fx, fy), state.shape) for value in range(len(_LOOKS))]
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
    """All squares of one state: a path, or a path with a tooltip for each rectangle of bad ones."""
    look = _LOOKS[value]
    rectangles = list(_rectangles(squares == value))
    if not rectangles:
        return ""
    paths = [f"M{x * side} {y * side}h{w * side}v{h * side}h{-w * side}z" for x, y, w, h in rectangles]
    start = f'class="gp-{look.colour}-fill" fill="{LIGHT[look.colour]}"'
    if value < 2 or len(rectangles) > _RECTANGLES:
        inner = f'<path {start} d="{"".join(paths)}"><title>{escape(look.name)}</title></path>'
    else:
        tips = [f"{escape(look.name)}: {_place(plane, box, points, shape)}" for box in rectangles]
        inner = "".join(
            f'<path d="{path}"><title>{tip}</title></path>' for path, tip in zip(paths, tips, strict=True)
        )
        inner = f"<g {start}>{inner}</g>"
    where = np.argwhere(squares == value)
    if look.mark and side >= 6 and len(where) <= 1200:
        d = "".join(_mark(look.mark, int(x), int(y), side) for y, x in where)
        stroke = f'class="gp-mark-line" stroke="{LIGHT["mark"]}"'
        inner += f'<path {stroke} fill="none" pointer-events="none" d="{d}"/>'
    return inner


def _rectangles(mask: npt.NDArray[np.bool_]) -> Iterator[Box]:
    """The mask as few rectangles: runs of a row that repeat below are one."""
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
    """The points of a rectangle in the plane's own indices: `x 0-31, y 8`."""
    words = []
    across = zip(plane.axes, box[:2], box[2:], points, shape[::-1], strict=True)
    for name, first, count, step, extent in across:
        low, high = first * step, min((first + count) * step, extent) - 1
        words.append(f"{name} {low}" if low == high else f"{name} {low}-{high}")
    return escape(", ".join(words))


def _mark(mark: tuple[Stroke, ...], x: int, y: int, side: int) -> str:
    """The mark's strokes, (x1, y1, x2, y2) in a unit square, moved to square (x, y); relative, so short."""
    out, at = "", None
    for a, b, c, d in mark:
        start = f"M{(x + a) * side:g} {(y + b) * side:g}"
        if at is not None:
            start = f"m{(a - at[0]) * side:g} {(b - at[1]) * side:g}"
        out += f"{start}l{(c - a) * side:g} {(d - b) * side:g}"
        at = c, d
    return out


def _block_edges(plane: Plane, shape: tuple[int, ...], px: float, py: float) -> str:
    """Lines between the blocks; none where blocks are too small to be told apart."""
    rows, columns = shape
    (bx, by), d = plane.pitch, ""
    if bx and bx * px >= 6:
        d += "".join(f"M{x * px:g} 0V{rows * py:g}" for x in range(bx, columns, bx))
    if by and by * py >= 6:
        d += "".join(f"M0 {y * py:g}H{columns * px:g}" for y in range(by, rows, by))
    d += f"M0 0H{columns * px:g}V{rows * py:g}H0z"
    return f'<path class="gp-edge-line" stroke="{LIGHT["edge"]}" stroke-width="1" fill="none" d="{d}"/>'


def _ticks(plane: Plane, shape: tuple[int, ...], px: float, py: float, left: int, top: int) -> str:
    """Axis names and the index at each block edge, as far as there is room."""
    out = [
        f'<text x="0" y="{top - 8}" font-size="11">{escape(plane.axes[1])}↓ {escape(plane.axes[0])}→</text>'
    ]
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
    for look, count in zip(_LOOKS, counts, strict=True):
        if count:
            colour = f'class="gp-{look.colour}-fill" fill="{LIGHT[look.colour]}"'
            swatch = (
                '<svg width="12" height="12" style="vertical-align:-1px">'
                f'<rect {colour} width="12" height="12"/>'
                f'<path class="gp-mark-line" fill="none" d="{_mark(look.mark, 0, 0, 12)}"/></svg>'
            )
            words = f"{escape(look.name)}: {count:,}"
            items.append(f'<span style="white-space:nowrap;margin-right:14px">{swatch} {words}</span>')
    bx, by = plane.pitch
    if bx or by:
        items.append(f"<span>lines: edges of the blocks, every {bx or '-'} x {by or '-'} points</span>")
    if fx * fy > 1:
        items.append(f"<span>a square is {fx} x {fy} points and shows the worst of them</span>")
    return f'<div class="gp-line gp-dim">{" ".join(items)}</div>'


# --- characters --------------------------------------------------------------------------------


def _characters(plane: Plane, state: States) -> str:
    squares, fx, fy = reduced(state, _COLUMNS, _ROWS)
    rows, columns = squares.shape
    letters = np.array([look.letter for look in _LOOKS])[squares]
    # Edges between blocks only where each character is one point: else they would lie inside one.
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
        lines.append(f"(a character is {fx} x {fy} points and shows the worst of them)")
    return "\n".join(lines)


def _legend_text(counts: npt.NDArray[np.intp]) -> str:
    return "\n".join(
        f"  {f'{look.letter}' if look.letter.strip() else 'blank'}  {look.name}: {count}"
        for look, count in zip(_LOOKS, counts, strict=True)
        if count
    )
