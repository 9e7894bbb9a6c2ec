"""Machine code, parsed from nvdisasm's output and disassembled from a compiled program."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpulab.compiler import compile_program, ptx_program
from gpulab.compiler.program import Program
from gpulab.compiler.sass import disassembly
from gpulab.compiler.sass.disassembly import disassembled_code, parse_disassembly
from gpulab.compiler.sass.sass_code import MachineCode, MachineInstruction

# The output of nvdisasm for a loop that contains a call, shortened.
TEXT = """\
\t.target\tsm_90


//--------------------- .text.walk --------------------------
\t.section\t.text.walk,"ax",@progbits
\t.align\t128
walk:
.text.walk:
\t//## File "/gpulab/cell.cu", line 3
\t//## File ".nv_debug_ptx_txt", line 25
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_1:
\t//## File "/gpulab/cell.cu", line 5
\t//## File ".nv_debug_ptx_txt", line 40
        /*0010*/              @!P1 LDS.128 R4, [R2+0x10] ;
        /*0020*/                   BSSY B0, `(.L_x_2) ;
        /*0030*/              @!P0 BRA `(.L_x_2) ;
        /*0040*/                   CALL.REL.NOINC `($walk$slow) ;
.L_x_2:
        /*0050*/                   BSYNC B0 ;
\t//## File "/other.h", line 9
\t//## File ".nv_debug_ptx_txt", line 44
        /*0060*/               @P2 BRA `(.L_x_1) ;
        /*0070*/                   EXIT ;
        .weak           $walk$slow
$walk$slow:
        /*0080*/                   RET.REL.NODEC R8 `(walk) ;
.L_x_3:
        /*0090*/                   BRA `(.L_x_3);
        /*00a0*/                   NOP;
        /*00b0*/                   NOP;
.L_x_4:
"""

SOURCE = """\
extern "C" __global__ void twice(const float* in, float* out, int n)
{
    __shared__ float part[32];
    const int t = threadIdx.x;
    part[t] = in[t];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += part[31 - t] * in[k];
    out[t] = sum;
}
extern "C" __global__ void nothing(float*) {}
"""

needs_nvdisasm = pytest.mark.skipif(disassembly.find_nvdisasm() is None, reason="nvdisasm is not installed")


@pytest.fixture(scope="module")
def walk() -> MachineCode:
    [(name, instructions)] = parse_disassembly(TEXT)
    return MachineCode(name, tuple(instructions))


@pytest.fixture(scope="module")
def program() -> Program:
    return compile_program(SOURCE)


@pytest.fixture(scope="module")
def twice(program: Program) -> MachineCode:
    code = disassembled_code(program, "twice")
    assert code is not None
    return code


def at(code: MachineCode, offset: int) -> MachineInstruction:
    return next(item for item in code.instructions if item.offset == offset)


def test_section_is_named_after_its_kernel(walk: MachineCode) -> None:
    assert walk.name == "walk"


def test_padding_after_the_end_is_left_out(walk: MachineCode) -> None:
    assert walk.instructions[-1].opcode == "RET.REL.NODEC"


def test_opcode_includes_its_modifiers(walk: MachineCode) -> None:
    assert at(walk, 0x10).opcode == "LDS.128"


def test_width_of_a_load_is_in_bytes(walk: MachineCode) -> None:
    assert at(walk, 0x10).width == 16


def test_predicate_includes_its_negation(walk: MachineCode) -> None:
    assert at(walk, 0x10).predicate == "@!P1"


def test_source_line_applies_until_the_next_one(walk: MachineCode) -> None:
    assert [at(walk, offset).line for offset in (0x00, 0x10, 0x50)] == [3, 5, 5]


def test_ptx_line_applies_until_the_next_one(walk: MachineCode) -> None:
    assert [at(walk, offset).ptx_line for offset in (0x00, 0x50, 0x70)] == [25, 40, 44]


def test_line_of_another_file_is_not_a_source_line(walk: MachineCode) -> None:
    assert at(walk, 0x60).line == 0


def test_jump_has_the_offset_of_its_target(walk: MachineCode) -> None:
    assert at(walk, 0x60).targets == (0x10,)


def test_blocks_start_at_jump_targets_and_after_jumps(walk: MachineCode) -> None:
    assert [block.instructions[0].offset for block in walk.blocks] == [0x00, 0x10, 0x40, 0x50, 0x70, 0x80]


def test_conditional_jump_has_two_targets(walk: MachineCode) -> None:
    assert walk.blocks[1].targets == (2, 3)


def test_exit_has_no_targets(walk: MachineCode) -> None:
    assert walk.blocks[4].targets == ()


def test_call_continues_after_itself(walk: MachineCode) -> None:
    assert (walk.blocks[2].targets, walk.blocks[2].calls) == ((3,), 5)


def test_bssy_does_not_end_its_block(walk: MachineCode) -> None:
    assert at(walk, 0x20).targets == (0x50,)
    assert walk.blocks[0].targets == (1,)


@needs_nvdisasm
def test_every_instruction_has_a_ptx_line(twice: MachineCode) -> None:
    assert all(item.ptx_line for item in twice.instructions)


@needs_nvdisasm
def test_ptx_line_of_a_load_is_a_load(program: Program, twice: MachineCode) -> None:
    lines = program.ptx.split("\n")
    loads = [item for item in twice.instructions if item.op in ("LDG", "LDS")]
    assert loads
    assert all("\tld." in lines[load.ptx_line - 1] for load in loads)


@needs_nvdisasm
def test_barrier_has_its_source_line(twice: MachineCode) -> None:
    assert [item.line for item in twice.instructions if item.op == "BAR"] == [6]


@needs_nvdisasm
def test_machine_code_returns_the_named_kernel(program: Program) -> None:
    code = disassembled_code(program, "nothing")
    assert code is not None
    assert {item.op for item in code.instructions} <= {"LDC", "EXIT"}


@needs_nvdisasm
def test_mangled_kernel_is_found_by_its_plain_name() -> None:
    program = compile_program("__global__ void plain(float* a) { a[threadIdx.x] = 1.0f; }")
    code = disassembled_code(program, "plain")
    assert code is not None
    assert "STG" in {item.op for item in code.instructions}


def test_program_loaded_as_ptx_has_no_machine_code() -> None:
    ptx = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n"
    assert disassembled_code(ptx_program(ptx), "k") is None


def test_machine_code_without_nvdisasm_is_none(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disassembly, "find_nvdisasm", lambda: None)
    monkeypatch.setattr(disassembly, "kernel_cache", lambda: None)
    assert disassembled_code(program, "twice") is None


def test_machine_code_is_none_if_nvdisasm_fails(
    program: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "nvdisasm"
    broken.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    broken.chmod(0o755)
    monkeypatch.setattr(disassembly, "find_nvdisasm", lambda: str(broken))
    monkeypatch.setattr(disassembly, "kernel_cache", lambda: None)
    assert disassembled_code(program, "twice") is None
