"""The explorer's interactive figure: GFLOPS, GB/s and occupancy by block, in plotly's FigureWidget."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from textwrap import wrap
from typing import Any

import plotly.graph_objects as go

from gpulab.notebook.plotly_theme import follow_theme
from gpulab.notebook.sliders.explore_curve import Curve
from gpulab.notebook.sliders.explore_text import tooltip
from gpulab.problems.base import Block
from gpulab.profiling.point import Point
from gpulab.views.svg import FONT
from gpulab.views.tables.number_format import block_name
from gpulab.views.theme import LIGHT

__all__ = ["CLASS", "SELECTED", "STYLE", "ExplorerFigure"]

CLASS = "gp-explorer"
HOLLOW = "rgba(0,0,0,0)"
CURVE, SELECTED = 0, 6  # indices of traces

# plotly writes its colours into the attributes of the elements. Rules that are `important` take precedence,
# so that the figure follows the theme of the page, also when the theme is changed.
STYLE = follow_theme(f".{CLASS}") + "".join(
    f".{CLASS} .js-plotly-plot {selector}{{{body}}}"
    for selector, body in {
        "text": "fill:var(--gp-ink)!important",
        ".hoverlayer .hovertext path": "fill:var(--gp-band)!important;stroke:var(--gp-line)!important",
        ":is(.xgrid,.ygrid,.y3grid,.xzl,.yzl,.y3zl)": "stroke:var(--gp-line)!important",
        ".modebar-container": "display:none",
        ".legend .bg": "fill:var(--gp-paper)!important",
    }.items()
)


class _Figure(go.FigureWidget):
    """A figure whose state follows its changes.

    plotly sends each change to the open pages, but does not store it: a page that opens later would show the
    initial state, and a page whose script is still loading would lose the change.
    """

    def store_state(self) -> None:
        """Store the present state for pages that open later."""
        self._widget_data = deepcopy(self._data)
        self._widget_layout = deepcopy(self._layout_obj._props)  # noqa: SLF001  (as plotly does it)


class ExplorerFigure:
    """The figure, as plotly's widget; `show` draws a curve with one message to the page."""

    def __init__(self) -> None:
        self.widget = _Figure(_traces(), _layout())

    def show(self, curve: Curve) -> None:
        """Draw a curve in place of the previous one."""
        figure, top, ratio = self.widget, 1.12 * curve.top_rate, curve.gb_s_per_rate
        with figure.batch_update():
            # Every trace gets all of these, because a trace that is missing in a message loses its values.
            for trace, (x, y, tooltips) in zip(figure.data, _coordinates(curve), strict=True):
                trace.x, trace.y, trace.customdata, trace.visible = x, y, tooltips, bool(x)
            figure.data[CURVE].name = curve.origin
            figure.layout.xaxis.update(
                tickvals=list(range(len(curve.blocks))),
                ticktext=[block_name(block) for block in curve.blocks],
                range=[-0.5, len(curve.blocks) - 0.5],
            )
            figure.layout.annotations[0].visible = not curve.timed
            figure.layout.yaxis.range = [0, top]
            figure.layout.yaxis.title.text = curve.unit
            figure.layout.yaxis2.update(range=[0, top * ratio], visible=curve.has_two_axes)
        figure.store_state()


_Coordinates = tuple[list[int], list[float | None], list[str]]  # x, y and tooltips


def _coordinates(curve: Curve) -> tuple[_Coordinates, ...]:
    """Return the points of every trace, in the order of `_traces`."""
    column = {block: number for number, block in enumerate(curve.blocks)}

    def timed(points: Mapping[Block, Point | None]) -> _Coordinates:
        found = [(column[block], point) for block, point in points.items() if point and point.timing]
        return (
            [x for x, _ in found],
            [_short(point.rate) for _, point in found],
            [tooltip(point) for _, point in found],
        )

    def with_values(*, checked: bool) -> _Coordinates:
        return timed({b: p for b, p in curve.points.items() if (b in curve.checked) == checked})

    failed = [(column[b], point) for b, point in curve.points.items() if point and point.timing is None]
    occupied = [(column[b], p.occupancy) for b, p in curve.points.items() if p and p.occupancy is not None]
    baselines = [curve.baseline] if curve.baseline else []
    rate = curve.selected.rate if curve.selected else None
    selected = [column[curve.candidate.block]] if rate else []
    return (
        timed(curve.points),
        timed(curve.modelled),
        (
            [column[figure.block] for figure in curve.published],
            [figure.rate for figure in curve.published],
            ["<br>".join(wrap(figure.source, 60)) for figure in curve.published],
        ),
        ([x for x, _ in failed], [0.0] * len(failed), [tooltip(point) for _, point in failed]),
        with_values(checked=True),
        with_values(checked=False),
        (selected, [_short(rate and rate * curve.gb_s_per_rate)], [""]),
        ([x for x, _ in occupied], [y for _, y in occupied], [""] * len(occupied)),
        (
            [column[figure.block] for figure in baselines],
            [_short(figure.rate) for figure in baselines],
            [figure.source for figure in baselines],
        ),
    )


