"""A roofline as a plotly figure, with a static picture for front ends without plotly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import log10
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from IPython.display import display

from gpulab.errors import UsageError
from gpulab.notebook.plotly_theme import follow_theme
from gpulab.profiling.roofline import Roofline
from gpulab.views.html import View, disclosure, escape, stack
from gpulab.views.roofline.roofline_layout import (
    AXIS_HEIGHT,
    LEFT,
    MARK_RADIUS,
    RIGHT,
    SMALL,
    TEXT,
    TITLE,
    TOP,
    WIDTH,
    CeilingLine,
    PointMark,
    Scene,
    ticks,
)
from gpulab.views.roofline.roofline_static import MARGIN, png, svg
from gpulab.views.roofline.roofline_text import ceiling_tooltip, figures_view, plain_text, point_tooltip
from gpulab.views.svg import FONT, THEMES

__all__ = ["RooflineFigure", "check_theme", "roofline_figure"]

_MIME = "application/vnd.plotly.v1+json"
_CLASS = "gp-roofline"
_STYLE = follow_theme(f".jp-OutputArea:has(.{_CLASS})")
LEGEND_ROW = 19  # pixels of a row of plotly's legend at this font size
CAPTION_ROW = 15
HOVER_POINTS = 13  # points of a ceiling, because plotly shows tooltips only near points of a line


class RooflineFigure(go.Figure):
    """A plotly figure that can be saved to a file, and that is shown as SVG where plotly is missing.

    A notebook stores its data and an SVG, some tens of kilobytes, and no script: JupyterLab loads plotly's
    script from the installed package.
    """

    def __init__(self, data: Any = None, *args: Any, scene: Scene | None = None, **kwargs: Any) -> None:
        super().__init__(data, *args, **kwargs)
        self._scene = scene

    @property
    def roofline(self) -> Roofline:
        """The figure's values."""
        return self._laid_out().roofline

    def save(self, path: str | Path, theme: str = "light") -> Path:
        """Write the picture to a file, without a browser or a network.

        Parameters
        ----------
        path : str or Path
            A file that ends in `.png` or `.svg`.
        theme : {"light", "dark"}
            Colours of the picture.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        UsageError
            If the suffix or the theme is another, or the file cannot be written.

        Examples
        --------
        >>> import gpulab
        >>> figure = gpulab.roofline(None, gpu="gtx280")
        >>> figure.save("/tmp/gtx280.svg").name
        'gtx280.svg'
        """
        scene, target = self._laid_out(), Path(path)
        check_theme(theme)
        suffix = target.suffix.lower()
        if suffix not in (".png", ".svg"):
            raise UsageError(f"a roofline is saved as .png or .svg, not as `{target.name}`.")
        content = png(scene, theme) if suffix == ".png" else (svg(scene, theme) + "\n").encode()
        try:
            target.write_bytes(content)
        except OSError as error:
            raise UsageError(f"`{target}` cannot be written: {error.strerror}.") from None
        return target

    @property
    def still(self) -> View:
        """The picture as SVG, and a table of the figures that plotly shows in tooltips."""
        scene = self._laid_out()
        picture = View(f'<div class="gp-scroll">{svg(scene)}</div>', plain_text(scene.roofline, scene.title))
        if not scene.marks:
            return picture
        return stack(picture, disclosure("The figures", figures_view(scene.roofline)))

    def _ipython_display_(self) -> None:
        """Display the figure, after a style sheet with which it follows the theme of JupyterLab.

        plotly's own display hook would store all of its script in the notebook.
        """
        display({"text/html": f'<style class="{_CLASS}">{_STYLE}</style>', "text/plain": ""}, raw=True)
        display(self._repr_mimebundle_(), raw=True)

    def _repr_mimebundle_(self, *_: Any, **__: Any) -> dict[str, Any]:
        data = json.loads(self.to_json())
        data["config"] = {"displayModeBar": False}  # it would cover the title
        bundle = {_MIME: data, "text/plain": f"<{type(self).__name__}>"}
        if self._scene is not None:
            still = self.still
            bundle |= {"text/html": still._repr_html_(), "text/plain": still.text}
        return bundle

    def _repr_html_(self) -> str:
        html: str = self._repr_mimebundle_().get("text/html", "")
        return html

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.to_dict(), self._scene)

    def _laid_out(self) -> Scene:
        if self._scene is None:
            raise UsageError("this figure was not made by gpulab.roofline, so it cannot be drawn again.")
        return self._scene


