"""Compiling a module in units, most of which are compiled already, and linking them.

What kernels have in common is compiled once by a process, and kept on disk: the units of a module other than
the kernel's own (see `units`), and the vector operations that units call (see `outlining`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import astuple
from functools import lru_cache
from pathlib import Path

from gpulab.cache import fingerprint, kernel_cache, source_fingerprint
from gpulab.compiler.elf import defined_symbols, undefined_symbols
from gpulab.simt.codegen.object_files import merged
from gpulab.simt.codegen.outlining import outlined
from gpulab.simt.codegen.units import OPTIMIZED, split
from gpulab.simt.codegen.vector_instructions import VectorOperation

__all__ = ["UnitCompiler"]

_KERNEL = "define i32 @warp("  # the kernel's function in the unit that is stored with it


class UnitCompiler:
    """Compiler of modules in units; it keeps the code of units and operations.

    Parameters
    ----------
    compile_unit : callable
        Compiles the text of a unit to an object file.
    host : tuple of str
        What machine code depends on besides its IR.
    """

    def __init__(self, compile_unit: Callable[[str], bytes], host: tuple[str, ...]) -> None:
        self._compile, self._identity = compile_unit, (*host, source_fingerprint([Path(__file__).parent]))
        self._units: dict[str, tuple[bytes, list[VectorOperation]]] = {}
        self._operations: dict[str, bytes] = {}  # object files by the name of an operation in them
        self._entry = f"operations-{fingerprint(self._identity)}"

    def compile(self, text: str, libc: str, external: Collection[str] = ()) -> bytes:
        """Compile a module; return b"" if it calls functions outside of it and of `libc`, also a module.

        It may call the functions `external`, which `link` adds.
        """
        objects: dict[bytes, None] = {}  # a set in the order of insertion
        operations: dict[str, VectorOperation] = {}
        for unit in [*split(text), libc]:
            code, called = self._unit(unit)
            objects[code] = None
            operations |= {each.name: each for each in called}
        objects |= dict.fromkeys(self._code_of(operations))
        symbols = [_symbols(code) for code in objects]
        missing = set().union(*(used for _, used in symbols)) - set().union(*(own for own, _ in symbols))
        return b"" if missing.difference(external) else merged(list(objects))

    def link(self, code: bytes, library: str) -> bytes:
        """Return code linked with the units of a module that it lacks."""
        own, _ = _symbols(code)
        objects: dict[bytes, None] = {code: None}
        operations: dict[str, VectorOperation] = {}
        for unit in split(library):
            compiled, called = self._unit(unit)
            if not _symbols(compiled)[0] <= own:
                objects[compiled] = None
                operations |= {each.name: each for each in called if each.name not in own}
        return merged(list(objects | dict.fromkeys(self._code_of(operations))))

    def _unit(self, text: str) -> tuple[bytes, list[VectorOperation]]:
        """Return the code of a unit, and the operations that it calls."""
        if _KERNEL in text:
            return self._compiled(text)
        if text not in self._units:
            key, store = f"unit-{fingerprint(self._identity, text)}", kernel_cache()
            entry = store.get(key) if store else None
            if entry is None:
                code, operations = self._compiled(text)
                if store:
                    store.put(key, json.dumps(list(map(astuple, operations))).encode() + b"\n" + code)
            else:
                head, _, code = entry.partition(b"\n")
                operations = [VectorOperation(*fields) for fields in json.loads(head)]
            self._units[text] = code, operations
        return self._units[text]

    def _compiled(self, text: str) -> tuple[bytes, list[VectorOperation]]:
        new, operations = (text, []) if OPTIMIZED in text else outlined(text)
        declarations = [f"declare dso_local {each.head}" for each in operations]
        return self._compile("\n".join([*declarations, new])), operations

    def _code_of(self, operations: dict[str, VectorOperation]) -> list[bytes]:
        """Return object files that define operations, and others."""
        store = kernel_cache()
        if operations and not self._operations and store and (entry := store.get(self._entry)):
            self._operations = _unpacked(entry)
        missing = [each for name, each in operations.items() if name not in self._operations]
        # An operation that calls a function of a unit can be linked with this unit only.
        for declared in sorted({each.declared for each in missing}):
            batch = [each for each in missing if each.declared == declared]
            code = self._compile("\n".join([declared, *(each.text for each in batch)]))
            self._operations |= dict.fromkeys((each.name for each in batch), code)
        if missing and store:
            store.put(self._entry, _packed(self._operations))
        return [self._operations[name] for name in operations]


def _packed(operations: dict[str, bytes]) -> bytes:
    """Return an entry of the cache: a line with names and sizes, and the object files."""
    files = list(dict.fromkeys(operations.values()))
    names = [[name for name, code in operations.items() if code is file] for file in files]
    head = json.dumps([[len(file), *each] for file, each in zip(files, names, strict=True)])
    return b"".join([head.encode(), b"\n", *files])


def _unpacked(entry: bytes) -> dict[str, bytes]:
    head, _, files = entry.partition(b"\n")
    operations: dict[str, bytes] = {}
    start = 0
    for size, *names in json.loads(head):
        operations |= dict.fromkeys(names, files[start : start + size])
        start += size
    return operations


@lru_cache(maxsize=1024)
def _symbols(code: bytes) -> tuple[frozenset[str], frozenset[str]]:
    """Return the symbols that an object file defines, and those that it uses only."""
    return frozenset(defined_symbols(code)), frozenset(undefined_symbols(code))
