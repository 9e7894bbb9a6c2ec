"""The README and the solutions in grading/ agree with the rubric."""

from __future__ import annotations

import re
import tomllib

import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.grading.release.rubric import read_rubric
from tests.grading.conftest import REPOSITORY

GRADING = REPOSITORY / "grading"
RUBRIC = GRADING / "rubric.toml"
LABS = sorted(tomllib.loads(RUBRIC.read_text(encoding="utf-8")))


@pytest.mark.parametrize("lab", LABS)
def test_readme_has_the_points_of_each_lab(lab: str) -> None:
    row = re.search(
        rf"^\| `{lab}` \| (.*) \| (.*) \|$", (GRADING / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert row, f"{lab} is missing in the table of points"
    rubric = read_rubric(RUBRIC, lab).values()
    levels = [f"{sum(criterion.max_points(level) for criterion in rubric):g}" for level in (1, 2)]
    assert list(row.groups()) == [levels[0], levels[1] if levels[1] != levels[0] else "-"]


@pytest.mark.parametrize("lab", LABS)
def test_solutions_have_a_heading_for_each_graded_cell(lab: str) -> None:
    _, _, text = (GRADING / "solutions.md").read_text(encoding="utf-8").partition(f"(`{lab}`)")
    section = text.partition("\n## ")[0]
    headings = "\n".join(re.findall(r"^### (.*)$", section, re.MULTILINE))
    missing = [cell for cell in read_rubric(RUBRIC, lab) if f"`{cell}`" not in headings]
    assert missing == []
