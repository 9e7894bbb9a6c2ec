"""Tables of docs/course_documents.md: items have a cell or a reason, and the sizes of the labs are right."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "docs" / "course_documents.md"
SIZES = "## Size of the labs"
LABS = {"0": "00_devicequery/devicequery", "1": "01_stencil/stencil", "2": "02_matmul/matmul"}


def rows() -> list[tuple[str, str, str]]:
    """Return (item, lab, cells) of every row of the table, without headings and rules."""
    tables, _, _ = PAGE.read_text(encoding="utf-8").partition(SIZES)
    lines = [line.strip("|").split(" | ") for line in tables.splitlines()]
    columns = [[part.strip() for part in line[-3:]] for line in lines if len(line) >= 3]
    return [(item, lab, cells) for item, lab, cells in columns if lab != "lab"]


def cells_of(lab: str) -> list[dict[str, Any]]:
    notebook = json.loads((REPOSITORY / "labs" / f"{LABS[lab]}.ipynb").read_text(encoding="utf-8"))
    return list(notebook["cells"])


def cell_ids(lab: str) -> set[str]:
    return {cell["id"] for cell in cells_of(lab)}


def words_shown(cells: list[dict[str, Any]]) -> int:
    """Return the words of a notebook that are shown before anything is unfolded."""
    words, folded = 0, False
    for cell in cells:
        text = "".join(cell["source"])
        if cell["cell_type"] != "markdown":
            continue
        folded = folded and not re.match(r"(?:---\n)?#", text)
        if not folded and not cell["metadata"].get("nbgrader"):
            words += len(re.findall(r"\S*[^\W_]\S*", without_details(text)))
        folded = folded or cell["metadata"].get("jp-MarkdownHeadingCollapsed", False)
    return words


def without_details(text: str) -> str:
    """Return markdown without code blocks, tags and the contents of `<details>` except their summaries."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    parts, depth = [], 0
    for part in re.split(r"(</?details[^>]*>)", text):
        depth += part.startswith("<details") - (part == "</details>")
        summary = re.search(r"<summary>(.*?)</summary>", part, re.DOTALL)
        if depth == 0 or (depth == 1 and summary):
            parts.append(summary[1] if depth and summary else part)
    return re.sub(r"<[^>]*>", " ", " ".join(parts))


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


@pytest.mark.parametrize("lab", LABS)
def test_sizes_are_those_of_the_notebooks(lab: str) -> None:
    _, _, sizes = PAGE.read_text(encoding="utf-8").partition(SIZES)
    (row,) = [line for line in sizes.splitlines() if line.startswith(f"| {LABS[lab].partition('/')[0]} ")]
    _, words, _, cells, *_ = re.findall(r"[\d,]+", row.partition(" | ")[2])
    assert float(words.replace(",", "")) == pytest.approx(words_shown(cells_of(lab)), rel=0.05)
    assert float(cells) == pytest.approx(len(cells_of(lab)), rel=0.05)


def test_hidden_text_is_not_counted() -> None:
    cells: list[dict[str, Any]] = [
        {"cell_type": "markdown", "metadata": {}, "source": ["one two | 3 |\n```c\nint x;\n```"]},
        {"cell_type": "markdown", "metadata": {"jp-MarkdownHeadingCollapsed": True}, "source": ["# four"]},
        {"cell_type": "markdown", "metadata": {}, "source": ["hidden"]},
        {"cell_type": "markdown", "metadata": {}, "source": ["## five"]},
        {
            "cell_type": "markdown",
            "metadata": {},
            "source": ["<details><summary>six</summary>no<details>no</details></details>"],
        },
        {"cell_type": "markdown", "metadata": {"nbgrader": {"solution": True}}, "source": ["an answer"]},
    ]
    assert words_shown(cells) == 6
