"""A compiled program: PTX, machine code, and the resource usage and signature of each kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpulab.errors import UsageError

__all__ = ["Parameter", "Program", "Resources", "Signature"]


@dataclass(frozen=True)
class Resources:
    """The resource usage of a kernel, as ptxas reports it.

    Attributes
    ----------
    registers : int
        32-bit registers per thread.
    shared_bytes : int
        Static shared memory per block, in bytes.
    local_bytes : int
        Local memory (stack frame) per thread, in bytes.
    constant_bytes : int
        Constant memory of the kernel, parameters included, in bytes.
    spill_bytes : int
        Register spill stores per thread, in bytes.
    """

    registers: int = 0
    shared_bytes: int = 0
    local_bytes: int = 0
    constant_bytes: int = 0
    spill_bytes: int = 0


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel."""

    name: str
    kind: (
        str  # "pointer", "int", "uint", "float", "bytes" (a struct passed by value), "word" (address or int)
    )
    size: int  # in bytes
    element: str = ""  # NumPy's name of a pointer's element type, such as "float32"; "" if unknown


Signature = tuple[Parameter, ...]


@dataclass(frozen=True)
class Program:
    """A compiled translation unit.

    Attributes
    ----------
    source : str
        The source; its first line is line 1 of every diagnostic.
    ptx : str
        NVRTC's PTX. `.loc` directives that refer to the file "cell.cu" give lines of the source.
    arch : int
        The compute capability as a number: 90 for sm_90.
    cubin : bytes or None
        Machine code for `arch`; None for a program that was loaded as PTX.
    resources, signatures : mapping
        Resource usage and parameters by kernel name, in the order of the source.
    warnings : tuple of str
        Compiler warnings, with line numbers of the source.
    entries : mapping of str to str
        The names of the kernels in PTX and cubin; they are mangled unless declared `extern "C"`.
    shared_extents : mapping of str to tuple of int
        The extents of each `__shared__` array by name, as far as they are known.
    """

    source: str
    ptx: str
    arch: int
    cubin: bytes | None = None
    resources: Mapping[str, Resources] = field(default_factory=dict)
    signatures: Mapping[str, Signature] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    entries: Mapping[str, str] = field(default_factory=dict)
    shared_extents: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """The names of all kernels, in the order of the source."""
        return tuple(self.signatures)

    def entry(self, name: str) -> str:
        """Return the name of a kernel in the PTX and the cubin."""
        return self.entries.get(name, name)

    def resources_of(self, name: str) -> Resources:
        """Return the resource usage of a kernel; all zero if the program was loaded as PTX."""
        return self.resources.get(name, Resources())

    def pick(self, name: str | None) -> str:
        """Return the name of the kernel to use: `name`, or the only kernel if None.

        Raises `UsageError` if there is no kernel of this name, or None is ambiguous.
        """
        names = self.kernel_names
        if name is None:
            if len(names) == 1:
                return names[0]
            if not names:
                raise UsageError("the source has no `__global__` function; write one, or check its spelling.")
            raise UsageError(
                f"the source has {len(names)} kernels ({', '.join(names)}); pass the name of one of them."
            )
        if name not in names:
            raise UsageError(
                f"the source has no kernel `{name}`; its kernels are: {', '.join(names) or 'none'}."
            )
        return name
