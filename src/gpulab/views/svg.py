"""Pieces of SVG in the colours of the pages: paint, lines and text."""

from __future__ import annotations

from gpulab.views.html import escape
from gpulab.views.theme import DARK, LIGHT

__all__ = ["THEMES", "Pen"]

THEMES = {"light": LIGHT, "dark": DARK}


class Pen:
    """Draws pieces of a picture, in pixels. Colours are named as in `gpulab.views.theme`.

    theme: "light" or "dark" for a file; None follows the page around it.
    """

    def __init__(self, theme: str | None = None) -> None:
        self.theme = theme

    def paint(self, **colours: str) -> str:
        """Attributes: fill, stroke, or both."""
        chosen = THEMES[self.theme or "light"]
        found = " ".join(f'{what}="{chosen[colour]}"' for what, colour in colours.items())
        if self.theme is not None:
            return found
        # The attributes hold where a sanitizer takes the style away.
        style = ";".join(f"{what}:var(--gp-{colour},{chosen[colour]})" for what, colour in colours.items())
        return f'{found} style="{style}"'

    def line(self, line: tuple[float, float, float, float], colour: str, width: float, dash: str = "") -> str:
        """From (x1, y1) to (x2, y2). dash: as SVG writes it."""
        x1, y1, x2, y2 = (f"{number:.1f}" for number in line)
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        stroke = f'{self.paint(stroke=colour)} stroke-width="{width:g}"{dashes}'
        return f'<path d="M{x1} {y1}L{x2} {y2}" fill="none" {stroke}/>'

    def text(
        self,
        words: str,
        x: float,
        y: float,
        colour: str,
        size: float,
        anchor: str = "start",
        angle: float = 0.0,
        down: float = 0.0,
        weight: int = 0,
        halo: str = "",
    ) -> str:
        """A line of text. angle: in degrees, clockwise; down: moves it; halo: paint instead of colour."""
        turned = f' transform="rotate({angle:.2f} {x:.1f} {y:.1f})"' if angle else ""
        more = f' font-weight="{weight}"' if weight else ""
        return (
            f'<text x="{x:.1f}" y="{y + down:.1f}" font-size="{size:g}" text-anchor="{anchor}"{more}{turned} '
            f"{halo or self.paint(fill=colour)}>{escape(words)}</text>"
        )
