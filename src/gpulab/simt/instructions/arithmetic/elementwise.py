"""Element-wise instructions on uniform, affine and varying values.

If all operands are uniform, the scalar instruction is emitted; otherwise the instruction on 32 lanes. Sums
and products with an affine result (see `gpulab.simt.analysis.divergence`) are emitted once for each row.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.codegen import suspension
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.ir import BITS, REGISTER_TYPES, Value, suffix, vector
from gpulab.simt.ptx.syntax import Instruction, Reg


def type_of(item: Instruction, part: str | None = None) -> str:
    """Return the LLVM type of a PTX type: `part`, or the last type of the instruction."""
    name = part or item.parts[-1]
    if name not in REGISTER_TYPES:
        raise UnsupportedInstruction(item.text, item.line, f"values of type .{name}")
    return REGISTER_TYPES[name]


def signed(name: str) -> bool:
    return name[0] == "s"


def const(ty: str, value: int | str) -> str:
    """Return a literal of a scalar type, or the splat of it for a vector type."""
    if ty.startswith("<"):
        inner = ty[1:-1].partition(" x ")[2]
        return f"splat ({inner} {value})"
    return str(value)


def elementwise(
    cg: CodegenContext, ty: str, values: list[Value], make: Callable[[str, str, list[str]], str]
) -> Value:
    """Emit `make(operand type, result type, names)` on scalars if all values are uniform, else on vectors."""
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
    """Emit an instruction with two results; see `elementwise`."""
    if all(v.kind == "uniform" for v in values):
        first, second = make(values[0].ty, [v.ref for v in values])
        return Value(types[0], "uniform", (first,)), Value(types[1], "uniform", (second,))
    first, second = make(vector(values[0].ty), [cg.to_vector(v) for v in values])
    return Value(types[0], "varying", (first,)), Value(types[1], "varying", (second,))


def simple(
    cg: CodegenContext, item: Instruction, text: Callable[[str, list[str]], str], ty: str | None = None
) -> None:
    """Emit an instruction with operands and result of one type; `text` returns its right-hand side."""
    ty = ty or type_of(item)
    values = [cg.operand(o, ty) for o in item.operands[1:]]
    result = elementwise(cg, ty, values, lambda t, _, names: cg.b.value(text(t, names)))
    cg.assign(item.operands[0], result, item.predicate)


def intrinsic(
    cg: CodegenContext, item: Instruction, name: str, *extra: tuple[str, str], ty: str | None = None
) -> None:
    """Emit an instruction that is one LLVM intrinsic, overloaded on its type."""
    ty = ty or type_of(item)
    values = [cg.operand(o, ty) for o in item.operands[1:]]

    def make(t: str, _: str, names: list[str]) -> str:
        return cg.b.call(f"{name}.{suffix(t)}", t, *((t, n) for n in names), *extra)

    cg.assign(item.operands[0], elementwise(cg, ty, values, make), item.predicate)


# -- affine sums and products ----------------------------------------------------------------


def affine_sum(cg: CodegenContext, a: Value, b: Value, action: str = "add") -> Value | None:
    """Return the sum or difference of two affine values; None if one of them is varying."""
    if "varying" in (a.kind, b.kind):
        return None
    count = max(len(a.refs), len(b.refs))
    left, right = spread(a, count), spread(b, count)
    refs = tuple(cg.b.value(f"{action} {a.ty} {x}, {y}") for x, y in zip(left, right, strict=True))
    if a.kind == b.kind == "uniform":
        return Value(a.ty, "uniform", refs)
    return Value(a.ty, "affine", refs, a.stride + b.stride if action == "add" else a.stride - b.stride)


def spread(value: Value, count: int) -> tuple[str, ...]:
    """Return one name for each of `count` rows."""
    return value.refs if len(value.refs) == count else value.refs * count


def as_constant(value: Value) -> int | None:
    """Return the integer that a value is known to have; None if it is not a constant."""
    return int(value.ref) if value.kind == "uniform" and value.ref.lstrip("-").isdigit() else None


def affine_product(cg: CodegenContext, a: Value, b: Value) -> Value | None:
    """Return the product of two values if it is affine, otherwise None."""
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
    """Return True if the result is kept in scalars; affine values are computed only for such results."""
    target = item.operands[0]
    return isinstance(target, Reg) and cg.shape(target.name).kind != "varying"


def product(cg: CodegenContext, item: Instruction, ty: str, a: Value, b: Value) -> Value:
    """Return the low half of a product."""
    result = affine_product(cg, a, b) if is_scalarized(cg, item) else None
    return result or elementwise(cg, ty, [a, b], lambda t, _, n: lane_product(cg, t, n[0], n[1]))


def lane_product(cg: CodegenContext, t: str, x: str, y: str) -> str:
    result = cg.b.value(f"mul {t} {x}, {y}")
    cg.products.add(result)
    return result


def shifted_right(cg: CodegenContext, action: str, t: str, ref: str, count: int) -> str:
    """Emit `lshr` or `ashr` by a constant.

    LLVM 22 may narrow `(a * b) >> count` to 16-bit products if the result is truncated to 16 bits, which is
    wrong for 64-bit integers and counts above 16 (llvm-project issue 218844, fixed in 2026-08 by 219996).
    Inline assembly hides the count from that optimization.
    """
    if t == vector("i64") and count > 16 and ref in cg.products:
        hidden = cg.b.value(f'call i64 asm "", "=r,0"(i64 {count})')
        return cg.b.value(f"{action} {t} {ref}, {cg.b.splat('i64', hidden)}")
    return cg.b.value(f"{action} {t} {ref}, {const(t, count)}")


def total(cg: CodegenContext, item: Instruction, ty: str, a: Value, b: Value, action: str = "add") -> Value:
    """Return a sum or difference."""
    result = affine_sum(cg, a, b, action) if is_scalarized(cg, item) else None
    return result or elementwise(cg, ty, [a, b], lambda t, _, n: cg.b.value(f"{action} {t} {n[0]}, {n[1]}"))


def widen(
    cg: CodegenContext, item: Instruction, value: Value, ty: str, is_signed: bool | None = None
) -> Value:
    """Sign- or zero-extend; an affine value stays affine if no active lane wraps around, which is checked."""
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
    """Check that the lanes of each row do not wrap around between its first and last lane.

    If they do, the base is computed from the first active lane. If the wrap is between active lanes, the
    warp continues in the fallback code. Rows that agree have the base of the first lane that is active in
    any of them.
    """
    b = cg.b
    target = item.operands[0]
    agree = isinstance(target, Reg) and cg.shape(target.name).common
    reach = value.stride * (cg.width - 1)
    compare = ("sge" if value.stride > 0 else "sle") if is_signed else ("uge" if value.stride > 0 else "ule")

    inside = ""
    for ref in value.refs:
        last = b.value(f"add {value.ty} {ref}, {reach}")
        ordered = b.value(f"icmp {compare} {value.ty} {last}, {ref}")
        inside = b.value(f"and i1 {inside}, {ordered}") if inside else ordered

    entry, wraps, on = b.new_label("check"), b.new_label("wraps"), b.new_label("on")
    b.jump(entry)
    b.open(entry)
    b.branch(inside, on, wraps, likely=True)
    with cg.side_block(wraps):
        kind = "true" if is_signed else "false"
        widened = []
        for ref, lanes in zip(value.refs, _active_lanes_of_rows(cg, item, agree), strict=True):
            row = (("i32", ref), ("i32", lanes), ("i32", str(value.stride)), ("i1", kind))
            widened.append(b.call("sim_widen", "i64", ("ptr", "%ctx"), *row))
        fallback = b.new_label("apart")
        b.branch(b.value(f"icmp eq i64 {cg.load_field('wraps')}, 0"), on, fallback, likely=True)
        b.open(fallback)
        suspension.enter_fallback(cg)

    b.open(on)
    return [b.phi("i64", (row, entry), (wide, wraps)) for row, wide in zip(refs, widened, strict=True)]


def _active_lanes_of_rows(cg: CodegenContext, item: Instruction, agree: bool) -> list[str]:
    """Return the active lanes of each row as an i32; if rows agree, those that are active in any row."""
    b, mask = cg.b, cg.mask_bits(item.predicate)
    if cg.rows_per_warp == 1:
        return [mask]
    shifted = [b.value(f"lshr i32 {mask}, {row * cg.width}") for row in range(cg.rows_per_warp)]
    rows = [b.value(f"and i32 {row}, {(1 << cg.width) - 1}") for row in shifted]
    if agree:
        rows = [reduce(lambda first, other: b.value(f"or i32 {first}, {other}"), rows)] * len(rows)
    return rows
