"""What is known of a register across the lanes of a warp, before anything runs.

    UNIFORM   one value for all lanes                        kept as one scalar
    ROWS      base + stride * (lane % width), stride known   kept as one scalar for each row
    VARYING     anything                                       kept as a vector of 32

A *row* is `width` neighbouring lanes whose thread indices follow one another: 32 for blocks whose
x size is a multiple of 32, 16 for 16-wide blocks, and so on. With it `threadIdx.x`, addresses made
of it and even `threadIdx.y * pitch` stay scalar, and a coalesced access is known when the code is
made. A value is UNIFORM or ROWS for the lanes that are active; where lanes that wait elsewhere
still need another value (see `flow`), it is VARYING.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from gpulab.simt.analysis import control_flow
from gpulab.simt.analysis.reconvergence import exit_blocks, find_spin_loops, frontiers
from gpulab.simt.ptx.inlining import FlatFunction
from gpulab.simt.ptx.syntax import HoistedConstant, Imm, Instruction, Mem, Operand, Reg, Sym, Vec

__all__ = [
    "UNIFORM",
    "VARYING",
    "WARP",
    "DivergenceAnalysis",
    "LaneShape",
    "analyse",
    "divergent_uses",
    "row_width",
]

WARP = 32


@dataclass(frozen=True)
class LaneShape:
    """kind: `uniform`, `rows` or `lanes`.

    stride: step from lane to lane of a row. constant: the value, where it is known when the code is
    made. zeros: how many low bits are known to be 0 in every row's base (and in a uniform value).
    """

    kind: str
    stride: int = 0
    constant: int | None = None
    zeros: int = 0


UNIFORM = LaneShape("uniform")
VARYING = LaneShape("varying")


def affine(stride: int, zeros: int = 0) -> LaneShape:
    return LaneShape("affine", stride, None, zeros)


def row_width(block: tuple[int, int, int]) -> int:
    """Lanes in a row, or 0 where rows are too short to be worth it (below 8)."""
    x, y, z = block
    if x == 1 and y == 1:
        lead = z
    elif x == 1:
        lead = y
    else:
        lead = x
    if lead == x * y * z:  # one row of threads: the last warp may be partial, its lanes still follow
        return WARP
    width = gcd(lead, WARP)
    return width if width >= 8 else 0


def lead_axis(block: tuple[int, int, int]) -> str:
    """The axis along which neighbouring lanes step."""
    return "x" if block[0] > 1 or block == (1, 1, 1) else "y" if block[1] > 1 else "z"


@dataclass
class DivergenceAnalysis:
    """What is known of a kernel for one block shape.

    divergent: blocks whose branch can part lanes. frontier: by block, where lanes may wait meanwhile.
    keep: by block, registers whose other lanes must survive an assignment. width: lanes in a row, 0 for
    none. exits: blocks where a thread only ends. spins: heads of loops that may wait for another thread.
    """

    shapes: dict[str, LaneShape]
    divergent: set[int]
    frontier: list[frozenset[int]]
    preserved: list[frozenset[str]]
    width: int
    exits: frozenset[int]
    spin_loops: frozenset[int]


def analyse(
    flat: FlatFunction,
    blocks: control_flow.ControlFlow,
    block_dim: tuple[int, int, int],
    all_varying: bool = False,
) -> DivergenceAnalysis:
    """Shapes, divergence and frontiers, found together as each depends on the others.

    all_varying: keep everything in lanes, for comparison and for the rare launch that needs it.
    """
    width = 0 if all_varying else row_width(block_dim)
    solver = _Solver(flat, blocks, block_dim, width, all_varying)
    return solver.solve()


def divergent_uses(
    flat: FlatFunction,
    whole: control_flow.ControlFlow,
    other: control_flow.ControlFlow,
    analysis: DivergenceAnalysis,
    block_dim: tuple[int, int, int],
) -> list[Instruction]:
    """The instructions that keep rows, or one value for all lanes, while what stands for them does not.

    analysis: of `other`, which is `whole` with other instructions at the same places.
    """
    solver = _Solver(flat, other, block_dim, analysis.width, False)
    solver.shapes = analysis.shapes
    pairs = (
        (item, stand_in)
        for block, others in zip(whole.blocks, other.blocks, strict=True)
        for item, stand_in in zip(block.code, others.code, strict=True)
        if item is not stand_in and control_flow.has_result(item)
    )
    return [
        item
        for item, stand_in in pairs
        if (kept := solver.result(item)) and kept.kind != (solver.result(stand_in) or VARYING).kind
    ]


class _Solver:
    def __init__(
        self,
        flat: FlatFunction,
        blocks: control_flow.ControlFlow,
        block_dim: tuple[int, int, int],
        width: int,
        all_varying: bool,
    ) -> None:
        self.flat, self.flow, self.block_dim, self.width, self.all_varying = (
            flat,
            blocks,
            block_dim,
            width,
            all_varying,
        )
        self.lead = lead_axis(block_dim)
        self.spin_loops = find_spin_loops(blocks.blocks)
        self.has_local = any(variable.space == "local" for variable in flat.variables.values())
        self.shapes: dict[str, LaneShape] = {}
        self.forced: set[str] = set(flat.registers) if all_varying else set()

    def solve(self) -> DivergenceAnalysis:
        while True:
            self.propagate()
            divergent = {
                b.number
                for b in self.flow.blocks
                if b.condition is not None and self.shapes.get(b.condition.name, UNIFORM).kind == "varying"
            }
            frontier = frontiers(self.flow.blocks, divergent, self.spin_loops)
            keep = [frozenset().union(*(self.flow.live_in[n] for n in waiting)) for waiting in frontier]
            demoted = {
                name
                for block in self.flow.blocks
                for item in block.code + ([block.barrier] if block.barrier else [])
                for name in control_flow.writes(item)
                if name in keep[block.number] and name in self.flat.registers
            }
            if demoted <= self.forced:
                exits = exit_blocks(self.flow.blocks)
                return DivergenceAnalysis(
                    self.shapes, divergent, frontier, keep, self.width, exits, self.spin_loops
                )
            self.forced |= demoted

    def propagate(self) -> None:
        self.shapes = dict.fromkeys(self.forced, VARYING)
        self.settle()
        # What is read but never gets a value, or gets it from such a register only, is 0 from the start.
        while unset := self.flow.live_in[0] - self.shapes.keys():
            self.shapes |= dict.fromkeys(unset, UNIFORM)
            self.settle()

    def settle(self) -> None:
        """Follow the instructions round until no shape changes any more."""
        shapes = self.shapes
        changed = True
        while changed:
            changed = False
            for block in self.flow.blocks:
                for item in block.code + ([block.barrier] if block.barrier else []):
                    names = [n for n in control_flow.writes(item) if n in self.flat.registers]
                    if not names:
                        continue
                    result = self.result(item)
                    if result is None:
                        continue
                    if item.predicate is not None:
                        result = self.predicated(item, names[0], result)
                    for name in names:
                        old = shapes.get(name)
                        new = result if old is None else _join(old, result)
                        if new != old:
                            shapes[name] = new
                            changed = True

    def predicated(self, item: Instruction, name: str, result: LaneShape) -> LaneShape:
        assert item.predicate is not None
        if self.shape(item.predicate).kind == "varying":
            return VARYING
        return _join(self.shapes.get(name, result), LaneShape(result.kind, result.stride))

    def shape(self, operand: Operand) -> LaneShape:
        return self.of(operand) or UNIFORM

    def of(self, operand: Operand) -> LaneShape | None:
        """The operand's shape; None while nothing is known of it yet."""
        if isinstance(operand, Imm):
            if isinstance(operand.value, int):
                return LaneShape("uniform", 0, operand.value, _zeros(operand.value))
            return UNIFORM
        if isinstance(operand, Reg):
            if operand.name in self.flat.registers:
                return self.shapes.get(operand.name)
            return self.special(operand.name)
        if isinstance(operand, Sym) and operand.name == "WARP_SZ":
            return LaneShape("uniform", 0, WARP, 5)
        if isinstance(operand, HoistedConstant):
            return UNIFORM
        if isinstance(operand, Sym):
            return LaneShape("uniform", 0, None, 2)
        if isinstance(operand, Mem):
            return self.of(operand.base)
        assert isinstance(operand, Vec)
        parts = [self.of(p) for p in operand.parts]
        return (
            None if None in parts else (UNIFORM if all(p and p.kind == "uniform" for p in parts) else VARYING)
        )

    def special(self, name: str) -> LaneShape:
        if self.all_varying:
            return VARYING
        stem, _, axis = name[1:].partition(".")
        if stem == "tid":
            size = self.block_dim["xyz".index(axis)]
            if size == 1:
                return LaneShape("uniform", 0, 0, 31)
            if not self.width:
                return VARYING
            if axis == self.lead:
                return affine(1, _zeros(self.width))
            if self.width == WARP:
                return UNIFORM
            return affine(0)
        if stem == "laneid" or stem.startswith("lanemask"):
            return affine(1, _zeros(self.width)) if stem == "laneid" and self.width else VARYING
        return UNIFORM

    def result(self, item: Instruction) -> LaneShape | None:
        """The shape an instruction gives its result; None while its operands are unknown."""
        op, parts = item.op, item.parts
        operands = item.operands[1:]
        if self.all_varying:
            return VARYING
        if item.call is not None:
            return VARYING
        known = [self.of(o) for o in operands]
        if any(k is None for k in known):
            return None
        given = [k for k in known if k is not None]
        if op == "ld":
            # A load whose address all lanes share is one load, but local memory is each thread's own.
            stems = {part.split("::")[0] for part in parts}
            own = "local" in stems or (self.has_local and not stems & {"global", "shared", "const", "param"})
            return UNIFORM if self.shape(operands[0]).kind == "uniform" and not own else VARYING
        if op in ("atom", "shfl", "match", "activemask", "elect", "ldmatrix", "movmatrix", "mbarrier"):
            return VARYING
        if op in ("bar", "barrier"):  # bar.red: one answer for the block
            return UNIFORM
        if op in ("vote", "redux"):  # one answer for all lanes of one mask
            return UNIFORM if given[-1].kind == "uniform" else VARYING
        if op in ("mov", "cvta"):
            if isinstance(item.operands[0], Vec):  # a part of a row is no row, and of a constant another one
                return UNIFORM if given[0].kind == "uniform" else VARYING
            return given[0]
        if op == "selp" and given[2].kind == "uniform" and given[0].kind == given[1].kind == "affine":
            return _join(given[0], given[1])
        integer = parts[-1][0] in "sub" and parts[-1][1:].isdigit()
        if integer and given:
            exact = self.integer(op, parts, given)
            if exact is not None:
                return exact
        if all(g.kind == "uniform" for g in given):
            return UNIFORM
        return VARYING

    def integer(self, op: str, parts: tuple[str, ...], given: list[LaneShape]) -> LaneShape | None:
        if "hi" in parts or "cc" in parts or "sat" in parts:
            return None
        if op == "add":
            return _add(given[0], given[1])
        if op == "sub":
            negated = _scale(given[1], -1)
            return negated and _add(given[0], negated)
        if op == "neg":
            return _scale(given[0], -1)
        if op in ("mul", "mad"):
            if "wide" in parts:
                if not (_widens(given[0]) and _widens(given[1])):
                    return None
                given = [_as_read(g, parts[-1]) for g in given[:2]] + given[2:]
            product = _multiply(given[0], given[1])
            return product and (product if op == "mul" else _add(product, given[2]))
        if op == "shl" and given[1].constant is not None:
            if not 0 <= given[1].constant < 32:
                return None
            return _scale(given[0], 1 << given[1].constant)
        if op == "or":
            return _or_as_add(given[0], given[1])
        if op == "cvt" and len(parts) == 3:
            return self.convert(parts, given[0])
        return None

    @staticmethod
    def convert(parts: tuple[str, ...], given: LaneShape) -> LaneShape | None:
        to, source = parts[1], parts[2]
        if source[0] not in "sub" or to[0] not in "sub" or given.kind == "varying":
            return None
        if given.kind == "uniform":
            return None
        # Narrowing to 32 bits and widening from 32 keep rows (widening is guarded where it is made).
        if (source[1:], to[1:]) == ("32", "64"):
            return given if _widens(given) else None
        return given if to[1:] in ("32", "64") and source[1:] in ("32", "64") else None


