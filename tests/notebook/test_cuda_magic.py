"""`%%cuda` in a real IPython shell: output of a cell, errors, and completion."""

from __future__ import annotations

import re

import pytest
from IPython.core.completer import provisionalcompleter

from gpulab import session
from gpulab.errors import CompileError, HeaderError, LaunchError, MemoryFault, UsageError, WrongResult


def test_correct_kernel_shows_resources_verdict_and_table(notebook, kernel_cell):
    run = notebook.run(kernel_cell("right"))
    assert run.error is None
    assert "24 registers" in run.text
    assert "gp-good" in run.html
    assert "65x47x9" in run.html
    assert re.search(r"<td>opt_1</td>", run.html)


def test_time_is_shown_with_its_provenance(notebook, kernel_cell):
    run = notebook.run(kernel_cell("right"))
    assert "wall time" in run.text


def test_no_outcome_writes_to_stderr(notebook, kernel_cell):
    for behaviour in ("right", "no halo", "reads outside"):
        assert notebook.run(kernel_cell(behaviour)).stderr == ""


def test_wrong_kernel_draws_the_plane_and_raises_wrong_result(notebook, kernel_cell):
    run = notebook.run(kernel_cell("no halo"))
    assert isinstance(run.error, WrongResult)
    assert run.error.verdict is not None
    assert "X" in run.text
    assert "x 31, y 1-45</title>" in run.html


def test_write_to_the_boundary_is_wrong_with_correct_inner_points(notebook, kernel_cell):
    run = notebook.run(kernel_cell("writes the boundary"))
    assert isinstance(run.error, WrongResult)
    assert "gp-stray-fill" in run.html


def test_fault_raises_memory_fault_with_line_and_thread(notebook, kernel_cell):
    run = notebook.run(kernel_cell("reads outside"))
    assert isinstance(run.error, MemoryFault)
    assert run.error.findings
    assert "line 4" in run.text
    assert "(0,3)" in run.text


def test_kernel_without_end_raises_launch_error(notebook, kernel_cell):
    run = notebook.run(kernel_cell("stops"))
    assert isinstance(run.error, LaunchError)
    assert not isinstance(run.error, MemoryFault)


def test_compile_error_shows_the_cell_line_with_a_caret(notebook):
    run = notebook.run('%%cuda stencil.opt_1\n// YOUR CODE HERE\n  #error "write it"\n')
    assert isinstance(run.error, CompileError)
    assert '3 |   #error "write it"\n       |   ^' in run.text
    assert "write it" in str(run.error)


def test_invalid_header_raises_in_one_line(notebook):
    run = notebook.run("%%cuda stencil.opt_9\n// nothing")
    assert isinstance(run.error, HeaderError)
    assert len(run.stdout.strip().splitlines()) == 1


def test_illegal_block_raises_without_output(notebook, kernel_cell):
    run = notebook.run(kernel_cell(header="--block 64 32"))
    assert isinstance(run.error, UsageError)
    assert run.html == ""


def test_error_is_shown_in_one_line_without_traceback(notebook, kernel_cell):
    run = notebook.run(kernel_cell("no halo"))
    assert "WrongResult" in run.stdout
    assert "Traceback" not in run.stdout
    assert len(run.stdout.strip().splitlines()) == 1


@pytest.mark.parametrize("behaviour", ["no halo", "reads outside"])
def test_failure_is_one_card_with_its_details_folded(notebook, kernel_cell, behaviour):
    run = notebook.run(kernel_cell(behaviour))
    assert run.html.count('class="gp-note') == 1
    assert re.search(
        r"<details><summary>registers and occupancy</summary>.*\d+ registers", run.html, re.DOTALL
    )
    assert "<details" not in run.html.partition("gp-note")[0]


def test_last_line_of_a_failure_names_the_cause(notebook, kernel_cell):
    wrong = notebook.run(kernel_cell("no halo"))
    hint = next(result.hint for result in wrong.error.verdict.results if result.hint)
    assert wrong.stdout.strip().endswith(hint[1:])
    fault = notebook.run(kernel_cell("reads outside"))
    assert fault.stdout.count(fault.error.findings[0].message) == 1


def test_long_message_of_a_test_cell_is_shortened_in_the_notebook_only(notebook):
    code = "raise WrongResult('\\n'.join(f'reason {n}' for n in range(9)))"
    run = notebook.run(f"from gpulab.errors import WrongResult\n{code}")
    assert "reason 3\n… and 5 more lines" in run.stdout
    assert "reason 8" not in run.stdout
    assert "reason 8" in str(run.error)


