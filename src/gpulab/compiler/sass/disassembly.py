"""The machine code (SASS) of a kernel, as nvdisasm prints it from the cubin.

Each instruction has its source line and, from the section `.nv_debug_line_sass` that -lineinfo adds, the line
of the PTX from which the assembler made it. The latter relates counts of executed PTX to counts of executed
machine code: see `gpulab.compiler.sass.machine_counts`.

nvdisasm is part of the wheel `nvidia-cuda-nvdisasm` and of the CUDA Toolkit. "CUDA Binary Utilities"
describes its output (section nvdisasm) and the names of the instructions (instruction set reference).
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import astuple, replace
from functools import cache
from pathlib import Path

from gpulab.cache import fingerprint, kernel_cache
from gpulab.compiler.elf import sections
from gpulab.compiler.nvrtc import FILE_NAME
from gpulab.compiler.program import Program
from gpulab.compiler.sass.sass_code import Control, MachineCode, MachineInstruction, without_padding

__all__ = [
    "disassembled_code",
    "find_nvdisasm",
    "parse_disassembly",
]

TIME_LIMIT_S = 60.0  # limit of one run of nvdisasm, which takes about 0.4 s

_PTX = ".nv_debug_ptx_txt"
_SECTION = re.compile(r"\s*\.section\s+\.text\.([^\s,]+)")
_PLACE = re.compile(r'\s*//## File "([^"]*)", line (\d+)')
_LABEL = re.compile(r"(?:`?)([.$\w]+):\s*$")
_INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(?:(@!?U?P\w+)\s+)?([A-Z][\w.]*)\s*(.*?)\s*;")
_TARGET = re.compile(r"`\(([^)]+)\)")
_INDIRECT_JUMP = re.compile(r"\b(?:BRX|JMX)\b")
_BRANCH_TABLE = re.compile(r'\(\*"BRANCH_TARGETS ([^"]*)"\*\)')


def disassembled_code(program: Program, name: str) -> MachineCode | None:
    """Return the machine code of a kernel; None if the program has none or nvdisasm is not installed.

    The first call for a program runs nvdisasm, which takes about 0.4 s. The result is cached on disk.
    """
    if program.cubin is None:
        return None
    store = kernel_cache()
    data = (store.get(_key(program.cubin)) if store else None) or _disassemble(program.cubin)
    rows = json.loads(data).get(program.entry(name)) if data is not None else None
    if rows is None:
        return None
    instructions = tuple(_from_row(*row) for row in rows)
    return MachineCode(name, _with_control(instructions, program.cubin, program.entry(name), program.arch))


def _with_control(
    instructions: tuple[MachineInstruction, ...], cubin: bytes, entry: str, arch: int
) -> tuple[MachineInstruction, ...]:
    """Return the instructions with the control information that the cubin has for each."""
    code = next((each.contents for each in sections(cubin) if each.name == f".text.{entry}"), b"")
    if arch < 70 or any(each.offset + 16 > len(code) for each in instructions):
        return instructions
    return tuple(
        replace(each, control=Control.decode(code[each.offset : each.offset + 16])) for each in instructions
    )


def _disassemble(cubin: bytes) -> bytes | None:
    text = _disassembly_of(cubin)
    if text is None:
        return None
    rows = {
        section: [astuple(instruction)[:-1] for instruction in instructions]
        for section, instructions in parse_disassembly(text)
    }
    data = json.dumps(rows).encode()

    store = kernel_cache()
    if store:
        store.put(_key(cubin), data)
    return data


def _key(code: bytes) -> str:
    return "sass-" + fingerprint(_sources(), code)


@cache
def _sources() -> bytes:
    """Return the source files on which the cached data depends."""
    return b"".join(
        Path(__file__).with_name(name).read_bytes() for name in ("disassembly.py", "sass_code.py")
    )


@cache
def find_nvdisasm() -> str | None:
    """Return the path of nvdisasm in NVIDIA's wheel, on PATH or in the CUDA Toolkit; None if not found."""
    binary = "nvdisasm.exe" if sys.platform == "win32" else "nvdisasm"

    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder).glob(f"*/bin/**/{binary}"), reverse=True):
            return str(path)

    if on_path := shutil.which(binary):
        return on_path

    for variable in ("CUDA_HOME", "CUDA_PATH"):
        path = Path(os.environ.get(variable, "/usr/local/cuda")) / "bin" / binary
        if path.is_file():
            return str(path)
    return None


def _disassembly_of(cubin: bytes) -> str | None:
    nvdisasm = find_nvdisasm()
    if nvdisasm is None:
        return None
    with tempfile.TemporaryDirectory(prefix="gpulab-") as folder:
        path = Path(folder) / "program.cubin"
        path.write_bytes(cubin)
        command = [nvdisasm, "--print-code", "--print-line-info", "--print-line-info-ptx", str(path)]
        # The data flow analysis takes a third of the time and is needed only for the targets of indirect
        # jumps.
        text = _output_of([*command, "--no-dataflow"])
        return _output_of(command) if text is None or _INDIRECT_JUMP.search(text) else text


def _output_of(command: Sequence[str]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _from_row(
    offset: int, opcode: str, predicate: str, operands: str, line: int, ptx_line: int, targets: Sequence[int]
) -> MachineInstruction:
    return MachineInstruction(offset, opcode, predicate, operands, line, ptx_line, tuple(targets))


def parse_disassembly(text: str) -> Iterator[tuple[str, list[MachineInstruction]]]:
    """Yield the name of each kernel in the cubin, and its instructions, from nvdisasm's output."""
    for section in re.split(r"(?m)^(?=//-{5,} )", text):
        lines = section.splitlines()
        name = next((match[1] for line in lines if (match := _SECTION.match(line))), None)
        if name is not None:
            yield name, _parse_section(lines)


def _parse_section(lines: Sequence[str]) -> list[MachineInstruction]:
    labels: dict[str, int] = {}
    pending_labels: list[str] = []
    matches: list[tuple[int, re.Match[str], int, int]] = []
    line = ptx_line = 0
    for text in lines:
        if match := _INSTRUCTION.match(text):
            offset = int(match[1], 16)
            labels.update(dict.fromkeys(pending_labels, offset))
            pending_labels.clear()
            matches.append((offset, match, line, ptx_line))
        elif match := _PLACE.match(text):
            if match[1] == _PTX:
                ptx_line = int(match[2])
            else:
                line = int(match[2]) if match[1] == FILE_NAME else 0
        elif match := _LABEL.match(text):
            pending_labels.append(match[1])

    instructions = []
    for offset, match, line, ptx_line in matches:
        operands = match[4]
        names = [name.strip() for table in _BRANCH_TABLE.findall(operands) for name in table.split(",")]
        names += _TARGET.findall(operands)
        targets = tuple(labels[name] for name in names if name in labels)
        instructions.append(
            MachineInstruction(offset, match[3], match[2] or "", operands, line, ptx_line, targets)
        )

    return without_padding(instructions)