def _traces() -> list[Any]:
    empty: dict[str, Any] = {"x": [], "y": [], "customdata": []}
    hovered = empty | {"hovertemplate": "%{customdata}<extra></extra>"}
    plain = {"color": LIGHT["plain"], "width": 2}
    return [
        go.Scatter(mode="lines", line=plain, name="modelled", hoverinfo="skip", **empty),
        go.Scatter(
            mode="lines+markers", line={"color": LIGHT["dim"], "width": 2, "dash": "dash"},
            marker={"size": 6}, name="modelled", **hovered,
        ),
        go.Scatter(
            mode="markers", name="published",
            marker={"size": 11, "symbol": "diamond", "color": HOLLOW, "line": _edge("hint")}, **hovered,
        ),
        go.Scatter(
            mode="markers", name="no time", cliponaxis=False,
            marker={"size": 10, "symbol": "x", "color": LIGHT["bad"]}, **hovered,
        ),
        go.Scatter(
            mode="markers", name="values verified", cliponaxis=False,
            marker={"size": 9, "color": LIGHT["plain"]}, **hovered,
        ),
        go.Scatter(
            mode="markers", name="values not verified yet", cliponaxis=False,
            marker={"size": 9, "color": HOLLOW, "line": _edge("plain")}, **hovered,
        ),
        go.Scatter(
            mode="markers", yaxis="y2", name="selected", hoverinfo="skip", cliponaxis=False,
            marker={"size": 20, "color": HOLLOW, "line": _edge("bad")}, **empty,
        ),
        go.Bar(
            yaxis="y3", name="occupancy", showlegend=False, marker={"color": LIGHT["plain"]},
            hovertemplate="occupancy %{y:.0%}<extra></extra>", **empty,
        ),
        go.Scatter(
            mode="markers", name="baseline (modelled)",
            marker={"size": 11, "symbol": "square", "color": HOLLOW, "line": _edge("hint")}, **hovered,
        ),
    ]  # fmt: skip


def _edge(colour: str) -> dict[str, Any]:
    return {"width": 2, "color": LIGHT[colour]}


def _layout() -> dict[str, Any]:
    axis = {
        "gridcolor": LIGHT["line"], "zeroline": False, "showline": False, "fixedrange": True,
        "tickfont": {"size": 12},
    }  # fmt: skip
    return {
        "template": "none",
        "height": 330,
        "autosize": True,
        "margin": {"l": 64, "r": 64, "t": 30, "b": 44},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": 13, "color": LIGHT["ink"]},
        "hoverlabel": {"align": "left", "font": {"size": 13}},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "xanchor": "left", "yanchor": "bottom"},
        "showlegend": True,
        "dragmode": False,
        "annotations": [{
            "text": "computing the first points …", "xref": "paper", "yref": "paper", "x": 0.5, "y": 0.65,
            "showarrow": False, "font": {"size": 15},
        }],
        "xaxis": axis | {
            "tickmode": "array", "tickvals": [], "ticktext": [], "range": [0, 1], "showgrid": False,
            "title": {"text": "threads of a block", "standoff": 6}, "anchor": "y3",
        },
        "yaxis": axis | {"title": {"text": "GFLOPS"}, "domain": [0.3, 1], "range": [0, 1], "nticks": 6},
        "yaxis2": axis | {
            "title": {"text": "GB/s"}, "overlaying": "y", "side": "right", "range": [0, 1],
            "showgrid": False, "nticks": 6, "tickmode": "auto",
        },
        "yaxis3": axis | {
            "title": {"text": "occupancy"}, "domain": [0, 0.2], "range": [0, 1], "tickformat": ".0%",
            "tickvals": [0, 0.5, 1],
        },
    }  # fmt: skip


def _short(number: float | None) -> float | None:
    """Round to five significant digits, so that a saved notebook stays small."""
    return None if number is None else float(f"{number:.5g}")
