"""References in a PTX module: the calls between its functions, and the variables that code uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter

from gpulab.simt.ptx.syntax import Instruction, Mem, Module, Operand, Sym, Variable, Vec

__all__ = ["CallGraph", "function_address", "referenced_variables"]

FUNCTION_WINDOW = 0x7E03_0000_0000  # generic addresses of functions start here
MOST_NESTED = 64  # calls within each other that are inlined; each takes three frames of Python's stack
# Instructions of a function, with all that it inlines, of which several copies are inlined: functions that
# call each other twice double the code at every level.
MOST_COPIED = 1 << 12


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
        Functions that are not inlined: those, recursive ones, and those whose inlined code would be too deep
        or too large.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.address_taken = self._address_taken()
        self.calls = {name: self._calls(name) for name in module.functions}
        self.not_inlined = self.address_taken | {f for f in module.functions if f in self.reachable(f)}
        self.not_inlined |= self._too_large()

    def _address_taken(self) -> set[str]:
        functions = self.module.functions
        used = {s for v in self.module.variables.values() for _, s, _ in v.references}
        used |= _symbols_in_code(self.module)
        return {n for n in used if n in functions and not functions[n].external}

    def _calls(self, name: str) -> Counter[str]:
        """Return how many call sites of each function another function contains."""
        calls: Counter[str] = Counter()
        for item in self.module.functions[name].body:
            if isinstance(item, Instruction) and item.call is not None:
                target = item.call.target
                calls.update({target.name} if isinstance(target, Sym) else self.address_taken)
        return Counter({n: sites for n, sites in calls.items() if n in self.module.functions})

    def _too_large(self) -> set[str]:
        """Return functions that must not be inlined so that the others take little code and few levels."""
        functions, sites = self.module.functions, Counter[str]()
        for calls in self.calls.values():
            sites.update(calls)
        inlined = {name: self.calls[name].keys() - self.not_inlined for name in functions}
        size: dict[str, int] = {}
        depth: dict[str, int] = {}
        too_large: set[str] = set()
        for name in TopologicalSorter(inlined).static_order():  # callees first
            parts = inlined[name] - too_large
            size[name] = len(functions[name].body) + sum(self.calls[name][n] * size[n] for n in parts)
            depth[name] = 1 + max((depth[n] for n in parts), default=0)
            if depth[name] > MOST_NESTED or (size[name] > MOST_COPIED and sites[name] > 1):
                too_large.add(name)
        return too_large

    def reachable(self, name: str) -> set[str]:
        """Return the functions that a call of a function can lead to."""
        reached: set[str] = set()
        work = list(self.calls[name])
        while work:
            callee = work.pop()
            if callee not in reached:
                reached.add(callee)
                work += self.calls[callee]
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
