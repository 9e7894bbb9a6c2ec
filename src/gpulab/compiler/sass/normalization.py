"""Machine code without immediate operands, which compares equal for kernels that differ only in constants.

A kernel that is compiled for another block size often has the same machine code except for immediates. These
occupy a few fields of the 128 bits of an instruction (since compute capability 7.0; the fields were found by
compiling kernels with different constants): arithmetic has a 32-bit immediate in bits 32 to 63 if bits 9 to
11 say so, a memory access has its offset in bits 40 to 63, and LEA has its shift in bits 75 to 79. Bits 105
to 127 are control bits of the scheduler (Z. Jia et al., Dissecting the NVIDIA Volta GPU Architecture via
Microbenchmarking, 2018).
"""

from __future__ import annotations

import numpy as np

from gpulab.compiler.elf import sections

__all__ = ["without_immediates"]

LINE_TABLES = (".debug_line", ".nv_debug_line_sass")  # source line and PTX line of each instruction

OPERATION, FORM_SHIFT = 0x1FF, 9  # opcode in bits 0 to 8, operand form from bit 9
IMMEDIATE_FORMS = (2, 4)  # forms of arithmetic with an immediate operand
ARITHMETIC_END = 0x100  # opcodes below it are arithmetic
MEMORY = (0x180, 0x1C0)  # range of the opcodes of memory accesses
LEA = (0x011, 0x091)


def without_immediates(cubin: bytes) -> bytes:
    """Return the machine code and line tables of all kernels, with immediates and control bits set to zero.

    Two cubins with equal results have the same instructions, registers, jumps and line numbers.
    """
    parts = []
    for section in sections(cubin):
        if section.name.startswith(".text."):
            parts += [section.name.encode(), _clear_immediates(section.contents)]
        elif section.name in LINE_TABLES:
            parts += [section.name.encode(), section.contents]
    return b"\0".join(parts)


def _clear_immediates(code: bytes) -> bytes:
    words = np.frombuffer(code[: len(code) // 16 * 16], np.uint32).reshape(-1, 4).copy()
    operation, form = words[:, 0] & OPERATION, words[:, 0] >> FORM_SHIFT & 7
    words[np.isin(form, IMMEDIATE_FORMS) & (operation < ARITHMETIC_END), 1] = 0
    words[(operation >= MEMORY[0]) & (operation < MEMORY[1]), 1] &= np.uint32(0xFF)
    words[np.isin(operation, LEA), 2] &= np.uint32(0xFFFF07FF)
    words[:, 3] &= np.uint32(0x1FF)
    return words.tobytes()
