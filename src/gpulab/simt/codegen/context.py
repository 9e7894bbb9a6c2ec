"""Registers, masks and faults of the kernel that is being lowered, as LLVM IR.

A PTX register is a stack slot for each of its parts; LLVM's SROA pass turns the slots into SSA values. What
is read or computed in a basic block is cached until the block ends.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.analysis.basic_blocks import Block
from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.analysis.lane_shapes import LaneShape
from gpulab.simt.analysis.reconvergence import target_sets
from gpulab.simt.codegen import special_registers
from gpulab.simt.codegen.ir import BITS, REGISTER_TYPES, Value, float_literal, suffix, vector
from gpulab.simt.codegen.kernel_context import PARAMETERS, KernelContext
from gpulab.simt.codegen.memory_access import MemoryAccess
from gpulab.simt.ptx.syntax import HoistedConstant, Imm, Instruction, Operand, Reg, Sym
from gpulab.simt.runtime import layout

__all__ = ["CodegenContext", "InstrumentationHooks"]


class InstrumentationHooks:
    """Points of the generated code at which an instrumentation can emit code; this base class emits none.

    Attributes
    ----------
    runtime : str
        LLVM IR that is appended to `runtime.ll`. It defines `@sim_on_block(ptr context)`, which is called
        at the start of a block, and `@sim_on_barrier(ptr context, i32 warps, i32 barrier)`, which is called
        when a barrier completes; `barrier` is -1 if every remaining warp arrived at the same
        `__syncthreads()`.
    """

    runtime = """
