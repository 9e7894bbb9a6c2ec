"""Whether a launch can be made at all: grid, block and shared memory against the GPU's limits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from operator import index

from gpulab.compiler.program import Resources
from gpulab.errors import LaunchError
from gpulab.gpus.limits import Dims, Limits

__all__ = ["check_launch", "dim3"]


def dim3(value: int | Sequence[int], what: str = "grid") -> Dims:
    """A grid or a block as (x, y, z): an int or one to three of them, the others 1.

    Raises `LaunchError` for anything else, and for a size below 1.
    """
    try:
        dims = tuple(index(size) for size in (value if isinstance(value, Iterable) else (value,)))
    except TypeError:
        raise LaunchError(
            f"a {what} is one to three whole numbers, such as (32, 8); it is {value!r}."
        ) from None
    if not 1 <= len(dims) <= 3:
        raise LaunchError(f"a {what} has one to three sizes (x, y, z); this one has {len(dims)}.")
    if min(dims) < 1:
        raise LaunchError(f"every size of a {what} is at least 1; it is {_times(dims)}.")
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
    """Raises `LaunchError` when the GPU cannot take this launch; the message says what it allows.

    shared_mem: dynamic shared memory in bytes. arch: what the register count was assembled for
    (90); when that is not the GPU's own, registers are not judged.
    """
    name = getattr(spec, "name", None) or f"compute capability {spec.arch / 10}"
    threads = prod(block)
    if threads > spec.max_threads_per_block:
        raise LaunchError(
            f"{kernel}: a block of {_times(block)} is {threads} threads; "
            f"{name} allows {spec.max_threads_per_block}."
        )
    for what, dims, limit in (("block", block, spec.max_block_dims), ("grid", grid, spec.max_grid_dims)):
        if any(size > most for size, most in zip(dims, limit, strict=True)):
            raise LaunchError(
                f"{kernel}: a {what} of {_times(dims)} is too large; {name} allows {_times(limit)}."
            )
    if shared_mem < 0:
        raise LaunchError(f"{kernel}: shared memory cannot be negative; shared_mem is {shared_mem}.")
    shared = resources.shared_bytes + shared_mem
    if shared > spec.shared_bytes_per_block_optin:
        raise LaunchError(
            f"{kernel}: a block needs {shared} bytes of shared memory "
            f"({resources.shared_bytes} static, {shared_mem} dynamic); "
            f"{name} allows {spec.shared_bytes_per_block_optin}."
        )
    registers = spec.registers_allocated(threads, resources.registers)
    if arch == spec.arch and registers > spec.registers_per_block:
        raise LaunchError(
            f"{kernel}: {threads} threads with {resources.registers} registers each need "
            f"{registers} registers; {name} has {spec.registers_per_block} for a block: "
            "launch fewer threads per block."
        )


def _times(dims: Sequence[int]) -> str:
    return " x ".join(str(size) for size in dims)
