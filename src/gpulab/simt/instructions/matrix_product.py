"""Generated functions that compute D = A B + C for the fragments of one warp.

The function of a shape takes the registers of A, B and C and returns those of D, which it keeps in a buffer
as the lanes have them. It widens the elements of A and B once, B with its columns side by side, and computes
eight neighbouring elements of D at a time as one vector.

Integers wrap around, or saturate once after the whole sum. Double precision is a chain of fused
multiply-adds in the order of k. For f16, bf16 and tf32 the PTX manual leaves the order, the precision and the
rounding of a sum open. The rule here is the one that two studies derived for GPUs by tests and confirmed bit
by bit (F. A. Khattak and M. Mikaitis, "Accurate Models of NVIDIA Tensor Cores", arXiv 2512.07004; P. Xie et
al., "MMA-Sim", arXiv 2511.10909). Some products and C are summed at once:

1. The exponent of a product is the sum of its operands' exponents; a subnormal number has the smallest
   exponent of its format. Products of zeros count as smaller than 2^-126.
2. Each product, computed exactly, and C are truncated to F bits below the largest of these exponents.
3. The exact sum of these numbers is rounded once: towards zero for f32, to nearest for f16. A zero is +0
   (seen on an H200 for f16, also where a negative sum is rounded to it).

`Summation` has the number of products and F. The rule is evaluated in double precision, in which every step
is exact: powers of two stand for exponents, so that their products are sums of exponents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.ir import BITS as WIDTHS
from gpulab.simt.codegen.ir import Builder, vector
from gpulab.simt.instructions.arithmetic.elementwise import const
from gpulab.simt.instructions.arithmetic.formats import F16, narrow
from gpulab.simt.instructions.matrix_fragments import BITS, GROUPS, Fragment, Shape, fragment_of
from gpulab.simt.instructions.matrix_numbers import (
    as_double,
    exponent_power,
    maximum,
    power_literal,
    smallest_exponent,
    towards_zero,
)

__all__ = ["MatrixProduct", "Summation"]

PLACES = {"a": 0, "b": 2048, "c": 4096, "d": 6144}  # byte offsets of the matrices in the buffer
BUFFER_BYTES = 8192
EIGHT = {ty: vector(ty, GROUPS) for ty in ("i1", "i8", "i16", "i32", "i64", "float", "double")}
FLOATS = ("f16", "bf16", "tf32")


@dataclass(frozen=True)
class Summation:
    """How a GPU sums products of f16, bf16 or tf32.

    Attributes
    ----------
    fraction_bits : int
        Bits that are kept below the largest exponent.
    operand_bytes : int
        Bytes of a row of A whose products are summed at once.
    """

    fraction_bits: int
    operand_bytes: int

    @classmethod
    def of(cls, architecture: int) -> Summation:
        """Return the summation of a GPU, given as the number of its compute capability: 90 for 9.0."""
        return cls(25, 32) if architecture >= 90 else cls(24, 16)

    def products(self, ty: str) -> int:
        """Return the number of products that are summed at once."""
        return 8 * self.operand_bytes // BITS[ty]


@dataclass(frozen=True)
class MatrixProduct:
    """A product of two fragments plus a third one.

    Attributes
    ----------
    shape : Shape
        Its size.
    a, b, c, d : str
        PTX types of the elements.
    saturates : bool
        Integers saturate.
    summation : Summation
        How products of f16, bf16 and tf32 are summed.
    """

    shape: Shape
    a: str
    b: str
    c: str
    d: str
    saturates: bool
    summation: Summation

    @property
    def name(self) -> str:
        """Name of the function."""
        shape = f"m{self.shape.m}n{self.shape.n}k{self.shape.k}"
        return f"product_{shape}_{self.d}_{self.a}_{self.b}_{self.c}" + "_sat" * self.saturates

    def call(self, b: Builder, registers: Sequence[tuple[str, str]]) -> list[str]:
        """Append a call of the function, which is defined on first use; return the registers of D.

        `registers` are the types and values of the registers of A, B and C, in this order.
        """
        ty, count = self._result
        result = b.define(self.name, vector(ty, WARP * count), list(registers), self._body)
        return [
            b.pick(ty, result, WARP * count, list(range(first, first + WARP)))
            for first in range(0, WARP * count, WARP)
        ]

    @property
    def _result(self) -> tuple[str, int]:
        """LLVM type of a register of D in one lane, and the number of registers."""
        fragment = fragment_of("c", self.d, self.shape)
        return fragment.register_type, fragment.registers

    # -- the function ---------------------------------------------------------------------------

    @property
    def _wide(self) -> str:
        """LLVM type in which products are computed."""
        return "i32" if self.d == "s32" else "double"

    def _fragment(self, use: str) -> Fragment:
        return fragment_of(use, {"a": self.a, "b": self.b}[use], self.shape)

    def _body(self, b: Builder, registers: list[str]) -> str:
        buffer = b.alloca(f"[{BUFFER_BYTES} x i8]", "buffer")
        self._store_registers(b, registers, buffer)
        m, n, k = self.shape.m, self.shape.n, self.shape.k
        places = {}
        for name, count in (("a", m * k), ("b", k * n)):
            for part in (name, f"{name}_powers") if self.a in FLOATS else (name,):
                places[part] = b.alloca(f"[{count} x {self._wide}]", part)

        self._widen_rows(b, buffer, places)
        self._widen_columns(b, buffer, places)
        strips = n // GROUPS
        _loop(b, m * strips, lambda number: self._strip(b, buffer, places, number))

        ty, count = self._result
        return b.value(f"load {vector(ty, WARP * count)}, ptr {_at(b, buffer, PLACES['d'])}, align 64")

    def _store_registers(self, b: Builder, registers: list[str], buffer: str) -> None:
        """Store the registers of A, B and C to the buffer."""
        names = iter(registers)
        for name, ty in (("a", self.a), ("b", self.b), ("c", self.c)):
            fragment = fragment_of(name, ty, self.shape)
            size = WARP * WIDTHS[fragment.register_type] // 8
            for number in range(fragment.registers):
                place = _at(b, buffer, PLACES[name] + size * number)
                b.line(f"store {vector(fragment.register_type)} {next(names)}, ptr {place}, align 64")

    def _widen_rows(self, b: Builder, buffer: str, places: dict[str, str]) -> None:
        """Widen A; its blocks keep their order."""
        raw = f"i{BITS[self.a]}"
        count = self.shape.m * self.shape.k // GROUPS

        def chunk(number: str) -> None:
            source = _at(b, buffer, b.value(f"mul i64 {number}, {GROUPS * WIDTHS[raw] // 8}"), PLACES["a"])
            elements = b.value(f"load {EIGHT[raw]}, ptr {source}, align 1")
            target = b.value(f"mul i64 {number}, {GROUPS * WIDTHS[self._wide] // 8}")
            self._store_widened(b, self.a, elements, GROUPS, places, "a", target)

        _loop(b, count, chunk)

    def _widen_columns(self, b: Builder, buffer: str, places: dict[str, str]) -> None:
        """Widen B and transpose its blocks, so that eight columns are side by side."""
        raw = f"i{BITS[self.b]}"
        block_rows = self._fragment("b").block_columns
        size = GROUPS * block_rows
        order = [group * block_rows + row for row in range(block_rows) for group in range(GROUPS)]

        def block(number: str) -> None:
            source = _at(b, buffer, b.value(f"mul i64 {number}, {size * WIDTHS[raw] // 8}"), PLACES["b"])
            elements = b.value(f"load {vector(raw, size)}, ptr {source}, align 1")
            elements = b.pick(raw, elements, size, order)
            target = b.value(f"mul i64 {number}, {size * WIDTHS[self._wide] // 8}")
            self._store_widened(b, self.b, elements, size, places, "b", target)

        _loop(b, len(self._fragment("b").blocks), block)

    def _store_widened(
        self, b: Builder, ty: str, elements: str, count: int, places: dict[str, str], name: str, offset: str
    ) -> None:
        """Store elements of A or B as numbers of type `_wide`, and the powers of two of their exponents."""
        raw, wide = vector(f"i{BITS[ty]}", count), vector(self._wide, count)
        if self._wide == "i32":
            number = b.value(f"{'sext' if ty == 's8' else 'zext'} {raw} {elements} to {wide}")
        else:
            number = as_double(b, ty, elements, count)
        b.line(f"store {wide} {number}, ptr {_at(b, places[name], offset)}, align 8")
        if ty in FLOATS:
            power = exponent_power(b, number, smallest_exponent(ty), count)
            b.line(f"store {wide} {power}, ptr {_at(b, places[name + '_powers'], offset)}, align 8")

    # -- eight elements of a row ------------------------------------------------------------------

    def _strip(self, b: Builder, buffer: str, places: dict[str, str], number: str) -> None:
        """Compute eight neighbouring elements of a row; `number` counts along the rows."""
        strips = self.shape.n // GROUPS
        row = b.value(f"udiv i64 {number}, {strips}")
        strip = b.value(f"urem i64 {number}, {strips}")
        result = _RowOfBlocks(b, self.d, self.shape, row, strip)
        operands = _Operands(b, self._wide, self._fragment("a"), places, row, strip)

        accumulator = _RowOfBlocks(b, self.c, self.shape, row, strip).load(_at(b, buffer, PLACES["c"]))
        if self._wide == "i32":
            value = self._integer_sum(b, operands, accumulator)
        elif self.a == "f64":
            value = accumulator
            for k in range(self.shape.k):
                factors = [("<8 x double>", name) for name in operands.load("a", "b", k)]
                value = b.call("llvm.fma.v8f64", EIGHT["double"], *factors, (EIGHT["double"], value))
        else:
            value = self._float_sum(b, operands, accumulator)
        result.store(_at(b, buffer, PLACES["d"]), value)

    def _integer_sum(self, b: Builder, operands: _Operands, accumulator: str) -> str:
        ty, total = EIGHT["i32"], "zeroinitializer"
        for k in range(self.shape.k):
            x, y = operands.load("a", "b", k)
            total = b.value(f"add {ty} {total}, {b.value(f'mul {ty} {x}, {y}')}")
        if self.saturates:
            return b.call("llvm.sadd.sat.v8i32", ty, (ty, accumulator), (ty, total))
        return b.value(f"add {ty} {accumulator}, {total}")

    def _float_sum(self, b: Builder, operands: _Operands, accumulator: str) -> str:
        """Return the bits of the result: f16 as i16, f32 as float.

        If only one of C and D is f16, the sum is computed in f32 and converted, as in machine code.
        """
        ty = "f16" if self.c == self.d == "f16" else "f32"
        step = min(self.summation.products(self.a), self.shape.k)
        value, wide = "", as_double(b, self.c, accumulator, GROUPS)
        for first in range(0, self.shape.k, step):
            power = exponent_power(b, wide, smallest_exponent(ty), GROUPS)
            value = self._fused_sum(b, operands, range(first, first + step), wide, power, ty)
            wide = as_double(b, ty, value, GROUPS)
        return value if ty == self.d else narrow(b, EIGHT["double"], wide, F16)

    def _fused_sum(self, b: Builder, operands: _Operands, ks: range, c: str, c_power: str, ty: str) -> str:
        """Return the sum of some products and `c`, truncated together and rounded to a type."""
        t, flags = EIGHT["double"], EIGHT["i1"]
        largest = maximum(b, c_power, power_literal(-126))
        plain, products = c, []
        for k in ks:
            x, y = operands.load("a", "b", k)
            px, py = operands.load("a_powers", "b_powers", k)
            products.append(b.value(f"fmul {t} {x}, {y}"))
            plain = b.value(f"fadd {t} {plain}, {products[-1]}")
            largest = maximum(b, b.value(f"fmul {t} {px}, {py}"), largest)

        fraction = self.summation.fraction_bits
        scale = b.value(f"fdiv {t} {power_literal(fraction)}, {largest}")
        total = "zeroinitializer"  # positive, so that a sum of negative zeros is positive, too
        for number in (c, *products):
            part = b.call("llvm.trunc.v8f64", t, (t, b.value(f"fmul {t} {number}, {scale}")))
            total = b.value(f"fadd {t} {total}, {part}")
        unit = b.value(f"fmul {t} {largest}, {power_literal(-fraction)}")
        total = b.value(f"fmul {t} {total}, {unit}")

        # The plain sum is infinite or NaN only if an operand is: products are far from the largest double.
        finite = b.value(f"fcmp ord {t} {b.value(f'fsub {t} {plain}, {plain}')}, zeroinitializer")
        total = b.value(f"select {flags} {finite}, {t} {total}, {t} {plain}")
        if ty == "f32":
            return towards_zero(b, total)
        rounded = narrow(b, t, total, F16)
        bits = EIGHT["i16"]
        negative_zero = b.value(f"icmp eq {bits} {rounded}, {const(bits, 1 << 15)}")
        return b.value(f"select {flags} {negative_zero}, {bits} zeroinitializer, {bits} {rounded}")


class _Operands:
    """Widened elements of a row of A, and of the rows of B, for one strip of D."""

    def __init__(
        self, b: Builder, wide: str, fragment: Fragment, places: dict[str, str], row: str, strip: str
    ) -> None:
        self.b, self.wide, self.places = b, wide, places
        self.bytes = WIDTHS[wide] // 8
        self.columns = fragment.block_columns
        self.pair = min(fragment.rows // GROUPS, 2)  # blocks of a pair of rows, which alternate in A
        block = GROUPS * self.columns
        above = b.value(f"mul i64 {b.value(f'lshr i64 {row}, 4')}, {2 * fragment.columns * GROUPS}")
        second = b.value(f"and i64 {b.value(f'lshr i64 {row}, 3')}, 1")
        inside = b.value(f"mul i64 {b.value(f'and i64 {row}, 7')}, {self.columns}")
        start = b.value(f"add i64 {above}, {b.value(f'mul i64 {second}, {block}')}")
        start = b.value(f"add i64 {start}, {inside}")
        self.row = b.value(f"mul i64 {start}, {self.bytes}")
        self.strip = b.value(f"mul i64 {strip}, {fragment.columns * GROUPS * self.bytes}")

    def load(self, a: str, other: str, k: int) -> tuple[str, str]:
        """Return element k of the row of A eight times, and the eight elements of row k of B."""
        b, ty = self.b, EIGHT[self.wide]
        index = k // self.columns * self.pair * GROUPS * self.columns + k % self.columns
        single = b.value(f"load {self.wide}, ptr {_at(b, self.places[a], self.row, index * self.bytes)}")
        place = _at(b, self.places[other], self.strip, k * GROUPS * self.bytes)
        return b.splat(self.wide, single, GROUPS), b.value(f"load {ty}, ptr {place}, align 8")


class _RowOfBlocks:
    """Eight neighbouring elements of a row of C or D in the registers of the fragment."""

    def __init__(self, b: Builder, ty: str, shape: Shape, row: str, strip: str) -> None:
        self.b = b
        self.fragment = fragment_of("c", ty, shape)
        self.ty = {"f16": "i16", "s32": "i32", "f32": "float", "f64": "double"}[ty]
        pair = min(shape.m // GROUPS, 2)
        above = b.value(f"mul i64 {b.value(f'lshr i64 {row}, 4')}, {2 * (shape.n // GROUPS)}")
        second = b.value(f"and i64 {b.value(f'lshr i64 {row}, 3')}, 1")
        block = b.value(
            f"add i64 {b.value(f'add i64 {above}, {second}')}, {b.value(f'mul i64 {strip}, {pair}')}"
        )
        self.register_bytes = WARP * max(WIDTHS[self.ty], 32) // 8
        start = b.value(f"mul i64 {block}, {self.fragment.halves * self.register_bytes}")
        group = b.value(f"mul i64 {b.value(f'and i64 {row}, 7')}, {self.register_bytes // GROUPS}")
        self.offset = b.value(f"add i64 {start}, {group}")

    def load(self, base: str) -> str:
        """Return the elements; those of f16 as their bits."""
        b = self.b
        if self.fragment.halves == 1:
            return b.value(f"load {EIGHT[self.ty]}, ptr {_at(b, base, self.offset)}, align 1")
        four = vector(self.ty, 4)
        even, odd = (b.value(f"load {four}, ptr {place}, align 1") for place in self._halves(base))
        return b.pick(self.ty, even, 4, [0, 4, 1, 5, 2, 6, 3, 7], odd)

    def store(self, base: str, value: str) -> None:
        """Store the elements."""
        b = self.b
        if self.fragment.halves == 1:
            b.line(f"store {EIGHT[self.ty]} {value}, ptr {_at(b, base, self.offset)}, align 1")
            return
        for odd, place in enumerate(self._halves(base)):
            part = b.pick(self.ty, value, GROUPS, [odd, odd + 2, odd + 4, odd + 6])
            b.line(f"store {vector(self.ty, 4)} {part}, ptr {place}, align 1")

    def _halves(self, base: str) -> tuple[str, str]:
        return _at(self.b, base, self.offset), _at(self.b, base, self.offset, self.register_bytes)


# -- memory and loops ------------------------------------------------------------------------------


def _at(b: Builder, base: str, offset: str | int, more: int = 0) -> str:
    """Return a pointer plus an offset and a constant in bytes."""
    place = b.value(f"getelementptr i8, ptr {base}, i64 {offset}")
    return b.value(f"getelementptr i8, ptr {place}, i64 {more}") if more else place


def _loop(b: Builder, count: int, body: Callable[[str], None]) -> None:
    """Emit a loop; `body` receives the number of the iteration, an i64."""
    before, head, done = b.label, b.new_label("loop"), b.new_label("done")
    b.jump(head)
    b.open(head)
    number, following = b.name("i"), b.name("i")
    start = len(b.lines)
    body(number)
    b.line(f"{following} = add i64 {number}, 1")
    b.branch(b.value(f"icmp ult i64 {following}, {count}"), head, done)
    b.lines.insert(start, f"  {number} = phi i64 [ 0, %{before} ], [ {following}, %{b.label} ]")
    b.open(done)
