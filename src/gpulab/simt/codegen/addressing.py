"""Bounds-checked addressing for loads and stores.

Every access is checked before it is made, on a fast path or on a slow path. The fast path compares the
addresses with the allocation that the site accessed last, which is cached per site. For a row of lanes one
comparison is enough: the offset in the allocation, rotated right by log2 of the element size, must be less
than the number of positions at which the row can begin (0 if the cache is empty). The rotation moves the low
bits of a misaligned address to the top, so that the same comparison rejects it.

All other accesses take the slow path, `sim_resolve` in runtime.ll, which examines every active lane: lanes in
several allocations, a row of which only the active lanes are in bounds, and faults.

A row that lies in its allocation is read as a whole even if some lanes are inactive; stores are masked.
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
    """Host pointers of a checked access.

    Attributes
    ----------
    scalar : str
        The pointer, if all lanes access the same address.
    vector : str
        If they do not, a vector of 32 pointers, valid in the active lanes.
    """

    scalar: str = ""
    vector: str = ""


def state_space(item: Instruction) -> str:
    """Return the state space that an instruction names; "generic" if it names none."""
    for part in item.parts[1:]:
        stem = part.split("::")[0]
        if stem in SPACES:
            if part == "shared::cluster":
                raise UnsupportedInstruction(item.text, item.line, "thread block clusters")
            return stem
    return "generic"


def vector_width(item: Instruction) -> int:
    """Return the number of elements that a load or store transfers per lane."""
    return 4 if "v4" in item.parts else 2 if "v2" in item.parts else 8 if "v8" in item.parts else 1


def memory_type(item: Instruction) -> str:
    """Return the LLVM type of an instruction's elements in memory."""
    ty = item.parts[-1]
    if ty not in REGISTER_TYPES:
        raise UnsupportedInstruction(item.text, item.line, f"values of type .{ty}")
    return REGISTER_TYPES[ty]


def address(cg: CodegenContext, memory: Mem, space: str) -> Value:
    """Return `[base + offset]` as a 64-bit address in its state space."""
    if _is_short(cg, memory):
        base = _signed(cg, cg.operand(memory.base, "i32"))
    else:
        base = cg.operand(memory.base, "i64")
    if isinstance(memory.base, Sym) and space == "generic":
        if memory.base.name in cg.launch_constants.shared:
            base = add_offset(cg, base, layout.SHARED_WINDOW)
        elif memory.base.name in cg.local:
            base = add_offset(cg, base, layout.LOCAL_WINDOW)
    result = add_offset(cg, base, memory.offset)
    if space == "generic" and cg.local_bytes and result.kind == "uniform":
        # The same generic address of local memory refers to another location in every thread.
        return Value("i64", "varying", (cg.to_vector(result),))
    return result


def _is_short(cg: CodegenContext, memory: Mem) -> bool:
    """Return True if the base is a 32-bit register, as addresses of shared and local memory can be."""
    base = memory.base
    return (
        isinstance(base, Reg)
        and base.name in cg.flat.registers
        and cg.register_type(base.name) in ("i32", "float")
    )


def _signed(cg: CodegenContext, value: Value) -> Value:
    """Sign-extend a 32-bit base.

    The base of `s[i - n]` may be negative; adding a lane's index or an offset gives a valid address.
    """
    if value.kind == "affine" and abs(value.stride) >= 1 << 20:  # it may wrap within a row
        value = Value("i32", "varying", (cg.to_vector(value),))
    return cg.convert(value, "i64", lambda t, r, o: f"sext {t} {r} to {o}")


def add_offset(cg: CodegenContext, value: Value, offset: int | HoistedConstant) -> Value:
    """Return an address plus an offset."""
    if not offset:
        return value
    addend = str(offset) if isinstance(offset, int) else cg.operand(offset, "i64").ref
    if value.kind == "varying":
        ref = cg.b.value(f"add {vector('i64')} {value.ref}, {cg.b.splat('i64', addend)}")
        return Value("i64", "varying", (ref,))
    refs = tuple(
        str(int(r) + offset)
        if isinstance(offset, int) and r.lstrip("-").isdigit()
        else cg.b.value(f"add i64 {r}, {addend}")
        for r in value.refs
    )
    return Value("i64", value.kind, refs, value.stride)


def host_pointers(
    cg: CodegenContext,
    addresses: Value,
    space: str,
    size: int,
    item: Instruction,
    action: str,
    values: Sequence[Value] = (),
) -> HostPointers:
    """Check an access of `size` bytes per lane and return its host pointers; `values` are those to store."""
    site, addresses = _add_access(cg, addresses, space, size, item, action, values)
    if space == "local":
        return HostPointers(vector=_local(cg, addresses, size, site, item.predicate))
    return AddressCheck(cg, addresses, space, size, site, item.predicate).pointers()


