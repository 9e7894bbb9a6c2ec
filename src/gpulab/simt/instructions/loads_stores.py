"""Loads and stores in any state space (PTX manual, sections 9.7.9.8 to 9.7.9.12)."""

from __future__ import annotations

from dataclasses import replace

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.addressing import (
    AddressCheck,
    address,
    check_access,
    host_pointers,
    memory_type,
    offset_pointers,
    state_space,
    vector_width,
)
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.gather_scatter import gather, scatter
from gpulab.simt.codegen.instruction_forms import PSEUDO_HANDLERS, handles
from gpulab.simt.codegen.ir import BITS, Builder, Value, vector
from gpulab.simt.codegen.joint_loads import joint_load
from gpulab.simt.codegen.memory_access import MemoryAccess
from gpulab.simt.codegen.prefetching import prefetch_next_rows
from gpulab.simt.codegen.row_stores import store_row
from gpulab.simt.ptx.syntax import Instruction, Mem, Reg, Sym, type_size, vector_elements

TYPES = ".b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64"
SCOPE = "{.cta|cluster|gpu|sys}"
HINTS = (
    "{.L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate}"
    "{.L2::evict_normal|L2::evict_first|L2::evict_last}{.L2::cache_hint}{.L2::64B|L2::128B|L2::256B}{.v2|v4|v8}"
)
LOADED = "{.const|global|local|param|param::entry|param::func|shared|shared::cta}"
STORED = "{.global|local|param|param::func|shared|shared::cta}"


@handles(
    f"ld{{.weak|volatile|relaxed|acquire}}{{.mmio}}{SCOPE}{LOADED}{{.nc}}{{.ca|cg|cs|lu|cv}}{HINTS} {TYPES}",
    f"ldu{{.global}}{{.v2|v4}} {TYPES}",
)
def load(cg: CodegenContext, item: Instruction) -> None:
    """Load a value or a vector; memory order and scope have no effect, since accesses are in order."""
    memory = _memory(item, 1)
    space, ty, count = state_space(item), memory_type(item), vector_width(item)
    targets = vector_elements(item.operands[0])
    if len(targets) != count:
        raise UnsupportedInstruction(item.text, item.line, f"{len(targets)} registers for {count} values")

    if space == "param":
        if isinstance(memory.base, Sym):
            _load_param(cg, item, memory, ty)
            return
        space = "global"  # parameters whose address is taken are copied to an array

    size = type_size(item.parts[-1]) * count
    where = address(cg, memory, space)

    if joint := joint_load(cg, item):
        cg.instrument(MemoryAccess(joint.site, where, space, size, "reads", item))
        pointers = joint.pointers(cg)
        values = _loaded(cg, where, ty, count, pointers)
        if space == "global" and where.kind == "affine" and where.stride:
            prefetch_next_rows(cg, memory, pointers, cg.width * size)
    else:
        values = read(cg, where, space, ty, count, size, item)

    for target, value in zip(targets, values, strict=True):
        cg.assign(target, _extended(cg, value, item.parts[-1], target), item.predicate)


def _memory(item: Instruction, place: int) -> Mem:
    memory = item.operands[place] if len(item.operands) > place else None
    if not isinstance(memory, Mem) or memory.rest:
        raise UnsupportedInstruction(item.text, item.line, "an operand that is not an address")
    return memory


def _extended(cg: CodegenContext, value: Value, ptx_type: str, target: object) -> Value:
    """Extend a loaded value to the width of its register: by its sign for `.s`, otherwise by zeros."""
    if not isinstance(target, Reg) or target.name == "_" or not value.ty.startswith("i"):
        return value
    want = BITS[cg.register_type(target.name)]
    if want <= BITS[value.ty]:
        return value
    action = "sext" if ptx_type[0] == "s" else "zext"
    return cg.convert(value, f"i{want}", lambda t, r, o: f"{action} {t} {r} to {o}")


def read(
    cg: CodegenContext, where: Value, space: str, ty: str, count: int, size: int, item: Instruction
) -> list[Value]:
    """Load `count` consecutive elements of type `ty` for each lane; they have `size` bytes together."""
    b = cg.b
    step = BITS[ty] // 8
    in_rows = where.kind == "affine" and space != "local"
    if in_rows and where.stride in (size, 0):
        return _read_rows(cg, where, space, ty, count, size, item)
    pointers = host_pointers(cg, where, space, size, item, "reads")
    if pointers.scalar:
        return _loaded(cg, where, ty, count, [pointers.scalar])
    mask = cg.mask_vector(item.predicate)
    return [
        Value(ty, "varying", (gather(b, ty, offset_pointers(cg, pointers.vector, n * step), mask),))
        for n in range(count)
    ]


