"""The words of findings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gpulab
from gpulab.finding import Finding

PACKAGE = Path(gpulab.__file__).parent
FAULTS = (PACKAGE / "devices/simulator/faults.py", PACKAGE / "simt/instrument/racecheck/hazard_check.py")


def test_title_of_every_kind_is_plain_words() -> None:
    kinds = {
        kind for path in FAULTS for kind in re.findall(r'"([a-z]+(?:_[a-z]+)+)"', path.read_text("utf-8"))
    }
    assert {"out_of_bounds_read", "read_after_write", "exited_threads"} <= kinds
    for kind in kinds:
        assert re.fullmatch("[a-z -]+", Finding("memcheck", kind, 1, None, None, "").title)


@pytest.mark.parametrize(
    ("kind", "title"),
    [
        ("out_of_bounds_write", "write outside an array"),
        ("never_ends", "loop that does not end"),
        ("a_kind_of_later", "a kind of later"),
    ],
)
def test_title_is_not_the_kind(kind: str, title: str) -> None:
    assert Finding("memcheck", kind, 1, None, None, "").title == title
