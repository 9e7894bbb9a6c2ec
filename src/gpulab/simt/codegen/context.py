"""Registers, masks and faults of the kernel that is being lowered, as LLVM IR.

A PTX register is a stack slot for each of its parts; LLVM's SROA pass turns the slots into SSA values. What
is read or computed in a basic block is cached until the block ends.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.analysis.basic_blocks import Block
from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.analysis.lane_shapes import LaneShape
from gpulab.simt.analysis.reconvergence import target_sets
from gpulab.simt.codegen import special_registers
from gpulab.simt.codegen.ir import BITS, REGISTER_TYPES, Value, float_literal, suffix, vector
from gpulab.simt.codegen.kernel_context import PARAMETERS, KernelContext
from gpulab.simt.codegen.memory_access import AccessSite, MemoryAccess
from gpulab.simt.ptx.syntax import HoistedConstant, Imm, Instruction, Operand, Reg, Sym
from gpulab.simt.runtime import layout

__all__ = ["FETCHED_BYTES", "CodegenContext", "InstrumentationHooks"]

FETCHED_BYTES = 36 << 10  # see `CodegenContext.fetched`


class InstrumentationHooks:
    """Points of the generated code at which an instrumentation can emit code; this base class emits none.

    Attributes
    ----------
    runtime : str
        LLVM IR that is appended to `runtime.ll`. It defines `@sim_on_block(ptr context)`, which is called
        at the start of a block, and `@sim_on_barrier(ptr context, i32 warps, i32 barrier)`, which is called
        when a barrier completes; `barrier` is -1 if every remaining warp arrived at the same
        `__syncthreads()`, and -2 if all threads of the block are known to have arrived there.
        `@sim_on_resume(ptr context)` is called before each turn of a block of a cooperative launch.
    checks_by_call : bool
        Addresses are checked by functions of `linked.ll`, which the runtime contains. Such code is compiled
        in less time, and is slower.
    """

    checks_by_call = False

    runtime = """
define internal void @sim_on_resume(ptr %ctx) alwaysinline {
  ret void
}
define internal void @sim_on_block(ptr %ctx) alwaysinline {
  ret void
}
define internal void @sim_on_barrier(ptr %ctx, i32 %warps, i32 %barrier) alwaysinline {
  %all = icmp eq i32 %barrier, -1
  br i1 %all, label %check, label %out
check:
  call void @sim_check_all_arrived(ptr %ctx, i32 %warps)
  br label %out
out:
  ret void
}
"""

    def on_entry(self, cg: CodegenContext) -> None:
        """Emit code at the entry of the warp function."""

    def on_block(self, cg: CodegenContext, block: Block) -> None:
        """Emit code at the start of a basic block."""

    def on_branch(self, cg: CodegenContext, block: Block, here: str, there: str) -> None:
        """Emit code at a branch that can diverge; `here` and `there` are the masks of its two sides."""

    def on_access(self, cg: CodegenContext, access: MemoryAccess) -> None:
        """Emit code before a memory access, whose addresses have not been checked yet."""

    def on_division(self, cg: CodegenContext, item: Instruction) -> None:
        """Emit code before a division, reciprocal or root."""

    def on_selection(self, cg: CodegenContext, item: Instruction) -> None:
        """Emit code before a `selp`."""

    def on_warp_sync(self, cg: CodegenContext, item: Instruction, site: int) -> None:
        """Emit code at a `.sync` instruction of a warp; its last operand is the lanes' mask."""

    def on_barrier(self, cg: CodegenContext, expected: str, site: int) -> None:
        """Emit code at a block barrier; `expected` is its thread count as an i32, 0 for all threads."""

    def on_arrive(self, cg: CodegenContext, barrier: str) -> None:
        """Emit code at a `bar.arrive` on the barrier with this number."""

    def on_async_copy(self, cg: CodegenContext, item: Instruction) -> None:
        """Emit code where asynchronous copies are committed to a group or waited for."""

    def on_bulk_copy(self, cg: CodegenContext, target: str, size: str, barrier: str) -> None:
        """Emit code after a bulk copy of one lane to shared memory.

        target, size and barrier are i64: the offset and the bytes of the copy in shared memory, and the
        offset of the `mbarrier` object that counts them.
        """

    def on_phase_test(self, cg: CodegenContext, item: Instruction, barrier: Value) -> None:
        """Emit code where lanes test whether a phase of an `mbarrier` object is complete."""

    def on_fence(self, cg: CodegenContext, item: Instruction) -> None:
        """Emit code at a memory fence."""


