"""The shared arrays of a kernel on the simulator, and the names of their elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from gpulab.simt.ptx.symbols import variable_name

if TYPE_CHECKING:
    from gpulab.devices.base import RecordableKernel

__all__ = ["SharedArray", "array_at", "shared_arrays"]


@dataclass(frozen=True)
class SharedArray:
    """One `__shared__` array.

    Attributes
    ----------
    name : str
        The name in the source.
    start, size : int
        Offset in shared memory and length, in bytes; the length is 0 for dynamic shared memory.
    extents : tuple of int
        The declared extents; empty if they are not known.
    """

    name: str
    start: int
    size: int
    extents: tuple[int, ...] = ()

    @property
    def declaration(self) -> str:
        """The array with its extents, such as `tile[10][34]`."""
        return self.name + "".join(f"[{extent}]" for extent in self.extents)

    def element(self, offset: int, access_bytes: int) -> str:
        """Return the element at an offset in the array in bytes, such as `tile[1][2]`.

        access_bytes: size of the access, which is that of an element if the extents are not known.
        """
        if not self.extents and self.size == access_bytes:
            return self.name  # a variable, not an array
        number, rest = divmod(offset, self.size // prod(self.extents) if self.extents else access_bytes)
        indices: list[int] = []
        for extent in reversed(self.extents[1:]):
            number, index = divmod(number, extent)
            indices.insert(0, index)
        text = self.name + "".join(f"[{index}]" for index in (number, *indices))
        return text + (f" (byte {rest})" if rest else "")


def shared_arrays(kernel: RecordableKernel) -> list[SharedArray]:
    """Return the shared arrays of a kernel by increasing offset."""
    from gpulab.simt.codegen.variable_layout import shared_layout
    from gpulab.simt.ptx.inlining import flatten

    simulated = kernel.on_simulator
    ptx = simulated.module.ptx
    flat = flatten(ptx, simulated.entry)
    sizes = {v.name: v.size for v in [*ptx.variables.values(), *flat.variables.values()]}
    extents = simulated.program.shared_extents
    arrays = []
    for symbol, start in shared_layout(ptx, flat)[0].items():
        name, size = variable_name(symbol), sizes[symbol]
        declared = extents.get(name, ())
        fits = declared and size and size % prod(declared) == 0
        arrays.append(SharedArray(name or "shared memory", start, size, declared if fits else ()))
    return sorted(arrays, key=lambda array: array.start)


def array_at(arrays: Sequence[SharedArray], offset: int) -> SharedArray:
    """Return the last array that begins at or before an offset in shared memory."""
    before = [array for array in arrays if array.start <= offset]
    return before[-1] if before else SharedArray("shared memory", 0, 0)
