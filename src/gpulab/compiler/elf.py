"""Object files in the ELF format, as far as gpulab looks into them (System V ABI, chapter 4).

NVIDIA's cubins are such files, and so is the code that LLVM makes on Linux.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Section", "sections", "undefined_symbols"]

SYMBOLS, NO_ROOM = 2, 8  # types of sections: the table of symbols, and one that takes no room in the file


@dataclass(frozen=True)
class Section:
    """size: in bytes; contents: b"" for a section that takes no room. link: the number of another section."""

    name: str
    kind: int
    size: int
    contents: bytes
    link: int


def sections(elf: bytes) -> Iterator[Section]:
    """The sections of a 64-bit little-endian file, in their order; none of what is no such file."""
    if elf[:6] != b"\x7fELF\x02\x01":
        return
    try:
        (table,) = struct.unpack_from("<Q", elf, 40)
        entry_size, count, names_index = struct.unpack_from("<HHH", elf, 58)
        headers = [struct.unpack_from("<IIQQQQI", elf, table + i * entry_size) for i in range(count)]
        names = headers[names_index][4]
        for name_at, kind, _, _, start, size, link in headers:
            at = names + name_at
            contents = b"" if kind == NO_ROOM else elf[start : start + size]
            yield Section(elf[at : elf.index(b"\0", at)].decode(errors="replace"), kind, size, contents, link)
    except (struct.error, OverflowError, ValueError, IndexError):
        return


def undefined_symbols(elf: bytes) -> list[str]:
    """Names that the file uses and does not define."""
    found = list(sections(elf))
    undefined = []
    for table in found:
        if table.kind != SYMBOLS:
            continue
        texts = found[table.link].contents
        for name_at, _, _, section, _, _ in struct.iter_unpack("<IBBHQQ", table.contents):
            if section == 0 and name_at:
                undefined.append(texts[name_at : texts.index(b"\0", name_at)].decode())
    return undefined
