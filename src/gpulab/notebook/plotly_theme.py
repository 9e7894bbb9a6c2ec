"""Rules that show a plotly figure with the light colours in the dark theme of JupyterLab.

plotly writes its colours into the `style` of each element, and a figure does not know the theme of the page.
The rules therefore select elements by their light colour and replace it, also when the theme changes later.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpulab.views.theme import DARK, LIGHT

__all__ = ["follow_theme"]

_COLOURS = ("ink", "dim", "paper", "band", "line", "good", "bad", "hint", "plain", "stray")


def follow_theme(scope: str) -> str:
    """Return a style sheet. scope: a selector of elements that contain figures of gpulab only."""
    return f'[data-jp-theme-light="false"] {scope} .js-plotly-plot{{{"".join(_rules())}}}'


def _rules() -> Iterator[str]:
    for name in _COLOURS:
        for paint in ("fill", "stroke", "background") if name == "paper" else ("fill", "stroke"):
            yield f'[style*="{paint}: {_rgb(LIGHT[name])}"]{{{paint}:{DARK[name]}!important}}'


def _rgb(colour: str) -> str:
    """Return a colour as browsers write it into a style: rgb(31, 35, 40)."""
    return f"rgb({', '.join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))})"