def test_error_in_a_python_cell_shows_its_line_number(notebook):
    run = notebook.run("import gpulab.session\n\ngpulab.session.kernel('nothing')")
    assert "line 3" in run.stdout
    assert "Traceback" not in run.stdout


def test_other_exceptions_keep_their_traceback(notebook):
    assert "Traceback" in notebook.run("1 / 0").stdout


def test_plain_name_is_compiled_and_kept_in_the_session(notebook):
    run = notebook.run("%%cuda mine --block 128\n__global__ void mine() { }")
    assert run.error is None
    assert "24 registers" in run.text
    assert session.kernel("mine").name == "kernel"


def test_second_run_replaces_the_kernel_and_its_table_row(notebook, kernel_cell):
    notebook.run(kernel_cell("right"))
    first = session.kernel("stencil.opt_1")
    run = notebook.run(kernel_cell("right"))
    assert session.kernel("stencil.opt_1") is not first
    assert run.text.count("opt_1 ") == 1 + run.text.count("stencil.opt_1 ")


def test_variant_that_becomes_wrong_leaves_the_table(notebook, kernel_cell):
    notebook.run(kernel_cell("right", "naive"))
    notebook.run(kernel_cell("right"))
    notebook.run(kernel_cell("no halo"))
    run = notebook.run("from gpulab import speedup_table\nspeedup_table('stencil')")
    table, _, left_out = repr(run.result.result).partition("Left out, ")
    assert "naive" in table
    assert "opt_1" not in table
    assert left_out == "because not correct yet: opt_1."


def test_failed_check_marks_the_kernel_until_its_cell_runs_again(notebook, kernel_cell):
    for behaviour in ("no halo", "reads outside"):
        notebook.run(kernel_cell(behaviour))
        assert session.found_incorrect("stencil.opt_1")
        notebook.run(kernel_cell("right"))
        assert not session.found_incorrect("stencil.opt_1")


def test_table_compares_a_variant_with_its_baseline(notebook, kernel_cell):
    notebook.run(kernel_cell("right", "naive"))
    assert "(naive)" in notebook.run(kernel_cell("right")).text


def test_printf_output_is_escaped_in_html(notebook, kernel_cell):
    run = notebook.run(kernel_cell("prints"))
    assert "hello from <thread 0>" in run.text
    assert "hello from &lt;thread 0&gt;" in run.html


def test_python_variables_are_not_expanded_in_the_header(notebook, kernel_cell):
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
def test_header_is_completed(notebook, line, expected):
    with provisionalcompleter():
        completions = list(notebook.shell.Completer.completions(line, len(line)))
    assert expected in {line[: c.start] + c.text + line[c.end :] for c in completions}


def test_plain_kernel_with_the_name_of_a_step_says_how_the_step_is_checked(notebook):
    source = "%%cuda opt_1\n__global__ void opt_1(float* x) { x[0] = 1; }"
    assert "%%cuda stencil.opt_1" in notebook.run(source).text
    assert "not checked" not in notebook.run(source.replace("opt_1", "mine")).text


def test_magic_with_one_percent_sign_is_explained(notebook):
    run = notebook.run("%cuda stencil.opt_1 --block 32 8\n__global__ void k() {}")
    assert isinstance(run.error, HeaderError)
    assert "two percent signs" in str(run.error)


@pytest.mark.parametrize("above", ["// my kernel\n", "# my kernel\n\n", "import numpy as np\n"])
def test_header_below_other_lines_is_explained(notebook, kernel_cell, above):
    run = notebook.run(above + kernel_cell("right"))
    assert isinstance(run.error, HeaderError)
    assert f"in line {above.count(chr(10)) + 1} of the cell" in str(run.error)


@pytest.mark.parametrize("text", ['text = """\n%%cuda k\n"""', "%%capture\n%%cuda k\n__global__ void k() {}"])
def test_header_in_a_text_or_below_another_magic_is_allowed(notebook, text):
    assert notebook.run(text).error is None


def test_cell_with_a_wrong_header_does_not_keep_its_earlier_kernel(notebook, kernel_cell):
    notebook.run(kernel_cell("right"))
    assert session.cell("stencil.opt_1") is not None
    assert isinstance(notebook.run(kernel_cell(header="--block 32, 8")).error, HeaderError)
    assert session.cell("stencil.opt_1") is None
    assert "stencil.opt_1" not in session.kernel_names()


def test_kernel_that_is_launched_from_python_prints_into_the_cell(notebook):
    source = r'__global__ void hello() { printf("hello from %d\n", threadIdx.x); }'
    notebook.run(f"import gpulab\nhello = gpulab.device('sim').compile({source!r})")
    run = notebook.run("hello(1, 2, ())")
    assert run.stdout == "hello from 0\nhello from 1\n"
