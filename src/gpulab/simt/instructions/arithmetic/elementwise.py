"""How an instruction is made on values of any shape.

Where all operands are uniform the scalar instruction is made, else the one on 32 lanes; sums and
products that keep rows (see `shapes`) are made row by row.
"""

from __future__ import annotations

from collections.abc import Callable

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.codegen import suspension
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.ir import BITS, REGISTER_TYPES, Value, suffix, vector
from gpulab.simt.ptx.syntax import Instruction, Reg


def type_of(item: Instruction, part: str | None = None) -> str:
    name = part or item.parts[-1]
    if name not in REGISTER_TYPES:
        raise UnsupportedInstruction(item.text, item.line, f"values of type .{name}")
    return REGISTER_TYPES[name]


def signed(name: str) -> bool:
    return name[0] == "s"


def const(ty: str, value: int | str) -> str:
    """A literal as scalar, or as splat where `ty` is a vector."""
    if ty.startswith("<"):
        inner = ty[1:-1].partition(" x ")[2]
        return f"splat ({inner} {value})"
    return str(value)


def elementwise(
    cg: CodegenContext, ty: str, values: list[Value], make: Callable[[str, str, list[str]], str]
) -> Value:
    """`make(operand type, result type, names)` on scalars or on lanes, whichever the values need."""
    if all(v.kind == "uniform" for v in values):
        return Value(ty, "uniform", (make(values[0].ty, ty, [v.ref for v in values]),))
    names = [cg.to_vector(v) for v in values]
    return Value(ty, "varying", (make(vector(values[0].ty), vector(ty), names),))


def elementwise_two(
    cg: CodegenContext,
    types: tuple[str, str],
    values: list[Value],
    make: Callable[[str, list[str]], tuple[str, str]],
) -> tuple[Value, Value]:
    """As `elementwise`, for an instruction with two results."""
    if all(v.kind == "uniform" for v in values):
        one, two = make(values[0].ty, [v.ref for v in values])
        return Value(types[0], "uniform", (one,)), Value(types[1], "uniform", (two,))
    one, two = make(vector(values[0].ty), [cg.to_vector(v) for v in values])
    return Value(types[0], "varying", (one,)), Value(types[1], "varying", (two,))


def simple(
    cg: CodegenContext, item: Instruction, text: Callable[[str, list[str]], str], ty: str | None = None
) -> None:
    """An instruction whose operands and result have one type: `text` gives its right-hand side."""
    ty = ty or type_of(item)
    values = [cg.operand(o, ty) for o in item.operands[1:]]
    result = elementwise(cg, ty, values, lambda t, _, names: cg.b.value(text(t, names)))
    cg.assign(item.operands[0], result, item.predicate)


def intrinsic(
    cg: CodegenContext, item: Instruction, name: str, *extra: tuple[str, str], ty: str | None = None
) -> None:
    """An instruction that is one LLVM intrinsic, overloaded on its type."""
    ty = ty or type_of(item)
    values = [cg.operand(o, ty) for o in item.operands[1:]]

    def make(t: str, _: str, names: list[str]) -> str:
        return cg.b.call(f"{name}.{suffix(t)}", t, *((t, n) for n in names), *extra)

    cg.assign(item.operands[0], elementwise(cg, ty, values, make), item.predicate)


# -- sums and products, which keep rows ---------------------------------------------------------


def affine_sum(cg: CodegenContext, a: Value, b: Value, action: str = "add") -> Value | None:
    if "varying" in (a.kind, b.kind):
        return None
    count = max(len(a.refs), len(b.refs))
    left, right = spread(a, count), spread(b, count)
    refs = tuple(cg.b.value(f"{action} {a.ty} {x}, {y}") for x, y in zip(left, right, strict=True))
    if a.kind == b.kind == "uniform":
        return Value(a.ty, "uniform", refs)
    return Value(a.ty, "affine", refs, a.stride + b.stride if action == "add" else a.stride - b.stride)


def spread(value: Value, count: int) -> tuple[str, ...]:
    return value.refs if len(value.refs) == count else value.refs * count


def as_constant(value: Value) -> int | None:
    return int(value.ref) if value.kind == "uniform" and value.ref.lstrip("-").isdigit() else None


def affine_product(cg: CodegenContext, a: Value, b: Value) -> Value | None:
    if as_constant(a) is not None:
        a, b = b, a
    factor = as_constant(b)
    if a.kind == "affine" and factor is not None:
        refs = tuple(cg.b.value(f"mul {a.ty} {r}, {factor}") for r in a.refs)
        return Value(a.ty, "affine", refs, a.stride * factor)
    if "varying" in (a.kind, b.kind) or a.stride or b.stride:
        return None
    count = max(len(a.refs), len(b.refs))
    pairs = zip(spread(a, count), spread(b, count), strict=True)
    refs = tuple(cg.b.value(f"mul {a.ty} {x}, {y}") for x, y in pairs)
    return Value(a.ty, "uniform" if a.kind == b.kind == "uniform" else "affine", refs)


