"""docs/course_documents.md names, for every item of the course documents, cells that are there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "docs" / "course_documents.md"
LABS = {"0": "00_devicequery/devicequery", "1": "01_stencil/stencil", "2": "02_matmul/matmul"}


def rows() -> list[tuple[str, str, str]]:
    """(item, lab, cells) of every table row; the headings and rules left out."""
    lines = [line.strip("|").split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines()]
    found = [[part.strip() for part in line[-3:]] for line in lines if len(line) >= 3]
    return [(item, lab, cells) for item, lab, cells in found if lab != "lab"]


def cell_ids(lab: str) -> set[str]:
    notebook = json.loads((REPOSITORY / "labs" / f"{LABS[lab]}.ipynb").read_text(encoding="utf-8"))
    return {cell["id"] for cell in notebook["cells"]}


@pytest.mark.parametrize("lab", LABS)
def test_every_cell_that_is_named_is_in_its_notebook(lab: str) -> None:
    named = {
        name
        for _, of, cells in rows()
        if of == lab
        for name in re.findall(r"`([a-z0-9-]+)`", re.sub(r"\(.*?\)", "", cells))
    }
    assert named
    assert named <= cell_ids(lab)


def test_an_item_without_a_cell_has_a_reason() -> None:
    assert [item for item, lab, cells in rows() if not lab and not cells.startswith("left out: ")] == []


def test_an_item_with_a_lab_names_a_cell() -> None:
    assert [item for item, lab, cells in rows() if lab and not re.search(r"`[a-z0-9-]+`", cells)] == []