def _read_rows(
    cg: CodegenContext, where: Value, space: str, ty: str, count: int, size: int, item: Instruction
) -> list[Value]:
    """Load consecutive elements for the lanes of each row, or one element for the whole row."""
    b = cg.b
    step = BITS[ty] // 8
    access = cg.add_site("reads", space, size)
    cg.instrument(MemoryAccess(access, where, space, size, "reads", item))
    check = AddressCheck(cg, where, space, size, access, item.predicate)

    fine = check.are_rows_inside()
    fast, slow, join = b.new_label("fast"), b.new_label("slow"), b.new_label("join")
    b.branch(fine, fast, slow, likely=True)

    with cg.side_block(fast):
        pointers = check.row_pointers()
        near = _loaded(cg, where, ty, count, pointers)
        if space == "global" and where.stride:
            prefetch_next_rows(cg, item.operands[1], pointers, cg.width * size)
        b.jump(join)

    with cg.side_block(slow):
        check.resolve()
        each = check.resolved_pointers()
        mask = cg.mask_vector(item.predicate)
        far = [gather(b, ty, offset_pointers(cg, each, n * step), mask) for n in range(count)]
        slow_end = b.label
        b.jump(join)

    b.open(join)
    return [
        Value(ty, "varying", (b.phi(vector(ty), (a.ref, fast), (c, slow_end)),))
        for a, c in zip(near, far, strict=True)
    ]


def _loaded(cg: CodegenContext, where: Value, ty: str, count: int, pointers: list[str]) -> list[Value]:
    """Load `count` consecutive elements for each lane, given a pointer to those of each row's first lane."""
    b = cg.b
    step = BITS[ty] // 8
    if where.kind == "affine" and where.stride:
        wide = cg.width * count
        parts = {
            p: b.value(f"load {vector(ty, wide)}, ptr {p}, align {step}") for p in dict.fromkeys(pointers)
        }
        joined = b.concat(ty, [parts[p] for p in pointers], wide)
        if count == 1:
            return [Value(ty, "varying", (joined,))]
        every = range(WARP * count)
        picked = [b.pick(ty, joined, WARP * count, list(every[n::count])) for n in range(count)]
        return [Value(ty, "varying", (ref,)) for ref in picked]

    values = []
    for number in range(count):
        moved = pointers
        if number:
            moved = [b.value(f"getelementptr i8, ptr {p}, i64 {number * step}") for p in pointers]
        singles = tuple(b.value(f"load {ty}, ptr {p}, align {step}") for p in moved)
        if where.kind == "uniform":
            values.append(Value(ty, "uniform", singles))
        else:
            values.append(Value(ty, "varying", (_spread(cg, ty, singles),)))
    return values


