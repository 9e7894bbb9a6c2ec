"""Machine code without immediates, which is equal for kernels that differ only in constants."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gpulab.compiler import Program, compile_program
from gpulab.compiler.sass import disassembly
from gpulab.compiler.sass.disassembly import machine_code
from gpulab.compiler.sass.normalization import without_immediates
from gpulab.compiler.sass.sass_code import MachineCode
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

needs_nvdisasm = pytest.mark.skipif(disassembly.find_nvdisasm() is None, reason="nvdisasm is not installed")


def compiled(**changed: str) -> Program:
    return compile_program(SOURCE, defines=PLAIN | changed)


def code(program: Program) -> bytes:
    assert program.cubin is not None
    return without_immediates(program.cubin)


@pytest.mark.parametrize(
    "changed", [{"WIDE": "256"}, {"FAR": "700"}, {"LESS": "77"}, {"FACTOR": "2.25f"}], ids=str
)
def test_kernels_with_other_constants_compare_equal(changed: Mapping[str, str]) -> None:
    plain, other = compiled(), compiled(**changed)
    assert plain.cubin != other.cubin
    assert code(plain) == code(other)


@pytest.mark.parametrize(
    "changed",
    [{"OPERATION": "fminf"}, {"OPERATION": "__fdividef"}, {"FACTOR": "b[n]"}, {"LESS": "n / 2 + n"}],
    ids=str,
)
def test_kernels_with_other_instructions_differ(changed: Mapping[str, str]) -> None:
    assert code(compiled()) != code(compiled(**changed))


def test_kernels_on_other_lines_differ() -> None:
    lower = compile_program("\n" + SOURCE, defines=PLAIN)
    assert code(compiled()) != code(lower)


@needs_nvdisasm
def test_cached_code_of_a_similar_kernel_needs_no_nvdisasm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = compiled(), compiled(WIDE="256", FAR="700")
    assert machine_code(first, "k") is not None
    own = machine_code(second, "k")
    assert own is not None

    monkeypatch.setattr(disassembly, "find_nvdisasm", lambda: None)
    assert machine_code(second, "k") == own
    third = compiled(WIDE="128", FAR="701")
    similar = machine_code(third, "k", immediates=False)
    assert similar is not None
    assert model_input(similar) == model_input(own)
    assert machine_code(third, "k") is None


def model_input(code: MachineCode) -> object:
    """Return the parts of the machine code that the performance model uses."""
    assert [item.opcode for item in code.instructions]
    operations = [block.operations for block in machine_blocks(code, [])]
    return operations, [(block.targets, block.calls) for block in code.blocks]
