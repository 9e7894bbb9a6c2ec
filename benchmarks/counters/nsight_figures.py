"""Nsight Compute's figures of launches on an H200, as they are stored in `figures/`.

`nsight-h200.csv` has one row per launch; lines that begin with `#` describe the machine.
`nsight-h200-programs.json.xz` has the programs that the GPU ran, PTX and machine code, because another
version of the compiler generates other code.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import lzma
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["COMPARED", "CONFLICTS", "NsightFigures", "pack"]

FIGURES = Path(__file__).parents[1] / "figures"
ROWS = FIGURES / "nsight-h200.csv"
PROGRAMS = FIGURES / "nsight-h200-programs.json.xz"
FIRST_COLUMNS = ("launch", "program", "kernel", "grid", "block")

# Short names of the compared metrics, and Nsight Compute's.
COMPARED = {
    "global load requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global load sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global store requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global store sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "global reduction sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    "global atomic sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
    "shared load requests": "sass__inst_executed_shared_loads",
    "shared load wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared store requests": "sass__inst_executed_shared_stores",
    "shared store wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "bank conflicts": "derived__memory_l1_wavefronts_shared_excessive",
    "warp instructions": "smsp__inst_executed.sum",
    "thread instructions": "smsp__thread_inst_executed.sum",
    "FFMA": "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    "FADD": "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
    "FMUL": "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
    "registers": "launch__registers_per_thread",
}
# The hardware counter of bank conflicts, in all and by kind. Nsight Compute measures them in different
# replays of the launch.
CONFLICTS = {
    "unit's conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "unit's conflicts, loads": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "unit's conflicts, stores": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
}
STORED = {**COMPARED, **CONFLICTS}


@dataclass(frozen=True)
class NsightFigures:
    """The stored figures.

    Attributes
    ----------
    measured_on : tuple of str
        Device, driver and versions, one line each.
    measured : mapping
        Metrics by launch and short name.
    programs : mapping
        Programs by the name of their source.
    """

    measured_on: tuple[str, ...]
    measured: Mapping[str, Mapping[str, int]]
    programs: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls) -> NsightFigures:
        lines = ROWS.read_text(encoding="utf-8").splitlines()
        table = csv.DictReader(line for line in lines if not line.startswith("#"))
        measured = {row["launch"]: {name: int(row[name]) for name in STORED if row[name]} for row in table}

        programs = json.loads(lzma.decompress(PROGRAMS.read_bytes()))
        for program in programs.values():
            program["cubin"] = bytes.fromhex(program["cubin"])
        return cls(tuple(line[2:] for line in lines if line.startswith("#")), measured, programs)


def pack(files: Sequence[Path], measured_on: Sequence[str]) -> None:
    """Store the compared metrics of results of `nsight`; a later file overrides an earlier one.

    Only launches that `nsight_launches` still makes, by name, are stored.
    """
    from benchmarks.counters.nsight_launches import launches

    by_name: dict[str, dict[str, Any]] = {}
    programs: dict[str, Any] = {}
    versions = []
    for file in files:
        result = json.loads(file.read_text(encoding="utf-8"))
        by_name |= {entry["name"]: entry for entry in result["launches"] if entry["metrics"]}
        programs |= result["programs"]
        versions += result["ncu"]
    stored = [(launch, by_name[launch.name]) for launch in launches() if launch.name in by_name]

    text = io.StringIO()
    text.writelines(f"# {line}\n" for line in (*measured_on, *(f"ncu {v}" for v in dict.fromkeys(versions))))
    table = csv.writer(text, lineterminator="\n")
    table.writerow([*FIRST_COLUMNS, *STORED])
    for launch, entry in stored:
        sizes = ("x".join(map(str, size)) for size in (launch.grid, launch.block))
        metrics = [entry["metrics"].get(metric, "") for metric in STORED.values()]
        table.writerow([launch.name, launch.source.name, launch.kernel, *sizes, *metrics])
    FIGURES.mkdir(exist_ok=True)
    ROWS.write_text(text.getvalue(), encoding="utf-8")

    # Machine code is stored in hexadecimal, because equal parts of two programs then compress well.
    by_source = {
        launch.source.name: {
            "ptx": program["ptx"],
            "cubin": base64.b64decode(program["cubin"]).hex(),
            "entries": program["entries"],
            "resources": program["resources"],
        }
        for launch, _ in stored
        for program in [programs[launch.source.name]]
    }
    PROGRAMS.write_bytes(lzma.compress(json.dumps(by_source).encode(), preset=9))
