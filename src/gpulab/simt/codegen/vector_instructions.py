"""Instructions on vectors in LLVM IR, and functions that execute them (see `outlining`)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from gpulab.cache import fingerprint
from gpulab.simt.codegen.ir import BITS, vector

__all__ = [
    "CASTS",
    "InstructionShape",
    "VectorInstruction",
    "VectorOperand",
    "VectorOperation",
    "bytes_of",
    "integer_of",
    "is_mask",
    "is_wide",
    "lanes_of",
    "operation",
    "parsed",
]

_NAME = re.compile(r"(%[\w.]+)")
_TOKEN = re.compile(
    r"(?P<vector><\d+ x \w+>)"
    r"|(?P<name>%)"
    r"|splat \(\w+ (?P<splat>[^)]+)\)"
    r"|(?P<constant><\w+ [^<>]*>|zeroinitializer)"
    r"|\b(?P<scalar>i\d+|ptr|float|double|half)\b(?= )"
)
_ALIGNMENT = re.compile(r", align \d+$")
CASTS = ("bitcast", "inttoptr", "ptrtoint", "freeze")  # the result has the bits of the operand
_ON_INTEGERS = (*CASTS, "and", "or", "xor", "load", "store", "alloca", "phi", "select")  # masks as integers
_ATTRIBUTES = 'nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512"'


def lanes_of(ty: str) -> tuple[int, str]:
    """Return the number and the type of a vector's elements."""
    lanes, _, inner = ty[1:-1].partition(" x ")
    return int(lanes), inner


def integer_of(mask: str) -> str:
    """Return the integer type that has the bits of a mask."""
    return f"i{lanes_of(mask)[0]}"


def is_mask(ty: str) -> bool:
    """Return True for vectors of i1, which become integers."""
    return ty.endswith(" x i1>")


def is_wide(ty: str) -> bool:
    """Return True for vectors that lie in memory."""
    return ty.startswith("<") and not is_mask(ty)


