"""`gpulab`: the terminal. Commands, what they print, and their exit codes (0 right, 1 wrong, 2 unusable)."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import gpulab
from gpulab.errors import GpulabError, UsageError
from gpulab.terminal import Bar, say, say_heat

if TYPE_CHECKING:
    from gpulab.cell import Cell
    from gpulab.devices.base import Device
    from gpulab.evidence.cell_counts import CellCounts
    from gpulab.evidence.outcome import Outcome
    from gpulab.problems import Shape

__all__ = ["main"]

# Rooms with commands of their own: each has `add_commands(subparsers)`, and sets `run` on its parsers.
_ROOMS = ("gpulab.grading.cli",)

# What `gpulab doctor` must find for kernels to be compiled and run; the rest is for notebooks and grading.
NEEDED = frozenset({"Python", "NVRTC", "Device"})

DEVICE_HELP = "sim, sim:GPU (as in sim:gtx280) or cuda:N; a GPU if one answers, else the simulator"


class Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}. See {self.prog} --help.\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        args = build_parser().parse_args(arguments)
        run = getattr(args, "run", None)
        if run is None:
            build_parser().print_help()
            return 2
        code: int = run(args)
        sys.stdout.flush()
        return code
    except SystemExit as stop:  # argparse: --help ends with 0, a wrong option with 2
        return stop.code if isinstance(stop.code, int) else 2
    except KeyboardInterrupt:
        return 130  # as a shell reports SIGINT
    except BrokenPipeError:  # `gpulab … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except GpulabError as error:
        return refuse(str(error), as_json="--json" in arguments)
    except MemoryError:
        return refuse(
            "there is not enough memory for this; take a smaller --size.", as_json="--json" in arguments
        )


def refuse(message: str, *, as_json: bool) -> int:
    """Say in one line why nothing could be done; with --json also as an object on stdout."""
    line = " ".join(message.split())
    if as_json:
        data = {"correct": None, "error": line, "findings": [], "technique": None, "reasons": [line]}
        say(json.dumps(data, indent=2))
    say(f"gpulab: {line}", "red", error=True)
    return 2


def build_parser() -> argparse.ArgumentParser:
    parser = Parser(prog="gpulab", description="CUDA C labs with or without a GPU.")
    parser.add_argument("--version", action="version", version=f"gpulab {gpulab.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser)

    doctor = commands.add_parser("doctor", help="what is here, what is not, and what to do about it")
    add_json(doctor)
    doctor.set_defaults(run=run_doctor)

    query = commands.add_parser("device-query", help="what a GPU is: limits, sizes, clocks")
    query.add_argument("--device", metavar="NAME", help=DEVICE_HELP)
    add_json(query)
    query.set_defaults(run=run_device_query)

    check = commands.add_parser("check", help="the verdict on one kernel: exit 0 right, 1 wrong, 2 unusable")
    check.add_argument(
        "file", type=Path, metavar="FILE.cu", help="its first line is // %%%%cuda PROBLEM.VARIANT …"
    )
    add_kernel_options(check, "check at this size only, as 128 or 65x47x9")
    check.set_defaults(run=run_check)

    run = commands.add_parser("run", help="run the kernels of a notebook or .cu file: compile, check, table")
    run.add_argument("file", type=Path, metavar="NOTEBOOK_OR_CU")
    add_kernel_options(run, "time at this size, as 128 or 65x47x9")
    run.set_defaults(run=run_run)

    counted = commands.add_parser("counters", help="what each line of a kernel asks of memory")
    counted.add_argument("file", type=Path, metavar="NOTEBOOK_OR_CU")
    counted.add_argument("--line", type=int, metavar="N", help="draw one warp's access for each of line N's")
    add_kernel_options(counted, "count at this size, as 128 or 65x47x9")
    counted.set_defaults(run=run_counters)

    for room in _ROOMS:
        with contextlib.suppress(ModuleNotFoundError):  # what it needs is not installed: `gpulab doctor`
            importlib.import_module(room).add_commands(commands)
    return parser


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_kernel_options(parser: argparse.ArgumentParser, size: str) -> None:
    parser.add_argument("--device", metavar="NAME", help=DEVICE_HELP)
    parser.add_argument("--size", metavar="SIZE", help=size)
    add_json(parser)


def run_doctor(args: argparse.Namespace) -> int:
    """Exit code 1 when kernels cannot be compiled and run here."""
    from gpulab.doctor import diagnose

    with Bar("looking"):
        items = diagnose()
    works = all(item.ok for item in items if item.name in NEEDED)
    if args.json:
        say(json.dumps({"works": works, "items": [asdict(item) for item in items]}, indent=2))
        return 0 if works else 1
    for item in items:
        say(f"{'ok' if item.ok else '--'}  {item.name:<10}{item.detail}", "green" if item.ok else "yellow")
        if item.remedy:
            say(f"{'':14}what to do: {item.remedy}")
    if works:
        say("Kernels can be compiled and run here.", "bold green")
    else:
        say("Kernels cannot be compiled and run here yet.", "bold red")
    return 0 if works else 1


def run_device_query(args: argparse.Namespace) -> int:
    from gpulab.devices import open_device
    from gpulab.devices.query import device_query

    properties = device_query(open_device(args.device))
    say(json.dumps(properties.as_dict(), indent=2) if args.json else "\n".join(properties.lines()))
    return 0


def run_check(args: argparse.Namespace) -> int:
    from gpulab.cell import read_cells
    from gpulab.devices import open_device
    from gpulab.problems import problem

    if args.file.suffix != ".cu":
        raise UsageError(
            f"{args.file}: `gpulab check` takes a .cu file; for a notebook there is `gpulab run`."
        )
    cell = read_cells(args.file)[0]
    if cell.header.problem is None:
        raise UsageError(
            f"{args.file}: `{cell.header.name}` belongs to no problem: there is nothing to check it against; "
            "its header must name PROBLEM.VARIANT."
        )
    shapes = [problem(cell.header.problem).parse_shape(args.size)] if args.size is not None else None
    device = open_device(args.device)
    outcome = judged(cell, device, args.device, shapes)
    if outcome.refused:
        return refuse(outcome.refused, as_json=args.json)
    if args.json:
        say(json.dumps(outcome.as_dict(), indent=2))
    else:
        show(outcome, device)
    return outcome.exit_code


def run_run(args: argparse.Namespace) -> int:
    """Exit code 2 when a cell cannot be used as asked, 1 when one is wrong."""
    from gpulab.cell import read_cells
    from gpulab.devices import open_device
    from gpulab.evidence.speedup import SpeedupTable
    from gpulab.notebook.speedup_view import speedup_view
    from gpulab.problems import problem

    cells = read_cells(args.file)
    sizes: dict[str | None, Shape | None] = {None: None}
    for name in {cell.header.problem for cell in cells} - {None}:
        sizes[name] = problem(str(name)).parse_shape(args.size) if args.size is not None else None
    device = open_device(args.device)
    tables: dict[str, SpeedupTable] = {}
    outcomes = []
    for cell in cells:
        outcome = judged(cell, device, args.device, time_at=sizes[cell.header.problem], timed=True)
        outcomes.append(outcome)
        if not args.json:
            show(outcome, device)
        if outcome.timing and cell.header.problem:
            tables.setdefault(cell.header.problem, SpeedupTable(cell.header.problem)).add(outcome.timing)
    if args.json:
        rows = {name: table.as_list() for name, table in tables.items()}
        data = {"device": device.name, "cells": [o.as_dict() for o in outcomes], "speedup": rows}
        say(json.dumps(data, indent=2))
    else:
        for table in tables.values():
            say(f"\n{speedup_view(table).text}")
    return max(outcome.exit_code for outcome in outcomes)


def run_counters(args: argparse.Namespace) -> int:
    """Count the kernels of a file on the simulator and print them line by line."""
    from gpulab.cell import read_cells
    from gpulab.devices import open_device
    from gpulab.evidence.cell_counts import count_cell
    from gpulab.evidence.check import compile_cell
    from gpulab.problems import problem

    cells = [cell for cell in read_cells(args.file) if cell.header.problem is not None]
    if not cells:
        raise UsageError(
            f"{args.file}: no kernel of it belongs to a problem, so nobody knows how to launch it."
        )
    device = open_device(args.device)
    found = []
    for cell in cells:
        known = problem(str(cell.header.problem))
        shape = known.parse_shape(args.size) if args.size is not None else None
        with Bar(f"counting {cell.header.name}"):
            counts = count_cell(cell, compile_cell(cell, device), device, shape)
        if counts is None:
            raise UsageError(f"{cell.origin}: {device.name} has no PTX of this kernel to count.")
        found.append({"name": cell.header.name, "origin": cell.origin, **counts.as_dict()})
        if not args.json:
            show_counts(cell, counts, args.line)
    if args.json:
        say(json.dumps({"device": device.name, "cells": found}, indent=2))
    return 0


def judged(
    cell: Cell,
    device: Device,
    device_name: str | None,
    shapes: Sequence[Shape] | None = None,
    *,
    time_at: Shape | None = None,
    timed: bool = False,
) -> Outcome:
    """A cell's outcome, with a progress bar; on a GPU from a process of its own."""
    from gpulab.evidence.isolated import outcome_in_process
    from gpulab.evidence.outcome import outcome_of

    with Bar(f"checking {cell.header.name}") as step:
        if device.kind == "cuda":
            return outcome_in_process(cell, device_name, device.name, shapes, time_at=time_at, timed=timed)
        return outcome_of(cell, device, shapes, time_at=time_at, timed=timed, progress=step)


