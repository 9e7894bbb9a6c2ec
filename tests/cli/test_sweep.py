"""`gpulab sweep`: table, CSV and JSON, and an interrupted sweep."""

from __future__ import annotations

import csv
import io
import json
import re
from math import prod
from pathlib import Path
from typing import Any

import pytest

from gpulab.cli import main
from tests.tiled_device import TiledDevice, set_clock

K4 = "// %%cuda matmul.K4 --block 32 --tile 1 2\n"


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> TiledDevice:
    tiled = TiledDevice()
    monkeypatch.setattr("gpulab.devices.open_device", lambda name=None: tiled)
    set_clock(monkeypatch, kernel_ms=lambda block, tile: 64.0 / prod(block))
    return tiled


def sweep(path: str, *options: str) -> int:
    given = ["--kernel", "K4"] if "--kernel" not in options else []
    return main(["sweep", path, *given, "--sizes", "128", *options])


def table_rows(out: str) -> list[str]:
    """Return the lines of the table that begin with a block, after the mark of the fastest point."""
    return [line for line in out.splitlines() if re.match(r"[* ] +\d+x\d+(x\d+)? ", line)]


def test_fastest_point_is_marked(cu: Any, capsys: Any) -> None:
    assert sweep(cu(K4), "--blocks", "32", "128", "64") == 0
    rows = table_rows(capsys.readouterr().out)
    assert [row.startswith("*") for row in rows] == [False, True, False]


def test_points_without_a_time_are_listed(cu: Any, capsys: Any) -> None:
    assert sweep(cu(K4), "--blocks", "32", "2048", "--tiles", "1x2", "1x4") == 0
    out = capsys.readouterr().out
    assert len(table_rows(out)) == 4
    assert "1,024" in out


def test_csv_has_a_row_for_every_point(cu: Any, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    assert sweep(cu(K4), "--blocks", "32", "64", "2048", "--csv", str(out)) == 0
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert [row["block_x"] for row in rows] == ["32", "64", "2048"]
    assert [row["kernel_ms"] for row in rows] == ["2", "1", ""]
    assert [bool(row["provenance"]) for row in rows] == [True, True, False]
    assert rows[2]["why_not"]


def test_csv_without_a_file_prints_only_the_table(cu: Any, capsys: Any) -> None:
    assert sweep(cu(K4), "--blocks", "32", "64", "--csv") == 0
    assert len(list(csv.DictReader(io.StringIO(capsys.readouterr().out)))) == 2


def test_json_has_every_point(cu: Any, capsys: Any) -> None:
    assert sweep(cu(K4), "--blocks", "32", "64x2", "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data["interrupted"] is False
    assert [(p["block"], p["fastest"]) for p in data["points"]] == [([32, 1, 1], False), ([64, 2, 1], True)]


def test_interrupt_keeps_the_timed_points(
    monkeypatch: pytest.MonkeyPatch, cu: Any, tmp_path: Path, capsys: Any
) -> None:
    def interrupted(block: Any, tile: Any) -> float:
        if block[0] == 128:
            raise KeyboardInterrupt
        return 1.0

    set_clock(monkeypatch, kernel_ms=interrupted)
    out = tmp_path / "out.csv"
    assert sweep(cu(K4), "--blocks", "32", "64", "128", "--csv", str(out)) == 130
    assert [row["block_x"] for row in csv.DictReader(io.StringIO(out.read_text()))] == ["32", "64"]
    streams = capsys.readouterr()
    assert len(table_rows(streams.out)) == 2
    assert "2 of 3" in streams.err


@pytest.mark.parametrize(("correct_tiles", "block", "code"), [((), "32", 1), ((2,), "2048", 2)])
def test_exit_code_separates_wrong_kernel_from_refused_launch(
    cu: Any, device: TiledDevice, correct_tiles: Any, block: str, code: int
) -> None:
    device.correct_tiles = correct_tiles
    assert sweep(cu(K4), "--blocks", block) == code


# Options, and a name or a legal value that the message must contain.
BAD = [
    (["--kernel", "K9"], "matmul.K4"),
    (["--blocks", "wide"], "--blocks"),
    (["--tiles", "1x-2"], "--tiles"),
    (["--sizes", "many"], "matmul"),
    (["--csv", "/no/such/folder/out.csv"], "/no/such/folder/out.csv"),
    (["--iterations", "none"], "--iterations"),
]


@pytest.mark.parametrize(("options", "named"), BAD)
def test_bad_input_is_reported_in_one_line_with_exit_2(
    cu: Any, capsys: Any, options: list[str], named: str
) -> None:
    assert sweep(cu(K4), "--blocks", "32", *options) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err.count("\n") == 1
    assert named in streams.err


def test_missing_file_is_reported_in_one_line_with_exit_2(tmp_path: Path, capsys: Any) -> None:
    assert sweep(str(tmp_path / "none.ipynb")) == 2
    assert capsys.readouterr().err.count("\n") == 1
