"""Control information of machine instructions."""

from __future__ import annotations

from gpulab.compiler import compile_program
from gpulab.compiler.sass.decoding import machine_code
from gpulab.compiler.sass.sass_code import Control

TWICE = "__global__ void twice(float* x) { x[threadIdx.x] *= 2.0f; }"


def encoded(stall: int, written: int, read: int, waits: int) -> bytes:
    bits = stall | written << 5 | read << 8 | waits << 11
    return (bits << 105).to_bytes(16, "little")


def test_barriers_and_cycles_are_decoded() -> None:
    assert Control.decode(encoded(5, 7, 7, 0)) == Control(5)
    assert Control.decode(encoded(2, 3, 0, 0b100001)) == Control(2, (0, 5), 3, 0)


def test_use_of_a_loaded_value_waits_for_the_barrier_of_its_load() -> None:
    code = machine_code(compile_program(TWICE), "twice")
    assert code is not None
    load = next(item for item in code.instructions if item.op == "LDG")
    later = code.instructions[code.instructions.index(load) + 1 :]
    assert load.control.written is not None
    waiting = next(i for i in later if load.control.written in i.control.waits)
    assert waiting.op in ("FADD", "FMUL")
