"""Stop ends a cell with one line and shows the rows that are finished."""

from __future__ import annotations

import pytest

from gpulab.profiling import version_times
from gpulab.profiling.sweep import Sweep
from tests.notebook.conftest import Notebook

KERNEL = """%%cuda matmul.{variant} --block {block}
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{{
    int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < p; ++k) sum += b[i + n * k] * c[k + p * j];
    a[i + n * j] = sum;
}}"""


@pytest.fixture
def simulated(notebook: Notebook) -> Notebook:
    from gpulab.notebook import load

    load(notebook.shell, lambda: __import__("gpulab").device("sim"))
    return notebook


def test_stop_of_a_python_cell_is_one_line(notebook: Notebook) -> None:
    run = notebook.run("x = 1\nraise KeyboardInterrupt")
    assert isinstance(run.error, KeyboardInterrupt)
    (line,) = run.stdout.strip().splitlines()
    assert line == "Stopped"


def test_history_keeps_the_line_of_a_stop_and_no_traceback(notebook: Notebook) -> None:
    notebook.shell.run_cell("raise KeyboardInterrupt", store_history=True)
    *_, stored = notebook.shell.history_manager.exceptions.values()
    assert stored["traceback"] == ["Stopped"]


def test_stop_names_the_line_of_the_cell(notebook: Notebook) -> None:
    def endless() -> None:
        raise KeyboardInterrupt

    notebook.shell.user_ns["endless"] = endless
    run = notebook.run("x = 1\nendless()")
    (line,) = run.stdout.strip().splitlines()
    assert line.endswith("endless()")
    assert line.startswith("Stopped at line 2")


def test_ladder_table_keeps_finished_rows(simulated: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    for variant, block in (("Ks", "1 32"), ("K1", "16 2")):
        assert simulated.run(KERNEL.format(variant=variant, block=block)).error is None
    rows = version_times._version_time

    def stop_at_k1(problem, variant, *rest):
        if variant == "K1":
            raise KeyboardInterrupt
        return rows(problem, variant, *rest)

    monkeypatch.setattr(version_times, "_version_time", stop_at_k1)
    run = simulated.run("import gpulab\ngpulab.ladder_table('matmul', gpu='h200', size=64)")
    assert isinstance(run.error, KeyboardInterrupt)
    assert "Ks" in run.html
    assert "K1" not in run.html


def test_sweep_keeps_finished_rows(simulated: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    simulated.run(KERNEL.format(variant="K1", block="16 1"))
    points = Sweep.__iter__

    def stop_after_one(sweep):
        yield next(points(sweep))
        raise KeyboardInterrupt

    monkeypatch.setattr(Sweep, "__iter__", stop_after_one)
    run = simulated.run("import gpulab\ngpulab.sweep_table('matmul.K1', blocks=[(16,), (32,)], sizes=['64'])")
    assert isinstance(run.error, KeyboardInterrupt)
    assert run.html.count("<tr>") == 2  # the header and one row
