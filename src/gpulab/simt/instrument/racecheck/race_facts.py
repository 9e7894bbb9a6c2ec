"""Facts about a kernel that the race detector needs besides the kernel's execution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpulab.simt.analysis import basic_blocks
from gpulab.simt.analysis.address_expressions import AddressExpressions, Expression, variables
from gpulab.simt.analysis.pointer_origins import stored_parameters
from gpulab.simt.analysis.reconvergence import find_spin_loops
from gpulab.simt.codegen.memory_access import MemoryAccess
from gpulab.simt.codegen.special_registers import GRID_BARRIER
from gpulab.simt.instructions.matrix_fragments import accessed_fragment
from gpulab.simt.instrument.racecheck.loaded_values import is_extremum, is_update, used_values
from gpulab.simt.ptx.syntax import Instruction, Mem, Reg, type_size

if TYPE_CHECKING:
    from gpulab.simt.codegen.context import CodegenContext

__all__ = ["RaceFacts", "is_silent", "stores_one_value", "suspended_lanes"]


class RaceFacts:
    """Facts about one kernel, which grow while its accesses are lowered.

    Attributes
    ----------
    granule : dict
        Bytes of a cell in global and in shared memory.
    syncs_grid : bool
        The kernel waits at barriers of the grid.
    update_sites : set of int
        Plain writes of a value that depends on the element's old one.
    metadata : dict
        What `RacecheckRecorder` and the messages need to know:

        - `granules`: see `granule`,
        - `shared`: offsets of the shared variables,
        - `blocks`: for each basic block its targets, whether it ends in a barrier, the positions of
          `__syncwarp()` in it, and whether it is in a branch that only some lanes take; None if several calls
          share the code of a function,
        - `spins`: whether the kernel has loops that wait for other threads,
        - `updates`: pairs of access sites (read, write) that read and then write the same element,
        - `guesses`: access sites of `atomicMin` and `atomicMax`, and of reads whose value these verify,
        - `stored`: see `stored_parameters`.
    """

    def __init__(self, cg: CodegenContext) -> None:
        sizes: dict[str, set[int]] = {"global": set(), "shared": set()}
        self._uses_flags = bool(cg.analysis.spin_loops)  # threads may wait for flags of other threads
        self.syncs_grid = False
        has_extrema = False
        for item in (i for block in cg.flow.blocks for i in block.code):
            has_extrema |= is_extremum(item)
            self.syncs_grid |= any(isinstance(o, Reg) and o.name in GRID_BARRIER for o in item.operands)
            self._uses_flags |= item.op in ("membar", "fence")
            for space, size in _accessed(item):
                sizes[space].add(size)
        self.granule = {space: min([8, *used]) for space, used in sizes.items()}

        self._used = used_values(cg.flow.blocks) if has_extrema else None
        self._addresses = AddressExpressions(cg.flow.blocks)
        # The reads by their block and the expression of their address: index and site.
        self._reads: dict[tuple[int, Expression], tuple[int, int]] = {}
        self.update_sites: set[int] = set()
        self.metadata: dict[str, Any] = {
            "granules": self.granule,
            "shared": cg.launch_constants.shared,
            "blocks": _synchronization(cg),
            "spins": bool(find_spin_loops(cg.flow.blocks, at_fixed_address=True)),
            "updates": [],
            "guesses": [],
            "stored": stored_parameters(cg.flow, cg.parameter_offsets()[0]),
        }

    def describe(self, cg: CodegenContext, access: MemoryAccess) -> None:
        """Note whether an access is part of an update or of a guess."""
        block, index = cg.block_number, cg.instruction_index
        if self._used is not None and (
            is_extremum(access.item)
            or (access.item.op == "ld" and self._used.isdisjoint(basic_blocks.writes(access.item)))
        ):
            self.metadata["guesses"].append(access.site)
        memory = next((o for o in access.item.operands if isinstance(o, Mem)), None)
        if memory is None or access.item.op not in ("ld", "st"):
            return
        address = self._addresses.of(memory)
        if access.action == "reads":
            self._reads[block, address] = (index, access.site)
        elif (block, address) in self._reads:
            start, read = self._reads[block, address]
            code = cg.flow.blocks[block].code[start : index + 1]
            changed = {name for item in code[1:-1] for name in basic_blocks.writes(item)}
            if changed.intersection(variables(address)):
                return
            if is_update(code):
                self.update_sites.add(access.site)
            if access.site in self.update_sites or cg.sites[read].line == cg.sites[access.site].line:
                self.metadata["updates"].append([read, access.site])

    def cell_bytes(self, access: MemoryAccess) -> int:
        """Return the bytes of the parts in which an access is checked."""
        return min(self.granule["shared" if access.space == "shared" else "global"], access.size)

    def is_strong(self, access: MemoryAccess) -> bool:
        """Return True for accesses that do not race with one another, such as atomic operations.

        `volatile` in shared memory counts only in a kernel with fences or waiting loops: without them it is
        the warp-synchronous style from before Volta, which needs `__syncwarp()` today.
        """
        parts = set(access.item.parts)
        if access.action == "updates" or parts & {"relaxed", "acquire", "release"}:
            return True
        if access.item.op == "mbarrier":
            return True
        return "volatile" in parts and (access.space != "shared" or self._uses_flags)

    def fences(self, access: MemoryAccess) -> bool:
        """Return True if an access is preceded by a fence."""
        releases = access.item.op == "mbarrier" or not {"release", "acq_rel"}.isdisjoint(access.item.parts)
        return releases and self.is_strong(access)


def _synchronization(cg: CodegenContext) -> list[list[object]] | None:
    """Return each block's targets, whether it ends in a barrier, its `__syncwarp()`s, and if lanes skip it.

    A function body that several calls share has paths from one call to the return of another, which cannot
    be executed; the result is None for kernels with such bodies.
    """
    labels = (item for item in cg.flat.body if isinstance(item, str))
    if any(label.endswith(":enter") and "@" not in label for label in labels):
        return None
    partial = _partial_blocks(cg)
    return [
        [
            list(block.targets),
            block.end == "barrier",
            [at for at, item in enumerate(block.code) if item.op == "bar" and "warp" in item.parts],
            block.number in partial,
        ]
        for block in cg.flow.blocks
    ]


def _partial_blocks(cg: CodegenContext) -> set[int]:
    """Return the blocks in which lanes of a warp may be missing, because they wait or have exited."""
    blocks, analysis = cg.flow.blocks, cg.analysis
    partial = {block.number for block in blocks if analysis.frontier[block.number]}
    pending = [n for n in analysis.divergent if analysis.exits.intersection(blocks[n].targets)]
    while pending:
        targets = set(blocks[pending.pop()].targets) - partial - analysis.exits
        partial |= targets
        pending.extend(targets)
    return partial


def stores_one_value(access: MemoryAccess) -> bool:
    """Return True if all lanes store the same value: they may then write to one cell."""
    return bool(access.values) and all(value.kind == "uniform" for value in access.values)


def is_silent(access: MemoryAccess, granule: int) -> bool:
    """Return True for a write whose value may be the one that is already there, which is harmless.

    In shared memory only one value for all lanes is compared, as of a loop in which every thread fills the
    whole array. granule: the bytes of a cell.
    """
    whole = access.action == "writes" and len(access.values) == 1 and granule == access.size
    one_place = access.address.kind == "uniform" and stores_one_value(access)
    return whole and (access.space != "shared" or one_place)


def suspended_lanes(cg: CodegenContext, item: Instruction) -> str:
    """Emit the mask of the lanes that wait elsewhere while a `.sync` instruction of their warp executes.

    Lanes that may reach another `__syncwarp()` are allowed to be missing at one.
    """
    b, suspended = cg.b, "0"
    before = _blocks_before_warp_sync(cg) if item.op == "bar" else set()
    for number in sorted(cg.analysis.frontier[cg.block_number] - before):
        suspended = b.value(f"or i32 {suspended}, {b.value(f'load i32, ptr {cg.suspended[number]}')}")
    return suspended


def _blocks_before_warp_sync(cg: CodegenContext) -> set[int]:
    """Return the blocks from which a path leads to a `__syncwarp()`."""
    blocks = cg.flow.blocks
    reached = {b.number for b in blocks if any(i.op == "bar" and "warp" in i.parts for i in b.code)}
    grows = True
    while grows:
        before = len(reached)
        reached |= {b.number for b in blocks if reached & set(b.targets)}
        grows = len(reached) > before
    return reached


def _accessed(item: Instruction) -> list[tuple[str, int]]:
    """Return the state spaces that an instruction accesses, each with the bytes of the access."""
    if item.op == "cp" and "async" in item.parts:
        return [("global", 4), ("shared", 4)]
    if item.op in ("mbarrier", "ldmatrix", "stmatrix"):
        return [("shared", 8)]
    size = 0
    if item.op == "wmma" and item.parts[1] in ("load", "store"):
        fragment, layout = accessed_fragment(item)
        size = min(access.size for access in fragment.accesses(layout))
    elif item.op not in ("ld", "ldu", "st", "atom", "red") or {"param", "local", "const"} & set(item.parts):
        return []
    if not size:
        count = next((int(p[1:]) for p in item.parts if p in ("v2", "v4", "v8")), 1)
        size = type_size(item.parts[-1]) * count
    if any(p.startswith("shared") for p in item.parts):
        return [("shared", size)]
    return [("global", size)] if "global" in item.parts else [("global", size), ("shared", size)]
