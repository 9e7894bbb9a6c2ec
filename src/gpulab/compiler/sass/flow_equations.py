"""Counts of jumps between blocks as unknowns of linear equations, taken up one by one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["END", "Graph", "Row", "with_value"]

END = -1  # the block that a jump leads to when it leads to none: a thread ends there, or returns
TOLERANCE = 1e-6  # of coefficients, which are small whole numbers; counts are exact below 2**53

Row = npt.NDArray[np.float64]  # row[:-1] @ x == row[-1]


def with_value(row: Row, value: float) -> Row:
    """The same left side with another right one."""
    row = row.copy()
    row[-1] = value
    return row


class Graph:
    """Blocks and the jumps (start, end) between them; `add` takes up what is known of their counts."""

    def __init__(self, edges: Sequence[tuple[int, int]]) -> None:
        self.edges = list(edges)
        self._from: dict[int, list[int]] = {}
        self._to: dict[int, list[int]] = {}
        self._of: dict[tuple[int, int], list[int]] = {}
        for number, (start, end) in enumerate(self.edges):
            self._from.setdefault(start, []).append(number)
            self._to.setdefault(end, []).append(number)
            self._of.setdefault((start, end), []).append(number)
        self._room = np.zeros((len(self.edges), len(self.edges) + 1))
        self._pivots: list[int] = []

    @property
    def _rows(self) -> npt.NDArray[np.float64]:
        """What is known, solved for the pivots: one row for each."""
        return self._room[: len(self._pivots)]

    def out(self, block: int, value: float = 0.0) -> Row:
        """The sum over the jumps from a block equals `value`."""
        return self._sum(self._from.get(block, ()), value)

    def into(self, block: int, value: float = 0.0) -> Row:
        """The sum over the jumps to a block equals `value`."""
        return self._sum(self._to.get(block, ()), value)

    def edge(self, start: int, end: int, value: float = 0.0) -> Row:
        """One jump happens `value` times."""
        return self._sum(self._of.get((start, end), ()), value)

    def add(self, row: Row) -> bool:
        """Take up one more equation; False, and nothing changes, when it contradicts what is known."""
        rest = self._rest(row)
        if not rest[:-1].any():
            return abs(float(rest[-1])) < 0.5
        pivot = int(np.argmax(np.abs(rest[:-1])))
        rest /= rest[pivot]
        rows = self._rows
        rows -= np.outer(rows[:, pivot], rest)
        self._pivots.append(pivot)
        self._rows[-1] = rest
        return True

    def value(self, row: Row) -> int | None:
        """The left side's value where the equations determine it."""
        rest = self._rest(with_value(row, 0.0))
        return None if rest[:-1].any() else round(-float(rest[-1]))

    def close(self, entry: int) -> None:
        """Where nothing comes in nothing goes out, and the other way round: no count is negative."""
        todo = {start for start, _ in self.edges}
        while found := {n for n in todo if self._is_zero(self.out(n)) or self._is_zero(self.into(n))}:
            todo -= found
            for start, end in self.edges:
                if start in found or (end in found and end != entry):
                    self.add(self.edge(start, end))

    def _sum(self, edges: Sequence[int], value: float) -> Row:
        row = np.zeros(len(self.edges) + 1)
        for edge in edges:
            row[edge] = 1.0
        row[-1] = value
        return row

    def _rest(self, row: Row) -> Row:
        """What is left of a row when all that is known is taken out of it."""
        rest = row - row[self._pivots] @ self._rows if self._pivots else row.copy()
        rest[np.abs(rest) < TOLERANCE] = 0.0
        return rest

    def _is_zero(self, row: Row) -> bool:
        return bool(row[:-1].any()) and self.value(row) == 0