def _widens(shape: LaneShape) -> bool:
    """Whether a 32-bit value may be widened row by row: its lanes must not lie far apart."""
    return shape.kind == "uniform" or abs(shape.stride) < 1 << 20


def _as_read(shape: LaneShape, ty: str) -> LaneShape:
    """A constant as an instruction on `ty` reads it: PTX writes -1 for an unsigned 4294967295."""
    if shape.constant is None:
        return shape
    bits = int(ty[1:])
    value = shape.constant & ((1 << bits) - 1)
    if ty[0] == "s" and value >> (bits - 1):
        value -= 1 << bits
    return LaneShape(shape.kind, 0, value, shape.zeros)


def _zeros(value: int) -> int:
    return 31 if value == 0 else (value & -value).bit_length() - 1


def _join(a: LaneShape, b: LaneShape) -> LaneShape:
    if a == b:
        return a
    if "varying" in (a.kind, b.kind):
        return VARYING
    zeros = min(a.zeros, b.zeros)
    if a.kind == b.kind == "uniform":
        return LaneShape("uniform", 0, None, zeros)
    if a.stride != b.stride:
        return VARYING
    return affine(a.stride, zeros)


def _add(a: LaneShape, b: LaneShape) -> LaneShape | None:
    if "varying" in (a.kind, b.kind):
        return None
    zeros = min(a.zeros, b.zeros)
    if a.kind == b.kind == "uniform":
        constant = None if a.constant is None or b.constant is None else a.constant + b.constant
        return (
            LaneShape("uniform", 0, None, zeros)
            if constant is None
            else LaneShape("uniform", 0, constant, _zeros(constant))
        )
    return affine(a.stride + b.stride, zeros)


