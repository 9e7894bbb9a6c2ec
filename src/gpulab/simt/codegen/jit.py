"""Compiling LLVM IR to machine code of the host, and loading it."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.simt.codegen.linking import UnitCompiler
from gpulab.simt.codegen.outlining import outlined
from gpulab.simt.codegen.units import OPTIMIZED

__all__ = [
    "IN_MEMORY",
    "Loaded",
    "compile_linkable",
    "compile_text",
    "has_gather",
    "host",
    "is_large",
    "link",
    "load",
    "max_stack_bytes",
]

IN_MEMORY = "registers-in-memory"  # attribute of a function whose stack slots are not made SSA values

LARGE = 80_000  # lines of IR; for more, optimization takes minutes instead of seconds

_LOCK = threading.Lock()  # protects LLVM's global state


@cache
def _llvm() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    # These schedulers take time quadratic in the length of a basic block, and the host orders instructions.
    llvm.set_option("gpulab", "-post-RA-scheduler=0")
    llvm.set_option("gpulab", "-enable-misched=0")
    return llvm


@cache
def host() -> tuple[str, ...]:
    """Return what machine code depends on besides its IR: LLVM's version and the host's processor."""
    llvm = _llvm()
    version = ".".join(map(str, llvm.llvm_version_info))
    return (
        version,
        llvm.get_default_triple(),
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
    )


def has_gather() -> bool:
    """Return True if the processor has gather and scatter instructions (AVX-512)."""
    return "+avx512f" in host()[3].split(",")


def _machine(opt: int = 2, *, near: bool = False) -> Any:
    """Return a target machine; with `near`, for code that calls functions of its own object file only."""
    _, triple, cpu, features = host()
    target = _llvm().Target.from_triple(triple)
    model = {"codemodel": "small", "reloc": "pic"} if near else {}
    return target.create_target_machine(cpu=cpu, features=features, opt=opt, jit=True, **model)


def compile_text(text: str, *, quickly: bool = False) -> bytes:
    """Compile LLVM IR to an object file; `quickly` shortens the compilation and gives slower code.

    Raises `RuntimeError` if the text is not valid IR.
    """
    with _LOCK:
        if not quickly and not is_large(text):
            return _compile(text, _compiler(), optimize=True)
        # FastISel falls back to a slower selector at every call outside the object file, so libc functions
        # are included.
        if _supports_near_calls() and (code := _unit_compiler().compile(text, _libc())):
            return code
        module, operations = outlined(text)
        return _compile("\n".join([module, *(each.text for each in operations)]), _compiler(0))


@cache
def _unit_compiler() -> UnitCompiler:
    return UnitCompiler(_compile_unit, host())


def _compile_unit(text: str) -> bytes:
    optimize = OPTIMIZED in text
    return _compile(text, _compiler(2 if optimize else 0, near=True), optimize=optimize)


def compile_linkable(text: str, external: Collection[str]) -> bytes:
    """Compile LLVM IR quickly to an object file for `link`, which provides the functions `external`.

    The result is b"" if that is not possible on this platform, or with this text.
    """
    with _LOCK:
        return _unit_compiler().compile(text, _libc(), external) if _supports_near_calls() else b""


def link(code: bytes, library: str) -> bytes:
    """Return code linked with the functions of a library, an LLVM module."""
    with _LOCK:
        return _unit_compiler().link(code, library)


def is_large(text: str) -> bool:
    """Return True for IR that takes too long to optimise."""
    return text.count("\n") > LARGE


@cache
def _compiler(opt: int = 2, *, near: bool = False) -> Any:
    """Return a target machine that compiles; the one of an engine belongs to the engine."""
    return _machine(opt, near=near)


def _compile(text: str, machine: Any, *, optimize: bool = False) -> bytes:
    llvm = _llvm()
    module = llvm.parse_assembly(text)
    module.verify()  # an invalid module would crash the process later
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())

    # Runtime functions that this kernel does not call would take most of a small kernel's compile time.
    module_passes = llvm.create_new_module_pass_manager()
    if optimize:  # functions that are marked `alwaysinline`; other passes do not do it
        module_passes.add_always_inliner_pass()
    module_passes.add_global_dead_code_eliminate_pass()
    module_passes.run(module, builder)

    # SROA alone, because longer pipelines cost more time than they save.
    function_passes = llvm.create_new_function_pass_manager()
    function_passes.add_sroa_pass()
    for function in module.functions if optimize else ():
        if function.name == "warp" and not any(IN_MEMORY.encode() in a for a in function.attributes):
            function_passes.run(function, builder)
    code: bytes = machine.emit_object(module)
    return code


@cache
def _libc() -> str:
    return resources.files("gpulab.simt.runtime").joinpath("libc.ll").read_text(encoding="utf-8")


def _supports_near_calls() -> bool:
    triple = host()[1]
    return triple.startswith("x86_64") and "linux" in triple


def max_stack_bytes(text: str) -> int:
    """Return an upper bound of the stack that code needs: one vector of 256 bytes per line of IR."""
    return 256 * text.count("\n")


@dataclass(frozen=True)
class Loaded:
    """Machine code in memory, which is freed with this object."""

    engine: Any

    def address(self, name: str) -> int:
        """Return the address of a function."""
        return int(self.engine.get_function_address(name))

    def fill(self, name: str, words: npt.NDArray[np.uint64]) -> None:
        """Write the contents of a global array."""
        ctypes.memmove(self.engine.get_global_value_address(name), words.ctypes.data, words.nbytes)


def load(code: bytes) -> Loaded:
    """Load an object file into memory."""
    llvm = _llvm()
    with _LOCK:
        # One mapping for all sections: they refer to each other by 32-bit offsets, and a CUDA context in the
        # same process reserves so much address space that separate mappings can be further apart.
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine(), use_lmm=True)
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        return Loaded(engine)
