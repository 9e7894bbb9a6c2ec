"""The machine code of a kernel without operands: opcodes, widths, predicates, jumps and their schedule.

nvdisasm takes 0.2 to 0.4 s to start. Counts of machine instructions and the performance model need no
operands, so the code is taken from the 128 bits of each instruction (since compute capability 7.0):

- bits 0 to 11: the opcode; `opcodes.toml` has its name,
- bits 12 to 15: the predicate, and whether it is negated,
- bits 34 to 81: the distance of a jump in units of 4 bytes, of which sm_90 keeps the low 8 bits in bits 16 to
  23,
- bits 73 to 75: the width of a memory access,
- bits 72 to 86: size and types of a product of tensor cores,
- bits 87 to 90: a second predicate of a branch,
- bits 105 to 125: how the assembler scheduled it; see `Control`.

`tests/compiler/sass/test_decoding.py` compares the result with nvdisasm.
"""

from __future__ import annotations

import struct
import tomllib
from functools import cache
from importlib import resources
from itertools import product

from gpulab.compiler.elf import sections
from gpulab.compiler.nvrtc import FILE_NAME
from gpulab.compiler.program import Program
from gpulab.compiler.sass.disassembly import disassembled_code
from gpulab.compiler.sass.line_tables import LineTable, line_tables
from gpulab.compiler.sass.sass_code import Control, MachineCode, MachineInstruction, without_padding

__all__ = ["decode", "decoded_code", "machine_code"]

ARCHITECTURES = range(75, 91)  # compute capabilities that `opcodes.toml` was compared for
BYTES = 16  # size of an instruction
TRUE_PREDICATE = 7
WIDTHS = (
    "U8",
    "S8",
    "U16",
    "S16",
    "",
    "64",
    "128",
)  # modifiers of a memory access, by the value of its field
MEMORY = frozenset(("LD", "LDG", "LDL", "LDS", "ST", "STG", "STL", "STS"))
RELATIVE = frozenset(("BRA", "CALL", "BSSY"))
RELATIVE_CALL = 0x944  # a call whose distance is a part of the instruction
UNKNOWN_TARGETS = frozenset(("BRX", "BRXU", "JMP", "JMX", "JMXU"))
TENSOR_PRODUCTS = frozenset(("HMMA", "IMMA", "DMMA", "BMMA"))  # their size and types are modifiers
FIRST_TENSOR_ARCHITECTURE = 80
# Modifiers of tensor products since this compute capability, by bits 72 to 86; an instruction has one of each
# group. Other values of these bits, such as those of sparse matrices, are left to nvdisasm.
TENSOR_MODIFIERS = {
    0x23C: (  # HMMA
        {0x0000: "1688", 0x0008: "16816", 0x0040: "1684"},
        {0x0000: "F16", 0x0010: "F32"},
        {0x0000: "", 0x0400: "BF16", 0x0800: "TF32"},
    ),
    0x237: (  # IMMA
        {0x0004: "8816", 0x4004: "16816", 0x400C: "16832"},
        {0x0000: "U8", 0x0010: "S8"},
        {0x0000: "U8", 0x0040: "S8"},
        {0x0000: "", 0x0400: "SAT"},
    ),
}
BRANCH_FORMS = ("", "U", "DIV", "CONV")
PRODUCT_FORMS = {0x25: "WIDE", 0x27: "HI"}  # modifiers of IMAD, by bits 0 to 7


def machine_code(program: Program, name: str) -> MachineCode | None:
    """Return the machine code of a kernel, from nvdisasm where it cannot be decoded.

    Returns None if the program has none, or if nvdisasm is needed and not installed. Only nvdisasm gives
    operands.
    """
    return decoded_code(program, name) or disassembled_code(program, name)


def decoded_code(program: Program, name: str) -> MachineCode | None:
    """Return the machine code of a kernel without operands.

    Returns None if the program has none, or if nvdisasm has to be used; see `decode`.
    """
    if program.cubin is None:
        return None
    instructions = (decode(program.cubin, program.arch) or {}).get(program.entry(name))
    return None if instructions is None else MachineCode(name, tuple(instructions))


