"""Native code for a kernel at one block shape: lowered, compiled by LLVM, ready to be called."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from string import Template

# Imported because they register their instructions.
from gpulab.simt import atomics, compare, convert, exchange, floating, integer, layout, memory  # noqa: F401
from gpulab.simt.flow import build
from gpulab.simt.inline import flatten
from gpulab.simt.lower import Lowering
from gpulab.simt.ptx import Module
from gpulab.simt.shapes import analyse
from gpulab.simt.values import Access

__all__ = ["NativeKernel", "Specialisation", "compile_kernel"]

_PLAIN_LOCK = threading.Lock()
_LOCK = threading.Lock()  # LLVM's global state is not ours to share between threads
ATTRIBUTES = """
attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }
attributes #1 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }"""
WEIGHTS = '!0 = !{!"branch_weights", i32 100000, i32 1}\n!1 = !{!"branch_weights", i32 1, i32 100000}'


@dataclass(frozen=True)
class Specialisation:
    """What native code is made for: the block's shape, its shared memory in bytes, how lanes wait."""

    block: tuple[int, int, int]
    shared_bytes: int
    independent: bool = True


@dataclass
class NativeKernel:
    """Compiled code and what a launch must provide for it."""

    run: ctypes._NamedFuncPointer | object  # run_blocks(context) -> int
    accesses: list[Access]
    symbols: list[str]  # module variables whose device addresses the code asks for, in order
    warps: int
    saved_bytes: int  # a warp's save area
    canonical_bytes: int  # the same in the plain code
    local_bytes: int  # a thread's local memory
    lower_plain: Callable[[list[Access]], tuple[Lowering, str]]
    engines: list[object]  # keep the code alive
    plain: int = 0  # address of the plain code's `warp`, once it is made

    def make_plain(self) -> int:
        """Compile the plain code, which starts numbering its accesses behind those that there are."""
        with _PLAIN_LOCK:
            if not self.plain:
                lowering, function = self.lower_plain(list(self.accesses))
                engine, address = _native(module_text(lowering, function), "warp")
                self.engines.append(engine)
                self.accesses = lowering.accesses
                self.plain = address
            return self.plain


def place_variables(variables: list[tuple[str, int, int]], start: int = 0) -> tuple[dict[str, int], int]:
    """Offsets of (name, size, align), one after the other, and the end."""
    found, at = {}, start
    for name, size, align in variables:
        at = -(-at // align) * align
        found[name] = at
        at += size
    return found, at


def static_shared(module: Module, name: str) -> tuple[dict[str, int], int]:
    """Where the kernel's shared variables lie, and how many bytes they take without dynamic ones.

    An unsized `extern __shared__` array lies behind all others, as on the device.
    """
    flat = flatten(module, name)
    found = [v for v in [*module.variables.values(), *flat.variables.values()] if v.space == "shared"]
    sized = [(v.name, v.size, v.align) for v in found if v.size]
    offsets, end = place_variables(sized)
    unsized = [v for v in found if not v.size]
    if unsized:
        end = -(-end // 16) * 16
        offsets.update(dict.fromkeys((v.name for v in unsized), end))
    return offsets, end


def lower(
    module: Module,
    name: str,
    special: Specialisation,
    plain: bool = False,
    accesses: list[Access] | None = None,
) -> tuple[Lowering, str]:
    """The kernel as LLVM IR, without the runtime.

    plain: keep every register in lanes. accesses: those that are numbered already.
    """
    flat = flatten(module, name)
    blocks = build(flat)
    shared, _ = static_shared(module, name)
    local, local_bytes = place_variables(
        [(v.name, v.size, v.align) for v in flat.variables.values() if v.space == "local"]
    )
    symbols = {
        v.name: number
        for number, v in enumerate(v for v in module.variables.values() if v.space in ("global", "const"))
    }
    analysis = analyse(flat, blocks, special.block, plain)
    lowering = Lowering(
        flat,
        blocks,
        analysis,
        special.block,
        shared,
        special.shared_bytes,
        local,
        -(-local_bytes // 16) * 16,
        local_bytes,
        symbols,
        plain,
        special.independent,
        accesses or [],
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
        "PLAIN": str(layout.PLAIN),
        "SLICE": str(layout.SLICE),
    }
    runtime = Template(resources.files("gpulab.simt").joinpath("runtime.ll").read_text()).substitute(names)
    constants = {
        "@warp_count = external constant i32": f"@warp_count = internal constant i32 {lowering.warps}",
        "@shared_bytes = external constant i64": f"@shared_bytes = internal constant i64 {lowering.shared_bytes}",
        "@local_bytes = external constant i64": f"@local_bytes = internal constant i64 {lowering.local_bytes}",
        "@local_end = external constant i64": f"@local_end = internal constant i64 {lowering.local_end}",
    }
    for declared, defined in constants.items():
        runtime = runtime.replace(declared, defined)
    runtime = runtime.replace("declare i32 @warp(ptr, i32, i32)\n", "")
    defined_here = {
        line.split("@")[1].split("(")[0]
        for line in runtime.splitlines()
        if line.startswith(("define", "declare"))
    }
    kept = [
        line
        for line in function.splitlines()
        if not (line.startswith("declare") and line.split("@")[1].split("(")[0] in defined_here)
    ]
    return "\n".join([runtime, *kept, ATTRIBUTES, WEIGHTS])


def compile_kernel(module: Module, name: str, special: Specialisation) -> NativeKernel:
    """Compile a kernel for one block shape. Raises `UnsupportedInstruction`."""
    lowering, function = lower(module, name, special)
    engine, address = _native(module_text(lowering, function), "run_blocks")
    run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(address)
    return NativeKernel(
        run,
        lowering.accesses,
        list(lowering.symbols),
        lowering.warps,
        lowering.saved_bytes,
        lowering.canonical_bytes,
        lowering.local_bytes,
        lambda accesses: lower(module, name, special, True, accesses),
        [engine],
    )


_machine = None


def _native(text: str, symbol: str) -> tuple[object, int]:
    with _LOCK:
        return _compiled(text, symbol)


def _compiled(text: str, symbol: str) -> tuple[object, int]:
    import llvmlite.binding as llvm

    global _machine
    if _machine is None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        _machine = True
    module = llvm.parse_assembly(text)
    module.verify()  # raises; a broken module would end the process later on
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2, jit=True
    )
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    passes = llvm.create_new_function_pass_manager()
    passes.add_sroa_pass()
    for function in module.functions:
        if function.name == "warp":
            passes.run(function, builder)
    # Code and constants in one piece: they refer to each other by 32-bit distances, and a CUDA context
    # in the same process reserves so many addresses that separate pieces can come to lie further apart.
    engine = llvm.create_mcjit_compiler(module, machine, use_lmm=True)
    engine.finalize_object()
    return engine, engine.get_function_address(symbol)
