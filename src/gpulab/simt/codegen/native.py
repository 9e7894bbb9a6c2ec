"""Native code for a kernel at one block shape: lowered, compiled by LLVM, ready to be called."""

from __future__ import annotations

import ctypes
import json
import threading
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass, replace
from functools import cache
from importlib import resources
from math import prod
from pathlib import Path
from string import Template
from typing import Any

from gpulab.cache import fingerprint, kernel_cache, sources_of
from gpulab.errors import UsageError
from gpulab.simt.analysis.basic_blocks import ControlFlow, is_warp_sync
from gpulab.simt.analysis.control_flow import build_control_flow
from gpulab.simt.analysis.divergence import WARP, analyse
from gpulab.simt.analysis.reconvergence import find_spin_loops
from gpulab.simt.analysis.slicing import without_values
from gpulab.simt.analysis.specialization import (
    READ_BY_RUNTIME,
    SYMBOL,
    ConstantTable,
    LaunchConstants,
    block_class,
    hoist_constants,
)

# Imported because they register their instructions.
from gpulab.simt.codegen import jit
from gpulab.simt.codegen.lowering import MALFORMED, Lowering
from gpulab.simt.codegen.memory_access import AccessSite
from gpulab.simt.instructions import (  # noqa: F401
    address_spaces,
    async_copy,
    atomics,
    collective,
    host_calls,
    loads_stores,
    matrix,
    mbarrier,
    move,
    refused,
)
from gpulab.simt.instructions.arithmetic import (  # noqa: F401
    bits,
    comparison,
    conversion,
    fields,
    floating,
    half,
    integer,
    video,
)
from gpulab.simt.instrument.base import Forms, create_instrumentation
from gpulab.simt.instrument.counters import counter_code  # noqa: F401
from gpulab.simt.instrument.racecheck import racecheck_code  # noqa: F401
from gpulab.simt.instrument.trace import trace_code  # noqa: F401
from gpulab.simt.ptx.call_graph import referenced_variables
from gpulab.simt.ptx.inlining import FlatFunction, flatten
from gpulab.simt.ptx.syntax import Module
from gpulab.simt.runtime import layout

__all__ = ["NativeKernel", "Specialization", "compile_kernel", "control_flow_of", "is_small_launch"]

_FALLBACK_LOCK = threading.Lock()
ATTRIBUTES = """
attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }
attributes #1 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }"""
STACK_BYTES = 1 << 24
BRIEF_THREADS = 1 << 14  # of a launch; the checks' are below
WEIGHTS = '!0 = !{!"branch_weights", i32 100000, i32 1}\n!1 = !{!"branch_weights", i32 1, i32 100000}'


@dataclass(frozen=True)
class Specialization:
    """What native code is made for: the block's shape, its shared memory in bytes, how lanes wait.

    tier, forms: of the instrumentation. brief: whether its launches have few threads, so that compiling is
    what takes time.
    """

    block: tuple[int, int, int]
    shared_bytes: int
    independent: bool = True
    tier: str = "values"
    forms: Forms = ()
    brief: bool = False


@dataclass
class NativeKernel:
    """Compiled code and what a launch must provide for it."""

    run: Callable[[int], int]  # run_blocks(address of a worker's context)
    sites: list[AccessSite]
    symbols: list[str]  # module variables whose device addresses the code asks for, in order
    warps: int
    saved_bytes: int  # a warp's save area
    canonical_bytes: int  # the same in the plain code
    local_bytes: int  # a thread's local memory
    stack_bytes: int  # of the host's stack, for the code and for the plain code
    metadata: dict[str, Any]  # what the tier's observer says of the code
    lower_fallback: Callable[[list[AccessSite]], tuple[Lowering, str]]
    code: list[jit.Loaded]  # keeps it alive
    fallback: int = 0  # address of the plain code's `warp`, once it is made

    def compile_fallback(self) -> int:
        """Compile the plain code, which starts numbering its accesses behind those that there are."""
        with _FALLBACK_LOCK:
            if not self.fallback:
                lowering, function = self.lower_fallback(list(self.sites))
                text = module_text(lowering, function)
                if jit.max_stack_bytes(text) > self.stack_bytes:
                    return 0  # the launch ends; past the end of the stack the process would
                loaded = jit.load(jit.compile_text(text))
                self.code.append(loaded)
                self.sites = lowering.sites
                self.fallback = loaded.address("warp")
            return self.fallback


def is_small_launch(tier: str, threads: int) -> bool:
    """`Specialization.brief` of a launch; False in a tier that compiles all launches alike."""
    recorded = create_instrumentation(tier)
    return threads <= BRIEF_THREADS and recorded.optimize_small_up_to_lines != recorded.optimize_up_to_lines