def _restored(data: dict[str, Any], scene: Scene | None) -> RooflineFigure:
    return RooflineFigure(data, scene=scene)


def check_theme(theme: str) -> None:
    """Raise `UsageError` unless `theme` is "light" or "dark"."""
    if theme not in THEMES:
        raise UsageError(f"theme must be {' or '.join(map(repr, THEMES))}, not {theme!r}.")


def roofline_figure(scene: Scene, theme: str = "light") -> RooflineFigure:
    """Return a roofline as a plotly figure.

    theme: "light" or "dark", the colours of the figure's own background; otherwise `UsageError`.
    """
    check_theme(theme)
    colours = THEMES[theme]

    figure = RooflineFigure(
        [
            *(_ceiling(line, colours) for line in scene.ceilings),
            _ridges(scene, colours),
            _connection(scene, colours),
            *(_point(mark, scene.roofline, colours) for mark in scene.marks),
        ],
        scene=scene,
    )

    below = AXIS_HEIGHT + LEGEND_ROW * (scene.legend_rows + 2) + 10
    height = scene.frame.bottom + below + CAPTION_ROW * (len(scene.mistakes) + len(scene.caption)) + 14
    axis = {
        "type": "log", "gridcolor": colours["line"], "zeroline": False, "showline": False,
        "automargin": False, "tickfont": {"size": SMALL, "color": colours["dim"]}, "ticks": "",
    }  # fmt: skip

    figure.update_layout(
        template="none",
        width=WIDTH,
        height=height,
        margin={"l": LEFT, "r": RIGHT, "t": TOP, "b": height - scene.frame.bottom, "pad": 0},
        paper_bgcolor=colours["paper"],
        plot_bgcolor=colours["paper"],
        font={"family": FONT, "color": colours["ink"], "size": TEXT},
        title={
            "text": f"<b>{escape(scene.title)}</b>", "font": {"size": TITLE}, "x": LEFT / WIDTH,
            "y": 1 - 22 / height, "xanchor": "left", "yanchor": "middle",
        },
        xaxis=axis | _axis(scene.frame.x_decades, scene.x_title, 14),
        yaxis=axis | _axis(scene.frame.y_decades, scene.y_title, 8),
        legend={
            "orientation": "h", "xref": "container", "x": MARGIN / WIDTH, "yref": "container",
            "y": (height - scene.frame.bottom - AXIS_HEIGHT) / height, "xanchor": "left", "yanchor": "top",
            "font": {"size": SMALL}, "bgcolor": colours["paper"], "tracegroupgap": 0,
        },
        hoverlabel={
            "align": "left", "bgcolor": colours["band"], "font": {"color": colours["ink"], "size": TEXT},
        },
        annotations=[
            *(_number(mark, colours) for mark in scene.marks),
            *_captions(scene, colours, below),
        ],
    )  # fmt: skip
    return figure


def _ceiling(line: CeilingLine, colours: dict[str, str]) -> go.Scatter:
    step = (line.end / line.start) ** (1 / (HOVER_POINTS - 1))
    intensities = [line.start * step**number for number in range(HOVER_POINTS)]
    ridge = "" if line.ridge is None else f", ridge {line.ridge:.3g}"
    return go.Scatter(
        x=[_short(intensity) for intensity in intensities],
        y=[_short(line.ceiling.gflops(intensity)) for intensity in intensities],
        mode="lines",
        line={
            "color": colours[line.colour], "width": 2, "dash": "solid" if line.ceiling.measured else "7px,5px"
        },
        name=f"{line.ceiling}{ridge}",
        legendgroup="ceilings",
        legendgrouptitle={"text": "Ceilings"},
        hovertemplate=ceiling_tooltip(line.ceiling) + "<extra></extra>",
    )  # fmt: skip


