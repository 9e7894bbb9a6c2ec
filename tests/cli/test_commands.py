"""Exit codes, JSON and error messages of the commands, with Python functions in place of kernels."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpulab.cli import main
from gpulab.doctor import Item
from gpulab.errors import CompileError, Diagnostic, MemoryFault, UsageError
from gpulab.finding import Finding
from tests.cli.conftest import notebook
from tests.verification.test_verify import correct_stencil

RIGHT = "// %%cuda stencil.naive --block 16 4\n__global__ void block2D_naive() {}\n"
COMMANDS = [
    "doctor",
    "device-query",
    "check",
    "run",
    "sweep",
    "counters",
    "release",
    "grade",
    "report",
    "demo",
]
FINDING = Finding("memcheck", "out_of_bounds_read", 2, (0, 0, 0), (1, 0, 0), "reads A0[-1]")


def zeros(fac: Any, A0: Any, Anext: Any, *sizes: Any) -> None:
    Anext[1:-1, 1:-1, 1:-1] = 0.0


def faults(*args: Any) -> None:
    raise MemoryFault("line 2: reads A0[-1]", [FINDING])


def test_check_of_a_right_kernel_exits_0_and_names_it(on: Any, cu: Any, capsys: Any) -> None:
    on(correct_stencil)
    assert main(["check", cu()]) == 0
    assert "stencil.naive" in capsys.readouterr().out


@pytest.mark.parametrize("function", [zeros, faults, lambda *args: None])
def test_check_of_a_wrong_kernel_exits_1(on: Any, cu: Any, function: Any) -> None:
    on(function)
    assert main(["check", cu()]) == 1


def test_check_draws_the_plane_of_wrong_points(on: Any, cu: Any, capsys: Any) -> None:
    on(zeros)
    main(["check", cu(), "--size", "20x9x4"])
    assert "XXXX" in capsys.readouterr().out


def test_check_json_has_verdict_resources_and_shapes(on: Any, cu: Any, capsys: Any) -> None:
    on(zeros)
    assert main(["check", cu(), "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["correct"] is False
    assert data["technique"] is None
    assert data["reasons"]
    assert (data["problem"], data["variant"], data["device"]) == ("stencil", "naive", "stand-in")
    assert data["resources"]["registers"] == 16
    assert data["shapes"][0]["wrong"] > 0


def test_check_json_has_the_finding_of_a_fault(on: Any, cu: Any, capsys: Any) -> None:
    on(faults)
    main(["check", cu(), "--json"])
    data = json.loads(capsys.readouterr().out)
    assert data["findings"][0]["kind"] == "out_of_bounds_read"
    assert data["findings"][0]["line"] == 2


def test_check_json_stays_valid_with_non_finite_values(on: Any, cu: Any, capsys: Any) -> None:
    def nan(fac: Any, A0: Any, Anext: Any, *sizes: Any) -> None:
        Anext[1:-1, 1:-1, 1:-1] = np.nan

    on(nan)
    main(["check", cu(), "--json"])
    data = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)  # NaN is not valid JSON
    assert data["shapes"][0]["first"]["got"] == "nan"


def test_size_option_replaces_the_check_sizes(on: Any, cu: Any, capsys: Any) -> None:
    on(correct_stencil)
    main(["check", cu(), "--json", "--size", "20x9x4"])
    assert [s["shape"] for s in json.loads(capsys.readouterr().out)["shapes"]] == [[20, 9, 4]]


def test_compile_error_exits_1_with_its_line(on: Any, cu: Any, capsys: Any) -> None:
    device = on(correct_stencil)

    def refuse(*args: Any, **options: Any) -> Any:
        raise CompileError([Diagnostic(2, 5, "error", "expected a `;`", "int x")])

    device.compile = refuse
    assert main(["check", cu(), "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["correct"] is False
    assert data["diagnostics"][0]["line"] == 2
    assert main(["check", cu()]) == 1
    assert "expected a `;`" in capsys.readouterr().out


# Source text, options, and a name or a legal value that the message must contain.
BAD_INPUT = [
    ("// %%cuda stencil.opt_9\n", [], "opt_1"),
    ("// %%cuda laplace.naive\n", [], "matmul, stencil"),
    ("// %%cuda stencil.naive --block 64 32\n", [], "1,024"),
    ("// %%cuda stencil.naive --block\n", [], "--block"),
    ("// %%cuda mine\n", [], "mine"),
    ("__global__ void f() {}\n", [], "%%cuda"),
    (RIGHT, ["--size", "0"], "3"),
    (RIGHT, ["--size", "many"], "65x47x9"),
    (RIGHT, ["--size", ""], "65x47x9"),
]


@pytest.mark.parametrize(("text", "options", "named"), BAD_INPUT)
def test_check_reports_bad_input_in_one_line_with_exit_2(
    on: Any, cu: Any, capsys: Any, text: str, options: list[str], named: str
) -> None:
    on(correct_stencil)
    assert main(["check", cu(text), *options]) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err.count("\n") == 1
    assert named in streams.err


@pytest.mark.parametrize(("text", "options", "named"), BAD_INPUT)
def test_check_json_has_the_error_of_bad_input(
    on: Any, cu: Any, capsys: Any, text: str, options: list[str], named: str
) -> None:
    on(correct_stencil)
    assert main(["check", cu(text), "--json", *options]) == 2
    assert named in json.loads(capsys.readouterr().out)["error"]


@pytest.mark.parametrize("command", ["check", "run"])
@pytest.mark.parametrize("name", ["none.cu", "none.ipynb", "none.txt", "none"])
def test_missing_file_is_reported_in_one_line_with_exit_2(
    on: Any, tmp_path: Path, capsys: Any, command: str, name: str
) -> None:
    on(correct_stencil)
    assert main([command, str(tmp_path / name)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("content", ["", "{", "{}", '{"cells": []}', "[1]"])
def test_malformed_notebook_is_reported_in_one_line_with_exit_2(
    on: Any, cu: Any, capsys: Any, content: str
) -> None:
    on(correct_stencil)
    assert main(["run", cu(content, "lab.ipynb")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("arguments", [["check"], ["fly"], ["check", "x.cu", "--colour"], ["run", "a", "b"]])
def test_wrong_command_line_is_reported_in_one_line_with_exit_2(capsys: Any, arguments: list[str]) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_missing_command_lists_the_commands(capsys: Any) -> None:
    assert main([]) == 2
    out = capsys.readouterr().out
    assert all(command in out for command in COMMANDS)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)])
def test_help_and_version_exit_0(capsys: Any, arguments: list[str]) -> None:
    assert main(arguments) == 0
    assert capsys.readouterr().out


def test_interrupt_exits_130_without_a_message(on: Any, cu: Any, capsys: Any) -> None:
    def interrupt(*args: Any) -> None:
        raise KeyboardInterrupt

    on(interrupt)
    assert main(["check", cu()]) == 130
    assert capsys.readouterr().err == ""


def test_unknown_device_exits_2_and_is_named(monkeypatch: pytest.MonkeyPatch, cu: Any, capsys: Any) -> None:
    def none(name: str | None = None) -> Any:
        raise UsageError(f"there is no device `{name}`")

    monkeypatch.setattr("gpulab.devices.open_device", none, raising=False)
    assert main(["check", cu(), "--device", "tpu"]) == 2
    assert "tpu" in capsys.readouterr().err


def test_run_json_has_every_cell_and_the_speed_up_table(on: Any, cu: Any, capsys: Any) -> None:
    on(correct_stencil)
    path = cu(
        notebook("%%cuda stencil.naive\n", "1 + 1", "%%cuda stencil.opt_1\n", "%%cuda mine\n"), "lab.ipynb"
    )
    assert main(["run", path, "--size", "20x9x4", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [cell["name"] for cell in data["cells"]] == ["stencil.naive", "stencil.opt_1", "mine"]
    rows = data["speedup"]["stencil"]
    assert [(r["variant"], r["before"], r["shape"]) for r in rows] == [
        ("naive", None, [20, 9, 4]),
        ("opt_1", "naive", [20, 9, 4]),
    ]
    assert rows[1]["provenance"]["kind"] == "simulator wall time"


def test_run_continues_after_a_wrong_cell_and_exits_1(on: Any, cu: Any, capsys: Any) -> None:
    on(zeros)
    path = cu(notebook("%%cuda stencil.naive\n", "%%cuda stencil.opt_1\n"), "lab.ipynb")
    assert main(["run", path, "--size", "20x9x4"]) == 1
    out = capsys.readouterr().out
    assert "stencil.naive" in out
    assert "stencil.opt_1" in out


def test_right_values_without_a_requirement_are_not_called_wrong(cu: Any, capsys: Any) -> None:
    naive = Path(__file__).parents[1] / "kernels" / "stencil" / "right" / "naive_early_return.cu"
    path = cu(naive.read_text(encoding="utf-8").replace("naive", "opt_1"))
    assert main(["run", path, "--device", "sim", "--size", "64"]) == 1
    out = capsys.readouterr().out
    assert "a requirement is not satisfied" in out
    assert "wrong" not in out
    assert "speed-up" in out


@pytest.fixture
def installed_without(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that makes `diagnose` find everything except the given items."""

    def set_items(*missing: str) -> None:
        names = ("Python", "NVRTC", "llvmlite", "CuPy", "Device", "Jupyter", "nbgrader")
        items = [
            Item(n, n not in missing, "details", "pip install it" if n in missing else "") for n in names
        ]
        monkeypatch.setattr("gpulab.doctor.diagnose", lambda: items)

    return set_items


