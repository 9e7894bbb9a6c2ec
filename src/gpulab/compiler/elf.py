"""Reader of sections and symbols of ELF files (System V ABI, chapter 4).

NVIDIA's cubins are ELF files, and so is the code that LLVM generates on Linux.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Section", "defined_symbols", "sections", "undefined_symbols"]

SHT_SYMTAB, SHT_NOBITS = 2, 8  # section types: symbol table, and one without contents in the file


@dataclass(frozen=True)
class Section:
    """A section of an ELF file."""

    name: str
    kind: int  # sh_type
    size: int  # in bytes
    contents: bytes  # b"" for a section of type SHT_NOBITS
    link: int  # sh_link: the index of a related section


def sections(elf: bytes) -> Iterator[Section]:
    """Yield the sections of a 64-bit little-endian ELF file, in their order; none if it is malformed."""
    if elf[:6] != b"\x7fELF\x02\x01":
        return
    try:
        (table,) = struct.unpack_from("<Q", elf, 40)
        entry_size, count, names_index = struct.unpack_from("<HHH", elf, 58)
        headers = [struct.unpack_from("<IIQQQQI", elf, table + i * entry_size) for i in range(count)]
        names = headers[names_index][4]
        for name_at, kind, _, _, start, size, link in headers:
            at = names + name_at
            contents = b"" if kind == SHT_NOBITS else elf[start : start + size]
            yield Section(elf[at : elf.index(b"\0", at)].decode(errors="replace"), kind, size, contents, link)
    except (struct.error, OverflowError, ValueError, IndexError):
        return


def undefined_symbols(elf: bytes) -> list[str]:
    """Return the names of the symbols that the file uses and does not define."""
    return [name for name, section in _symbols(elf) if section == 0]


def defined_symbols(elf: bytes) -> list[str]:
    """Return the names of the symbols that the file defines."""
    return [name for name, section in _symbols(elf) if section]


def _symbols(elf: bytes) -> Iterator[tuple[str, int]]:
    """Yield the names of symbols and the indices of their sections."""
    all_sections = list(sections(elf))
    for table in all_sections:
        if table.kind != SHT_SYMTAB:
            continue
        names = all_sections[table.link].contents
        for name_at, _, _, section, _, _ in struct.iter_unpack("<IBBHQQ", table.contents):
            if name_at:
                yield names[name_at : names.index(b"\0", name_at)].decode(), section
