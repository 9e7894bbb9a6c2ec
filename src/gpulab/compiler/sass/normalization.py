"""A cubin's machine code without the numbers that stand in it.

A kernel that is compiled for another block often has the same machine code but for some numbers. Those lie
in a few fields of the 128 bits of an instruction (since compute capability 7.0; as found by compiling
kernels with different numbers, and described in Z. Jia et al., Dissecting the NVIDIA Volta GPU Architecture
via Microbenchmarking, 2018, for the control bits): arithmetic holds a number of 32 bits in bits 32 to 63 if
bits 9 to 11 say so, an access to memory its offset in bits 40 to 63, a shift by LEA in bits 75 to 79; bits
105 to 127 tell the scheduler when to issue.
"""

from __future__ import annotations

import numpy as np

from gpulab.compiler.elf import sections

__all__ = ["without_numbers"]

LINES = (".debug_line", ".nv_debug_line_sass")  # which line of the source, and of PTX, an instruction serves

OPERATION, FORM_SHIFT = 0x1FF, 9
NUMBER_FORMS = (2, 4)
ARITHMETIC = 0x100  # operations below it
MEMORY = (0x180, 0x1C0)
LEA = (0x011, 0x091)


def without_numbers(cubin: bytes) -> bytes:
    """The machine code of all kernels and the lines it was made from, the numbers in it left out.

    Where two cubins have the same, their instructions, registers, jumps and lines are the same.
    """
    found = []
    for section in sections(cubin):
        if section.name.startswith(".text."):
            found += [section.name.encode(), _code_without_numbers(section.contents)]
        elif section.name in LINES:
            found += [section.name.encode(), section.contents]
    return b"\0".join(found)


def _code_without_numbers(code: bytes) -> bytes:
    words = np.frombuffer(code[: len(code) // 16 * 16], np.uint32).reshape(-1, 4).copy()
    operation, form = words[:, 0] & OPERATION, words[:, 0] >> FORM_SHIFT & 7
    words[np.isin(form, NUMBER_FORMS) & (operation < ARITHMETIC), 1] = 0
    words[(operation >= MEMORY[0]) & (operation < MEMORY[1]), 1] &= np.uint32(0xFF)
    words[np.isin(operation, LEA), 2] &= np.uint32(0xFFFF07FF)
    words[:, 3] &= np.uint32(0x1FF)
    return words.tobytes()
