"""PTX text as data: functions, instructions, operands, each with the source line it came from.

The grammar is the PTX ISA's (sections 4 to 6 and 10 of the manual). Only the shape of the text is
kept here; how it is read is in `reading`, what an instruction means where it is executed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from gpulab.errors import UsageError

__all__ = [
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
    """A literal. `bits` is set for `0f…` and `0d…`, which name a floating point value by its bits.

    place: where it stands among `Module.numbers`, -1 for one that does not.
    """

    value: int | float
    bits: int | None = None
    constant_index: int = field(default=-1, compare=False)


@dataclass(frozen=True)
class HoistedConstant:
    """One of `Module.numbers`, whatever its value, or 2 to its power (see `numbers`)."""

    index: int
    power: bool = False


@dataclass(frozen=True)
class Sym:
    """A variable, function or label, by name."""

    name: str


@dataclass(frozen=True)
class Mem:
    """`[base + offset]`; `rest` is what else stands in the brackets (of textures and tensors).

    place: of the offset, as of an `Imm`.
    """

    base: Operand
    offset: int | HoistedConstant = 0
    rest: tuple[Operand, ...] = ()
    constant_index: int = field(default=-1, compare=False)


@dataclass(frozen=True)
class Vec:
    """`{a, b, …}`; `_` stands for a part that is not wanted."""

    parts: tuple[Operand, ...]


Operand = Reg | Imm | HoistedConstant | Sym | Mem | Vec


@dataclass
class Instruction:
    """`@pred op.mod.mod a, b, c;` with `parts` = ("op", "mod", "mod").

    line: of the source. row: of the PTX text, from 1; 0 for an instruction that does not stand there.
    """

    parts: tuple[str, ...]
    operands: tuple[Operand, ...]
    predicate: Reg | None
    line: int
    call: Call | None = None
    row: int = 0

    @property
    def op(self) -> str:
        return self.parts[0]

    @property
    def text(self) -> str:
        return ".".join(self.parts)


@dataclass
class Call:
    """The parts of a `call`: where results go, what is called, what is passed (.param variables)."""

    results: tuple[str, ...]
    target: Operand
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Variable:
    """A variable of any state space. `initial` is its image, with symbol references left out."""

    name: str
    space: str
    size: int
    align: int
    initial: bytes | None = None
    references: tuple[tuple[int, str, int], ...] = ()  # (byte offset, symbol, addend)


@dataclass(frozen=True)
class Param:
    name: str
    type: str  # "u32", "f32", "b8" …
    size: int
    align: int
    pointer: bool = False


@dataclass
class Function:
    name: str
    entry: bool
    params: list[Param]
    results: list[Param] = field(default_factory=list)
    registers: dict[str, str] = field(default_factory=dict)  # name -> "b32", "pred", …
    variables: list[Variable] = field(default_factory=list)
    body: list[Instruction | str] = field(default_factory=list)  # a str is a label
    tables: dict[str, list[str]] = field(default_factory=dict)  # labels of `.branchtargets`
    external: bool = False


@dataclass
class Module:
    """A PTX text as data. digest: the hash of the text, which stands for all of it.

    form: the hash of the text without some of its numbers, and numbers: these, as 64 bits.
    """

    functions: dict[str, Function] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    digest: str = ""
    template_digest: str = ""
    constants: list[int] = field(default_factory=list)


SIZES = {"8": 1, "16": 2, "32": 4, "64": 8, "128": 16}
CARRY = "%cc"  # the condition code register, as an operand of the instructions that use it


def type_size(name: str) -> int:
    """Bytes of a PTX type: 4 for `u32`, `f32`, `b32`, `f16x2`."""
    if name == "pred":
        return 1
    if name in ("f16x2", "bf16x2"):
        return 4
    if name == "bf16":
        return 2
    digits = re.sub(r"^\D+", "", name)
    if digits not in SIZES:
        raise UsageError(f"`.{name}` is not a PTX type that the simulator knows.")
    return SIZES[digits]


def vector_elements(operand: Operand) -> tuple[Operand, ...]:
    """Return the elements of a vector operand, or the operand alone."""
    return operand.parts if isinstance(operand, Vec) else (operand,)
