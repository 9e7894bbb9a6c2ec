"""Call graph of a PTX module: which functions call, and can reach, which others."""

from __future__ import annotations

from gpulab.simt.ptx.syntax import Instruction, Mem, Module, Operand, Sym, Vec

__all__ = ["CallGraph", "function_address"]

FUNCTION_WINDOW = 0x7E03_0000_0000  # generic addresses of functions start here


def function_address(module: Module, name: str) -> int | None:
    """Return the number that represents a function's address; None if there is no such function."""
    names = list(module.functions)
    return FUNCTION_WINDOW + 16 * names.index(name) if name in module.functions else None


class CallGraph:
    """The calls between the functions of a module.

    Attributes
    ----------
    address_taken : set of str
        Functions whose address is used as a value; a call through a pointer may call any of them.
    not_inlined : set of str
        Functions that cannot be inlined: those, and recursive ones.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.address_taken = self._address_taken()
        self.not_inlined = self.address_taken | {f for f in module.functions if f in self.reachable(f)}

    def _address_taken(self) -> set[str]:
        functions = self.module.functions
        used = {s for v in self.module.variables.values() for _, s, _ in v.references}
        for function in functions.values():
            for item in function.body:
                if isinstance(item, Instruction):
                    used |= set().union(*(_symbols(o) for o in item.operands))
        return {n for n in used if n in functions and not functions[n].external}

    def callees(self, name: str) -> set[str]:
        """Return the functions that a function can call directly."""
        names: set[str] = set()
        for item in self.module.functions[name].body:
            if isinstance(item, Instruction) and item.call is not None:
                target = item.call.target
                names |= {target.name} if isinstance(target, Sym) else self.address_taken
        return {n for n in names if n in self.module.functions}

    def reachable(self, name: str) -> set[str]:
        """Return the functions that a call of a function can lead to."""
        reached: set[str] = set()
        work = list(self.callees(name))
        while work:
            callee = work.pop()
            if callee not in reached:
                reached.add(callee)
                work += self.callees(callee)
        return reached


def _symbols(operand: Operand) -> set[str]:
    if isinstance(operand, Sym):
        return {operand.name}
    if isinstance(operand, Mem):
        return _symbols(operand.base)
    return set().union(*(_symbols(p) for p in operand.parts)) if isinstance(operand, Vec) else set()