def decode(cubin: bytes, architecture: int) -> dict[str, list[MachineInstruction]] | None:
    """Return the instructions of each kernel by its name in the cubin.

    An instruction has no operands, except for the second predicate of a branch. Returns None if an
    instruction is not known, or if its targets or the types of its tensor product are not in its bits.
    """
    if architecture not in ARCHITECTURES:
        return None
    all_sections = list(sections(cubin))
    try:
        sources = line_tables(all_sections, ".debug_line")
        ptx = line_tables(all_sections, ".nv_debug_line_sass")
    except (ValueError, IndexError, struct.error):
        return None

    decoded = {}
    for section in all_sections:
        if section.name.startswith(".text."):
            tables = sources.get(section.name), ptx.get(section.name)
            instructions = _instructions(section.contents, architecture, *tables)
            if instructions is None:
                return None
            decoded[section.name.removeprefix(".text.")] = instructions
    return decoded


def _instructions(
    code: bytes, architecture: int, source: LineTable | None, ptx: LineTable | None
) -> list[MachineInstruction] | None:
    names, instructions = _opcodes(later=architecture >= 90), []
    for offset in range(0, len(code) // BYTES * BYTES, BYTES):
        low, high = struct.unpack_from("<QQ", code, offset)
        number = low & 0xFFF
        op = names.get(number)
        if op is None or op in UNKNOWN_TARGETS:
            return None

        modifiers, operands = "", ""
        targets: tuple[int, ...] = ()
        if op in MEMORY:
            width = high >> 9 & 7
            if width >= len(WIDTHS):
                return None
            modifiers = WIDTHS[width]
        elif op in TENSOR_PRODUCTS:
            modifiers = _tensor_modifiers().get((number, high >> 8 & 0x7FFF), "")
            if not modifiers or architecture < FIRST_TENSOR_ARCHITECTURE:
                return None
        elif op in RELATIVE and (op != "CALL" or number == RELATIVE_CALL):
            wide = architecture >= 90 and op != "BSSY"
            targets = (offset + BYTES + 4 * _distance(low, high, wide=wide),)

        if op == "IMAD":
            modifiers = PRODUCT_FORMS.get(number & 0xFF, "")
        elif op == "BRA":
            modifiers = BRANCH_FORMS[low >> 32 & 3]
            operands = _predicate(high >> 23 & 7, high >> 26 & 1)

        file, line = source.place(offset) if source is not None else ("", 0)
        predicate = _predicate(low >> 12 & 7, low >> 15 & 1)
        instructions.append(
            MachineInstruction(
                offset,
                f"{op}.{modifiers}" if modifiers else op,
                f"@{predicate}" if predicate else "",
                operands,
                line if file == FILE_NAME else 0,
                ptx.place(offset)[1] if ptx is not None else 0,
                targets,
                Control.decode(code[offset : offset + BYTES]),
            )
        )
    return without_padding(instructions)


def _predicate(number: int, negated: int) -> str:
    """Return a predicate as nvdisasm prints it; "" for the one that is always true."""
    if number == TRUE_PREDICATE and not negated:
        return ""
    return f"{'!' * negated}P{'T' if number == TRUE_PREDICATE else number}"


def _distance(low: int, high: int, *, wide: bool) -> int:
    """Return the signed distance of a jump in units of 4 bytes."""
    field = (low >> 34 | high << 30) & (1 << 48) - 1
    if wide:
        field = (field << 8 | low >> 16 & 0xFF) & (1 << 48) - 1
    return field - (1 << 48) if field >> 47 else field


@cache
def _tensor_modifiers() -> dict[tuple[int, int], str]:
    """Return the modifiers of a tensor product by its opcode and bits 72 to 86."""
    return {
        (opcode, sum(bits for bits, _ in chosen)): ".".join(name for _, name in chosen if name)
        for opcode, groups in TENSOR_MODIFIERS.items()
        for chosen in product(*(group.items() for group in groups))
    }


@cache
def _opcodes(*, later: bool) -> dict[int, str]:
    """Return the names of the opcodes by their bits, for sm_90 (`later`) or for architectures before it."""
    text = resources.files("gpulab.compiler.sass").joinpath("opcodes.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    return {
        number: name
        for table in ("opcodes", "from_sm_90" if later else "before_sm_90")
        for name, numbers in tables[table].items()
        for number in numbers
    }
