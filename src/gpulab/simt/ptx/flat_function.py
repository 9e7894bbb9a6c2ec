"""A kernel without calls, as `gpulab.simt.ptx.inlining` builds it."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpulab.simt.ptx.syntax import Function, Instruction, Variable

__all__ = ["FlatFunction"]


@dataclass
class FlatFunction:
    """A kernel whose only calls are those of `BUILTINS`.

    Attributes
    ----------
    name : str
        The kernel.
    entry : Function
        Its function in the module.
    body : list
        Instructions and labels.
    registers : dict
        PTX type of each register.
    variables : dict
        Variables of the kernel and of all functions that it calls.
    tables : dict
        Labels of each `.branchtargets`.
    """

    name: str
    entry: Function
    body: list[Instruction | str] = field(default_factory=list)
    registers: dict[str, str] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    tables: dict[str, list[str]] = field(default_factory=dict)
