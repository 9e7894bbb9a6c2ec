"""A kernel's instructions as the performance model takes them: of the machine's code, or of PTX."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gpulab.model.code import CodeBlock, Step

if TYPE_CHECKING:
    from gpulab.compiler.sass.disassembly import MachineCode, MachineInstruction
    from gpulab.compiler.sass.machine_counts import ExecutedInstruction
    from gpulab.simt.analysis.control_flow import ControlFlow
    from gpulab.simt.ptx.syntax import Instruction

__all__ = ["machine_blocks", "pressure", "ptx_blocks", "unit_of"]

# Units by the machine's names of instructions (CUDA Binary Utilities, "Instruction Set Reference"); what is
# not named here is integer arithmetic.
UNITS = {
    "fp32": "FADD FMUL FFMA FFMA32I FADD32I FMUL32I",
    "fma": "IMAD IMUL HFMA2 HADD2 HMUL2",  # on the same pipe as single precision since 7.0
    "fp64": "DADD DMUL DFMA DSETP DMNMX",
    "special": "MUFU F2I I2F F2F I2I FRND POPC FLO BREV F2FP I2FP",
    "load": "LDG LD ATOM ATOMG",
    "store": "STG ST RED LDGSTS",
    "shared": "LDS LDSM ATOMS SHFL MATCH VOTE REDUX",
    "shared_store": "STS",
    "local": "LDL",
    "local_store": "STL",
    "constant": "LDC ULDC S2R S2UR CS2R R2UR",
    "barrier": "BAR",
    "branch": "BRA BRX JMP CALL RET EXIT BSSY BSYNC WARPSYNC NOP YIELD BREAK NANOSLEEP DEPBAR LDGDEPBAR "
    "MEMBAR",
    "uniform": "UMOV UIADD3 UIMAD ULEA ULOP3 USHF USEL UISETP UPLOP3 USGXT UFLO UPRMT",
}  # fmt: skip
_UNIT = {name: unit for unit, names in UNITS.items() for name in names.split()}
_REGISTER = re.compile(r"(?<![\w.])(U?R|U?P)(\d+)((?:\.\w+)*)")
_NO_RESULT = {"store", "shared_store", "local_store", "barrier", "branch"}


def unit_of(op: str) -> str:
    """The unit that executes a machine instruction, by its name without modifiers."""
    return _UNIT.get(op, "integer")


# -- the machine's code ------------------------------------------------------------------------------


def machine_blocks(code: MachineCode, executed: Sequence[ExecutedInstruction]) -> list[CodeBlock]:
    """Blocks of machine code with how often warps ran them."""
    runs, at = [], 0
    for block in code.blocks:
        here = executed[at : at + len(block.instructions)]
        at += len(block.instructions)
        runs.append(max((one.warps for one in here), default=0))
    before = _entered_from([block.targets for block in code.blocks], runs)
    return [
        CodeBlock(tuple(map(_machine_step, block.instructions)), float(count), source)
        for block, count, source in zip(code.blocks, runs, before, strict=True)
    ]


def _machine_step(item: MachineInstruction) -> Step:
    unit = unit_of(item.op)
    operands = item.operands.split(", ")
    results = 0 if unit in _NO_RESULT else 1
    if item.op.endswith("SETP") or item.op == "PLOP3":
        results = 2
    elif item.op in ("IADD3", "LEA", "UIADD3", "ULEA", "IMAD", "SHFL") and operands[1:2]:
        results += bool(re.fullmatch(r"U?P\d", operands[1]))
    double = item.op.startswith("D") or "64" in item.opcode.split(".")
    wide = ".WIDE" in item.opcode
    width = {16: 4, 8: 2}.get(item.width, 2 if double or wide else 1)
    writes = [name for operand in operands[:results] for name in _registers(operand, width)]
    reads = [name for operand in operands[results:] for name in _registers(operand, 2 if double else 1)]
    if wide:  # 32 bits by 32 bits and 64
        reads += _registers(operands[-1], 2)
    if not results:
        reads = [name for operand in operands for name in _registers(operand, width)]
    reads += _registers(item.predicate, 1)
    memory = unit in ("load", "store", "shared", "shared_store") and item.op not in (
        "SHFL",
        "MATCH",
        "VOTE",
        "REDUX",
    )
    return Step(unit, tuple(dict.fromkeys(reads)), tuple(writes), item.ptx_line if memory else None)


def _registers(operand: str, width: int) -> list[str]:
    """Registers that an operand names: `R4.64` is two, a result of 16 bytes four."""
    found = []
    for kind, number, suffix in _REGISTER.findall(operand):
        count = (
            1 if kind.endswith("P") else max(width if "[" not in operand else 1, 2 if ".64" in suffix else 1)
        )
        found += [f"{kind}{int(number) + n}" for n in range(count)]
    return found


# -- PTX -----------------------------------------------------------------------------------------------

_PTX_UNITS = {
    "ld": "load", "ldu": "load", "atom": "load", "st": "store", "red": "store", "bar": "barrier",
    "barrier": "barrier", "bra": "branch", "ret": "branch", "exit": "branch", "shfl": "shared",
    "vote": "shared", "rcp": "special", "sqrt": "special", "rsqrt": "special", "sin": "special",
    "cos": "special", "ex2": "special", "lg2": "special",
}  # fmt: skip
_FREE = {"mov", "cvta"}  # copies that the assembler makes none of


def ptx_blocks(flow: ControlFlow, runs: Sequence[float], folds: bool) -> list[CodeBlock]:
    """Blocks of PTX with how often warps ran them, for GPUs whose machine code nobody can make any more.

    folds: whether arithmetic takes operands from shared memory.
    """
    before = _entered_from([block.targets for block in flow.blocks], list(runs))
    found = []
    for block, count, source in zip(flow.blocks, runs, before, strict=True):
        items = [*block.code, *([block.last] if block.last is not None else [])]
        if block.barrier is not None and block.barrier not in items:
            items.append(block.barrier)
        steps = [step for item in items if (step := _ptx_step(item)) is not None]
        if folds:
            steps = _folded(steps)
        found.append(CodeBlock(tuple(_loads_first(steps)), count, source))
    return found


def _loads_first(steps: Sequence[Step]) -> list[Step]:
    """As an assembler orders them: loads from global memory, with what they need, before what can wait.

    Nothing moves past a store or a barrier, nor past an instruction whose register it writes.
    """
    found: list[Step] = []
    part: list[Step] = []
    for step in [*steps, None]:
        if step is not None and step.unit not in ("store", "shared_store", "barrier"):
            part.append(step)
            continue
        found += _part_loads_first(part)
        part = []
        if step is not None:
            found.append(step)
    return found


def _part_loads_first(part: Sequence[Step]) -> list[Step]:
    wanted: set[str] = set()
    early: set[int] = set()
    for number in range(len(part) - 1, -1, -1):
        step = part[number]
        if step.unit == "load" or wanted & set(step.writes):
            early.add(number)
            wanted |= set(step.reads)
    late: list[Step] = []
    first: list[Step] = []
    held: set[str] = set()  # registers of what waits, and what hangs on a load
    for number, step in enumerate(part):
        touched = set(step.reads) | set(step.writes)
        used = {name for other in late for name in other.reads}
        if number in early and not touched & held and not used & set(step.writes):
            first.append(step)
            if step.unit == "load":
                held |= set(step.writes)
        else:
            late.append(step)
            held |= set(step.writes)
    return first + late


def _folded(steps: Sequence[Step]) -> list[Step]:
    """Loads from shared memory whose value is used once, by arithmetic of this block, as its operand.

    Compute capability 1.x reads one operand of an instruction from shared memory itself; such an instruction
    takes half as long again (V. Volkov and J. Demmel, Benchmarking GPUs to Tune Dense Linear Algebra, 2008).
    """
    uses: dict[str, list[int]] = {}
    for number, step in enumerate(steps):
        for name in step.reads:
            uses.setdefault(name, []).append(number)
    found: list[Step | None] = list(steps)
    for number, step in enumerate(steps):
        if step.unit != "shared" or len(step.writes) != 1:
            continue
        user = uses.get(step.writes[0], [])
        taker = found[user[0]] if len(user) == 1 and user[0] > number else None
        if taker is not None and taker.unit == "fp32":
            reads = tuple(name for name in taker.reads if name != step.writes[0])
            found[user[0]] = Step("fp32_shared", reads + step.reads, taker.writes, step.site)
            found[number] = None
    return [step for step in found if step is not None]


def _ptx_step(item: Instruction) -> Step | None:
    from gpulab.simt.analysis.control_flow import reads, writes

    if not item.row or item.op in _FREE or "param" in item.parts:
        return None
    if item.op == "cvt" and {"s64", "u64", "b64"} & set(item.parts):
        return None  # widening of an index: those GPUs address with 32 bits
    unit = _PTX_UNITS.get(item.op, "")
    site: int | None = None
    if unit in ("load", "store") and item.op not in ("bar", "barrier"):
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
    return Step(unit, tuple(reads(item)), tuple(writes(item)), site)


def pressure(flow: ControlFlow) -> int:
    """The most values that are alive at once in a thread, predicates not counted: about its registers."""
    from gpulab.simt.analysis.control_flow import reads, writes

    most = 0
    for number, block in enumerate(flow.blocks):
        alive: set[str] = set()
        for target in block.targets:
            alive |= flow.live_in[target]
        for item in reversed(block.code):
            alive -= set(writes(item))
            alive |= set(reads(item))
            most = max(most, sum(not name.startswith("%p") for name in alive))
        most = max(most, sum(not name.startswith("%p") for name in flow.live_in[number]))
    return most


def _entered_from(targets: Iterable[Sequence[int]], runs: Sequence[float]) -> list[int | None]:
    """For each block, the one that leads to it most often."""
    best: list[tuple[float, int | None]] = [(0.0, None)] * len(runs)
    for (source, target), count in _edges(list(targets), runs).items():
        if count > best[target][0]:
            best[target] = (count, source)
    return [source for _, source in best]


def _edges(targets: Sequence[Sequence[int]], runs: Sequence[float]) -> dict[tuple[int, int], float]:
    """How often control went from one block to another: what goes into a block goes out of it.

    An edge that this does not settle counts as often as both of its ends allow.
    """
    edges = [(source, target) for source, those in enumerate(targets) for target in dict.fromkeys(those)]
    leaving: dict[int, set[tuple[int, int]]] = {}
    coming: dict[int, set[tuple[int, int]]] = {}
    for edge in edges:
        leaving.setdefault(edge[0], set()).add(edge)
        coming.setdefault(edge[1], set()).add(edge)
    coming.pop(0, None)  # the entry is come to from outside, too
    found: dict[tuple[int, int], float] = {}
    settled = -1
    while settled < len(found):
        settled = len(found)
        for ends in (leaving, coming):
            for block, around in ends.items():
                unknown = [edge for edge in around if edge not in found]
                if len(unknown) == 1:
                    found[unknown[0]] = max(runs[block] - sum(found.get(edge, 0.0) for edge in around), 0.0)
    return {edge: found.get(edge, min(runs[edge[0]], runs[edge[1]])) for edge in edges}
