"""Machine code without its numbers: the same for kernels that differ in nothing else."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gpulab.compiler import Program, compile_program
from gpulab.compiler.sass import disassembly
from gpulab.compiler.sass.disassembly import MachineCode, machine_code
from gpulab.compiler.sass.normalization import without_numbers
from gpulab.model.instruction_mix import machine_blocks

SOURCE = """
extern "C" __global__ void k(float* a, const float* b, int n)
{
    __shared__ float s[WIDE + 2];
    const int i = blockIdx.x * WIDE + threadIdx.x;
    s[threadIdx.x + 1] = b[i + FAR];
    s[threadIdx.x + WIDE / 2] += 1.0f;
    __syncthreads();
    if (i < n - LESS)
        a[i] = OPERATION(s[threadIdx.x], s[threadIdx.x + 2]) * FACTOR;
}
"""
PLAIN = {"WIDE": "64", "FAR": "3", "LESS": "100", "OPERATION": "fmaxf", "FACTOR": "1.5f"}

needs_nvdisasm = pytest.mark.skipif(disassembly.find_nvdisasm() is None, reason="there is no nvdisasm here")


def compiled(**changed: str) -> Program:
    return compile_program(SOURCE, defines=PLAIN | changed)


def code(program: Program) -> bytes:
    assert program.cubin is not None
    return without_numbers(program.cubin)


@pytest.mark.parametrize(
    "changed", [{"WIDE": "256"}, {"FAR": "700"}, {"LESS": "77"}, {"FACTOR": "2.25f"}], ids=str
)
def test_other_numbers_leave_it_the_same(changed: Mapping[str, str]) -> None:
    one, other = compiled(), compiled(**changed)
    assert one.cubin != other.cubin
    assert code(one) == code(other)


@pytest.mark.parametrize(
    "changed",
    [{"OPERATION": "fminf"}, {"OPERATION": "__fdividef"}, {"FACTOR": "b[n]"}, {"LESS": "n / 2 + n"}],
    ids=str,
)
def test_other_instructions_do_not(changed: Mapping[str, str]) -> None:
    assert code(compiled()) != code(compiled(**changed))


def test_other_lines_do_not() -> None:
    lower = compile_program("\n" + SOURCE, defines=PLAIN)
    assert code(compiled()) != code(lower)


@needs_nvdisasm
def test_what_is_known_of_one_serves_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = compiled(), compiled(WIDE="256", FAR="700")
    known = machine_code(first, "k")
    own = machine_code(second, "k")
    assert known is not None
    assert own is not None

    def forbidden(_: bytes) -> str:
        raise AssertionError("the disassembler ran")

    monkeypatch.setattr(disassembly, "_disassemble", forbidden)
    assert machine_code(second, "k") == own
    third = compiled(WIDE="128", FAR="701")
    served = machine_code(third, "k", numbers=False)
    assert served is not None
    assert essence(served) == essence(own)
    with pytest.raises(AssertionError, match="ran"):
        machine_code(third, "k")


def essence(code: MachineCode) -> object:
    """What a model is given of it."""
    assert [one.opcode for one in code.instructions]
    steps = [block.steps for block in machine_blocks(code, [])]
    return steps, [(block.targets, block.calls) for block in code.blocks]
