"""`gpulab run --kernel`: one kernel at one size, and everything that can be wrong with the question."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from gpulab.cli import main
from tests.kernels.corpus import FOLDER
from tests.tiled_device import TiledDevice, set_clock

K4 = "// %%cuda matmul.K4 --block 32 --tile 1 2\n"
SIZE = ["--size", "64x128x64"]


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> TiledDevice:
    made = TiledDevice()
    monkeypatch.setattr("gpulab.devices.open_device", lambda name=None: made)
    set_clock(monkeypatch, kernel_ms=2.0, copies_ms=2.0)
    return made


def run(*options: str) -> int:
    return main(["run", *options])


def notebook(*sources: str) -> str:
    return json.dumps({"cells": [{"cell_type": "code", "source": s} for s in sources], "nbformat": 4})


def one(capsys: Any) -> dict[str, Any]:
    (kernel,) = json.loads(capsys.readouterr().out)["kernels"]
    return dict(kernel)


def test_it_prints_the_launch_and_a_line_for_each_iteration(cu: Any, capsys: Any) -> None:
    assert run(cu(K4), "--kernel", "K4", *SIZE, "--iterations", "2") == 0
    facts = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert ["size", "64x128x64"] in facts
    assert ["grid", "2x64x1"] in facts
    assert ["block", "32x1x1"] in facts
    assert ["tile", "1x2x1"] in facts
    assert ["flops", str(2 * 64 * 128 * 64)] in facts
    assert ["device", "stand-in"] in facts
    assert [fact for fact in facts if fact[:1] in (["1"], ["2"], ["3"])] == [["1", "4"], ["2", "4"]]


def test_the_json_has_both_rates_of_every_iteration(cu: Any, capsys: Any) -> None:
    assert run(cu(K4), "--kernel", "matmul.K4", *SIZE, "--json") == 0
    kernel = one(capsys)
    assert (kernel["correct"], kernel["grid"]) == (True, [2, 64, 1])
    assert [i["kernel_ms"] for i in kernel["iterations"]] == [2.0, 2.0, 2.0]
    assert kernel["overall_gflops"] == pytest.approx(kernel["kernel_gflops"] / 2)
    assert kernel["provenance"]["kind"] == "modelled"


def test_the_csv_has_a_row_for_every_iteration(cu: Any, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    assert run(cu(K4), "--kernel", "K4", *SIZE, "--iterations", "4", "--csv", str(out)) == 0
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert [row["iteration"] for row in rows] == ["1", "2", "3", "4"]
    assert [rows[0][name] for name in ("n", "m", "p", "block_x", "tile_y")] == ["64", "128", "64", "32", "2"]
    assert (rows[0]["kernel_ms"], rows[0]["overall_ms"]) == ("2", "4")
    assert rows[0]["provenance"].startswith("modelled")


def test_the_csv_without_a_file_is_all_that_is_printed(cu: Any, capsys: Any) -> None:
    assert run(cu(K4), "--kernel", "K4", *SIZE, "--csv") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 3
    assert {row["kernel"] for row in rows} == {"matmul.K4"}


def test_block_and_tile_take_the_place_of_the_headers(cu: Any, capsys: Any) -> None:
    assert run(cu(K4), "--kernel", "K4", *SIZE, "--json", "--block", "64", "--tile", "1", "1") == 0
    kernel = one(capsys)
    assert (kernel["block"], kernel["tile"], kernel["grid"]) == ([64, 1, 1], [1, 1, 1], [1, 128, 1])


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["K1"], ["K1"]),
        (["matmul.K4", "K1"], ["K4", "K1"]),
        (["k1"], ["K1"]),
        (["all"], ["K1", "K4"]),
        (["K1", "all"], ["K1", "K4"]),
    ],
)
def test_kernels_are_chosen_by_name(cu: Any, capsys: Any, names: list[str], found: list[str]) -> None:
    path = cu(notebook("%%cuda matmul.K1\n", "%%cuda mine\n", "%%cuda matmul.K4\n"), "lab.ipynb")
    assert run(path, "--json", *SIZE, "--kernel", *names) == 0
    data = json.loads(capsys.readouterr().out)
    assert [kernel["variant"] for kernel in data["kernels"]] == found


def test_of_cells_with_one_name_the_last_is_meant(cu: Any, capsys: Any) -> None:
    path = cu(notebook("%%cuda matmul.K1\n", "%%cuda matmul.K1 --block 64\n"), "lab.ipynb")
    assert run(path, "--json", *SIZE, "--kernel", "K1") == 0
    assert one(capsys)["origin"] == "lab.ipynb, cell 2"


def test_the_file_may_stand_behind_the_kernels(cu: Any, capsys: Any) -> None:
    assert run(*SIZE, "--kernel", "K4", cu(K4)) == 0
    assert "matmul.K4" in capsys.readouterr().out


def test_a_wrong_kernel_is_shown_and_not_timed(cu: Any, capsys: Any, device: TiledDevice) -> None:
    device.takes = ()
    assert run(cu(K4), "--kernel", "K4", *SIZE) == 1
    out = capsys.readouterr().out
    assert "wrong" in out
    assert "flops" not in out


def test_a_wrong_kernel_is_timed_when_nobody_asks_for_the_check(
    cu: Any, capsys: Any, device: TiledDevice
) -> None:
    device.takes = ()
    assert run(cu(K4), "--kernel", "K4", *SIZE, "--no-check", "--json") == 0
    kernel = one(capsys)
    assert kernel["correct"] is None
    assert kernel["kernel_ms"] == 2.0


def test_one_wrong_kernel_does_not_keep_the_others_from_being_timed(
    cu: Any, capsys: Any, device: TiledDevice
) -> None:
    device.takes = (2,)
    path = cu(notebook("%%cuda matmul.K1\n", "%%cuda matmul.K4 --tile 1 2\n"), "lab.ipynb")
    assert run(path, "--kernel", "all", *SIZE, "--json") == 1
    wrong, right = json.loads(capsys.readouterr().out)["kernels"]
    assert (wrong["correct"], wrong["iterations"]) == (False, [])
    assert right["kernel_ms"] == 2.0


BAD = [
    (["--kernel", "K9"], "matmul.K4"),
    (["--kernel", "K4", "--block", "2048"], "at most 1024"),
    (["--kernel", "K4", "--block", "64", "32"], "at most 1024"),
    (["--kernel", "K4", "--block", "0"], "from 1 on"),
    (["--kernel", "K4", "--block", "1", "2", "3", "4"], "one to three"),
    (["--kernel", "K4", "--tile", "1", "many"], "for --tile"),
    (["--kernel", "K4", "--tile", "1", "4"], "does not take this --tile"),
    (["--kernel", "K4", "--size", "100"], "take 128x128x128"),
    (["--kernel", "K4", "--size", "-5"], "at least 1"),
    (["--kernel", "K4", "--size", "3x4"], "matmul size"),
    (["--kernel", "K4", "--iterations", "0"], "from 1 on"),
    (["--kernel", "K4", "--csv", "/no/such/folder/out.csv"], "give --csv another file"),
    (["--kernel", "K4", "--csv", "mine.cu"], "another name"),
    (["--block", "32"], "--kernel"),
    (["--csv"], "--kernel"),
    (["--no-check"], "--kernel"),
]


@pytest.mark.parametrize(("options", "said"), BAD)
def test_bad_input_is_one_line_and_exit_2(cu: Any, capsys: Any, options: list[str], said: str) -> None:
    size = [] if "--size" in options else SIZE
    assert run(cu(K4), *size, *options) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err.count("\n") == 1
    assert said in streams.err


@pytest.mark.parametrize("options", [[], ["--kernel", "K4"]])
def test_a_file_must_be_named(capsys: Any, options: list[str]) -> None:
    assert run(*options) == 2
    assert "notebook or .cu file" in capsys.readouterr().err


def test_json_and_csv_are_not_printed_into_each_other(cu: Any, capsys: Any) -> None:
    assert run(cu(K4), "--kernel", "K4", *SIZE, "--json", "--csv") == 2
    assert "both print" in json.loads(capsys.readouterr().out)["error"]


def test_what_cannot_be_launched_is_an_error_in_the_json(cu: Any, capsys: Any) -> None:
    assert run(cu(K4), "--kernel", "K4", "--size", "100", "--json") == 2
    assert "take 128x128x128" in json.loads(capsys.readouterr().out)["error"]


def test_a_kernel_that_cannot_be_launched_does_not_keep_the_others_from_it(cu: Any, capsys: Any) -> None:
    path = cu(notebook("%%cuda matmul.K1\n", "%%cuda matmul.K4g\n"), "lab.ipynb")
    assert run(path, "--kernel", "all", "--size", "100", "--json") == 2
    streams = capsys.readouterr()
    refused, timed = json.loads(streams.out)["kernels"]
    assert "take 128x128x128" in refused["error"]
    assert timed["kernel_ms"] == 2.0
    assert streams.err.count("\n") == 1


def test_a_notebook_without_a_problems_kernel_says_so(cu: Any, capsys: Any) -> None:
    assert run(cu("// %%cuda mine\n"), "--kernel", "all") == 2
    assert "belongs to a problem" in capsys.readouterr().err


def test_the_simulators_time_is_modelled_and_the_stencil_has_its_bandwidth(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.undo()
    path = str(FOLDER / "stencil" / "right" / "naive_macros.cu")
    options = ["--size", "96x64x34", "--device", "sim:t10", "--no-check", "--json"]
    assert run(path, "--kernel", "naive", *options) == 0
    kernel = one(capsys)
    assert kernel["provenance"]["kind"] == "modelled"
    assert kernel["gb_s"] > 0
    assert kernel["points_s"] > 0
