"""Where an access goes: every address is checked before it is used.

An access has a fast path and one slow path. The fast path knows the allocation that this place of
the code touched last (its *slot*) and checks the whole row of lanes with one comparison: the offset
into the allocation, rotated right by log2 of the element size, must be below the number of places that
an element can have there (0 where nothing was touched yet). The rotation brings the bits of a
misaligned address to the top, so the same comparison refuses it.
Everything else, an access of lanes that go to several allocations, a row of which only the active
lanes are inside, and every fault, goes to `sim_resolve`, which looks at each active lane.

A row that lies inside its allocation may be read whole, also where lanes are inactive; it is
written under the mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.ir import REGISTER_TYPES, Value, vector
from gpulab.simt.codegen.memory_access import MemoryAccess
from gpulab.simt.ptx.syntax import HoistedConstant, Instruction, Mem, Reg, Sym
from gpulab.simt.runtime import layout

SPACES = ("global", "shared", "local", "const", "param")


@dataclass(frozen=True)
class HostPointers:
    """Where an access goes on the host.

    one: the pointer that all lanes share; each: otherwise, a vector of 32 pointers, valid for the
    active lanes.
    """

    scalar: str = ""
    vector: str = ""


def state_space(item: Instruction) -> str:
    for part in item.parts[1:]:
        stem = part.split("::")[0]
        if stem in SPACES:
            if part == "shared::cluster":
                raise UnsupportedInstruction(item.text, item.line, "thread block clusters")
            return stem
    return "generic"


def vector_width(item: Instruction) -> int:
    return 4 if "v4" in item.parts else 2 if "v2" in item.parts else 8 if "v8" in item.parts else 1


def memory_type(item: Instruction) -> str:
    ty = item.parts[-1]
    if ty not in REGISTER_TYPES:
        raise UnsupportedInstruction(item.text, item.line, f"values of type .{ty}")
    return REGISTER_TYPES[ty]


def address(cg: CodegenContext, memory: Mem, space: str) -> Value:
    """`[base + offset]` as 64-bit address in its state space."""
    if _is_short(cg, memory):
        base = _signed(cg, cg.operand(memory.base, "i32"))
    else:
        base = cg.operand(memory.base, "i64")
    if isinstance(memory.base, Sym) and space == "generic":
        if memory.base.name in cg.launch_constants.shared:
            base = add_offset(cg, base, layout.SHARED_WINDOW)
        elif memory.base.name in cg.local:
            base = add_offset(cg, base, layout.LOCAL_WINDOW)
    found = add_offset(cg, base, memory.offset)
    if space == "generic" and cg.local_bytes and found.kind == "uniform":
        # One generic address of local memory is another place for every thread.
        return Value("i64", "varying", (cg.to_vector(found),))
    return found


def _is_short(cg: CodegenContext, memory: Mem) -> bool:
    """Whether the address comes in a 32-bit register, as those of shared and local memory do."""
    base = memory.base
    return (
        isinstance(base, Reg)
        and base.name in cg.flat.registers
        and cg.register_type(base.name) in ("i32", "float")
    )


def _signed(cg: CodegenContext, value: Value) -> Value:
    """32 bits as 64: `s[i - n]` may start below the array, and come back inside by a lane or an offset."""
    if value.kind == "affine" and abs(value.stride) >= 1 << 20:  # it may wrap on its way through a row
        value = Value("i32", "varying", (cg.to_vector(value),))
    return cg.convert(value, "i64", lambda t, r, o: f"sext {t} {r} to {o}")


def add_offset(cg: CodegenContext, value: Value, offset: int | HoistedConstant) -> Value:
    if not offset:
        return value
    by = str(offset) if isinstance(offset, int) else cg.operand(offset, "i64").ref
    if value.kind == "varying":
        ref = cg.b.value(f"add {vector('i64')} {value.ref}, {cg.b.splat('i64', by)}")
        return Value("i64", "varying", (ref,))
    refs = tuple(
        str(int(r) + offset)
        if isinstance(offset, int) and r.lstrip("-").isdigit()
        else cg.b.value(f"add i64 {r}, {by}")
        for r in value.refs
    )
    return Value("i64", value.kind, refs, value.stride)


def host_pointers(
    cg: CodegenContext,
    where: Value,
    space: str,
    size: int,
    item: Instruction,
    action: str,
    values: Sequence[Value] = (),
) -> HostPointers:
    """Check an access of `size` bytes a lane and say where it goes. values: what is to be written."""
    access, where = _add_access(cg, where, space, size, item, action, values)
    if space == "local":
        return HostPointers(vector=_local(cg, where, size, access, item.predicate))
    return AddressCheck(cg, where, space, size, access, item.predicate).pointers()


def check_access(
    cg: CodegenContext, where: Value, space: str, size: int, item: Instruction, action: str
) -> None:
    """Check an access that will not be made."""
    access, where = _add_access(cg, where, space, size, item, action)
    AddressCheck(cg, where, space, size, access, item.predicate).check()


def _add_access(
    cg: CodegenContext,
    where: Value,
    space: str,
    size: int,
    item: Instruction,
    action: str,
    values: Sequence[Value] = (),
) -> tuple[int, Value]:
    """Add a site and instrument the access; return the site's index and the addresses to check."""
    access = cg.add_site(action, space, size)
    if where.kind == "affine" and where.stride % size:  # not every lane is aligned where the first one is
        where = Value("i64", "varying", (cg.to_vector(where),))
    cg.instrumentation.on_access(cg, MemoryAccess(access, where, space, size, action, item, tuple(values)))
    return access, where