def check_access(
    cg: CodegenContext, addresses: Value, space: str, size: int, item: Instruction, action: str
) -> None:
    """Check the addresses of an access whose data is not needed (see `gpulab.simt.analysis.slicing`)."""
    site, addresses = _add_access(cg, addresses, space, size, item, action)
    AddressCheck(cg, addresses, space, size, site, item.predicate).check()


def _add_access(
    cg: CodegenContext,
    addresses: Value,
    space: str,
    size: int,
    item: Instruction,
    action: str,
    values: Sequence[Value] = (),
) -> tuple[int, Value]:
    """Add a site and instrument the access; return the site's index and the addresses to check."""
    site = cg.add_site(action, space, size)
    if addresses.kind == "affine" and addresses.stride % size:  # the lanes are aligned differently
        addresses = Value("i64", "varying", (cg.to_vector(addresses),))
    cg.instrument(MemoryAccess(site, addresses, space, size, action, item, tuple(values)))
    return site, addresses


class AddressCheck:
    """The check of one access.

    Call `load_bounds` first, then `check_rows` or `check_lanes`; or `are_rows_inside` for both. If the check
    fails, `resolve` examines every lane. `pointers` and `check` do all of this.
    """

    def __init__(
        self, cg: CodegenContext, addresses: Value, space: str, size: int, site: int, predicate: Reg | None
    ) -> None:
        self.cg, self.b, self.address, self.space = cg, cg.b, addresses, space
        self.size, self.site, self.predicate = size, site, predicate
        self.shift = size.bit_length() - 1
        # Bytes from the first lane's element in a row to the end of the last one's.
        self.span = size + (abs(addresses.stride) * (cg.width - 1) if addresses.kind == "affine" else 0)
        self.by_call = cg.instrumentation.checks_by_call

    def pointers(self) -> HostPointers:
        """Emit the check and return the host pointers."""
        cg, b, addresses = self.cg, self.b, self.address
        if self.by_call:
            return self._pointers_by_call()
        self.load_bounds()
        fast, slow, join = b.new_label("fast"), b.new_label("slow"), b.new_label("join")
        if addresses.kind == "varying":
            offsets, fine = self.check_lanes()
        else:
            offsets, fine = self.check_rows()
        b.branch(fine, fast, slow, likely=True)

        with cg.side_block(fast):
            host = self.host_base()
            if addresses.kind == "uniform":
                near = self.host_pointer(host, offsets[0])
            else:
                if addresses.kind == "affine":
                    offsets = [cg.to_vector(Value("i64", "affine", tuple(offsets), addresses.stride))]
                near = b.value(f"getelementptr i8, ptr {host}, {vector('i64')} {offsets[0]}")
            b.jump(join)
        with cg.side_block(slow):
            self.resolve()
            far = self.first_resolved_pointer() if addresses.kind == "uniform" else self.resolved_pointers()
            slow_end = b.label
            b.jump(join)
        b.open(join)
        ty = "ptr" if addresses.kind == "uniform" else vector("ptr")
        merged = b.phi(ty, (near, fast), (far, slow_end))
        return HostPointers(scalar=merged) if addresses.kind == "uniform" else HostPointers(vector=merged)

    def check(self) -> None:
        """Emit the check alone."""
        cg, b = self.cg, self.b
        self.load_bounds()
        slow, on = b.new_label("slow"), b.new_label("on")
        _, fine = self.check_lanes() if self.address.kind == "varying" else self.check_rows()
        b.branch(fine, on, slow, likely=True)
        with cg.side_block(slow):
            self.resolve()
            b.jump(on)
        b.open(on)

    def _pointers_by_call(self) -> HostPointers:
        """Emit a call of the function that checks the addresses, and return the host pointers."""
        cg, b = self.cg, self.b
        self.locate_slot()
        if self.address.kind != "uniform":
            self.resolve()
            return HostPointers(vector=self.resolved_pointers())
        slot = [("ptr", self.slot)] if self.slot else []
        pointer = b.call(
            "sim_pointer" if self.slot else "sim_pointer_shared", "ptr", ("ptr", "%ctx"), ("i32", "%warp"),
            ("i32", cg.mask_bits(self.predicate)), ("i64", self.address.ref), ("i64", str(self.size)),
            ("i64", str(self.site)), *slot, ("ptr", cg.scratch), ("ptr", cg.host_addresses),
        )  # fmt: skip
        cg.end_unless(b.value(f"icmp ne ptr {pointer}, null"))
        return HostPointers(scalar=pointer)

    # -- rows -------------------------------------------------------------------------------------

    def are_rows_inside(self) -> str:
        """Emit the check of all rows; return an i1."""
        b = self.b
        if not self.by_call:
            self.load_bounds()
            self.offsets, fine = self.check_rows()
            return fine

        self.locate_slot()
        head = [("ptr", self.slot)]
        if self.space == "shared":
            limit = self.cg.constant("i64", "shared_limit", self.span, self.shift)
            head = [("ptr", "%ctx"), ("i64", limit)]
        name = "sim_row" if self.slot else "sim_row_shared"
        end = ("i64", str(self._back())), ("i64", str(self.shift))

        found, fine = {}, ""
        for ref in dict.fromkeys(self.address.refs):
            found[ref] = b.call(name, "ptr", *head, ("i64", ref), *end)
            inside = b.value(f"icmp ne ptr {found[ref]}, null")
            fine = b.value(f"and i1 {fine}, {inside}") if fine else inside
        self.rows = [found[ref] for ref in self.address.refs]
        return fine

    def row_pointers(self) -> list[str]:
        """Return the host pointers of the rows' first elements, where `are_rows_inside` was true."""
        if self.by_call:
            return self.rows
        host = self.host_base()
        return [self.host_pointer(host, offset) for offset in self.offsets]

    def _back(self) -> int:
        """Return the bytes from the first lane of a row down to the lowest one, as a number up to 0."""
        descends = self.address.kind == "affine" and self.address.stride < 0
        return self.address.stride * (self.cg.width - 1) if descends else 0

    # -- bounds -----------------------------------------------------------------------------------

    def locate_slot(self) -> None:
        """Compute the address of the site's cached allocation; "" for shared memory."""
        self.slot = ""
        if self.space != "shared":
            offset = self.site * layout.SITE_CACHE_BYTES
            self.slot = self.b.value(f"getelementptr i8, ptr {self.cg.site_caches}, i64 {offset}")

    def load_bounds(self) -> None:
        """Load the base address and the limit of the cached allocation, or those of shared memory."""
        b, cg = self.b, self.cg
        self.locate_slot()
        if self.space == "shared":
            self.base = "0"
            self.limit = cg.constant("i64", "shared_limit", self.span, self.shift)
            return
        self.base = b.value(f"load i64, ptr {self.slot}")
        self.limit = b.value(f"load i64, ptr {b.value(f'getelementptr i8, ptr {self.slot}, i64 8')}")

    def host_base(self) -> str:
        """Return the host address of the allocation."""
        if self.space == "shared":
            return self.cg.load_field("shared", "ptr")
        return self.b.value(f"load ptr, ptr {self.b.value(f'getelementptr i8, ptr {self.slot}, i64 16')}")

    def host_pointer(self, host: str, offset: str) -> str:
        """Return the host pointer at an offset in the allocation."""
        return self.b.value(f"getelementptr i8, ptr {host}, i64 {offset}")

    def check_rows(self) -> tuple[list[str], str]:
        """Return the offsets of the rows in the allocation, and an i1 that is true if all are in bounds."""
        b, addresses, back = self.b, self.address, self._back()
        offsets: dict[str, str] = {}
        fine = ""
        for ref in dict.fromkeys(addresses.refs):
            offset = ref if self.base == "0" else b.value(f"sub i64 {ref}, {self.base}")
            lowest = b.value(f"add i64 {offset}, {back}") if back else offset
            inside = self.is_inside("i64", lowest)
            offsets[ref] = offset
            fine = b.value(f"and i1 {fine}, {inside}") if fine else inside
        return [offsets[ref] for ref in addresses.refs], fine

    def is_inside(self, ty: str, offset: str) -> str:
        """Compare a scalar or a vector of offsets with the limit, as described at the top of the module."""
        b, limit = self.b, self.limit
        amount = str(self.shift)
        if ty != "i64":
            limit, amount = b.splat("i64", limit), f"splat (i64 {self.shift})"
        if self.shift:
            suffix = "i64" if ty == "i64" else f"v{WARP}i64"
            offset = b.call(f"llvm.fshr.{suffix}", ty, (ty, offset), (ty, offset), (ty, amount))
        return b.value(f"icmp ult {ty} {offset}, {limit}")

    def check_lanes(self) -> tuple[list[str], str]:
        """Return the vector of offsets, and an i1 that is true if all active lanes are in bounds."""
        b, cg = self.b, self.cg
        ty = vector("i64")
        offset = self.address.ref
        if self.base != "0":
            offset = b.value(f"sub {ty} {offset}, {b.splat('i64', self.base)}")
        outside = b.value(f"xor i32 {cg.pack_mask(self.is_inside(ty, offset))}, -1")
        bad = b.value(f"and i32 {outside}, {cg.mask_bits(self.predicate)}")
        return [offset], b.value(f"icmp eq i32 {bad}, 0")

    # -- the slow path ----------------------------------------------------------------------------

    def resolve(self) -> None:
        """Store the host address of every active lane to `host_addresses`, or end the warp with a fault."""
        b, cg = self.b, self.cg
        if self.address != cg.in_scratch:
            cg.store_lanes(self.address, cg.scratch)
        mask = cg.mask_bits(self.predicate)
        common = (
            ("ptr", "%ctx"), ("i32", "%warp"), ("ptr", cg.scratch), ("i32", mask), ("i64", str(self.size)),
            ("i64", str(self.site)), ("ptr", cg.host_addresses),
        )  # fmt: skip
        if self.space == "shared":
            good = b.call("sim_resolve_shared", "i1", *common, ("i64", cg.constant("i64", "shared_bytes")))
        else:
            good = b.call("sim_resolve", "i1", *common, ("ptr", self.slot), ("i64", str(self.span)))
        cg.end_unless(good)

    def resolved_pointers(self) -> str:
        """Return the host addresses that `resolve` has stored, as a vector of pointers."""
        addresses = self.b.value(f"load {vector('i64')}, ptr {self.cg.host_addresses}, align 64")
        return self.b.value(f"inttoptr {vector('i64')} {addresses} to {vector('ptr')}")

    def first_resolved_pointer(self) -> str:
        """Return the pointer of the first active lane; without active lanes, that of scratch memory."""
        b, cg = self.b, self.cg
        mask = cg.mask_bits(self.predicate)
        lane = b.call("llvm.cttz.i32", "i32", ("i32", mask), ("i1", "false"))
        inside = b.value(f"and i32 {lane}, 31")
        element = b.value(f"getelementptr i64, ptr {cg.host_addresses}, i32 {inside}")
        pointer = b.value(f"load ptr, ptr {element}")
        return b.value(f"select i1 {b.value(f'icmp eq i32 {mask}, 0')}, ptr {cg.scratch}, ptr {pointer}")


