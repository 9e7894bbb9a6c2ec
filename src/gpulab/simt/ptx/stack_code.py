"""Code for the stack of a thread: values that are pushed and popped, frames of functions, and `alloca`.

The stack is a local variable of a flat kernel, and grows upwards. A register holds the address of its top.
"""

from __future__ import annotations

from gpulab.simt.ptx.flat_function import FlatFunction
from gpulab.simt.ptx.syntax import (
    Function,
    Imm,
    Instruction,
    Mem,
    Operand,
    Reg,
    Sym,
    Variable,
    type_size,
)

__all__ = ["STACK", "STACK_OPERATIONS", "TOP", "StackCode"]

STACK = "stack"  # the local variable that holds the frames of functions that are not inlined
STACK_BYTES = 16 << 10  # bytes per thread; CUDA's default is 1 KiB, and programs can raise it
STACK_OPERATIONS = ("alloca", "stacksave", "stackrestore")
STACK_ALIGN = 16  # bytes: the top of the stack is a multiple of it
TOP = Reg("stack top")


class StackCode:
    """The code of a flat kernel, to which operations on the stack are appended."""

    def __init__(self, flat: FlatFunction) -> None:
        self.flat = flat

    def open_stack(self) -> None:
        """Declare the stack, and set its top to its beginning."""
        self.flat.registers[TOP.name] = "b64"
        self.flat.variables[STACK] = Variable(STACK, "local", STACK_BYTES, 16)
        self.emit("mov", "u64", TOP, Sym(STACK))

    def emit(self, *parts: str | Operand, line: int = 0) -> None:
        """Append an instruction, given as its words followed by its operands."""
        names = tuple(p for p in parts if isinstance(p, str))
        self.flat.body.append(
            Instruction(names, tuple(p for p in parts if not isinstance(p, str)), None, line)
        )

    def scratch(self, name: str, ty: str) -> Reg:
        """Return a register for an intermediate value, declared with a PTX type."""
        self.flat.registers[name] = ty
        return Reg(name)

    def push(self, value: Operand, line: int) -> None:
        self.emit("st", "local", "b64", Mem(TOP), value, line=line)
        self.emit("add", "s64", TOP, TOP, Imm(8), line=line)

    def pop(self, target: Reg, line: int) -> None:
        self.emit("add", "s64", TOP, TOP, Imm(-8), line=line)
        self.emit("ld", "local", "b64", target, Mem(TOP), line=line)

    def as_word(self, register: str, ty: str, line: int) -> Reg:
        """Emit the conversion of a register to 64 bits, and return the result."""
        word = self.scratch("pushed", "b64")
        if ty == "pred":
            self.emit("selp", "u64", word, Imm(1), Imm(0), Reg(register), line=line)
        elif type_size(ty) == 8:
            self.emit("mov", "b64", word, Reg(register), line=line)
        else:
            bits = "u16" if type_size(ty) <= 2 else "u32"
            same = self.scratch(f"pushed {bits}", bits)
            self.emit("mov", f"b{bits[1:]}", same, Reg(register), line=line)
            self.emit("cvt", "u64", bits, word, same, line=line)
        return word

    def from_word(self, register: str, ty: str, word: Reg, line: int) -> None:
        """Emit the conversion of 64 bits to a register."""
        if ty == "pred":
            self.emit("setp", "ne", "u64", Reg(register), word, Imm(0), line=line)
        elif type_size(ty) == 8:
            self.emit("mov", "b64", Reg(register), word, line=line)
        else:
            bits = "u16" if type_size(ty) <= 2 else "u32"
            same = self.scratch(f"popped {bits}", bits)
            self.emit("cvt", bits, "u64", same, word, line=line)
            self.emit("mov", f"b{bits[1:]}", Reg(register), same, line=line)

    def stack_operation(self, item: Instruction) -> None:
        """Replace `alloca`, `stacksave` or `stackrestore` by operations on the top of the stack."""
        if item.op == "stackrestore":
            self.emit("mov", "b64", TOP, item.operands[0], line=item.line)
            return
        if item.op == "stacksave":
            self.emit("mov", "b64", item.operands[0], TOP, line=item.line)
            return
        result, size, *alignment = item.operands
        align = max(int(a.value) for a in (*alignment, Imm(STACK_ALIGN)) if isinstance(a, Imm))
        if align > STACK_ALIGN:
            self.emit("add", "s64", TOP, TOP, Imm(align - 1), line=item.line)
            self.emit("and", "b64", TOP, TOP, Imm(-align), line=item.line)
        self.emit("mov", "b64", result, TOP, line=item.line)
        wide = self.scratch("allocated", "b64")
        if item.parts[-1] == "u32":
            self.emit("cvt", "u64", "u32", wide, size, line=item.line)
        else:
            self.emit("mov", "b64", wide, size, line=item.line)
        self.emit("add", "s64", wide, wide, Imm(STACK_ALIGN - 1), line=item.line)
        self.emit("and", "b64", wide, wide, Imm(-STACK_ALIGN), line=item.line)
        self.emit("add", "s64", TOP, TOP, wide, line=item.line)

    def open_frame(self, function: Function, prefix: str) -> dict[str, Reg]:
        """Allocate a function's local variables on the stack; return registers with their addresses."""
        addresses: dict[str, Reg] = {}
        at = 0
        for variable in function.variables:
            if variable.space == "local":
                at = -(-at // 16) * 16
                address = self.scratch(f"{prefix}{variable.name} at", "b64")
                self.emit("add", "s64", address, TOP, Imm(at))
                addresses[variable.name] = address
                at += variable.size
        if at:
            self.emit("add", "s64", TOP, TOP, Imm(self.frame_bytes(function)))
        return addresses

    def close_frame(self, function: Function) -> None:
        """Release a function's local variables on the stack."""
        frame = self.frame_bytes(function)
        if frame:
            self.emit("add", "s64", TOP, TOP, Imm(-frame))

    @staticmethod
    def frame_bytes(function: Function) -> int:
        """Return the size of a function's local variables on the stack."""
        total = 0
        for variable in function.variables:
            if variable.space == "local":
                total = -(-total // 16) * 16 + variable.size
        return -(-total // 16) * 16
