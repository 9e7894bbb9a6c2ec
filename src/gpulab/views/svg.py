"""SVG drawings in the colours of `gpulab.views.theme`."""

from __future__ import annotations

from gpulab.views.html import escape
from gpulab.views.theme import DARK, LIGHT

__all__ = ["FONT", "THEMES", "SvgPen"]

THEMES = {"light": LIGHT, "dark": DARK}
FONT = "system-ui,'Segoe UI','DejaVu Sans',sans-serif"


class SvgPen:
    """A drawing to which lines, circles, paths and texts are added; all lengths are in pixels.

    Colours are names of `gpulab.views.theme`.

    Parameters
    ----------
    theme : {"light", "dark"}, optional
        Colours of a drawing in its own file. If omitted, the drawing follows the theme of the page around it.
    """

    def __init__(self, theme: str | None = None) -> None:
        self._theme = theme
        self._parts: list[str] = []

    def line(
        self, x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1.0, dash: str = ""
    ) -> None:
        """Draw a line. dash: lengths of strokes and gaps, as in SVG's `stroke-dasharray`."""
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self._parts.append(
            f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" fill="none" {self._paint(stroke=colour)} '
            f'stroke-width="{width:g}"{dashes}/>'
        )

    def circle(
        self, x: float, y: float, radius: float, *, fill: str = "", edge: str = "", width: float = 1.5
    ) -> None:
        """Draw a disc, a ring, or both."""
        self._parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" {self._area(fill, edge, width)}/>'
        )

    def path(self, d: str, *, fill: str = "", edge: str = "", width: float = 1.5, title: str = "") -> None:
        """Draw a path in SVG's notation. title: its tooltip."""
        tooltip = f"<title>{escape(title)}</title>" if title else ""
        self._parts.append(f'<path d="{d}" {self._area(fill, edge, width)}>{tooltip}</path>')

    def text(
        self,
        text: str,
        x: float,
        y: float,
        colour: str = "ink",
        size: float = 12.0,
        anchor: str = "start",
        *,
        angle: float = 0.0,
        bold: bool = False,
    ) -> None:
        """Write a line of text with its baseline at y. angle: in degrees, clockwise."""
        turned = f' transform="rotate({angle:g} {x:.1f} {y:.1f})"' if angle else ""
        weight = ' font-weight="600"' if bold else ""
        self._parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" text-anchor="{anchor}"{weight}{turned} '
            f"{self._paint(fill=colour)}>{escape(text)}</text>"
        )

    def element(self, width: float, height: float, label: str, *, narrowest: int = 480) -> str:
        """Return the drawing as an SVG element.

        label: description for screen readers. narrowest: width in pixels below which the drawing does not
        shrink, because its text would become too small to read.
        """
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
            f'viewBox="0 0 {width:g} {height:g}" role="img" font-family="{FONT}" '
            f'style="max-width:100%;min-width:{narrowest}px;height:auto" aria-label="{escape(label)}">'
            f"{''.join(self._parts)}</svg>"
        )

    def _area(self, fill: str, edge: str, width: float) -> str:
        colours = {key: colour for key, colour in (("fill", fill), ("stroke", edge)) if colour}
        none = "" if fill else ' fill="none"'
        stroke = f' stroke-width="{width:g}"' if edge else ""
        return f"{self._paint(**colours)}{none}{stroke}"

    def _paint(self, **colours: str) -> str:
        """Return the SVG attributes for fill, stroke, or both."""
        values = THEMES[self._theme or "light"]
        attributes = " ".join(f'{name}="{values[colour]}"' for name, colour in colours.items())
        if self._theme is not None:
            return attributes
        # The attributes remain where a sanitizer removes the style.
        style = ";".join(f"{name}:var(--gp-{colour},{values[colour]})" for name, colour in colours.items())
        return f'{attributes} style="{style}"'