define internal void @sim_on_block(ptr %ctx) alwaysinline {
  ret void
}
define internal void @sim_on_barrier(ptr %ctx, i32 %warps, i32 %barrier) alwaysinline {
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

    def on_warp_sync(self, cg: CodegenContext, item: Instruction) -> None:
        """Emit code at a `.sync` instruction of a warp; its last operand is the lanes' mask."""

    def on_barrier(self, cg: CodegenContext, expected: str) -> None:
        """Emit code at a block barrier; `expected` is its thread count as an i32, 0 for all threads."""

    def on_arrive(self, cg: CodegenContext, barrier: str) -> None:
        """Emit code at a `bar.arrive` on the barrier with this number."""

    def on_async_copy(self, cg: CodegenContext, item: Instruction) -> None:
        """Emit code where asynchronous copies are committed to a group or waited for."""

    def on_fence(self, cg: CodegenContext, item: Instruction) -> None:
        """Emit code at a memory fence."""


@dataclass
class CodegenContext(KernelContext):
    """State while one kernel is lowered for one block shape."""

    instrumentation: InstrumentationHooks = field(default_factory=InstrumentationHooks)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.slots: dict[str, Value] = {}  # stack slots, by register
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
        # If no lane can have exited and none is suspended, all lanes of a full warp are active.
        self.can_be_full = self.threads % WARP == 0 and not any(map(self.can_lose_lanes, self.flow.blocks))

        # Set when the function is lowered.
        self.past: dict[int, frozenset[int]] = {}
        self.saved_at: dict[str, int] = {}
        self.saved_bytes = 0
        self.canonical_at: dict[str, int] = {}
        self.canonical_bytes = 0
        self.fuel_slot = self.patience_slot = ""

    def can_lose_lanes(self, block: Block) -> bool:
        """Whether lanes can leave in this block while others go on."""
        exits, others = self.analysis.exits, self.analysis.frontier[block.number]
        return any(
            (bool(exits & set(targets)) or not targets) and (len(targets) > 1 or bool(others))
            for targets in target_sets(block, self.analysis.divergent)
        )

    def invalidate_cache(self) -> None:
        """Where control can come from elsewhere, nothing that was read or computed before is known."""
        self.cache, self.vectors = {}, {}
        self._mask_bits = self._mask_vector = ""

    @contextmanager
    def side_block(self, label: str) -> Iterator[None]:
        """Open a block off the main path; what is computed there is not known behind it."""
        kept = dict(self.cache), dict(self.vectors), self._mask_bits, self._mask_vector
        self.b.open(label)
        yield
        self.cache, self.vectors, self._mask_bits, self._mask_vector = kept

    # -- faults ---------------------------------------------------------------------------------

    def fail(self, kind: str, action: str, lanes: str | None = None) -> None:
        self.fault(kind, self.add_site(action, "", 0), lanes or self.mask())

    def fault(self, kind: str, access: int, lanes: str, detail: str = "0") -> None:
        code = layout.FAULTS[kind]
        self.b.call(
            "sim_fault", "void", ("ptr", "%ctx"), ("i32", "%warp"), ("i64", str(code)), ("i64", str(access)),
            ("i32", lanes), ("i64", detail),
        )  # fmt: skip
        self.b.jump("fault")

    def loop_site(self, head: int) -> int:
        """Add the site that a fault names if the loop with this first block is stopped."""
        stuck = not self.independent and head in self.analysis.spin_loops and self.analysis.frontier[head]
        return self.add_site("deadlocks" if stuck else "runs", "loop", 0)

    # -- masks ----------------------------------------------------------------------------------

    @property
    def all_active(self) -> bool:
        """Whether it is known that every lane of the warp is active here."""
        return self.can_be_full and not self.analysis.frontier[self.block_number]

    def mask(self) -> str:
        """The active lanes as 32 bits."""
        if self.all_active:
            return "-1"
        if not self._mask_bits:
            self._mask_bits = self.b.value(f"load i32, ptr {self.mask_slot}")
        return self._mask_bits

    def mask_now(self) -> str:
        """Return the active lanes as 32 bits, loaded here and not taken from the cache."""
        return self.b.value(f"load i32, ptr {self.mask_slot}")

    def mask_vector(self, predicate: Reg | None = None) -> str:
        """The active lanes as a vector of i1, less those that a predicate switches off."""
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

    def combine_masks(self, how: str, mask: Value) -> str:
        """The lanes that the masks of all active lanes name, taken together with `and` or `or`."""
        if mask.kind == "uniform":
            return mask.ref
        b, integers, neutral = self.b, vector("i32"), "splat (i32 -1)" if how == "and" else "zeroinitializer"
        active, named = self.mask_vector(), self.to_vector(mask)
        kept = b.value(f"select {vector('i1')} {active}, {integers} {named}, {integers} {neutral}")
        return b.call(f"llvm.vector.reduce.{how}.{suffix(integers)}", "i32", (integers, kept))

    def mask_bits(self, predicate: Reg | None) -> str:
        if predicate is None:
            return self.mask()
        return self.pack_mask(self.mask_vector(predicate))

    def pack_mask(self, ref: str) -> str:
        return self.b.value(f"bitcast {vector('i1')} {ref} to i32")

    def unpack_mask(self, ref: str) -> str:
        return self.b.value(f"bitcast i32 {ref} to {vector('i1')}")

    def predicate(self, reg: Reg) -> Value:
        """A predicate's value, with its `!`."""
        value = self.read(reg.name)
        if not reg.negated:
            return value
        ty = vector("i1") if value.kind == "varying" else "i1"
        ones = "splat (i1 true)" if value.kind == "varying" else "true"
        return Value("i1", value.kind, (self.b.value(f"xor {ty} {value.ref}, {ones}"),))

    # -- registers ------------------------------------------------------------------------------

    def shape(self, name: str) -> LaneShape:
        return self.analysis.shapes.get(name, LaneShape("varying"))

    def register_type(self, name: str) -> str:
        return REGISTER_TYPES[self.flat.registers[name]]

    def slot(self, name: str) -> Value:
        found = self.slots.get(name)
        if found is None:
            ty, shape = self.register_type(name), self.shape(name)
            if shape.kind == "varying":
                refs: tuple[str, ...] = (self.b.alloca(vector(ty), "r"),)
            else:
                count = self.rows_per_warp if shape.kind == "affine" else 1
                refs = tuple(self.b.alloca(ty, "r", 8) for _ in range(count))
            found = self.slots[name] = Value(ty, shape.kind, refs, shape.stride)
        return found

    def read(self, name: str) -> Value:
        """A register, or a special register, in its own shape and storage type."""
        if name not in self.flat.registers:
            return self.cache.get(name) or special_registers.read(self, name)
        constant = self.shape(name).constant
        if constant is not None and self.register_type(name) in ("i16", "i32", "i64"):
            # The analysis has reckoned with it, so it must be a literal wherever it is read.
            ty = self.register_type(name)
            return Value(ty, "uniform", (self.literal(Imm(constant), ty),))
        found = self.cache.get(name)
        if found is not None:
            return found
        slot = self.slot(name)
        full = vector(slot.ty) if slot.kind == "varying" else slot.ty
        refs = tuple(self.b.value(f"load {full}, ptr {ref}") for ref in slot.refs)
        self.cache[name] = value = Value(slot.ty, slot.kind, refs, slot.stride)
        return value

    def operand(self, operand: Operand, ty: str) -> Value:
        """An operand as a value of LLVM type `ty` (a register's bits are reinterpreted if need be)."""
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
        """The address of a variable, in its own state space."""
        offset = self.parameter_offsets()[0].get(name)
        if offset is not None:  # the launch puts a copy of the parameters into an array of its own
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
        place = self.b.value(f"getelementptr i64, ptr {table}, i64 {number}")
        return Value("i64", "uniform", (self.b.value(f"load i64, ptr {place}"),))

    def as_type(self, value: Value, ty: str) -> Value:
        """The same bits under another type of the same width; integers may also be cut or extended."""
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
        """A conversion of each of a value's parts; rows stay rows where bits are only cut."""
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
        """A value as a vector of 32."""
        if value.kind == "varying":
            return value.ref
        found = self.vectors.get(value)
        if found is not None:
            return found
        b = self.b
        ty = vector(value.ty)
        if value.kind == "uniform":
            made = b.splat(value.ty, value.ref)
        else:
            if self.rows_per_warp == 1:
                made = b.splat(value.ty, value.ref)
            else:
                made = "poison"
                for number, ref in enumerate(value.refs):
                    made = b.value(f"insertelement {ty} {made}, {value.ty} {ref}, i64 {number}")
                made = b.pick(value.ty, made, WARP, [lane // self.width for lane in range(WARP)])
            if value.stride:
                width = BITS[value.ty]
                steps = []
                for lane in range(WARP):
                    step = lane % self.width * value.stride & ((1 << width) - 1)
                    steps.append(f"{value.ty} {step - (1 << width) if step >> (width - 1) else step}")
                made = b.value(f"add {ty} {made}, <{', '.join(steps)}>")
        self.vectors[value] = made
        return made

    def store_lanes(self, value: Value, place: str) -> None:
        """Store a value's lanes from `place` on, by a call: little code, for where it seldom runs."""
        b, bits = self.b, BITS[value.ty]
        if value.kind == "varying" or bits not in (32, 64):
            b.line(f"store {vector(value.ty)} {self.to_vector(value)}, ptr {place}, align 1")
            return
        width = WARP if value.kind == "uniform" else self.width
        for number, ref in enumerate(self.as_type(value, f"i{bits}").refs):
            start = place
            if number:
                start = b.value(f"getelementptr i8, ptr {place}, i64 {number * width * bits // 8}")
            b.call(
                f"sim_spread_{bits}", "void", ("ptr", start), (f"i{bits}", ref),
                (f"i{bits}", str(value.stride)), ("i32", str(width)),
            )  # fmt: skip

    def assign(self, target: Operand, value: Value, predicate: Reg | None = None) -> None:
        """Write a register in its own shape, keeping what inactive lanes still need."""
        if not isinstance(target, Reg) or target.name == "_":
            return
        b = self.b
        name = target.name
        slot = self.slot(name)
        value = self.as_type(value, slot.ty)
        if slot.kind == "varying":
            new = self.to_vector(value)
            kept = name in self.analysis.preserved[self.block_number] and not self.all_active
            if kept or predicate is not None:
                mask = self.mask_vector(predicate) if kept else self.to_vector(self.predicate(predicate))  # type: ignore[arg-type]
                old = self.to_vector(self.read(name))
                new = b.value(
                    f"select {vector('i1')} {mask}, {vector(slot.ty)} {new}, {vector(slot.ty)} {old}"
                )
            result = Value(slot.ty, "varying", (new,))
        else:
            assert value.kind != "varying", name
            assert (value.stride - slot.stride) % (1 << BITS[slot.ty]) == 0, name
            refs: tuple[str, ...] = value.refs
            if len(refs) < len(slot.refs):
                refs = refs * len(slot.refs)
            if predicate is not None:
                condition = self.predicate(predicate).ref
                before = self.read(name).refs
                refs = tuple(
                    b.value(f"select i1 {condition}, {slot.ty} {now}, {slot.ty} {was}")
                    for now, was in zip(refs, before, strict=True)
                )
            result = Value(slot.ty, slot.kind, refs, slot.stride)
        full = vector(slot.ty) if slot.kind == "varying" else slot.ty
        for place, ref in zip(slot.refs, result.refs, strict=True):
            b.line(f"store {full} {ref}, ptr {place}")
        self.cache[name] = result


def _float_bits(value: float, ty: str) -> int:
    if ty == "double":
        return int(struct.unpack("<Q", struct.pack("<d", value))[0])
    return int(struct.unpack("<I", struct.pack("<f", value))[0])
