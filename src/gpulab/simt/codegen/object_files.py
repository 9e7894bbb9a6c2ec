"""Merging of relocatable object files into one (ELF; System V ABI, chapter 4, for x86-64).

The result has the sections of all files. A symbol that one file uses and another one defines becomes one
symbol, as a linker's option `-r` does it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["merged"]

SHT_NULL, SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_NOBITS = 0, 2, 3, 4, 8  # types of sections
SHT_LLVM_ADDRSIG = 0x6FFF4C03  # refers to symbols by number, and is not needed
RESERVED_INDICES = 0xFF00  # section indices from here on have a special meaning, such as absolute symbols
HEADER, SECTION, SYMBOL = "<16sHHIQQQIHHHHHH", "<IIQQQQIIQQ", "<IBBHQQ"
RELOCATION = np.dtype([("position", "<u8"), ("type", "<u4"), ("symbol", "<u4"), ("addend", "<i8")])

_Symbol = tuple[bytes, int, int, int, int, int]  # name, and the rest of its entry in the table of symbols


@dataclass
class _Section:
    header: list[int]  # of the section in its file; sh_link and sh_info are replaced
    name: bytes
    contents: bytes


def merged(files: Sequence[bytes]) -> bytes:
    """Return one object file with the code and data of several."""
    sections = [_Section([0] * 10, b"", b"")]
    local: list[_Symbol] = []
    shared: dict[bytes, _Symbol] = {}
    relocated: list[tuple[list[int | bytes], list[tuple[int, int]]]] = []  # symbols and sections of each file
    for file in files:
        headers = _headers(file)
        numbers = _add_sections(file, headers, sections)
        symbols = _add_symbols(file, headers, numbers, local, shared)
        pairs = [(numbers[n], numbers[h[7]]) for n, h in enumerate(headers) if h[1] == SHT_RELA]
        relocated.append((symbols, pairs))

    names = {name: len(local) + 1 + number for number, name in enumerate(shared)}
    symbol_table, strings = len(sections), len(sections) + 1
    for symbols, pairs in relocated:
        indices = np.array([names[each] if isinstance(each, bytes) else each for each in symbols], np.uint32)
        for number, target in pairs:
            section = sections[number]
            entries = np.frombuffer(section.contents, RELOCATION).copy()
            entries["symbol"] = indices[entries["symbol"]]
            section.contents = entries.tobytes()
            section.header[6:8] = symbol_table, target
    return _file(files[0], sections, [*local, *shared.values()], len(local) + 1, strings)


def _headers(file: bytes) -> list[tuple[int, ...]]:
    (table,) = struct.unpack_from("<Q", file, 40)
    _, count, _ = struct.unpack_from("<HHH", file, 58)
    return [struct.unpack_from(SECTION, file, table + 64 * number) for number in range(count)]


def _add_sections(file: bytes, headers: list[tuple[int, ...]], sections: list[_Section]) -> dict[int, int]:
    """Append the sections of a file; return their new numbers."""
    (names_index,) = struct.unpack_from("<H", file, 62)
    names_at = headers[names_index][4]
    numbers = {0: 0}
    for old, header in enumerate(headers):
        if header[1] in (SHT_NULL, SHT_SYMTAB, SHT_STRTAB, SHT_LLVM_ADDRSIG):
            continue
        numbers[old] = len(sections)
        start = names_at + header[0]
        contents = b"" if header[1] == SHT_NOBITS else file[header[4] : header[4] + header[5]]
        sections.append(_Section(list(header), file[start : file.index(b"\0", start)], contents))
    return numbers


def _add_symbols(
    file: bytes,
    headers: list[tuple[int, ...]],
    numbers: dict[int, int],
    local: list[_Symbol],
    shared: dict[bytes, _Symbol],
) -> list[int | bytes]:
    """Add the symbols of a file; return for each its new number, or its name if several files share it."""
    table = next(header for header in headers if header[1] == SHT_SYMTAB)
    names_at = headers[table[6]][4]
    places: list[int | bytes] = []
    for number, symbol in enumerate(struct.iter_unpack(SYMBOL, file[table[4] : table[4] + table[5]])):
        name_at, info, other, section, value, size = symbol
        start = names_at + name_at
        name = file[start : file.index(b"\0", start)]
        section = numbers.get(section, 0) if section < RESERVED_INDICES else section
        if number == 0:
            places.append(0)
        elif info >> 4 == 0:
            # LLVM's loader finds symbols of constants by their names, which occur in several files.
            unique = b"%s.%d" % (name, len(local)) if name else b""
            local.append((unique, info, other, section, value, size))
            places.append(len(local))
        else:
            if name not in shared or shared[name][3] == 0:
                shared[name] = (name, info, other, section, value, size)
            places.append(name)
    return places


def _file(
    first: bytes,
    sections: list[_Section],
    symbols: list[_Symbol],
    locals_end: int,
    strings: int,
) -> bytes:
    """Return the file with these sections, a symbol table and a table of strings."""
    text, positions = bytearray(b"\0"), {b"": 0}

    def string(name: bytes) -> int:
        if name not in positions:
            positions[name] = len(text)
            text.extend(name + b"\0")
        return positions[name]

    rows = [bytes(24), *(struct.pack(SYMBOL, string(name), *rest) for name, *rest in symbols)]
    table = _Section([0, SHT_SYMTAB, 0, 0, 0, 0, strings, locals_end, 8, 24], b".symtab", b"".join(rows))
    last = _Section([0, SHT_STRTAB, 0, 0, 0, 0, 0, 0, 1, 0], b".strtab", b"")
    every = [*sections, table, last]
    starts = [string(section.name) for section in every]
    last.contents = bytes(text)

    body, headers = bytearray(64), []
    for section, name_at in zip(every, starts, strict=True):
        header = section.header
        body.extend(bytes(-len(body) % max(header[8], 1)))
        size = header[5] if header[1] == SHT_NOBITS else len(section.contents)
        headers.append(struct.pack(SECTION, name_at, *header[1:4], len(body), size, *header[6:]))
        body.extend(section.contents)
    body.extend(bytes(-len(body) % 8))
    fields = list(struct.unpack_from(HEADER, first))
    fields[6], fields[12], fields[13] = len(body), len(every), strings
    body[:64] = struct.pack(HEADER, *fields)
    return bytes(body) + b"".join(headers)
