"""Conversion between generic addresses and addresses of a state space (PTX manual, section 9.7.9.20).

Shared and local memory have a window each in the generic address space; global and constant addresses are
generic addresses.
"""

from __future__ import annotations

from gpulab.simt.codegen.addressing import add_offset, state_space
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.instruction_forms import handles
from gpulab.simt.instructions.arithmetic.elementwise import const, elementwise
from gpulab.simt.ptx.syntax import Instruction, Mem
from gpulab.simt.runtime import layout

SPACES = ".const|global|local|param|param::entry|shared|shared::cta"


@handles(f"cvta{{.to}}{SPACES} .u64")
def convert_address(cg: CodegenContext, item: Instruction) -> None:
    """Convert an address from a state space to a generic address, or back with `.to`."""
    space = state_space(item)
    window = {"shared": layout.SHARED_WINDOW, "local": layout.LOCAL_WINDOW}.get(space, 0)
    operand = item.operands[1]
    source, offset = (operand.base, operand.offset) if isinstance(operand, Mem) else (operand, 0)
    assert isinstance(offset, int)
    sign = -1 if "to" in item.parts else 1
    value = cg.operand(source, "i64")
    cg.assign(item.operands[0], add_offset(cg, value, offset + sign * window), item.predicate)


@handles("isspacep .global|local|shared|shared::cta")
def is_space(cg: CodegenContext, item: Instruction) -> None:
    """Test whether a generic address is in a state space; an address in no window is global."""
    space = state_space(item)
    b = cg.b

    def make(t: str, flag: str, names: list[str]) -> str:
        def within(window: int) -> str:
            offset = b.value(f"sub {t} {names[0]}, {const(t, window)}")
            return b.value(f"icmp ult {t} {offset}, {const(t, layout.WINDOW_BYTES)}")

        if space != "global":
            return within(layout.SHARED_WINDOW if space == "shared" else layout.LOCAL_WINDOW)
        either = b.value(f"or {flag} {within(layout.SHARED_WINDOW)}, {within(layout.LOCAL_WINDOW)}")
        return b.value(f"xor {flag} {either}, {const(flag, 'true')}")

    value = cg.operand(item.operands[1], "i64")
    cg.assign(item.operands[0], elementwise(cg, "i1", [value], make), item.predicate)
