"""CSV table of timed points: a header line with units, then one row per point or launch."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from gpulab.errors import UsageError

if TYPE_CHECKING:
    from gpulab.profiling.point import Iteration, Point

__all__ = ["CsvTable"]


class CsvTable:
    """Context manager that writes timed points as CSV and flushes each row.

        with CsvTable("out.csv", ["matmul"]) as table:
            table.add(point)

    Parameters
    ----------
    path : str
        A file, or `-` for the terminal. Entering the context raises `UsageError` if it cannot be written.
    problems : sequence of str
        Names of problems; each of their axes, such as n, m and p, gets a column.
    iterations : bool
        Write a row per launch, with its number, instead of one with the median of a point.
    """

    def __init__(self, path: str, problems: Sequence[str], *, iterations: bool = False) -> None:
        from gpulab.problems import problem

        self._path, self._iterations = path, iterations
        self._axes = list(dict.fromkeys(axis for name in problems for axis in problem(name).axes))
        self._open = ExitStack()

    def __enter__(self) -> Self:
        stream = sys.stdout
        if self._path != "-":
            try:
                stream = self._open.enter_context(
                    open(self._path, "w", newline="", encoding="utf-8")  # noqa: PTH123
                )
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or error
                raise UsageError(
                    f"{self._path} cannot be written: {reason}; give --csv another file."
                ) from None

        self._stream = stream
        self._writer = csv.DictWriter(stream, self.columns, lineterminator="\n")
        self._writer.writeheader()
        stream.flush()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    @property
    def columns(self) -> list[str]:
        """Names of the columns, each of which ends in its unit."""
        launch = [f"{name}_{axis}" for name in ("grid", "block", "tile") for axis in "xyz"]
        rates = ["kernel_ms", "overall_ms", "kernel_gflops", "overall_gflops", "gb_per_s", "points_per_s"]
        details = ["occupancy_percent", "bottleneck", "provenance", "copies_provenance", "why_not"]
        number = ["iteration"] if self._iterations else []
        return ["kernel", *number, *self._axes, *launch, *rates, *details]

    def add(self, point: Point) -> None:
        """Write a row for each launch of the point, or one for its median; unknown figures are empty."""
        iterations: Sequence[Iteration | None] = point.iterations if self._iterations else [point.median]
        for number, iteration in enumerate(iterations or [None], 1):
            row = self._row(point, iteration)
            self._writer.writerow(row | ({"iteration": number} if self._iterations else {}))
        self._stream.flush()

    def _row(self, point: Point, iteration: Iteration | None) -> dict[str, Any]:
        from gpulab.problems import problem

        row: dict[str, Any] = {"kernel": f"{point.problem}.{point.variant}", "why_not": point.error}
        row |= dict(zip(problem(point.problem).axes, point.shape, strict=True))
        for name, size in (("grid", point.grid), ("block", point.block), ("tile", point.tile)):
            row |= {
                f"{name}_{axis}": number for axis, number in zip("xyz", size or ("", "", ""), strict=True)
            }

        if iteration is None:
            return row
        return row | {
            "kernel_ms": _figures(iteration.kernel_ms),
            "overall_ms": _figures(iteration.overall_ms),
            "kernel_gflops": _figures(iteration.kernel_gflops),
            "overall_gflops": _figures(iteration.overall_gflops),
            "gb_per_s": _figures(iteration.gb_s),
            "points_per_s": _figures(iteration.points_s),
            "occupancy_percent": _figures(None if point.occupancy is None else 100 * point.occupancy),
            "bottleneck": point.bottleneck,
            "provenance": str(point.provenance or ""),
            "copies_provenance": str(point.copies.provenance) if point.copies else "",
        }


def _figures(value: float | None) -> str:
    """Return six significant figures, or "" for an unknown value."""
    return "" if value is None else f"{value:.6g}"
