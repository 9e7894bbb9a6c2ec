"""The examples in the docstrings of the public names, run on the simulator."""

from __future__ import annotations

import doctest

import pytest

import gpulab

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def examples() -> list[doctest.DocTest]:
    """Return the doctests of the package, and of every public object with its methods."""
    found = doctest.DocTestFinder(recurse=False).find(gpulab, "gpulab")
    for name in gpulab.__all__:
        found += doctest.DocTestFinder().find(getattr(gpulab, name), name)
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
