"""Divergence analysis: the shape of every register across a warp, and the branches that can diverge.

A *row* is a group of `width` neighbouring lanes whose thread indices are consecutive along one axis: 32 lanes
if the block's x size is a multiple of 32, 16 for blocks that are 16 wide, and so on. `threadIdx.x`, addresses
computed from it and even `threadIdx.y * pitch` are affine over a row (see `lane_shapes`) and stay in scalars,
so that coalesced accesses are recognized when code is generated.

A shape holds for the active lanes. If suspended lanes still need another value of a register, it is varying.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from gpulab.simt.analysis import lane_shapes
from gpulab.simt.analysis.basic_blocks import Block, ControlFlow, has_result, writes
from gpulab.simt.analysis.lane_shapes import UNIFORM, VARYING, LaneShape, affine, join, low_zeros
from gpulab.simt.analysis.reconvergence import exit_blocks, find_spin_loops, frontiers, rendezvous_blocks
from gpulab.simt.ptx.flat_function import FlatFunction
from gpulab.simt.ptx.syntax import HoistedConstant, Imm, Instruction, Mem, Operand, Reg, Sym, Vec

__all__ = [
    "WARP",
    "DivergenceAnalysis",
    "analyse",
    "divergent_uses",
    "lead_axis",
    "row_width",
    "rows_agree",
]

WARP = 32  # threads
NARROWEST_ROW = 8  # lanes; shorter rows cost more instructions than vectors do

# Instructions whose result differs between lanes even if their operands do not.
VARYING_RESULTS = (
    "atom", "shfl", "match", "activemask", "elect", "ldmatrix", "movmatrix", "mbarrier", "mma", "wmma",
    "tex", "suld",
)  # fmt: skip


def row_width(block: tuple[int, int, int]) -> int:
    """Return the number of lanes in a row; 0 if rows are too short to be used."""
    x, y, z = block
    lead = block["xyz".index(lead_axis(block))]
    if lead == x * y * z:  # one row of threads; in a partial last warp the lanes are still consecutive
        return WARP
    width = gcd(lead, WARP)
    return width if width >= NARROWEST_ROW else 0


def rows_agree(block: tuple[int, int, int]) -> bool:
    """Return True if a warp has several rows, and the index along the lead axis begins with 0 in each."""
    width = row_width(block)
    return width < WARP and block["xyz".index(lead_axis(block))] == width


def lead_axis(block: tuple[int, int, int]) -> str:
    """Return the axis along which the indices of neighbouring lanes differ."""
    return "x" if block[0] > 1 or block == (1, 1, 1) else "y" if block[1] > 1 else "z"


@dataclass
class DivergenceAnalysis:
    """The analysis of a kernel for one block shape.

    Attributes
    ----------
    shapes : dict
        The shape of each register.
    divergent : set of int
        Blocks whose branch can diverge.
    frontier : list
        For each block, the blocks where lanes may be suspended while it runs.
    preserved : list
        For each block, the registers whose values in inactive lanes an assignment must preserve.
    width : int
        Lanes in a row; 0 without rows.
    exits : frozenset of int
        Blocks in which a thread only exits.
    spin_loops : frozenset of int
        Heads of loops that may wait for another thread.
    past : dict
        As returned by `rendezvous_blocks`.
    """

    shapes: dict[str, LaneShape]
    divergent: set[int]
    frontier: list[frozenset[int]]
    preserved: list[frozenset[str]]
    width: int
    exits: frozenset[int]
    spin_loops: frozenset[int]
    past: dict[int, frozenset[int]]


def analyse(
    flat: FlatFunction, flow: ControlFlow, block_dim: tuple[int, int, int], all_varying: bool = False
) -> DivergenceAnalysis:
    """Compute shapes, divergent branches and frontiers, each of which depends on the others.

    With `all_varying`, every register is a vector, as the fallback code needs it.
    """
    width = 0 if all_varying else row_width(block_dim)
    return _Solver(flat, flow, block_dim, width, all_varying).solve()


def divergent_uses(
    flat: FlatFunction,
    whole: ControlFlow,
    other: ControlFlow,
    analysis: DivergenceAnalysis,
    block_dim: tuple[int, int, int],
) -> list[Instruction]:
    """Return the instructions of `whole` whose result has another kind than that of their replacements.

    `other` is `whole` with some instructions replaced, and `analysis` is the analysis of `other`.
    """
    solver = _Solver(flat, other, block_dim, analysis.width, False)
    solver.shapes = analysis.shapes
    pairs = (
        (item, replacement)
        for block, others in zip(whole.blocks, other.blocks, strict=True)
        for item, replacement in zip(block.code, others.code, strict=True)
        if item is not replacement and has_result(item)
    )
    return [
        item
        for item, replacement in pairs
        if (shape := solver.result(item)) and shape.kind != (solver.result(replacement) or VARYING).kind
    ]


def _instructions(block: Block) -> list[Instruction]:
    return block.code + ([block.barrier] if block.barrier else [])


class _Solver:
    def __init__(
        self,
        flat: FlatFunction,
        flow: ControlFlow,
        block_dim: tuple[int, int, int],
        width: int,
        all_varying: bool,
    ) -> None:
        self.flat, self.flow, self.block_dim = flat, flow, block_dim
        self.width, self.all_varying = width, all_varying
        self.lead = lead_axis(block_dim)
        self.spin_loops = find_spin_loops(flow.blocks)
        self.past = rendezvous_blocks(flow.blocks)
        self.has_local = any(variable.space == "local" for variable in flat.variables.values())
        self.shapes: dict[str, LaneShape] = {}
        self.forced: set[str] = set(flat.registers) if all_varying else set()  # registers made varying

    def solve(self) -> DivergenceAnalysis:
        """Alternate between shapes and frontiers until no register has to be made varying."""
        while True:
            self.propagate()
            divergent = {
                b.number
                for b in self.flow.blocks
                if b.condition is not None and self.shapes.get(b.condition.name, UNIFORM).kind == "varying"
            }
            frontier = frontiers(self.flow.blocks, divergent, self.spin_loops, self.past)
            preserved = [frozenset().union(*(self.flow.live_in[n] for n in others)) for others in frontier]

            demoted = {
                name
                for block in self.flow.blocks
                for item in _instructions(block)
                for name in writes(item)
                if name in preserved[block.number] and name in self.flat.registers
            }
            if demoted <= self.forced:
                exits = exit_blocks(self.flow.blocks)
                return DivergenceAnalysis(
                    self.shapes, divergent, frontier, preserved, self.width, exits, self.spin_loops, self.past
                )
            self.forced |= demoted

    def propagate(self) -> None:
        self.shapes = dict.fromkeys(self.forced, VARYING)
        self.reach_fixed_point()
        # Registers that are read before they are written, and those computed from them only, start equal.
        while unset := self.flow.live_in[0] - self.shapes.keys():
            self.shapes |= dict.fromkeys(unset, UNIFORM)
            self.reach_fixed_point()

    def reach_fixed_point(self) -> None:
        """Apply all instructions until no shape changes."""
        shapes = self.shapes
        changed = True
        while changed:
            changed = False
            for block in self.flow.blocks:
                for item in _instructions(block):
                    names = [n for n in writes(item) if n in self.flat.registers]
                    if all(shapes.get(name) is VARYING for name in names):  # no other shape can follow
                        continue
                    result = self.result(item)
                    if result is None:
                        continue
                    if item.predicate is not None:
                        result = self.predicated(item, names[0], result)
                    for name in names:
                        old = shapes.get(name)
                        new = result if old is None else join(old, result)
                        if new != old:
                            shapes[name] = new
                            changed = True

    def predicated(self, item: Instruction, name: str, result: LaneShape) -> LaneShape:
        """Return the shape of a register that an instruction writes under a predicate."""
        assert item.predicate is not None
        if self.shape(item.predicate).kind == "varying":
            return VARYING
        return join(self.shapes.get(name, result), LaneShape(result.kind, result.stride))

    def shape(self, operand: Operand) -> LaneShape:
        return self.of(operand) or UNIFORM

    def of(self, operand: Operand) -> LaneShape | None:
        """Return the shape of an operand; None if it has not been computed yet."""
        if isinstance(operand, Imm):
            if isinstance(operand.value, int):
                return LaneShape("uniform", 0, operand.value, low_zeros(operand.value))
            return UNIFORM
        if isinstance(operand, Reg):
            if operand.name in self.flat.registers:
                return self.shapes.get(operand.name)
            return self.special(operand.name)
        if isinstance(operand, Sym) and operand.name == "WARP_SZ":
            return LaneShape("uniform", 0, WARP, low_zeros(WARP))
        if isinstance(operand, HoistedConstant):
            return UNIFORM
        if isinstance(operand, Sym):
            return LaneShape("uniform", 0, None, 2)
        if isinstance(operand, Mem):
            return self.of(operand.base)

        assert isinstance(operand, Vec)
        parts = [self.of(p) for p in operand.parts]
        if None in parts:
            return None
        return UNIFORM if all(p and p.kind == "uniform" for p in parts) else VARYING

    def special(self, name: str) -> LaneShape:
        """Return the shape of a special register."""
        if self.all_varying:
            return VARYING
        stem, _, axis = name[1:].partition(".")
        if stem == "tid":
            if self.block_dim["xyz".index(axis)] == 1:
                return LaneShape("uniform", 0, 0, low_zeros(0))
            if not self.width:
                return VARYING
            if axis == self.lead:
                return affine(1, low_zeros(self.width), rows_agree(self.block_dim))
            if self.width == WARP:
                return UNIFORM
            return affine(0)
        if stem == "laneid" or stem.startswith("lanemask"):
            return affine(1, low_zeros(self.width)) if stem == "laneid" and self.width else VARYING
        return UNIFORM

    def result(self, item: Instruction) -> LaneShape | None:
        """Return the shape of an instruction's result; None if those of its operands are not known yet."""
        op, parts = item.op, item.parts
        operands = item.operands[1:]
        if self.all_varying or item.call is not None:
            return VARYING
        shapes = [shape for shape in map(self.of, operands) if shape is not None]
        if len(shapes) < len(operands):
            return None

        if op == "ld":
            # A load from a uniform address is uniform, except in local memory, which each thread has its own.
            stems = {part.split("::")[0] for part in parts}
            local = "local" in stems or (
                self.has_local and not stems & {"global", "shared", "const", "param"}
            )
            return UNIFORM if self.shape(operands[0]).kind == "uniform" and not local else VARYING
        if op in VARYING_RESULTS:
            return VARYING
        if op in ("bar", "barrier"):  # `bar.red` gives every thread of the block the same result
            return UNIFORM
        if op in ("vote", "redux"):  # the same result for all lanes of one mask
            return UNIFORM if shapes[-1].kind == "uniform" else VARYING
        if op in ("mov", "cvta"):
            if isinstance(item.operands[0], Vec):  # the parts of an affine value are not affine
                return UNIFORM if shapes[0].kind == "uniform" else VARYING
            return shapes[0]
        if op == "selp" and shapes[2].kind == "uniform" and shapes[0].kind == shapes[1].kind == "affine":
            return join(shapes[0], shapes[1])

        is_integer = parts[-1][0] in "sub" and parts[-1][1:].isdigit()
        if is_integer and shapes:
            exact = self.integer(op, parts, shapes)
            if exact is not None:
                return exact
        if all(shape.kind == "uniform" for shape in shapes):
            return UNIFORM
        return VARYING

    def integer(self, op: str, parts: tuple[str, ...], shapes: list[LaneShape]) -> LaneShape | None:
        """Return the shape of an integer instruction's result; None if no rule applies."""
        if "hi" in parts or "cc" in parts or "sat" in parts:
            return None
        if op == "add":
            return lane_shapes.add(shapes[0], shapes[1])
        if op == "sub":
            negated = lane_shapes.scale(shapes[1], -1)
            return negated and lane_shapes.add(shapes[0], negated)
        if op == "neg":
            return lane_shapes.scale(shapes[0], -1)
        if op in ("mul", "mad"):
            if "wide" in parts:
                if not all(map(lane_shapes.widens_exactly, shapes[:2])):
                    return None
                shapes = [lane_shapes.as_operand(s, parts[-1]) for s in shapes[:2]] + shapes[2:]
            product = lane_shapes.multiply(shapes[0], shapes[1])
            return product and (product if op == "mul" else lane_shapes.add(product, shapes[2]))
        if op == "shl" and shapes[1].constant is not None:
            if not 0 <= shapes[1].constant < 32:
                return None
            return lane_shapes.scale(shapes[0], 1 << shapes[1].constant)
        if op == "or":
            return lane_shapes.or_as_add(shapes[0], shapes[1])
        if op == "cvt" and len(parts) == 3:
            return self.convert(parts, shapes[0])
        return None

    @staticmethod
    def convert(parts: tuple[str, ...], shape: LaneShape) -> LaneShape | None:
        """Return the shape of a conversion between integers of 32 and 64 bits.

        Both directions preserve affine values; the generated code checks that a widened row does not wrap.
        """
        to, source = parts[1], parts[2]
        if source[0] not in "sub" or to[0] not in "sub" or shape.kind != "affine":
            return None
        if (source[1:], to[1:]) == ("32", "64"):
            return shape if lane_shapes.widens_exactly(shape) else None
        return shape if to[1:] in ("32", "64") and source[1:] in ("32", "64") else None
