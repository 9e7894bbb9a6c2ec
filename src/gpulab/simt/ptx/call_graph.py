"""References in a PTX module: the calls between its functions, and the variables that code uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpulab.simt.ptx.syntax import Instruction, Mem, Module, Operand, Sym, Variable, Vec

__all__ = ["CallGraph", "function_address", "referenced_variables"]

FUNCTION_WINDOW = 0x7E03_0000_0000  # generic addresses of functions start here


def function_address(module: Module, name: str) -> int | None:
    """Return the number that represents a function's address; None if there is no such function."""
    names = list(module.functions)
    return FUNCTION_WINDOW + 16 * names.index(name) if name in module.functions else None


def referenced_variables(module: Module) -> list[Variable]:
    """Return the global and constant variables that code refers to, directly or through their contents.

    Headers such as cooperative_groups.h declare hundreds of variables that no code uses.
    """
    work = list(_symbols_in_code(module))
    referenced = set(work)
    while work:
        variable = module.variables.get(work.pop())
        targets = {symbol for _, symbol, _ in variable.references} if variable else set()
        work += targets - referenced
        referenced |= targets

    return [v for v in module.variables.values() if v.space in ("global", "const") and v.name in referenced]


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
        used |= _symbols_in_code(self.module)
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


def _symbols_in_code(module: Module) -> frozenset[str]:
    if "symbols" not in module.analyses:
        module.analyses["symbols"] = frozenset(_used_symbols(module))
    symbols: frozenset[str] = module.analyses["symbols"]
    return symbols


def _used_symbols(module: Module) -> set[str]:
    names: set[str] = set()
    for function in module.functions.values():
        for item in function.body:
            if isinstance(item, Instruction):
                names.update(_symbols(item.operands))
    return names


def _symbols(operands: Iterable[Operand]) -> Iterator[str]:
    for operand in operands:
        if isinstance(operand, Sym):
            yield operand.name
        elif isinstance(operand, Mem):
            yield from _symbols((operand.base, *operand.rest))
        elif isinstance(operand, Vec):
            yield from _symbols(operand.parts)
