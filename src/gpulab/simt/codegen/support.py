"""Check of a kernel's instructions when it is compiled, before the first launch translates them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.codegen import special_registers
from gpulab.simt.codegen.instruction_forms import check
from gpulab.simt.codegen.native import kernel_flow
from gpulab.simt.ptx.call_graph import CallGraph
from gpulab.simt.ptx.inlining import BUILTINS, RESERVED_REGISTER, flatten
from gpulab.simt.ptx.stack_code import STACK_OPERATIONS
from gpulab.simt.ptx.syntax import Instruction, Mem, Module, Operand, Reg, Sym, Vec

__all__ = ["check_kernel"]

CONTROL = ("bra", "brx", "exit", "ret", "trap", *STACK_OPERATIONS)  # translated without a handler


def check_kernel(module: Module, name: str) -> frozenset[str]:
    """Return the special registers that a kernel reads.

    Raises `UnsupportedInstruction` if it contains an instruction that the simulator does not execute.

    Operands are checked when code is generated for them, because few instructions restrict them.
    """
    if math.prod(module.functions[name].directives.get(".reqnctapercluster", ())) > 1:
        raise UnsupportedInstruction("__cluster_dims__", 0, "thread block clusters")
    functions = [module.functions[name], *(module.functions[f] for f in CallGraph(module).reachable(name))]
    try:
        read = [_check(module, function.body, set(function.registers)) for function in functions]
    except UnsupportedInstruction:  # code that cannot be reached may contain anything
        flat = flatten(module, name)
        read = [_check(module, b.code, set(flat.registers)) for b in kernel_flow(module, name).blocks]
    return frozenset().union(*read)


def _check(module: Module, body: Iterable[Instruction | str], registers: set[str]) -> set[str]:
    """Check instructions, and return the special registers that they read; `registers` are the others."""
    special: set[str] = set()
    for item in body:
        if isinstance(item, str) or item.op in CONTROL:
            continue
        if item.call is not None:
            _check_call(module, item)
            continue
        check(item)
        for register in _hardware_registers(item.operands):
            if register not in registers:
                special.add(register)
                if register != RESERVED_REGISTER:
                    special_registers.check(register, item.line)
    return special


def _check_call(module: Module, item: Instruction) -> None:
    """Raise `UnsupportedInstruction` for a call of a function that neither the module nor gpulab defines."""
    target = item.call and item.call.target
    if not isinstance(target, Sym) or target.name in BUILTINS:
        return
    function = module.functions.get(target.name)
    if function is not None and function.external:
        reason = "a function that this module does not define"
        raise UnsupportedInstruction(f"call {target.name}", item.line, reason)


def _hardware_registers(operands: Iterable[Operand]) -> Iterator[str]:
    """Yield the names of registers that begin as those of the hardware do."""
    for operand in operands:
        if isinstance(operand, Reg) and operand.name.startswith("%"):
            yield operand.name
        elif isinstance(operand, Mem):
            yield from _hardware_registers((operand.base, *operand.rest))
        elif isinstance(operand, Vec):
            yield from _hardware_registers(operand.parts)
