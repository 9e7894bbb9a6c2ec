"""Code that counts divisions and roots whose operands need the slow path of machine code.

The assembler turns a division, a reciprocal or a root into iterations of Newton's method, which fail for
operands and results near the ends of the range of exponents. It tests for these and calls a subroutine for
lanes that have them, among others for a numerator of 0.

The tests compare the upper 32 bits of numbers. Those of reciprocals, roots and quotients of doubles were read
from machine code. The quotient of floats has an instruction for its test (FCHK) that is not documented. On an
H100, Nsight Compute's counts of instructions show that it compares the exponents and their difference only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gpulab.simt.codegen.ir import Builder, vector
from gpulab.simt.instrument.counters.counter_layout import ROWS_AT, add
from gpulab.simt.instrument.linked_functions import signature
from gpulab.simt.ptx.syntax import Instruction

__all__ = ["FORMS", "SlowPath", "count_slow_path", "linked_function", "slow_path"]

# The bits of the upper word that a test compares.
ALL, MAGNITUDE, EXPONENT = 0xFFFFFFFF, 0x7FFFFFFF, 0x7F800000
WORD, FLAG = vector("i32"), vector("i1")


class SlowPath(NamedTuple):
    """An instruction that has a slow path, and the numbers that do not need it.

    Attributes
    ----------
    op, ty : str
        The instruction, and the type of its operands in LLVM IR.
    fast : tuple of (int, int)
        For each operand, the first and last upper word on the fast path.
    quotient : (int, int) or None
        The same for the quotient of the operands.
    bits : int
        The bits of an upper word that count.
    """

    op: str
    ty: str
    fast: tuple[tuple[int, int], ...]
    quotient: tuple[int, int] | None = None
    bits: int = MAGNITUDE


FORMS = (
    SlowPath(
        "div",
        "float",
        ((0x0C800000, 0x7F000000), (0x01000000, 0x7D800000)),  # from 2^-102, and from 2^-125 to 2^125
        (0x01800000, 0x7E800000),  # exponents that differ by -124 to 126
        EXPONENT,
    ),
    SlowPath("div", "double", ((0x03600000, 0x7FEFFFFF), (0x00100000, 0x7F7FFFFF)), (0x00100001, 0x7F800000)),
    SlowPath("rcp", "float", ((0x00800000, 0x7E7FFFFF),)),
    SlowPath("rcp", "double", ((0x00100000, 0x7FCFFBFD),)),
    # A negative root takes the slow path.
    SlowPath("sqrt", "float", ((0x0D000000, 0x7F7FFFFF),), bits=ALL),
    SlowPath("sqrt", "double", ((0x03500000, 0x7FEFFFFF),), bits=ALL),
    SlowPath("rsqrt", "double", ((0x00100000, 0x7FEFFFFF),), bits=ALL),
)


def slow_path(item: Instruction) -> SlowPath | None:
    """Return the slow path of an instruction; None if it has none."""
    ty = {"f32": "float", "f64": "double"}.get(item.parts[-1], "")
    if ty == "float" and {"approx", "full"} & set(item.parts):
        return None
    return next((form for form in FORMS if (form.op, form.ty) == (item.op, ty)), None)


def count_slow_path(b: Builder, form: SlowPath, place: str, mask: str, operands: Sequence[str]) -> None:
    """Emit the count of one execution by a warp if any of its lanes needs the slow path.

    `place` points to the counter, `mask` is an i32 of the active lanes, and the operands are vectors.
    """
    words = [_upper_words(b, form.ty, operand) for operand in operands]
    words = [b.value(f"and {WORD} {word}, splat (i32 {form.bits})") for word in words]
    tests = [_outside(b, word, *limits) for word, limits in zip(words, form.fast, strict=True)]
    if form.quotient is not None:
        # The difference of two words is that of the exponents, and within 1 that of the logarithms.
        one = 0x3F800000 if form.ty == "float" else 0x3FF00000
        difference = b.value(f"sub {WORD} {words[0]}, {words[1]}")
        tests.append(_outside(b, b.value(f"add {WORD} {difference}, splat (i32 {one})"), *form.quotient))
    slow = tests[0]
    for test in tests[1:]:
        slow = b.value(f"or {FLAG} {slow}, {test}")
    lanes = b.value(f"and i32 {mask}, {b.value(f'bitcast {FLAG} {slow} to i32')}")
    add(b, place, b.value(f"zext i1 {b.value(f'icmp ne i32 {lanes}, 0')} to i64"))


def linked_function() -> str:
    """Return the definition of `tier_division`."""
    cases = " ".join(f"i32 {number}, label %form{number}" for number in range(len(FORMS)))
    b = Builder()
    start = b.call("sim_counter_head", "i64", ("ptr", "%ctx"), ("i64", str(ROWS_AT)))
    arguments = ("ptr", "%ctx"), ("i64", start), ("i64", "8"), ("i32", "%number")
    place = b.call("sim_counter", "ptr", *arguments)
    b.line(f"switch i32 %form, label %out [ {cases} ]")
    for number, form in enumerate(FORMS):
        b.open(f"form{number}")
        ty, operands = vector(form.ty), []
        for position in range(len(form.fast)):
            array = b.value(f"getelementptr {ty}, ptr %operands, i64 {position}")
            operands.append(b.value(f"load {ty}, ptr {array}, align 8"))
        count_slow_path(b, form, place, "%mask", operands)
        b.jump("out")
    b.open("out")
    return "\n".join([f"define internal {signature('tier_division')} #1 {{", *b.lines, "  ret void", "}"])


def _upper_words(b: Builder, ty: str, operand: str) -> str:
    """Return the upper 32 bits of floats or doubles."""
    if ty == "float":
        return b.value(f"bitcast {vector(ty)} {operand} to {WORD}")
    bits = b.value(f"bitcast {vector(ty)} {operand} to {vector('i64')}")
    upper = b.value(f"lshr {vector('i64')} {bits}, splat (i64 32)")
    return b.value(f"trunc {vector('i64')} {upper} to {WORD}")


def _outside(b: Builder, word: str, first: int, last: int) -> str:
    """Return whether unsigned words are outside of a range."""
    above = b.value(f"sub {WORD} {word}, splat (i32 {first})")
    return b.value(f"icmp ugt {WORD} {above}, splat (i32 {last - first})")
