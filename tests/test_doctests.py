"""The examples in the docstrings of the package, run on the simulator."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import gpulab

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def examples() -> list[doctest.DocTest]:
    """Return the doctests of all modules of the package."""
    root = Path(gpulab.__file__).parent
    found: list[doctest.DocTest] = []
    for path in sorted(root.rglob("*.py")):
        if ">>> " in path.read_text(encoding="utf-8"):
            parts = path.relative_to(root.parent).with_suffix("").parts
            found += doctest.DocTestFinder().find(import_module(".".join(parts).removesuffix(".__init__")))
    return [test for test in found if test.examples]


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_example_prints_what_its_docstring_says(
    example: doctest.DocTest, monkeypatch: pytest.MonkeyPatch, no_labs: None, empty_session: None
) -> None:
    monkeypatch.setenv("GPULAB_DEVICE", "sim")
    example.globs = {}
    report: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(example, out=report.append)
    assert report == []
