"""Bounds checks of several loads at once.

An unrolled loop loads at constant distances from a few registers: `[%r1]`, `[%r2]`, `[%r1+4]`, `[%r2+64]`, ….
At the first of these loads one check covers them all, so that they become straight-line code. If it fails,
the runtime examines every lane of every load in the order of the program (`sim_fetch` in runtime.ll) and
copies the elements to a buffer, from which the loads then read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import reduce

from gpulab.simt.analysis.basic_blocks import registers_of, writes
from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.addressing import AddressCheck, address, state_space, vector_width
from gpulab.simt.codegen.context import FETCHED_BYTES, CodegenContext
from gpulab.simt.codegen.ir import Builder, Value
from gpulab.simt.ptx.syntax import Instruction, Mem, Reg, Sym, type_size
from gpulab.simt.runtime import layout

__all__ = [
    "ARITHMETIC",
    "JointLoad",
    "JointLoads",
    "LoadSpan",
    "SpanCheck",
    "all_of",
    "joint_load",
    "loads_parameter",
    "may_join",
]

MAX_SPANS = 16
BUFFER_BYTES = FETCHED_BYTES - MAX_SPANS * 8 * WARP  # for the elements that are copied
SPAN_BYTES = 1 << 13  # distance of two loads in one span, at most

# Instructions between two loads that cannot fault, access no memory and do not wait for other threads.
ARITHMETIC = {
    "mov", "add", "sub", "mul", "mul24", "mad", "mad24", "fma", "neg", "abs", "min", "max", "sad", "dp2a",
    "dp4a", "div", "rem", "sqrt", "rsqrt", "rcp", "sin", "cos", "ex2", "lg2", "tanh", "copysign", "testp",
    "and", "or", "xor", "not", "cnot", "lop3", "shl", "shr", "shf", "prmt", "bfe", "bfi", "bfind", "brev",
    "clz", "popc", "set", "setp", "selp", "slct", "cvt", "cvta",
}  # fmt: skip
ORDERED = {"volatile", "relaxed", "acquire", "mmio"}


@dataclass(frozen=True)
class SpanCheck:
    """The check of a span.

    Attributes
    ----------
    check : AddressCheck
    inside : str
        An i1 that is true if all rows are in bounds.
    """

    check: AddressCheck
    inside: str

    def pointers(self) -> list[str]:
        """Emit the host pointer of each row."""
        return self.check.row_pointers()


@dataclass(eq=False)
class LoadSpan:
    """Loads of one size at constant distances from one register.

    Attributes
    ----------
    memory : Mem
        The address, without an offset.
    base : Value
        The register as an address.
    space : str
    size : int
        Bytes of each lane's load.
    low, high : int
        The smallest and the largest offset.
    site : int
        The access site of the first load, whose cache of the allocation the check uses.
    pointers : list of str
        Host pointers of the elements at offset `low`, one for each row.
    """

    memory: Mem
    base: Value
    space: str
    size: int
    low: int
    high: int
    site: int
    pointers: list[str] = field(default_factory=list)

    def check(self, cg: CodegenContext, base: Value) -> SpanCheck:
        """Emit the check that all loads are in bounds if `base` is the value of the register."""
        check = AddressCheck(cg, _moved(cg, base, self.low), self.space, self.size, self.site, None)
        check.span += self.high - self.low
        return SpanCheck(check, check.are_rows_inside())

    def row_bytes(self, width: int) -> int:
        """Return the bytes from the first element of a row to the end of its last one, over all loads."""
        return self.size + self.base.stride * (width - 1) + self.high - self.low


@dataclass(frozen=True)
class JointLoad:
    """A load whose addresses are checked together with those of others.

    Attributes
    ----------
    site : int
        Its access site.
    offset : int
        Bytes from its register.
    """

    site: int
    offset: int
    span: LoadSpan
    batch: JointLoads

    def pointers(self, cg: CodegenContext) -> list[str]:
        """Return the host pointers of the element of each row's first lane.

        For the first load of a batch, emit the check of all of them.
        """
        if not self.span.pointers:
            self.batch.check(cg)
        distance = self.offset - self.span.low
        if not distance:
            return self.span.pointers
        return [cg.b.value(f"getelementptr i8, ptr {p}, i64 {distance}") for p in self.span.pointers]


class JointLoads:
    """The loads that one check covers, in the order of the program."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.loads: list[JointLoad] = []
        self.spans: list[LoadSpan] = []

    def check(self, cg: CodegenContext) -> None:
        """Emit the check, and the host pointers of all spans."""
        b = cg.b
        checks = [span.check(cg, span.base) for span in self.spans]
        good = all_of(b, [check.inside for check in checks])
        near, far, join = b.new_label("near"), b.new_label("far"), b.new_label("join")
        b.branch(good, near, far, likely=True)

        with cg.side_block(near):
            found = [check.pointers() for check in checks]
            b.jump(join)
        with cg.side_block(far):
            copied = self.fetch(cg)
            end = b.label
            b.jump(join)
        b.open(join)
        for span, ours, others in zip(self.spans, found, copied, strict=True):
            pairs = list(zip(ours, others, strict=True))
            merged = {pair: b.phi("ptr", (pair[0], near), (pair[1], end)) for pair in dict.fromkeys(pairs)}
            span.pointers = [merged[pair] for pair in pairs]

    def fetch(self, cg: CodegenContext) -> list[list[str]]:
        """Emit the copy of all elements; return the pointers of each span to the copies."""
        b = cg.b
        pointers, starts = [], {}
        at = MAX_SPANS * 8 * WARP
        for number, span in enumerate(self.spans):
            place = b.value(f"getelementptr i8, ptr {cg.fetched}, i64 {number * 8 * WARP}")
            cg.store_lanes(span.base, place)
            starts[id(span)] = number, at
            row = _row_step(cg, span)
            rows = [at + row * n for n in range(len(span.base.refs))]
            pointers.append([b.value(f"getelementptr i8, ptr {cg.fetched}, i64 {start}") for start in rows])
            at += _rounded(span.row_bytes(_width(cg, span.base))) * len(rows)

        words: list[int] = []
        for load in self.loads:
            span = load.span
            number, start = starts[id(span)]
            width = _width(cg, span.base)
            alone = span.size + span.base.stride * (width - 1)
            words += (
                number * 8 * WARP, load.offset, load.site, load.site * layout.SITE_CACHE_BYTES, span.size,
                span.row_bytes(width) if load.site == span.site else alone, int(span.space == "shared"),
                start + load.offset - span.low, _row_step(cg, span), span.base.stride, width,
            )  # fmt: skip
        table = ", ".join(f"i64 {word}" for word in words)
        b.functions[self.name] = f"@{self.name} = internal constant [{len(words)} x i64] [{table}]"
        good = b.call(
            "sim_fetch", "i1", ("ptr", "%ctx"), ("i32", "%warp"), ("i32", cg.mask()),
            ("ptr", f"@{self.name}"), ("i64", str(len(self.loads))), ("ptr", cg.fetched),
            ("ptr", cg.host_addresses),
        )  # fmt: skip
        cg.end_unless(good)
        return pointers