def _ridges(scene: Scene, colours: dict[str, str]) -> go.Scatter:
    lines = [line for line in scene.ceilings if line.shows_ridge]
    return go.Scatter(
        x=[_short(line.end) for line in lines],
        y=[_short(line.ceiling.gflops(line.end)) for line in lines],
        mode="markers",
        marker={
            "size": 7, "color": "rgba(0,0,0,0)",
            "line": {"width": 1.5, "color": [colours[line.colour] for line in lines]},
        },
        name="ridge points",
        showlegend=False,
        hovertemplate="ridge point: %{x:.3g} flop per byte<extra></extra>",
    )  # fmt: skip


def _connection(scene: Scene, colours: dict[str, str]) -> go.Scatter:
    """Return the line from each version to the next."""
    return go.Scatter(
        x=[_short(mark.point.intensity) for mark in scene.marks],
        y=[_short(mark.point.gflops) for mark in scene.marks],
        mode="lines",
        line={"color": colours["dim"], "width": 1.2},
        name="versions",
        showlegend=False,
        hoverinfo="skip",
    )


def _point(mark: PointMark, roofline: Roofline, colours: dict[str, str]) -> go.Scatter:
    return go.Scatter(
        x=[_short(mark.point.intensity)],
        y=[_short(mark.point.gflops)],
        mode="markers",
        marker={
            "size": 16 if mark.above else 2 * MARK_RADIUS + 1,
            "symbol": "x" if mark.above else "circle",
            "color": colours["bad" if mark.above else "ink"],
            "line": {"width": 1, "color": colours["paper"]},
            "opacity": 1,
        },
        name=f"{mark.number}  {escape(mark.point.variant)}{' (above its ceiling)' if mark.above else ''}",
        legendgroup="kernels",
        legendgrouptitle={"text": "Kernels"},
        hovertemplate=point_tooltip(roofline, mark.point) + "<extra></extra>",
    )


def _number(mark: PointMark, colours: dict[str, str]) -> dict[str, Any]:
    """Return a point's number as an annotation, which stays at the point when the plot is moved."""
    colour = colours["bad" if mark.above else "ink"]
    return {
        "text": str(mark.number), "x": _short(log10(mark.point.intensity)),
        "y": _short(log10(mark.point.gflops)), "xref": "x", "yref": "y",
        "showarrow": True, "arrowhead": 0, "arrowwidth": 0.8, "arrowcolor": colours["dim"],
        "ax": round(mark.badge_x - mark.x, 1), "ay": 0, "font": {"size": 10, "color": colour},
        "bgcolor": colours["paper"], "borderpad": 0,
    }  # fmt: skip


def _captions(scene: Scene, colours: dict[str, str], below: float) -> Iterator[dict[str, Any]]:
    for colour, lines in (("bad", scene.mistakes), ("dim", scene.caption)):
        if lines:
            yield {
                "text": "<br>".join(map(escape, lines)), "xref": "paper", "yref": "paper", "x": 0, "y": 0,
                "xshift": MARGIN - LEFT, "yshift": -below, "xanchor": "left", "yanchor": "top",
                "align": "left", "showarrow": False, "font": {"size": SMALL, "color": colours[colour]},
            }  # fmt: skip
            below += CAPTION_ROW * len(lines)


def _axis(decades: tuple[float, float], title: str, standoff: int) -> dict[str, Any]:
    """Return an axis with the ticks of the static picture, and more of them for a plot that is moved."""
    values = list(ticks(decades, beyond=3))
    return {
        "range": decades,
        "title": {"text": title, "font": {"size": TEXT}, "standoff": standoff},
        "tickmode": "array",
        "tickvals": values,
        "ticktext": [f"{value:,.10g}" for value in values],
    }


def _short(number: float) -> float:
    """Round to six significant digits, so that a saved notebook stays small."""
    return float(f"{number:.6g}")
