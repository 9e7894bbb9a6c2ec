"""The explorer's live figure: GFLOPS, GB/s and occupancy by block, in plotly's FigureWidget."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from textwrap import wrap
from typing import Any

import plotly.graph_objects as go

from gpulab.notebook.explore_curve import Curve
from gpulab.notebook.explore_text import block_name, hover
from gpulab.problems.base import Block
from gpulab.profiling.point import Point
from gpulab.views.theme import LIGHT

__all__ = ["CLASS", "STYLE", "ExplorerFigure"]

CLASS = "gp-explorer"
_FONT = "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"
HOLLOW = "rgba(0,0,0,0)"
LINE = 0  # the first of the traces

# plotly writes its colours into the picture's elements; a rule that is `important` goes before those, so that
# the figure follows the page's theme, also when that is changed.
STYLE = "".join(
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
    """plotly tells a page what changes, and forgets it: a page that opens later would see the first state,
    and one whose script is still on its way would lose the change.
    """

    def keep(self) -> None:
        """Let pages that open from now on see what is drawn now."""
        self._widget_data = deepcopy(self._data)
        self._widget_layout = deepcopy(self._layout_obj._props)  # noqa: SLF001  (as plotly does it)


class ExplorerFigure:
    """`widget` is the FigureWidget; `show` puts a curve into it, in one message to the page."""

    def __init__(self) -> None:
        self.widget = _Figure(_traces(), _layout())

    def show(self, curve: Curve) -> None:
        """Draw this curve in the place of the last one."""
        figure, top, ratio = self.widget, 1.12 * curve.top, curve.gb_s_by_gflops
        with figure.batch_update():
            # Every trace gets each of these: one that is left out of a message would lose its own.
            for trace, (x, y, words) in zip(figure.data, _places(curve), strict=True):
                trace.x, trace.y, trace.customdata, trace.visible = x, y, words, bool(x)
            figure.data[LINE].name = "measured" if curve.measured else "modelled"
            figure.layout.xaxis.update(
                tickvals=list(range(len(curve.blocks))),
                ticktext=[block_name(block) for block in curve.blocks],
                range=[-0.5, len(curve.blocks) - 0.5],
            )
            figure.layout.yaxis.range = [0, top]
            figure.layout.yaxis2.range = [0, top * ratio]
        figure.keep()


_Places = tuple[list[int], list[float | None], list[str]]  # x, y, and what the pointer shows


def _places(curve: Curve) -> tuple[_Places, ...]:
    """For every trace, in their order."""
    at = {block: place for place, block in enumerate(curve.blocks)}

    def through(points: Mapping[Block, Point | None]) -> _Places:
        timed = [(at[block], point) for block, point in points.items() if point and point.timing]
        return (
            [x for x, _ in timed],
            [_short(point.kernel_gflops) for _, point in timed],
            [hover(point) for _, point in timed],
        )

    def some(checked: bool) -> _Places:
        return through({b: p for b, p in curve.points.items() if (b in curve.checked) == checked})

    failed = [(at[b], point) for b, point in curve.points.items() if point and point.timing is None]
    now = curve.now.kernel_gflops if curve.now else None
    filled = [(at[b], p.occupancy) for b, p in curve.points.items() if p and p.occupancy is not None]
    return (
        through(curve.points),
        through(curve.beside),
        (
            [at[one.block] for one in curve.printed],
            [one.gflops for one in curve.printed],
            ["<br>".join(wrap(one.words, 60)) for one in curve.printed],
        ),
        ([x for x, _ in failed], [0.0] * len(failed), [hover(point) for _, point in failed]),
        some(True),
        some(False),
        ([at[curve.setting.block]] if now else [], [_short(now and now * curve.gb_s_by_gflops)], [""]),
        ([x for x, _ in filled], [y for _, y in filled], [""] * len(filled)),
    )


def _traces() -> list[Any]:
    empty: dict[str, Any] = {"x": [], "y": [], "customdata": []}
    hovered = empty | {"hovertemplate": "%{customdata}<extra></extra>"}
    plain = {"color": LIGHT["plain"], "width": 2}
    return [
        go.Scatter(mode="lines", line=plain, name="modelled", hoverinfo="skip", **empty),
        go.Scatter(
            mode="lines+markers", line={"color": LIGHT["dim"], "width": 2, "dash": "dash"},
            marker={"size": 6}, name="the model beside it", **hovered,
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
            mode="markers", name="values checked", cliponaxis=False,
            marker={"size": 9, "color": LIGHT["plain"]}, **hovered,
        ),
        go.Scatter(
            mode="markers", name="values not checked yet", cliponaxis=False,
            marker={"size": 9, "color": HOLLOW, "line": _edge("plain")}, **hovered,
        ),
        go.Scatter(
            mode="markers", yaxis="y2", name="where the handles stand", hoverinfo="skip", cliponaxis=False,
            marker={"size": 20, "color": HOLLOW, "line": _edge("bad")}, **empty,
        ),
        go.Bar(
            yaxis="y3", name="occupancy", showlegend=False, marker={"color": LIGHT["plain"]},
            hovertemplate="occupancy %{y:.0%}<extra></extra>", **empty,
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
        "height": 380,
        "autosize": True,
        "margin": {"l": 64, "r": 64, "t": 34, "b": 48},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": _FONT, "size": 13, "color": LIGHT["ink"]},
        "hoverlabel": {"align": "left", "font": {"size": 13}},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "xanchor": "left", "yanchor": "bottom"},
        "showlegend": True,
        "dragmode": False,
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
    """Five digits: a saved notebook stays small."""
    return None if number is None else float(f"{number:.5g}")
