"""Declarations of launches: a kernel's arguments, its grid and block, and the values that NumPy expects.

A declaration is a function that returns launches. It knows the kernel by its file and name, and nothing of
the device or of the way in which the values are checked:

    @declare("src/saxpy.cu", "saxpy")
    def saxpy(scale: int) -> Launch:
        x, y = normal(1000 * scale), normal(1000 * scale)
        return Launch(blocks(x.size, 256), 256, [2.0, x, y, x.size], {2: 2 * x + y})
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from posixpath import normpath
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "Array",
    "Declaration",
    "Expected",
    "Launch",
    "New",
    "Packed",
    "Part",
    "Surface",
    "Texture",
    "blocks",
    "declarations",
    "integers",
    "masked",
    "new",
    "normal",
    "refused",
    "suite",
    "uniform",
]

Array = npt.NDArray[Any]
Expected = Array | float | Callable[[Array], bool] | None
Extent = int | tuple[int, ...]


@dataclass(frozen=True)
class New:
    """An array that is allocated and not initialized."""

    shape: tuple[int, ...]
    dtype: npt.DTypeLike


@dataclass(frozen=True)
class Part:
    """A pointer into an array: the element at which it begins."""

    array: Array
    start: int


@dataclass(frozen=True)
class Texture:
    """A texture object: its texels, and the keyword arguments of `gpulab.Device.texture`."""

    array: Array
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Surface:
    """A surface object: its texels, and the keyword arguments of `gpulab.Device.surface`."""

    array: Array
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Packed:
    """A struct with pointers or texture objects: `pack` takes the addresses of the launch's `memory`.

    It returns the bytes of the struct, an array for a pointer to structs, or a texture that contains objects.
    """

    pack: Callable[[list[int]], Any]


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel.

    Attributes
    ----------
    grid, block : int or tuple of int
        Number of blocks, and of threads of a block.
    args : sequence
        The arguments; NumPy arrays are copied to the device, an array that occurs twice once; `New` ones are
        allocated there.
    expect : mapping
        For the index of an argument that the kernel writes, its values after the launch, or a function that
        returns True for right values. In a masked array, masked elements may have any value. All other arrays
        must keep their values.
    shared : int
        Bytes of dynamic shared memory.
    instance : str
        The name of a template's instance, such as `reduce<float, 256>`; "" for a kernel that is no template.
    rtol : float
        Largest relative error; errors are also accepted below `rtol` times the largest expected value.
    variables : mapping
        Values of the module's variables, which are set before the launch; `Packed` ones contain pointers.
    expect_variables : mapping
        Like `expect`, for the module's variables.
    cooperative : bool
        The launch needs a barrier of the grid.
    defines : mapping
        Macros that the repository's build or its host code defines.
    sizes : mapping
        Other values for macros of the source, which make a launch small; None removes a macro.
    setup : str
        CUDA C of our own that is appended to the source, with a kernel `setup` that one thread runs first. It
        does what other kernels or the host code do: it creates objects, or stores addresses of functions.
    setup_args : sequence
        The arguments of `setup`.
    memory : sequence
        Arrays to which pointers in structs refer. In `expect`, they follow the arguments.
    printed : callable, optional
        Returns True if the kernel printed the right text.
    assertion : bool
        The kernel's `assert` must fail.
    true_alarms : str
        Why the sanitizer's reports on this launch are right; "" if it must not report anything.
    """

    grid: Extent
    block: Extent
    args: Sequence[Any]
    expect: Mapping[int, Expected]
    shared: int = 0
    instance: str = ""
    rtol: float = 2e-5
    variables: Mapping[str, Any] = field(default_factory=dict)
    expect_variables: Mapping[str, Expected] = field(default_factory=dict)
    cooperative: bool = False
    defines: Mapping[str, Any] = field(default_factory=dict)
    sizes: Mapping[str, int | None] = field(default_factory=dict)
    setup: str = ""
    setup_args: Sequence[Any] = ()
    memory: Sequence[Any] = ()
    printed: Callable[[str], bool] | None = None
    assertion: bool = False
    true_alarms: str = ""


@dataclass(frozen=True)
class Declaration:
    """The launches of one kernel.

    Attributes
    ----------
    suite, file, kernel : str
        The repository, the file in it that defines the kernel, and the kernel's name.
    launches : callable
        Returns the launches for a scale; 1 is the size of the check.
    """

    suite: str
    file: str
    kernel: str
    launches: Callable[[int], list[Launch]]

    @property
    def key(self) -> tuple[str, str, str]:
        return self.suite, self.file, self.kernel


declarations: dict[tuple[str, str, str], Declaration] = {}


def suite(name: str, folder: str = "") -> Callable[..., Callable[[Callable[..., Any]], Callable[..., Any]]]:
    """Return the decorator `declare` for the kernels of a repository, whose files are in a folder.

    `@declare(file, kernel, ..., keyword=value)` declares the launches of these kernels of a file (or of a
    sequence of files). The decorated function takes the scale, and the name of the kernel if it has a
    parameter `kernel`; keyword arguments are passed on.
    """

    def declare(files: str | Iterable[str], *kernels: str, **keywords: Any) -> Callable[..., Any]:
        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            for file in (files,) if isinstance(files, str) else files:
                for kernel in kernels:
                    given = dict(keywords)
                    if "kernel" in function.__code__.co_varnames[: function.__code__.co_argcount]:
                        given["kernel"] = kernel
                    _add(Declaration(name, normpath(folder + file), kernel, _caller(function, given)))
            return function

        return decorate

    return declare


def refused(_scale: int, instance: str = "") -> Launch:
    """Return a launch of a kernel that cannot be compiled, so that it needs no arguments."""
    return Launch(1, 1, [], {}, instance=instance)


def _add(declaration: Declaration) -> None:
    if declaration.key in declarations:
        raise ValueError(f"declared twice: {declaration.key}")
    declarations[declaration.key] = declaration


def _caller(function: Callable[..., Any], keywords: Mapping[str, Any]) -> Callable[[int], list[Launch]]:
    def launches(scale: int) -> list[Launch]:
        result = function(scale, **keywords)
        return [result] if isinstance(result, Launch) else list(result)

    return launches


def blocks(size: int, block: int) -> int:
    """Return the number of blocks that cover a size."""
    return -(-size // block)


def new(*shape: int, dtype: npt.DTypeLike = np.float32) -> New:
    """Return an array that the kernel fills."""
    return New(shape, dtype)


def _generator(shape: tuple[int, ...], seed: int) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(repr((shape, seed)).encode()))


def masked(*shape: int) -> Any:
    """Return expected values that are all masked, which means that they may have any value."""
    return np.ma.masked_array(np.zeros(shape), True)


def normal(*shape: int, seed: int = 0, dtype: npt.DTypeLike = np.float32) -> Array:
    """Return random numbers with a standard normal distribution; equal arguments give equal numbers."""
    return _generator(shape, seed).standard_normal(shape).astype(dtype)


def uniform(
    *shape: int, low: float = 0, high: float = 1, seed: int = 0, dtype: npt.DTypeLike = np.float32
) -> Array:
    """Return random numbers between two bounds."""
    return _generator(shape, seed).uniform(low, high, shape).astype(dtype)


def integers(
    *shape: int, low: int = 0, high: int = 100, seed: int = 0, dtype: npt.DTypeLike = np.int32
) -> Array:
    """Return random integers from `low` to `high - 1`."""
    return _generator(shape, seed).integers(low, high, shape).astype(dtype)
