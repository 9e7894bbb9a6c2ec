"""Addresses as expressions: two accesses have the same address if their expressions are equal.

The compiler often computes the address of `x[i]` again for the store of `x[i] += v`, in another register.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator

from gpulab.simt.analysis.basic_blocks import Block, writes
from gpulab.simt.ptx.syntax import Instruction, Mem, Operand, Reg

__all__ = ["AddressExpressions", "Expression", "variables"]

Expression = Hashable  # an operand, or a tuple of an operation's name and its operands' expressions
_OPERATIONS = frozenset(("add", "sub", "shl", "mul", "mad", "cvt", "cvta", "mov", "and", "or"))
MAX_DEPTH = 8  # operations within one another, so that expressions stay small


class AddressExpressions:
    """The expressions of the addresses in a kernel.

    Parameters
    ----------
    blocks : iterable of Block
        The code of the kernel.
    """

    def __init__(self, blocks: Iterable[Block]) -> None:
        items = [item for block in blocks for item in block.code]
        written = Counter(name for item in items for name in writes(item))
        self._definitions: dict[str, Instruction] = {
            item.operands[0].name: item
            for item in items
            if item.op in _OPERATIONS
            and item.predicate is None
            and isinstance(item.operands[0], Reg)
            and written[item.operands[0].name] == 1
        }

    def of(self, memory: Mem) -> Expression:
        """Return the expression of an address."""
        if not isinstance(memory.base, Reg) or memory.rest:
            return memory
        return ("at", self._expression(memory.base, MAX_DEPTH), memory.offset)

    def _expression(self, operand: Operand, depth: int) -> Expression:
        definition = self._definitions.get(operand.name) if isinstance(operand, Reg) else None
        if definition is None or not depth:
            return operand
        return (definition.parts, *(self._expression(each, depth - 1) for each in definition.operands[1:]))


def variables(expression: Expression) -> Iterator[str]:
    """Yield the registers of an expression: those that are not computed from others."""
    if isinstance(expression, Reg):
        yield expression.name
    elif isinstance(expression, Mem):
        yield from variables(expression.base)
    elif isinstance(expression, tuple):
        for part in expression:
            yield from variables(part)
