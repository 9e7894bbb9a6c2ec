"""Native code of a kernel for one block shape: lowered, compiled by LLVM, and cached on disk."""

from __future__ import annotations

import ctypes
import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from math import inf, prod
from pathlib import Path
from typing import Any

from gpulab.cache import fingerprint, kernel_cache, source_fingerprint
from gpulab.compiler.elf import undefined_symbols
from gpulab.errors import UsageError
from gpulab.garbage_collection import collection_paused
from gpulab.simt.analysis.basic_blocks import ControlFlow, is_warp_sync
from gpulab.simt.analysis.control_flow import build_control_flow
from gpulab.simt.analysis.divergence import WARP, DivergenceAnalysis, analyse
from gpulab.simt.analysis.reconvergence import find_spin_loops
from gpulab.simt.analysis.slicing import without_values
from gpulab.simt.analysis.specialization import (
    SYMBOL,
    ConstantTable,
    LaunchConstants,
    block_class,
    hoist_constants,
)
from gpulab.simt.codegen import jit
from gpulab.simt.codegen.instruction_forms import MALFORMED
from gpulab.simt.codegen.llvm_module import library_text, module_text
from gpulab.simt.codegen.lowering import Lowering
from gpulab.simt.codegen.memory_access import AccessSite
from gpulab.simt.codegen.variable_layout import place_variables, shared_layout

