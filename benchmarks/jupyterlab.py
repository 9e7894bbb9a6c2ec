"""Notebooks in a real JupyterLab in Chromium, for measurements of what a person waits for."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import nbformat

__all__ = ["notebook_page"]


@contextmanager
def notebook_page(cells: Sequence[str], height: int) -> Iterator[tuple[Any, Callable[[int], Any]]]:
    """Open a notebook with an empty cache of compiled code.

    Yield its page, which is `height` pixels high, and a function that runs the cell with a number and returns
    its output.
    """
    from playwright.sync_api import sync_playwright

    browsing: Any = import_module("tests.browser.conftest")  # the tests are not typed
    opening: Any = import_module("tests.browser.test_kernel_cell")

    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as home:
        formats: Any = nbformat.v4  # it is not typed
        notebook = formats.new_notebook(
            cells=[formats.new_code_cell(cell) for cell in cells],
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        )
        Path(folder, "measured.ipynb").write_text(formats.writes(notebook), encoding="utf-8")
        os.environ["GPULAB_CACHE"] = str(Path(home, "kernels"))
        jupyter = browsing.Lab(Path(folder), Path(home))
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=browsing.CHROMIUM, args=browsing.FLAGS)
                page = browsing.LabPage(browser, jupyter).open_with_kernel("measured.ipynb", height)
                yield page, partial(opening.run_cell, page)
                browser.close()
        finally:
            jupyter.stop()
