"""Conversion of machine code into the operations of the model."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import gpulab
from gpulab.compiler.sass.sass_code import MachineInstruction
from gpulab.devices.simulator.simulated_device import SimulatedKernel
from gpulab.model.instruction_mix import machine_blocks, ptx_blocks
from gpulab.model.warp_timing import Operation
from gpulab.simt.analysis.basic_blocks import Block, ControlFlow


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


def test_warp_meets_its_other_lanes_after_it_has_executed_their_branch() -> None:
    names = (("ISETP", "BRA"), ("LDG",), ("BSYNC", "FADD"))
    blocks = [
        SimpleNamespace(
            instructions=[MachineInstruction(0, opcode, "", "", 1, 1) for opcode in opcodes], targets=targets
        )
        for opcodes, targets in zip(names, ((1, 2), (2,), ()), strict=True)
    ]
    executed = [SimpleNamespace(warps=warps) for warps in (1, 1, 1, 2, 1)]
    code = machine_blocks(cast(Any, SimpleNamespace(blocks=blocks)), cast(Any, executed))
    assert [part.before for part in code] == [None, 0, 1, 2]


def operations(*opcodes: str) -> list[Operation]:
    """Return the operations of the model for machine instructions that one warp executes once."""
    items = [MachineInstruction(16 * n, opcode, "", "", 1, 1) for n, opcode in enumerate(opcodes)]
    block = SimpleNamespace(instructions=items, targets=())
    executed = [SimpleNamespace(warps=1) for _ in items]
    [code] = machine_blocks(cast(Any, SimpleNamespace(blocks=[block])), cast(Any, executed))
    return list(code.operations)


def test_products_of_twice_the_width_take_twice_as_long() -> None:
    single, wide, high = operations("IMAD", "IMAD.WIDE", "IMAD.HI.U32")
    assert single.unit == wide.unit == high.unit == "fma"
    assert wide.size == high.size == 2 * single.size


def test_conversions_from_integers_are_integer_arithmetic() -> None:
    assert [each.unit for each in operations("I2FP", "F2I", "FCHK")] == ["integer", "special", "special"]


def test_extension_to_64_bits_is_free_on_gpus_with_32_bit_addresses() -> None:
    device = gpulab.device("sim:gtx280")
    kernel = device.compile("__global__ void k(long long* x, float* y, int i) { x[0] = i; y[0] = i; }")
    assert isinstance(kernel, SimulatedKernel)
    conversions = [item for block in kernel.flow.blocks for item in block.code if item.op == "cvt"]
    assert sorted("s64" in item.parts for item in conversions) == [False, True]
    flow = ControlFlow([Block(0, conversions)], [frozenset()])
    assert len(ptx_blocks(flow, [1.0], folds=True)[0].operations) == 1
