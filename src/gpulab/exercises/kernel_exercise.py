"""Exercises with a small kernel that belongs to no problem: its launches, right results and requirements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from gpulab.profiling.counts.metrics import Counters

__all__ = ["KernelCase", "KernelExercise"]

_TOLERANCE = 1e-5  # relative; of a sum of at most 80 positive terms in single precision


@dataclass(frozen=True)
class KernelCase:
    """One launch of a kernel, with its right results.

    Attributes
    ----------
    label : str
        The size, for messages.
    grid, block : int or tuple of int
        Extents of the grid in blocks, and of a block in threads.
    args : tuple
        Host arrays and numbers in the order of the parameters.
    expected : mapping of int to array
        The right contents of each array that the kernel writes, by the position of the argument. The kernel
        must leave all other arrays unchanged.
    """

    label: str
    grid: int | tuple[int, ...]
    block: int | tuple[int, ...]
    args: tuple[Any, ...]
    expected: Mapping[int, npt.NDArray[Any]]

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return prod(_extents(self.grid))

    @property
    def threads(self) -> int:
        """The number of threads of a block."""
        return prod(_extents(self.block))

    @property
    def block_extents(self) -> tuple[int, int, int]:
        """The block with all three extents."""
        return _extents(self.block)

    def first_wrong(self, position: int, found: npt.NDArray[Any]) -> tuple[int, int]:
        """Return how many elements of an argument are wrong, and the index of the first one."""
        right = self.expected.get(position, self.args[position]).ravel()
        tolerance = 0 if right.dtype.kind in "iu" else _TOLERANCE
        wrong = np.flatnonzero(~np.isclose(found.ravel(), right, rtol=tolerance))
        return len(wrong), int(wrong[0]) if len(wrong) else -1


def _extents(numbers: int | tuple[int, ...]) -> tuple[int, int, int]:
    x, y, z = (*((numbers,) if isinstance(numbers, int) else numbers), 1, 1)[:3]
    return x, y, z


@dataclass(frozen=True)
class KernelExercise:
    """A kernel that students write.

    Attributes
    ----------
    name : str
        The name in the header of its cell.
    cases : callable
        Takes a random generator and returns the launches.
    hint : callable, optional
        Takes a case, the position of an argument, the index of its first wrong element and the found value;
        returns a sentence on the likely cause, or "".
    requirement : callable, optional
        Takes the counters of the last launch and its case; returns a sentence if the kernel does not do what
        is asked for, or "".
    race : str
        The message for every race, if all races have one likely cause.
    exchange : bool
        Threads must read from shared memory what other threads store there, in an order that barriers make.
    lockstep : bool
        Also launch as on a GPU before Volta, where diverged lanes of a warp make no progress independently.
    """

    name: str
    cases: Callable[[np.random.Generator], Iterable[KernelCase]]
    hint: Callable[[KernelCase, int, int, float], str] | None = None
    requirement: Callable[[Counters, KernelCase], str] | None = None
    race: str = ""
    exchange: bool = False
    lockstep: bool = False
