"""Machine code that is decoded without nvdisasm, against nvdisasm's output."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpulab.compiler import compile_program
from gpulab.compiler.elf import sections
from gpulab.compiler.sass import disassembly
from gpulab.compiler.sass.decoding import decode, decoded_code
from gpulab.compiler.sass.disassembly import disassembled_code
from gpulab.compiler.sass.sass_code import MachineInstruction

SOURCE = """
__device__ __noinline__ float root(float x) { return sqrtf(x) / (x + 3.0f); }
extern "C" __global__ void mixed(const float* in, double* out, short* half, float4* wide, int n)
{
    __shared__ float part[64];
    int t = threadIdx.x;
    part[t] = in[t];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < n; ++k) {
        if (part[k & 63] > sum) sum += root(part[63 - t] * in[k]);
        else if (__any_sync(~0u, sum > 3)) sum -= __shfl_xor_sync(~0u, sum, 1);
    }
    atomicAdd(&part[t & 7], sum);
    half[t] = (short)(sum / n);
    wide[t] = make_float4(sum, part[t], n % (t + 1), __popc(t));
    out[t] = sin((double)sum) / n;
}
extern "C" __global__ void nothing(float*) {}
"""
needs_nvdisasm = pytest.mark.skipif(disassembly.find_nvdisasm() is None, reason="nvdisasm is not installed")
JUMPS = ("BRA", "CALL", "BSSY")
MEMORY = ("LDG", "STG", "LDS", "STS", "LDL", "STL", "LD", "ST")


def counted(item: MachineInstruction) -> tuple[object, ...]:
    """Return the parts of an instruction on which counts and modelled times depend."""
    return (
        item.offset, item.op, item.predicate.replace("UP", "P"), item.line, item.ptx_line, item.conditional,
        item.ends, item.targets if item.op in JUMPS else (), item.width if item.op in MEMORY else 0,
        item.control,
    )  # fmt: skip


@needs_nvdisasm
@pytest.mark.parametrize("arch", [75, 80, 90])
def test_decoded_instructions_are_those_of_nvdisasm(arch: int) -> None:
    program = compile_program(SOURCE, arch=arch)
    for name in ("mixed", "nothing"):
        decoded, expected = decoded_code(program, name), disassembled_code(program, name)
        assert decoded is not None
        assert expected is not None
        assert [counted(i) for i in decoded.instructions] == [counted(i) for i in expected.instructions]
        assert [(b.targets, b.calls) for b in decoded.blocks] == [
            (b.targets, b.calls) for b in expected.blocks
        ]


def test_code_with_an_unknown_instruction_is_not_decoded() -> None:
    program = compile_program(SOURCE)
    assert program.cubin is not None
    (text,) = [s.contents for s in sections(program.cubin) if s.name == ".text.mixed"]
    unknown = program.cubin.replace(text, b"\xff\xff" + text[2:])
    assert decoded_code(replace(program, cubin=unknown), "mixed") is None


@pytest.mark.parametrize("body", ["switch", "other architecture", "no machine code"])
def test_programs_that_are_not_decoded(body: str) -> None:
    cases = " ".join(f"case {n}: x[{n}] = x[{n + 1}] * {n}; break;" for n in range(12))
    program = compile_program(f'extern "C" __global__ void k(int* x, int n) {{ switch (n) {{ {cases} }} }}')
    assert program.cubin is not None
    if body == "switch":  # a jump through a table
        assert decoded_code(program, "k") is None
    elif body == "other architecture":
        assert decode(program.cubin, 100) is None
    else:
        assert decoded_code(replace(program, cubin=None), "k") is None
