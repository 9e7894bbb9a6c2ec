"""Figures of the labs: committed files equal what drawings/ produces, and are legible in both themes."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import product
from pathlib import Path

import nbformat
import pytest

from drawings import palette
from drawings.__main__ import FIGURES, LABS, draw_all
from tests.views.test_html import contrast

FILES = sorted(LABS.glob("*/figures/*.svg"))
SVG = "{http://www.w3.org/2000/svg}"
TEXT = 4.5  # least contrast of text (WCAG 2, 1.4.3)


def test_committed_figures_equal_the_drawings(tmp_path: Path) -> None:
    for lab in FIGURES:
        (tmp_path / lab / "figures").mkdir(parents=True)
    drawn = {file.relative_to(tmp_path): file.read_bytes() for file in draw_all(tmp_path)}
    assert drawn == {file.relative_to(LABS): file.read_bytes() for file in FILES}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_is_legible_on_every_fill(dark: bool) -> None:
    def shown(colour: str) -> str:
        return palette.DARK[colour] if dark else colour

    pairs = [
        *product([palette.INK], palette.PALE),
        *product([palette.MUTED, *palette.STRONG], [palette.CARD, palette.EMPTY]),
        *product([palette.EMPTY], palette.STRONG),
    ]
    assert [pair for pair in pairs if contrast(*map(shown, pair)) < TEXT] == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_colour_changes_on_dark_pages(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    drawn = set(re.findall(r'(fill|stroke)="(#\w+)"', text))
    replaced = re.findall(r'\[(fill|stroke)="(#\w+)"\] { \1: (#\w+) }', text)
    assert drawn
    assert {(paint, light) for paint, light, _ in replaced} >= drawn
    assert all(palette.DARK[light] == dark for _, light, dark in replaced)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_figure_has_a_title_and_a_description(file: Path) -> None:
    root = ET.fromstring(file.read_text(encoding="utf-8"))
    assert root.get("role") == "img"
    named = {
        element.get("id"): element.text for element in root if element.tag in {f"{SVG}title", f"{SVG}desc"}
    }
    title, description = (named[name] for name in (root.get("aria-labelledby") or "").split())
    assert title is not None
    assert description is not None
    assert len(description) > len(title) > 20


@pytest.mark.parametrize("lab", FIGURES)
def test_notebooks_show_figures_with_a_description_and_a_least_width(lab: str) -> None:
    (notebook,) = (LABS / lab).glob("*.ipynb")
    cells = [cell.source for cell in nbformat.read(notebook, 4).cells if cell.cell_type == "markdown"]
    pictures = re.findall(r"<img [^>]*figures/[^>]*>", "\n".join(cells))
    form = re.compile(r'<img alt="[^"]{20,}" src="figures/\w+\.svg" style="min-width: \d+px">')
    assert pictures
    assert [picture for picture in pictures if not form.fullmatch(picture)] == []
    assert not re.search(r"!\[[^]]*\]\(figures/", "\n".join(cells))
