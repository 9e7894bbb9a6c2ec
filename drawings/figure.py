"""An SVG figure for a notebook, shape by shape.

Every figure lies on its own card, which is light on light pages and dark on dark ones. A picture
follows the CSS property `color-scheme` of its page, which JupyterLab sets from its theme. On a page that does
not set it, the picture has the colours that the reader's system prefers. In both cases the text is legible,
because the card and the text change together.

Lengths are SVG user units, about one CSS pixel each; y points down, as in SVG.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from drawings.palette import CARD, DARK, EMPTY, INK, LINE, MUTED, PATTERNS

Point = tuple[float, float]

_TIP = (
    '<marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7"\n'
    f'  fill="{INK}" orient="auto-start-reverse"><path d="M0 1 10 5 0 9z"/></marker>'
)
_DEFINITIONS = {"url(#tip)": _TIP} | PATTERNS


class Figure:
    """An SVG document that grows by one shape per call.

    title: what the figure shows, in one line. description: the same for a reader who does not see it.
    """

    def __init__(self, name: str, width: int, height: int, title: str, description: str) -> None:
        self.name, self.width, self.height = name, width, height
        self.title, self.description = title, description
        self.parts: list[str] = []
        self.rect(0.5, 0.5, width - 1, height - 1, CARD, rx=10)

    def rect(
        self, x: float, y: float, w: float, h: float, fill: str = "none", *,
        stroke: str = LINE, width: float = 1, rx: float = 0,
    ) -> None:  # fmt: skip
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="{rx:g}" fill="{fill}" '
            f'stroke="{stroke}" stroke-width="{width:g}"/>'
        )

    def polygon(self, points: list[Point], fill: str, stroke: str = LINE, opacity: float = 1) -> None:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(
            f'<polygon points="{path}" fill="{fill}" stroke="{stroke}" fill-opacity="{opacity:g}"/>'
        )

    def line(self, a: Point, b: Point, stroke: str = INK, width: float = 1.6, *, tip: bool = False) -> None:
        end = ' marker-end="url(#tip)"' if tip else ""
        self.parts.append(
            f'<path d="M{a[0]:.1f} {a[1]:.1f}L{b[0]:.1f} {b[1]:.1f}" fill="none" stroke="{stroke}" '
            f'stroke-width="{width:g}"{end}/>'
        )

    def curve(self, a: Point, bend: Point, b: Point, stroke: str = INK) -> None:
        self.parts.append(
            f'<path d="M{a[0]:.1f} {a[1]:.1f}Q{bend[0]:.1f} {bend[1]:.1f} {b[0]:.1f} {b[1]:.1f}" fill="none" '
            f'stroke="{stroke}" stroke-width="1.6" marker-end="url(#tip)"/>'
        )

    def path(self, d: str, stroke: str = INK, width: float = 1.6) -> None:
        """Draw a path in SVG's notation, without a fill."""
        self.parts.append(f'<path d="{d}" fill="none" stroke="{stroke}" stroke-width="{width:g}"/>')

    def dot(self, at: Point, radius: float, fill: str) -> None:
        self.parts.append(
            f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius:g}" fill="{fill}" '
            f'stroke="{EMPTY}" stroke-width="1.5"/>'
        )

    def text(
        self, x: float, y: float, words: str, fill: str = INK, *,
        anchor: str = "start", size: float = 14, bold: bool = False, code: bool = False,
    ) -> None:  # fmt: skip
        style = ' font-weight="bold"' if bold else ""
        style += ' font-family="DejaVu Sans Mono, Menlo, Consolas, monospace"' if code else ""
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" fill="{fill}" text-anchor="{anchor}" font-size="{size:g}"{style}>'
            f"{escape(words)}</text>"
        )

    def box(
        self, x: float, y: float, w: float, h: float, words: str, fill: str = EMPTY, *, bold: bool = False
    ) -> None:
        """Draw a rectangle with centred text."""
        self.rect(x, y, w, h, fill, stroke=MUTED, rx=4)
        self.text(x + w / 2, y + h / 2 + 5, words, anchor="middle", size=13, bold=bold)

    def cells(
        self, x: float, y: float, columns: int, rows: int, size: float,
        fills: Mapping[tuple[int, int], str] | None = None, *, fill: str = EMPTY,
    ) -> None:  # fmt: skip
        """Draw a matrix of `rows` by `columns` squares; `fills` maps (column, row) to a colour."""
        for i in range(columns):
            for j in range(rows):
                self.rect(x + i * size, y + j * size, size, size, (fills or {}).get((i, j), fill), width=0.8)
        self.rect(x, y, columns * size, rows * size, stroke=MUTED, width=1.6)

    def legend(self, x: float, y: float, rows: list[tuple[str, str]], step: float = 24) -> None:
        for n, (fill, words) in enumerate(rows):
            self.rect(x, y + n * step, 14, 14, fill, stroke=MUTED)
            self.text(x + 22, y + n * step + 12, words)

    def save(self, folder: Path) -> Path:
        """Write `NAME.svg`, with the definitions and the dark colours that it uses."""
        body = "\n".join(self.parts)
        defined = "\n".join(text for use, text in _DEFINITIONS.items() if use in body)
        font = 'font-family="Helvetica, Arial, sans-serif" font-size="14"'
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" role="img"',
            f'  viewBox="0 0 {self.width} {self.height}" {font} aria-labelledby="title desc">',
            f'<title id="title">{escape(self.title)}</title>',
            f'<desc id="desc">{escape(self.description)}</desc>',
            f"<style>@media (prefers-color-scheme: dark) {{\n{_dark_rules(body + defined)}\n}}</style>",
            *([f"<defs>{defined}</defs>"] if defined else []),
            body,
            "</svg>",
        ]
        file = folder / f"{self.name}.svg"
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return file


def _dark_rules(drawn: str) -> str:
    """Return a rule for each light colour that is drawn; a style overrides the attribute that it selects."""
    used = sorted(set(re.findall(r'(fill|stroke)="(#[0-9a-f]{6})"', drawn)))
    return "\n".join(f'[{paint}="{light}"] {{ {paint}: {DARK[light]} }}' for paint, light in used)
