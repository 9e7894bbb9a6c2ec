"""Addresses that are computed twice have one expression."""

from __future__ import annotations

from gpulab.simt.analysis.address_expressions import AddressExpressions, Expression, variables
from gpulab.simt.codegen.native import kernel_flow
from gpulab.simt.ptx.parser import parse
from gpulab.simt.ptx.syntax import Mem

PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k() {
    .reg .b32 %r<8>;
    .reg .pred %p<2>;
    .shared .align 4 .b8 s[64];
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 2;
    add.s32 %r3, %r2, 8;
    ld.shared.u32 %r4, [%r3+4];
    add.s32 %r5, %r2, 8;
    st.shared.u32 [%r5+4], %r4;
    st.shared.u32 [%r5+8], %r4;
    add.s32 %r6, %r2, 12;
    setp.lt.u32 %p1, %r4, 3;
    @%p1 add.s32 %r6, %r2, 8;
    st.shared.u32 [%r6+4], %r4;
    ret;
}
"""


def expressions() -> list[Expression]:
    blocks = kernel_flow(parse(PTX), "k").blocks
    addresses = AddressExpressions(blocks)
    items = [item for block in blocks for item in block.code if item.op in ("ld", "st")]
    return [addresses.of(next(o for o in item.operands if isinstance(o, Mem))) for item in items]


def test_address_that_is_computed_twice_has_one_expression() -> None:
    load, store, *others = expressions()
    assert load == store
    assert load not in others


def test_register_with_two_definitions_is_a_variable() -> None:
    load, _, _, last = expressions()
    assert list(variables(last)) == ["%r6"]
    assert "%r6" not in variables(load)
