"""Placement of a kernel's variables in shared and local memory."""

from __future__ import annotations

from gpulab.errors import UsageError
from gpulab.simt.codegen.instruction_forms import MALFORMED
from gpulab.simt.ptx.flat_function import FlatFunction
from gpulab.simt.ptx.inlining import flatten
from gpulab.simt.ptx.syntax import Module

__all__ = ["place_variables", "shared_layout", "static_shared_bytes"]


def place_variables(variables: list[tuple[str, int, int]]) -> tuple[dict[str, int], int]:
    """Return the offsets of variables, given as (name, size, alignment), and the end of the last one."""
    offsets, at = {}, 0
    for name, size, align in variables:
        at = -(-at // align) * align
        offsets[name] = at
        at += size
    return offsets, at


def static_shared_bytes(module: Module, name: str) -> int:
    """Return the static shared memory of a kernel. Raises `UsageError` if the PTX is malformed."""
    try:
        return shared_layout(module, flatten(module, name))[1]
    except MALFORMED as error:
        raise UsageError(f"invalid PTX: `{name}` is malformed ({error!r}).") from error


def shared_layout(module: Module, flat: FlatFunction) -> tuple[dict[str, int], int]:
    """Return the offsets of a kernel's shared variables, and their end.

    `extern __shared__` arrays of unknown size begin after all others, as on the device.
    """
    variables = [v for v in [*module.variables.values(), *flat.variables.values()] if v.space == "shared"]
    offsets, end = place_variables([(v.name, v.size, v.align) for v in variables if v.size])
    unsized = [v.name for v in variables if not v.size]
    if unsized:
        end = -(-end // 16) * 16
        offsets.update(dict.fromkeys(unsized, end))
    return offsets, end
