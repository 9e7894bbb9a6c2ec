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


TENSOR_PRODUCTS = """
#define PRODUCT(form, d, a, b) \\
    asm volatile("mma.sync.aligned." form " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \\
        : "+" d(x[0]), "+" d(x[1]), "+" d(x[2]), "+" d(x[3]) \\
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#define SMALL(form, d, a, b) \\
    asm volatile("mma.sync.aligned." form " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};" \\
        : "+" d(x[0]), "+" d(x[1]), "+" d(x[2]), "+" d(x[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]))
#define HALF(form, d, a, b) \\
    asm volatile("mma.sync.aligned." form " {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};" \\
        : "+" d(x[0]), "+" d(x[1]) \\
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
extern "C" __global__ void k(TYPE* x, const unsigned* a, const unsigned* b) { SHAPE(FORM, LETTER, a, b); }
"""


@needs_nvdisasm
@pytest.mark.parametrize("arch", [80, 90])
@pytest.mark.parametrize(
    ("shape", "letter", "form"),
    [
        ("PRODUCT", "f", "m16n8k16.row.col.f32.f16.f16.f32"),
        ("PRODUCT", "f", "m16n8k16.row.col.f32.bf16.bf16.f32"),
        ("PRODUCT", "f", "m16n8k8.row.col.f32.tf32.tf32.f32"),
        ("SMALL", "f", "m16n8k4.row.col.f32.tf32.tf32.f32"),
        ("SMALL", "f", "m16n8k8.row.col.f32.f16.f16.f32"),
        ("HALF", "r", "m16n8k16.row.col.f16.f16.f16.f16"),
        ("PRODUCT", "r", "m16n8k32.row.col.s32.s8.s8.s32"),
        ("PRODUCT", "r", "m16n8k32.row.col.satfinite.s32.u8.s8.s32"),
        ("SMALL", "r", "m16n8k16.row.col.s32.s8.u8.s32"),
    ],
)
def test_decoded_tensor_products_are_those_of_nvdisasm(shape: str, letter: str, form: str, arch: int) -> None:
    kind = "float" if letter == "f" else "unsigned"
    defines = {"SHAPE": shape, "LETTER": f'"{letter}"', "FORM": f'"{form}"', "TYPE": kind}
    program = compile_program(TENSOR_PRODUCTS, arch=arch, defines=defines)
    decoded, expected = decoded_code(program, "k"), disassembled_code(program, "k")
    assert decoded is not None
    assert expected is not None
    products = [
        [item.opcode for item in code.instructions if item.op in ("HMMA", "IMMA")]
        for code in (decoded, expected)
    ]
    assert products[0] == products[1] != []
    assert [counted(i) for i in decoded.instructions] == [counted(i) for i in expected.instructions]


@needs_nvdisasm
def test_tensor_products_of_doubles_are_not_decoded() -> None:
    program = compile_program(
        'extern "C" __global__ void k(double* x) { asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 '
        '{%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(x[0]), "+d"(x[1]) : "d"(x[2]), "d"(x[3])); }'
    )
    assert decoded_code(program, "k") is None


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
