"""Addresses between a state space and generic ones: shared and local memory lie in windows of their own."""

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
    """Between a state space and generic addresses: shared and local lie in windows of their own."""
    space = state_space(item)
    window = {"shared": layout.SHARED_WINDOW, "local": layout.LOCAL_WINDOW}.get(space, 0)
    given = item.operands[1]
    source, offset = (given.base, given.offset) if isinstance(given, Mem) else (given, 0)  # `variable+16`
    assert isinstance(offset, int)
    sign = -1 if "to" in item.parts else 1
    value = cg.operand(source, "i64")
    cg.assign(item.operands[0], add_offset(cg, value, offset + sign * window), item.predicate)


@handles("isspacep .global|local|shared|shared::cta")
def is_space(cg: CodegenContext, item: Instruction) -> None:
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
