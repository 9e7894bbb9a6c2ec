"""One flat body per kernel: calls of device functions are expanded in place.

A `.param` variable of a call becomes registers, one for each offset that is stored to it; passing
an argument is then a `mov`. Recursion and calls through pointers have no flat form and are refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.ptx import Function, Instruction, Mem, Module, Operand, Reg, Sym, Variable, Vec, type_size

__all__ = ["BUILTINS", "FlatFunction", "flatten"]

BUILTINS = ("vprintf", "__assertfail", "__nanosleep")


@dataclass
class FlatFunction:
    """A kernel with no calls left except `BUILTINS`."""

    name: str
    entry: Function
    body: list[Instruction | str] = field(default_factory=list)
    registers: dict[str, str] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    tables: dict[str, list[str]] = field(default_factory=dict)


def flatten(module: Module, name: str) -> FlatFunction:
    """Expand every call in the kernel `name`. Raises `UnsupportedInstruction` for recursion."""
    entry = module.functions[name]
    flat = FlatFunction(name, entry)
    _Inliner(module, flat).expand(entry, "", (name,))
    return flat


class _Inliner:
    def __init__(self, module: Module, flat: FlatFunction) -> None:
        self.module = module
        self.flat = flat
        self.copies = 0

    def expand(self, function: Function, prefix: str, stack: tuple[str, ...]) -> None:
        """Append the body of `function`, with its own names behind `prefix`."""
        labels = {item for item in function.body if isinstance(item, str)}
        local = {v.name for v in function.variables} | {p.name for p in function.params + function.results}
        self.flat.registers.update({prefix + r: t for r, t in function.registers.items()})
        for variable in function.variables:
            if variable.space != "param":
                self.flat.variables[prefix + variable.name] = replace(variable, name=prefix + variable.name)
        self.flat.tables.update(
            {prefix + t: [prefix + label for label in targets] for t, targets in function.tables.items()}
        )
        entry_params = {p.name for p in function.params} if function.entry else set()

        def rename(operand: Operand) -> Operand:
            if isinstance(operand, Reg):
                return (
                    replace(operand, name=prefix + operand.name)
                    if operand.name in function.registers
                    else operand
                )
            if isinstance(operand, Sym):
                own = operand.name in labels or operand.name in local or operand.name in function.tables
                return Sym(prefix + operand.name) if own and operand.name not in entry_params else operand
            if isinstance(operand, Mem):
                return replace(operand, base=rename(operand.base))
            if isinstance(operand, Vec):
                return Vec(tuple(rename(part) for part in operand.parts))
            return operand

        for item in function.body:
            if isinstance(item, str):
                self.flat.body.append(prefix + item)
                continue
            predicate = item.predicate and rename(item.predicate)
            assert predicate is None or isinstance(predicate, Reg)
            copy = replace(item, operands=tuple(rename(o) for o in item.operands), predicate=predicate)
            if item.op == "call":
                self.call(copy, prefix, stack)
            elif item.op == "ret" and not function.entry:
                target = Sym(f"{prefix}return")
                self.flat.body.append(Instruction(("bra",), (target,), predicate, item.line))
            elif (
                item.op in ("ld", "st") and "param" in item.parts and not self.entry_param(copy, entry_params)
            ):
                self.flat.body += self.moves(copy)
            else:
                self.flat.body.append(copy)
        if not function.entry:
            self.flat.body.append(f"{prefix}return")

    @staticmethod
    def entry_param(item: Instruction, entry_params: set[str]) -> bool:
        memory = item.operands[1] if item.op == "ld" else item.operands[0]
        assert isinstance(memory, Mem)
        return isinstance(memory.base, Reg) or (
            isinstance(memory.base, Sym) and memory.base.name in entry_params
        )

    def moves(self, item: Instruction) -> list[Instruction]:
        """`st.param.v2.f32 [p+8], {a, b}` as `mov p+8, a; mov p+12, b`."""
        load = item.op == "ld"
        memory, value = (item.operands[1], item.operands[0]) if load else item.operands
        assert isinstance(memory, Mem) and isinstance(memory.base, Sym)
        ty = item.parts[-1]
        parts = value.parts if isinstance(value, Vec) else (value,)
        found = []
        for number, part in enumerate(parts):
            slot = Reg(f"{memory.base.name}+{memory.offset + number * type_size(ty)}")
            if load:
                self.flat.registers.setdefault(slot.name, ty)
            else:
                self.flat.registers[slot.name] = ty
            pair = (part, slot) if load else (slot, part)
            found.append(Instruction(("mov", ty), pair, item.predicate, item.line))
        return found

    def call(self, item: Instruction, prefix: str, stack: tuple[str, ...]) -> None:
        call = item.call
        assert call is not None
        if not isinstance(call.target, Sym):
            raise UnsupportedInstruction("call", item.line, "a call through a pointer")
        arguments = tuple(prefix + a for a in call.arguments)
        results = tuple(prefix + r for r in call.results)
        name = call.target.name
        if name in BUILTINS:
            self.flat.body.append(replace(item, call=replace(call, results=results, arguments=arguments)))
            for result in results:
                self.flat.registers.setdefault(f"{result}+0", "b32")
            return
        function = self.module.functions.get(name)
        if function is None or function.external:
            raise UnsupportedInstruction(f"call {name}", item.line, "a function that is not in this text")
        if name in stack:
            raise UnsupportedInstruction(f"call {name}", item.line, "a recursive call")
        if item.predicate is not None:
            raise UnsupportedInstruction("@p call", item.line, "a predicated call")
        self.copies += 1
        inner = f"{name}@{self.copies}:"
        for outer, formal in zip(arguments, function.params, strict=True):
            self.copy_param(outer, inner + formal.name, item.line)
        self.expand(function, inner, (*stack, name))
        for outer, formal in zip(results, function.results, strict=True):
            self.copy_param(inner + formal.name, outer, item.line)

    def copy_param(self, source: str, target: str, line: int) -> None:
        for slot, ty in list(self.flat.registers.items()):
            if slot.startswith(source + "+"):
                copied = target + slot[len(source) :]
                self.flat.registers[copied] = ty
                self.flat.body.append(Instruction(("mov", ty), (Reg(copied), Reg(slot)), None, line))
