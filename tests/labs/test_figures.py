"""Figures of the labs: the committed files equal what drawings/ produces."""

from __future__ import annotations

from pathlib import Path

from drawings.__main__ import FIGURES, LABS, draw_all


def test_committed_figures_equal_the_drawings(tmp_path: Path) -> None:
    for lab in FIGURES:
        (tmp_path / lab / "figures").mkdir(parents=True)
    drawn = {file.relative_to(tmp_path): file.read_bytes() for file in draw_all(tmp_path)}
    assert drawn == {file.relative_to(LABS): file.read_bytes() for file in LABS.glob("*/figures/*.svg")}