class AddressCheck:
    def __init__(
        self, cg: CodegenContext, where: Value, space: str, size: int, access: int, predicate: Reg | None
    ) -> None:
        self.cg, self.b, self.where, self.space = cg, cg.b, where, space
        self.size, self.access, self.predicate = size, access, predicate
        self.shift = size.bit_length() - 1
        # Bytes from the first lane of a row to the end of the last one's element.
        self.span = size + (abs(where.stride) * (cg.width - 1) if where.kind == "affine" else 0)

    def pointers(self) -> HostPointers:
        cg, b, where = self.cg, self.b, self.where
        self.load_bounds()
        fast, slow, join = b.new_label("fast"), b.new_label("slow"), b.new_label("join")
        if where.kind == "varying":
            offsets, fine = self.check_lanes()
        else:
            offsets, fine = self.check_rows()
        b.branch(fine, fast, slow, likely=True)

        with cg.side_block(fast):
            host = self.host_base()
            if where.kind == "uniform":
                near = self.host_pointer(host, offsets[0])
            else:
                if where.kind == "affine":
                    offsets = [cg.to_vector(Value("i64", "affine", tuple(offsets), where.stride))]
                near = b.value(f"getelementptr i8, ptr {host}, {vector('i64')} {offsets[0]}")
            b.jump(join)
        with cg.side_block(slow):
            self.resolve()
            far = self.first_resolved_pointer() if where.kind == "uniform" else self.resolved_pointers()
            slow_end = b.label
            b.jump(join)
        b.open(join)
        ty = "ptr" if where.kind == "uniform" else vector("ptr")
        merged = b.phi(ty, (near, fast), (far, slow_end))
        return HostPointers(scalar=merged) if where.kind == "uniform" else HostPointers(vector=merged)

    def check(self) -> None:
        """As `place`, where nobody asks for the place."""
        cg, b = self.cg, self.b
        self.load_bounds()
        slow, on = b.new_label("slow"), b.new_label("on")
        _, fine = self.check_lanes() if self.where.kind == "varying" else self.check_rows()
        b.branch(fine, on, slow, likely=True)
        with cg.side_block(slow):
            self.resolve()
            b.jump(on)
        b.open(on)

    # -- bounds -----------------------------------------------------------------------------------

    def load_bounds(self) -> None:
        b, cg = self.b, self.cg
        if self.space == "shared":
            self.cg_bound = "0"
            self.limit = cg.constant("i64", "shared_limit", self.span, self.shift)
            return
        offset = self.access * layout.SITE_CACHE_BYTES
        self.slot = b.value(f"getelementptr i8, ptr {cg.site_caches}, i64 {offset}")
        self.cg_bound = b.value(f"load i64, ptr {self.slot}")
        self.limit = b.value(f"load i64, ptr {b.value(f'getelementptr i8, ptr {self.slot}, i64 8')}")

    def host_base(self) -> str:
        if self.space == "shared":
            return self.cg.load_field("shared", "ptr")
        return self.b.value(f"load ptr, ptr {self.b.value(f'getelementptr i8, ptr {self.slot}, i64 16')}")

    def host_pointer(self, host: str, offset: str) -> str:
        return self.b.value(f"getelementptr i8, ptr {host}, i64 {offset}")

    def check_rows(self) -> tuple[list[str], str]:
        """Offsets of the rows in the allocation, and whether all of them lie inside."""
        b, where = self.b, self.where
        back = where.stride * (self.cg.width - 1) if where.kind == "affine" and where.stride < 0 else 0
        offsets, fine = [], ""
        for ref in where.refs:
            offset = ref if self.cg_bound == "0" else b.value(f"sub i64 {ref}, {self.cg_bound}")
            lowest = b.value(f"add i64 {offset}, {back}") if back else offset
            good = self.is_inside("i64", lowest)
            offsets.append(offset)
            fine = b.value(f"and i1 {fine}, {good}") if fine else good
        return offsets, fine

    def is_inside(self, ty: str, offset: str) -> str:
        b, limit = self.b, self.limit
        amount = str(self.shift)
        if ty != "i64":
            limit, amount = b.splat("i64", limit), f"splat (i64 {self.shift})"
        if self.shift:
            suffix = "i64" if ty == "i64" else f"v{WARP}i64"
            offset = b.call(f"llvm.fshr.{suffix}", ty, (ty, offset), (ty, offset), (ty, amount))
        return b.value(f"icmp ult {ty} {offset}, {limit}")

    def check_lanes(self) -> tuple[list[str], str]:
        b, cg = self.b, self.cg
        ty = vector("i64")
        offset = self.where.ref
        if self.cg_bound != "0":
            offset = b.value(f"sub {ty} {offset}, {b.splat('i64', self.cg_bound)}")
        outside = b.value(f"xor i32 {cg.pack_mask(self.is_inside(ty, offset))}, -1")
        bad = b.value(f"and i32 {outside}, {cg.mask_bits(self.predicate)}")
        return [offset], b.value(f"icmp eq i32 {bad}, 0")

    # -- the slow path ----------------------------------------------------------------------------

    def resolve(self) -> None:
        """Look at every active lane; its host address is then in `hosts`, or the warp has ended."""
        b, cg = self.b, self.cg
        cg.store_lanes(self.where, cg.scratch)
        mask = cg.mask_bits(self.predicate)
        common = (
            ("ptr", "%ctx"), ("i32", "%warp"), ("ptr", cg.scratch), ("i32", mask), ("i64", str(self.size)),
            ("i64", str(self.access)), ("ptr", cg.host_addresses),
        )  # fmt: skip
        if self.space == "shared":
            good = b.call("sim_resolve_shared", "i1", *common, ("i64", cg.constant("i64", "shared_bytes")))
        else:
            good = b.call("sim_resolve", "i1", *common, ("ptr", self.slot), ("i64", str(self.span)))
        on = b.new_label("resolved")
        b.branch(good, on, "fault", likely=True)
        b.open(on)

    def resolved_pointers(self) -> str:
        addresses = self.b.value(f"load {vector('i64')}, ptr {self.cg.host_addresses}, align 64")
        return self.b.value(f"inttoptr {vector('i64')} {addresses} to {vector('ptr')}")

    def first_resolved_pointer(self) -> str:
        """The host address of the first active lane; with no lane active, somewhere harmless."""
        b, cg = self.b, self.cg
        mask = cg.mask_bits(self.predicate)
        lane = b.call("llvm.cttz.i32", "i32", ("i32", mask), ("i1", "false"))
        inside = b.value(f"and i32 {lane}, 31")
        place = b.value(f"getelementptr i64, ptr {cg.host_addresses}, i32 {inside}")
        found = b.value(f"load ptr, ptr {place}")
        return b.value(f"select i1 {b.value(f'icmp eq i32 {mask}, 0')}, ptr {cg.scratch}, ptr {found}")


