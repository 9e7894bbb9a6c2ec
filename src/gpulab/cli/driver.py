"""`gpulab run --kernel`: chosen kernels at one size, block and tile; each launch with its GFLOPS."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpulab.cli.check_progress import judged, show
from gpulab.cli.options import add_csv, at_least_one, chosen, numbers
from gpulab.cli.plot_table import PlotTable
from gpulab.cli.refusal import refuse
from gpulab.errors import UsageError
from gpulab.views.terminal import Bar, say

if TYPE_CHECKING:
    from gpulab.cell import Cell
    from gpulab.devices.base import Device
    from gpulab.problems import Shape
    from gpulab.profiling.point import Point
    from gpulab.verification.outcome import Outcome

__all__ = ["add_driver_options", "drive", "refuse_driver_options"]

ITERATIONS = 3
# What only means something with --kernel.
OWN_OPTIONS = ("block", "tile", "iterations", "no_check", "csv")


def add_driver_options(parser: argparse.ArgumentParser) -> None:
    """The options of `gpulab run` that belong to --kernel."""
    group = parser.add_argument_group(
        "one kernel at one size",
        "With --kernel: its size, grid, block, tile and operations, and for each launch the milliseconds and "
        "GFLOPS, of the kernel alone and overall (with the copies to the device and back).",
    )
    group.add_argument(
        "--kernel", nargs="+", metavar="NAME", help="K4, matmul.K4, several of them, or all of the file"
    )
    group.add_argument(
        "--block",
        nargs="+",
        metavar="N",
        help="threads of a block, X [Y [Z]]; left out: as the header has it",
    )
    group.add_argument(
        "--tile", nargs="+", metavar="N", help="points of a thread, X [Y [Z]]; left out: as the header has it"
    )
    group.add_argument(
        "--iterations", type=at_least_one, metavar="N", help=f"launches that are timed; {ITERATIONS}"
    )
    group.add_argument("--no-check", action="store_true", help="time it without checking its values first")
    add_csv(parser, "launch")


def refuse_driver_options(args: argparse.Namespace) -> None:
    """`UsageError` for an option that needs --kernel and stands without it."""
    for name in OWN_OPTIONS:
        if getattr(args, name) not in (None, False):
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} is for one kernel: say which with --kernel, as in --kernel K4.")


def drive(args: argparse.Namespace, file: Path) -> int:
    """Exit code 1 when a kernel is wrong and so was not timed, 2 when one cannot be launched as asked."""
    from gpulab.cell import read_cells
    from gpulab.devices import open_device

    if args.json and args.csv == "-":
        raise UsageError("--json and --csv would both print: give --csv a file, or leave one of them out.")
    cells = chosen(read_cells(file), args.kernel, file)
    device = open_device(args.device)
    quiet = args.json or args.csv == "-"
    found: list[dict[str, Any]] = []
    code = 0

    def refused(cell: Cell, error: UsageError) -> int:
        if len(cells) == 1:
            raise error
        found.append({"name": cell.header.name, "correct": None, "error": str(error)})
        return refuse(f"{cell.header.name}: {error}", as_json=False)

    plans = []
    for cell in cells:
        try:
            plans.append((cell, *_planned(cell, args, device)))
        except UsageError as error:
            code = refused(cell, error)
    problems = list(dict.fromkeys(str(cell.header.problem) for cell in cells))
    opened = PlotTable(args.csv, problems, iterations=True) if args.csv is not None else nullcontext()
    with opened as table:
        for cell, here, shape in plans:
            try:
                right = args.no_check or _right(here, cell, args, device, quiet=quiet)
                point = _timed(here, shape, args, device) if right else None
            except UsageError as error:
                code = max(code, refused(cell, error))
                continue
            code = max(code, int(point is None or bool(point.why_not)))
            found.append(_as_dict(here, point, checked=not args.no_check))
            if point is None:
                continue
            if point.why_not:
                say(f"{cell.header.name} was not timed: {point.why_not}", "red", error=True)
                continue
            if table is not None:
                table.add(point)
            if not quiet:
                _show(here, point, device, checked=not args.no_check)
    if args.json:
        say(json.dumps({"device": device.name, "kernels": found}, indent=2))
    return code


def _planned(cell: Cell, args: argparse.Namespace, device: Device) -> tuple[Cell, Shape]:
    """The cell with the block and tile that are meant, and the size; `UsageError` for what cannot be."""
    from gpulab.config import launch_geometry
    from gpulab.problems import problem
    from gpulab.profiling.point import require_size, with_geometry

    block = numbers(args.block, "--block", 1) if args.block else ()
    tile = numbers(args.tile, "--tile", 0) if args.tile else ()
    here = with_geometry(cell, block, tile)
    header = here.header
    assert header.problem
    assert header.variant
    assert header.block
    assert header.tile
    known = problem(header.problem)
    if args.size is not None:
        shape = known.parse_shape(args.size)
    else:
        shape = known.timing_shape(header.variant, header.block, header.tile, device.kind)
    launch_geometry(known, shape, header.block, header.tile, device.spec)
    require_size(known, header.variant, shape, header.block, header.tile)
    return here, shape


def _right(here: Cell, cell: Cell, args: argparse.Namespace, device: Device, *, quiet: bool) -> bool:
    """Whether the values are right; a wrong kernel is shown.

    Raises `UsageError` for a kernel that is wrong only with the block or tile that was asked for.
    """
    outcome = judged(here, device, args.device)
    if outcome.refused:
        raise UsageError(outcome.refused)
    if _values_right(outcome):
        if not outcome.correct and not quiet:  # right values by other means than its step asks for
            for reason in outcome.reasons:
                say(f"{here.header.name} has right values, but: {reason}", "yellow")
        return True
    if here.header != cell.header and _values_right(judged(cell, device, args.device)):
        asked = " and ".join(f"--{name}" for name in ("block", "tile") if getattr(args, name))
        raise UsageError(
            f"the text of {cell.header.name} does not take this {asked}: it is right as "
            f"`{cell.header}` and wrong as `{here.header}`. Leave {asked} out, "
            "or write the kernel with BLOCK_X, TILE_Y and so on."
        )
    if not quiet:
        show(outcome, device)
    else:
        say(f"{here.header.name} is wrong: {' '.join(outcome.reasons[:1])}", "red", error=True)
    return False


def _values_right(outcome: Outcome) -> bool:
    """Whether the kernel computes what it should, by whatever technique."""
    return bool(outcome.result and outcome.result.verdict and outcome.result.verdict.correct)


def _timed(cell: Cell, shape: Shape, args: argparse.Namespace, device: Device) -> Point:
    from gpulab.profiling.bench import Bench

    iterations = args.iterations or ITERATIONS
    with (
        Bar(f"timing {cell.header.name}"),
        Bench(device, args.device, check=False, iterations=iterations) as bench,
    ):
        point = bench.point(cell, shape)
    if point.why_not and not point.wrong:
        raise UsageError(point.why_not)
    return point


def _as_dict(cell: Cell, point: Point | None, *, checked: bool) -> dict[str, Any]:
    """A kernel's part of the JSON; `correct` is None where nobody looked."""
    header = cell.header
    data: dict[str, Any] = {"name": header.name, "origin": cell.origin}
    if point is None:
        return data | {"correct": False, "block": header.block, "tile": header.tile, "iterations": []}
    rates = [
        {name: getattr(one, name) for name in type(one).__dataclass_fields__} for one in point.iterations
    ]
    correct = None if not checked else not point.wrong
    return data | {"correct": correct} | point.as_dict() | {"iterations": rates}


def _show(cell: Cell, point: Point, device: Device, *, checked: bool) -> None:
    """What was launched, then a line for each launch."""
    from gpulab.problems import problem
    from gpulab.views.tables.point_view import launches_view, source_of

    known = problem(point.problem)
    say(f"{cell.header.name} ({cell.origin})", "bold")
    facts: Sequence[tuple[str, str]] = (
        ("size", f"{known.format_shape(point.shape)} ({', '.join(known.axes)})"),
        ("grid", _times(point.grid)),
        ("block", _times(point.block)),
        ("tile", _times(point.tile)),
        ("flops", str(point.flops)),
        ("device", device.name),
        ("values", "right on the sizes of the check" if checked else "not checked"),
        ("kernel", source_of(point.timing)),
        ("copies", source_of(point.copies)),
    )
    for name, words in facts:
        say(f"  {name:<8}{words}")
    say(launches_view(point).text + "\n")


def _times(numbers: Sequence[int] | None) -> str:
    return "x".join(map(str, numbers or ()))
