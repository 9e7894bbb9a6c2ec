"""`gpulab run --kernel`: time selected kernels at one size, block and tile, launch by launch."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpulab.cli.csv_table import CsvTable
from gpulab.cli.options import add_csv, check_outputs, parse_numbers, positive_int, select_cells
from gpulab.cli.output import check_with_progress, print_outcome, print_usage_error
from gpulab.errors import UsageError
from gpulab.views.terminal import Bar, say

if TYPE_CHECKING:
    from gpulab.cell import Cell, KernelCell
    from gpulab.devices.base import Device
    from gpulab.problems import Shape
    from gpulab.profiling.point import Point
    from gpulab.verification.outcome import Outcome

__all__ = ["add_kernel_run_options", "refuse_kernel_run_options", "run_kernels"]

ITERATIONS = 3  # timed launches, unless --iterations is given
NEED_KERNEL = ("block", "tile", "iterations", "no_check", "csv")  # options that are refused without --kernel


def add_kernel_run_options(parser: argparse.ArgumentParser) -> None:
    """Add `--kernel` and the options that need it."""
    group = parser.add_argument_group(
        "options with --kernel",
        "Prints size, grid, block, tile and operation count, then milliseconds and GFLOPS of each launch: of "
        "the kernel alone, and overall with the copies to the device and back.",
    )
    group.add_argument(
        "--kernel",
        nargs="+",
        metavar="NAME",
        help="kernels to time: VARIANT, PROBLEM.VARIANT, or all; several allowed",
    )
    group.add_argument(
        "--block", nargs="+", metavar="N", help="threads per block, X [Y [Z]]; default: the kernel's header"
    )
    group.add_argument(
        "--tile",
        nargs="+",
        metavar="N",
        help="output points per thread, X [Y [Z]]; default: the kernel's header",
    )
    group.add_argument(
        "--iterations", type=positive_int, metavar="N", help=f"timed launches; default: {ITERATIONS}"
    )
    group.add_argument("--no-check", action="store_true", help="time the kernel without checking its values")
    add_csv(group, "launch")


def refuse_kernel_run_options(args: argparse.Namespace) -> None:
    """Raise `UsageError` if an option that needs --kernel is given without it."""
    for name in NEED_KERNEL:
        if getattr(args, name) not in (None, False):
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} needs --kernel with the name of a kernel, as in --kernel K4.")


def run_kernels(args: argparse.Namespace, file: Path) -> int:
    """Check and time the selected kernels.

    Returns exit code 1 if a kernel is wrong, which is then not timed, and 2 if one cannot be launched.
    """
    from gpulab.cell import read_cells
    from gpulab.devices import open_device

    check_outputs(args)
    cells = select_cells(read_cells(file), args.kernel, file)
    device = open_device(args.device)
    quiet = args.json or args.csv == "-"
    results: list[dict[str, Any]] = []
    code = 0

    def report_error(cell: Cell, error: UsageError) -> int:
        if len(cells) == 1:
            raise error
        results.append({"name": cell.name, "correct": None, "error": str(error)})
        return print_usage_error(f"{cell.name}: {error}", as_json=False)

    launches = []
    for cell in cells:
        try:
            launches.append((cell, *_plan_launch(cell, args, device)))
        except UsageError as error:
            code = report_error(cell, error)

    problems = list(dict.fromkeys(cell.config.problem.name for cell in cells))
    csv_table = CsvTable(args.csv, problems, iterations=True) if args.csv is not None else nullcontext()
    with csv_table as table:
        for cell, launched, shape in launches:
            try:
                correct = args.no_check or _check(launched, cell, args, device, quiet=quiet)
                point = _time(launched, shape, args, device) if correct else None
            except UsageError as error:
                code = max(code, report_error(cell, error))
                continue

            code = max(code, int(point is None or bool(point.error)))
            results.append(_as_dict(launched, point, checked=not args.no_check))
            if point is None:
                continue
            if point.error:
                say(f"{cell.name} was not timed: {point.error}", "red", error=True)
                continue
            if table is not None:
                table.add(point)
            if not quiet:
                _print_point(launched, point, device, checked=not args.no_check)

    if args.json:
        say(json.dumps({"device": device.name, "kernels": results}, indent=2))
    return code


def _plan_launch(cell: KernelCell, args: argparse.Namespace, device: Device) -> tuple[KernelCell, Shape]:
    """Return the cell with the block and tile of the options, and the size to time.

    Raises `UsageError` if the kernel cannot be launched with them.
    """
    block = parse_numbers(args.block, "--block", 1) if args.block else ()
    tile = parse_numbers(args.tile, "--tile", 0) if args.tile else ()
    launched = cell.with_geometry(block, tile)
    config = launched.config
    shape = config.timing_shape if args.size is None else config.problem.parse_shape(args.size)

    config.at(shape, device.spec)
    config.require_size(shape)
    return launched, shape


def _check(launched: Cell, cell: Cell, args: argparse.Namespace, device: Device, *, quiet: bool) -> bool:
    """Return True if the values are correct; print the outcome of a wrong kernel.

    launched: the cell with the block and tile of the options. cell: with those of its header.
    Raises `UsageError` for a kernel that is wrong only with the block or tile of the options.
    """
    outcome = check_with_progress(launched, device, args.device)
    if outcome.refused:
        raise UsageError(outcome.refused)
    if _values_correct(outcome):
        if not outcome.correct and not quiet:  # correct values, but a requirement of its step is not met
            for reason in outcome.reasons:
                say(f"{launched.name} computes correct values, but: {reason}", "yellow")
        return True

    if launched.header != cell.header and _values_correct(check_with_progress(cell, device, args.device)):
        options = " and ".join(f"--{name}" for name in ("block", "tile") if getattr(args, name))
        raise UsageError(
            f"{cell.name} is correct as `{cell.header}` and wrong as `{launched.header}`: its source "
            f"does not support this {options}. Leave {options} out, or write the kernel with the macros "
            "BLOCK_X, TILE_Y and so on."
        )
    if not quiet:
        print_outcome(outcome, device)
    else:
        say(f"{launched.name} is wrong: {' '.join(outcome.reasons[:1])}", "red", error=True)
    return False


def _values_correct(outcome: Outcome) -> bool:
    """Return True if the values are correct; the requirements of the step are ignored."""
    return bool(outcome.result and outcome.result.verdict and outcome.result.verdict.correct)


def _time(cell: Cell, shape: Shape, args: argparse.Namespace, device: Device) -> Point:
    """Time the cell at `shape`; raise `UsageError` if its launch was refused."""
    from gpulab.profiling.bench import Bench

    iterations = args.iterations or ITERATIONS
    with (
        Bar(f"timing {cell.name}"),
        Bench(device, args.device, check=False, iterations=iterations) as bench,
    ):
        point = bench.point(cell, shape)
    if point.error and not point.wrong:
        raise UsageError(point.error)
    return point


def _as_dict(cell: Cell, point: Point | None, *, checked: bool) -> dict[str, Any]:
    """Return a kernel's entry of the JSON; `correct` is None if the values were not checked."""
    header = cell.header
    data: dict[str, Any] = {"name": header.name, "origin": cell.origin}
    if point is None:
        return data | {"correct": False, "block": header.block, "tile": header.tile, "iterations": []}
    iterations = [
        {name: getattr(iteration, name) for name in type(iteration).__dataclass_fields__}
        for iteration in point.iterations
    ]
    correct = None if not checked else not point.wrong
    return data | {"correct": correct} | point.as_dict() | {"iterations": iterations}


def _print_point(cell: Cell, point: Point, device: Device, *, checked: bool) -> None:
    """Print the launch configuration, then a line for each launch."""
    from gpulab.problems import problem as problem_named
    from gpulab.views.tables.number_format import extents
    from gpulab.views.tables.point_view import launches_view, source_of

    problem = problem_named(point.problem)
    say(f"{cell.name} ({cell.origin})", "bold")
    facts: Sequence[tuple[str, str]] = (
        ("size", f"{extents(point.shape)} ({', '.join(problem.axes)})"),
        ("grid", extents(point.grid or ())),
        ("block", extents(point.block)),
        ("tile", extents(point.tile)),
        ("flops", str(point.flops)),
        ("device", device.name),
        ("values", "correct on the sizes of the check" if checked else "not checked"),
        ("kernel", source_of(point.timing)),
        ("copies", source_of(point.copies)),
    )
    for name, text in facts:
        say(f"  {name:<8}{text}")
    say(launches_view(point).text + "\n")
