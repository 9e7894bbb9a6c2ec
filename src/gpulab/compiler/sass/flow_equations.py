"""Linear equations for the execution counts of the edges of a control flow graph.

Each edge is an unknown. Equations are added one at a time and kept in reduced row echelon form, so that it is
known at once whether a new one contradicts the others, and whether they determine a count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["END", "Equation", "FlowGraph"]

END = -1  # the target of an edge on which threads exit or return
TOLERANCE = 1e-6  # below it a coefficient is zero: coefficients are small integers, counts are below 2**53


@dataclass(slots=True)
class Equation:
    """A linear equation for counts of edges.

    Attributes
    ----------
    coefficients : dict
        The coefficient of each edge by its number. Most edges have none.
    right : float
        The right side.
    """

    coefficients: dict[int, float]
    right: float = 0.0

    def __add__(self, other: Equation) -> Equation:
        return self.plus(other, 1.0)

    def __sub__(self, other: Equation) -> Equation:
        return self.plus(other, -1.0)

    def plus(self, other: Equation, factor: float) -> Equation:
        """Return the sum of this equation and a multiple of another one."""
        total = Equation(dict(self.coefficients), self.right)
        total.add_multiple(other, factor)
        return total

    def add_multiple(self, other: Equation, factor: float) -> None:
        """Add a multiple of another equation to this one."""
        coefficients = self.coefficients
        for edge, coefficient in other.coefficients.items():
            new = coefficients.get(edge, 0.0) + factor * coefficient
            if abs(new) >= TOLERANCE:
                coefficients[edge] = new
            else:
                coefficients.pop(edge, None)
        right = self.right + factor * other.right
        self.right = right if abs(right) >= TOLERANCE else 0.0

    def equal_to(self, value: float) -> Equation:
        """Return the equation with another right side."""
        return Equation(self.coefficients, value)


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
        self._solved: dict[int, Equation] = {}  # in reduced row echelon form, by their pivots
        self._containing: dict[int, set[int]] = {}  # the pivots of the solved equations with an edge

    def out(self, block: int, value: float = 0.0) -> Equation:
        """Return the equation: the counts of the edges from a block add up to `value`."""
        return self._sum(self._from.get(block, ()), value)

    def into(self, block: int, value: float = 0.0) -> Equation:
        """Return the equation: the counts of the edges to a block add up to `value`."""
        return self._sum(self._to.get(block, ()), value)

    def edge(self, start: int, end: int, value: float = 0.0) -> Equation:
        """Return the equation: the count of an edge is `value`."""
        return self._sum(self._between.get((start, end), ()), value)

    def add(self, equation: Equation) -> bool:
        """Add an equation; return False, and leave the system unchanged, if it contradicts the others.

        It also contradicts them if a count would have to be negative.
        """
        rest = self._reduce(equation)
        if not rest.coefficients:
            return abs(rest.right) < 0.5

        pivot = max(rest.coefficients, key=lambda edge: (abs(rest.coefficients[edge]), -edge))
        rest = Equation({}).plus(rest, 1 / rest.coefficients[pivot])
        changed = {
            number: self._solved[number].plus(rest, -self._solved[number].coefficients[pivot])
            for number in self._containing.get(pivot, ())
        }
        changed[pivot] = rest
        if any(map(_has_no_solution, changed.values())):
            return False
        self._containing.pop(pivot, None)
        self._solved |= changed
        for edge in rest.coefficients.keys() - {pivot}:
            users = self._containing.setdefault(edge, set())
            users.difference_update(changed)
            users.update(number for number, solved in changed.items() if edge in solved.coefficients)
        return True

    def value(self, equation: Equation) -> int | None:
        """Return the value of the left side of an equation, or None if the others do not determine it."""
        rest = self._reduce(equation.equal_to(0.0))
        return None if rest.coefficients else round(-rest.right)

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

    def _sum(self, edges: Sequence[int], value: float) -> Equation:
        return Equation(dict.fromkeys(edges, 1.0), value)

    def _reduce(self, equation: Equation) -> Equation:
        """Return an equation after elimination of all pivots."""
        rest = Equation(dict(equation.coefficients), equation.right)
        for edge, coefficient in equation.coefficients.items():
            if edge in self._solved:
                rest.add_multiple(self._solved[edge], -coefficient)
        return rest

    def _is_zero(self, equation: Equation) -> bool:
        return bool(equation.coefficients) and self.value(equation) == 0


def _has_no_solution(equation: Equation) -> bool:
    """Return True if an equation demands that counts, none of which is negative, have a negative sum."""
    return equation.right < -0.5 and min(equation.coefficients.values(), default=0.0) >= 0