def _scale(a: LaneShape, factor: int) -> LaneShape | None:
    if a.kind == "varying":
        return None
    zeros = min(31, a.zeros + _zeros(abs(factor)))
    if a.kind == "uniform":
        constant = None if a.constant is None else a.constant * factor
        return LaneShape("uniform", 0, constant, zeros)
    return affine(a.stride * factor, zeros)


def _multiply(a: LaneShape, b: LaneShape) -> LaneShape | None:
    if b.kind == "uniform" and b.constant is not None:
        return _scale(a, b.constant) if a.kind != "varying" else None
    if a.kind == "uniform" and a.constant is not None:
        return _scale(b, a.constant) if b.kind != "varying" else None
    if "varying" in (a.kind, b.kind):
        return None
    zeros = min(31, a.zeros + b.zeros)
    if a.kind == b.kind == "uniform":
        return LaneShape("uniform", 0, None, zeros)
    if a.stride == b.stride == 0:
        return affine(0, zeros)
    return None


def _or_as_add(a: LaneShape, b: LaneShape) -> LaneShape | None:
    """`a | b` is `a + b` where no bit is set in both: a small constant below known zeros."""
    if b.constant is None:
        a, b = b, a
    if b.constant is None or a.kind != "affine" or b.kind != "uniform":
        return None
    stride_zeros = _zeros(abs(a.stride)) if a.stride else 31
    free = min(a.zeros, stride_zeros)
    return affine(a.stride, 0) if 0 <= b.constant < (1 << free) else None
