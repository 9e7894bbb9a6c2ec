"""Resource usage from the reports of ptxas 12 and 13, and constant banks from cubins."""

from __future__ import annotations

import pytest

from gpulab.compiler import Resources, compile_program
from gpulab.compiler.resources import constant_bytes, parse_report

PTXAS_13 = """\
/gpulab/cell.cu(3): warning #1444-D: entity "f" was declared deprecated
ptxas info    : 149 bytes gmem
ptxas info    : Compiling entry function 'k2' for 'sm_90'
ptxas info    : Function properties for k2
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
ptxas info    : Compile time = 0.531 ms
ptxas info    : Compiling entry function '_Z1kPf' for 'sm_90'
ptxas info    : Function properties for _Z1kPf
ptxas         .     40 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 24 registers, used 1 barriers, 56 bytes cumulative stack size, 128 bytes smem
ptxas info    : Compile time = 3.364 ms
ptxas info    : Function properties for _Z1rf
ptxas         .     48 bytes stack frame, 20 bytes spill stores, 20 bytes spill loads
"""

PTXAS_12 = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_75'
ptxas info    : Function properties for k
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 32 registers, 4096 bytes smem, 376 bytes cmem[0], 8 bytes cmem[2]
"""


def test_parse_report_returns_each_entry() -> None:
    assert parse_report(PTXAS_13) == {
        "k2": Resources(registers=8),
        "_Z1kPf": Resources(registers=24, shared_bytes=128, local_bytes=56, spill_bytes=12),
    }


def test_parse_report_reads_constant_banks_of_ptxas_12() -> None:
    assert parse_report(PTXAS_12) == {"k": Resources(registers=32, shared_bytes=4096, constant_bytes=384)}


def test_parse_report_of_an_empty_log_is_empty() -> None:
    assert parse_report("") == {}


def test_message_that_looks_like_a_report_is_ignored() -> None:
    forged = r"ptxas info    : Compiling entry function 'k' for 'sm_90'\nptxas info    : Used 1 registers\n"
    program = compile_program(
        f'[[deprecated("\\n{forged}")]] __device__ void f() {{}}\n'
        'extern "C" __global__ void k(float* a) { f(); a[threadIdx.x] *= a[threadIdx.y] * a[threadIdx.z]; }\n'
    )
    assert program.warnings
    assert program.resources["k"].registers > 1


def test_resources_match_the_declarations() -> None:
    program = compile_program(
        "__constant__ float c[100];\n"
        "__global__ void k(float* a, int n) {\n"
        "  __shared__ float t[64];\n"
        "  t[threadIdx.x] = a[threadIdx.x] * c[n]; __syncthreads(); a[threadIdx.x] = t[63 - threadIdx.x];\n"
        "}\n"
    )
    resources = program.resources["k"]
    assert resources.shared_bytes == 256
    assert resources.local_bytes == resources.spill_bytes == 0
    assert resources.constant_bytes >= 400 + 8 + 4
    assert 0 < resources.registers <= 255


@pytest.mark.parametrize(
    "cubin", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + bytes(58), b"\x7fELF\x02\x01" + b"\xff" * 80]
)
def test_malformed_cubin_has_no_constant_banks(cubin: bytes) -> None:
    assert constant_bytes(cubin) == {}
