"""The corpus of the sanitizer: wrong kernels with one planted fault each, and right ones as a control.

`cases()` reads `index.toml`, which describes its fields.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.cell import parse_cell
from gpulab.devices.base import Device
from gpulab.finding import Finding
from tests.kernels.corpus import fault_line

__all__ = ["FOLDER", "SanitizerCase", "cases"]

FOLDER = Path(__file__).parent
_TYPES: dict[str, Any] = {
    "uchar": np.uint8,
    "short": np.int16,
    "int": np.int32,
    "uint": np.uint32,
    "ulonglong": np.uint64,
    "float": np.float32,
    "double": np.float64,
}
_VECTOR = re.compile(r"([a-z]+)([234])")


@dataclass(frozen=True)
class Argument:
    """One argument of a launch.

    Attributes
    ----------
    dtype : numpy.dtype
        Type of the number or of the elements.
    shape : tuple of int or None
        Shape of an array; None for a number.
    host : ndarray or None
        The values; None for an uninitialized array.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...] | None
    host: npt.NDArray[Any] | None

    @property
    def nbytes(self) -> int:
        return prod(self.shape or ()) * self.dtype.itemsize


@dataclass(frozen=True)
class SanitizerCase:
    """One launch of a `.cu` file and the expected findings; the fields are those of `index.toml`."""

    file: str
    what: str
    grid: int | Sequence[int]
    block: int | Sequence[int]
    args: Sequence[Mapping[str, Any]]
    shared_mem: int = 0
    tool: str | None = None
    kinds: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    also: tuple[str, ...] = ()
    hangs: bool = False
    expect: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The name for pytest, such as `racecheck/scan_in_one_row`."""
        return self.file.removesuffix(".cu")

    @property
    def text(self) -> str:
        return (FOLDER / self.file).read_text(encoding="utf-8")

    @property
    def source(self) -> str:
        """The text to compile: the file with a blank line in place of its header."""
        return parse_cell(self.text, self.file).source

    @property
    def comment(self) -> str:
        """The second line of the file, which describes the kernel or its fault."""
        return self.text.split("\n")[1]

    @property
    def fault_line(self) -> int | None:
        """The line of the planted fault according to the second line; None for a right kernel."""
        return fault_line(self.comment)

    @property
    def arguments(self) -> list[Argument]:
        """The arguments on the host; the values are the same every time."""
        return [_argument(row, seed) for seed, row in enumerate(self.args)]

    def device_arguments(self, device: Device) -> list[Any]:
        """Return the arguments for a launch on `device`: new arrays, and numbers."""
        return [
            argument.host[()]
            if argument.shape is None and argument.host is not None
            else device.empty(argument.shape or (), argument.dtype)
            if argument.host is None
            else device.asarray(argument.host)
            for argument in self.arguments
        ]

    def names(self, finding: Finding) -> bool:
        """Return True if this is the finding that the index requires."""
        return finding.tool == self.tool and finding.kind in self.kinds and finding.line in self.lines

    def allows(self, finding: Finding) -> bool:
        """Return True if the finding is required, or allowed as a consequence of the planted fault."""
        return self.names(finding) or (finding.tool in self.also and finding.line in self.lines)


def _argument(row: Mapping[str, Any], seed: int) -> Argument:
    if "array" not in row:
        ((kind, value),) = row.items()
        return Argument(np.dtype(_TYPES[kind]), None, np.asarray(value, _TYPES[kind]))
    shape, kind = tuple(row["shape"]), row["array"]
    vector = _VECTOR.fullmatch(kind)
    if vector:
        kind, shape = vector[1], (*shape, int(vector[2]))
    dtype = np.dtype(_TYPES[kind])
    if "values" in row:
        return Argument(dtype, shape, np.asarray(row["values"], dtype).reshape(shape))
    return Argument(dtype, shape, _filled(row["fill"], shape, dtype, row.get("below", 100), seed))


def _filled(
    fill: str, shape: tuple[int, ...], dtype: np.dtype[Any], below: int, seed: int
) -> npt.NDArray[Any] | None:
    match fill:
        case "empty":
            return None
        case "zeros":
            return np.zeros(shape, dtype)
        case "ramp":
            return np.arange(prod(shape)).astype(dtype).reshape(shape)
        case "steps":
            return np.linspace(0, 1, prod(shape)).astype(dtype).reshape(shape)
        case "random":
            random = np.random.default_rng(seed)
            if dtype.kind == "f":
                return random.uniform(-1, 1, shape).astype(dtype)
            return random.integers(0, below, shape).astype(dtype)
    raise ValueError(f"unknown fill {fill!r} in index.toml")


def cases(folder: str = "") -> list[SanitizerCase]:
    """Return the cases of a folder, such as `racecheck`, in the order of the index; all by default."""
    index = tomllib.loads((FOLDER / "index.toml").read_text(encoding="utf-8"))
    every = [_case(row) for row in index["case"]]
    return [case for case in every if case.file.startswith(folder)]


def _case(row: dict[str, Any]) -> SanitizerCase:
    lists = {name: tuple(row.get(name, ())) for name in ("kinds", "lines", "also")}
    return SanitizerCase(**{**row, **lists})
