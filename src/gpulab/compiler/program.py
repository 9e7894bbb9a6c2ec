"""A compiled program: PTX, machine code, and the resource usage and signature of each kernel."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gpulab.errors import UsageError

__all__ = [
    "ModuleVariable",
    "Parameter",
    "Program",
    "Resources",
    "Signature",
    "check_name_expressions",
    "name_expressions_of",
]

# The characters of `N::k<float, 8>`. A name expression is compiled with the source, so it must not be able
# to contain a directive, a string or a call.
_NAME_EXPRESSION = re.compile(r"[A-Za-z_][\w:<>,*&+\- ]{0,300}")


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
class ModuleVariable:
    """A `__device__` or `__constant__` variable.

    Attributes
    ----------
    symbol : str
        The name in the PTX.
    size : int
        Bytes.
    dtype : str
        NumPy's name of the type of its elements; bytes (`uint8`) if it is not known.
    shape : tuple of int
        The extents; one axis if they are not known. () for a variable that is not an array.
    constant : bool
        True for `__constant__`.
    """

    symbol: str
    size: int
    dtype: str
    shape: tuple[int, ...]
    constant: bool = False


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
    variables : mapping of str to ModuleVariable
        The `__device__` and `__constant__` variables by name. Unused `static` variables are left out.
    expressions : mapping of str to str
        The kernels that name expressions such as `k<WIDTH>` stand for.
    templates : mapping of str to str
        An example of an instance of each kernel template, by the template's name.
    silent : Program or None
        The same without the calls of `printf` and `assert`, and without what only they need; None if the
        program has none. A launch is counted without them, because they are no part of a kernel's method.
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
    variables: Mapping[str, ModuleVariable] = field(default_factory=dict)
    expressions: Mapping[str, str] = field(default_factory=dict)
    templates: Mapping[str, str] = field(default_factory=dict)
    silent: Program | None = None

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

        A name without namespaces, template arguments or parameters stands for the only kernel that has them.

        Raises `UsageError` if there is no kernel of this name, or the choice is ambiguous.
        """
        names = self.kernel_names
        if name is None:
            if len(names) == 1:
                return names[0]
            if not names:
                raise UsageError(self._without_kernels())
            raise UsageError(
                f"the source has {len(names)} kernels ({', '.join(names)}); pass the name of one of them."
            )

        name = self.expressions.get(name, name)
        if name in names:
            return name

        alike = [
            known
            for known in names
            if name in (plain := _without_parameters(known), plain.rpartition("::")[2])
            or _compact(name) == _compact(known)
        ]
        if len(alike) == 1:
            return alike[0]
        if alike:
            raise UsageError(f"the source has {len(alike)} kernels `{name}`; choose from {', '.join(alike)}.")
        if name.rpartition("::")[2] in self.templates:
            raise UsageError(self._without_instance(name))
        raise UsageError(f"the source has no kernel `{name}`; its kernels are: {', '.join(names) or 'none'}.")

    def variable(self, name: str) -> ModuleVariable:
        """Return a variable; raise `UsageError` if the module does not contain it."""
        if name in self.variables:
            return self.variables[name]
        known = ", ".join(self.variables) or "none"
        raise UsageError(
            f"the module has no variable `{name}`; its __device__ and __constant__ variables are: {known}."
        )

    def _without_kernels(self) -> str:
        if self.templates:
            return self._without_instance(next(iter(self.templates)))
        return "the source has no `__global__` function; write one, or check its spelling."

    def _without_instance(self, template: str) -> str:
        space, colons, name = template.rpartition("::")
        example = f"{space}{colons}{self.templates[name]}"
        return (
            f"`{template}` is a template, and the source does not say for which arguments to compile it. "
            f'Name an instance: dev.compile(source, "{example}"), or in the header of a cell, '
            f'--kernel "{example}".'
        )


def name_expressions_of(name: str | None) -> tuple[str, ...]:
    """Return the name expressions that the compiler needs to find a kernel: that of an instance, or none."""
    return (name,) if name is not None and "<" in name else ()


def check_name_expressions(expressions: Sequence[str]) -> tuple[str, ...]:
    """Return the name expressions; raise `UsageError` for a text that is none."""
    for expression in expressions:
        if not _NAME_EXPRESSION.fullmatch(expression):
            raise UsageError(
                f"`{expression}` does not name a kernel or an instance of a template; "
                "the form is k, k<8> or k<float, 8>."
            )
    return tuple(expressions)


def _compact(name: str) -> str:
    """Return a name as it may be typed, without blanks."""
    return name.replace(" ", "")


def _without_parameters(name: str) -> str:
    """Return a kernel's name without template arguments and parameters."""
    return re.split(r"[<(]", name, maxsplit=1)[0]
