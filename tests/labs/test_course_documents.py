"""Table of docs/course_documents.md: every item of the course documents has a cell or a reason."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "docs" / "course_documents.md"
LABS = {"0": "00_devicequery/devicequery", "1": "01_stencil/stencil", "2": "02_matmul/matmul"}


def rows() -> list[tuple[str, str, str]]:
    """Return (item, lab, cells) of every row of the table, without headings and rules."""
    lines = [line.strip("|").split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines()]
    columns = [[part.strip() for part in line[-3:]] for line in lines if len(line) >= 3]
    return [(item, lab, cells) for item, lab, cells in columns if lab != "lab"]


def cell_ids(lab: str) -> set[str]:
    notebook = json.loads((REPOSITORY / "labs" / f"{LABS[lab]}.ipynb").read_text(encoding="utf-8"))
    return {cell["id"] for cell in notebook["cells"]}


@pytest.mark.parametrize("lab", LABS)
def test_named_cells_exist(lab: str) -> None:
    named = {
        name
        for _, row_lab, cells in rows()
        if row_lab == lab
        for name in re.findall(r"`([a-z0-9-]+)`", re.sub(r"\(.*?\)", "", cells))
    }
    assert named
    assert named <= cell_ids(lab)


def test_item_without_a_cell_has_a_reason() -> None:
    assert [item for item, lab, cells in rows() if not lab and not cells.startswith("left out: ")] == []


def test_item_with_a_lab_names_a_cell() -> None:
    assert [item for item, lab, cells in rows() if lab and not re.search(r"`[a-z0-9-]+`", cells)] == []
