"""The interface of an instrumentation: settings of its code, and hooks that emit it.

An instrumentation is chosen when code is generated. What its hooks emit is part of the kernel's code, so a
tier costs nothing in launches that do not use it. The values tier is `Instrumentation` itself, which emits
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from gpulab.simt.codegen.context import InstrumentationHooks
from gpulab.simt.codegen.units import OPTIMIZED
from gpulab.simt.instrument.linked_functions import FUNCTIONS, empty_functions

__all__ = ["INSTRUMENTATIONS", "Forms", "Instrumentation", "create_instrumentation"]


Forms = tuple[tuple[int, int, int], ...]  # see `Instrumentation.forms`: (row, bytes per lane, shift)


class Instrumentation(InstrumentationHooks):
    """The values tier, and the base class of the other tiers.

    Attributes
    ----------
    tier : str
        Name of the tier.
    values : bool
        The tier needs the values that the kernel computes; False if it needs only control flow and addresses.
    shared : bool
        Kernels that differ only in constants share code (see `gpulab.simt.analysis.specialization`).
    linked : bool
        Unoptimised code calls functions that a library defines (see `linked_functions`).
    forms : mapping
        Accesses to shared memory that machine code makes in another form than PTX, by their row in the PTX
        text: (bytes per lane, offset in bytes from the address in PTX). The size is 0 for an access that
        machine code has merged into another one.
    """

    tier = "values"
    values = True
    shared = False
    linked = True
    forms: Mapping[int, tuple[int, int]] = {}

    def library(self, names: Collection[str]) -> list[str]:  # noqa: ARG002
        """Return units of LLVM IR that define functions of `linked_functions`, at least these."""
        return [InstrumentationHooks.runtime, f"{OPTIMIZED}\n{empty_functions(FUNCTIONS)}"]


INSTRUMENTATIONS: dict[str, Callable[[], Instrumentation]] = {"values": Instrumentation}


def create_instrumentation(tier: str, forms: Forms = ()) -> Instrumentation:
    """Return a new instrumentation of a tier."""
    instrumentation = INSTRUMENTATIONS[tier]()
    instrumentation.forms = {row: (size, shift) for row, size, shift in forms}
    return instrumentation