def _spread(cg: CodegenContext, ty: str, singles: tuple[str, ...]) -> str:
    """Return a vector of lanes from one value for each row."""
    b = cg.b
    if len(singles) == 1:
        return b.splat(ty, singles[0])
    made = "poison"
    for number, ref in enumerate(singles):
        made = b.value(f"insertelement {vector(ty)} {made}, {ty} {ref}, i64 {number}")
    return b.pick(ty, made, WARP, [lane // cg.width for lane in range(WARP)])


def _load_param(cg: CodegenContext, item: Instruction, memory: Mem, ty: str) -> None:
    """Load a kernel parameter by name; its value is uniform and its offset is a constant."""
    b = cg.b
    assert isinstance(memory.base, Sym)
    assert isinstance(memory.offset, int)
    offsets, end = cg.parameter_offsets()
    size = type_size(item.parts[-1])
    targets = vector_elements(item.operands[0])
    base = offsets.get(memory.base.name, -1) + memory.offset
    if memory.base.name not in offsets or base < 0 or base + size * len(targets) > end:
        raise UnsupportedInstruction(item.text, item.line, "an address outside the kernel's parameters")
    pointer = cg.load_field("params", "ptr")
    for number, target in enumerate(targets):
        place = b.value(f"getelementptr i8, ptr {pointer}, i64 {base + number * size}")
        value = Value(ty, "uniform", (b.value(f"load {ty}, ptr {place}, align 1"),))
        cg.assign(target, _extended(cg, value, item.parts[-1], target), item.predicate)


@handles(f"st{{.weak|volatile|relaxed|release}}{{.mmio}}{SCOPE}{STORED}{{.wb|cg|cs|wt}}{HINTS} {TYPES}")
def store(cg: CodegenContext, item: Instruction) -> None:
    """Store a value or a vector."""
    memory = _memory(item, 0)
    space, ty, count = state_space(item), memory_type(item), vector_width(item)
    parts = vector_elements(item.operands[1])
    if space == "param" or len(parts) != count:
        raise UnsupportedInstruction(item.text, item.line, "a store to parameters")
    size = type_size(item.parts[-1]) * count
    values = [cg.operand(part, ty) for part in parts]
    write(cg, address(cg, memory, space), space, ty, size, values, item)


def write(
    cg: CodegenContext, where: Value, space: str, ty: str, size: int, values: list[Value], item: Instruction
) -> None:
    """Store consecutive elements of type `ty` for each lane; they have `size` bytes together."""
    in_rows = where.kind == "affine" and space != "local"
    if in_rows and where.stride == size:
        _write_rows(cg, where, space, ty, len(values), size, values, item)
        return
    if where.kind == "uniform" and space != "local":
        pointers = host_pointers(cg, where, space, size, item, "writes", values)
        _write_one(cg, pointers.scalar, ty, values, item.predicate)
        return
    each = host_pointers(cg, where, space, size, item, "writes", values).vector
    mask = cg.mask_vector(item.predicate)
    for number, value in enumerate(values):
        scatter(cg.b, ty, offset_pointers(cg, each, number * size // len(values)), cg.to_vector(value), mask)


def _write_one(cg: CodegenContext, pointer: str, ty: str, values: list[Value], predicate: Reg | None) -> None:
    """Store to one address for all lanes; the value of the last active lane remains."""
    b = cg.b
    mask = cg.mask_bits(predicate)
    write, done = b.new_label("write"), b.new_label("done")
    if predicate is not None:
        b.branch(b.value(f"icmp ne i32 {mask}, 0"), write, done)
    else:
        b.jump(write)
    with cg.side_block(write):
        step = BITS[ty] // 8
        for number, value in enumerate(values):
            ref = value.ref
            if value.kind != "uniform":
                leading = b.call("llvm.ctlz.i32", "i32", ("i32", mask), ("i1", "false"))
                last = b.value(f"and i32 {b.value(f'sub i32 31, {leading}')}, 31")
                ref = b.value(f"extractelement {vector(ty)} {cg.to_vector(value)}, i32 {last}")
            place = b.value(f"getelementptr i8, ptr {pointer}, i64 {number * step}") if number else pointer
            b.line(f"store {ty} {ref}, ptr {place}, align {step}")
        b.jump(done)
    b.open(done)


def _write_rows(
    cg: CodegenContext,
    where: Value,
    space: str,
    ty: str,
    count: int,
    size: int,
    values: list[Value],
    item: Instruction,
) -> None:
    """Store consecutive elements for the active lanes of each row."""
    b = cg.b
    step = BITS[ty] // 8
    access = cg.add_site("writes", space, size)
    cg.instrument(MemoryAccess(access, where, space, size, "writes", item, tuple(values)))
    check = AddressCheck(cg, where, space, size, access, item.predicate)

    vectors = [cg.to_vector(v) for v in values]
    everyone = cg.all_active and item.predicate is None
    active = "" if everyone else cg.mask_bits(item.predicate)

    fine = check.are_rows_inside()
    fast, slow, join = b.new_label("fast"), b.new_label("slow"), b.new_label("join")
    b.branch(fine, fast, slow, likely=True)

    with cg.side_block(fast):
        pointers = check.row_pointers()
        if space == "global":
            prefetch_next_rows(cg, item.operands[0], pointers, cg.width * size, writes=True)

        wide = cg.width * count
        merged = vectors[0]
        if count > 1:
            merged = b.concat(ty, vectors, WARP)
            merged = b.pick(
                ty, merged, WARP * count, [lane + WARP * n for lane in range(WARP) for n in range(count)]
            )

        for number, pointer in enumerate(pointers):
            part, lanes = merged, active
            if len(pointers) > 1:
                part = b.pick(ty, merged, WARP * count, list(range(number * wide, (number + 1) * wide)))
                lanes = "" if everyone else _row_of(b, active, number, cg.width)
            if everyone:
                b.line(f"store {vector(ty, wide)} {part}, ptr {pointer}, align {step}")
            else:
                store_row(b, ty, count, cg.width, part, pointer, lanes)
        b.jump(join)

    with cg.side_block(slow):
        check.resolve()
        each = check.resolved_pointers()
        mask = cg.mask_vector(item.predicate)
        for number, value in enumerate(vectors):
            scatter(b, ty, offset_pointers(cg, each, number * step), value, mask)
        b.jump(join)

    b.open(join)


def _row_of(b: Builder, bits: str, number: int, width: int) -> str:
    """Return the bits of the lanes of a row, from the bits of all lanes."""
    shifted = b.value(f"lshr i32 {bits}, {number * width}") if number else bits
    return b.value(f"and i32 {shifted}, {(1 << width) - 1}")


def _touch(cg: CodegenContext, item: Instruction) -> None:
    """Check the address of an access whose values are not needed (see `gpulab.simt.analysis.slicing`)."""
    touching = replace(item, parts=item.parts[1:])
    space = state_space(touching).replace("param", "global")
    size = type_size(touching.parts[-1]) * vector_width(touching)
    action = {"ld": "reads", "ldu": "reads", "st": "writes"}.get(touching.op, "updates")
    check_access(cg, address(cg, _memory(item, 0), space), space, size, touching, action)


PSEUDO_HANDLERS["touch"] = _touch