def _local(cg: CodegenContext, where: Value, size: int, access: int, predicate: Reg | None) -> str:
    """Pointers of an access to local memory: each lane has its own part."""
    b = cg.b
    ty = vector("i64")
    offset = cg.to_vector(where)
    last = cg.local_end - size
    shift = size.bit_length() - 1
    turned = b.call(f"llvm.fshr.v{WARP}i64", ty, (ty, offset), (ty, offset), (ty, f"splat (i64 {shift})"))
    places = (last >> shift) + 1 if last >= 0 else 0
    inside = b.value(f"icmp ult {ty} {turned}, splat (i64 {places})")
    outside = b.value(f"xor i32 {cg.pack_mask(inside)}, -1")
    bad = b.value(f"and i32 {outside}, {cg.mask_bits(predicate)}")
    wrong, fine = b.new_label("wrong"), b.new_label("fine")
    b.branch(b.value(f"icmp eq i32 {bad}, 0"), fine, wrong, likely=True)
    with cg.side_block(wrong):
        b.line(f"store {ty} {offset}, ptr {cg.scratch}, align 64")
        lane = b.call("llvm.cttz.i32", "i32", ("i32", bad), ("i1", "false"))
        at = b.value(f"load i64, ptr {b.value(f'getelementptr i64, ptr {cg.scratch}, i32 {lane}')}")
        cg.fault("out_of_bounds", access, bad, at)
    b.open(fine)
    addresses = b.value(f"add {ty} {cg.local_addresses or 'zeroinitializer'}, {offset}")
    return b.value(f"inttoptr {ty} {addresses} to {vector('ptr')}")


def offset_pointers(cg: CodegenContext, each: str, offset: int) -> str:
    return each if not offset else cg.b.value(f"getelementptr i8, {vector('ptr')} {each}, i64 {offset}")