def _local(cg: CodegenContext, addresses: Value, size: int, site: int, predicate: Reg | None) -> str:
    """Check an access to local memory and return its pointers; every thread has its own."""
    b = cg.b
    ty = vector("i64")
    offset = cg.to_vector(addresses)

    last = cg.local_end - size
    shift = size.bit_length() - 1
    turned = b.call(f"llvm.fshr.v{WARP}i64", ty, (ty, offset), (ty, offset), (ty, f"splat (i64 {shift})"))
    positions = (last >> shift) + 1 if last >= 0 else 0
    inside = b.value(f"icmp ult {ty} {turned}, splat (i64 {positions})")
    outside = b.value(f"xor i32 {cg.pack_mask(inside)}, -1")
    bad = b.value(f"and i32 {outside}, {cg.mask_bits(predicate)}")

    wrong, fine = b.new_label("wrong"), b.new_label("fine")
    b.branch(b.value(f"icmp eq i32 {bad}, 0"), fine, wrong, likely=True)
    with cg.side_block(wrong):
        b.line(f"store {ty} {offset}, ptr {cg.scratch}, align 64")
        lane = b.call("llvm.cttz.i32", "i32", ("i32", bad), ("i1", "false"))
        at = b.value(f"load i64, ptr {b.value(f'getelementptr i64, ptr {cg.scratch}, i32 {lane}')}")
        outside, misaligned = b.new_label("outside"), b.new_label("misaligned")
        b.branch(b.value(f"icmp ule i64 {at}, {last}") if last >= 0 else "false", misaligned, outside)
        b.open(misaligned)
        cg.fault("misaligned", site, bad, at)
        b.open(outside)
        cg.fault("out_of_bounds", site, bad, at)
    b.open(fine)

    host = b.value(f"add {ty} {cg.local_addresses or 'zeroinitializer'}, {offset}")
    return b.value(f"inttoptr {ty} {host} to {vector('ptr')}")


def offset_pointers(cg: CodegenContext, pointers: str, offset: int) -> str:
    """Return a vector of pointers plus an offset in bytes."""
    if not offset:
        return pointers
    return cg.b.value(f"getelementptr i8, {vector('ptr')} {pointers}, i64 {offset}")
