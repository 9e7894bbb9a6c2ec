"""Run All in JupyterLab, on a released notebook that is half answered."""

from __future__ import annotations

import nbformat
import pytest

pytest.importorskip("nbgrader", reason="the labs are released by nbgrader")

from gpulab.grading.release.preprocessors import ContinueAfterErrors
from tests.browser.conftest import CELL_S
from tests.notebook.test_unfinished_kernels import CHECK, ROLLING, STUB

CELLS = ("%load_ext gpulab", STUB, CHECK.format("matmul.K4g"), ROLLING, "print('the last cell')")


def test_run_all_reaches_the_last_cell(lab, lab_page, write_notebook, tmp_path_factory):
    path = lab.folder / write_notebook("half.ipynb", *CELLS)
    notebook, _ = ContinueAfterErrors().preprocess(nbformat.read(path, as_version=4), {})
    nbformat.write(notebook, path)
    page = lab_page.open_with_kernel(path.name, 2400)
    page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")

    outputs = page.locator(".jp-CodeCell .jp-OutputArea")
    page.locator(".jp-OutputArea-output", has_text="the last cell").wait_for(timeout=CELL_S)
    page.screenshot(path=tmp_path_factory.mktemp("screenshots") / "run-all.png")
    stub, test, stage = (outputs.nth(number).inner_text() for number in (1, 2, 3))
    assert "not written yet" in stub
    assert "KernelNotWritten" not in stub
    assert "KernelNotWritten" in test
    assert "✓ stencil.opt_4 is correct" in stage
    assert "✗" not in stage
