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
from dataclasses import astuple, dataclass
from functools import cache, cached_property
from pathlib import Path

from gpulab.cache import fingerprint, kernel_cache
from gpulab.compiler.nvrtc import FILE_NAME
from gpulab.compiler.program import Program
from gpulab.compiler.sass.normalization import without_immediates

__all__ = [
    "MachineBlock",
    "MachineCode",
    "MachineInstruction",
    "find_nvdisasm",
    "machine_code",
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


@dataclass(frozen=True)
class MachineInstruction:
    """A machine instruction.

    Attributes
    ----------
    offset : int
        Its address, in bytes from the start of the kernel.
    opcode : str
        The opcode with its modifiers: "LDS.128".
    predicate : str
        "@P0", "@!P0", …, or "" if there is none.
    operands : str
        The operands, as nvdisasm prints them.
    line, ptx_line : int
        The lines of the source and of the program's PTX, from 1; 0 if unknown.
    targets : tuple of int
        Offsets of the instructions to which it may jump; of a call, the callee.
    """

    offset: int
    opcode: str
    predicate: str
    operands: str
    line: int
    ptx_line: int
    targets: tuple[int, ...] = ()

    @cached_property
    def op(self) -> str:
        """The opcode without modifiers: "LDS"."""
        return self.opcode.partition(".")[0]

    @property
    def width(self) -> int:
        """Bytes per lane of a load or store."""
        parts = self.opcode.split(".")
        for part, size in (("128", 16), ("64", 8), ("U16", 2), ("S16", 2), ("U8", 1), ("S8", 1)):
            if part in parts:
                return size
        return 4

    @property
    def ends(self) -> bool:
        """True if control never continues with the next instruction."""
        return not self.conditional and self.op in ("BRA", "BRX", "JMP", "JMX", "EXIT", "RET", "BPT", "KILL")

    @property
    def conditional(self) -> bool:
        """True if its predicate can be false, or it is a branch with a condition of its own."""
        # `BRA P1, …` has a second predicate; `BRA.DIV` branches only if the warp is not converged.
        if self.op == "BRA" and (re.match(r"!?U?P[0-9]", self.operands) or ".DIV" in self.opcode):
            return True
        return self.predicate not in ("", "@PT", "@UPT")


@dataclass(frozen=True)
class MachineBlock:
    """A basic block of machine code.

    Attributes
    ----------
    number : int
        Its index; block 0 is the kernel's entry.
    instructions : tuple of MachineInstruction
        Its instructions.
    targets : tuple of int
        Numbers of its successors, the next block first. The successor of a call is the block after it; a
        `RET` has none.
    calls : int or None
        The number of the block that its last instruction calls.
    """

    number: int
    instructions: tuple[MachineInstruction, ...]
    targets: tuple[int, ...]
    calls: int | None = None


@dataclass(frozen=True)
class MachineCode:
    """The machine code of a kernel, in the order of its addresses, without the padding after its end."""

    name: str
    instructions: tuple[MachineInstruction, ...]

    @cached_property
    def blocks(self) -> tuple[MachineBlock, ...]:
        """The basic blocks; block 0 is the entry."""
        return tuple(_blocks(self.instructions))


def machine_code(program: Program, name: str, *, immediates: bool = True) -> MachineCode | None:
    """Return the machine code of a kernel; None if the program has none or nvdisasm is not installed.

    The first call for a program runs nvdisasm, which takes about 0.4 s. The result is cached on disk.

    immediates: False allows other immediate operands: the cached code of a program that differs only in them,
    such as the same kernel for another block size, is then returned without running nvdisasm.
    """
    if program.cubin is None:
        return None
    data = _cached(program.cubin, immediates) or _disassemble(program.cubin)
    rows = json.loads(data).get(program.entry(name)) if data is not None else None
    if rows is None:
        return None
    return MachineCode(name, tuple(_from_row(*row) for row in rows))


def _cached(cubin: bytes, immediates: bool) -> bytes | None:
    store = kernel_cache()
    if store is None:
        return None
    data = store.get(_key(cubin))
    if data is None and not immediates:
        similar = store.get(_key(without_immediates(cubin)))
        data = store.get(similar.decode()) if similar is not None else None
    return data


def _disassemble(cubin: bytes) -> bytes | None:
    text = _disassembly_of(cubin)
    if text is None:
        return None
    rows = {
        section: [astuple(instruction) for instruction in instructions]
        for section, instructions in parse_disassembly(text)
    }
    data = json.dumps(rows).encode()

    store = kernel_cache()
    if store:
        store.put(_key(cubin), data)
        store.put(_key(without_immediates(cubin)), _key(cubin).encode())
    return data


def _key(code: bytes) -> str:
    return "sass-" + fingerprint(_sources(), code)


@cache
def _sources() -> bytes:
    """Return the source files on which the cached data depends."""
    return b"".join(
        Path(__file__).with_name(name).read_bytes() for name in ("disassembly.py", "normalization.py")
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
    sections = re.split(r"(?m)^(?=//-{5,} )", text)
    for section in sections:
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

    # The padding after the end is a jump to itself, followed by NOPs.
    while len(instructions) > 1 and instructions[-1].op == "NOP":
        instructions.pop()
    last = instructions[-1] if instructions else None
    if last is not None and last.op == "BRA" and last.targets == (last.offset,):
        instructions.pop()
    return instructions


JUMPS = ("BRA", "BRX", "JMP", "JMX")  # BSSY, WARPSYNC and the like have a target but do not jump to it


def _blocks(instructions: Sequence[MachineInstruction]) -> Iterator[MachineBlock]:
    if not instructions:
        return

    starts = {instructions[0].offset}
    for instruction, following in zip(instructions, [*instructions[1:], None], strict=True):
        if instruction.op in JUMPS or instruction.op == "CALL":
            starts.update(instruction.targets)
        ends_block = instruction.op in JUMPS or instruction.op in ("CALL", "EXIT", "RET")
        if ends_block and following is not None:
            starts.add(following.offset)

    numbers = {offset: number for number, offset in enumerate(sorted(starts))}
    blocks: list[list[MachineInstruction]] = [[] for _ in numbers]
    current = 0
    for instruction in instructions:
        current = numbers.get(instruction.offset, current)
        blocks[current].append(instruction)

    for number, block in enumerate(blocks):
        last = block[-1]
        targets = [] if last.ends or number + 1 == len(blocks) else [number + 1]
        if last.op in JUMPS:
            targets += [numbers[offset] for offset in last.targets if offset in numbers]
        callee = numbers.get(last.targets[0]) if last.op == "CALL" and last.targets else None
        yield MachineBlock(number, tuple(block), tuple(dict.fromkeys(targets)), callee)
