"""A lab's notebook in the four states that its tests look at, each made once for a test module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nbformat import NotebookNode

from tests.labs.lab import Lab, read, released_notebook, run
from tests.labs.reading import SIZES, Page, chromium, export, look


@pytest.fixture(scope="module")
def lab(request: pytest.FixtureRequest) -> Lab:
    """The lab that the test module names in `LAB`."""
    found = request.module.LAB
    assert isinstance(found, Lab)
    return found


@pytest.fixture(scope="module")
def source(lab: Lab) -> NotebookNode:
    """The notebook as an instructor has it."""
    return read(lab.notebook)


@pytest.fixture(scope="module")
def executed(lab: Lab) -> NotebookNode:
    """The source notebook after a run from top to bottom."""
    return run(read(lab.notebook), lab.folder)


@pytest.fixture(scope="module")
def released(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The notebook that students get."""
    return released_notebook(lab, tmp_path_factory.mktemp("desk"))


@pytest.fixture(scope="module")
def unsolved(released: Path) -> NotebookNode:
    """The students' notebook after a run in which nobody has solved anything."""
    return run(read(released), released.parent, allow_errors=True)


@pytest.fixture(scope="module")
def open_chromium() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def exported(lab: Lab, executed: NotebookNode, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page that nbconvert makes of the run above."""
    return export(executed, lab.folder, tmp_path_factory.mktemp("page") / "page.html", "light")


@pytest.fixture(scope="module", params=list(SIZES))
def reading(request: pytest.FixtureRequest, exported: Path, open_chromium: Any) -> Page:
    """What a window of this size shows of the page."""
    return look(open_chromium, exported, SIZES[request.param])
