"""A roofline as a plotly figure, with a still picture beside it for where plotly's script is not there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, floor, log10
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from gpulab.errors import UsageError
from gpulab.profiling.roofline import Roofline
from gpulab.views.html import View, disclosure, escape, stack
from gpulab.views.roofline.roofline_layout import (
    BELOW,
    LEFT,
    MARK,
    RIGHT,
    SMALL,
    TEXT,
    TITLE,
    TOP,
    Label,
    Scene,
)
from gpulab.views.roofline.roofline_static import png, svg
from gpulab.views.roofline.roofline_text import ceiling_words, figures_table, plain_text, point_words
from gpulab.views.svg import THEMES

__all__ = ["RooflineFigure", "roofline_figure"]

_MIME = "application/vnd.plotly.v1+json"
_FONT = "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"


@dataclass(frozen=True)
class Picture:
    """What a figure is made of, to draw it again by other means."""

    roofline: Roofline
    scene: Scene


class RooflineFigure(go.Figure):
    """A plain plotly figure that can be saved, and that shows as SVG where plotly cannot.

    A notebook keeps its data and an SVG, some tens of KB, and no script: JupyterLab has plotly's own, which
    its package brings along.
    """

    # plotly's own way to show itself would put all of its script into the notebook.
    _ipython_display_ = None

    def __init__(self, data: Any = None, *args: Any, picture: Picture | None = None, **more: Any) -> None:
        super().__init__(data, *args, **more)
        self._picture = picture

    @property
    def roofline(self) -> Roofline:
        """The values that are drawn."""
        return self._drawn().roofline

    def save(self, path: str | Path, theme: str = "light") -> Path:
        """Write the picture to a `.png` or `.svg` file, without a browser and without a network.

        theme: "light" or "dark".

        Raises `UsageError` for another kind of file or theme, and where the file cannot be written.
        """
        picture, target = self._drawn(), Path(path)
        check_theme(theme)
        kind = target.suffix.lower()
        if kind == ".png":
            content = png(picture.scene, theme)
        elif kind == ".svg":
            content = (svg(picture.scene, theme) + "\n").encode()
        else:
            raise UsageError(f"a roofline is saved as .png or .svg; not `{target.name}`.")
        try:
            target.write_bytes(content)
        except OSError as error:
            raise UsageError(f"`{target}` cannot be written: {error.strerror}.") from None
        return target

    @property
    def still(self) -> View:
        """The picture as SVG, with the figures that hovering shows in a table below it."""
        picture = self._drawn()
        drawing = f'<div class="gp-scroll">{svg(picture.scene)}</div>'
        drawn = View(drawing, plain_text(picture.roofline, picture.scene.title))
        if not picture.roofline.points:
            return drawn
        return stack(drawn, disclosure("The figures", figures_table(picture.roofline)))

    def _repr_mimebundle_(self, *_: Any, **__: Any) -> dict[str, Any]:
        data = json.loads(self.to_json())
        data["config"] = {"displaylogo": False}
        bundle = {_MIME: data, "text/plain": f"<{type(self).__name__}>"}
        if self._picture is not None:
            still = self.still
            bundle |= {"text/html": still._repr_html_(), "text/plain": still.text}
        return bundle

    def _repr_html_(self) -> str:
        html: str = self._repr_mimebundle_().get("text/html", "")
        return html

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_again, (self.to_dict(), self._picture)

    def _drawn(self) -> Picture:
        if self._picture is None:
            raise UsageError("this figure is not a roofline any more: call gpulab.roofline again.")
        return self._picture


def _made_again(data: dict[str, Any], picture: Picture | None) -> RooflineFigure:
    return RooflineFigure(data, picture=picture)


def check_theme(theme: str) -> None:
    """`UsageError` for a theme that there is not."""
    if theme not in THEMES:
        raise UsageError(f"theme is {' or '.join(map(repr, THEMES))}; not {theme!r}.")


def roofline_figure(roofline: Roofline, scene: Scene, theme: str = "light") -> RooflineFigure:
    """Draw a roofline whose labels are placed.

    theme: the figure paints its own paper, light or dark, since plotly does not know the page's theme.
    """
    check_theme(theme)
    colours = THEMES[theme]
    figure = RooflineFigure(
        [*_roofs(scene, colours), _ridges(scene, colours), _points(roofline, scene, colours)],
        picture=Picture(roofline, scene),
    )
    axis = {
        "type": "log", "gridcolor": colours["line"], "zeroline": False, "showline": False,
        "automargin": False, "tickfont": {"size": SMALL, "color": colours["dim"]}, "ticks": "",
    }  # fmt: skip
    x_title = {"text": scene.x_title, "font": {"size": TEXT}, "standoff": 14}
    y_title = {"text": scene.y_title, "font": {"size": TEXT}, "standoff": 8}
    figure.update_layout(
        template="none",
        width=scene.width,
        height=scene.height,
        margin={"l": LEFT, "r": RIGHT, "t": TOP, "b": scene.height - TOP - scene.plot.height, "pad": 0},
        paper_bgcolor=colours["paper"],
        plot_bgcolor=colours["paper"],
        font={"family": _FONT, "color": colours["ink"], "size": TEXT},
        title={
            "text": f"<b>{escape(scene.title)}</b>", "font": {"size": TITLE}, "x": LEFT / scene.width,
            "y": 1 - 22 / scene.height, "xanchor": "left", "yanchor": "middle",
        },
        xaxis=axis | {"range": scene.x_decades, "title": x_title, **_ticks(scene.x_decades)},
        yaxis=axis | {"range": scene.y_decades, "title": y_title, **_ticks(scene.y_decades)},
        showlegend=False,
        dragmode="pan",  # zooming would turn the roofs away from their labels
        hoverlabel={
            "align": "left", "bgcolor": colours["band"], "font": {"color": colours["ink"], "size": TEXT},
        },
        annotations=[
            *(_annotation(label, scene, colours) for label in scene.labels), *_captions(scene, colours),
        ],
    )  # fmt: skip
    return figure


def _roofs(scene: Scene, colours: dict[str, str]) -> Iterator[go.Scatter]:
    for roof in scene.roofs:
        x1, y1, x2, y2 = roof.line
        steps = [step / 12 for step in range(13)]  # the pointer finds a line where it has points
        places = [scene.at(x1 + step * (x2 - x1), y1 + step * (y2 - y1)) for step in steps]
        yield go.Scatter(
            x=[_short(x) for x, _ in places],
            y=[_short(y) for _, y in places],
            mode="lines",
            line={"color": colours[roof.colour], "width": 2, "dash": "solid" if roof.solid else "7px,5px"},
            name=str(roof.ceiling),
            hovertemplate="<br>".join(ceiling_words(roof.ceiling)) + "<extra></extra>",
        )


def _ridges(scene: Scene, colours: dict[str, str]) -> go.Scatter:
    places = [scene.at(x, y) for x, y, _ in scene.ridges]
    edges = [colours[colour] for _, _, colour in scene.ridges]
    return go.Scatter(
        x=[_short(x) for x, _ in places],
        y=[_short(y) for _, y in places],
        mode="markers",
        marker={"size": 7, "color": "rgba(0,0,0,0)", "line": {"width": 1.5, "color": edges}},
        name="ridge points",
        hovertemplate="ridge point: %{x:.3g} flop per byte<extra></extra>",
    )


def _points(roofline: Roofline, scene: Scene, colours: dict[str, str]) -> go.Scatter:
    marks = scene.marks
    return go.Scatter(
        x=[_short(mark.point.intensity) for mark in marks],
        y=[_short(mark.point.gflops) for mark in marks],
        mode="lines+markers",
        line={"color": colours["dim"], "width": 1.2},
        marker={
            "size": [4 * MARK if mark.above else 2 * MARK + 1 for mark in marks],
            "symbol": ["x" if mark.above else "circle" for mark in marks],
            "color": [colours["bad" if mark.above else "ink"] for mark in marks],
            "line": {"width": 1.2, "color": colours["paper"]},
            "opacity": 1,
        },
        name="variants",
        text=[mark.point.variant for mark in marks],
        customdata=["<br>".join(point_words(roofline, mark.point)) for mark in marks],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _annotation(label: Label, scene: Scene, colours: dict[str, str]) -> dict[str, Any]:
    """At its mark, so that it goes along when the plot is moved; its place is an offset in pixels."""
    x, y = scene.at(*label.anchor)
    right, down = label.box.x - label.anchor[0], label.box.y - label.anchor[1]
    words = escape(label.text)
    found = {
        "text": f"<b>{words}</b>" if label.kind == "point" else words,
        "x": _short(log10(x)), "y": _short(log10(y)), "xref": "x", "yref": "y",
        "textangle": round(label.box.angle, 2), "borderpad": 0,
        "font": {"size": label.size, "color": colours[label.colour]},
        "xanchor": "center", "yanchor": "middle",
    }  # fmt: skip
    if label.kind != "roof":
        found["bgcolor"] = colours["paper"]  # a line stops at the letters that stand on it
    if label.leader is None:
        return found | {"showarrow": False, "xshift": round(right, 1), "yshift": round(-down, 1)}
    arrow = {"showarrow": True, "arrowhead": 0, "arrowwidth": 0.8, "arrowcolor": colours["dim"]}
    return found | arrow | {"ax": round(right, 1), "ay": round(down, 1)}


def _captions(scene: Scene, colours: dict[str, str]) -> Iterator[dict[str, Any]]:
    down = BELOW
    for colour, lines in (("bad", scene.mistakes), ("dim", scene.caption)):
        if lines:
            yield {
                "text": "<br>".join(map(escape, lines)), "xref": "paper", "yref": "paper", "x": 0, "y": 0,
                "xshift": 14 - LEFT, "yshift": -down, "xanchor": "left", "yanchor": "top", "align": "left",
                "showarrow": False, "font": {"size": SMALL, "color": colours[colour]},
            }  # fmt: skip
            down += 16 * len(lines)


def _ticks(decades: tuple[float, float]) -> dict[str, Any]:
    """Ticks as the still picture has them, and some more on both sides for who moves the plot."""
    low, high = decades
    steps = (1, 2, 5) if high - low < 3 else (1,)
    values = [step * 10.0**d for d in range(floor(low) - 3, ceil(high) + 4) for step in steps]
    return {"tickmode": "array", "tickvals": values, "ticktext": [f"{value:,.10g}" for value in values]}


def _short(number: float) -> float:
    """Six digits: a saved notebook stays small."""
    return float(f"{number:.6g}")
