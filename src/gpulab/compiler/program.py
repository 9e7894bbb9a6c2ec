"""What the compiler hands on: PTX, machine code, and what the assembler says of each kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpulab.errors import UsageError

__all__ = ["Parameter", "Program", "Resources", "Signature"]


@dataclass(frozen=True)
class Resources:
    """The assembler's report on one kernel.

    registers and local_bytes are per thread, shared_bytes (static) is per block, constant_bytes is
    the kernel's parameter and constant banks, spill_bytes what did not fit in registers (stores).
    """

    registers: int = 0
    shared_bytes: int = 0
    local_bytes: int = 0
    constant_bytes: int = 0
    spill_bytes: int = 0


@dataclass(frozen=True)
class Parameter:
    """One kernel parameter. `kind` is `pointer`, `int`, `uint`, `float` or `bytes`; `size` in bytes."""

    name: str
    kind: str
    size: int


Signature = tuple[Parameter, ...]


@dataclass(frozen=True)
class Program:
    """One translation unit, compiled.

    source: the text as the student wrote it (line 1 of it is line 1 of every diagnostic).
    ptx: NVRTC's PTX with `.loc` lines. cubin: machine code for `arch`, or None when only PTX was given.
    arch: the compute capability as a number, 90 for sm_90.
    resources, signatures: by kernel name, in the order of the source.
    entries: kernel name to the name in PTX and cubin; they differ without extern "C". In PTX, `.loc`
    lines of the file that `.file` calls "cell.cu" count as the source's.
    warnings: compiler warnings in the student's line numbers.
    """

    source: str
    ptx: str
    arch: int
    cubin: bytes | None = None
    resources: Mapping[str, Resources] = field(default_factory=dict)
    signatures: Mapping[str, Signature] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    entries: Mapping[str, str] = field(default_factory=dict)

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """Plain names, in the order of the source."""
        return tuple(self.signatures)

    def entry(self, name: str) -> str:
        """The name that kernel `name` has in the PTX and the cubin."""
        return self.entries.get(name, name)

    def resources_of(self, name: str) -> Resources:
        """The assembler's report on one kernel; all zero where there is none (`ptx_program`)."""
        return self.resources.get(name, Resources())

    def pick(self, name: str | None) -> str:
        """The kernel that is meant: the named one, or the only one there is."""
        names = self.kernel_names
        if name is None:
            if len(names) == 1:
                return names[0]
            if not names:
                raise UsageError("there is no `__global__` function here; write one, or check its spelling.")
            raise UsageError(f"there are {len(names)} kernels here: say which one ({', '.join(names)}).")
        if name not in names:
            raise UsageError(f"there is no kernel `{name}` here; there is: {', '.join(names) or 'none'}.")
        return name
