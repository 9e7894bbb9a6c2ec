"""Basic blocks of PTX with their execution counts: the input of the machine-instruction counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["PtxBlock", "PtxInstruction", "Rounds"]


@dataclass(frozen=True)
class PtxInstruction:
    """opcode: "ld.shared.f32". row: its line in the PTX text. line: of the source."""

    opcode: str
    row: int
    line: int = 0


@dataclass(frozen=True)
class Rounds:
    """How often a loop went k rounds in a row: every n rounds in a row count floor(n / k).

    warps, threads: all of them. first_warps, first_threads: those that were the first since the loop was
    entered, that is, how often it went at least k rounds.
    """

    warps: int
    threads: int
    first_warps: int
    first_threads: int


@dataclass(frozen=True)
class PtxBlock:
    """A basic block of PTX and how often it ran.

    targets: numbers of the blocks that can follow; of a branch, the one it is taken to first.
    warps: executions by a warp, with whichever lanes. threads: the sum of their active lanes.
    parted: executions by a warp after which its lanes went two ways; None when that was not counted.
    rounds: of the first block of an innermost loop, by k = 2 and 4: its rounds by groups of k.
    """

    number: int
    instructions: tuple[PtxInstruction, ...]
    targets: tuple[int, ...]
    warps: int
    threads: int
    parted: int | None = None
    rounds: Mapping[int, Rounds] = field(default_factory=dict)
