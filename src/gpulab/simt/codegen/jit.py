"""From LLVM IR to machine code of this host, and machine code to something that can be called."""

from __future__ import annotations

import ctypes
import threading
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.compiler.elf import undefined_symbols

__all__ = ["IN_MEMORY", "Loaded", "compile_text", "has_gather", "host", "load", "max_stack_bytes"]

IN_MEMORY = "registers-in-memory"  # attribute of a function whose stack slots are to stay what they are

LARGE = 80_000  # lines of text; with more, compiling well takes minutes, and compiling plainly seconds

_LOCK = threading.Lock()  # LLVM's global state is not ours to share between threads


@cache
def _llvm() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@cache
def host() -> tuple[str, ...]:
    """What machine code depends on besides the text: the compiler's version and this processor."""
    llvm = _llvm()
    version = ".".join(map(str, llvm.llvm_version_info))
    return (
        version,
        llvm.get_default_triple(),
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
    )


def has_gather() -> bool:
    """Whether this processor has instructions that read and write many places at once (AVX-512)."""
    return "+avx512f" in host()[3].split(",")


def _machine(opt: int = 2, *, near: bool = False) -> Any:
    """near: everything that is called lies in the same object, so that a call needs 32 bits."""
    _, triple, cpu, features = host()
    target = _llvm().Target.from_triple(triple)
    how = {"codemodel": "small", "reloc": "pic"} if near else {}
    return target.create_target_machine(cpu=cpu, features=features, opt=opt, jit=True, **how)


def compile_text(text: str, *, quickly: bool = False) -> bytes:
    """LLVM IR as an object file; `quickly` for code that runs little.

    Raises `RuntimeError` when the text is no valid IR.
    """
    large = text.count("\n") > LARGE
    with _LOCK:
        if not large and not quickly:
            return _compiled(text, _machine())
        # LLVM's quick way to machine code gives up at every call of something that may be far away.
        if _can_be_near():
            code = _compiled(text + _near(), _machine(0, near=True), large=large)
            if not undefined_symbols(code):
                return code
        return _compiled(text, _machine(0), large=large)


def _compiled(text: str, machine: Any, *, large: bool = False) -> bytes:
    llvm = _llvm()
    module = llvm.parse_assembly(text)
    module.verify()  # raises; a broken module would end the process later on
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    # Stack slots become values; longer pipelines cost more time than they save. Compiled plainly, every
    # value would get a slot of its own again: megabytes of stack in place of some hundred kilobytes.
    passes = llvm.create_new_function_pass_manager()
    passes.add_sroa_pass()
    # Runtime functions that this kernel does not call would take most of a small kernel's compile time.
    module_passes = llvm.create_new_module_pass_manager()
    module_passes.add_global_dead_code_eliminate_pass()
    module_passes.run(module, builder)
    for function in module.functions if not large else ():
        if function.name == "warp" and not any(IN_MEMORY.encode() in a for a in function.attributes):
            passes.run(function, builder)
    code: bytes = machine.emit_object(module)
    return code


@cache
def _near() -> str:
    return resources.files("gpulab.simt.runtime").joinpath("libc.ll").read_text()


def _can_be_near() -> bool:
    triple = host()[1]
    return triple.startswith("x86_64") and "linux" in triple


def max_stack_bytes(text: str) -> int:
    """More than the code of a text can take of the stack: a line makes one vector, of 256 bytes at most."""
    return 256 * text.count("\n")


@dataclass(frozen=True)
class Loaded:
    """Machine code in memory, for as long as this object lives."""

    engine: Any

    def address(self, name: str) -> int:
        """Where a function of the object file begins."""
        return int(self.engine.get_function_address(name))

    def fill(self, name: str, words: npt.NDArray[np.uint64]) -> None:
        """Write an array of the object file."""
        ctypes.memmove(self.engine.get_global_value_address(name), words.ctypes.data, words.nbytes)


def load(code: bytes) -> Loaded:
    """Put an object file into memory, ready to be called."""
    llvm = _llvm()
    with _LOCK:
        # In one piece: code and constants refer to each other by 32-bit distances, and a CUDA context in
        # the same process reserves so many addresses that separate pieces can lie further apart.
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine(), use_lmm=True)
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        return Loaded(engine)
