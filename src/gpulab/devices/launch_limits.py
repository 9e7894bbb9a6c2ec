"""Validation of a launch: grid, block, shared memory and registers against the limits of the GPU."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from operator import index

from gpulab.compiler.program import Resources
from gpulab.errors import LaunchError
from gpulab.gpus.catalogue import GpuSpec
from gpulab.gpus.limits import Dims, Limits
from gpulab.gpus.occupancy import occupancy

__all__ = ["check_bounds", "check_cooperative", "check_launch", "dim3"]


def dim3(value: int | Sequence[int], what: str = "grid") -> Dims:
    """Return a grid or a block as (x, y, z), from an integer or a sequence of one to three.

    what: "grid" or "block", for error messages.

    Raises `LaunchError` for any other value, and for a size below 1.
    """
    try:
        dims = tuple(index(size) for size in (value if isinstance(value, Iterable) else (value,)))
    except TypeError:
        raise LaunchError(
            f"a {what} must be one to three integers, such as (32, 8), not {value!r}."
        ) from None
    if not 1 <= len(dims) <= 3:
        raise LaunchError(f"a {what} must have one to three sizes (x, y, z), not {len(dims)}.")
    if min(dims) < 1:
        raise LaunchError(f"every size of a {what} must be at least 1; this one is {_product(dims)}.")
    x, y, z = (*dims, 1, 1)[:3]
    return x, y, z


def check_launch(
    spec: Limits,
    kernel: str,
    resources: Resources,
    grid: Dims,
    block: Dims,
    shared_mem: int = 0,
    arch: int = 0,
) -> None:
    """Raise `LaunchError` if a launch exceeds a limit of the GPU.

    Parameters
    ----------
    spec : Limits
        The GPU.
    kernel : str
        The name of the kernel, for the error message.
    resources : Resources
        Its resource usage.
    grid, block : tuple of int
        Sizes (x, y, z).
    shared_mem : int
        Dynamic shared memory per block, in bytes.
    arch : int
        The architecture (such as 90) for which the kernel was assembled. If it is not the GPU's, the
        registers are not checked.
    """
    name = getattr(spec, "name", None) or f"compute capability {spec.arch / 10}"

    threads = prod(block)
    if threads > spec.max_threads_per_block:
        raise LaunchError(
            f"{kernel}: a block of {_product(block)} has {threads:,} threads; "
            f"{name} allows {spec.max_threads_per_block:,}."
        )
    for what, dims, limit in (("block", block, spec.max_block_dims), ("grid", grid, spec.max_grid_dims)):
        if any(size > maximum for size, maximum in zip(dims, limit, strict=True)):
            raise LaunchError(
                f"{kernel}: a {what} of {_product(dims)} is too large; {name} allows {_product(limit)}."
            )
    if shared_mem < 0:
        raise LaunchError(f"{kernel}: shared_mem must not be negative, but is {shared_mem}.")

    shared = resources.shared_bytes + shared_mem
    if shared > spec.shared_bytes_per_block_optin:
        raise LaunchError(
            f"{kernel}: a block needs {shared:,} bytes of shared memory "
            f"({resources.shared_bytes:,} static, {shared_mem:,} dynamic); "
            f"{name} allows {spec.shared_bytes_per_block_optin:,}."
        )

    registers = spec.registers_allocated(threads, resources.registers)
    if arch == spec.arch and registers > spec.registers_per_block:
        raise LaunchError(
            f"{kernel}: {threads:,} threads with {resources.registers} registers each need "
            f"{registers:,} registers; {name} has {spec.registers_per_block:,} per block. "
            "Launch fewer threads per block."
        )


def check_bounds(kernel: str, directives: Mapping[str, Sequence[int]], block: Dims) -> None:
    """Raise `LaunchError` if a block contradicts what the kernel declares about its blocks.

    CUDA refuses such a launch with "invalid argument".

    Parameters
    ----------
    kernel : str
        The name of the kernel, for the error message.
    directives : mapping of str to sequence of int
        The directives of the kernel in PTX with their numbers: `.maxntid` of ``__launch_bounds__``, and
        `.reqntid` of ``__block_size__``.
    block : tuple of int
        Sizes (x, y, z).
    """
    threads, most = prod(block), directives.get(".maxntid", ())
    if most and threads > prod(most):
        raise LaunchError(
            f"{kernel}: a block of {_product(block)} has {threads:,} threads; the __launch_bounds__ of the "
            f"kernel allows {prod(most):,}."
        )
    required = directives.get(".reqntid", ())
    if required and block != dim3(required, "block"):
        raise LaunchError(
            f"{kernel}: the kernel requires blocks of {_product(required)} threads; this block has "
            f"{_product(block)}."
        )


def check_cooperative(
    spec: GpuSpec, kernel: str, resources: Resources, grid: Dims, block: Dims, shared_mem: int = 0
) -> None:
    """Raise `LaunchError` if the blocks of a cooperative launch are not all resident at once.

    The parameters are those of `check_launch`.
    """
    shared = resources.shared_bytes + shared_mem
    resident = occupancy(spec, prod(block), resources.registers, shared)
    most = resident.blocks_per_sm * spec.sms
    if prod(grid) > most:
        raise LaunchError(
            f"{kernel}: a cooperative launch needs all of its {prod(grid):,} blocks on the GPU at once, and "
            f"{spec.name} holds {most:,} ({resident.blocks_per_sm} on each of {spec.sms} SMs, limited by "
            f"{resident.limited_by}). Launch at most {most:,} blocks and let each thread work on several "
            "elements in a loop."
        )


def _product(dims: Sequence[int]) -> str:
    return " x ".join(str(size) for size in dims)
