"""Parser of PTX instructions and operands; resolves names by the scopes that contain them."""

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
    vector_elements,
)
from gpulab.simt.ptx.tokens import Tokens, literal

__all__ = ["InstructionParser", "unused_name"]

# Instructions whose constants can be hoisted, and those of which only the offset of an address can.
HOISTABLE = (
    "mov", "add", "sub", "mul", "mad", "fma", "shl", "shr", "and", "or", "xor", "setp", "selp", "min", "max",
)  # fmt: skip
HOISTABLE_OFFSETS = ("ld", "ldu", "st", "atom", "red")
COMPONENTS = (("x", "r"), ("y", "g"), ("z", "b"), ("w", "a"))  # names of a vector register's components


def unused_name(name: str, taken: Iterable[str]) -> str:
    """Return a name derived from `name` that is not taken. It has an apostrophe, which no PTX name has."""
    used = set(taken)
    return next(f"{name}'{n}" for n in count() if f"{name}'{n}" not in used)


class InstructionParser(Tokens):
    """Parser of instructions.

    Attributes
    ----------
    line : int
        Source line of the next instruction.
    current : Function
        The function that is being parsed.
    scopes : list of dict
        Registers and variables by name, the innermost scope last.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.line = 0
        self.current = Function("", False, [])
        self.scopes: list[dict[str, Operand]] = []
        self.additions: list[Instruction] = []  # instructions that compute operands such as `%rd1+8`
        self.parts: tuple[str, ...] = ()  # parts of the instruction that is being parsed

    def declare(self, name: str, ty: str, vector: str) -> Operand:
        """Declare a register in the innermost scope; it hides registers of that name in outer scopes."""
        registers = self.current.registers
        own = unused_name(name, registers) if name in registers or f"{name}.x" in registers else name
        scope = self.scopes[-1]
        if not vector:
            registers[own] = ty
            scope[name] = Reg(own)
            return Reg(own)
        parts = []
        for letters in COMPONENTS[: int(vector[1:])]:
            part = Reg(f"{own}.{letters[0]}")
            registers[part.name] = ty
            parts.append(part)
            scope.update({f"{name}.{letter}": part for letter in letters})
        scope[name] = Vec(tuple(parts))
        return scope[name]

    def instructions(self) -> list[Instruction]:
        """Parse a statement; return its instruction, with those that compute its operands before it."""
        predicate, row = None, self.row()
        if self.accept("@"):
            negated = self.accept("!")
            name = self.named(self.next())
            if not isinstance(name, Reg):
                raise UsageError(f"invalid PTX: `{name}` is not a register, near `{self.near()}`.")
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
            raise UsageError(f"invalid PTX: expected an instruction near `{self.near()}`.")
        if "cc" in parts and operands:  # the carry flag is a second result
            operands[0] = Vec((operands[0], self.carry()))
        if parts[0] in ("addc", "subc", "madc"):
            operands.append(self.carry())
        before, self.additions = self.additions, []
        return [*before, Instruction(parts, tuple(operands), predicate, self.line, row=row)]

    def carry(self) -> Reg:
        self.current.registers[CARRY] = "pred"
        return Reg(CARRY)

    def call(self, parts: tuple[str, ...], predicate: Reg | None) -> list[Instruction]:
        """Parse a call; arguments in registers are passed through variables in `.param` space."""
        before: list[Instruction] = []
        after: list[Instruction] = []
        results: tuple[str, ...] = ()
        if self.peek() == "(":
            results = self.passed("ld", after, predicate)
            self.accept(",")
        target = self.operand()
        arguments: tuple[str, ...] = ()
        if self.accept(",") and self.peek() == "(":
            arguments = self.passed("st", before, None)
        self.skip_to(";")  # the label of a prototype, in calls through pointers
        call = Instruction(parts, (), predicate, self.line, Call(results, target, arguments))
        return [*before, call, *after]

    def passed(self, op: str, transfers: list[Instruction], predicate: Reg | None) -> tuple[str, ...]:
        """Parse a list of arguments or results; return the names of the variables that pass them."""
        self.expect("(")
        names = []
        while not self.accept(")"):
            operand = self.operand()
            if isinstance(operand, Sym):
                names.append(operand.name)
            else:
                variables = self.current.variables
                name = unused_name("passed", [v.name for v in variables])
                variables.append(Variable(name, "param", 8, 8))
                transfers.append(self.transfer(op, name, operand, predicate))
                names.append(name)
            self.accept(",")
        return tuple(names)

    def declared(self, token: str) -> Operand | None:
        """Return the declaration of a name in the innermost scope that has one."""
        for scope in reversed(self.scopes):
            if token in scope:
                return scope[token]
        return None

    def named(self, token: str) -> Operand:
        """Return the register, vector of registers or variable that a name refers to."""
        declared = self.declared(token)
        if declared is not None:
            return declared
        return Reg(token) if token[:1] == "%" else Sym(token)

    def operand(self, in_brackets: bool = False) -> Operand:
        """Parse an operand."""
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
                raise UsageError(f"invalid PTX: expected a predicate after `!` near `{self.near()}`.")
            return Reg(name.name, True)
        if token == "-":
            return self.number("-" + self.next())
        if token[:1].isdigit():
            return self.number(token)

        if not token or not (token[0].isalpha() or token[0] in "%$_"):
            raise UsageError(f"invalid PTX: `{token}` is not an operand, near `{self.near()}`.")

        name = self.named(token)
        if "." in token:
            stem, _, part = token.rpartition(".")
            if self.declared(stem) is not None and self.declared(token) is None:
                raise UnsupportedInstruction(token, self.line, f"`.{part}`: components of registers")
        if self.peek() in ("+", "-"):
            if isinstance(name, Sym):  # `variable+16`
                return self.memory(name)
            if isinstance(name, Reg) and not in_brackets:
                return self.sum(name)
        return name

    def number(self, token: str) -> Imm:
        """Return a literal, with an index among the module's constants if it can be hoisted."""
        imm, ty = literal(token), self.parts[-1]
        if self.parts[0] not in HOISTABLE:
            return imm
        word = None
        if ty in ("f32", "f64"):
            word = imm.bits
        elif ty[0] in "sub" and ty[1:].isdigit() and imm.bits is None and isinstance(imm.value, int):
            word = imm.value
        if word is None:
            return imm
        return replace(imm, constant_index=self.add_constant(word, [self.at - 1]))

    def memory(self, base: Operand) -> Mem:
        """Return `base` with the offset that follows it."""
        offset, indices = self.offset()
        index, hoistable = -1, self.parts[0] in (*HOISTABLE, *HOISTABLE_OFFSETS)
        if indices and hoistable and not {"param", "local"}.intersection(self.parts):
            index = self.add_constant(offset, indices)
        return Mem(base, offset, constant_index=index)

    def sum(self, register: Reg) -> Reg:
        """Return a register for the operand `%rd1+8`, computed before the instruction."""
        registers = self.current.registers
        ty = f"u{8 * type_size(registers[register.name])}"
        target = Reg(unused_name(f"{register.name}+", registers))
        registers[target.name] = ty
        offset = self.memory(register)
        assert isinstance(offset.offset, int)
        operands = (target, register, Imm(offset.offset, constant_index=offset.constant_index))
        self.additions.append(Instruction(("add", ty), operands, None, self.line))
        return target

    def transfer(self, op: str, name: str, value: Operand, predicate: Reg | None = None) -> Instruction:
        """Return the `ld.param` or `st.param` between a parameter and a register, a vector or a literal."""
        elements = vector_elements(value)
        ty = "b64"
        if isinstance(elements[0], Reg):
            ty = self.current.registers.get(elements[0].name, "b32")
        parts = (op, "param", *([f"v{len(elements)}"] if len(elements) > 1 else []), ty)
        memory = Mem(Sym(name))
        operands = (value, memory) if op == "ld" else (memory, value)
        return Instruction(parts, operands, predicate, self.line)
