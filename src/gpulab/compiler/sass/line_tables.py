"""Reader of the line tables of a cubin: the sections `.debug_line` and `.nv_debug_line_sass`.

Both are line number programs of DWARF (DWARF 3, section 6.2). The first one maps addresses of machine code to
lines of the source, the second one to lines of the PTX. Relocations (System V ABI, chapter 4) name the
section of the kernel to which a sequence of rows belongs.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

from gpulab.compiler.elf import SHT_SYMTAB, Section

__all__ = ["LineTable", "line_tables"]

# Standard opcodes with operands that are not all LEB128 numbers, and the extended opcodes that are used.
COPY, ADVANCE_PC, ADVANCE_LINE, SET_FILE, CONST_ADD_PC, FIXED_ADVANCE_PC = 1, 2, 3, 4, 8, 9
END_SEQUENCE, SET_ADDRESS = 1, 2
SHT_RELA, SHT_REL = 4, 9  # section types: relocations with addends, and without


@dataclass
class LineTable:
    """The rows of one section of machine code.

    Attributes
    ----------
    rows : list of (int, str, int)
        Address, file and line, sorted by address.
    """

    rows: list[tuple[int, str, int]]

    def place(self, address: int) -> tuple[str, int]:
        """Return the file and the line of an instruction; ("", 0) if there is none."""
        number = bisect_right(self._addresses, address)
        return self.rows[number - 1][1:] if number else ("", 0)

    @cached_property
    def _addresses(self) -> list[int]:
        return [address for address, _, _ in self.rows]


def line_tables(all_sections: list[Section], name: str) -> dict[str, LineTable]:
    """Return the line table of each section of machine code from a section such as `.debug_line`.

    Raises `ValueError`, `IndexError` or `struct.error` if the section is malformed.
    """
    by_name = {section.name: section for section in all_sections}
    if name not in by_name:
        return {}
    data, targets = by_name[name].contents, _relocated_sections(all_sections, name)
    tables: dict[str, LineTable] = defaultdict(lambda: LineTable([]))
    at = 0
    while at + 4 <= len(data):
        (length,) = struct.unpack_from("<I", data, at)
        _read_program(data, at, at + 4 + length, targets, tables)
        at += 4 + length
    for table in tables.values():
        table.rows.sort(key=lambda row: row[0])
    return dict(tables)


def _relocated_sections(all_sections: list[Section], name: str) -> dict[int, str]:
    """Return the names of the sections to which a section's addresses refer, by position in it."""
    symbols = next((s for s in all_sections if s.kind == SHT_SYMTAB), None)
    kinds = {f".rela{name}": (SHT_RELA, "<QQq"), f".rel{name}": (SHT_REL, "<QQ")}
    targets: dict[int, str] = {}
    if symbols is None:
        return targets
    indices = [section for _, _, _, section, _, _ in struct.iter_unpack("<IBBHQQ", symbols.contents)]
    for section in all_sections:
        kind, entry = kinds.get(section.name, (-1, ""))
        if section.kind == kind:
            for position, info, *_ in struct.iter_unpack(entry, section.contents):
                targets[position] = all_sections[indices[info >> 32]].name
    return targets


def _read_program(
    data: bytes, start: int, end: int, targets: dict[int, str], tables: dict[str, LineTable]
) -> None:
    """Execute one line number program and append its rows to the tables."""
    version, header_length = struct.unpack_from("<HI", data, start + 4)
    if version not in (2, 3):
        raise ValueError(f"line tables of DWARF {version}")
    minimum, _, line_base, line_range, opcode_base = struct.unpack_from("<BBbBB", data, start + 10)
    operands = data[start + 15 : start + 14 + opcode_base]
    files = _files(data, start + 14 + opcode_base)

    at = start + 10 + header_length
    section, address, file, line = "", 0, 1, 1
    while at < end:
        opcode = data[at]
        at += 1
        if opcode >= opcode_base:
            advance, step = divmod(opcode - opcode_base, line_range)
            address, line = address + advance * minimum, line + line_base + step
            tables[section].rows.append((address, files.get(file, ""), line))
        elif opcode == 0:
            size, at = _unsigned(data, at)
            if data[at] == SET_ADDRESS:
                section, (address,) = targets.get(at + 1, ""), struct.unpack_from("<Q", data, at + 1)
            elif data[at] == END_SEQUENCE:
                section, address, file, line = "", 0, 1, 1
            at += size
        elif opcode == COPY:
            tables[section].rows.append((address, files.get(file, ""), line))
        elif opcode == ADVANCE_PC:
            number, at = _unsigned(data, at)
            address += number * minimum
        elif opcode == ADVANCE_LINE:
            number, at = _signed(data, at)
            line += number
        elif opcode == SET_FILE:
            file, at = _unsigned(data, at)
        elif opcode == CONST_ADD_PC:
            address += (255 - opcode_base) // line_range * minimum
        elif opcode == FIXED_ADVANCE_PC:
            address, at = address + struct.unpack_from("<H", data, at)[0], at + 2
        else:
            for _ in range(operands[opcode - 1]):
                _, at = _unsigned(data, at)


def _files(data: bytes, at: int) -> dict[int, str]:
    """Return the names of the files in the header of a program, by number."""
    folders = [""]
    while data[at]:
        end = data.index(0, at)
        folders.append(data[at:end].decode(errors="replace"))
        at = end + 1
    at += 1
    files: dict[int, str] = {}
    while data[at]:
        end = data.index(0, at)
        name = data[at:end].decode(errors="replace")
        folder, at = _unsigned(data, end + 1)
        for _ in range(2):  # the time of its last change, and its size
            _, at = _unsigned(data, at)
        prefix = folders[folder]
        files[len(files) + 1] = f"{prefix.rstrip('/')}/{name}" if prefix else name
    return files


def _unsigned(data: bytes, at: int) -> tuple[int, int]:
    """Return an unsigned LEB128 number and the position after it."""
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return number, at


def _signed(data: bytes, at: int) -> tuple[int, int]:
    """Return a signed LEB128 number and the position after it."""
    start = at
    number, at = _unsigned(data, at)
    bits = 7 * (at - start)
    return (number - (1 << bits) if data[at - 1] & 0x40 else number), at
