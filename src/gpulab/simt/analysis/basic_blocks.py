"""Basic blocks of a kernel, and the registers that are read, written and live in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from gpulab.simt.ptx.syntax import Imm, Instruction, Mem, Operand, Reg, Vec

__all__ = [
    "Block",
    "ControlFlow",
    "has_address",
    "has_result",
    "is_warp_sync",
    "live_before",
    "reads",
    "registers_of",
    "synchronized_lanes",
    "with_code",
    "writes",
]

# Instructions whose first operand is not a destination.
NO_RESULT = {
    "st", "red", "bra", "brx", "ret", "exit", "trap", "membar", "fence", "call", "prefetch", "prefetchu",
    "nanosleep", "brkpt", "pmevent", "discard", "applypriority", "griddepcontrol", "cp", "setmaxnreg",
    "stmatrix", "sust", "touch", "touch_matrix", "skip",
}  # fmt: skip
MATRIX = ("mma", "wmma", "ldmatrix", "stmatrix", "movmatrix")  # instructions for all lanes of a warp


@dataclass
class Block:
    """Straight-line code and its end.

    Attributes
    ----------
    number : int
        Position in running order.
    code : list of Instruction
        The instructions, without the one that ends the block.
    end : str
        "jump" (`targets` is the next block), "branch" (`condition` selects one of two targets: taken, not
        taken), "barrier" (`targets` is the block after the barrier), "exit" or "trap".
    targets : tuple of int
        Successors.
    condition : Reg or None
        The predicate of a branch.
    barrier : Instruction or None
        The barrier that ends the block.
    warp_sync : Instruction or None
        The first instruction of the block, if lanes may be suspended before it to wait for others of their
        warp.
    line : int
        Source line of the end of the block.
    last : Instruction or None
        The instruction that ends the block; None if it falls through.
    """

    number: int
    code: list[Instruction] = field(default_factory=list)
    end: str = "exit"
    targets: tuple[int, ...] = ()
    condition: Reg | None = None
    barrier: Instruction | None = None
    warp_sync: Instruction | None = None
    line: int = 0
    last: Instruction | None = None


@dataclass
class ControlFlow:
    """The blocks of a kernel in running order, and the registers that are live at the start of each."""

    blocks: list[Block]
    live_in: list[frozenset[str]]

    @cached_property
    def widening_sites(self) -> dict[tuple[int, int], int]:
        """Numbers of the instructions that extend 32 bits to 64, by (block, index).

        An affine value must not wrap around there; if it does, the warp continues in the fallback code.
        """
        sites = [(b.number, i) for b in self.blocks for i, item in enumerate(b.code) if _widens(item)]
        return {site: number for number, site in enumerate(sites)}


def registers_of(operands: Iterable[Operand]) -> Iterator[str]:
    """Yield the names of the registers in operands, including those in addresses and vectors."""
    for operand in operands:
        if isinstance(operand, Reg):
            yield operand.name
        elif isinstance(operand, Mem):
            yield from registers_of((operand.base, *operand.rest))
        elif isinstance(operand, Vec):
            yield from registers_of(operand.parts)


def has_result(item: Instruction) -> bool:
    """Return True if the first operand of an instruction is its destination."""
    if item.op in ("bar", "barrier"):
        return "red" in item.parts
    if item.op == "mbarrier":
        return item.parts[1] not in ("init", "inval", "expect_tx", "complete_tx")
    if item.op == "wmma":
        return "store" not in item.parts
    return item.op not in NO_RESULT


def has_address(item: Instruction) -> bool:
    """Return True if an operand of an instruction is an address in memory."""
    return any(isinstance(operand, Mem) for operand in item.operands)


def writes(item: Instruction) -> tuple[str, ...]:
    """Return the registers that an instruction writes."""
    known: tuple[str, ...] | None = item.analyses.get("writes")
    if known is None:
        known = item.analyses["writes"] = _writes(item)
    return known


def _writes(item: Instruction) -> tuple[str, ...]:
    if item.call is not None:
        return tuple(f"{name}+0" for name in item.call.results)
    if not has_result(item) or not item.operands:
        return ()
    first = item.operands[0]
    return (first.name,) if isinstance(first, Reg) else tuple(registers_of((first,)))


def reads(item: Instruction) -> tuple[str, ...]:
    """Return the registers that an instruction reads.

    Under a predicate these include its results, which keep their values in lanes where it is false.
    """
    known: tuple[str, ...] | None = item.analyses.get("reads")
    if known is None:
        known = item.analyses["reads"] = _reads(item)
    return known


def _reads(item: Instruction) -> tuple[str, ...]:
    names = list(registers_of(item.operands[1:] if has_result(item) else item.operands))
    if item.call is not None:
        names += [f"{name}+0" for name in item.call.arguments]
    if item.predicate is not None:
        names += [item.predicate.name, *writes(item)]
    return tuple(names)


def is_warp_sync(item: Instruction) -> bool:
    """Return True if an instruction waits for lanes of its warp; see `synchronized_lanes`."""
    if item.op in ("shfl", "vote", "match", "redux", "elect", *MATRIX):
        return "sync" in item.parts
    return item.op == "bar" and "warp" in item.parts


def synchronized_lanes(item: Instruction) -> Operand:
    """Return the mask of the lanes for which an instruction waits: its last operand, or all lanes."""
    return Imm(-1) if item.op in MATRIX else item.operands[-1]


def with_code(blocks: list[Block], registers: set[str]) -> ControlFlow:
    """Return the control flow of blocks whose code has changed; `registers` are all of the kernel's."""
    return ControlFlow(blocks, _live_in(blocks, registers))


def _live_in(blocks: list[Block], registers: set[str]) -> list[frozenset[str]]:
    used: list[set[str]] = []
    defined: list[set[str]] = []
    for block in blocks:
        use: set[str] = set()
        define: set[str] = set()
        for item in block.code + ([block.barrier] if block.barrier else []):
            use |= (set(reads(item)) & registers) - define
            define |= set(writes(item)) & registers
        if block.condition is not None and block.condition.name not in define:
            use.add(block.condition.name)
        used.append(use)
        defined.append(define)

    live = [set(n) for n in used]
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            live_out: set[str] = set()
            for target in block.targets:
                live_out |= live[target]
            now = used[block.number] | (live_out - defined[block.number])
            if now != live[block.number]:
                live[block.number] = now
                changed = True
    return [frozenset(s) for s in live]


def live_before(flow: ControlFlow, registers: set[str], block: Block, index: int) -> frozenset[str]:
    """Return the registers that are live before instruction `index` of a block."""
    live = set().union(*(flow.live_in[t] for t in block.targets))
    if block.condition is not None:
        live.add(block.condition.name)
    for item in reversed(block.code[index:]):
        live.difference_update(writes(item))
        live.update(reads(item))
    return frozenset(live & registers)


def _widens(item: Instruction) -> bool:
    """Return True if an instruction extends a 32-bit integer to 64 bits."""
    if item.op in ("mul", "mad"):
        return "wide" in item.parts and item.parts[-1] in ("s32", "u32")
    return item.op == "cvt" and item.parts[-2:] in tuple(
        (a, b) for a in ("s64", "u64") for b in ("s32", "u32")
    )
