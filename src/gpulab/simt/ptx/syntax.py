"""Syntax tree of a PTX module: functions, instructions and operands, with their source lines.

The grammar is in sections 4 to 6 and 10 of the PTX manual. The tree is built by `parser`; what instructions
compute is defined in `gpulab.simt.instructions`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from gpulab.errors import UsageError

__all__ = [
    "CARRY",
    "Call",
    "Function",
    "HoistedConstant",
    "Imm",
    "Instruction",
    "Mem",
    "Module",
    "Operand",
    "Param",
    "Reg",
    "Sym",
    "Variable",
    "Vec",
    "type_size",
    "vector_elements",
]


@dataclass(frozen=True)
class Reg:
    """A register, or a special register such as `%tid.x`."""

    name: str
    negated: bool = False  # `!%p1`


@dataclass(frozen=True)
class Imm:
    """A literal.

    Attributes
    ----------
    value : int or float
        The value.
    bits : int or None
        The bits of a floating-point literal that is written as `0f…` or `0d…`.
    constant_index : int
        Index in `Module.constants`; -1 if the literal cannot be hoisted.
    """

    value: int | float
    bits: int | None = None
    constant_index: int = field(default=-1, compare=False)


@dataclass(frozen=True)
class HoistedConstant:
    """An entry of `Module.constants` whose value the code loads from a table; with `power`, 2 to its power.

    See `gpulab.simt.analysis.specialization`.
    """

    index: int
    power: bool = False


@dataclass(frozen=True)
class Sym:
    """The name of a variable, function or label."""

    name: str


@dataclass(frozen=True)
class Mem:
    """An address `[base + offset]`.

    Attributes
    ----------
    base : Operand
        A register or a variable.
    offset : int or HoistedConstant
        Bytes.
    rest : tuple of Operand
        Further operands in the brackets, as for textures and tensors.
    constant_index : int
        Index of the offset in `Module.constants`; -1 if it cannot be hoisted.
    """

    base: Operand
    offset: int | HoistedConstant = 0
    rest: tuple[Operand, ...] = ()
    constant_index: int = field(default=-1, compare=False)


@dataclass(frozen=True)
class Vec:
    """A vector `{a, b, …}`; the name `_` stands for an element that is discarded."""

    parts: tuple[Operand, ...]


Operand = Reg | Imm | HoistedConstant | Sym | Mem | Vec


@dataclass
class Instruction:
    """An instruction `@predicate op.mod.mod a, b, c;`.

    Attributes
    ----------
    parts : tuple of str
        ("op", "mod", "mod").
    operands : tuple of Operand
        The operands; the first one is usually the destination.
    predicate : Reg or None
        The guard.
    line : int
        Line of the source.
    call : Call or None
        The parts of a `call`, which has no operands.
    row : int
        Line of the PTX text, from 1; 0 for an instruction that was not written there.
    op : str
        The operation, without modifiers.
    analyses : dict
        Results of analyses of this instruction, by name.
    """

    parts: tuple[str, ...]
    operands: tuple[Operand, ...]
    predicate: Reg | None
    line: int
    call: Call | None = None
    row: int = 0
    op: str = field(init=False, repr=False, compare=False)
    analyses: dict[str, Any] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.op = self.parts[0]

    @property
    def text(self) -> str:
        """The operation and its modifiers, as in PTX."""
        return ".".join(self.parts)


@dataclass
class Call:
    """The parts of a `call`: variables in `.param` space for results and arguments, and the callee."""

    results: tuple[str, ...]
    target: Operand
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Variable:
    """A variable in any state space.

    Attributes
    ----------
    name, space : str
        Its name, and "global", "shared", "local", "const" or "param".
    size, align : int
        Bytes; the size of an `extern __shared__` array is 0.
    initial : bytes or None
        Initial contents, with 0 in place of addresses.
    references : tuple
        Addresses among the contents: (byte offset, symbol, addend).
    """

    name: str
    space: str
    size: int
    align: int
    initial: bytes | None = None
    references: tuple[tuple[int, str, int], ...] = ()


@dataclass(frozen=True)
class Param:
    """A formal parameter of a function, or its result; sizes are in bytes."""

    name: str
    type: str  # such as "u32" or "f32"; "b8[]" for an array
    size: int
    align: int
    pointer: bool = False


@dataclass
class Function:
    """A kernel (`entry`) or a device function."""

    name: str
    entry: bool
    params: list[Param]
    results: list[Param] = field(default_factory=list)
    registers: dict[str, str] = field(default_factory=dict)  # name -> "b32", "pred", …
    variables: list[Variable] = field(default_factory=list)
    body: list[Instruction | str] = field(default_factory=list)  # a str is a label
    tables: dict[str, list[str]] = field(default_factory=dict)  # labels of `.branchtargets`
    directives: dict[str, list[int]] = field(default_factory=dict)  # such as `.maxntid`, with its numbers
    external: bool = False


@dataclass
class Module:
    """A PTX module.

    Attributes
    ----------
    functions, variables : dict
        By name.
    digest : str
        Hash of the text.
    template_digest : str
        Hash of the text without the constants that can be hoisted.
    constants : list of int
        These constants, as 64-bit words.
    architecture : int
        The number in `.target`: 90 for `sm_90a`.
    analyses : dict
        Results of analyses of its kernels, which the tiers share; see `gpulab.simt.codegen.native`.
    """

    functions: dict[str, Function] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    digest: str = ""
    template_digest: str = ""
    constants: list[int] = field(default_factory=list)
    architecture: int = 0
    analyses: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)


SIZES = {"8": 1, "16": 2, "32": 4, "64": 8, "128": 16}
CARRY = "%cc"  # the carry flag, which is made an explicit operand


def type_size(name: str) -> int:
    """Return the size of a PTX type in bytes: 4 for `u32`, `f32`, `b32` and `f16x2`."""
    if name == "pred":
        return 1
    if name in ("f16x2", "bf16x2"):
        return 4
    if name == "bf16":
        return 2
    digits = re.sub(r"^\D+", "", name)
    if digits not in SIZES:
        raise UsageError(f"`.{name}` is not a PTX type that the simulator supports.")
    return SIZES[digits]


def vector_elements(operand: Operand) -> tuple[Operand, ...]:
    """Return the elements of a vector operand, or the operand alone."""
    return operand.parts if isinstance(operand, Vec) else (operand,)
