"""Memory accesses of generated code: the static site and one execution of it."""

from __future__ import annotations

from dataclasses import dataclass

from gpulab.simt.codegen.ir import Value
from gpulab.simt.ptx.syntax import Instruction

__all__ = ["AccessSite", "MemoryAccess"]


@dataclass(frozen=True)
class AccessSite:
    """A place in the kernel's code that accesses memory or that can raise a fault.

    Code that faults passes the site's index in `CodegenContext.sites`, from which the host finds the source
    line. The fields from `opcode` on describe an access.

    Attributes
    ----------
    line : int
        Source line.
    action : str
        "reads", "writes" or "updates" for an access; otherwise the name of what can fail.
    space : str
        State space; empty if the site accesses no memory.
    size : int
        Bytes per lane; for a vector load or store, of all its elements together.
    opcode : str
        The PTX instruction.
    row : int
        Its row in the PTX text.
    block, index : int
        The basic block and the position of the instruction in it.
    part : int
        Position among the accesses of one instruction; a `cp.async` makes two.
    apart : bool
        Executions are counted at this site, not taken from the block's count, because the instruction is
        predicated or its address is generic.
    width : int
        Bytes per lane that the access is counted with, which may differ from `size` in machine code.
    """

    line: int
    action: str
    space: str
    size: int
    opcode: str = ""
    row: int = -1
    block: int = -1
    index: int = -1
    part: int = 0
    apart: bool = False
    width: int = 0

    @property
    def op(self) -> str:
        """The name of the PTX instruction without its modifiers."""
        return self.opcode.partition(".")[0]


@dataclass(frozen=True)
class MemoryAccess:
    """One access of a warp, before it is made and before its addresses have been checked.

    Attributes
    ----------
    site : int
        Index in `CodegenContext.sites`.
    address : Value
        Each lane's address in `space`.
    space : str
        State space.
    size : int
        Bytes per lane.
    action : str
        "reads", "writes" or "updates" (an atomic operation).
    item : Instruction
        The instruction. The access's active lanes are `cg.mask_bits(item.predicate)`.
    values : tuple of Value
        The elements that a write stores; empty for other accesses.
    """

    site: int
    address: Value
    space: str
    size: int
    action: str
    item: Instruction
    values: tuple[Value, ...] = ()