def show(outcome: Outcome, device: Device) -> None:
    """One cell's outcome in words, as the notebook has it."""
    from gpulab.errors import CompileError
    from gpulab.notebook.cell_view import checked_view
    from gpulab.notebook.compile_view import compile_error_view

    cell = outcome.cell
    header = f"{cell.header} ({cell.origin}) on {outcome.device}"
    words = {0: "right" if cell.header.problem else "compiled", 1: "wrong", 2: "cannot be used as asked"}
    say(f"{header}: {words[outcome.exit_code]}", "bold green" if outcome.correct else "bold red")
    if outcome.result is not None:
        body = checked_view(cell, outcome.result, device).text
    elif outcome.diagnostics:
        body = compile_error_view(CompileError(outcome.diagnostics)).text
    else:
        body = "\n".join(outcome.reasons)
    say(body)


def show_counts(cell: Cell, counts: CellCounts, line: int | None) -> None:
    """A kernel's counts as the notebook has them; with a line, the drawings of its accesses alone."""
    from gpulab.notebook.counts_view import drawings_view, heat_text, totals_view

    say(f"{cell.header} ({cell.origin})", "bold")
    if line is None:
        say(totals_view(counts).text)
        say_heat([[], *heat_text(counts)])
        return
    drawn = [one for one in counts.lines if one.accesses]
    chosen = next((one for one in drawn if one.number == line), None)
    if chosen is None:
        numbers = ", ".join(str(one.number) for one in drawn) or "none"
        raise UsageError(f"line {line} of {cell.header.name} accesses no memory; lines that do: {numbers}.")
    say(f"{line:>4} | {chosen.text}")
    say(drawings_view(chosen).text)
    say(f"All figures {counts.origin}.")
