"""A finding: one thing a kernel did that it must not do, in compute-sanitizer's terms."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Finding", "Index3", "index_text", "unravel"]

Index3 = tuple[int, int, int]


def index_text(index: Index3) -> str:
    """`(3,1)` of (3, 1, 0): z is said where it is not 0."""
    x, y, z = index
    return f"({x},{y},{z})" if z else f"({x},{y})"


def unravel(number: int, dims: Index3) -> Index3:
    """The index of a thread in its block, or a block in its grid, from its linear number; x runs fastest."""
    return number % dims[0], number // dims[0] % dims[1], number // (dims[0] * dims[1])


@dataclass(frozen=True)
class Finding:
    """One cause, with the first place where it was seen.

    tool: `memcheck`, `racecheck`, `initcheck` or `synccheck`, as in NVIDIA's compute-sanitizer.
    kind: a short stable name within the tool, such as `out_of_bounds_read`.
    line: source line, counted as in the text that was compiled; 0 when unknown.
    block, thread: `blockIdx` and `threadIdx` as (x, y, z), or None when unknown.
    count: how often it was seen in this launch, where that is known.
    """

    tool: str
    kind: str
    line: int
    block: Index3 | None
    thread: Index3 | None
    message: str
    count: int = 1

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line else ""
        return f"{where}{self.message}"

    def as_dict(self) -> dict[str, Any]:
        """The finding as plain data, for JSON."""
        return asdict(self)
