"""Compare the performance model with an H200 on kernels of other people.

python -m benchmarks.foreign_model list
python -m benchmarks.foreign_model bundle FOLDER... --out FOLDER
python -m benchmarks.foreign_model store FILE
python -m benchmarks.foreign_model report FOLDER...

`list` prints the launches, and `held out` for one half of the kernels. `bundle` compiles all kernels from
copies of the repositories rodinia, cuda-samples and PolyBench-ACC for `benchmarks.foreign_model.measure`,
which runs on the machine with the GPU. `store` adds its result to the figures. `report` models every launch
and writes docs/foreign_kernels_model.md; the launches are recorded on the simulator once (see
`benchmarks.recordings`), which takes half an hour on two cores.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.foreign_model.bundle import folders_by_suite, write_bundle
from benchmarks.foreign_model.figures import store
from benchmarks.foreign_model.launch_list import foreign_launches
from benchmarks.foreign_model.report import compare_all, write_page

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.foreign_model")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="print the launches")
    bundle = commands.add_parser("bundle", help="compile the kernels for the machine with the GPU")
    bundle.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="a copy of a repository")
    bundle.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    storing = commands.add_parser("store", help="add a result of the measurement to the figures")
    storing.add_argument("file", type=Path)
    reporting = commands.add_parser("report", help="model every launch and write the page")
    reporting.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="a copy of a repository")
    options = parser.parse_args(arguments)

    if options.command == "list":
        for each in foreign_launches():
            print(f"{each.label}{'  held out' if each.held_out else ''}")
        print(f"{len(foreign_launches())} launches, {sum(e.held_out for e in foreign_launches())} held out")
    elif options.command == "store":
        store(options.file)
    elif options.command == "report":
        write_page(compare_all(folders_by_suite(options.folders)))
    else:
        for label, error in write_bundle(folders_by_suite(options.folders), options.out).items():
            print(f"{label}: {error.splitlines()[0]}")


if __name__ == "__main__":
    main()