def all_of(b: Builder, conditions: Iterable[str]) -> str:
    """Return the conjunction of conditions."""
    return reduce(lambda first, second: b.value(f"and i1 {first}, {second}"), conditions)


def joint_load(cg: CodegenContext, item: Instruction) -> JointLoad | None:
    """Return the joint load that the current instruction is; None if its addresses are checked alone."""
    place = cg.block_number, cg.instruction_index
    if place not in cg.joint_loads:
        cg.joint_loads[place] = None
        if not cg.fallback and item.predicate is None:
            _find(cg)
    joint: JointLoad | None = cg.joint_loads[place]
    return joint


def _find(cg: CodegenContext) -> None:
    """Find the loads that can be checked at the current instruction, and number their sites."""
    block, first = cg.block_number, cg.instruction_index
    batch = JointLoads(f"joint_loads_{block}_{first}")
    bases: dict[tuple[str, str], Value] = {}
    spans: dict[tuple[str, str, int, int], LoadSpan] = {}
    found: list[tuple[int, LoadSpan, int]] = []
    changed: set[str] = set()
    code = cg.flow.blocks[block].code
    for index in range(first, len(code)):
        item = code[index]
        if may_join(item) and not changed.intersection(registers_of(item.operands[1:])):
            space, memory, size = _parts(item)
            assert isinstance(memory.base, Reg)
            if (name := (memory.base.name, space)) not in bases:
                bases[name] = address(cg, replace(memory, offset=0), space)
            span = _add(spans, batch, bases[name], memory, space, size)
            if span is None:
                break
            assert isinstance(memory.offset, int)
            found.append((index, span, memory.offset))
        elif item.op not in ARITHMETIC and not loads_parameter(item):
            break
        changed.update(writes(item))

    if len(found) < 2:
        return
    line = cg.line
    for index, span, offset in found:
        cg.line = code[index].line
        site = cg.add_site("reads", span.space, span.size)
        if span.site < 0:
            span.site = site
        load = JointLoad(site, offset, span, batch)
        batch.loads.append(load)
        cg.joint_loads[block, index] = load
    cg.line = line


