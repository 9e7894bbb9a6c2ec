"""The machine code (SASS) of a kernel: instructions, and the basic blocks that they form.

"CUDA Binary Utilities" has the names of the instructions (instruction set reference).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

__all__ = ["MachineBlock", "MachineCode", "MachineInstruction", "without_padding"]


@dataclass(frozen=True)
class Control:
    """The scheduling information in an instruction of compute capability 7.0 and later.

    A warp has six scoreboard barriers. An instruction of variable latency can set one until its result is
    written and one until its operands are read, and an instruction waits for those in its mask. For results
    of fixed latency, the assembler delays the next instruction (Z. Jia et al., Dissecting the NVIDIA Volta
    GPU Architecture via Microbenchmarking, 2018, section 2.1).

    Attributes
    ----------
    stall : int
        Cycles until the warp may issue the next instruction.
    waits : tuple of int
        Barriers for which it waits.
    written, read : int or None
        The barriers that it sets until its result is written and until its operands are read.
    """

    stall: int
    waits: tuple[int, ...] = ()
    written: int | None = None
    read: int | None = None

    @classmethod
    def decode(cls, instruction: bytes) -> Control:
        """Return the control information of the 16 bytes of an instruction."""
        return cls._of(int.from_bytes(instruction, "little") >> 105 & (1 << 17) - 1)

    @classmethod
    @cache
    def _of(cls, bits: int) -> Control:
        written, read = bits >> 5 & 7, bits >> 8 & 7
        return cls(
            stall=bits & 15,
            waits=tuple(n for n in range(6) if bits >> (11 + n) & 1),
            written=written if written < 6 else None,
            read=read if read < 6 else None,
        )


@dataclass(frozen=True)
class MachineInstruction:
    """A machine instruction.

    Attributes
    ----------
    offset : int
        Its address, in bytes from the start of the kernel.
    opcode : str
        The opcode with its modifiers: "LDS.128".
    predicate : str
        "@P0", "@!P0", …, or "" if there is none.
    operands : str
        The operands, as nvdisasm prints them; decoded code has none.
    line, ptx_line : int
        The lines of the source and of the program's PTX, from 1; 0 if unknown.
    targets : tuple of int
        Offsets of the instructions to which it may jump; of a call, the callee.
    control : Control
        How the assembler scheduled it; one cycle and no barriers if that is not known.
    """

    offset: int
    opcode: str
    predicate: str
    operands: str
    line: int
    ptx_line: int
    targets: tuple[int, ...] = ()
    control: Control = Control(1)

    @cached_property
    def op(self) -> str:
        """The opcode without modifiers: "LDS"."""
        return self.opcode.partition(".")[0]

    @property
    def width(self) -> int:
        """Bytes per lane of a load or store."""
        parts = self.opcode.split(".")
        for part, size in (("128", 16), ("64", 8), ("U16", 2), ("S16", 2), ("U8", 1), ("S8", 1)):
            if part in parts:
                return size
        return 4

    @property
    def ends(self) -> bool:
        """True if control never continues with the next instruction."""
        return not self.conditional and self.op in ("BRA", "BRX", "JMP", "JMX", "EXIT", "RET", "BPT", "KILL")

    @property
    def conditional(self) -> bool:
        """True if its predicate can be false, or it is a branch with a condition of its own."""
        # `BRA P1, …` has a second predicate; `BRA.DIV` branches only if the warp is not converged.
        if self.op == "BRA" and (re.match(r"!?U?P[0-9]", self.operands) or ".DIV" in self.opcode):
            return True
        return self.predicate not in ("", "@PT", "@UPT")


@dataclass(frozen=True)
class MachineBlock:
    """A basic block of machine code.

    Attributes
    ----------
    number : int
        Its index; block 0 is the kernel's entry.
    instructions : tuple of MachineInstruction
        Its instructions.
    targets : tuple of int
        Numbers of its successors, the next block first. The successor of a call is the block after it; a
        `RET` has none.
    calls : int or None
        The number of the block that its last instruction calls.
    """

    number: int
    instructions: tuple[MachineInstruction, ...]
    targets: tuple[int, ...]
    calls: int | None = None


@dataclass(frozen=True)
class MachineCode:
    """The machine code of a kernel, in the order of its addresses, without the padding after its end."""

    name: str
    instructions: tuple[MachineInstruction, ...]

    @cached_property
    def blocks(self) -> tuple[MachineBlock, ...]:
        """The basic blocks; block 0 is the entry."""
        return tuple(_blocks(self.instructions))


JUMPS = ("BRA", "BRX", "JMP", "JMX")  # BSSY, WARPSYNC and the like have a target but do not jump to it


def _blocks(instructions: Sequence[MachineInstruction]) -> Iterator[MachineBlock]:
    if not instructions:
        return

    starts = {instructions[0].offset}
    for instruction, following in zip(instructions, [*instructions[1:], None], strict=True):
        if instruction.op in JUMPS or instruction.op == "CALL":
            starts.update(instruction.targets)
        ends_block = instruction.op in JUMPS or instruction.op in ("CALL", "EXIT", "RET")
        if ends_block and following is not None:
            starts.add(following.offset)

    numbers = {offset: number for number, offset in enumerate(sorted(starts))}
    blocks: list[list[MachineInstruction]] = [[] for _ in numbers]
    current = 0
    for instruction in instructions:
        current = numbers.get(instruction.offset, current)
        blocks[current].append(instruction)

    for number, block in enumerate(blocks):
        last = block[-1]
        targets = [] if last.ends or number + 1 == len(blocks) else [number + 1]
        if last.op in JUMPS:
            targets += [numbers[offset] for offset in last.targets if offset in numbers]
        callee = numbers.get(last.targets[0]) if last.op == "CALL" and last.targets else None
        yield MachineBlock(number, tuple(block), tuple(dict.fromkeys(targets)), callee)


def without_padding(instructions: list[MachineInstruction]) -> list[MachineInstruction]:
    """Return instructions without the padding after their end: a jump to itself, followed by NOPs."""
    end = len(instructions)
    while end > 1 and instructions[end - 1].op == "NOP":
        end -= 1
    last = instructions[end - 1] if instructions else None
    if last is not None and last.op == "BRA" and last.targets == (last.offset,):
        end -= 1
    return instructions[:end]
