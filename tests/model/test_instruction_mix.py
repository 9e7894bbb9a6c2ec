"""Conversion of machine code into the operations of the model."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from gpulab.compiler.sass.sass_code import MachineInstruction
from gpulab.model.instruction_mix import machine_blocks


def test_instructions_after_a_reconvergence_are_executed_by_fewer_warps() -> None:
    opcodes = (("BRA",), ("BSYNC", "FADD", "STG"))
    blocks = [
        SimpleNamespace(
            instructions=[MachineInstruction(0, opcode, "", "", 1, 1) for opcode in names], targets=targets
        )
        for names, targets in zip(opcodes, ((1,), ()), strict=True)
    ]
    executed = [SimpleNamespace(warps=warps) for warps in (1, 2, 1, 1)]
    code = machine_blocks(cast(Any, SimpleNamespace(blocks=blocks)), cast(Any, executed), scale=10.0)
    assert [(len(part.operations), part.runs) for part in code] == [(1, 10.0), (1, 20.0), (2, 10.0)]
    assert [part.before for part in code] == [None, 0, 1]
