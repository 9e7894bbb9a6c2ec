"""`%%cuda` in a real IPython shell: what a cell shows, and that failures raise."""

from __future__ import annotations

import re

import pytest
from IPython.core.completer import provisionalcompleter

from gpulab import session
from gpulab.errors import CompileError, HeaderError, LaunchError, MemoryFault, UsageError, WrongResult


def test_a_right_kernel_shows_its_resources_a_green_line_and_the_table(notebook, kernel_cell):
    run = notebook.run(kernel_cell("right"))
    assert run.error is None
    assert "24 registers a thread" in run.text
    assert "gp-good" in run.html
    assert "65x47x9" in run.html
    assert re.search(r"<td>opt_1</td>", run.html)


def test_the_simulators_time_says_that_it_tells_nothing_about_a_gpu(notebook, kernel_cell):
    run = notebook.run(kernel_cell("right"))
    assert "simulator's own wall time" in run.text
    assert "tells nothing about a GPU" in run.text


def test_nothing_is_written_to_stderr(notebook, kernel_cell):
    for act in ("right", "no halo", "reads outside"):
        assert notebook.run(kernel_cell(act)).stderr == ""


def test_a_wrong_kernel_shows_the_plane_and_raises(notebook, kernel_cell):
    run = notebook.run(kernel_cell("no halo"))
    assert isinstance(run.error, WrongResult)
    assert run.error.verdict is not None
    assert "X" in run.text
    assert "<title>wrong: x 31, y 1-45</title>" in run.html
    assert "expected" in run.text


def test_writing_the_shell_is_wrong_though_every_inner_point_is_right(notebook, kernel_cell):
    run = notebook.run(kernel_cell("writes the shell"))
    assert isinstance(run.error, WrongResult)
    assert "gp-stray-fill" in run.html


def test_a_fault_raises_memory_fault_and_shows_line_and_thread(notebook, kernel_cell):
    run = notebook.run(kernel_cell("reads outside"))
    assert isinstance(run.error, MemoryFault)
    assert run.error.findings
    assert "line 4: thread (0,3) reads A0[-1]" in run.text


def test_a_kernel_that_does_not_end_raises_launch_error(notebook, kernel_cell):
    run = notebook.run(kernel_cell("stops"))
    assert isinstance(run.error, LaunchError)
    assert not isinstance(run.error, MemoryFault)


def test_a_compile_error_points_at_the_line_of_the_cell(notebook):
    run = notebook.run('%%cuda stencil.opt_1\n// YOUR CODE HERE\n  #error "write it"\n')
    assert isinstance(run.error, CompileError)
    assert '3 |   #error "write it"\n       |   ^' in run.text
    assert "write it" in str(run.error)


def test_a_header_that_does_not_parse_raises_in_one_line(notebook):
    run = notebook.run("%%cuda stencil.opt_9\n// nothing")
    assert isinstance(run.error, HeaderError)
    assert len(run.stdout.strip().splitlines()) == 1


def test_a_block_that_no_gpu_can_run_raises_before_anything_is_shown(notebook, kernel_cell):
    run = notebook.run(kernel_cell(header="--block 64 32"))
    assert isinstance(run.error, UsageError)
    assert run.html == ""


def test_the_shell_shows_a_short_message_and_no_traceback(notebook, kernel_cell):
    run = notebook.run(kernel_cell("no halo"))
    assert "WrongResult" in run.stdout
    assert "Traceback" not in run.stdout
    assert len(run.stdout.strip().splitlines()) == 1


def test_an_error_in_a_python_cell_names_the_python_line(notebook):
    run = notebook.run("import gpulab.session\n\ngpulab.session.kernel('nothing')")
    assert "at line 3" in run.stdout
    assert "Traceback" not in run.stdout


def test_errors_of_others_keep_their_traceback(notebook):
    assert "Traceback" in notebook.run("1 / 0").stdout


def test_a_plain_name_is_compiled_and_kept(notebook):
    run = notebook.run("%%cuda mine --block 128\n__global__ void mine() { }")
    assert run.error is None
    assert "24 registers" in run.text
    assert session.kernel("mine").name == "kernel"


def test_a_rerun_takes_the_place_of_the_old_variant(notebook, kernel_cell):
    notebook.run(kernel_cell("right"))
    first = session.kernel("stencil.opt_1")
    run = notebook.run(kernel_cell("right"))
    assert session.kernel("stencil.opt_1") is not first
    assert run.text.count("opt_1 ") == 1 + run.text.count("stencil.opt_1 ")


def test_a_variant_that_is_no_longer_right_leaves_the_table(notebook, kernel_cell):
    notebook.run(kernel_cell("right", "naive"))
    notebook.run(kernel_cell("right"))
    notebook.run(kernel_cell("no halo"))
    run = notebook.run("from gpulab import speedup_table\nspeedup_table('stencil')")
    assert "naive" in repr(run.result.result)
    assert "opt_1" not in repr(run.result.result)


def test_the_table_compares_a_variant_with_the_one_before(notebook, kernel_cell):
    notebook.run(kernel_cell("right", "naive"))
    assert "(naive)" in notebook.run(kernel_cell("right")).text


def test_what_the_kernel_prints_is_shown_as_text(notebook, kernel_cell):
    run = notebook.run(kernel_cell("prints"))
    assert "hello from <thread 0>" in run.text
    assert "hello from &lt;thread 0&gt;" in run.html


def test_python_variables_have_no_place_in_the_header(notebook, kernel_cell):
    notebook.run("n = 32")
    assert isinstance(notebook.run(kernel_cell(header="--block {n} 8")).error, HeaderError)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("%%cuda sten", "%%cuda stencil.opt_2"),
        ("%%cuda stencil.opt_1 --b", "%%cuda stencil.opt_1 --block"),
        ("%%cuda matmul.", "%%cuda matmul.K34"),
    ],
)
def test_tab_completes_the_header(notebook, line, expected):
    with provisionalcompleter():
        found = list(notebook.shell.Completer.completions(line, len(line)))
    assert expected in {line[: c.start] + c.text + line[c.end :] for c in found}
