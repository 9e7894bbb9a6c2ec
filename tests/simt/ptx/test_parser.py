"""The PTX parser: scopes of names, vectors, parameters and invalid text."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from gpulab.simt.ptx.parser import parse
from gpulab.simt.ptx.syntax import Imm, Instruction, Mem, Reg, Sym, Vec
from tests.simt.ptx_harness import HEAD, entry, launch


def body(text: str) -> list[Instruction | str]:
    return (
        parse(f"{HEAD}.visible .entry k()\n{{\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n{text}\n}}")
        .functions["k"]
        .body
    )


def instruction(text: str) -> Instruction:
    (item,) = body(text)
    assert isinstance(item, Instruction)
    return item


def test_operands() -> None:
    assert instruction("ld.global.u32 %r1, [%rd2+-8];").operands == (Reg("%r1"), Mem(Reg("%rd2"), -8))
    assert instruction("mov.b64 {%r1, _}, %rd1;").operands == (Vec((Reg("%r1"), Sym("_"))), Reg("%rd1"))
    assert instruction("add.f32 %r1, %r2, 0f3F800000;").operands[2] == Imm(1.0, 0x3F800000)
    assert instruction("mov.u64 %rd1, table+16;").operands[1] == Mem(Sym("table"), 16)
    assert instruction("and.b32 %r1, %r2, 0xFFU;").operands[2] == Imm(255)
    assert instruction("mov.u32 %r1, %tid.x;").operands[1] == Reg("%tid.x")


def test_register_names_without_a_percent_sign() -> None:
    text = """
	.reg .u32 value, other;
	.reg .pred ready;
	ld.global.u32 value, [%rd0];
	add.u32 other, value, 1;
	setp.eq.u32 ready, other, 8;
	@!ready add.u32 other, other, 100;
	st.global.u32 [%rd0], other;"""
    assert list(launch(entry(1, text), 1, 1, np.array([7], np.uint32))[0]) == [8]


def test_name_is_local_to_its_scope() -> None:
    """Copies of inline assembly declare the same registers, with other types, and the same labels."""
    block = """
	{
	.reg .TYPE %t;
	.reg .pred %again;
	mov.TYPE %t, VALUE;
	setp.eq.u32 %again, %r5, VALUE;
	@%again bra SAME;
	cvt.u32.TYPE %r6, %t;
	add.u32 %r5, %r5, %r6;
SAME:
	}"""
    text = "\tmov.u32 %r5, 5;"
    for ty, value in (("s32", 5), ("u16", 7), ("u64", 12), ("s32", 20)):
        text += block.replace("TYPE", ty).replace("VALUE", str(value))
    text += "\n\tst.global.u32 [%rd0], %r5;"
    assert list(launch(entry(1, text), 1, 1, np.zeros(1, np.uint32))[0]) == [32]


def test_inner_scope_sees_outer_names() -> None:
    text = """
	.reg .b32 %x;
	mov.u32 %x, 1;
	{ add.u32 %x, %x, 10; { .reg .b32 %x; mov.u32 %x, 99; } add.u32 %x, %x, 100; }
	st.global.u32 [%rd0], %x;"""
    assert list(launch(entry(1, text), 1, 1, np.zeros(1, np.uint32))[0]) == [111]


def test_vector_registers() -> None:
    text = """
	.reg .v4 .u32 all;
	.reg.v2.u32 half;
	ld.global.v4.u32 all, [%rd0];
	mov.v2.u32 half, {all.w, all.x};
	mov.v4.u32 all, {all.y, all.x, half.y, half.x};
	st.global.v4.u32 [%rd0], all;"""
    assert list(launch(entry(1, text), 1, 1, np.array([1, 2, 3, 4], np.uint32))[0]) == [2, 1, 1, 4]


def test_register_plus_offset_as_an_operand() -> None:
    (result,) = launch(entry(1, "\tst.global.u32 [%rd0], %r2+41;"), 1, 1, np.zeros(1, np.uint32))
    assert list(result) == [41]


FUNCTIONS = (
    HEAD
    + """
.func (.reg .u32 sum, .reg .pred big) add_up (.reg .v2 .u32 pair, .reg .u32 third)
{
	add.u32 sum, pair.x, pair.y;
	add.u32 sum, sum, third;
	setp.gt.u32 big, sum, 100;
	@big ret;
	add.u32 sum, sum, 1000;
	ret;
}
"""
)


@pytest.mark.parametrize(("first", "expected"), [(10, [1060, 0]), (90, [140, 1])])
def test_functions_with_register_parameters(first: int, expected: list[int]) -> None:
    text = entry(1, """
	.reg .v2 .u32 two;
	.reg .u32 found;
	.reg .pred large;
	ld.global.v2.u32 two, [%rd0];
	call (found, large), add_up, (two, 20);
	selp.u32 %r5, 1, 0, large;
	st.global.v2.u32 [%rd0], {found, %r5};""")  # fmt: skip
    (result,) = launch(FUNCTIONS + text.removeprefix(HEAD), 1, 1, np.array([first, 30], np.uint32))
    assert list(result) == expected


def test_size_of_an_array_comes_from_its_initializer() -> None:
    module = parse(
        HEAD + ".global .align 4 .u16 x[] = {1, 2, 3};\n.global .f32 y[2][2] = {{0f3F800000}, {2.0, 0.5}};"
    )
    assert module.variables["x"].size == 6
    assert module.variables["y"].initial == np.array([1, 2, 0.5, 0], np.float32).tobytes()


KERNEL = ".visible .entry k() "
INVALID = [
    "hello",
    "} }",
    "\x00",
    ".visible .entry k( {",
    ".global .u32 x[",
    ".global .u32 x = {",
    ".global .attribute(",
    ".global .b8 x[99999999999999] = {1};",
    KERNEL + "{ add.u32",
    KERNEL + "{ ld.u32 %r1, [; }",
    KERNEL + "{ .reg .b33 %r1; }",
    KERNEL + "{ .reg .b32 %r<999999999>; }",
    KERNEL + "{ @5 ret; }",
    KERNEL + "{ { }",
    KERNEL + "{" * 5000,
    KERNEL + "{ mov.u32 %r1, " + "{" * 5000,
    KERNEL + "{ mov.u32 %r1, -%r2; }",
    KERNEL + "{ call (; }",
    KERNEL + "{ call f, (a), p",
    KERNEL + "{ L: .branchtargets A, B",
]


@pytest.mark.parametrize("text", INVALID)
def test_invalid_ptx_raises_usage_error(text: str) -> None:
    with pytest.raises(gpulab.GpulabError):
        parse(HEAD + text)


def test_128_bit_registers_are_rejected() -> None:
    with pytest.raises(gpulab.UnsupportedInstruction) as error:
        parse(HEAD + ".visible .entry k() { .reg .b128 %q; ret; }")
    assert error.value.instruction == ".reg .b128"
