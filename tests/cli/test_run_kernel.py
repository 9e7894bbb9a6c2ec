"""`gpulab run --kernel`: selection, output of each launch, and errors."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from gpulab.cli import main
from tests.cli.conftest import notebook
from tests.kernels.corpus import FOLDER
from tests.tiled_device import TiledDevice, set_clock

K4 = "// %%cuda matmul.K4 --block 32 --tile 1 2\n"
SIZE = ["--size", "64x128x64"]


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> TiledDevice:
    tiled = TiledDevice()
    monkeypatch.setattr("gpulab.devices.open_device", lambda name=None: tiled)
    set_clock(monkeypatch, kernel_ms=2.0, copies_ms=2.0)
    return tiled


def run(*options: str) -> int:
    return main(["run", *options])


def only_kernel(capsys: Any) -> dict[str, Any]:
    (kernel,) = json.loads(capsys.readouterr().out)["kernels"]
    return dict(kernel)


def test_launch_configuration_and_each_iteration_are_printed(cu: Any, capsys: Any) -> None:
    assert run(cu(K4), "--kernel", "K4", *SIZE, "--iterations", "2") == 0
    facts = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert ["size", "64x128x64"] in facts
    assert ["grid", "2x64x1"] in facts
    assert ["block", "32x1x1"] in facts
    assert ["tile", "1x2x1"] in facts
    assert ["flops", str(2 * 64 * 128 * 64)] in facts
    assert ["device", "stand-in"] in facts
    assert [fact for fact in facts if fact[:1] in (["1"], ["2"], ["3"])] == [["1", "4.00"], ["2", "4.00"]]


def test_json_has_kernel_and_overall_rates_of_every_iteration(cu: Any, capsys: Any) -> None:
    assert run(cu(K4), "--kernel", "matmul.K4", *SIZE, "--json") == 0
    kernel = only_kernel(capsys)
    assert (kernel["correct"], kernel["grid"]) == (True, [2, 64, 1])
    assert [iteration["kernel_ms"] for iteration in kernel["iterations"]] == [2.0, 2.0, 2.0]
    assert kernel["overall_gflops"] == pytest.approx(kernel["kernel_gflops"] / 2)
    assert kernel["provenance"]["kind"] == "modelled"


def test_csv_has_a_row_for_every_iteration(cu: Any, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    assert run(cu(K4), "--kernel", "K4", *SIZE, "--iterations", "4", "--csv", str(out)) == 0
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert [row["iteration"] for row in rows] == ["1", "2", "3", "4"]
    assert [rows[0][name] for name in ("n", "m", "p", "block_x", "tile_y")] == ["64", "128", "64", "32", "2"]
    assert (rows[0]["kernel_ms"], rows[0]["overall_ms"]) == ("2", "4")
    assert rows[0]["provenance"].startswith("modelled")


def test_csv_without_a_file_prints_only_the_table(cu: Any, capsys: Any) -> None:
    assert run(cu(K4), "--kernel", "K4", *SIZE, "--csv") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 3
    assert {row["kernel"] for row in rows} == {"matmul.K4"}


def test_block_and_tile_options_replace_the_header(cu: Any, capsys: Any) -> None:
    assert run(cu(K4), "--kernel", "K4", *SIZE, "--json", "--block", "64", "--tile", "1", "1") == 0
    kernel = only_kernel(capsys)
    assert (kernel["block"], kernel["tile"], kernel["grid"]) == ([64, 1, 1], [1, 1, 1], [1, 128, 1])


@pytest.mark.parametrize(
    ("names", "selected"),
    [
        (["K1"], ["K1"]),
        (["matmul.K4", "K1"], ["K4", "K1"]),
        (["k1"], ["K1"]),
        (["all"], ["K1", "K4"]),
        (["K1", "all"], ["K1", "K4"]),
    ],
)
def test_kernels_are_selected_by_name(cu: Any, capsys: Any, names: list[str], selected: list[str]) -> None:
    path = cu(notebook("%%cuda matmul.K1\n", "%%cuda mine\n", "%%cuda matmul.K4\n"), "lab.ipynb")
    assert run(path, "--json", *SIZE, "--kernel", *names) == 0
    data = json.loads(capsys.readouterr().out)
    assert [kernel["variant"] for kernel in data["kernels"]] == selected


def test_last_cell_of_a_repeated_name_is_selected(cu: Any, capsys: Any) -> None:
    path = cu(notebook("%%cuda matmul.K1\n", "%%cuda matmul.K1 --block 64\n"), "lab.ipynb")
    assert run(path, "--json", *SIZE, "--kernel", "K1") == 0
    assert only_kernel(capsys)["origin"] == "lab.ipynb, cell 2"


def test_file_may_follow_the_kernel_names(cu: Any, capsys: Any) -> None:
    assert run(*SIZE, "--kernel", "K4", cu(K4)) == 0
    assert "matmul.K4" in capsys.readouterr().out


def test_wrong_kernel_is_printed_and_not_timed(cu: Any, capsys: Any, device: TiledDevice) -> None:
    device.correct_tiles = ()
    assert run(cu(K4), "--kernel", "K4", *SIZE) == 1
    out = capsys.readouterr().out
    assert "matmul.K4" in out
    assert "flops" not in out


def test_wrong_kernel_is_timed_with_no_check(cu: Any, capsys: Any, device: TiledDevice) -> None:
    device.correct_tiles = ()
    assert run(cu(K4), "--kernel", "K4", *SIZE, "--no-check", "--json") == 0
    kernel = only_kernel(capsys)
    assert kernel["correct"] is None
    assert kernel["kernel_ms"] == 2.0


def test_other_kernels_are_timed_after_a_wrong_one(cu: Any, capsys: Any, device: TiledDevice) -> None:
    device.correct_tiles = (2,)
    path = cu(notebook("%%cuda matmul.K1\n", "%%cuda matmul.K4 --tile 1 2\n"), "lab.ipynb")
    assert run(path, "--kernel", "all", *SIZE, "--json") == 1
    wrong, right = json.loads(capsys.readouterr().out)["kernels"]
    assert (wrong["correct"], wrong["iterations"]) == (False, [])
    assert right["kernel_ms"] == 2.0


# Options, and a name or a legal value that the message must contain.
BAD = [
    (["--kernel", "K9"], "matmul.K4"),
    (["--kernel", "K4", "--block", "2048"], "1,024"),
    (["--kernel", "K4", "--block", "64", "32"], "1,024"),
    (["--kernel", "K4", "--block", "0"], "--block"),
    (["--kernel", "K4", "--block", "1", "2", "3", "4"], "--block"),
    (["--kernel", "K4", "--tile", "1", "many"], "--tile"),
    (["--kernel", "K4", "--tile", "1", "4"], "--tile"),
    (["--kernel", "K4", "--size", "100"], "128x128x128"),
    (["--kernel", "K4", "--size", "-5"], "1"),
    (["--kernel", "K4", "--size", "3x4"], "matmul"),
    (["--kernel", "K4", "--iterations", "0"], "--iterations"),
    (["--kernel", "K4", "--csv", "/no/such/folder/out.csv"], "/no/such/folder/out.csv"),
    (["--kernel", "K4", "--csv", "mine.cu"], "mine.cu"),
    (["--block", "32"], "--kernel"),
    (["--csv"], "--kernel"),
    (["--no-check"], "--kernel"),
]


@pytest.mark.parametrize(("options", "named"), BAD)
def test_bad_input_is_reported_in_one_line_with_exit_2(
    cu: Any, capsys: Any, options: list[str], named: str
) -> None:
    size = [] if "--size" in options else SIZE
    assert run(cu(K4), *size, *options) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err.count("\n") == 1
    assert named in streams.err


@pytest.mark.parametrize("options", [[], ["--kernel", "K4"]])
def test_missing_file_argument_exits_2(capsys: Any, options: list[str]) -> None:
    assert run(*options) == 2
    assert "FILE" in capsys.readouterr().err


def test_json_and_csv_are_not_both_printed(cu: Any, capsys: Any) -> None:
    assert run(cu(K4), "--kernel", "K4", *SIZE, "--json", "--csv") == 2
    assert "--csv" in json.loads(capsys.readouterr().out)["error"]


def test_json_has_the_error_of_a_refused_launch(cu: Any, capsys: Any) -> None:
    assert run(cu(K4), "--kernel", "K4", "--size", "100", "--json") == 2
    assert "128x128x128" in json.loads(capsys.readouterr().out)["error"]


def test_other_kernels_are_timed_after_a_refused_launch(cu: Any, capsys: Any) -> None:
    path = cu(notebook("%%cuda matmul.K1\n", "%%cuda matmul.K4g\n"), "lab.ipynb")
    assert run(path, "--kernel", "all", "--size", "100", "--json") == 2
    streams = capsys.readouterr()
    refused, timed = json.loads(streams.out)["kernels"]
    assert "128x128x128" in refused["error"]
    assert timed["kernel_ms"] == 2.0
    assert streams.err.count("\n") == 1


def test_file_without_a_problem_kernel_is_refused(cu: Any, capsys: Any) -> None:
    assert run(cu("// %%cuda mine\n"), "--kernel", "all") == 2
    assert "mine.cu" in capsys.readouterr().err


def test_simulator_time_is_modelled_with_bandwidth_and_point_rate(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.undo()
    path = str(FOLDER / "stencil" / "right" / "naive_macros.cu")
    options = ["--size", "96x64x34", "--device", "sim:t10", "--no-check", "--json"]
    assert run(path, "--kernel", "naive", *options) == 0
    kernel = only_kernel(capsys)
    assert kernel["provenance"]["kind"] == "modelled"
    assert kernel["gb_s"] > 0
    assert kernel["points_s"] > 0
