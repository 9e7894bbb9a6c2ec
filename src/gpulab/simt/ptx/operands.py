"""PTX instructions and their operands, with names resolved by the blocks they stand in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import count

from gpulab.errors import UnsupportedInstruction, UsageError
from gpulab.simt.ptx.syntax import (
    CARRY,
    Call,
    Function,
    Imm,
    Instruction,
    Mem,
    Operand,
    Reg,
    Sym,
    Variable,
    Vec,
    type_size,
)
from gpulab.simt.ptx.tokens import Tokens, literal

__all__ = ["Instructions", "unused"]

# Instructions that work with any number alike, and those of which only the offset of an address is so.
WITH_NUMBERS = (
    "mov", "add", "sub", "mul", "mad", "fma", "shl", "shr", "and", "or", "xor", "setp", "selp", "min", "max",
)  # fmt: skip
WITH_OFFSETS = ("ld", "ldu", "st", "atom", "red")
PARTS = (("x", "r"), ("y", "g"), ("z", "b"), ("w", "a"))  # names of a vector register's parts


def unused(name: str, taken: Iterable[str]) -> str:
    """A name made of this one that is not taken; an apostrophe stands in no PTX name."""
    used = set(taken)
    return next(f"{name}'{n}" for n in count() if f"{name}'{n}" not in used)


class Instructions(Tokens):
    """Reads instructions. scopes: names of registers and variables, of the innermost block last."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.line = 0
        self.function_here = Function("", False, [])
        self.scopes: list[dict[str, Operand]] = []
        self.sums: list[Instruction] = []  # what the operands just read have added up
        self.parts: tuple[str, ...] = ()  # of the instruction that is being read

    def declare(self, name: str, ty: str, vector: str) -> Operand:
        """A register of the innermost block; one of that name in another block is another one."""
        registers = self.function_here.registers
        own = unused(name, registers) if name in registers or f"{name}.x" in registers else name
        scope = self.scopes[-1]
        if not vector:
            registers[own] = ty
            scope[name] = Reg(own)
            return Reg(own)
        parts = []
        for letters in PARTS[: int(vector[1:])]:
            part = Reg(f"{own}.{letters[0]}")
            registers[part.name] = ty
            parts.append(part)
            scope.update({f"{name}.{letter}": part for letter in letters})
        scope[name] = Vec(tuple(parts))
        return scope[name]

    def instructions(self) -> list[Instruction]:
        predicate, row = None, self.row()
        if self.accept("@"):
            negated = self.accept("!")
            name = self.named(self.next())
            if not isinstance(name, Reg):
                raise UsageError(f"this is not PTX: no register `{name}` near `{self.near()}`.")
            predicate = Reg(name.name, negated)
        self.parts = parts = tuple(self.next().split("."))
        if parts[0] == "call":
            return self.call(parts, predicate)
        operands: list[Operand] = []
        while not self.accept(";"):
            operand = self.operand()
            if self.accept("|"):  # `%p|%q`: two destinations
                operand = Vec((operand, self.operand()))
            operands.append(operand)
            self.accept(",")
        if not parts[0]:
            raise UsageError(f"this is not PTX: expected an instruction near `{self.near()}`.")
        if "cc" in parts and operands:  # the carry that it gives is a second result
            operands[0] = Vec((operands[0], self.carry()))
        if parts[0] in ("addc", "subc", "madc"):
            operands.append(self.carry())
        before, self.sums = self.sums, []
        return [*before, Instruction(parts, tuple(operands), predicate, self.line, row=row)]

    def carry(self) -> Reg:
        self.function_here.registers[CARRY] = "pred"
        return Reg(CARRY)

    def call(self, parts: tuple[str, ...], predicate: Reg | None) -> list[Instruction]:
        """A call; where registers are passed, with the stores and loads of its parameters."""
        before: list[Instruction] = []
        after: list[Instruction] = []
        results: tuple[str, ...] = ()
        if self.peek() == "(":
            results = self.names("ld", after, predicate)
            self.accept(",")
        target = self.operand()
        arguments: tuple[str, ...] = ()
        if self.accept(",") and self.peek() == "(":
            arguments = self.names("st", before, None)
        self.skip_to(";")  # a prototype's label, for calls through pointers
        call = Instruction(parts, (), predicate, self.line, Call(results, target, arguments))
        return [*before, call, *after]

    def names(self, op: str, transfers: list[Instruction], predicate: Reg | None) -> tuple[str, ...]:
        self.expect("(")
        found = []
        while not self.accept(")"):
            operand = self.operand()
            if isinstance(operand, Sym):
                found.append(operand.name)
            else:
                variables = self.function_here.variables
                name = unused("passed", [v.name for v in variables])
                variables.append(Variable(name, "param", 8, 8))
                transfers.append(self.transfer(op, name, operand, predicate))
                found.append(name)
            self.accept(",")
        return tuple(found)

    def declared(self, token: str) -> Operand | None:
        return next((scope[token] for scope in reversed(self.scopes) if token in scope), None)

    def named(self, token: str) -> Operand:
        """What a name stands for here: a register, a vector of them, or a variable."""
        found = self.declared(token)
        if found is not None:
            return found
        return Reg(token) if token[:1] == "%" else Sym(token)

    def operand(self, in_brackets: bool = False) -> Operand:
        token = self.next()
        if token == "{":
            parts: list[Operand] = []
            while not self.accept("}"):
                parts.append(self.operand())
                self.accept(",")
            return Vec(tuple(parts))
        if token == "[":
            base = self.operand(in_brackets=True)
            memory = base if isinstance(base, Mem) else self.memory(base)
            rest = []
            while self.accept(","):
                rest.append(self.operand())
            self.expect("]")
            return replace(memory, rest=tuple(rest)) if rest else memory
        if token == "!":
            name = self.named(self.next())
            if not isinstance(name, Reg):
                raise UsageError(f"this is not PTX: `!` before no predicate near `{self.near()}`.")
            return Reg(name.name, True)
        if token == "-":
            return self.number("-" + self.next())
        if token[:1].isdigit():
            return self.number(token)
        if not token or not (token[0].isalpha() or token[0] in "%$_"):
            raise UsageError(f"this is not PTX: `{token}` is no operand near `{self.near()}`.")
        name = self.named(token)
        stem, dot, part = token.rpartition(".")
        if dot and self.declared(stem) is not None and self.declared(token) is None:
            raise UnsupportedInstruction(token, self.line, f"`.{part}`: parts of registers")
        if isinstance(name, Sym) and self.peek() in ("+", "-"):  # `variable+16`
            return self.memory(name)
        if isinstance(name, Reg) and not in_brackets and self.peek() in ("+", "-"):
            return self.sum(name)
        return name

    def number(self, token: str) -> Imm:
        """A literal, apart from the form where the instruction works with any number alike."""
        found, ty = literal(token), self.parts[-1]
        if self.parts[0] not in WITH_NUMBERS:
            return found
        number = None
        if ty in ("f32", "f64"):
            number = found.bits
        elif ty[0] in "sub" and ty[1:].isdigit() and found.bits is None and isinstance(found.value, int):
            number = found.value
        return (
            found
            if number is None
            else replace(found, constant_index=self.hoist_constants(number, [self.at - 1]))
        )

    def memory(self, base: Operand) -> Mem:
        """`base` with the offset that follows."""
        offset, words = self.offset()
        place, alike = -1, self.parts[0] in (*WITH_NUMBERS, *WITH_OFFSETS)
        if words and alike and not {"param", "local"}.intersection(self.parts):
            place = self.hoist_constants(offset, words)
        return Mem(base, offset, constant_index=place)

    def sum(self, register: Reg) -> Reg:
        """`%rd1+8` as an operand: a register of its own, added up before the instruction."""
        registers = self.function_here.registers
        ty = f"u{8 * type_size(registers[register.name])}"
        target = Reg(unused(f"{register.name}+", registers))
        registers[target.name] = ty
        offset = self.memory(register)
        assert isinstance(offset.offset, int)
        operands = (target, register, Imm(offset.offset, constant_index=offset.constant_index))
        self.sums.append(Instruction(("add", ty), operands, None, self.line))
        return target

    # Parameters may be registers, too: they are passed through `.param` space like all others.

    def transfer(self, op: str, name: str, value: Operand, predicate: Reg | None = None) -> Instruction:
        """`ld.param` or `st.param` between a parameter and a register, a vector or a number."""
        parts = value.parts if isinstance(value, Vec) else (value,)
        ty = "b64"
        if isinstance(parts[0], Reg):
            ty = self.function_here.registers.get(parts[0].name, "b32")
        words = (op, "param", *([f"v{len(parts)}"] if len(parts) > 1 else []), ty)
        memory = Mem(Sym(name))
        operands = (value, memory) if op == "ld" else (memory, value)
        return Instruction(words, operands, predicate, self.line)
