"""Plotly figures: static, small, and each with the source of its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulab.errors import UsageError
from gpulab.notebook.speedup_view import milliseconds, sources

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from gpulab.evidence.speedup import SpeedupRow, SpeedupTable

__all__ = ["speedup_figure"]

_GREY = "#808890"  # readable on white and on black alike: the figure has no background of its own


def speedup_figure(timed: SpeedupTable) -> go.Figure:
    """Bars of each variant's time in ms, before and after, with the speed-up above.

    A plain `go.Figure`: it keeps its look in a saved notebook, where a widget would be lost.

    Raises `UsageError` while nothing was timed, or where plotly is not installed.
    """
    try:
        import plotly.graph_objects as go
    except ImportError:
        raise UsageError("figures need plotly: pip install 'gpulab[lab]'.") from None
    rows = list(timed)
    if not rows:
        raise UsageError(f"no variant of {timed.problem} was timed yet: run its kernel cells first.")
    names = [row.variant for row in rows]
    hover = [f"{row.changes}<br>{row.provenance}" for row in rows]
    figure = go.Figure(
        [
            go.Bar(
                name="before",
                x=names,
                y=[row.before_ms for row in rows],
                marker_color=_GREY,
                customdata=hover,
                hovertemplate="before: %{y:.3g} ms<br>%{customdata}<extra></extra>",
            ),
            go.Bar(
                name="after",
                x=names,
                y=[row.after_ms for row in rows],
                marker_color="#2f81f7",
                customdata=hover,
                text=[_label(row) for row in rows],
                textposition="outside",
                cliponaxis=False,
                hovertemplate="after: %{y:.3g} ms<br>%{customdata}<extra></extra>",
            ),
        ]
    )
    caption = "<br>".join(sources(timed))
    figure.update_layout(
        template="none",
        barmode="group",
        width=640,
        height=360,
        margin={"t": 40, "b": 90, "l": 60, "r": 20},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font_color=_GREY,
        yaxis={"title": "ms", "rangemode": "tozero", "gridcolor": "rgba(128,136,144,.3)"},
        legend={"orientation": "h", "y": 1.12},
        annotations=[
            {
                "text": caption,
                "xref": "paper",
                "yref": "paper",
                "x": 0,
                "y": -0.18,
                "yanchor": "top",
                "align": "left",
                "showarrow": False,
                "font": {"size": 11},
            }
        ],
    )
    return figure


def _label(row: SpeedupRow) -> str:
    """The speed-up; for the first variant, which has none, its time."""
    return f"x {row.speedup:.2f}" if row.speedup is not None else f"{milliseconds(row.after_ms)} ms"