def is_scalarized(cg: CodegenContext, item: Instruction) -> bool:
    """Whether the analysis keeps the result in scalars; rows are only made where it does."""
    target = item.operands[0]
    return isinstance(target, Reg) and cg.shape(target.name).kind != "varying"


def product(cg: CodegenContext, item: Instruction, ty: str, a: Value, b: Value) -> Value:
    made = affine_product(cg, a, b) if is_scalarized(cg, item) else None
    return made or elementwise(cg, ty, [a, b], lambda t, _, n: lane_product(cg, t, n[0], n[1]))


def lane_product(cg: CodegenContext, t: str, x: str, y: str) -> str:
    made = cg.b.value(f"mul {t} {x}, {y}")
    cg.products.add(made)
    return made


def shifted_right(cg: CodegenContext, action: str, t: str, ref: str, count: int) -> str:
    """`lshr` or `ashr` by a constant.

    LLVM 22 may make 16-bit products of `(a * b) >> count` where the result is cut to 16 bits, and gets
    it wrong for 64-bit integers and counts above 16 (llvm-project issue 218844, mended in 2026-08 by
    219996). It does not where it cannot see the count.
    """
    if t == vector("i64") and count > 16 and ref in cg.products:
        hidden = cg.b.value(f'call i64 asm "", "=r,0"(i64 {count})')
        return cg.b.value(f"{action} {t} {ref}, {cg.b.splat('i64', hidden)}")
    return cg.b.value(f"{action} {t} {ref}, {const(t, count)}")


def total(cg: CodegenContext, item: Instruction, ty: str, a: Value, b: Value, action: str = "add") -> Value:
    made = affine_sum(cg, a, b, action) if is_scalarized(cg, item) else None
    return made or elementwise(cg, ty, [a, b], lambda t, _, n: cg.b.value(f"{action} {t} {n[0]}, {n[1]}"))


def widen(
    cg: CodegenContext, item: Instruction, value: Value, ty: str, is_signed: bool | None = None
) -> Value:
    """Sign- or zero-extend. Rows stay rows as long as no active lane wraps around, which is checked."""
    is_signed = signed(item.parts[-1]) if is_signed is None else is_signed
    extend = "sext" if is_signed else "zext"
    if value.kind == "uniform" and as_constant(value) is not None:
        number = as_constant(value)
        assert number is not None
        return Value(ty, "uniform", (str(number if is_signed else number & ((1 << BITS[value.ty]) - 1)),))
    if value.kind != "affine":
        return cg.convert(value, ty, lambda t, r, o: f"{extend} {t} {r} to {o}")
    if not is_scalarized(cg, item):
        full = Value(value.ty, "varying", (cg.to_vector(value),))
        return cg.convert(full, ty, lambda t, r, o: f"{extend} {t} {r} to {o}")
    refs = [cg.b.value(f"{extend} {value.ty} {r} to {ty}") for r in value.refs]
    if value.stride:
        refs = _unwrapped(cg, item, value, refs, is_signed)
    return Value(ty, "affine", tuple(refs), value.stride)


def _unwrapped(
    cg: CodegenContext, item: Instruction, value: Value, refs: list[str], is_signed: bool
) -> list[str]:
    """Guard a widened row: base and last lane must lie on the same side of the wrap.

    Where they do not, the base is taken from the first active lane; where active lanes lie on both sides
    of the wrap, the warp goes on in the plain code.
    """
    b = cg.b
    reach = value.stride * (cg.width - 1)
    compare = ("sge" if value.stride > 0 else "sle") if is_signed else ("uge" if value.stride > 0 else "ule")
    fine = ""
    for ref in value.refs:
        last = b.value(f"add {value.ty} {ref}, {reach}")
        good = b.value(f"icmp {compare} {value.ty} {last}, {ref}")
        fine = b.value(f"and i1 {fine}, {good}") if fine else good
    entry, wraps, on = b.new_label("check"), b.new_label("wraps"), b.new_label("on")
    b.jump(entry)
    b.open(entry)
    b.branch(fine, on, wraps, likely=True)
    with cg.side_block(wraps):
        mask = cg.mask_bits(item.predicate)
        moved = []
        for number, ref in enumerate(value.refs):
            part = mask
            if cg.rows_per_warp > 1:
                part = b.value(f"lshr i32 {mask}, {number * cg.width}")
                part = b.value(f"and i32 {part}, {(1 << cg.width) - 1}")
            kind = "true" if is_signed else "false"
            row = (("i32", ref), ("i32", part), ("i32", str(value.stride)), ("i1", kind))
            moved.append(b.call("sim_widen", "i64", ("ptr", "%ctx"), *row))
        apart = b.new_label("apart")
        b.branch(b.value(f"icmp eq i64 {cg.load_field('wraps')}, 0"), on, apart, likely=True)
        b.open(apart)
        suspension.enter_fallback(cg)
    b.open(on)
    return [b.phi("i64", (row, entry), (far, wraps)) for row, far in zip(refs, moved, strict=True)]
