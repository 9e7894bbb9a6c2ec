"""Loads and stores, between registers and any state space; addresses of state spaces."""

from __future__ import annotations

from gpulab.errors import UnsupportedInstruction
from gpulab.simt import layout
from gpulab.simt.access import (
    Locator,
    address,
    gather,
    locate,
    memory_type,
    scatter,
    shifted,
    space_of,
    step_by,
    width_of,
)
from gpulab.simt.llvm import BITS, Value, suffix, vector
from gpulab.simt.ptx import Instruction, Mem, Reg, Sym, type_size
from gpulab.simt.shapes import WARP
from gpulab.simt.values import Values, handles, parts_of


@handles("ld", "ldu")
def load(low: Values, item: Instruction) -> None:
    memory = item.operands[1]
    assert isinstance(memory, Mem)
    space, ty, count = space_of(item), memory_type(item), width_of(item)
    targets = parts_of(item.operands[0])
    if space == "param":
        return _load_param(low, item, memory, ty)
    size = type_size(item.parts[-1]) * count
    where = address(low, memory, space)
    values = read(low, where, space, ty, count, size, item)
    for target, value in zip(targets, values, strict=True):
        low.assign(target, _extended(low, value, item.parts[-1], target), item.predicate)


def _extended(low: Values, value: Value, ptx_type: str, target: object) -> Value:
    """A narrow load fills its wider register: with the sign for `.s`, with zeros otherwise."""
    if not isinstance(target, Reg) or target.name == "_" or not value.ty.startswith("i"):
        return value
    want = BITS[low.register_type(target.name)]
    if want <= BITS[value.ty]:
        return value
    action = "sext" if ptx_type[0] == "s" else "zext"
    return low.each(value, f"i{want}", lambda t, r, o: f"{action} {t} {r} to {o}")


def read(
    low: Values, where: Value, space: str, ty: str, count: int, size: int, item: Instruction
) -> list[Value]:
    """Load `count` neighbouring elements of type `ty` for each lane."""
    b = low.b
    step = BITS[ty] // 8
    if where.kind == "rows" and space != "local" and where.stride in (size, 0):
        return _read_rows(low, where, space, ty, count, size, item)
    place = locate(low, where, space, size, item, "reads")
    if place.one:
        found = []
        for number in range(count):
            pointer = place.one
            if number:
                pointer = b.value(f"getelementptr i8, ptr {pointer}, i64 {number * step}")
            found.append(Value(ty, "uniform", (b.value(f"load {ty}, ptr {pointer}, align {step}"),)))
        return found
    mask = low.mask_lanes(item.predicate)
    return [
        Value(ty, "lanes", (gather(low, step_by(low, place.each, n * step), ty, mask),)) for n in range(count)
    ]


def _read_rows(
    low: Values, where: Value, space: str, ty: str, count: int, size: int, item: Instruction
) -> list[Value]:
    """Each row reads neighbouring elements, or one element for all of its lanes."""
    b = low.b
    step = BITS[ty] // 8
    access = low.access("reads", space, size)
    finder = Locator(low, where, space, size, access, item.predicate)
    finder.bounds()
    offsets, fine = finder.check_rows()
    fast, slow, join = b.new_label("fast"), b.new_label("slow"), b.new_label("join")
    b.branch(fine, fast, slow, likely=True)
    with low.aside(fast):
        host = finder.host()
        pointers = [finder.pointer(host, o) for o in offsets]
        near = []
        if where.stride:
            wide = low.width * count
            parts = [b.value(f"load {vector(ty, wide)}, ptr {p}, align {step}") for p in pointers]
            joined = b.concat(ty, parts, wide)
            for number in range(count):
                near.append(
                    joined
                    if count == 1
                    else b.pick(ty, joined, WARP * count, list(range(number, WARP * count, count)))
                )
        else:
            for number in range(count):
                moved = [
                    b.value(f"getelementptr i8, ptr {p}, i64 {number * step}") if number else p
                    for p in pointers
                ]
                singles = tuple(b.value(f"load {ty}, ptr {p}, align {step}") for p in moved)
                near.append(_spread(low, ty, singles))
        b.jump(join)
    with low.aside(slow):
        finder.resolve()
        each = finder.host_vector()
        mask = low.mask_lanes(item.predicate)
        far = [gather(low, step_by(low, each, n * step), ty, mask) for n in range(count)]
        slow_end = b.label
        b.jump(join)
    b.open(join)
    return [
        Value(ty, "lanes", (b.phi(vector(ty), (a, fast), (c, slow_end)),))
        for a, c in zip(near, far, strict=True)
    ]


