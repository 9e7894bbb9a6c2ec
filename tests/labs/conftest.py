"""A lab's notebook in the states that its tests need, each made once for a test module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nbformat import NotebookNode

from tests.labs.html_page import SIZES, PageFaults, chromium, export, inspect_page
from tests.labs.lab import Lab, read, release_notebook, run


@pytest.fixture(scope="module")
def lab(request: pytest.FixtureRequest) -> Lab:
    """The lab that the test module names in `LAB`."""
    lab = request.module.LAB
    assert isinstance(lab, Lab)
    return lab


@pytest.fixture(scope="module")
def source(lab: Lab) -> NotebookNode:
    """The instructor's notebook."""
    return read(lab.notebook)


@pytest.fixture(scope="module")
def executed(lab: Lab) -> NotebookNode:
    """The instructor's notebook after a run from top to bottom."""
    return run(read(lab.notebook), lab.folder)


@pytest.fixture(scope="module")
def released(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The students' notebook."""
    return release_notebook(lab, tmp_path_factory.mktemp("course"))


@pytest.fixture(scope="module")
def unsolved(released: Path) -> NotebookNode:
    """The students' notebook after "Run All" without any solution, which must reach the last cell."""
    return run(read(released), released.parent)


@pytest.fixture(scope="module")
def chromium_browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def exported(lab: Lab, executed: NotebookNode, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The executed notebook as HTML."""
    return export(executed, lab.folder, tmp_path_factory.mktemp("page") / "page.html", "light")


@pytest.fixture(scope="module", params=list(SIZES))
def page_faults(request: pytest.FixtureRequest, exported: Path, chromium_browser: Any) -> PageFaults:
    """The faults of the HTML in a window of one of the sizes."""
    return inspect_page(chromium_browser, exported, SIZES[request.param])