def bytes_of(ty: str) -> int:
    """Return the size of a vector in memory; elements of other integer types have no bytes between them."""
    lanes, inner = lanes_of(ty)
    bits = BITS.get(inner) or {"ptr": 64, "half": 16}.get(inner) or int(inner[1:])
    return -(-lanes * bits // 8)


def _mask_literal(text: str) -> str:
    """Return a constant mask as an integer."""
    if not text:
        return ""
    if not text.startswith("<"):
        return "-1" if text == "true" else "0"
    bits = [part.split()[1] == "true" for part in text[1:-1].split(", ")]
    return str(sum(bit << lane for lane, bit in enumerate(bits)))


@dataclass(frozen=True)
class VectorOperation:
    """A function that executes one vector operation.

    Attributes
    ----------
    name : str
        The function's name, which its text determines.
    head : str
        Its return type, name and parameters.
    text : str
        Its definition.
    declared : str
        Declaration of the function that it calls; "" if there is none, or if it is an intrinsic of LLVM.
    """

    name: str
    head: str
    text: str
    declared: str


@dataclass(frozen=True, slots=True)
class VectorOperand:
    """An operand of an instruction.

    Attributes
    ----------
    kind : str
        "vector", "mask", "splat" (a constant with the same value in all lanes), "constant" or "scalar".
    ty : str
        LLVM type.
    index : int
        The number of its name among the names in the instruction; -1 for a constant.
    literal : str
        A constant.
    """

    kind: str
    ty: str
    index: int
    literal: str


@dataclass(frozen=True, slots=True)
class InstructionShape:
    """An instruction without the names of its operands.

    Attributes
    ----------
    opcode : str
        LLVM's name of the instruction.
    ty : str
        Type of the result; "" for none.
    types : tuple of str
        The types in the text.
    operands : tuple of VectorOperand
        Those that the function of an operation takes.
    template : str
        The instruction, with %v0, %v1, and so on as operands.
    is_on_integers : bool
        The instruction is one on integers if its masks are integers.
    on_integers : tuple of str
        For such an instruction, its text before, between and after the names.
    """

    opcode: str
    ty: str
    types: tuple[str, ...]
    operands: tuple[VectorOperand, ...]
    template: str
    is_on_integers: bool
    on_integers: tuple[str, ...]

    @property
    def has_vectors(self) -> bool:
        """True if a result or operand is a vector; a type in the text alone needs no call."""
        return self.ty.startswith("<") or any(each.kind != "scalar" for each in self.operands)


@dataclass(slots=True)
class VectorInstruction:
    """An instruction with vectors; `block` is the line at which its LLVM basic block starts."""

    result: str
    shape: InstructionShape
    names: list[str]
    text: str  # without the result
    block: int

    def ref(self, operand: VectorOperand) -> str:
        """Return the name or the literal of an operand."""
        return operand.literal if operand.index < 0 else self.names[operand.index]


def parsed(line: str, block: int) -> VectorInstruction:
    """Read an instruction whose text has a vector type."""
    text, result = line[2:].removeprefix("tail "), ""
    if text[0] == "%":
        result, _, text = text.partition(" = ")
        text = text.removeprefix("tail ")
    parts = _NAME.split(text)
    return VectorInstruction(result, _shape(tuple(parts[::2])), parts[1::2], text, block)


@lru_cache(maxsize=8192)
def _shape(parts: tuple[str, ...]) -> InstructionShape:
    """Read an instruction, given its text before, between and after the names."""
    text = "%".join(parts)
    opcode = text.partition(" ")[0]
    operands: list[VectorOperand] = []
    types: list[str] = []
    template = on_integers = ty = ""
    end = names = 0

    for token in _TOKEN.finditer(text):
        group = str(token.lastgroup)
        between, end = text[end : token.start()], token.end()
        literal = "" if group == "name" else token[group]
        new = new_on_integers = token[0]
        if group in ("vector", "scalar"):
            ty = token[0]
            types.append(ty)
            new_on_integers = integer_of(ty) if is_mask(ty) else ty
        elif group == "name" or is_mask(ty) or (literal != "zeroinitializer" and opcode != "shufflevector"):
            kind = group
            if is_mask(ty):
                kind, literal = "mask", _mask_literal(literal)
                new_on_integers = "%" if group == "name" else literal
            elif group == "name":
                kind = "vector" if ty.startswith("<") else "scalar"
            new = f"%v{len(operands)}"
            operands.append(VectorOperand(kind, ty, names if group == "name" else -1, literal))
            names += group == "name"
        template += between + new
        on_integers += between + new_on_integers

    template, on_integers = template + text[end:], on_integers + text[end:]
    if opcode in ("load", "store"):
        template = _ALIGNMENT.sub("", template) + ", align 1"
    return InstructionShape(
        opcode,
        _result_type(opcode, text, types, operands),
        tuple(types),
        tuple(operands),
        template,
        _is_on_integers(opcode, types),
        tuple(on_integers.split("%")),
    )


def _is_on_integers(opcode: str, types: list[str]) -> bool:
    """Return True if an instruction is one on integers after its masks became integers."""
    if opcode not in _ON_INTEGERS or (opcode == "select" and types[0].startswith("<")):
        return False
    return all(is_mask(each) for each in types if each.startswith("<"))


def _result_type(opcode: str, text: str, types: list[str], operands: list[VectorOperand]) -> str:
    if opcode == "store":
        return ""
    if opcode == "call":
        ty = text[len("call ") : text.index(" @")]
        ty = ty[ty.rindex("<") :] if ty.endswith(">") else ty.split()[-1]
        return "" if ty == "void" else ty
    if " to " in text:
        return text.rpartition(" to ")[2]
    if opcode in ("icmp", "fcmp"):
        return vector("i1", lanes_of(types[0])[0])
    if opcode == "select":
        return types[-1]
    if opcode == "extractelement":
        return lanes_of(types[0])[1]
    if opcode == "shufflevector":
        return vector(lanes_of(types[0])[1], lanes_of(types[-1])[0])
    if opcode == "getelementptr":
        lanes = [lanes_of(each.ty)[0] for each in operands if each.ty.startswith("<")]
        return vector("ptr", lanes[0]) if lanes else "ptr"
    return types[0]


@lru_cache(maxsize=4096)
def operation(text: str, parameters: tuple[tuple[str, str], ...], ty: str, declared: str) -> VectorOperation:
    """Return the function that executes an instruction, whose operands are called %v0, %v1, and so on."""
    formal, body = ["ptr %d"] if is_wide(ty) else [], []

    for number, (kind, operand) in enumerate(parameters):
        name, value = f"%a{number}", f"%v{number}"
        if kind == "scalar":
            formal.append(f"{operand} {value}")
        elif kind == "vector":
            formal.append(f"ptr {name}")
            body.append(f"{value} = load {operand}, ptr {name}, align 1")
        elif kind == "mask":
            formal.append(f"{integer_of(operand)} {name}")
            body.append(f"{value} = bitcast {integer_of(operand)} {name} to {operand}")
        else:
            lanes, inner = lanes_of(operand)
            formal.append(f"{inner} {name}")
            body.append(f"%s{number} = insertelement {operand} poison, {inner} {name}, i64 0")
            order = f"<{lanes} x i32> zeroinitializer"
            body.append(f"{value} = shufflevector {operand} %s{number}, {operand} poison, {order}")

    body.append(f"%r = {text}" if ty else text)
    if is_wide(ty):
        body += [f"store {ty} %r, ptr %d, align 1", "ret void"]
    elif is_mask(ty):
        body += [f"%bits = bitcast {ty} %r to {integer_of(ty)}", f"ret {integer_of(ty)} %bits"]
    else:
        body.append(f"ret {ty} %r" if ty else "ret void")

    returned = integer_of(ty) if is_mask(ty) else "void" if is_wide(ty) or not ty else ty
    name = f"operation.{fingerprint(text, parameters, ty, declared)[:16]}"
    head = f"{returned} @{name}({', '.join(formal)})"
    lines = [f"define {head} {_ATTRIBUTES} {{", *("  " + line for line in body), "}"]
    return VectorOperation(name, head, "\n".join(lines), declared)
