"""Basic blocks of PTX with their execution counts: the input of the machine-instruction counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["IterationGroups", "PtxBlock", "PtxInstruction", "SelectedResult"]


@dataclass(frozen=True)
class SelectedResult:
    """A result that only a selection between two values reads.

    Attributes
    ----------
    row : int
        The selection's line of the PTX text, from 1.
    threads : int
        The threads that select the result.
    """

    row: int
    threads: int


@dataclass(frozen=True)
class PtxInstruction:
    """An instruction of PTX."""

    opcode: str  # "ld.shared.f32"
    row: int  # line of the PTX text, from 1
    line: int = 0  # line of the source, from 1; 0 if unknown
    slow: bool = False  # a warp had operands for which a division or root needs its slow path
    selected: SelectedResult | None = None  # None if other instructions read the result, too


@dataclass(frozen=True)
class IterationGroups:
    """Groups of k consecutive iterations of a loop: n iterations in a row count floor(n / k).

    Attributes
    ----------
    warps, threads : int
        All groups, counted by warps and by active threads.
    first_warps, first_threads : int
        The groups that are the first since the loop was entered: the loop runs with at least k iterations.
    """

    warps: int
    threads: int
    first_warps: int
    first_threads: int


@dataclass(frozen=True)
class PtxBlock:
    """A basic block of PTX and its execution counts.

    Attributes
    ----------
    number : int
        Its index; block 0 is the kernel's entry.
    instructions : tuple of PtxInstruction
        Its instructions, the terminator included.
    targets : tuple of int
        Numbers of its successors; the target of a branch comes before the next block.
    warps : int
        Executions by a warp, with any number of active lanes.
    threads : int
        The sum of the active lanes over these executions.
    divergences : int or None
        Executions by a warp after which its lanes took different branches; None if not counted.
    iteration_groups : mapping of int to IterationGroups
        By k = 2 and 4, for the first block of an innermost loop; empty if not counted.
    """

    number: int
    instructions: tuple[PtxInstruction, ...]
    targets: tuple[int, ...]
    warps: int
    threads: int
    divergences: int | None = None
    iteration_groups: Mapping[int, IterationGroups] = field(default_factory=dict)
