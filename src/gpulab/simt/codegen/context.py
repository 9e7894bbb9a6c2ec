"""Values while a kernel is lowered: registers in their shapes, masks of active lanes, faults.

A register is a stack slot for each of its parts (LLVM's own pass turns slots into SSA values). What
is read or computed in a block is remembered until the block ends.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from typing import Any

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.analysis.control_flow import Block, Flow
from gpulab.simt.analysis.divergence import WARP, Analysis, Shape
from gpulab.simt.analysis.reconvergence import ways_out
from gpulab.simt.analysis.specialization import ConstantTable, LaunchConstants
from gpulab.simt.codegen import special_registers
from gpulab.simt.codegen.ir import BITS, Builder, Value, float_literal, suffix, vector
from gpulab.simt.instrument.base import Instrumentation
from gpulab.simt.ptx.forms import HANDLERS, handles
from gpulab.simt.ptx.inlining import FlatFunction
from gpulab.simt.ptx.syntax import Imm, Number, Operand, Reg, Sym, Vec
from gpulab.simt.runtime import layout

__all__ = ["HANDLERS", "PARAMETERS", "STORAGE", "Access", "CodegenContext", "handles", "parts_of"]

# The LLVM type that holds a PTX register of this type.
STORAGE = {
    "pred": "i1", "b8": "i8", "u8": "i8", "s8": "i8", "b16": "i16", "u16": "i16", "s16": "i16", "f16": "i16",
    "bf16": "i16", "b32": "i32", "u32": "i32", "s32": "i32", "f16x2": "i32", "bf16x2": "i32", "f32": "float",
    "b64": "i64", "u64": "i64", "s64": "i64", "f64": "double",
}  # fmt: skip

PARAMETERS = "the parameters"  # the symbol that stands for their array, where its address is taken


@dataclass(frozen=True)
class Access:
    """One place in the kernel that touches memory, or that can fail: its line and what it does.

    The counted tier adds its PTX instruction, the block of code and the index in it where that stands,
    which of the instruction's accesses it is, whether its executions are counted apart from the block's, and
    the bytes a lane that it is counted with.
    """

    line: int
    action: str  # "reads", "writes", "updates", or the instruction's name
    space: str
    size: int
    opcode: str = ""
    block: int = -1
    index: int = -1
    part: int = 0
    apart: bool = False
    width: int = 0


@dataclass
class CodegenContext:
    """State while one kernel is lowered for one block shape."""

    flat: FlatFunction
    flow: Flow
    analysis: Analysis
    launched: LaunchConstants
    local: dict[str, int]
    local_bytes: int  # of a thread's local memory, rounded up
    local_end: int  # where its last variable ends
    symbols: dict[str, int]  # number of each module variable
    plain: bool = False  # everything in lanes: exact where rows are not, and only then
    independent: bool = True  # lanes that wait for others of their warp give way, as since Volta
    accesses: list[Access] = field(default_factory=list)
    observer: Instrumentation = field(default_factory=Instrumentation)
    facts: dict[str, Any] = field(default_factory=dict)  # what the observer wants the launch to know
    table: ConstantTable | None = None  # of the numbers that code finds there, where it is made for many
    b: Builder = field(default_factory=Builder)

    def __post_init__(self) -> None:
        self.slots: dict[str, Value] = {}  # register -> its stack slots
        self.cache: dict[str, Value] = {}  # register -> value, inside one block
        self.vectors: dict[Value, str] = {}  # scalar value -> its vector, inside one block
        self.products: set[str] = set()  # names of what a multiplication gave
        self.here = 0  # the block that is being lowered …
        self.index = 0  # … and the instruction in it
        self.line = 0
        self.mask_bits = ""
        self.mask_vector = ""
        self.threads = threads = prod(self.launched.block)
        self.warps = self.launched.number("warp_count")
        self.width = self.analysis.width or WARP
        self.rows = WARP // self.width
        self.specials: dict[str, Value] = {}
        self.waiting: dict[int, str] = {}  # of each block where lanes can wait: the slot of their mask
        self.lane_vector = "<" + ", ".join(f"i32 {i}" for i in range(WARP)) + ">"
        self.mask_slot = self.b.alloca("i32", "mask", 4)
        self.scratch = self.b.alloca("[64 x i64]", "scratch")
        self.hosts = self.b.alloca("[32 x i64]", "hosts")
        self.slots_base = self.local_lanes = ""  # set where the function begins
        # Where nobody can have left and nobody waits, every lane of a full warp is active.
        self.full_when_alone = threads % WARP == 0 and not any(map(self.parts_ways, self.flow.blocks))

    def parts_ways(self, block: Block) -> bool:
        """Whether lanes can leave in this block while others go on."""
        exits, others = self.analysis.exits, self.analysis.frontier[block.number]
        return any(
            (bool(exits & set(targets)) or not targets) and (len(targets) > 1 or bool(others))
            for targets in ways_out(block, self.analysis.divergent)
        )

    def context(self, name: str, ty: str = "i64") -> str:
        address = self.b.value(f"getelementptr i8, ptr %ctx, i64 {layout.field(name)}")
        return self.b.value(f"load {ty}, ptr {address}")

    def set_context(self, name: str, value: str) -> None:
        """Write a 64-bit field of the worker's context."""
        place = self.b.value(f"getelementptr i8, ptr %ctx, i64 {layout.field(name)}")
        self.b.line(f"store i64 {value}, ptr {place}")

    def known(self, ty: str, *entry: str | int) -> str:
        """A number that `LaunchConstants` knows: a literal, or what the table has for it."""
        if self.table is None:
            return str(self.launched.number(*entry))
        return self.b.value(f"load {ty}, ptr {self.table.place(*entry)}")

    def forget(self) -> None:
        """Where control can come from elsewhere, nothing that was read or computed before is known."""
        self.cache, self.vectors = {}, {}
        self.mask_bits = self.mask_vector = ""

    @contextmanager
    def aside(self, label: str) -> Iterator[None]:
        """Open a block off the main path; what is computed there is not known behind it."""
        kept = dict(self.cache), dict(self.vectors), self.mask_bits, self.mask_vector
        self.b.open(label)
        yield
        self.cache, self.vectors, self.mask_bits, self.mask_vector = kept

    # -- faults ---------------------------------------------------------------------------------

    def access(self, action: str, space: str, size: int) -> int:
        """Number a place that can fail."""
        self.accesses.append(Access(self.line, action, space, size))
        return len(self.accesses) - 1

    def fail(self, kind: str, action: str, lanes: str | None = None) -> None:
        self.fault(kind, self.access(action, "", 0), lanes or self.mask())

    def fault(self, kind: str, access: int, lanes: str, detail: str = "0") -> None:
        code = layout.FAULTS[kind]
        self.b.call(
            "sim_fault", "void", ("ptr", "%ctx"), ("i32", "%warp"), ("i64", str(code)), ("i64", str(access)),
            ("i32", lanes), ("i64", detail),
        )  # fmt: skip
        self.b.jump("fault")

    # -- masks ----------------------------------------------------------------------------------

    @property
    def full(self) -> bool:
        """Whether it is known that every lane of the warp is active here."""
        return self.full_when_alone and not self.analysis.frontier[self.here]

    def mask(self) -> str:
        """The active lanes as 32 bits."""
        if self.full:
            return "-1"
        if not self.mask_bits:
            self.mask_bits = self.b.value(f"load i32, ptr {self.mask_slot}")
        return self.mask_bits

    def mask_lanes(self, predicate: Reg | None = None) -> str:
        """The active lanes as a vector of i1, less those that a predicate switches off."""
        b = self.b
        if self.full:
            base = "splat (i1 true)"
        else:
            if not self.mask_vector:
                self.mask_vector = self.vector_of_bits(self.mask())
            base = self.mask_vector
        if predicate is None:
            return base
        return b.value(f"and {vector('i1')} {base}, {self.lanes(self.predicate(predicate))}")

    def lanes_named(self, how: str, mask: Value) -> str:
        """The lanes that the masks of all active lanes name, taken together with `and` or `or`."""
        if mask.kind == "uniform":
            return mask.ref
        b, integers, neutral = self.b, vector("i32"), "splat (i32 -1)" if how == "and" else "zeroinitializer"
        active, named = self.mask_lanes(), self.lanes(mask)
        kept = b.value(f"select {vector('i1')} {active}, {integers} {named}, {integers} {neutral}")
        return b.call(f"llvm.vector.reduce.{how}.{suffix(integers)}", "i32", (integers, kept))

    def mask_bits_of(self, predicate: Reg | None) -> str:
        if predicate is None:
            return self.mask()
        return self.bits_of(self.mask_lanes(predicate))

    def bits_of(self, ref: str) -> str:
        return self.b.value(f"bitcast {vector('i1')} {ref} to i32")

    def vector_of_bits(self, ref: str) -> str:
        return self.b.value(f"bitcast i32 {ref} to {vector('i1')}")

    def predicate(self, reg: Reg) -> Value:
        """A predicate's value, with its `!`."""
        value = self.read(reg.name)
        if not reg.negated:
            return value
        ty = vector("i1") if value.kind == "lanes" else "i1"
        ones = "splat (i1 true)" if value.kind == "lanes" else "true"
        return Value("i1", value.kind, (self.b.value(f"xor {ty} {value.ref}, {ones}"),))

    # -- registers ------------------------------------------------------------------------------

    def shape(self, name: str) -> Shape:
        return self.analysis.shapes.get(name, Shape("lanes"))

    def register_type(self, name: str) -> str:
        return STORAGE[self.flat.registers[name]]

    def slot(self, name: str) -> Value:
        found = self.slots.get(name)
        if found is None:
            ty, shape = self.register_type(name), self.shape(name)
            if shape.kind == "lanes":
                refs: tuple[str, ...] = (self.b.alloca(vector(ty), "r"),)
            else:
                count = self.rows if shape.kind == "rows" else 1
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
        full = vector(slot.ty) if slot.kind == "lanes" else slot.ty
        refs = tuple(self.b.value(f"load {full}, ptr {ref}") for ref in slot.refs)
        self.cache[name] = value = Value(slot.ty, slot.kind, refs, slot.stride)
        return value

    def operand(self, operand: Operand, ty: str) -> Value:
        """An operand as a value of LLVM type `ty` (a register's bits are reinterpreted if need be)."""
        if isinstance(operand, Imm):
            return Value(ty, "uniform", (self.literal(operand, ty),))
        if isinstance(operand, Number):
            name = "power" if operand.power else "text"
            return Value(ty, "uniform", (self.known(ty, name, operand.place),))
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

    def parameter_offsets(self) -> tuple[dict[str, int], int]:
        """Where each kernel parameter lies in their buffer, each at its own alignment, and its end."""
        found, at = {}, 0
        for param in self.flat.entry.params:
            at = -(-at // param.align) * param.align
            found[param.name] = at
            at += param.size
        return found, at

    def address_of(self, name: str) -> Value:
        """The address of a variable, in its own state space."""
        offset = self.parameter_offsets()[0].get(name)
        if offset is not None:  # the launch puts a copy of the parameters into an array of its own
            self.symbols.setdefault(PARAMETERS, len(self.symbols))
            base = self.address_of(PARAMETERS)
            return Value("i64", "uniform", (self.b.value(f"add i64 {base.ref}, {offset}"),))
        if name in self.launched.shared:
            return Value("i64", "uniform", (self.known("i64", "shared", name),))
        if name in self.local:
            return Value("i64", "uniform", (str(self.local[name]),))
        number = self.symbols.get(name)
        if number is None:
            raise UnsupportedInstruction(name, self.line, "the address of a function or an unknown variable")
        table = self.context("symbols", "ptr")
        place = self.b.value(f"getelementptr i64, ptr {table}, i64 {number}")
        return Value("i64", "uniform", (self.b.value(f"load i64, ptr {place}"),))

    def as_type(self, value: Value, ty: str) -> Value:
        """The same bits under another type of the same width; integers may also be cut or extended."""
        if value.ty == ty:
            return value
        have, want = BITS[value.ty], BITS[ty]
        if have == want:
            return self.each(value, ty, lambda t, r, o: f"bitcast {t} {r} to {o}")
        if value.ty in ("float", "double"):
            value = self.as_type(value, f"i{have}")
        middle = f"i{want}"
        action = "trunc" if have > want else "zext"
        value = self.each(value, middle, lambda t, r, o: f"{action} {t} {r} to {o}")
        return self.as_type(value, ty)

    def each(self, value: Value, ty: str, text: Callable[[str, str, str], str]) -> Value:
        """A conversion of each of a value's parts; rows stay rows where bits are only cut."""
        if value.kind == "lanes":
            ref = self.b.value(text(vector(value.ty), value.ref, vector(ty)))
            return Value(ty, "lanes", (ref,))
        refs = tuple(
            r
            if text(value.ty, r, ty).startswith("bitcast") and value.ty == ty
            else self.b.value(text(value.ty, r, ty))
            for r in value.refs
        )
        return Value(ty, value.kind, refs, value.stride)

    def lanes(self, value: Value) -> str:
        """A value as a vector of 32."""
        if value.kind == "lanes":
            return value.ref
        found = self.vectors.get(value)
        if found is not None:
            return found
        b = self.b
        ty = vector(value.ty)
        if value.kind == "uniform":
            made = b.splat(value.ty, value.ref)
        else:
            if self.rows == 1:
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

    def spread(self, value: Value, place: str) -> None:
        """Store a value's lanes from `place` on, by a call: little code, for where it seldom runs."""
        b, bits = self.b, BITS[value.ty]
        if value.kind == "lanes" or bits not in (32, 64):
            b.line(f"store {vector(value.ty)} {self.lanes(value)}, ptr {place}, align 1")
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
        if slot.kind == "lanes":
            new = self.lanes(value)
            kept = name in self.analysis.keep[self.here] and not self.full
            if kept or predicate is not None:
                mask = self.mask_lanes(predicate) if kept else self.lanes(self.predicate(predicate))  # type: ignore[arg-type]
                old = self.lanes(self.read(name))
                new = b.value(
                    f"select {vector('i1')} {mask}, {vector(slot.ty)} {new}, {vector(slot.ty)} {old}"
                )
            result = Value(slot.ty, "lanes", (new,))
        else:
            assert value.kind != "lanes", name
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
        full = vector(slot.ty) if slot.kind == "lanes" else slot.ty
        for place, ref in zip(slot.refs, result.refs, strict=True):
            b.line(f"store {full} {ref}, ptr {place}")
        self.cache[name] = result


def _float_bits(value: float, ty: str) -> int:
    if ty == "double":
        return int(struct.unpack("<Q", struct.pack("<d", value))[0])
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def parts_of(operand: Operand) -> tuple[Operand, ...]:
    return operand.parts if isinstance(operand, Vec) else (operand,)