def place_variables(variables: list[tuple[str, int, int]], start: int = 0) -> tuple[dict[str, int], int]:
    """Offsets of (name, size, align), one after the other, and the end."""
    found, at = {}, start
    for name, size, align in variables:
        at = -(-at // align) * align
        found[name] = at
        at += size
    return found, at


def static_shared_bytes(module: Module, name: str) -> int:
    """Bytes of shared memory that a kernel takes without dynamic ones. Raises `UsageError` for no PTX."""
    try:
        return shared_layout(module, flatten(module, name))[1]
    except MALFORMED as error:
        raise UsageError(f"this PTX is not well formed: {error!r}.") from error


def shared_layout(module: Module, flat: FlatFunction) -> tuple[dict[str, int], int]:
    """Where the kernel's shared variables lie, and where they end.

    An unsized `extern __shared__` array lies behind all others, as on the device.
    """
    found = [v for v in [*module.variables.values(), *flat.variables.values()] if v.space == "shared"]
    sized = [(v.name, v.size, v.align) for v in found if v.size]
    offsets, end = place_variables(sized)
    unsized = [v for v in found if not v.size]
    if unsized:
        end = -(-end // 16) * 16
        offsets.update(dict.fromkeys((v.name for v in unsized), end))
    return offsets, end


def _launched(module: Module, flat: FlatFunction, special: Specialization) -> LaunchConstants:
    shared, end = shared_layout(module, flat)
    return LaunchConstants(module, special.block, shared, special.shared_bytes, special.shared_bytes - end)


def control_flow_of(flat: FlatFunction) -> ControlFlow:
    """The kernel's blocks, by whose numbers code and counts go."""
    blocks = build_control_flow(flat)
    if find_spin_loops(blocks.blocks) and any(is_warp_sync(i) for b in blocks.blocks for i in b.code):
        return build_control_flow(
            flat, split_at_warp_sync=True
        )  # lanes do not always come together by themselves
    return blocks


def lower(
    module: Module,
    name: str,
    special: Specialization,
    fallback: bool = False,
    sites: list[AccessSite] | None = None,
    kept: Iterable[int] = (),
) -> tuple[Lowering, str]:
    """The kernel as LLVM IR, without the runtime.

    fallback: keep every register in lanes. accesses: those that are numbered already. kept: of code that
    several kernels share, the places of numbers that are to stay in it; others may have to, too.
    """
    flat = flatten(module, name)
    instrumentation = create_instrumentation(special.tier, special.forms)
    blocks = control_flow_of(flat)
    if not instrumentation.values:
        blocks = without_values(blocks, set(flat.registers))
    local, local_bytes = place_variables(
        [(v.name, v.size, v.align) for v in flat.variables.values() if v.space == "local"]
    )
    symbols = {v.name: number for number, v in enumerate(referenced_variables(module))}
    table = ConstantTable() if instrumentation.shared and not fallback else None
    if table:
        blocks, analysis, table.literals = hoist_constants(flat, blocks, special.block, kept)
    else:
        analysis = analyse(flat, blocks, special.block, fallback)
    lowering = Lowering(
        flat,
        blocks,
        analysis,
        _launched(module, flat, special),
        local,
        -(-local_bytes // 16) * 16,
        local_bytes,
        symbols,
        fallback=fallback,
        independent=special.independent,
        sites=sites or [],
        instrumentation=instrumentation,
        table=table,
    )
    return lowering, lowering.function()


def module_text(lowering: Lowering, function: str) -> str:
    """One LLVM module: constants, runtime, kernel."""
    names = {name: str(layout.field(name)) for name in layout.FIELDS}
    names |= {name.upper(): str(code) for name, code in layout.FAULTS.items()}
    names |= {
        "SHARED_WINDOW": str(layout.SHARED_WINDOW),
        "LOCAL_WINDOW": str(layout.LOCAL_WINDOW),
        "WINDOW_BYTES": str(layout.WINDOW_BYTES),
        "FALLBACK": str(layout.FALLBACK),
        "POINTS": str(layout.FALLBACK - 1),
        "SLICE": str(layout.SLICE),
    }
    runtime = Template(resources.files("gpulab.simt.runtime").joinpath("runtime.ll").read_text()).substitute(
        names
    )
    table, launched = lowering.table, lowering.launch_constants
    constants = {
        "local_bytes": ("i64", f"constant i64 {lowering.local_bytes}"),
        "local_end": ("i64", f"constant i64 {lowering.local_end}"),
    }
    for name, ty in READ_BY_RUNTIME.items():
        place = f"alias {ty}, ptr {table.address(name)}" if table else ""
        constants[name] = ty, place or f"constant {ty} {launched.value(name)}"
    for name, (ty, known) in constants.items():
        runtime = runtime.replace(f"@{name} = external constant {ty}", f"@{name} = internal {known}")
    runtime = runtime.replace("declare i32 @warp(ptr, i32, i32)\n", "")
    if table:
        runtime += table.definition()
    tier_runtime = Template(lowering.instrumentation.runtime).substitute(names)
    defined_here = {
        line.split("@")[1].split("(")[0]
        for line in (runtime + tier_runtime).splitlines()
        if line.startswith(("define", "declare"))
    }
    kept = [
        line
        for line in function.splitlines()
        if not (line.startswith("declare") and line.split("@")[1].split("(")[0] in defined_here)
    ]
    return "\n".join([runtime, tier_runtime, *kept, ATTRIBUTES, WEIGHTS])


def compile_kernel(module: Module, name: str, special: Specialization) -> NativeKernel:
    """Compile a kernel for one block shape, or take it from the disk. Raises `UnsupportedInstruction`."""
    facts, machine_code = _cached(module, name, special)
    loaded = jit.load(machine_code)
    if facts["numbers"]:
        launched = _launched(module, flatten(module, name), special)
        loaded.fill(SYMBOL, launched.table(facts["numbers"]))
    return NativeKernel(
        run=ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(loaded.address("run_blocks")),
        sites=[AccessSite(*access) for access in facts["sites"]],
        symbols=facts["symbols"],
        warps=-(-prod(special.block) // WARP),
        saved_bytes=facts["saved_bytes"],
        canonical_bytes=facts["canonical_bytes"],
        local_bytes=facts["local_bytes"],
        stack_bytes=facts["stack_bytes"],
        metadata=facts["metadata"],
        lower_fallback=lambda accesses: lower(module, name, special, True, accesses),
        code=[loaded],
    )


def _cached(module: Module, name: str, special: Specialization) -> tuple[dict[str, Any], bytes]:
    """What a launch must know of the code, and the code."""
    store = kernel_cache()
    made_for: tuple[object, ...] = _sources(), jit.host(), module.digest, name, special
    shared = create_instrumentation(special.tier).shared
    if shared:
        launch = replace(special, block=(0, 0, 0), shared_bytes=0)
        made_for = _sources(), jit.host(), module.template_digest, name, block_class(special.block), launch
    which = f"kept-{fingerprint(*made_for)}"
    kept: list[int] = json.loads((store and shared and store.get(which)) or b"[]")
    found = store.get(_key(made_for, module, kept)) if store else None
    if found is not None:
        head, _, machine_code = found.partition(b"\n")
        return json.loads(head), machine_code
    try:
        lowering, function = lower(module, name, special, kept=kept)
        text = module_text(lowering, function)
        tier = create_instrumentation(special.tier)
        optimize_up_to_lines = tier.optimize_small_up_to_lines if special.brief else tier.optimize_up_to_lines
        machine_code = jit.compile_text(text, quickly=text.count("\n") > optimize_up_to_lines)
    except (*MALFORMED, RuntimeError) as error:
        raise UsageError(
            f"the simulator can make no code of this PTX: it is not well formed ({error})."
        ) from error
    facts = {
        "sites": [astuple(access) for access in lowering.sites],
        "symbols": list(lowering.symbols),
        "numbers": list(lowering.table.entries) if lowering.table else [],
        "saved_bytes": lowering.saved_bytes,
        "canonical_bytes": lowering.canonical_bytes,
        "local_bytes": lowering.local_bytes,
        # The plain code is up to six times as long where the code has rows.
        "stack_bytes": max(STACK_BYTES, 16 * jit.max_stack_bytes(text)),
        "metadata": lowering.metadata,
    }
    if store:
        now = lowering.table.literals if lowering.table else []
        if now != kept:
            store.put(which, json.dumps(now).encode())
        store.put(_key(made_for, module, now), json.dumps(facts).encode() + b"\n" + machine_code)
    return facts, machine_code


def _key(made_for: tuple[object, ...], module: Module, kept: list[int]) -> str:
    """The name of some code. kept: which of the module's numbers stay in it, where it is shared."""
    return f"native-{fingerprint(*made_for, [(place, module.constants[place]) for place in kept])}"


@cache
def _sources() -> str:
    return sources_of([Path(__file__).parents[1]])