def test_doctor_exits_0_if_an_optional_item_is_missing(installed_without: Any, capsys: Any) -> None:
    installed_without("Jupyter")
    assert main(["doctor"]) == 0
    assert "pip install it" in capsys.readouterr().out


@pytest.mark.parametrize("missing", ["NVRTC", "Device"])
def test_doctor_exits_1_if_a_required_item_is_missing(
    installed_without: Any, capsys: Any, missing: str
) -> None:
    installed_without(missing)
    assert main(["doctor", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["works"] is False
    assert [item["name"] for item in data["items"] if not item["ok"]] == [missing]


def test_device_query_prints_text_or_json(on: Any, capsys: Any) -> None:
    on(correct_stencil)
    assert main(["device-query"]) == 0
    assert "32" in capsys.readouterr().out
    assert main(["device-query", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warp_size"] == 32


def test_python_dash_m_gpulab_runs_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gpulab", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("gpulab ")


KERNELS = Path(__file__).parents[1] / "kernels"
STRIDED = str(KERNELS / "matmul" / "right" / "Ks_rows_across_threads.cu")


def test_counters_prints_requests_and_sectors_of_each_line(capsys: Any) -> None:
    assert main(["counters", STRIDED, "--device", "sim"]) == 0
    out = capsys.readouterr().out
    (line,) = [line for line in out.splitlines() if "a[i + n * j] = sum" in line]
    assert line.split()[:2] == ["10", "32.0"]


def test_counters_line_option_draws_32_sectors(capsys: Any) -> None:
    assert main(["counters", STRIDED, "--device", "sim", "--line", "10"]) == 0
    out = capsys.readouterr().out
    assert out.count("|#.......|") == 32


def test_counters_json_has_metrics_and_lines(capsys: Any) -> None:
    assert main(["counters", STRIDED, "--device", "sim", "--size", "32x64x32", "--json"]) == 0
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    assert cell["size"] == "32x64x32"
    assert cell["exact"] is True
    assert cell["provenance"]["kind"] == "counted"
    assert cell["metrics"]["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"] == 32 * 64
    assert {line["line"] for line in cell["lines"]} >= {9, 10}


@pytest.mark.parametrize(("options", "named"), [(["--line", "1"], "9, 10"), (["--size", "3x4"], "matmul")])
def test_counters_reports_bad_options_in_one_line_with_exit_2(
    capsys: Any, options: list[str], named: str
) -> None:
    assert main(["counters", STRIDED, "--device", "sim", *options]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert named in err


def test_counters_refuses_a_kernel_without_a_problem(on: Any, cu: Any, capsys: Any) -> None:
    on(correct_stencil)
    assert main(["counters", cu("// %%cuda mine\n")]) == 2
    assert "mine.cu" in capsys.readouterr().err
