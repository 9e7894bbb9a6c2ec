"""Conversion of machine code, or of PTX, into the operations of the performance model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING

from gpulab.model.warp_timing import SCOREBOARD, CodeBlock, Operation
from gpulab.profiling.counts.tensor_products import machine_product, ptx_product

if TYPE_CHECKING:
    from gpulab.compiler.sass.machine_counts import ExecutedInstruction
    from gpulab.compiler.sass.sass_code import MachineCode, MachineInstruction
    from gpulab.simt.analysis.basic_blocks import ControlFlow
    from gpulab.simt.ptx.syntax import Instruction

__all__ = ["machine_blocks", "ptx_blocks", "register_pressure"]

# Execution units by SASS opcode (CUDA Binary Utilities, "Instruction Set Reference"). All other opcodes are
# integer arithmetic.
UNITS = {
    "fp32": "FADD FMUL FFMA FFMA32I FADD32I FMUL32I",
    "fma": "IMAD IMUL HFMA2 HADD2 HMUL2",  # on the same pipe as single precision since 7.0
    "fp64": "DADD DMUL DFMA DSETP DMNMX",
    "special": "MUFU F2I I2F F2F I2I FRND POPC FLO BREV F2FP FCHK",
    "load": "LDG LD ATOM ATOMG",
    "store": "STG ST RED REDG LDGSTS",
    "shared": "LDS LDSM ATOMS",
    "shared_store": "STS STSM",
    "exchange": "SHFL MATCH REDUX MOVM",  # between lanes
    "local": "LDL",
    "local_store": "STL",
    "constant": "LDC",
    "system": "S2R",
    "uniform_system": "S2UR",
    "move": "ULDC CS2R R2UR",
    "barrier": "BAR",
    "branch": "BRA BRX JMP CALL RET EXIT BSSY BSYNC WARPSYNC NOP YIELD BREAK NANOSLEEP DEPBAR LDGDEPBAR "
    "MEMBAR",
    "uniform": "UMOV UIADD3 UIMAD ULEA ULOP3 USHF USEL UISETP UPLOP3 USGXT UFLO UPRMT",
}  # fmt: skip
WIDE_PRODUCTS = ("IMAD.HI", "IMAD.WIDE")  # they take twice as long (measured on an H100)
WARP = 32  # lanes
AS_OFTEN = 0.9  # share of the executions of the most frequent predecessor, from which another is as frequent
_UNIT_OF = {opcode: unit for unit, opcodes in UNITS.items() for opcode in opcodes.split()}


# -- machine code -------------------------------------------------------------------------------------


def machine_blocks(
    code: MachineCode,
    executed: Sequence[ExecutedInstruction],
    scale: float = 1.0,
    addresses: Mapping[int, float] = MappingProxyType({}),
    tries: Mapping[int, float] = MappingProxyType({}),
) -> list[CodeBlock]:
    """Return the basic blocks of machine code, with their executions by warps multiplied by `scale`.

    A block is split where lanes that had diverged meet again, because fewer warps execute the rest of it.
    `addresses` has the addresses of a load from constant memory by a warp, by PTX row, where it is not one.
    `tries` has the iterations of the atomic operations that are loops, which were executed once.
    """
    parts: list[list[MachineInstruction]] = []
    runs: list[float] = []
    firsts, first = [], 0
    for number, block in enumerate(code.blocks):
        counts = [count.warps for count in executed[first : first + len(block.instructions)]]
        first += len(block.instructions)
        firsts.append(len(parts))
        repeats = number in block.targets
        iterations = max(tries.get(item.ptx_line, 1.0) if repeats else 1.0 for item in block.instructions)
        for warps, part in groupby(zip(counts, block.instructions, strict=True), key=lambda pair: pair[0]):
            parts.append([item for _, item in part])
            runs.append(warps * iterations)

    targets: list[list[int]] = [[number + 1] for number in range(len(parts))]
    for block, last in zip(code.blocks, [*firsts[1:], len(parts)], strict=True):
        targets[last - 1] = [firsts[target] for target in block.targets]
    return [
        CodeBlock(tuple(_machine_operation(item, addresses) for item in part), scale * count, source)
        for part, count, source in zip(parts, runs, _predecessors(targets, runs), strict=True)
    ]


def _machine_operation(item: MachineInstruction, addresses: Mapping[int, float]) -> Operation:
    product = machine_product(item)
    unit = f"tensor_{product.kind}" if product else _UNIT_OF.get(item.op, "integer")
    size = product.multiply_adds if product else 1.0
    if item.opcode.startswith(WIDE_PRODUCTS):
        size = 2.0
    if unit == "constant":
        size = max(addresses.get(item.ptx_line, 1.0), 1.0)
    # The assembler's own schedule says for what an instruction waits, and for how long.
    control = item.control
    return Operation(
        unit,
        reads=tuple(f"{SCOREBOARD}{number}" for number in control.waits),
        writes=() if control.written is None else (f"{SCOREBOARD}{control.written}",),
        site=item.ptx_line if unit in ("load", "store", "shared", "shared_store") else None,
        size=size,
        words=max(item.width // 4, 1) if unit in ("local", "local_store") else 1,
        stall=max(control.stall, 1),
        releases=() if control.read is None else (f"{SCOREBOARD}{control.read}",),
    )


# -- PTX -----------------------------------------------------------------------------------------------

_PTX_UNITS = {
    "ld": "load", "ldu": "load", "atom": "load", "st": "store", "red": "store", "bar": "barrier",
    "barrier": "barrier", "bra": "branch", "ret": "branch", "exit": "branch", "shfl": "exchange",
    "vote": "exchange", "rcp": "special", "sqrt": "special", "rsqrt": "special", "sin": "special",
    "cos": "special", "ex2": "special", "lg2": "special",
}  # fmt: skip
_FREE = {"mov", "cvta"}  # copies that the assembler removes


def ptx_blocks(flow: ControlFlow, runs: Sequence[float], folds: bool) -> list[CodeBlock]:
    """Return the basic blocks of PTX, for GPUs that no assembler supports any more.

    `runs` has the executions of each block by warps. `folds` is True if arithmetic takes operands from shared
    memory.
    """
    before = _predecessors([block.targets for block in flow.blocks], runs)
    blocks = []
    for block, count, source in zip(flow.blocks, runs, before, strict=True):
        items = [*block.code, *([block.last] if block.last is not None else [])]
        if block.barrier is not None and block.barrier not in items:
            items.append(block.barrier)
        operations = [op for item in items if (op := _ptx_operation(item)) is not None]
        if folds:
            operations = _fold_shared_loads(operations)
        blocks.append(CodeBlock(tuple(_loads_first(operations)), count, source))
    return blocks


def _loads_first(operations: Sequence[Operation]) -> list[Operation]:
    """Return the operations in an assembler's order: loads from global memory as early as possible.

    Nothing moves past a store, a barrier or an instruction whose register it writes.
    """
    ordered: list[Operation] = []
    part: list[Operation] = []
    for operation in operations:
        if operation.unit in ("store", "shared_store", "barrier"):
            ordered += [*_part_loads_first(part), operation]
            part = []
        else:
            part.append(operation)
    return ordered + _part_loads_first(part)


def _part_loads_first(part: Sequence[Operation]) -> list[Operation]:
    wanted: set[str] = set()
    early: set[int] = set()  # loads, and the operations that their addresses depend on
    for number in range(len(part) - 1, -1, -1):
        operation = part[number]
        if operation.unit == "load" or wanted & set(operation.writes):
            early.add(number)
            wanted |= set(operation.reads)

    first: list[Operation] = []
    delayed: list[Operation] = []
    pending: set[str] = set()  # registers written by a delayed operation or by a load
    for number, operation in enumerate(part):
        touched = set(operation.reads) | set(operation.writes)
        still_read = {name for other in delayed for name in other.reads}
        if number in early and not touched & pending and not still_read & set(operation.writes):
            first.append(operation)
            if operation.unit == "load":
                pending |= set(operation.writes)
        else:
            delayed.append(operation)
            pending |= set(operation.writes)
    return first + delayed


def _fold_shared_loads(operations: Sequence[Operation]) -> list[Operation]:
    """Fold loads from shared memory into the arithmetic that uses their value, if it is the only use.

    On compute capability 1.x an instruction can read one operand from shared memory itself; see `FOLDED` in
    `warp_timing`.
    """
    uses: dict[str, list[int]] = {}
    for number, operation in enumerate(operations):
        for name in operation.reads:
            uses.setdefault(name, []).append(number)

    folded: list[Operation | None] = list(operations)
    for number, load in enumerate(operations):
        if load.unit != "shared" or len(load.writes) != 1:
            continue
        users = uses.get(load.writes[0], [])
        user = folded[users[0]] if len(users) == 1 and users[0] > number else None
        if user is not None and user.unit == "fp32":
            reads = tuple(name for name in user.reads if name != load.writes[0])
            folded[users[0]] = Operation("fp32_shared", reads + load.reads, user.writes, load.site)
            folded[number] = None
    return [operation for operation in folded if operation is not None]


def _ptx_operation(item: Instruction) -> Operation | None:
    """Return the operation of a PTX instruction; None if the assembler removes it."""
    from gpulab.simt.analysis.basic_blocks import reads, writes

    if not item.row or item.op in _FREE or "param" in item.parts:
        return None
    if item.op == "cvt" and {"s64", "u64", "b64"} & set(item.parts):
        return None  # extends an index to 64 bits; these GPUs have 32-bit addresses

    unit = _PTX_UNITS.get(item.op, "")
    site: int | None = None
    product = ptx_product(item)
    if product is not None:
        unit = f"tensor_{product.kind}"
        return Operation(unit, tuple(reads(item)), tuple(writes(item)), size=product.multiply_adds)
    if unit in ("load", "store"):
        site = item.row
        if "shared" in item.parts:
            unit = "shared" if unit == "load" else "shared_store"
        elif "local" in item.parts:
            unit, site = ("local" if unit == "load" else "local_store"), None
        elif "const" in item.parts:
            unit, site = "constant", None
    elif not unit:
        kind = item.parts[-1]
        unit = "fp32" if kind == "f32" else "fp64" if kind == "f64" else "integer"
        if item.op == "div" or (item.op == "mul" and kind in ("s64", "u64")):
            unit = "special"
    return Operation(unit, tuple(reads(item)), tuple(writes(item)), site)


def register_pressure(flow: ControlFlow) -> int:
    """Return the most values that are live at once in a thread, without predicates: about its registers."""
    from gpulab.simt.analysis.basic_blocks import reads, writes

    def registers(live: Iterable[str]) -> int:
        return sum(not name.startswith("%p") for name in live)

    most = 0
    for number, block in enumerate(flow.blocks):
        live = {name for target in block.targets for name in flow.live_in[target]}
        for item in reversed(block.code):
            live -= set(writes(item))
            live |= set(reads(item))
            most = max(most, registers(live))
        most = max(most, registers(flow.live_in[number]))
    return most


# -- control flow -------------------------------------------------------------------------------------


def _predecessors(targets: Sequence[Sequence[int]], runs: Sequence[float]) -> list[int | None]:
    """Return for each block the one that most often precedes it.

    Where lanes that had diverged meet again, a warp comes from both sides, one after the other: of equally
    frequent predecessors, the last one before the block has been executed last.
    """
    edges: list[dict[int, float]] = [{} for _ in runs]
    for (source, target), count in _edge_counts(targets, runs).items():
        if count > 0:
            edges[target][source] = count
    best: list[int | None] = []
    for target, counts in enumerate(edges):
        most = max(counts.values(), default=0.0)
        often = [source for source, count in counts.items() if count >= AS_OFTEN * most]
        before = [source for source in often if source < target]
        best.append(max(before) if before else max(counts, key=counts.__getitem__, default=None))
    return best


def _edge_counts(targets: Sequence[Sequence[int]], runs: Sequence[float]) -> dict[tuple[int, int], float]:
    """Return how often control passed along each edge, from the conservation of flow at every block.

    An edge that this leaves open counts as often as both of its ends allow.
    """
    edges = [(source, target) for source, ends in enumerate(targets) for target in dict.fromkeys(ends)]
    leaving: dict[int, set[tuple[int, int]]] = {}
    entering: dict[int, set[tuple[int, int]]] = {}
    for edge in edges:
        leaving.setdefault(edge[0], set()).add(edge)
        entering.setdefault(edge[1], set()).add(edge)
    entering.pop(0, None)  # the entry block is also entered from outside

    counts: dict[tuple[int, int], float] = {}
    settled = -1
    while settled < len(counts):
        settled = len(counts)
        for edges_at in (leaving, entering):
            for block, around in edges_at.items():
                unknown = [edge for edge in around if edge not in counts]
                if len(unknown) == 1:
                    rest = runs[block] - sum(counts.get(edge, 0.0) for edge in around)
                    counts[unknown[0]] = max(rest, 0.0)
    return {edge: counts.get(edge, min(runs[edge[0]], runs[edge[1]])) for edge in edges}
