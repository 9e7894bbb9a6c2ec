"""The labs' figures are what drawings/ draws."""

from __future__ import annotations

from pathlib import Path

from drawings.__main__ import FIGURES, LABS, draw_all


def test_every_figure_is_as_it_is_drawn(tmp_path: Path) -> None:
    for lab in FIGURES:
        (tmp_path / lab / "figures").mkdir(parents=True)
    drawn = {file.relative_to(tmp_path): file.read_bytes() for file in draw_all(tmp_path)}
    assert drawn == {file.relative_to(LABS): file.read_bytes() for file in LABS.glob("*/figures/*.svg")}
