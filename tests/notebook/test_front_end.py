"""A kernel cell as a front end sees it: nbclient runs a real Jupyter kernel."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).parents[2]
SETUP = """
from gpulab.notebook import load
from tests.notebook.conftest import ActedDevice, time_small_sizes
time_small_sizes()
load(get_ipython(), ActedDevice)
"""


def executed(*cells, allow_errors=True):
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(text) for text in (SETUP, *cells)],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    )
    where = {"metadata": {"path": str(ROOT)}}
    NotebookClient(notebook, timeout=60, allow_errors=allow_errors, resources=where).execute()
    return notebook.cells[1:]


def test_a_right_cell_is_one_output_without_error(kernel_cell):
    (cell,) = executed(kernel_cell("right"))
    assert [output.output_type for output in cell.outputs] == ["display_data"]
    assert "gp-good" in cell.outputs[0].data["text/html"]
    assert "text/plain" in cell.outputs[0].data


def test_a_wrong_cell_ends_in_an_error_output(kernel_cell):
    (cell,) = executed(kernel_cell("no halo"))
    error = cell.outputs[-1]
    assert error.output_type == "error"
    assert error.ename == "WrongResult"
    assert len(error.traceback) == 1
    assert "<svg" in cell.outputs[0].data["text/html"]


def test_nothing_of_the_progress_bar_is_left_in_the_notebook(kernel_cell):
    (cell,) = executed(kernel_cell("slow"))
    (output,) = cell.outputs
    assert "<progress" not in output.data["text/html"]
    assert "gp-good" in output.data["text/html"]


def test_nbclient_takes_a_wrong_cell_for_a_failure(kernel_cell):
    with pytest.raises(CellExecutionError, match="WrongResult"):
        executed(kernel_cell("no halo"), allow_errors=False)


def test_the_stubs_own_words_reach_the_error():
    with pytest.raises(CellExecutionError, match="write your kernel here"):
        executed('%%cuda stencil.opt_1\n#error "write your kernel here"\n', allow_errors=False)


def test_no_cell_writes_to_stderr(kernel_cell):
    cells = executed(*(kernel_cell(act) for act in ("right", "no halo", "reads outside", "stops")))
    streams = [o for cell in cells for o in cell.outputs if o.output_type == "stream"]
    assert streams == []