# These modules are imported because they register their instructions and instrumentations.
from gpulab.simt.instructions import (  # noqa: F401
    address_spaces,
    async_copy,
    atomics,
    bulk_copy,
    collective,
    host_calls,
    loads_stores,
    matrix,
    mbarrier,
    move,
    refused,
    tensor_cores,
    texture_access,
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
from gpulab.simt.instrument.initcheck import local_read_code  # noqa: F401
from gpulab.simt.instrument.linked_code import LinkedInstrumentation
from gpulab.simt.instrument.linked_functions import FUNCTIONS, RUNTIME_FUNCTIONS
from gpulab.simt.instrument.racecheck import racecheck_code  # noqa: F401
from gpulab.simt.instrument.trace import trace_code  # noqa: F401
from gpulab.simt.ptx.call_graph import referenced_variables
from gpulab.simt.ptx.flat_function import FlatFunction
from gpulab.simt.ptx.inlining import flatten
from gpulab.simt.ptx.syntax import Module

__all__ = ["NativeKernel", "Specialization", "compile_kernel", "control_flow_of", "kernel_flow"]

_FALLBACK_LOCK = threading.Lock()
STACK_BYTES = 1 << 24  # smallest stack of a host thread that runs a kernel
# Stack for the optimised code and the fallback code, in multiples of what the first code needs. The fallback
# code is up to six times as long if the first code has affine values.
STACK_RESERVE = 16
# Processor time to optimise one line of a short function, and the lines of a function in which a line takes
# twice as long: measured are 80 to 140 µs for 4,000 lines, 190 µs for 23,000 and 340 µs for 37,000.
OPTIMIZATION_S, TWICE_AS_LONG_LINES = 100e-6, 24_000
INSTRUMENTED_LINES = 2  # lines of instrumented IR to optimise for one line of unoptimised code, roughly

# Metadata that must be the same in unoptimised and in optimised code.
_COMMON_METADATA = (
    "sites",
    "symbols",
    "constants",
    "saved_bytes",
    "canonical_bytes",
    "local_bytes",
    "instrumentation",
)


@dataclass(frozen=True)
class Specialization:
    """What native code is specialized for.

    Attributes
    ----------
    block : tuple of int
        Block size.
    shared_bytes : int
        Shared memory of a block.
    independent : bool
        Lanes of a spin loop yield to other lanes of their warp, as on Volta and later.
    tier : str
        The instrumentation.
    forms : Forms
        See `Instrumentation.forms`.
    """

    block: tuple[int, int, int]
    shared_bytes: int
    independent: bool = True
    tier: str = "values"
    forms: Forms = ()


@dataclass
class NativeKernel:
    """Compiled code, and what a launch must provide for it.

    Code is first compiled without optimisation, which takes a fifth of the time and runs at a third of the
    speed. Once launches have spent `patience_s` in it, they call `optimize`, also while they run.

    Attributes
    ----------
    run : callable
        `run_blocks` of runtime.ll; takes the address of a worker's context. A launch keeps the one that it
        has started with.
    warp : int
        Address of `warp`, which `run` calls through the context.
    patience_s : float
        Processor time in unoptimised code after which optimisation pays; infinite if there is nothing left
        to optimise.
    compile_optimized : callable
        Returns the optimised code, with the same sites and the same layout of saved registers.
    spent_s : float
        Processor time of the launches so far, at most.
    block_s : float
        Processor time of a block in the last launch, at most; infinite before the first launch.
    sites : list of AccessSite
        Sites by number.
    symbols : list of str
        Module variables whose device addresses the code needs, in order.
    warps : int
        Warps of a block.
    saved_bytes, canonical_bytes : int
        Size of a warp's save area, and of its registers in canonical form (see `suspension`).
    local_bytes : int
        Local memory of a thread.
    stack_bytes : int
        Stack of a host thread, enough for this code and for the fallback code.
    metadata : dict
        Facts about the code from its instrumentation.
    lower_fallback : callable
        Lowers the fallback code, given the sites that exist.
    code : list
        Loaded object files, which must live as long as the kernel.
    fallback : int
        Address of the fallback code's `warp`; 0 until it is compiled.
    """

    run: Callable[[int], int]
    warp: int
    patience_s: float
    compile_optimized: Callable[[], jit.Loaded | None]
    sites: list[AccessSite]
    symbols: list[str]
    warps: int
    saved_bytes: int
    canonical_bytes: int
    local_bytes: int
    stack_bytes: int
    metadata: dict[str, Any]
    lower_fallback: Callable[[list[AccessSite]], tuple[Lowering, str]]
    code: list[jit.Loaded]
    fallback: int = 0
    spent_s: float = 0.0
    block_s: float = inf

    def optimize(self) -> None:
        """Replace `warp` and, for the next launch, `run` by optimised code."""
        self.patience_s = inf
        if (loaded := self.compile_optimized()) is not None:
            self.code.append(loaded)
            self.warp = loaded.address("warp")
            self.run = _run_blocks(loaded)

    def compile_fallback(self) -> int:
        """Compile the fallback code once and return its address; 0 if the stack is too small for it.

        Its sites are numbered after the existing ones.
        """
        with _FALLBACK_LOCK:
            if not self.fallback:
                lowering, function = self.lower_fallback(list(self.sites))
                text = module_text(lowering, function)
                if jit.max_stack_bytes(text) > self.stack_bytes:
                    return 0  # the launch fails; a stack overflow would end the process
                loaded = jit.load(jit.compile_text(text))
                self.code.append(loaded)
                self.sites = lowering.sites
                self.fallback = loaded.address("warp")
            return self.fallback


def _launch_constants(module: Module, flat: FlatFunction, special: Specialization) -> LaunchConstants:
    shared, end = shared_layout(module, flat)
    return LaunchConstants(module, special.block, shared, special.shared_bytes, special.shared_bytes - end)


def control_flow_of(flat: FlatFunction) -> ControlFlow:
    """Return the basic blocks of a kernel, to whose numbers its code and its counters refer."""
    flow = build_control_flow(flat)
    if find_spin_loops(flow.blocks) and any(is_warp_sync(i) for b in flow.blocks for i in b.code):
        # After a spin loop, lanes may reach a `.sync` instruction separately.
        return build_control_flow(flat, split_at_warp_sync=True)
    return flow


def kernel_flow(module: Module, name: str) -> ControlFlow:
    """Return the basic blocks of a kernel, which all tiers share."""
    key = "flow", name
    if key not in module.analyses:
        module.analyses[key] = control_flow_of(flatten(module, name))
    flow: ControlFlow = module.analyses[key]
    return flow


def _analysis(module: Module, name: str, block: tuple[int, int, int], fallback: bool) -> DivergenceAnalysis:
    """Return the analysis of a kernel, which is the same for all tiers with values."""
    key = "divergence", name, block, fallback
    if key not in module.analyses:
        flat, flow = flatten(module, name), kernel_flow(module, name)
        module.analyses[key] = analyse(flat, flow, block, fallback)
    analysis: DivergenceAnalysis = module.analyses[key]
    return analysis


def lower(
    module: Module,
    name: str,
    special: Specialization,
    fallback: bool = False,
    sites: list[AccessSite] | None = None,
    literals: Iterable[int] = (),
    quickly: bool = False,
    linked: bool = False,
) -> tuple[Lowering, str]:
    """Lower a kernel to LLVM IR, without the runtime.

    Parameters
    ----------
    module, name, special
        The kernel and what its code is specialized for.
    fallback : bool
        Lower the fallback code, which keeps every register in a vector.
    sites : list of AccessSite or None
        Existing sites, after which new ones are numbered.
    literals : iterable of int
        For code that several kernels share, constants that must remain literals (see `specialization`).
    quickly : bool
        Emit code that compiles quickly: without prefetches, and for registers that stay in memory.
    linked : bool
        Emit code for all tiers, which calls the functions of their libraries (see `LinkedInstrumentation`).

    Returns
    -------
    tuple
        The lowering, and the definition of `@warp`.
    """
    instrumentation = (
        LinkedInstrumentation() if linked else create_instrumentation(special.tier, special.forms)
    )
    flat, flow = flatten(module, name), kernel_flow(module, name)
    flat = replace(flat, registers=dict(flat.registers))  # lowering adds registers
    if instrumentation.values:
        analysis = _analysis(module, name, special.block, fallback)
    else:
        flow = without_values(flow, set(flat.registers))

    local, local_bytes = place_variables(
        [(v.name, v.size, v.align) for v in flat.variables.values() if v.space == "local"]
    )
    if "variables" not in module.analyses:
        module.analyses["variables"] = [variable.name for variable in referenced_variables(module)]
    symbols = {variable: number for number, variable in enumerate(module.analyses["variables"])}

    table = ConstantTable() if instrumentation.shared and not fallback else None
    if table:
        flow, analysis, table.literals = hoist_constants(flat, flow, special.block, literals)
    elif not instrumentation.values:
        analysis = analyse(flat, flow, special.block, fallback)

    lowering = Lowering(
        flat,
        flow,
        analysis,
        _launch_constants(module, flat, special),
        local,
        -(-local_bytes // 16) * 16,
        local_bytes,
        symbols,
        fallback=fallback,
        independent=special.independent,
        sites=sites or [],
        instrumentation=instrumentation,
        quickly=quickly,
        pairs_warps=special.tier == "values" and not quickly,
        table=table,
    )
    return lowering, lowering.function()


@collection_paused()
def compile_kernel(module: Module, name: str, special: Specialization) -> NativeKernel:
    """Compile a kernel, or load it from the cache. Raises `UnsupportedInstruction`."""
    code = _compiled_or_cached(module, name, special)
    metadata = code.metadata
    loaded = _load(module, name, special, code)

    def compile_optimized() -> jit.Loaded | None:
        optimized = _compiled_or_cached(module, name, special, optimize=True)
        fits = optimized.metadata["stack_bytes"] <= STACK_RESERVE * metadata["stack_bytes"]
        same = all(optimized.metadata[key] == metadata[key] for key in _COMMON_METADATA)
        return _load(module, name, special, optimized) if fits and same else None

    return NativeKernel(
        run=_run_blocks(loaded),
        warp=loaded.address("warp"),
        patience_s=inf if code.optimized else _optimization_s(metadata["lines"]),
        compile_optimized=compile_optimized,
        sites=[AccessSite(*site) for site in metadata["sites"]],
        symbols=metadata["symbols"],
        warps=-(-prod(special.block) // WARP),
        saved_bytes=metadata["saved_bytes"],
        canonical_bytes=metadata["canonical_bytes"],
        local_bytes=metadata["local_bytes"],
        stack_bytes=metadata["stack_bytes"],
        metadata=metadata["instrumentation"],
        lower_fallback=lambda sites: lower(module, name, special, True, sites, quickly=True),
        code=[loaded],
    )


def _optimization_s(lines: int) -> float:
    """Return an estimate of the processor time that the optimisation of a kernel takes.

    Launches that have spent this time in unoptimised code are likely to spend as much again, so that in the
    worst case the kernel takes about twice the time of the better choice.
    """
    return OPTIMIZATION_S * lines * (1 + (lines / TWICE_AS_LONG_LINES) ** 2)


def _run_blocks(loaded: jit.Loaded) -> Callable[[int], int]:
    return ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(loaded.address("run_blocks"))


@dataclass(frozen=True)
class _Code:
    """Machine code, and the metadata that a launch needs. optimized: nothing faster can be compiled."""

    metadata: dict[str, Any]
    machine_code: bytes
    optimized: bool


def _load(module: Module, name: str, special: Specialization, code: _Code) -> jit.Loaded:
    loaded = jit.load(code.machine_code)
    if code.metadata["constants"]:
        constants = _launch_constants(module, flatten(module, name), special)
        loaded.fill(SYMBOL, constants.table(code.metadata["constants"]))
    return loaded


def _compiled_or_cached(
    module: Module, name: str, special: Specialization, *, optimize: bool = False
) -> _Code:
    """Return the code of a kernel: the optimised one if it is in the cache or `optimize` asks for it.

    Code that several kernels share has two cache entries: one with the constants that remain literals in it,
    and one with the code, whose key contains the values of these constants.
    """
    if not optimize and create_instrumentation(special.tier).linked:
        return _linked(module, name, special)
    store, identity = kernel_cache(), _identity(module, name, special)
    shared = create_instrumentation(special.tier).shared
    literals_key = f"literals-{fingerprint(*identity)}"
    literals: list[int] = json.loads((store and shared and store.get(literals_key)) or b"[]")
    for optimized in (True,) if optimize else (True, False):
        if cached := _cached(_key(identity, module, literals, optimized), optimized):
            return cached

    with _invalid_ptx_reported(name):
        lowering, function = lower(module, name, special, literals=literals, quickly=not optimize)
        text = module_text(lowering, function)
        optimized = optimize or jit.is_large(text)
        machine_code = jit.compile_text(text, quickly=not optimize)

    remaining = lowering.table.literals if lowering.table else []
    if store and remaining != literals:
        store.put(literals_key, json.dumps(remaining).encode())
    metadata = _metadata_of(lowering, text)
    return _stored(_key(identity, module, remaining, optimized), _Code(metadata, machine_code, optimized))


def _linked(module: Module, name: str, special: Specialization) -> _Code:
    """Return the code of a kernel: the optimised one if it is in the cache, otherwise linked code.

    The object file that is linked with the library of a tier is the same for all tiers.
    """
    instrumentation = create_instrumentation(special.tier, special.forms)
    if optimized := _cached(_key(_identity(module, name, special), module, [], True), True):
        return optimized

    common = replace(special, tier="values", forms=())
    key = f"linkable-{fingerprint(*_identity(module, name, common))}"
    code = _cached(key, False)
    if code is None:
        with _invalid_ptx_reported(name):
            lowering, function = lower(module, name, common, quickly=True, linked=True)
            text = module_text(lowering, function)
            machine_code = jit.compile_linkable(text, FUNCTIONS | RUNTIME_FUNCTIONS)
            code = _Code(_metadata_of(lowering, text), machine_code, jit.is_large(text))
            if machine_code:
                _stored(key, code)
            else:
                library = instrumentation.library([name for name in FUNCTIONS if f"@{name}(" in function])
                whole = jit.compile_text(module_text(lowering, function, library), quickly=True)

    if code.machine_code:
        names = frozenset(undefined_symbols(code.machine_code))
        units = [LinkedInstrumentation.runtime, *instrumentation.library(names)]
        whole = jit.link(code.machine_code, library_text(units))
    lines = code.metadata["lines"] * (INSTRUMENTED_LINES if special.tier != "values" else 1)
    facts = code.metadata["instrumentation"][special.tier]
    return _Code(code.metadata | {"lines": lines, "instrumentation": facts}, whole, code.optimized)


@contextmanager
def _invalid_ptx_reported(name: str) -> Iterator[None]:
    """Raise the exceptions that PTX of another compiler can cause as `UsageError`."""
    try:
        yield
    except (*MALFORMED, RuntimeError) as error:
        raise UsageError(
            f"the simulator cannot compile `{name}` ({str(error).strip()}): its PTX is invalid, or the "
            "installation does not work, which `gpulab doctor` tests."
        ) from error


def _identity(module: Module, name: str, special: Specialization) -> tuple[object, ...]:
    """Return what the code of a kernel depends on, besides the constants that `_key` adds."""
    if create_instrumentation(special.tier).shared:
        launch = replace(special, block=(0, 0, 0), shared_bytes=0)
        return _sources(), jit.host(), module.template_digest, name, block_class(special.block), launch
    return _sources(), jit.host(), module.digest, name, special


def _metadata_of(lowering: Lowering, text: str) -> dict[str, Any]:
    """Return what a launch needs to know about code, given the text of its module."""
    metadata = {
        "lines": text.count("\n"),
        "sites": [list(vars(site).values()) for site in lowering.sites],
        "symbols": list(lowering.symbols),
        "constants": list(lowering.table.entries) if lowering.table else [],
        "saved_bytes": lowering.saved_bytes,
        "canonical_bytes": lowering.canonical_bytes,
        "local_bytes": lowering.local_bytes,
        "stack_bytes": max(STACK_BYTES, STACK_RESERVE * jit.max_stack_bytes(text)),
        "instrumentation": lowering.metadata,
    }
    return _metadata(json.dumps(metadata).encode())  # with lists in place of tuples, as in the cache


def _cached(key: str, optimized: bool) -> _Code | None:
    """Return code from the cache."""
    store = kernel_cache()
    entry = store.get(key) if store else None
    if entry is None:
        return None
    head, _, machine_code = entry.partition(b"\n")
    return _Code(_metadata(head), machine_code, optimized)


def _stored(key: str, code: _Code) -> _Code:
    """Store code in the cache, and return it."""
    if store := kernel_cache():
        store.put(key, json.dumps(code.metadata).encode() + b"\n" + code.machine_code)
    return code


def _key(identity: tuple[object, ...], module: Module, literals: list[int], optimized: bool) -> str:
    """Return the cache key of code in which these constants of the module are literals."""
    values = [(index, module.constants[index]) for index in literals]
    return f"native-{fingerprint(*identity, values, optimized)}"


def _metadata(head: bytes) -> dict[str, Any]:
    metadata: dict[str, Any] = json.loads(head)
    return metadata


@cache
def _sources() -> str:
    return source_fingerprint([Path(__file__).parents[1]])
