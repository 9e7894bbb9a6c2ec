"""Memory of the global and constant variables of a PTX module."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpulab.simt.ptx.call_graph import function_address, referenced_variables
from gpulab.simt.ptx.syntax import Module, Variable
from gpulab.simt.runtime.allocation import Allocation, Memory

__all__ = ["VariableMemory"]


class VariableMemory:
    """The allocations of a module's variables, with their initial values; freed with this object.

    Attributes
    ----------
    allocations : dict of str to Allocation
        By the names of the variables in PTX. Variables that no code uses are added on request.
    """

    def __init__(self, memory: Memory, module: Module) -> None:
        self._memory, self._module = memory, module
        self.allocations: dict[str, Allocation] = {}
        self._allocate(referenced_variables(module))

    def allocation(self, symbol: str) -> Allocation:
        """Return the memory of a variable."""
        if symbol not in self.allocations:
            self._allocate([self._module.variables[symbol]])
        return self.allocations[symbol]

    def _allocate(self, variables: Sequence[Variable]) -> None:
        for variable in variables:
            allocation = self._memory.allocate(max(variable.size, 1), "zeros")
            if variable.initial is not None:
                allocation.host[: variable.size] = np.frombuffer(variable.initial, np.uint8)
            self.allocations[variable.name] = allocation
            self._memory.free_with(self, allocation.address)

        for variable in variables:
            for offset, symbol, addend in variable.references:
                target = self.allocations.get(symbol)
                address = target.address if target else function_address(self._module, symbol)
                if address is not None:
                    host = self.allocations[variable.name].host
                    host[offset : offset + 8].view(np.int64)[0] = address + addend