def _spread(low: Values, ty: str, singles: tuple[str, ...]) -> str:
    """One value for each row, as lanes."""
    b = low.b
    if len(singles) == 1:
        return b.splat(ty, singles[0])
    made = "poison"
    for number, ref in enumerate(singles):
        made = b.value(f"insertelement {vector(ty)} {made}, {ty} {ref}, i64 {number}")
    return b.pick(ty, made, WARP, [lane // low.width for lane in range(WARP)])


def _load_param(low: Values, item: Instruction, memory: Mem, ty: str) -> None:
    """A kernel parameter: the same for all threads, at an offset known when the code is made."""
    b = low.b
    if not isinstance(memory.base, Sym):
        raise UnsupportedInstruction(item.text, item.line, "a parameter indexed at run time")
    base = param_offsets(low)[memory.base.name] + memory.offset
    params = low.context("params", "ptr")
    size = type_size(item.parts[-1])
    for number, target in enumerate(parts_of(item.operands[0])):
        place = b.value(f"getelementptr i8, ptr {params}, i64 {base + number * size}")
        value = Value(ty, "uniform", (b.value(f"load {ty}, ptr {place}, align 1"),))
        low.assign(target, _extended(low, value, item.parts[-1], target), item.predicate)


def param_offsets(low: Values) -> dict[str, int]:
    """Where each parameter lies in the parameter buffer: in order, each at its own alignment."""
    found, at = {}, 0
    for param in low.flat.entry.params:
        at = -(-at // param.align) * param.align
        found[param.name] = at
        at += param.size
    return found


@handles("st")
def store(low: Values, item: Instruction) -> None:
    memory = item.operands[0]
    assert isinstance(memory, Mem)
    space, ty, count = space_of(item), memory_type(item), width_of(item)
    step = type_size(item.parts[-1])
    size = step * count
    where = address(low, memory, space)
    values = [low.operand(part, ty) for part in parts_of(item.operands[1])]
    if where.kind == "rows" and where.stride == size and space != "local":
        return _write_rows(low, where, space, ty, count, size, values, item)
    if where.kind == "uniform" and space != "local":
        place = locate(low, where, space, size, item, "writes")
        _write_one(low, place.one, ty, values, item.predicate)
        return None
    each = locate(low, where, space, size, item, "writes").each
    mask = low.mask_lanes(item.predicate)
    for number, value in enumerate(values):
        scatter(low, step_by(low, each, number * step), ty, low.lanes(value), mask)


def _write_one(low: Values, pointer: str, ty: str, values: list[Value], predicate: Reg | None) -> None:
    """All active lanes write one place: the last one's value stays there."""
    b = low.b
    mask = low.mask_bits_of(predicate)
    write, done = b.new_label("write"), b.new_label("done")
    if predicate is not None:
        b.branch(b.value(f"icmp ne i32 {mask}, 0"), write, done)
    else:
        b.jump(write)
    with low.aside(write):
        step = BITS[ty] // 8
        for number, value in enumerate(values):
            ref = value.ref
            if value.kind != "uniform":
                leading = b.call("llvm.ctlz.i32", "i32", ("i32", mask), ("i1", "false"))
                last = b.value(f"and i32 {b.value(f'sub i32 31, {leading}')}, 31")
                ref = b.value(f"extractelement {vector(ty)} {low.lanes(value)}, i32 {last}")
            place = b.value(f"getelementptr i8, ptr {pointer}, i64 {number * step}") if number else pointer
            b.line(f"store {ty} {ref}, ptr {place}, align {step}")
        b.jump(done)
    b.open(done)


def _write_rows(
    low: Values,
    where: Value,
    space: str,
    ty: str,
    count: int,
    size: int,
    values: list[Value],
    item: Instruction,
) -> None:
    """Each row writes neighbouring elements, under the mask."""
    b = low.b
    step = BITS[ty] // 8
    access = low.access("writes", space, size)
    finder = Locator(low, where, space, size, access, item.predicate)
    finder.bounds()
    vectors = [low.lanes(v) for v in values]
    everyone = low.full and item.predicate is None
    mask = low.mask_lanes(item.predicate)
    offsets, fine = finder.check_rows()
    fast, slow, join = b.new_label("fast"), b.new_label("slow"), b.new_label("join")
    b.branch(fine, fast, slow, likely=True)
    with low.aside(fast):
        host = finder.host()
        wide = low.width * count
        merged, whole_mask = vectors[0], mask
        if count > 1:
            merged = b.concat(ty, vectors, WARP)
            merged = b.pick(
                ty, merged, WARP * count, [lane + WARP * n for lane in range(WARP) for n in range(count)]
            )
            if not everyone:
                whole_mask = b.pick("i1", mask, WARP, [lane for lane in range(WARP) for _ in range(count)])
        for number, offset in enumerate(offsets):
            pointer = finder.pointer(host, offset)
            part, part_mask = merged, whole_mask
            if len(offsets) > 1:
                chosen = list(range(number * wide, (number + 1) * wide))
                part = b.pick(ty, merged, WARP * count, chosen)
                part_mask = mask if everyone else b.pick("i1", whole_mask, WARP * count, chosen)
            full = vector(ty, wide)
            if everyone:
                b.line(f"store {full} {part}, ptr {pointer}, align {step}")
            else:
                b.declare(f"llvm.masked.store.{suffix(full)}.p0", "void", [full, "ptr", vector("i1", wide)])
                b.line(
                    f"call void @llvm.masked.store.{suffix(full)}.p0({full} {part}, ptr align {step} {pointer}, "
                    f"{vector('i1', wide)} {part_mask})"
                )
        b.jump(join)
    with low.aside(slow):
        finder.resolve()
        each = finder.host_vector()
        for number, value in enumerate(vectors):
            scatter(low, step_by(low, each, number * step), ty, value, mask)
        b.jump(join)
    b.open(join)


@handles("cvta")
def convert_address(low: Values, item: Instruction) -> None:
    """Between a state space and generic addresses: shared and local lie in windows of their own."""
    space = space_of(item)
    window = {"shared": layout.SHARED_WINDOW, "local": layout.LOCAL_WINDOW}.get(space, 0)
    value = low.operand(item.operands[1], "i64")
    sign = -1 if "to" in item.parts else 1
    low.assign(item.operands[0], shifted(low, value, sign * window), item.predicate)


@handles("isspacep")
def is_space(low: Values, item: Instruction) -> None:
    space = space_of(item)
    b = low.b
    value = low.operand(item.operands[1], "i64")
    vectors = value.kind != "uniform"
    ty = vector("i64") if vectors else "i64"
    ref = low.lanes(value) if vectors else value.ref
    const = (lambda n: f"splat (i64 {n})") if vectors else str
    result_type = vector("i1") if vectors else "i1"

    def within(window: int) -> str:
        offset = b.value(f"sub {ty} {ref}, {const(window)}")
        return b.value(f"icmp ult {ty} {offset}, {const(layout.WINDOW_BYTES)}")

    if space == "global":
        either = b.value(f"or {result_type} {within(layout.SHARED_WINDOW)}, {within(layout.LOCAL_WINDOW)}")
        made = b.value(f"xor {result_type} {either}, {'splat (i1 true)' if vectors else 'true'}")
    elif space in ("shared", "local"):
        made = within(layout.SHARED_WINDOW if space == "shared" else layout.LOCAL_WINDOW)
    else:
        raise UnsupportedInstruction(item.text, item.line)
    low.assign(item.operands[0], Value("i1", "lanes" if vectors else "uniform", (made,)), item.predicate)
