"""The kernel that is being lowered: its analyses, its launch constants and the worker's context."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

from gpulab.simt.analysis.basic_blocks import ControlFlow
from gpulab.simt.analysis.divergence import WARP, DivergenceAnalysis
from gpulab.simt.analysis.specialization import ConstantTable, LaunchConstants
from gpulab.simt.codegen.ir import Builder, Value
from gpulab.simt.codegen.memory_access import AccessSite
from gpulab.simt.ptx.flat_function import FlatFunction
from gpulab.simt.runtime import layout

__all__ = ["PARAMETERS", "KernelContext"]

PARAMETERS = "the parameters"  # symbol of the array that holds them, used if a parameter's address is taken


@dataclass
class KernelContext:
    """A kernel and a block shape, with the builder that receives the code.

    Attributes
    ----------
    flat, flow, analysis
        The kernel without calls, its basic blocks, and the shapes of its registers.
    launch_constants : LaunchConstants
        Numbers of the kernel's text and of the launch.
    local : dict of str to int
        Offset of each variable in a thread's local memory.
    local_bytes, local_end : int
        Bytes of local memory per thread, rounded up, and the end of its last variable.
    symbols : dict of str to int
        Index of each module variable in the table of device addresses.
    fallback : bool
        Keep every register as a vector; exact even if an affine value wraps around between lanes.
    independent : bool
        Lanes in a loop that polls memory yield to other lanes of their warp, as on Volta and later.
    sites : list of AccessSite
        Sites numbered so far.
    metadata : dict
        Facts about the code that the instrumentation passes to its recorder.
    table : ConstantTable or None
        Table that the code reads launch constants from; None if they are literals.
    b : Builder
        Receives the code.
    """

    flat: FlatFunction
    flow: ControlFlow
    analysis: DivergenceAnalysis
    launch_constants: LaunchConstants
    local: dict[str, int]
    local_bytes: int
    local_end: int
    symbols: dict[str, int]
    fallback: bool = False
    independent: bool = True
    sites: list[AccessSite] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    table: ConstantTable | None = None
    b: Builder = field(default_factory=Builder)

    def __post_init__(self) -> None:
        self.line = 0  # source line of the instruction that is being lowered
        self.threads = prod(self.launch_constants.block)
        self.warps = self.launch_constants.value("warp_count")
        self.width = self.analysis.width or WARP
        self.rows_per_warp = WARP // self.width
        self.specials: dict[str, Value] = {}
        self.lane_vector = "<" + ", ".join(f"i32 {i}" for i in range(WARP)) + ">"

    def load_field(self, name: str, ty: str = "i64") -> str:
        """Load a 64-bit field of the worker's context as type `ty`."""
        address = self.b.value(f"getelementptr i8, ptr %ctx, i64 {layout.field(name)}")
        return self.b.value(f"load {ty}, ptr {address}")

    def store_field(self, name: str, value: str) -> None:
        """Store a 64-bit field of the worker's context."""
        address = self.b.value(f"getelementptr i8, ptr %ctx, i64 {layout.field(name)}")
        self.b.line(f"store i64 {value}, ptr {address}")

    def constant(self, ty: str, *entry: str | int) -> str:
        """Return an entry of `LaunchConstants`: a literal, or a load from the constant table."""
        if self.table is None:
            return str(self.launch_constants.value(*entry))
        return self.b.value(f"load {ty}, ptr {self.table.address(*entry)}")

    def add_site(self, action: str, space: str, size: int) -> int:
        """Add a site at the current source line and return its index."""
        self.sites.append(AccessSite(self.line, action, space, size))
        return len(self.sites) - 1

    def parameter_offsets(self) -> tuple[dict[str, int], int]:
        """Return the byte offset of each kernel parameter, aligned to its size, and the end of the last."""
        offsets, at = {}, 0
        for param in self.flat.entry.params:
            at = -(-at // param.align) * param.align
            offsets[param.name] = at
            at += param.size
        return offsets, at