def _add(
    spans: dict[tuple[str, str, int, int], LoadSpan],
    batch: JointLoads,
    base: Value,
    memory: Mem,
    space: str,
    size: int,
) -> LoadSpan | None:
    """Add a load to a span, or to a new one; return None if the batch cannot take it."""
    if base.kind == "varying" or (base.kind == "affine" and base.stride not in (0, size)):
        return None

    assert isinstance(memory.base, Reg)
    assert isinstance(memory.offset, int)
    offset = memory.offset
    key = memory.base.name, space, size, offset % size
    span = spans.get(key)

    others = batch.spans
    if span is None or max(span.high, offset) - min(span.low, offset) > SPAN_BYTES:
        span = LoadSpan(replace(memory, offset=0), base, space, size, offset, offset, -1)
    else:
        others = [s for s in others if s is not span]

    before = span.low, span.high
    span.low, span.high = min(span.low, offset), max(span.high, offset)
    needed = sum(_rounded(s.row_bytes(WARP)) * len(s.base.refs) for s in (*others, span))
    if needed > BUFFER_BYTES or len(others) == MAX_SPANS:
        span.low, span.high = before
        return None

    if others is batch.spans:
        spans[key] = span
        batch.spans.append(span)
    return span


def may_join(item: Instruction) -> bool:
    """Return True for a load from a constant distance of a register."""
    if item.op != "ld" or item.predicate is not None or ORDERED.intersection(item.parts):
        return False
    if state_space(item) not in ("global", "shared"):
        return False
    memory = item.operands[1] if len(item.operands) > 1 else None
    return (
        isinstance(memory, Mem)
        and not memory.rest
        and isinstance(memory.base, Reg)
        and isinstance(memory.offset, int)
    )


def loads_parameter(item: Instruction) -> bool:
    """Return True for a load of a parameter by its name, which accesses no array."""
    memory = item.operands[1] if len(item.operands) > 1 else None
    return (
        item.op == "ld"
        and state_space(item) == "param"
        and isinstance(memory, Mem)
        and isinstance(memory.base, Sym)
    )


def _parts(item: Instruction) -> tuple[str, Mem, int]:
    """Return the state space, the address and the size of a load."""
    memory = item.operands[1]
    assert isinstance(memory, Mem)
    return state_space(item), memory, type_size(item.parts[-1]) * vector_width(item)


def _moved(cg: CodegenContext, base: Value, offset: int) -> Value:
    if not offset:
        return base
    refs = tuple(cg.b.value(f"add i64 {ref}, {offset}") for ref in base.refs)
    return Value("i64", base.kind, refs, base.stride)


def _width(cg: CodegenContext, base: Value) -> int:
    return cg.width if base.kind == "affine" else WARP


def _row_step(cg: CodegenContext, span: LoadSpan) -> int:
    """Return the bytes from the copy of one row to that of the next; 0 for rows that are the same."""
    same = len(set(span.base.refs)) == 1
    return 0 if same else _rounded(span.row_bytes(_width(cg, span.base)))


def _rounded(size: int) -> int:
    return -(-size // 64) * 64
