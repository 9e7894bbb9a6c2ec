"""Linear equations for the execution counts of the edges of a control flow graph.

Each edge is an unknown. Equations are added one at a time and kept in reduced row echelon form, so that it is
known at once whether a new one contradicts the others, and whether they determine a count.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["END", "FlowGraph", "Row", "with_right_side"]

END = -1  # the target of an edge on which threads exit or return
TOLERANCE = 1e-6  # below it a coefficient is zero: coefficients are small integers, counts are below 2**53

Row = npt.NDArray[np.float64]  # the equation row[:-1] @ x == row[-1]


def with_right_side(row: Row, value: float) -> Row:
    """Return the equation with another right side."""
    row = row.copy()
    row[-1] = value
    return row


class FlowGraph:
    """Edges (start, end) between blocks, and the equations for their execution counts."""

    def __init__(self, edges: Sequence[tuple[int, int]]) -> None:
        self.edges = list(edges)
        self._from: dict[int, list[int]] = {}
        self._to: dict[int, list[int]] = {}
        self._between: dict[tuple[int, int], list[int]] = {}
        for number, (start, end) in enumerate(self.edges):
            self._from.setdefault(start, []).append(number)
            self._to.setdefault(end, []).append(number)
            self._between.setdefault((start, end), []).append(number)
        # The equations in reduced row echelon form, and the pivot of each; most coefficients are zero.
        self._rows = np.zeros((len(self.edges), len(self.edges) + 1))
        self._pivots = np.zeros(len(self.edges), np.intp)
        self._count = 0

    def out(self, block: int, value: float = 0.0) -> Row:
        """Return the equation: the counts of the edges from a block add up to `value`."""
        return self._sum(self._from.get(block, ()), value)

    def into(self, block: int, value: float = 0.0) -> Row:
        """Return the equation: the counts of the edges to a block add up to `value`."""
        return self._sum(self._to.get(block, ()), value)

    def edge(self, start: int, end: int, value: float = 0.0) -> Row:
        """Return the equation: the count of an edge is `value`."""
        return self._sum(self._between.get((start, end), ()), value)

    def add(self, row: Row) -> bool:
        """Add an equation; return False, and leave the system unchanged, if it contradicts the others."""
        rest = self._reduce(row)
        if not rest[:-1].any():
            return abs(float(rest[-1])) < 0.5

        pivot = int(np.argmax(np.abs(rest[:-1])))
        rest /= rest[pivot]
        factors = self._rows[: self._count, pivot]
        changed = np.flatnonzero(factors)
        self._rows[changed] -= np.outer(factors[changed], rest)
        self._rows[self._count], self._pivots[self._count] = rest, pivot
        self._count += 1
        return True

    def value(self, row: Row) -> int | None:
        """Return the value of the left side of `row`, or None if the equations do not determine it."""
        rest = self._reduce(with_right_side(row, 0.0))
        return None if rest[:-1].any() else round(-float(rest[-1]))

    def propagate_zeros(self, entry: int) -> None:
        """Add the equations that follow from blocks that are never entered or never left.

        Counts are not negative, so all edges of such a block are zero.
        """
        remaining = {start for start, _ in self.edges}
        while zero := {n for n in remaining if self._is_zero(self.out(n)) or self._is_zero(self.into(n))}:
            remaining -= zero
            for start, end in self.edges:
                if start in zero or (end in zero and end != entry):
                    self.add(self.edge(start, end))

    def _sum(self, edges: Sequence[int], value: float) -> Row:
        row = np.zeros(len(self.edges) + 1)
        for edge in edges:
            row[edge] = 1.0
        row[-1] = value
        return row

    def _reduce(self, row: Row) -> Row:
        """Return a row after elimination of all pivots."""
        factors = row[self._pivots[: self._count]]
        used = np.flatnonzero(factors)
        rest = row - factors[used] @ self._rows[used]
        rest[np.abs(rest) < TOLERANCE] = 0.0
        return rest

    def _is_zero(self, row: Row) -> bool:
        return bool(row[:-1].any()) and self.value(row) == 0