@dataclass
class CodegenContext(KernelContext):
    """State while one kernel is lowered for one block shape."""

    instrumentation: InstrumentationHooks = field(default_factory=InstrumentationHooks)
    quickly: bool = False  # the code is compiled quickly: registers stay in memory, nothing is prefetched
    pairs_warps: bool = False  # see `warp_pairs`; only optimised code without instrumentation does

    def __post_init__(self) -> None:
        super().__post_init__()
        self.slots: dict[str, Value] = {}  # stack slots, by register
        self.loaded_slots: set[str] = set()  # those that are read; others are not needed
        self.cache: dict[str, Value] = {}  # values of registers in the current block, by register
        self.vectors: dict[Value, str] = {}  # vectors made of scalar values in the current block
        self.products: set[str] = set()  # names of the results of multiplications
        self.block_number = 0  # the basic block that is being lowered
        self.instruction_index = 0  # the instruction in it
        self._mask_bits = ""
        self._mask_vector = ""
        self.suspended: dict[int, str] = {}  # slot of the mask of lanes suspended at a block, by block
        self.mask_slot = self.b.alloca("i32", "mask", 4)
        self.scratch = self.b.alloca("[64 x i64]", "scratch")
        self.host_addresses = self.b.alloca("[32 x i64]", "hosts")
        self.site_caches = self.local_addresses = ""  # set at the entry of the function
        self.warp_state = ""  # pointer to the warp's state, set there as well
        # If no lane can have exited and none is suspended, all lanes of a full warp are active.
        self.can_be_full = self.threads % WARP == 0 and not any(map(self.can_lose_lanes, self.flow.blocks))

        # Set while the function is lowered.
        self.uses_dispatcher = False  # one place in the code finds the next block with lanes
        self.suspend_points: list[Any] = []  # see `suspension`
        self.saved_at: dict[str, int] = {}  # offset of each register in the warp's save area
        self.saved_bytes = 0
        self.loop_steps: dict[int, dict[str, Any]] | None = None  # see `prefetching`
        self.prefetched: dict[tuple[int, str], set[int]] = {}  # lines, by block and register
        self.arrivals: list[tuple[str, str, str, str]] = []  # at complete barriers, see `warp_loop`
        self.saved_before_loop: dict[int, tuple[str, ...]] = {}  # by first block; see `suspension`
        self.canonical_at: dict[str, int] = {}  # the same for the canonical form (see `suspension`)
        self.canonical_bytes = 0
        self.fuel_slot = ""  # instructions left in the time slice
        self.yielding: set[int] = set()  # suspend points at which a warp yields in a spin loop
        self.save_area = ""  # pointer to the registers of the warp while it is suspended
        # Entries of the fallback code and the labels of the jumps there, by block and instruction.
        self.leaving: dict[tuple[int, int], tuple[str, str]] = {}
        self.patience_slot = ""  # iterations of spin loops left before lanes yield

        self.barrier_sites: dict[int, int] = {}  # by the number of the suspend point
        self.joint_loads: dict[tuple[int, int], Any] = {}  # see `joint_loads`; by block and instruction
        self.in_scratch: Value | None = None  # addresses that the instrumentation has stored to `scratch`
        self.access_counts: dict[tuple[int, int], int] = {}  # accesses so far, by block and instruction

    @cached_property
    def fetched(self) -> str:
        """A stack slot for `joint_loads`: addresses of lanes, and elements that are copied."""
        return self.b.alloca(f"[{FETCHED_BYTES} x i8]", "fetched")

    @cached_property
    def texels(self) -> str:
        """A stack slot for the operands and the results of a texture or surface instruction of a warp."""
        return self.b.alloca("[96 x i64]", "texels")

    def can_lose_lanes(self, block: Block) -> bool:
        """Return True if some lanes can exit at the end of this block while others continue."""
        exits, others = self.analysis.exits, self.analysis.frontier[block.number]
        return any(
            (bool(exits & set(targets)) or not targets) and (len(targets) > 1 or bool(others))
            for targets in target_sets(block, self.analysis.divergent)
        )

    def invalidate_cache(self) -> None:
        """Discard cached values at a point that control can reach in several ways."""
        self.cache, self.vectors = {}, {}
        self._mask_bits = self._mask_vector = ""

    def for_lanes(self, item: Instruction, flags: str) -> Instruction:
        """Return an instruction with a predicate that is true for the lanes in `flags`, a vector of i1.

        Lanes for which the instruction's own predicate is false are excluded.
        """
        if item.predicate is not None:
            own = self.to_vector(self.predicate(item.predicate))
            flags = self.b.value(f"and {vector('i1')} {flags}, {own}")
        name = f"%lanes{self.b.count}"
        self.flat.registers[name] = "pred"
        self.assign(Reg(name), Value("i1", "varying", (flags,)))
        return replace(item, predicate=Reg(name))

    @contextmanager
    def side_block(self, label: str) -> Iterator[None]:
        """Open an LLVM basic block off the main path; values computed in it are not cached after it."""
        saved = dict(self.cache), dict(self.vectors), self._mask_bits, self._mask_vector
        self.b.open(label)
        yield
        self.cache, self.vectors, self._mask_bits, self._mask_vector = saved

    @contextmanager
    def each_lane(self, mask: str) -> Iterator[str]:
        """Emit a loop over the lanes of a mask, lowest first; the `with` block emits the code of one lane."""
        b = self.b
        before, loop, done = b.new_label("lanes"), b.new_label("lane"), b.new_label("done")
        b.jump(before)
        b.open(before)
        b.branch(b.value(f"icmp ne i32 {mask}, 0"), loop, done)
        with self.side_block(loop):
            left, next_left = b.name("left"), b.name("left")
            head = len(b.lines)
            yield b.call("llvm.cttz.i32", "i32", ("i32", left), ("i1", "true"))
            b.line(f"{next_left} = and i32 {left}, {b.value(f'sub i32 {left}, 1')}")
            last = b.label
            b.branch(b.value(f"icmp ne i32 {next_left}, 0"), loop, done)
            b.lines.insert(head, f"  {left} = phi i32 [ {mask}, %{before} ], [ {next_left}, %{last} ]")
        b.open(done)

    # -- instrumentation ------------------------------------------------------------------------

    def instrument(self, access: MemoryAccess) -> None:
        """Record the place of an access in the program, and emit the instrumentation's code for it."""
        self.in_scratch = None
        if not self.sites[access.site].opcode:  # code that is emitted twice has the same sites
            self.sites[access.site] = self.described(access)
        self.instrumentation.on_access(self, access)

    def described(self, access: MemoryAccess) -> AccessSite:
        """Return the site of an access with its place in the program."""
        item, place = access.item, (self.block_number, self.instruction_index)
        part = self.access_counts.get(place, 0)
        self.access_counts[place] = part + 1
        return replace(
            self.sites[access.site],
            opcode=item.text,
            row=item.row,
            block=place[0],
            index=place[1],
            part=part,
            apart=item.predicate is not None or access.space == "generic",
            width=access.size,
        )

    def synchronize_warp(self, item: Instruction) -> None:
        """Emit the instrumentation's code for a `.sync` instruction of a warp, if it synchronizes."""
        if "sync" in item.parts:  # a form from before Volta does not
            self.instrumentation.on_warp_sync(self, item, self.add_site("names lanes", "warp", 0))

    # -- faults ---------------------------------------------------------------------------------

    def fail(self, kind: str, action: str, lanes: str | None = None) -> None:
        """Emit a fault at a new site that accesses no memory."""
        self.fault(kind, self.add_site(action, "", 0), lanes or self.mask())

    def fault(self, kind: str, site: int, lanes: str, detail: str = "0") -> None:
        """Emit a fault of a kind in `layout.FAULTS` and end the warp.

        `lanes` is the mask of the lanes at fault; `detail` is an i64, usually the faulting address.
        """
        code = layout.FAULTS[kind]
        self.b.call(
            "sim_fault", "void", ("ptr", "%ctx"), ("i32", "%warp"), ("i64", str(code)), ("i64", str(site)),
            ("i32", lanes), ("i64", detail),
        )  # fmt: skip
        self.b.jump("fault")

    def end_unless(self, fine: str) -> None:
        """End the warp unless an i1 is true; otherwise a function of the runtime has recorded a fault."""
        on = self.b.new_label("on")
        self.b.branch(fine, on, "fault", likely=True)
        self.b.open(on)

    def loop_site(self, head: int) -> int:
        """Add the site that a fault names if the loop with this first block is stopped."""
        stuck = not self.independent and head in self.analysis.spin_loops and self.analysis.frontier[head]
        return self.add_site("deadlocks" if stuck else "runs", "loop", 0)

    # -- masks ----------------------------------------------------------------------------------

    @property
    def all_active(self) -> bool:
        """True if every lane of the warp is known to be active in the current block."""
        return self.is_full(self.block_number)

    def is_full(self, block: int) -> bool:
        """Return True if every lane of the warp is known to be active in a block."""
        return self.can_be_full and not self.analysis.frontier[block]

    def mask(self) -> str:
        """Return the active lanes as an i32."""
        if self.all_active:
            return "-1"
        if not self._mask_bits:
            self._mask_bits = self.b.value(f"load i32, ptr {self.mask_slot}")
        return self._mask_bits

    def mask_now(self) -> str:
        """Return the active lanes as an i32, always loaded from memory."""
        return self.b.value(f"load i32, ptr {self.mask_slot}")

    def mask_vector(self, predicate: Reg | None = None) -> str:
        """Return the active lanes as a vector of i1, without those for which a predicate is false."""
        b = self.b
        if self.all_active:
            base = "splat (i1 true)"
        else:
            if not self._mask_vector:
                self._mask_vector = self.unpack_mask(self.mask())
            base = self._mask_vector
        if predicate is None:
            return base
        return b.value(f"and {vector('i1')} {base}, {self.to_vector(self.predicate(predicate))}")

    @contextmanager
    def whole_warp(self) -> Iterator[None]:
        """Make all lanes of the warp active, for an operation of one lane that the warp executes together."""
        if self.all_active:
            yield
            return
        before = self.mask_now()
        self.b.line(f"store i32 -1, ptr {self.mask_slot}")
        self._mask_bits, self._mask_vector = "-1", "splat (i1 true)"
        yield
        self.b.line(f"store i32 {before}, ptr {self.mask_slot}")
        self._mask_bits = self._mask_vector = ""

    def combine_masks(self, operation: str, mask: Value) -> str:
        """Return the `and` or the `or` of the masks of all active lanes."""
        if mask.kind == "uniform":
            return mask.ref
        b, integers = self.b, vector("i32")
        neutral = "splat (i32 -1)" if operation == "and" else "zeroinitializer"
        active, masks = self.mask_vector(), self.to_vector(mask)
        masks = b.value(f"select {vector('i1')} {active}, {integers} {masks}, {integers} {neutral}")
        return b.call(f"llvm.vector.reduce.{operation}.{suffix(integers)}", "i32", (integers, masks))

    def mask_bits(self, predicate: Reg | None) -> str:
        """Return the active lanes as an i32, without those for which a predicate is false."""
        if predicate is None:
            return self.mask()
        return self.pack_mask(self.mask_vector(predicate))

    def pack_mask(self, ref: str) -> str:
        """Return a vector of i1 as an i32."""
        return self.b.value(f"bitcast {vector('i1')} {ref} to i32")

    def unpack_mask(self, ref: str) -> str:
        """Return an i32 as a vector of i1."""
        return self.b.value(f"bitcast i32 {ref} to {vector('i1')}")

    def predicate(self, reg: Reg) -> Value:
        """Return the value of a predicate, negated for `!`."""
        value = self.read(reg.name)
        if not reg.negated:
            return value
        ty = vector("i1") if value.kind == "varying" else "i1"
        ones = "splat (i1 true)" if value.kind == "varying" else "true"
        return Value("i1", value.kind, (self.b.value(f"xor {ty} {value.ref}, {ones}"),))

    # -- registers ------------------------------------------------------------------------------

    def shape(self, name: str) -> LaneShape:
        """Return the shape of a register."""
        return self.analysis.shapes.get(name, LaneShape("varying"))

    def register_type(self, name: str) -> str:
        """Return the LLVM type of a register in one lane."""
        return REGISTER_TYPES[self.flat.registers[name]]

    def slot(self, name: str) -> Value:
        """Return the stack slots of a register, as a value whose `refs` are pointers.

        Rows that agree share a slot.
        """
        slot = self.slots.get(name)
        if slot is None:
            ty, shape = self.register_type(name), self.shape(name)
            if shape.kind == "varying":
                refs: tuple[str, ...] = (self.b.alloca(vector(ty), "r"),)
            else:
                count = self.rows_per_warp if shape.kind == "affine" else 1
                slots = [self.b.alloca(ty, "r", 8) for _ in range(1 if shape.common else count)]
                refs = tuple(slots * count if shape.common else slots)
            slot = self.slots[name] = Value(ty, shape.kind, refs, shape.stride)
        return slot

    def read(self, name: str) -> Value:
        """Return the value of a register or special register in its own shape and type."""
        if name not in self.flat.registers:
            return self.cache.get(name) or special_registers.read(self, name)
        constant = self.shape(name).constant
        if constant is not None and self.register_type(name) in ("i16", "i32", "i64"):
            # The shapes of other registers depend on this constant, so it has to be a literal.
            ty = self.register_type(name)
            return Value(ty, "uniform", (self.literal(Imm(constant), ty),))
        cached = self.cache.get(name)
        if cached is not None:
            return cached

        slot = self.slot(name)
        self.loaded_slots.update(slot.refs)
        full = vector(slot.ty) if slot.kind == "varying" else slot.ty
        loaded = {ref: self.b.value(f"load {full}, ptr {ref}") for ref in dict.fromkeys(slot.refs)}
        refs = tuple(loaded[ref] for ref in slot.refs)
        self.cache[name] = value = Value(slot.ty, slot.kind, refs, slot.stride)
        return value

    def operand(self, operand: Operand, ty: str) -> Value:
        """Return an operand as a value of LLVM type `ty`; see `as_type` for registers of other types."""
        if isinstance(operand, Imm):
            return Value(ty, "uniform", (self.literal(operand, ty),))
        if isinstance(operand, HoistedConstant):
            name = "power" if operand.power else "text"
            return Value(ty, "uniform", (self.constant(ty, name, operand.index),))
        if isinstance(operand, Reg):
            value = self.predicate(operand) if operand.negated else self.read(operand.name)
            return self.as_type(value, ty)
        if isinstance(operand, Sym) and operand.name == "WARP_SZ":
            return Value(ty, "uniform", (str(WARP),))
        if isinstance(operand, Sym):
            return self.as_type(self.address_of(operand.name), ty)
        raise UnsupportedInstruction("operand", self.line, f"{operand}")

    def literal(self, imm: Imm, ty: str) -> str:
        """Return a literal of LLVM type `ty`."""
        if ty in ("float", "double"):
            if imm.bits is not None:
                return float_literal(imm.bits, ty)
            return float_literal(_float_bits(float(imm.value), ty), ty)
        if ty == "i1":
            return "true" if imm.value else "false"
        bits = imm.bits if imm.bits is not None else int(imm.value)
        width = BITS[ty]
        bits &= (1 << width) - 1
        return str(bits - (1 << width) if bits >> (width - 1) else bits)

    def address_of(self, name: str) -> Value:
        """Return the address of a variable in its own state space."""
        offset = self.parameter_offsets()[0].get(name)
        if offset is not None:  # the launch copies the parameters to an array in global memory
            self.symbols.setdefault(PARAMETERS, len(self.symbols))
            base = self.address_of(PARAMETERS)
            return Value("i64", "uniform", (self.b.value(f"add i64 {base.ref}, {offset}"),))
        if name in self.launch_constants.shared:
            return Value("i64", "uniform", (self.constant("i64", "shared", name),))
        if name in self.local:
            return Value("i64", "uniform", (str(self.local[name]),))
        number = self.symbols.get(name)
        if number is None:
            raise UnsupportedInstruction(name, self.line, "the address of a function or an unknown variable")
        table = self.load_field("symbols", "ptr")
        address = self.b.value(f"getelementptr i64, ptr {table}, i64 {number}")
        return Value("i64", "uniform", (self.b.value(f"load i64, ptr {address}"),))

    def as_type(self, value: Value, ty: str) -> Value:
        """Reinterpret the bits of a value as another type; a narrower one truncates, a wider one extends."""
        if value.ty == ty:
            return value
        have, want = BITS[value.ty], BITS[ty]
        if have == want:
            return self.convert(value, ty, lambda t, r, o: f"bitcast {t} {r} to {o}")
        if value.ty in ("float", "double"):
            value = self.as_type(value, f"i{have}")
        middle = f"i{want}"
        action = "trunc" if have > want else "zext"
        value = self.convert(value, middle, lambda t, r, o: f"{action} {t} {r} to {o}")
        return self.as_type(value, ty)

    def convert(self, value: Value, ty: str, text: Callable[[str, str, str], str]) -> Value:
        """Apply a conversion to a value in its own shape.

        `text` returns the instruction for an operand type, an operand and a result type. The conversion has
        to preserve affine values: it truncates, or extends rows that do not wrap.
        """
        if value.kind == "varying":
            ref = self.b.value(text(vector(value.ty), value.ref, vector(ty)))
            return Value(ty, "varying", (ref,))
        refs = tuple(
            r
            if text(value.ty, r, ty).startswith("bitcast") and value.ty == ty
            else self.b.value(text(value.ty, r, ty))
            for r in value.refs
        )
        return Value(ty, value.kind, refs, value.stride)

    def to_vector(self, value: Value) -> str:
        """Return a value as a vector of 32."""
        if value.kind == "varying":
            return value.ref
        if value not in self.vectors:
            self.vectors[value] = self._expand(value)
        return self.vectors[value]

    def _expand(self, value: Value) -> str:
        b = self.b
        ty = vector(value.ty)
        if value.kind == "uniform" or self.rows_per_warp == 1:
            expanded = b.splat(value.ty, value.ref)
        else:
            expanded = "poison"
            for number, ref in enumerate(value.refs):
                expanded = b.value(f"insertelement {ty} {expanded}, {value.ty} {ref}, i64 {number}")
            expanded = b.pick(value.ty, expanded, WARP, [lane // self.width for lane in range(WARP)])

        if value.kind == "affine" and value.stride:
            width = BITS[value.ty]
            offsets = []
            for lane in range(WARP):
                offset = lane % self.width * value.stride & ((1 << width) - 1)
                offsets.append(f"{value.ty} {offset - (1 << width) if offset >> (width - 1) else offset}")
            expanded = b.value(f"add {ty} {expanded}, <{', '.join(offsets)}>")
        return expanded

    def store_lanes(self, value: Value, pointer: str) -> None:
        """Store the 32 lanes of a value to an array.

        An affine value is expanded by a function of the runtime, which keeps rarely executed code short.
        """
        b, bits = self.b, BITS[value.ty]
        if value.kind == "varying" or bits not in (32, 64):
            b.line(f"store {vector(value.ty)} {self.to_vector(value)}, ptr {pointer}, align 1")
            return
        width = WARP if value.kind == "uniform" else self.width
        for number, ref in enumerate(self.as_type(value, f"i{bits}").refs):
            start = pointer
            if number:
                start = b.value(f"getelementptr i8, ptr {pointer}, i64 {number * width * bits // 8}")
            b.call(
                f"sim_spread_{bits}", "void", ("ptr", start), (f"i{bits}", ref),
                (f"i{bits}", str(value.stride)), ("i32", str(width)),
            )  # fmt: skip

    def assign(self, target: Operand, value: Value, predicate: Reg | None = None) -> None:
        """Write a register in its own shape, preserving the values that inactive lanes still need."""
        if not isinstance(target, Reg) or target.name == "_":
            return
        slot = self.slot(target.name)
        value = self.as_type(value, slot.ty)
        if slot.kind == "varying":
            result = Value(slot.ty, "varying", (self._masked(target.name, value, predicate),))
        else:
            refs = self._selected(target.name, value, predicate)
            if self.shape(target.name).common:
                refs = refs[:1] * len(refs)
            result = Value(slot.ty, slot.kind, refs, slot.stride)

        full = vector(slot.ty) if slot.kind == "varying" else slot.ty
        for pointer, ref in dict(zip(slot.refs, result.refs, strict=True)).items():
            self.b.line(f"store {full} {ref}, ptr {pointer}")
        self.cache[target.name] = result

    def _masked(self, name: str, value: Value, predicate: Reg | None) -> str:
        """Return the new contents of a varying register."""
        new, ty = self.to_vector(value), vector(value.ty)
        if name in self.analysis.preserved[self.block_number] and not self.all_active:
            mask = self.mask_vector(predicate)
        elif predicate is not None:
            mask = self.to_vector(self.predicate(predicate))
        else:
            return new
        old = self.to_vector(self.read(name))
        return self.b.value(f"select {vector('i1')} {mask}, {ty} {new}, {ty} {old}")

    def _selected(self, name: str, value: Value, predicate: Reg | None) -> tuple[str, ...]:
        """Return the new contents of a uniform or affine register."""
        slot = self.slot(name)
        assert value.kind != "varying", name
        assert (value.stride - slot.stride) % (1 << BITS[slot.ty]) == 0, name
        refs = value.refs
        if len(refs) < len(slot.refs):
            refs = refs * len(slot.refs)
        if predicate is None:
            return refs
        condition = self.predicate(predicate).ref
        before = self.read(name).refs
        return tuple(
            self.b.value(f"select i1 {condition}, {slot.ty} {new}, {slot.ty} {old}")
            for new, old in zip(refs, before, strict=True)
        )


def _float_bits(value: float, ty: str) -> int:
    if ty == "double":
        return int(struct.unpack("<Q", struct.pack("<d", value))[0])
    return int(struct.unpack("<I", struct.pack("<f", value))[0])
